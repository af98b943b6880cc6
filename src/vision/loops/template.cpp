// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/template.h"

#include <cfloat>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/template.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET

template <class T, bool kDifference, bool kNormed>
void finish_as(const T* products, const double* add, const double* means, const double* squares, const TemplateNorm& norm, size_t n,
               float* out) {
  const double own = norm.squares, scale = norm.norm, other = static_cast<double>(norm.other);
  constexpr double kSmall = 10 * static_cast<double>(FLT_EPSILON);
#pragma GCC ivdep
  for (size_t x = 0; x < n; ++x) {
    double value = static_cast<double>(products[x]) + add[x];
    if (kDifference) {
      value = squares[x] - 2 * value + own;
      value = value > 0 ? value : 0;
    }
    if (kNormed) {
      double left = squares[x] - means[x];
      const double noise = kSmall * squares[x] < 0.5 ? kSmall * squares[x] : 0.5;
      left = left <= noise ? 0 : left;  // rounding errors alone
      const double divisor = __builtin_sqrt(left) * scale, size = value < 0 ? -value : value;
      const double sign = value > 0 ? 1.0 : -1.0, near = size < divisor * 1.125 ? sign : other;
      value = size < divisor ? value / divisor : near;
    }
    out[x] = static_cast<float>(value);
  }
}

template <class T>
void finish(const T* products, const double* add, const double* means, const double* squares, const TemplateNorm& norm, size_t n,
            float* out) {
  if (norm.difference)
    (norm.normed ? finish_as<T, true, true> : finish_as<T, true, false>)(products, add, means, squares, norm, n, out);
  else
    (norm.normed ? finish_as<T, false, true> : finish_as<T, false, false>)(products, add, means, squares, norm, n, out);
}

void slide(const uint8_t* HWY_RESTRICT in, const uint8_t* HWY_RESTRICT out, size_t n, uint32_t* HWY_RESTRICT sums,
           uint32_t* HWY_RESTRICT squares) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t a = in[i], b = out[i];
    sums[i] += a - b;
    squares[i] += a * a - b * b;
  }
}

extern const TemplateLoops kTemplateLoops;
const TemplateLoops kTemplateLoops{finish<float>, finish<double>, slide};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kTemplateLoops
const minnow::vision::TemplateLoops& minnow::vision::template_loops() {
  static const TemplateLoops& loops = choose_loops<TemplateLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
