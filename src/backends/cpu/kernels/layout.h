// SPDX-License-Identifier: Apache-2.0
// Moving floats between layouts.
#pragma once
#include <cstddef>

namespace minnow::cpu {

struct LayoutKernels {
  /// to[c * to_row + r] = from[r * from_row + c] for r < rows, c < columns.
  void (*transpose)(const float* from, size_t from_row, size_t rows, size_t columns, float* to, size_t to_row);
};

}  // namespace minnow::cpu
