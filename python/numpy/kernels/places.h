// SPDX-License-Identifier: Apache-2.0
// Where elements are, beside the extremes that the engine finds (backends/cpu/kernels/min_max.h).
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/min_max.h"

namespace minnow::numpy {

/// Of elements of one row of number_row().
struct PlaceLoops {
  /// The first place of *value, or of a NaN, among `count` elements; `count` where there is none.
  size_t (*find)(const void* x, size_t count, const void* value);
  /// at[i] = the first of `rows` rows, which begin `stride` elements apart, where column i of `count` holds y[i] or a NaN; left as it is
  /// where there is none.
  void (*find_rows)(const void* x, size_t rows, size_t stride, size_t count, const void* y, int64_t* at);
};

struct PlaceKernels {
  PlaceLoops loops[cpu::kNumberRows];  // null where cpu::MinMaxKernels are
};

}  // namespace minnow::numpy
