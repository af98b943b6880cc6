// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/corner.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/corner.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET

void add(const float* HWY_RESTRICT dx, const float* HWY_RESTRICT dy, size_t n, double sign, double* HWY_RESTRICT sums) {
  double* HWY_RESTRICT xy = sums + n;
  double* HWY_RESTRICT yy = sums + 2 * n;
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    const float a = dx[i], b = dy[i];
    sums[i] += sign * static_cast<double>(a * a);
    xy[i] += sign * static_cast<double>(a * b);
    yy[i] += sign * static_cast<double>(b * b);
  }
}

void across(const double* HWY_RESTRICT padded, size_t n, size_t count, float* HWY_RESTRICT to) {
  if (count > 8) {
    double sum = 0;
    for (size_t k = 0; k + 1 < count; ++k) sum += padded[k];
    for (size_t i = 0; i < n; ++i) {
      sum += padded[i + count - 1];
      to[i] = static_cast<float>(sum);
      sum -= padded[i];
    }
    return;
  }
  constexpr size_t kPart = 64;
  double sums[kPart];
  for (size_t x = 0; x < n; x += kPart) {
    const size_t part = n - x < kPart ? n - x : kPart;
    const double* const from = padded + x;
    for (size_t i = 0; i < part; ++i) sums[i] = from[i];
    for (size_t k = 1; k < count; ++k)
      for (size_t i = 0; i < part; ++i) sums[i] += from[i + k];
    for (size_t i = 0; i < part; ++i) to[x + i] = static_cast<float>(sums[i]);
  }
}

void harris(const float* HWY_RESTRICT xx, const float* HWY_RESTRICT xy, const float* HWY_RESTRICT yy, size_t n, float k,
            float* HWY_RESTRICT to) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    const float trace = xx[i] + yy[i];
    to[i] = (xx[i] * yy[i] - xy[i] * xy[i]) - k * trace * trace;
  }
}

void least(const float* HWY_RESTRICT xx, const float* HWY_RESTRICT xy, const float* HWY_RESTRICT yy, size_t n, float* HWY_RESTRICT to) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    const float a = xx[i] * 0.5f, b = xy[i], c = yy[i] * 0.5f;
    to[i] = (a + c) - __builtin_sqrtf((a - c) * (a - c) + b * b);
  }
}

extern const CornerLoops kCornerLoops;
const CornerLoops kCornerLoops{add, across, harris, least};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kCornerLoops
const minnow::vision::CornerLoops& minnow::vision::corner_loops() {
  static const CornerLoops& loops = choose_loops<CornerLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
