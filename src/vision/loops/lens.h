// SPDX-License-Identifier: Apache-2.0
// The loop of undistort(): where the pixels of a row lie in a picture through a lens.
#pragma once
#include <cstdint>

namespace minnow::vision {

/// A direction (x, y, w) = inverse * (column, row, 1) through a lens (camera.h) to a pixel.
struct LensMap {
  double inverse[9];
  double fx, fy, cx, cy;
  double k[12];
  double tilt[9];
};

struct LensLoops {
  void (*row)(const LensMap& map, double row, int64_t n, float* x, float* y);
  /// In 1/32 of a pixel: whole pixels as 2 x i16, and fractions y * 32 + x.
  void (*fixed_row)(const LensMap& map, double row, int64_t n, int16_t* places, uint16_t* fractions);
};

const LensLoops& lens_loops();

}  // namespace minnow::vision
