// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <bit>
#include <cstring>

namespace minnow {

uint64_t digest_of(std::span<const std::byte> bytes, uint64_t seed) noexcept {
  // Four sums of eight bytes each at a time; every step can be undone, so that no change of one number is lost.
  constexpr uint64_t kFactor = 0xd6e8feb86659fd93;  // odd; bits spread evenly
  const auto step = [](uint64_t& sum, const std::byte* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    sum = std::rotl((sum ^ word) * kFactor, 29);
  };
  uint64_t a = seed ^ 0x243f6a8885a308d3, b = 0x13198a2e03707344, c = 0xa4093822299f31d0, d = 0x082efa98ec4e6c89;  // of pi
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 32; at += 32, left -= 32) step(a, at), step(b, at + 8), step(c, at + 16), step(d, at + 24);
  std::byte last[32] = {};
  if (left) std::memcpy(last, at, left);
  step(a, last), step(b, last + 8), step(c, last + 16), step(d, last + 24);
  uint64_t sum = bytes.size();
  for (const uint64_t lane : {a, b, c, d}) sum = ((sum ^ lane) * kFactor) ^ (sum ^ lane) >> 32;
  sum = (sum ^ sum >> 29) * kFactor;
  return sum ^ sum >> 32;
}

}  // namespace minnow
