// SPDX-License-Identifier: Apache-2.0
// Loops of medians, of edges and of bilateral filters, compiled for each instruction set.
#pragma once
#include <cstdint>

namespace minnow::vision {

template <class T>
struct MedianLoops {
  // out[i] = the median of rows[y][i + x * step], |x| <= 1 or 2, with the first and the last `step` elements repeated beyond the ends.
  // `spare`: for each row n + 6 * step + 256 elements.
  void (*of_3)(const T* const* rows, int64_t step, T* spare, T* out, int64_t n);
  void (*of_5)(const T* const* rows, int64_t step, T* spare, T* out, int64_t n);
};

/// Counts of the values in a column of a window: by the upper four bits, and by all eight.
struct ColumnCounts {
  uint16_t coarse[16];
  uint16_t fine[16][16];
};

struct EdgeRow {
  const int16_t *dx, *dy;                    // of a row
  const int32_t *above, *magnitude, *below;  // of this row and those beside it, with an element more at both ends
};

struct BilateralTap {
  const float* from[3];  // where the neighbour of the first pixel is, in each channel
  float exponent;        // of 2: the weight of the distance
};

struct MiscLoops {
  MedianLoops<uint8_t> u8;
  MedianLoops<uint16_t> u16;
  MedianLoops<int16_t> i16;
  MedianLoops<float> f32;
  // Medians of windows of 2 * radius + 1 columns: columns[x .. x + 2 * radius] for out[x * step], x < n. A window has 2 * half + 1 values.
  void (*of_columns)(const ColumnCounts* columns, int64_t radius, int64_t half, int64_t step, uint8_t* out, int64_t n);

  // |dx| + |dy|, or the sum of squares.
  void (*magnitudes)(const int16_t* dx, const int16_t* dy, bool squares, int32_t* out, int64_t n);
  // 2: an edge above `high`; 0: one above `low`, at the crest of the magnitudes across it; 1: none.
  void (*crests)(const EdgeRow& row, int32_t low, int32_t high, uint8_t* out, int64_t n);
  void (*edges)(const uint8_t* map, uint8_t* out, int64_t n);  // 255 where the map is 2, else 0

  // out[i] = the least of out[i] and the distances by way of a row beside: one[i - 1 .. i + 1] + corner, side, corner, and if `wide` one[i
  // +- 2]
  // + knight and two[i +- 1] + knight.
  void (*near_row)(const uint32_t* one, const uint32_t* two, uint32_t side, uint32_t corner, uint32_t knight, bool wide, uint32_t* out,
                   int64_t n);
  // row[i] = the least of row[i - k] + k * side, or of row[i + k] + k * side.
  void (*along_row)(uint32_t* row, uint32_t side, bool backwards, int64_t n);
  void (*fixed_f32)(const uint32_t* in, float scale, float* out, int64_t n);

  // out[c][i] = the mean of the neighbours, weighted by 2^(exponent + color * d * d), where d is the sum of the channels' differences from
  // center[c][i].
  void (*bilateral)(const BilateralTap* taps, int64_t count, const float* const* center, int64_t channels, float color, float* const* out,
                    int64_t n);
  /// Whether no byte of a is more than low[i] below b[i] or more than high[i] above it. n: a multiple of 32.
  bool (*alike)(const uint8_t* a, const uint8_t* b, const uint8_t* low, const uint8_t* high, int64_t n);
};

const MiscLoops& misc_loops();

}  // namespace minnow::vision
