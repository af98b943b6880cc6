// SPDX-License-Identifier: Apache-2.0
// The largest and the smallest of many elements, and where they are, for f32, f64 and integers of 8 to 64 bits.
#pragma once
#include <minnow/tensor.h>

#include <cstddef>
#include <cstdint>

#include "backends/cpu/isa.h"

namespace minnow::cpu {

/// Of elements of one dtype. `flip`: bits that are turned in each of them, after which the one wanted is the largest in the order of signed
/// numbers. Where an element is NaN, so is the result.
struct ExtremeKernels {
  /// The most extreme of `count` > 0 elements, into *y.
  void (*reduce)(const void* x, size_t count, uint64_t flip, void* y);
  /// The same of each of `count` columns over `rows` > 0 rows, which begin `stride` elements apart.
  void (*fold)(const void* x, size_t rows, size_t stride, size_t count, uint64_t flip, void* y);
  // The two below are null in small builds.
  /// The first place of *value, or of a NaN, among `count` elements; `count` where there is none.
  size_t (*find)(const void* x, size_t count, const void* value);
  /// at[i] = the first row of column i that holds y[i] or a NaN; left as it is where there is none.
  void (*find_rows)(const void* x, size_t rows, size_t stride, size_t count, const void* y, int64_t* at);
};

struct Extremes {
  const ExtremeKernels* kernels = nullptr;  // null: there are none for the dtype or the machine
  uint64_t flip = 0;
};
Extremes extremes_for(Isa isa, DType dtype, bool largest) noexcept;

}  // namespace minnow::cpu
