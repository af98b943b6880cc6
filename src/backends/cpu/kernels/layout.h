// SPDX-License-Identifier: Apache-2.0
// Moving floats and bytes between layouts.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

struct LayoutKernels {
  /// to[c * to_row + r] = from[r * from_row + c] for r < rows, c < columns.
  void (*transpose)(const float* from, size_t from_row, size_t rows, size_t columns, float* to, size_t to_row);
  void (*transpose_bytes)(const uint8_t* from, size_t from_row, size_t rows, size_t columns, uint8_t* to, size_t to_row);
  /// Pixels of three channels to three planes: to[c][i] = from[3 * i + c] for i < count. Null: there is none.
  void (*split_pixels)(const float* from, size_t count, float* const to[3]);
  void (*split_pixels_of_bytes)(const uint8_t* from, size_t count, uint8_t* const to[3]);
  /// to[i] = from[2 * i] for i < count; from[2 * count - 1] is not read.
  void (*every_other)(const float* from, size_t count, float* to);
  /// Vectors put together from lanes of others: lane l of each of `pixels` vectors `to` is lane lanes[k * pack + l] of the same vector of
  /// from[k], for the last k < sources (at least 1) for which that is not negative. Lanes that have none hold anything.
  void (*gather_lanes)(const float* const* from, const int32_t* lanes, size_t sources, size_t pixels, float* to);
};

}  // namespace minnow::cpu
