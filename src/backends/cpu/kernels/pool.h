// SPDX-License-Identifier: Apache-2.0
// Pooling on the packed layout.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// Some rows of one vector of channels.
struct PoolRows {
  const float* x;  // the vector's plane
  float* y;        // first row to compute
  size_t in_h, in_w, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  ptrdiff_t pad_top, pad_left;
  size_t first, rows;       // of the output
  size_t count_h, count_w;  // averages: with padding counted, rows and columns of the padded image, beyond which nothing counts; else 0
};

struct PoolKernels {
  void (*max)(const PoolRows&);
  void (*average)(const PoolRows&);
  /// y[lane] = scale times the sum over `count` vectors, in a fixed order.
  void (*sum)(const float* x, size_t count, float scale, float* y);
  void (*most)(const float* x, size_t count, float* y);
};

}  // namespace minnow::cpu
