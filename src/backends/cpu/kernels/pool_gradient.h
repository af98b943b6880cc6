// SPDX-License-Identifier: Apache-2.0
// The gradient of MaxPool on the packed layout.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// One vector of channels.
struct MaxPoolGradient {
  const float *x, *g;  // the planes of the input and of the output's gradient
  float* y;            // the plane of the input's gradient
  size_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  ptrdiff_t pad_top, pad_left;
};

struct PoolGradientKernels {
  /// Adds each element of g to the first of its window's largest elements; NaN is the largest.
  void (*max)(const MaxPoolGradient&);
};

}  // namespace minnow::cpu
