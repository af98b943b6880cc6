// SPDX-License-Identifier: Apache-2.0
// protobuf's wire format by hand, for tests of readers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace minnow::test::wire {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
/// A field of bytes: a message, a text or packed numbers.
inline std::string message(uint64_t field, std::string_view body) {
  return varint(field << 3 | 2) + varint(body.size()) + std::string(body);
}

}  // namespace minnow::test::wire
