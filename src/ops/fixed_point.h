// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integer networks in fixed point, equal to LiteRT's and gemmlowp's to the bit.
#pragma once
#include <cstdint>

namespace minnow::fixed_point {

/// x / 2^power, rounded to the nearest integer; halves away from zero.
int64_t divide_by_power(int64_t x, int power);

/// A positive factor as fraction / 2^31 * 2^shift.
struct Multiplier {
  int32_t fraction = 0, shift = 0;
  Multiplier() = default;
  explicit Multiplier(double real);
  /// x times the factor, rounded twice: after the product and after a shift to the right. A shift to the left wraps around.
  int32_t operator()(int32_t x) const;
};

/// Functions of numbers with `bits` bits before the point (0 to 6); results count 2^-15 each.
int16_t logistic(int16_t x, int bits);
int16_t tanh(int16_t x, int bits);

/// 1 / sqrt(x), as a multiplier; x <= 1 gives almost 1.
Multiplier one_over_root(int32_t x);

}  // namespace minnow::fixed_point
