// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

namespace minnow {

bool fits_pattern(std::string_view pattern, std::string_view name) noexcept {
  size_t p = 0, n = 0, star = std::string_view::npos, behind = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == name[n]))) {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++, behind = n;
    } else if (star != std::string_view::npos) {
      p = star + 1, n = ++behind;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace minnow
