// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), to name the file that a model was made from.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace minnow {

/// Takes bytes piece by piece.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// The digest of all bytes so far as 64 hexadecimal digits; ends the sum.
  std::string hex_digest();

 private:
  void add_blocks(const std::byte* block, size_t count);
  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> rest_{};
  size_t held_ = 0;
  uint64_t length_ = 0;
};

std::string sha256(std::span<const std::byte> bytes);

}  // namespace minnow
