// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3". A block of random bits is a function of
// its number and a key, so that any part of a stream can be made anywhere, in any order, and is the same on every machine.
#pragma once
#include <array>
#include <cstdint>

namespace minnow {

struct Philox {
  using Block = std::array<uint32_t, 4>;

  static Block block(Block counter, std::array<uint32_t, 2> key) noexcept {
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xd2511f53} * counter[0], b = uint64_t{0xcd9e8d57} * counter[2];
      counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
                 static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
      key[0] += 0x9e3779b9u;
      key[1] += 0xbb67ae85u;
    }
    return counter;
  }
  /// In [0, 1), 24 bits of a word.
  static float uniform(uint32_t word) noexcept { return static_cast<float>(word >> 8) * 0x1p-24f; }
};

}  // namespace minnow
