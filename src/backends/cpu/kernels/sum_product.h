// SPDX-License-Identifier: Apache-2.0
// Sums and products of many elements: of f32 and f64 in f64, of integers in 64 bits, which wrap around; and squared distances from a
// center.
#pragma once
#include <minnow/tensor.h>

#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Loops over elements of one dtype; y holds f64 or 64-bit integers. A row is summed into several partial results, which keeps the rounding
/// error of a sum well below that of adding one element after another.
struct SumProductLoops {
  /// y[0] = the sum or product of `count` elements.
  void (*row)(const void* x, size_t count, void* y);
  /// y[i] = y[i] with the elements of column i added or multiplied: `rows` rows of `count` elements, `stride` elements apart.
  void (*columns)(const void* x, size_t rows, size_t stride, size_t count, void* y);
};

/// Loops over f32 or f64.
struct SquareLoops {
  /// The sum of the squared distances from `center`.
  double (*row)(const void* x, size_t count, double center);
  /// y[i] += (x[i] - center[i])^2
  void (*add)(const void* x, const double* center, size_t count, double* y);
};

/// The row of a table over i8, u8, i16, u16, i32, u32, i64, f32 and f64 for a dtype, bool as u8 and u64 as i64; kSumRows of a dtype that
/// is none of these.
constexpr size_t kSumRows = 9;
size_t sum_row(DType dtype) noexcept;

struct SumProductKernels {
  SumProductLoops sums[kSumRows], products[kSumRows];
  SquareLoops squares_f32, squares_f64;
};

}  // namespace minnow::cpu
