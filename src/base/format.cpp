// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <cstdio>
#include <cstdlib>

namespace minnow {

void FormatArg::append_text(const FormatArg& arg, std::string& out) { out.append(arg.text_.data, arg.text_.size); }
void FormatArg::append_char(const FormatArg& arg, std::string& out) { out += static_cast<char>(arg.int_); }
void FormatArg::append_int(const FormatArg& arg, std::string& out) { out += std::to_string(arg.int_); }
void FormatArg::append_uint(const FormatArg& arg, std::string& out) { out += std::to_string(static_cast<uint64_t>(arg.int_)); }

void FormatArg::append_real(const FormatArg& arg, std::string& out) {
  char text[32];
  for (int digits : {6, 9, 17}) {  // the shortest of these that reads back as the same number
    std::snprintf(text, sizeof text, "%.*g", digits, arg.real_);
    if (std::strtod(text, nullptr) == arg.real_) break;
  }
  out += text;
}

std::string format_args(std::string_view pattern, std::span<const FormatArg> args) {
  std::string out;
  out.reserve(pattern.size() + 16 * args.size());
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '{' && i + 1 < pattern.size() && pattern[i + 1] == '}') {
      if (next < args.size())
        args[next].append_to(out);
      else
        out += "{?}";
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
