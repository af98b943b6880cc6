// SPDX-License-Identifier: Apache-2.0
// The last operations of a product or a convolution on its sums.
#pragma once
#include <limits>

#include "backends/cpu/kernels/unary.h"

namespace minnow::cpu {

/// y = after(min(max(sum + add, low), high)). Clamping happens in registers; `after` is another pass over the output of a tile.
struct Epilogue {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  UnaryFunction after = nullptr;  // null: nothing
  float a = 0, b = 0;
  bool clamps() const noexcept { return low != -std::numeric_limits<float>::infinity() || high != std::numeric_limits<float>::infinity(); }
};

}  // namespace minnow::cpu
