// SPDX-License-Identifier: Apache-2.0
// The position of the largest or smallest element, once min_max.h has found it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/min_max.h"

namespace minnow::cpu {

/// Loops over the elements of one dtype; see number_row().
struct ArgmaxLoops {
  /// The first index of *value, or of a NaN, among `count` elements; `count` if there is none.
  size_t (*find)(const void* x, size_t count, const void* value);
  /// at[i] = the first of `rows` rows in which column i of `count` holds y[i] or a NaN; unchanged if there is none. Rows begin `stride`
  /// elements apart.
  void (*find_rows)(const void* x, size_t rows, size_t stride, size_t count, const void* y, int64_t* at);
};

struct ArgmaxKernels {
  ArgmaxLoops loops[kNumberRows];  // null if MinMaxKernels are
};

}  // namespace minnow::cpu
