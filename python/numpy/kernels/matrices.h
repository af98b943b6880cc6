// SPDX-License-Identifier: Apache-2.0
// What factorizations of f64 matrices are made of, beside products (products.h).
#pragma once
#include <cstddef>

namespace minnow::numpy {

/// Strides are elements between the beginnings of two rows. `columns` are whole vectors: multiples of kMatrixStep, which rows have room
/// for.
constexpr size_t kMatrixStep = 8;

struct MatrixKernels {
  /// c [rows, columns] -= a [rows, depth] b [depth, columns]
  void (*subtract)(const double* a, size_t a_stride, const double* b, size_t b_stride, size_t depth, double* c, size_t c_stride,
                   size_t rows, size_t columns);
  /// One step of elimination in rows of kMatrixStep elements: row[at] *= inverse, row -= row[at] pivots. Returns the row where the element
  /// behind row[at] is largest, of the rows, at + 1 < kMatrixStep; else 0.
  size_t (*eliminate)(double* rows, size_t stride, size_t count, size_t at, double inverse, const double* pivots);
  /// a [rows, columns] -= left right, an outer product; left's elements are left_stride apart.
  void (*subtract_outer)(const double* left, size_t left_stride, const double* right, double* a, size_t stride, size_t rows,
                         size_t columns);
  /// Two outer products are subtracted, left1 right1 + left2 right2, and then products [rows] = a x: memory is read once.
  void (*update_times)(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                       size_t rows, size_t columns, const double* x, double* products);
  /// The same, and sums [columns] = the sum over rows i of factors[i] a[i].
  void (*update_combine)(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                         size_t rows, size_t columns, const double* factors, double* sums);
  /// Rotations of `count` pairs of neighbours among count + 1 rows, the first pair first, or with `upwards` the last:
  /// rows i and i + 1 become c[i] x + s[i] y and c[i] y - s[i] x.
  void (*rotate)(double* rows, size_t stride, size_t count, size_t columns, const double* c, const double* s, bool upwards);
};

}  // namespace minnow::numpy
