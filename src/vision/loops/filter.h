// SPDX-License-Identifier: Apache-2.0
// Loops of linear filters, compiled for each instruction set.
#pragma once
#include <cstdint>

namespace minnow::vision {

/// How a sum of bytes is divided: ((sum + add) * factor) >> (16 + shift), exact for sums of up to 255 * (number of bytes). factor == 0:
/// there are no such numbers.
struct Division {
  uint16_t add = 0, factor = 0;
  int shift = 0;
};

struct FilterLoops {
  // out[i] = start + sum over t of weights[t] * rows[t][i]. Rows may be one row, shifted. Integers wrap.
  void (*sum_u8_i16)(const uint8_t* const* rows, const int16_t* weights, int64_t taps, int16_t start, int16_t* out, int64_t n);
  void (*sum_i16)(const int16_t* const* rows, const int16_t* weights, int64_t taps, int16_t start, int16_t* out, int64_t n);
  void (*sum_u8_f32)(const uint8_t* const* rows, const float* weights, int64_t taps, float start, float* out, int64_t n);
  void (*sum_u16_f32)(const uint16_t* const* rows, const float* weights, int64_t taps, float start, float* out, int64_t n);
  void (*sum_i16_f32)(const int16_t* const* rows, const float* weights, int64_t taps, float start, float* out, int64_t n);
  void (*sum_f32)(const float* const* rows, const float* weights, int64_t taps, float start, float* out, int64_t n);
  void (*sum_f64)(const double* const* rows, const double* weights, int64_t taps, double start, double* out, int64_t n);

  // To bytes and 16 bits: rounded to nearest, ties to even, and saturated.
  void (*f32_u8)(const float* in, uint8_t* out, int64_t n);
  void (*f32_u16)(const float* in, uint16_t* out, int64_t n);
  void (*f32_i16)(const float* in, int16_t* out, int64_t n);
  void (*f64_u8)(const double* in, uint8_t* out, int64_t n);
  void (*f64_u16)(const double* in, uint16_t* out, int64_t n);
  void (*f64_i16)(const double* in, int16_t* out, int64_t n);
  void (*f64_f32)(const double* in, float* out, int64_t n);
  void (*i32_i16)(const int32_t* in, int16_t* out, int64_t n);
  void (*i16_u8)(const int16_t* in, uint8_t* out, int64_t n);
  void (*i16_f32)(const int16_t* in, float* out, int64_t n);
  void (*i16_f64)(const int16_t* in, double* out, int64_t n);
  void (*u8_f32)(const uint8_t* in, float* out, int64_t n);
  void (*u16_f32)(const uint16_t* in, float* out, int64_t n);
  void (*scaled_u8)(const int32_t* in, float scale, uint8_t* out, int64_t n);

  void (*scaled_f32)(const int32_t* in, float scale, float* out, int64_t n);
  void (*truncated_u8)(const float* in, float scale, uint8_t* out, int64_t n);  // in * scale, towards 0
  // sums[i] = (sums[i] + in[i]) * scale + delta
  void (*add_scaled)(const float* in, float scale, float delta, float* sums, int64_t n);

  // The functions from u16 to u8 may read 64 elements beyond their input.
  // The sum of `taps` intermediate values that are `step` apart, beginning at mid: (sum + add) >> shift, below 2^16 before the shift.
  void (*across_shift)(const uint16_t* mid, int64_t step, const int16_t* weights, int64_t taps, uint16_t add, int shift, uint8_t* out,
                       int64_t n);
  // The same with weights of 8 bits whose sum is 256, symmetric, of values of 16 bits: (sum + 2^15) >> 16.
  void (*across_gauss)(const uint16_t* mid, int64_t step, const int16_t* weights, int64_t taps, uint8_t* out, int64_t n);
  // Without weights, divided.
  void (*across_mean)(const uint16_t* mid, int64_t step, int64_t taps, Division division, uint8_t* out, int64_t n);
  void (*divide)(const uint16_t* sums, Division division, uint8_t* out, int64_t n);

  // Weights of 16 bits whose sum is 2^16, symmetric: the rows' sums, and (sum + 2^31) >> 32 of them.
  void (*down_gauss_u16)(const uint16_t* const* rows, const uint32_t* weights, int64_t taps, uint32_t* out, int64_t n);
  void (*across_gauss_u16)(const uint32_t* mid, int64_t step, const uint32_t* weights, int64_t taps, uint16_t* out, int64_t n);

  // Sums of a moving window. moved: sums += entering - leaving.
  void (*add_u8_u16)(const uint8_t* const* rows, int64_t count, uint16_t* sums, int64_t n);
  void (*moved_u8_u16)(const uint8_t* entering, const uint8_t* leaving, uint16_t* sums, int64_t n);
  void (*moved_squares)(const uint8_t* entering, const uint8_t* leaving, int32_t* sums, int64_t n);  // of squares; leaving may be nullptr
  void (*moved_u8_i32)(const uint8_t* entering, const uint8_t* leaving, int32_t* sums, int64_t n);
  // sums[i] becomes the sum of `taps` values `step` apart beginning at i, for i < n; `sums` has n + (taps - 1) * step of them. `spare` has
  // as many.
  void (*window_u16)(uint16_t* sums, uint16_t* spare, int64_t step, int64_t taps, int64_t n);
  void (*window_f64)(double* sums, double* spare, int64_t step, int64_t taps, int64_t n);
  void (*window_i32)(int32_t* sums, int64_t step, int64_t taps, int64_t n);
};

const FilterLoops& filter_loops();

}  // namespace minnow::vision
