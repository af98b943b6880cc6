// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace minnow {

/// Whether a name fits a pattern: `*` stands for any characters, `?` for one.
bool fits_pattern(std::string_view pattern, std::string_view name) noexcept;

}  // namespace minnow
