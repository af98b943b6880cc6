// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace minnow {

/// The up to three names that are written most like `name`, for errors: `; the nearest are "conv1", "conv2"`. Of no more than three names
/// all: `; there is "x"`, `; there are "x", "y"`. Without names nothing.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace minnow
