// SPDX-License-Identifier: Apache-2.0
// Loops of morphology and of thresholds, compiled for each instruction set.
#pragma once
#include <cstdint>

#include <minnow/vision/filters.h>

namespace minnow::vision {

template <class T>
struct ExtremeLoops {
  // out[i] = the least (or the largest) of rows[t][i], t < count.
  void (*of_rows)(const T* const* rows, int64_t count, T* out, int64_t n);
  // The same of `taps` elements that are `step` apart, beginning at i; `in` has n + (taps - 1) * step elements and room
  // for a vector more, and is overwritten.
  void (*of_window)(T* in, int64_t step, int64_t taps, T* out, int64_t n);
};

template <class T>
struct PixelLoops {
  ExtremeLoops<T> least, largest;
  void (*subtract)(const T* a, const T* b, T* out, int64_t n);  // saturated
  void (*threshold)(const T* in, T threshold, T maximum, Threshold type, T* out, int64_t n);
};

/// Between which tables of four tiles a row's pixels lie: where those at the left and at the right begin, and the weight of the right ones.
template <class T>
struct TileRow {
  const T *upper, *lower;
  const uint32_t *left, *right;
  const float* weight;
  float down;  // the weight of the lower ones
  int shift;
};

struct MorphologyLoops {
  PixelLoops<uint8_t> u8;
  PixelLoops<uint16_t> u16;
  PixelLoops<int16_t> i16;
  PixelLoops<float> f32;
  PixelLoops<double> f64;
  // out = in - mean > limit ? over : under
  void (*adaptive)(const uint8_t* in, const uint8_t* mean, int16_t limit, uint8_t over, uint8_t under, uint8_t* out, int64_t n);
  // sums[i] = above[i] + the sum of in[0 .. i]: an integral picture's row, of one channel; of three or four, each by itself (n: pixels).
  void (*integral_u8)(const uint8_t* in, const int32_t* above, int32_t* sums, int64_t n);
  void (*integral_u8_pixels)(const uint8_t* in, const int32_t* above, int32_t* sums, int64_t n, int64_t channels);
  // falling += in, rising += in, out = above + falling + rising - in.
  void (*tilted_u8)(const uint8_t* in, const int32_t* above, int32_t* falling, int32_t* rising, int32_t* out, int64_t n);
  // The same of squares, added to doubles. `spare`: n of them.
  void (*integral_squares)(const uint8_t* in, const double* above, double* sums, int32_t* spare, int64_t n);

  void (*tiles_u8)(const TileRow<uint8_t>& row, const uint8_t* in, uint8_t* out, int64_t n);
  void (*tiles_u16)(const TileRow<uint16_t>& row, const uint16_t* in, uint16_t* out, int64_t n);
  // out = table[in], 256 entries.
  void (*lookup)(const uint8_t* in, const uint8_t* table, uint8_t* out, int64_t n);

  template <class T>
  const PixelLoops<T>& of() const {
    if constexpr (std::is_same_v<T, uint8_t>) return u8;
    if constexpr (std::is_same_v<T, uint16_t>) return u16;
    if constexpr (std::is_same_v<T, int16_t>) return i16;
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
  }
};

const MorphologyLoops& morphology_loops();

/// Calls f(T()) for u8, u16, i16, f32 or f64.
template <class F>
void with_pixel(DType dtype, F&& f) {
  if (dtype == DType::u8) return f(uint8_t());
  if (dtype == DType::u16) return f(uint16_t());
  if (dtype == DType::i16) return f(int16_t());
  if (dtype == DType::f32) return f(float());
  f(double());
}

}  // namespace minnow::vision
