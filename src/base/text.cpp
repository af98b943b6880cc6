// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <cstdint>

namespace minnow {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the text does not begin with a character
};

bool follows(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// RFC 3629: the shortest form, no surrogates, at most U+10FFFF.
Character first_of(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (!follows(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool steers(uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

void append_hex(std::string& out, uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

}  // namespace

bool is_printable(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.bytes == 0 || steers(c.code)) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::string printable(std::string_view text, bool lines) {
  if (is_printable(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const Character c = first_of(text);
    const size_t bytes = c.bytes ? c.bytes : 1;
    if (c.bytes && (!steers(c.code) || (lines && (c.code == '\n' || c.code == '\t')))) {
      out += text.substr(0, bytes);
    } else if (c.bytes && (c.code == '\n' || c.code == '\t')) {
      out += c.code == '\n' ? "\\n" : "\\t";
    } else if (c.bytes < 2) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text[0]), 2);
    } else {
      out += "\\u";
      append_hex(out, c.code, 4);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t head = most * 3 / 4, tail = text.size() - most / 4;
  while (head > 0 && follows(text[head])) --head;
  while (tail < text.size() && follows(text[tail])) ++tail;
  return std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
}

}  // namespace minnow
