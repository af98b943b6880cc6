// SPDX-License-Identifier: Apache-2.0
// How a reshape takes dimensions apart.
#pragma once
#include <optional>
#include <vector>

#include "passes/sizes.h"

namespace minnow {

/// Where a reshape from dimensions `from` to dimensions `to` only splits: the parts of each of `from`, whose product it is (none of a 1
/// that went), whatever the symbols in both are.
std::optional<std::vector<std::vector<Dim>>> split_groups(const std::vector<Dim>& from, const std::vector<Dim>& to, SizeTable& sizes);
/// Dimensions as the second input of a Reshape of a tensor of dimensions `from`: an open one is copied from the same place there, or
/// inferred; nothing if two would have to be inferred, or one is 0.
std::optional<Ints> as_reshape(const std::vector<Dim>& dims, const std::vector<Dim>& from);

}  // namespace minnow
