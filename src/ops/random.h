// SPDX-License-Identifier: Apache-2.0
// Random numbers of the operators that draw them.
#pragma once
#include <cstdint>
#include <optional>

namespace minnow {

/// A stream of 64-bit numbers that is the same on every machine (splitmix64; Steele, Lea, Flood 2014).
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, 1), 53 bits.
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

/// The stream of that seed; without one another stream at every call, the same sequence of streams in every process.
RandomStream random_stream(std::optional<uint64_t> seed);

}  // namespace minnow
