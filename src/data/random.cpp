// SPDX-License-Identifier: Apache-2.0
#include <minnow/data.h>

#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace minnow::data {

uint32_t Random::bits() noexcept {
  if (!left_) {
    const auto block = Philox::block({block_++, pass_, static_cast<uint32_t>(number_), static_cast<uint32_t>(number_ >> 32)},
                                     {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    for (int i = 0; i < 4; ++i) words_[i] = block[static_cast<size_t>(i)];
    left_ = 4;
  }
  return words_[--left_];
}

double Random::uniform(double low, double high) noexcept {
  const uint64_t upper = bits() >> 6, lower = bits() >> 5;  // 26 and 27 bits
  return low + (high - low) * static_cast<double>(upper << 27 | lower) * 0x1p-53;
}

int64_t Random::below(int64_t n) noexcept {
  const uint64_t range = static_cast<uint64_t>(n), fair = UINT64_MAX - UINT64_MAX % range;  // numbers from here on would favour the first
  while (true) {
    const uint64_t upper = bits(), number = upper << 32 | bits();
    if (number < fair) return static_cast<int64_t>(number % range);
  }
}

double Random::normal() noexcept {  // Box, Muller 1958
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace minnow::data
