// SPDX-License-Identifier: Apache-2.0
// Products and short sums in f16, by ARM's arithmetic of that type.
#pragma once
#include "backends/cpu/kernels/low_precision.h"

namespace minnow::cpu {

/// That of an instruction set. Up to 64 products are summed in f16, these sums in f32: about as exact as products of bf16. x is taken in
/// sixteenths, so that nothing overflows while 64 products of neighbouring channels sum to less than a million; what overflows is infinite.
struct F16Form {
  LowPrecisionKernels direct;  // no tiles: this instruction set has none
};

/// Whether this machine runs it.
bool has_f16_products();
/// The largest weight that it can hold.
inline constexpr float kLargestF16 = 65504;

}  // namespace minnow::cpu
