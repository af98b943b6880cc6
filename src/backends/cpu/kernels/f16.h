// SPDX-License-Identifier: Apache-2.0
// Products and short sums in f16, by ARM's arithmetic of that type.
#pragma once
#include "backends/cpu/kernels/low_precision.h"

namespace minnow::cpu {

/// The f16 kernels of an instruction set. Up to 64 products are summed in f16, and these sums in f32: about as exact as products of bf16. x
/// is divided by 16, so that sums of 64 products of neighbouring channels may reach a million; larger sums overflow to infinity.
struct F16Form {
  LowPrecisionKernels direct;  // no tiles: this instruction set has none
};

/// Whether this machine runs it.
bool has_f16_products();
/// The largest weight that it can hold.
inline constexpr float kLargestF16 = 65504;

}  // namespace minnow::cpu
