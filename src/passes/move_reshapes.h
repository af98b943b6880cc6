// SPDX-License-Identifier: Apache-2.0
// How a reshape takes dimensions apart.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace minnow {

/// Where a reshape from dimensions `from` to dimensions `to` only splits: the parts of each of `from`, whose product it is. Dimensions that
/// are not known are parts of themselves.
std::optional<std::vector<std::vector<Dim>>> split_groups(const std::vector<Dim>& from, const std::vector<Dim>& to);
/// As the second input of a Reshape; nothing where more than one is open, or one is 0.
std::optional<Ints> as_reshape(const std::vector<Dim>& dims);

}  // namespace minnow
