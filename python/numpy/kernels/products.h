// SPDX-License-Identifier: Apache-2.0
// Products of f32 and f64 matrices that are too small for a plan.
#pragma once
#include <cstddef>

namespace minnow::numpy {

/// Of elements of one dtype; strides are elements between the beginnings of two rows.
template <class T>
struct ProductLoops {
  /// How many columns a strip has.
  size_t columns;
  /// c [rows, wide] = a [rows, depth] b [depth, columns]; wide <= columns, of b's rows all columns are read.
  void (*strip)(const T* a, size_t a_stride, const T* b, size_t b_stride, size_t depth, T* c, size_t c_stride, size_t rows, size_t wide);
  /// The sum of a[i] b[i], in several partial sums.
  T (*dot)(const T* a, const T* b, size_t count);
};

struct ProductKernels {
  ProductLoops<float> floats;
  ProductLoops<double> doubles;
};

}  // namespace minnow::numpy
