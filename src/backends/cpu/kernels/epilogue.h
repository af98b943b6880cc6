// SPDX-License-Identifier: Apache-2.0
// The last operations of a product or a convolution on its sums.
#pragma once
#include <limits>
#include <vector>

#include "backends/cpu/kernels/unary.h"

namespace minnow::cpu {

/// y = after(min(max(f(sum + add), low), high)), where f multiplies by the scale of the channel and rounds to the nearest integer, if there
/// are scales. `after` is another pass over the output of a tile, the rest happens in registers.
struct Epilogue {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  UnaryFunction after = nullptr;  // null: nothing
  float a = 0, b = 0;
#if MINNOW_SMALL  // rounds nothing
  static constexpr const float* scale_of(size_t) noexcept { return nullptr; }
#else
  std::vector<float> scale = {};  // of each channel, in whole vectors; empty: none
  const float* scale_of(size_t channel) const noexcept { return scale.empty() ? nullptr : scale.data() + channel; }
#endif
  bool clamps() const noexcept {
    return low != -std::numeric_limits<float>::infinity() || high != std::numeric_limits<float>::infinity() || scale_of(0);
  }
};

}  // namespace minnow::cpu
