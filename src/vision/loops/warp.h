// SPDX-License-Identifier: Apache-2.0
// Loops of warpAffine(), warpPerspective() and remap(). A place of a source is a whole pixel and a fraction in 1/32 on each axis, as OpenCV
// has it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::vision {

inline constexpr int kFractionBits = 5, kFractions = 1 << kFractionBits;

/// Places of a part of a row. fraction: y * 32 + x.
struct Places {
  int32_t* x;
  int32_t* y;
  uint16_t* fraction;
};

struct WarpSource {
  const std::byte* data;
  int64_t stride, width, height;
};

/// All neighbours of the places lie within the source, and one pixel more to the right of them.
using WarpRun = void (*)(const WarpSource& source, const Places& places, int64_t n, const float* weights, std::byte* out);

struct WarpLoops {
  /// x = (x0 + dx[i]) / 1024 and y alike; whole pixels, rounded, where there are no fractions.
  void (*affine)(const int32_t* dx, const int32_t* dy, int32_t x0, int32_t y0, int64_t n, const Places& out);
  /// (x0 + mx * i) / (w0 + mw * i) and alike.
  void (*perspective)(double x0, double y0, double w0, double mx, double my, double mw, int64_t n, const Places& out);
  void (*from_maps)(const float* x, const float* y, int64_t n, const Places& out);
  /// out[2 i] = x[i], out[2 i + 1] = y[i]
  void (*join)(const int32_t* x, const int32_t* y, int64_t n, int16_t* out);
  /// Whether all places lie in [x, x + columns), [y, y + rows).
  bool (*within)(const int32_t* xs, const int32_t* ys, int64_t n, int32_t x, int32_t y, uint32_t columns, uint32_t rows);
  /// The pixels at places, of `bytes` bytes; beyond the source's size the colour.
  void (*pick)(const WarpSource& source, const std::byte* color, const Places& places, int64_t n, size_t bytes, std::byte* out);
  /// Lengths and angles, in [0, 2 pi), of the vectors (i - center, y).
  void (*polar)(float center, float y, int64_t n, float* lengths, float* angles);
  /// x = x * factor + sum
  void (*scale)(float* x, int64_t n, float factor, float sum);
  /// Points (x, y) times a matrix [3, 3], divided by the last coordinate; (0, 0) where that is next to 0.
  void (*project)(const float* in, int64_t n, const double* matrix, float* out);
  /// For 1, 3 or 4 channels; nullptr if there is none. Linear of u8 takes no weights, the others weights[fraction][count].
  WarpRun linear8[5], linear32[5], cubic8[5], cubic32[5], lanczos8[5], lanczos32[5];
};

const WarpLoops& warp_loops();

}  // namespace minnow::vision
