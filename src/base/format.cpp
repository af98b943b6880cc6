// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <cstdio>
#include <cstdlib>

namespace minnow {

std::string FormatArg::from_int(int64_t value) { return std::to_string(value); }
std::string FormatArg::from_uint(uint64_t value) { return std::to_string(value); }

std::string FormatArg::from_double(double value) {
  char text[32];
  for (int digits : {6, 9, 17}) {  // the shortest of these that reads back as the same number
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::string format_args(std::string_view pattern, std::span<const FormatArg> args) {
  std::string out;
  out.reserve(pattern.size() + 16 * args.size());
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '{' && i + 1 < pattern.size() && pattern[i + 1] == '}') {
      out += next < args.size() ? args[next].text() : std::string_view("{?}");
      ++next, ++i;
    } else if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
      out += c, ++i;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace minnow
