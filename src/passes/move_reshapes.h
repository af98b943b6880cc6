// SPDX-License-Identifier: Apache-2.0
// How a reshape takes dimensions apart.
#pragma once
#include <optional>
#include <vector>

#include "graph/size.h"

namespace minnow {

/// If a reshape from dimensions `from` to dimensions `to` only splits: for each of `from`, the dimensions whose product it is (none for a
/// removed 1), for all values of the symbols.
std::optional<std::vector<std::vector<Dim>>> split_groups(const std::vector<Dim>& from, const std::vector<Dim>& to, SizeTable& sizes);
/// Dimensions as the second input of a Reshape from dimensions `from`: an open one is copied from the same position there, or inferred.
/// Empty if two would have to be inferred, or if one is 0.
std::optional<Ints> as_reshape(const std::vector<Dim>& dims, const std::vector<Dim>& from);

}  // namespace minnow
