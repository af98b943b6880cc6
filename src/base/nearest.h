// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace minnow {

/// The three names written most like `name`, for errors: `; the nearest are "conv1", "conv2"`. If there are no more than three names
/// it lists all: `; there is "x"`, `; there are "x", "y"`. Empty names are left out; without names it returns nothing.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace minnow
