// SPDX-License-Identifier: Apache-2.0
// Loops of resize(): rows are joined with weights ("down"), and each row is resampled ("across").
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minnow::vision {

/// How a row of `width` pixels becomes one of `taps.size() / count` pixels: `count` neighbours for each, the first of them at `first`
/// (in pixels; beyond the row where the border's pixels are repeated).
template <class Weight, class Index>
struct Across {
  int count = 0;                // 2, 4 or 8 neighbours
  int64_t before = 0;           // pixels that the row needs to its left
  int64_t after = 0;            // and to its right
  std::vector<int64_t> first;   // of each pixel, >= -before
  std::vector<Weight> weights;  // [pixel, count]
  // The same in steps, where one step makes consecutive elements from two vectors at `base`. `lanes` elements are stored, and the next
  // step overwrites those that are not its own.
  std::vector<int64_t> base, to;
  std::vector<Index> indices;        // [step, lanes]: of the first neighbour
  std::vector<Weight> lane_weights;  // [step, count, lanes]
};
using Across16 = Across<int16_t, int16_t>;
using Across32 = Across<float, int32_t>;

/// Bytes become i16 of kLinearBits fractional bits, and of kBits where there are more than two neighbours: sums exceed the bytes' range by
/// up to 97% on either side then. Weights are i16 of 15 bits.
inline constexpr int kLinearBits = 7, kBits = 6;

struct ResizeLoops {
  /// Lanes of a step; 0 where there are no steps.
  int64_t lanes16, lanes32;
  void (*widen)(const uint8_t* in, size_t n, int bits, int16_t* out);
  void (*round)(const int16_t* in, size_t n, int bits, uint8_t* out);
  void (*down8)(const uint8_t* const* rows, const int16_t* weights, int count, size_t n, int16_t* out);
  void (*down16)(const int16_t* const* rows, const int16_t* weights, int count, size_t n, uint8_t* out);
  /// in: the row's first pixel, with its border around it, and room for two vectors behind. out: room for a vector behind.
  void (*across16)(const int16_t* in, const Across16& table, int64_t channels, int16_t* out);
  /// Means of blocks of 2 x 2 pixels, halves rounded up; 1 to 4 channels, n elements of the result.
  void (*halve8)(const uint8_t* a, const uint8_t* b, size_t channels, size_t n, uint8_t* out);
  void (*down32)(const float* const* rows, const float* weights, int count, size_t n, float* out);
  void (*across32)(const float* in, const Across32& table, int64_t channels, float* out);
  /// sum of weights[i] * rows[i]
  void (*sum8)(const uint8_t* const* rows, const float* weights, size_t count, size_t n, float* out);
  void (*sum32)(const float* const* rows, const float* weights, size_t count, size_t n, float* out);
  /// out[i] = sum over k < counts[i] of weights[k] * in[first[i] + k], pixels; `weights` go on from one pixel to the next. in: room for 4
  /// elements behind. out: room for 4.
  void (*spans)(const float* in, const int32_t* first, const int32_t* counts, const float* weights, int64_t pixels, int64_t channels,
                float* out);
  /// 16 bytes of a row at a time, the last 16 ending with it: byte i of a block is in[begin + places[i]]. Each block has a begin and 16
  /// places, which are below 16 * blocks. n: bytes of the row, 16 or more.
  void (*pick)(const uint8_t* in, const int32_t* begins, const uint8_t* places, size_t blocks, size_t n, uint8_t* out);
  void (*from8)(const uint8_t* in, size_t n, float* out);
  void (*from_u16)(const uint16_t* in, size_t n, float* out);
  void (*from_i16)(const int16_t* in, size_t n, float* out);
  void (*to8)(const float* in, size_t n, uint8_t* out);
  void (*to_u16)(const float* in, size_t n, uint16_t* out);
  void (*to_i16)(const float* in, size_t n, int16_t* out);
};

const ResizeLoops& resize_loops();

}  // namespace minnow::vision
