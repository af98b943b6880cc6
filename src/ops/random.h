// SPDX-License-Identifier: Apache-2.0
// Random numbers of the operators that draw them.
#pragma once
#include <cstdint>
#include <optional>

#include "base/philox.h"

namespace minnow {

/// A stream of 64-bit numbers that is the same on every machine: number i is half i % 2 (low words first) of the Philox block with counter
/// (i / 2, stream) and key (seed), each as two words, low first.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}
  uint64_t next() noexcept {
    if (next_ % 2 == 0) {
      const uint64_t number = next_ / 2;
      block_ = Philox::block({low(number), high(number), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
    }
    const size_t half = next_++ % 2 * 2;
    return block_[half] | static_cast<uint64_t>(block_[half + 1]) << 32;
  }
  /// In [0, 1), 53 bits.
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  static uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
  static uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
  uint64_t seed_, stream_, next_ = 0;
  Philox::Block block_{};
};

/// The stream of that seed; without one another stream at every call, the same sequence of streams in every process.
RandomStream random_stream(std::optional<uint64_t> seed);

}  // namespace minnow
