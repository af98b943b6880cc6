// SPDX-License-Identifier: Apache-2.0
// The inner loops of factorizations of real f64 matrices, compiled for each instruction set.
#pragma once
#include <cstddef>

#include "backends/cpu/isa.h"

namespace minnow::numerics {

/// Strides count elements from the beginning of one row to that of the next. `columns` is a multiple of kMatrixStep, so that rows consist
/// of whole vectors, unless a comment says "any number".
constexpr size_t kMatrixStep = 8;

struct MatrixKernels {
  /// c [rows, columns] -= a [rows, depth] b [depth, columns]
  void (*subtract)(const double* a, size_t a_stride, const double* b, size_t b_stride, size_t depth, double* c, size_t c_stride,
                   size_t rows, size_t columns);
  /// One step of elimination in rows of kMatrixStep elements: row[at] *= inverse, row -= row[at] pivots. Returns the index of the row whose
  /// element at + 1 is largest; 0 if at + 1 is kMatrixStep.
  size_t (*eliminate)(double* rows, size_t stride, size_t count, size_t at, double inverse, const double* pivots);
  /// a [rows, columns] -= left right, an outer product. Elements of `left` are left_stride apart.
  void (*subtract_outer)(const double* left, size_t left_stride, const double* right, double* a, size_t stride, size_t rows,
                         size_t columns);
  /// Subtracts two outer products, left1 right1 + left2 right2, and computes products [rows] = a x, in one pass over a.
  void (*update_times)(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                       size_t rows, size_t columns, const double* x, double* products);
  /// Subtracts the same, and computes sums [columns] = the sum over rows i of factors[i] a[i].
  void (*update_combine)(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                         size_t rows, size_t columns, const double* factors, double* sums);
  /// Rotates `count` pairs of neighbours among count + 1 rows: rows i and i + 1 become c[i] x + s[i] y and c[i] y - s[i] x. The first pair
  /// comes first, or with `upwards` the last.
  void (*rotate)(double* rows, size_t stride, size_t count, size_t columns, const double* c, const double* s, bool upwards);
  /// y[i] = the sum over k of a[i * stride + k] x[k], for any number of columns, in several partial sums.
  void (*dots)(const double* a, size_t stride, size_t rows, const double* x, size_t columns, double* y);
  /// y[j] = the sum over k < depth of x[k] b[k * stride + j].
  void (*combine)(const double* x, const double* b, size_t stride, size_t depth, double* y, size_t columns);
  /// to[j * to_stride + i] = from[i * stride + j], for any number of rows and columns.
  void (*transpose)(const double* from, size_t stride, size_t rows, size_t columns, double* to, size_t to_stride);
};

/// Throws InternalError for an instruction set that cpu::available_isas() does not name.
const MatrixKernels& matrix_kernels(cpu::Isa isa);

}  // namespace minnow::numerics
