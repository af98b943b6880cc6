// SPDX-License-Identifier: Apache-2.0
// Functions of whole rows of floats: reductions, softmax, normalizations. Sums are taken in an order that depends on the length alone.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

enum class Reduction : uint8_t { sum, sum_abs, sum_square, max, min, product, count };

/// One row of the gradient of a layer normalization.
struct LayerGradient {
  const float *x, *gradient, *scale;
  size_t count;
  float mean, inverse;  // of the row (moments)
  bool centered;
  float* y;                   // may be null, x or gradient
  float *of_scale, *of_bias;  // both null, or what the row's parts are added to
};

struct RowKernels {
  /// One number from `count` > 0 floats. NaN anywhere gives NaN.
  float (*reduce[static_cast<size_t>(Reduction::count)])(const float* x, size_t count);
  /// total[i] joins column i of `rows` > 0 rows that begin `stride` floats apart; `first`: it begins as x[i] (or |x[i]|, or its square).
  void (*reduce_columns[static_cast<size_t>(Reduction::count)])(const float* x, size_t rows, size_t stride, size_t count, bool first,
                                                                float* total);
  /// y may be x.
  void (*softmax)(const float* x, size_t count, float* y);
  void (*log_softmax)(const float* x, size_t count, float* y);
  /// The mean, and 1 / sqrt(variance + epsilon).
  void (*moments)(const float* x, size_t count, float epsilon, float* mean, float* inverse);
  /// y[i] = (x[i] - mean) inverse scale[i] + bias[i]; bias may be null; y may be x.
  void (*standardize)(const float* x, size_t count, float mean, float inverse, const float* scale, const float* bias, float* y);
  /// The same two of every lane over `pixels` vectors of the packed layout.
  void (*lane_moments)(const float* x, size_t pixels, float epsilon, float* mean, float* inverse);
  /// y = scale x + shift, each of one vector.
  void (*lane_affine)(const float* x, size_t pixels, const float* scale, const float* shift, float* y);
  /// The sum of a[i] b[i].
  float (*dot)(const float* a, const float* b, size_t count);
  /// y = inverse (g - the mean of g, if centered - n times the mean of g n), where n = (x - mean) inverse and g = gradient scale.
  void (*layer_gradient)(const LayerGradient& row);  // null in a build without gradients
};

}  // namespace minnow::cpu
