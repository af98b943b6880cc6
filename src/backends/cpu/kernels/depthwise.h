// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions: every lane of an output comes from the same lane of the input. Grouped convolutions use them as well, once the
// lanes of their inputs are in the order of the outputs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Some rows of one vector of channels of a depthwise convolution that reads the image itself.
struct DirectDepthwiseRows {
  const float* x;  // row 0 of the vector's plane, which may be virtual; from row `wrap` on, rows are `ring` rows before their positions
  float* y;        // first row to compute
  const float* w;  // [kernel_h][kernel_w][lane]
  const float* bias = nullptr;
  const float* add = nullptr;    // as y
  const float* scale = nullptr;  // sums are multiplied by it and rounded; null: they are not
  float low = 0, high = 0;
  bool clamps = false;
  size_t in_h, in_w, out_w, kernel_h, stride_h, dilation_h;
  ptrdiff_t pad_top, pad_left;
  size_t wrap, ring;
  size_t first, rows;  // of the output
};
using DirectDepthwiseFunction = void (*)(const DirectDepthwiseRows&);

/// Some rows of one vector of output channels, from a window (window.h).
struct WindowDepthwiseRows {
  const float* x;
  float* y;
  const float* w;         // [tap][lane]
  const ptrdiff_t* taps;  // the offset of every tap from x
  size_t tap_count;
  const float* bias = nullptr;
  const float *add = nullptr, *scale = nullptr;
  float low = 0, high = 0;
  bool clamps = false;
  size_t out_w, rows, x_row;
};

/// Builds a vector from lanes of several: lane l is lane source[i][l] of input i if take[i][l] is not zero. Each lane has one such input.
struct LaneOrder {
  const int32_t* source;  // [input][lane]
  const int32_t* take;
  size_t inputs;
};

struct DepthwiseKernels {
  /// For dilation 1 along the width, by kernel_w (3 or 5) and stride_w (1 or 2).
  DirectDepthwiseFunction direct[2][2];
  void (*rows)(const WindowDepthwiseRows&);
  /// y[pixel] from x[input * plane + pixel], `count` pixels.
  void (*permute)(const LaneOrder& order, const float* x, size_t plane, size_t count, float* y);
};

}  // namespace minnow::cpu
