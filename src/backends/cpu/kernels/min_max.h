// SPDX-License-Identifier: Apache-2.0
// The largest and the smallest of many elements, and where they are, for f32, f64 and integers of 8 to 64 bits.
#pragma once
#include <minnow/tensor.h>

#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// For elements of one dtype. `flip`: bits that are turned in each of them, after which the one wanted is the largest in the order of
/// signed numbers. Where an element is NaN, so is the result.
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

/// The row of a table over signed integers of 8, 16, 32 and 64 bits, f32 and f64 in which elements of a dtype are looked at, unsigned ones
/// as signed; kNumberRows of a dtype that is none of these.
constexpr size_t kNumberRows = 6;
size_t number_row(DType dtype) noexcept;

struct MinMaxKernels {
  MinMaxLoops loops[kNumberRows];  // null where there are none
  MinMax of(DType dtype, bool largest) const noexcept;
};

}  // namespace minnow::cpu
