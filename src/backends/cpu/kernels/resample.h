// SPDX-License-Identifier: Apache-2.0
// Weighted sums of rows and of pixels, the steps of separable interpolation.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

struct ResampleKernels {
  /// y[i] = sum over t of weights[t] * rows[t][i]
  void (*blend_rows)(const float* const* rows, const float* weights, size_t taps, size_t count, float* y);
  /// y[pixel] = sum over t of weights[pixel * taps + t] * row[index[pixel * taps + t]], a pixel being one vector.
  void (*blend_pixels)(const float* row, const int32_t* index, const float* weights, size_t taps, size_t pixels, float* y);
  /// y[pixel] = row[index[pixel]], a pixel being one vector.
  void (*pick_pixels)(const float* row, const int32_t* index, size_t pixels, float* y);
};

}  // namespace minnow::cpu
