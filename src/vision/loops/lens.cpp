// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/lens.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/lens.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET

constexpr int64_t kBlock = 64;

/// Columns [first, first + n) of a row.
HWY_INLINE void pixels(const LensMap& map, double row, int64_t first, int64_t n, double* HWY_RESTRICT us, double* HWY_RESTRICT vs) {
  const double* const m = map.inverse;
  const double* const k = map.k;
  const double* const t = map.tilt;
  const double x0 = m[1] * row + m[2], y0 = m[4] * row + m[5], w0 = m[7] * row + m[8];
  for (int64_t i = 0; i < n; ++i) {
    const double column = static_cast<double>(static_cast<int32_t>(first + i)), w = 1 / (w0 + m[6] * column);
    const double x = (x0 + m[0] * column) * w, y = (y0 + m[3] * column) * w;
    const double x2 = x * x, y2 = y * y, r2 = x2 + y2, xy = 2 * x * y;
    const double radial = (1 + ((k[4] * r2 + k[1]) * r2 + k[0]) * r2) / (1 + ((k[7] * r2 + k[6]) * r2 + k[5]) * r2);
    const double u = x * radial + k[2] * xy + k[3] * (r2 + 2 * x2) + k[8] * r2 + k[9] * r2 * r2;
    const double v = y * radial + k[2] * (r2 + 2 * y2) + k[3] * xy + k[10] * r2 + k[11] * r2 * r2;
    const double c = t[6] * u + t[7] * v + t[8], scale = 1 / (c != 0 ? c : 1.0);
    us[i] = map.fx * ((t[0] * u + t[1] * v + t[2]) * scale) + map.cx;
    vs[i] = map.fy * ((t[3] * u + t[4] * v + t[5]) * scale) + map.cy;
  }
}

void row(const LensMap& map, double y, int64_t n, float* HWY_RESTRICT xs, float* HWY_RESTRICT ys) {
  double us[kBlock], vs[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = std::min(kBlock, n - first);
    pixels(map, y, first, count, us, vs);
    for (int64_t i = 0; i < count; ++i) xs[first + i] = static_cast<float>(us[i]), ys[first + i] = static_cast<float>(vs[i]);
  }
}

/// In 1/32, rounded; what is not within 32 bits is nowhere.
HWY_INLINE int32_t fixed(double x) {
  const double value = std::nearbyint(x * 32);
  return static_cast<int32_t>(value > -2147483648.0 && value < 2147483647.0 ? value : -2147483648.0);
}

void fixed_row(const LensMap& map, double y, int64_t n, int16_t* HWY_RESTRICT places, uint16_t* HWY_RESTRICT fractions) {
  double us[kBlock], vs[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = std::min(kBlock, n - first);
    pixels(map, y, first, count, us, vs);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t u = fixed(us[i]), v = fixed(vs[i]);
      places[2 * (first + i)] = static_cast<int16_t>(u >> 5);
      places[2 * (first + i) + 1] = static_cast<int16_t>(v >> 5);
      fractions[first + i] = static_cast<uint16_t>((v & 31) * 32 + (u & 31));
    }
  }
}

extern const LensLoops kLensLoops;
const LensLoops kLensLoops{row, fixed_row};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kLensLoops
const minnow::vision::LensLoops& minnow::vision::lens_loops() {
  static const LensLoops& loops = choose_loops<LensLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
