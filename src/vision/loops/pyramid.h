// SPDX-License-Identifier: Apache-2.0
// Loops of pyrDown() and pyrUp(): five taps, 1 4 6 4 1. Sums are i32 of bytes and 16 bits, else f32.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::vision {

struct PyramidLoops {
  /// out = a + 4 b + 6 c + 4 d + e, of rows of elements.
  void (*join8)(const uint8_t* const* rows, int64_t n, int32_t* out);
  void (*join16)(const uint16_t* const* rows, int64_t n, int32_t* out);
  void (*join16s)(const int16_t* const* rows, int64_t n, int32_t* out);
  void (*join32)(const float* const* rows, int64_t n, float* out);
  /// The same across a row for every second pixel, divided by 256: integers are rounded. in: the middle of the first pixel.
  void (*halve8)(const int32_t* in, int64_t pixels, int64_t channels, uint8_t* out);
  void (*halve16)(const int32_t* in, int64_t pixels, int64_t channels, uint16_t* out);
  void (*halve16s)(const int32_t* in, int64_t pixels, int64_t channels, int16_t* out);
  void (*halve32)(const float* in, int64_t pixels, int64_t channels, float* out);
  /// A source row with those before and behind it: even = a + 6 b + c, odd = 4 (b + c).
  void (*double8)(const uint8_t* a, const uint8_t* b, const uint8_t* c, int64_t n, uint16_t* even, uint16_t* odd);
  void (*double16)(const uint16_t* a, const uint16_t* b, const uint16_t* c, int64_t n, int32_t* even, int32_t* odd);
  void (*double16s)(const int16_t* a, const int16_t* b, const int16_t* c, int64_t n, int32_t* even, int32_t* odd);
  void (*double32)(const float* a, const float* b, const float* c, int64_t n, float* even, float* odd);
  /// The same across a row, divided by 64, in its pixels and those between. in: the first pixel, with one on either side.
  void (*spread8)(const uint16_t* in, int64_t pixels, int64_t channels, uint8_t* room, uint8_t* out);
  void (*spread16)(const int32_t* in, int64_t pixels, int64_t channels, uint16_t* room, uint16_t* out);
  void (*spread16s)(const int32_t* in, int64_t pixels, int64_t channels, int16_t* room, int16_t* out);
  void (*spread32)(const float* in, int64_t pixels, int64_t channels, float* room, float* out);
};

const PyramidLoops& pyramid_loops();

}  // namespace minnow::vision
