// SPDX-License-Identifier: Apache-2.0
// The largest and the smallest of many elements, and where they are, for f32, f64 and integers of 8 to 64 bits.
#pragma once
#include <minnow/tensor.h>

#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Loops for elements of one dtype. `flip`: the bits to invert in each element so that the wanted one is the largest as a signed integer.
/// If an element is NaN, the result is NaN.
struct MinMaxLoops {
  /// The largest or smallest of `count` > 0 elements, into *y.
  void (*reduce)(const void* x, size_t count, uint64_t flip, void* y);
  /// The same of each of `count` columns over `rows` > 0 rows, which begin `stride` elements apart.
  void (*reduce_columns)(const void* x, size_t rows, size_t stride, size_t count, uint64_t flip, void* y);
};

struct MinMax {
  const MinMaxLoops* loops = nullptr;  // null: there are none for the dtype or the machine
  uint64_t flip = 0;
};

/// The row for a dtype in tables over signed integers of 8, 16, 32 and 64 bits, f32 and f64. Unsigned integers use the rows of signed ones.
/// kNumberRows for other dtypes.
constexpr size_t kNumberRows = 6;
size_t number_row(DType dtype) noexcept;

struct MinMaxKernels {
  MinMaxLoops loops[kNumberRows];  // null for missing ones
  MinMax of(DType dtype, bool largest) const noexcept;
};

}  // namespace minnow::cpu
