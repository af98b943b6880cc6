// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions on the packed layout: sums of products over the places of an image, which give the gradient of filters, and the
// gradient of the image of a depthwise convolution.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// sums[r][v] += the sum over places of x[place][r] * g[v][place], where r counts neighbouring floats of x, and g[v] and sums are vectors.
struct FilterGradientTile {
  const float* x;
  const float* g[3];
  size_t rows, columns;       // of places
  ptrdiff_t x_row, x_column;  // floats from one place to the next
  ptrdiff_t g_row;            // the places of a row are next to each other
  float* sums;
  size_t sum_row;  // floats from sums[r] to sums[r + 1]
};
using FilterGradientFunction = void (*)(const FilterGradientTile&);

/// The gradient of the image of a depthwise convolution: one vector of channels.
struct DepthwiseImageGradient {
  const float* g;  // [out_h][out_w][lanes]
  const float* w;  // [kernel_h][kernel_w][lanes]
  float* y;        // [in_h][in_w][lanes]
  size_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  ptrdiff_t pad_top, pad_left;
};

struct FilterGradientKernels {
  size_t rows[2];  // floats of x that tile[i] takes; lanes are a multiple of each
  /// [i][vectors - 1]
  FilterGradientFunction tile[2][3];
  /// sums += the sum over places of x[place] * g[0][place], all vectors.
  FilterGradientFunction depthwise;
  void (*depthwise_image)(const DepthwiseImageGradient&);
};

}  // namespace minnow::cpu
