// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/template.h"

#include <algorithm>
#include <cfloat>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/template.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET

namespace hn = hwy::HWY_NAMESPACE;

template <class T, bool kDifference, bool kNormed>
void finish_as(const T* products, const double* add, const double* means, const double* squares, const TemplateNorm& norm, size_t n,
               float* out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> t;
  const hn::Rebind<float, decltype(d)> f;
  const auto as = [&](auto tag, auto v) HWY_ATTR {
    using To = hn::TFromD<decltype(tag)>;
    using From = hn::TFromV<decltype(v)>;
    if constexpr (sizeof(To) == sizeof(From))
      return v;
    else if constexpr (sizeof(To) > sizeof(From))
      return hn::PromoteTo(tag, v);
    else
      return hn::DemoteTo(tag, v);
  };
  const auto made = [&](const T* product, const double* more, const double* mean, const double* square) HWY_ATTR {
    const auto window = hn::LoadU(d, square);
    auto value = hn::Add(as(d, hn::LoadU(t, product)), hn::LoadU(d, more));
    if constexpr (kDifference)
      value = hn::Max(hn::Add(hn::NegMulAdd(hn::Set(d, 2.0), value, window), hn::Set(d, norm.squares)), hn::Zero(d));
    if constexpr (kNormed) {
      const auto left = hn::Sub(window, hn::LoadU(d, mean));
      const auto noise = hn::Min(hn::Mul(hn::Set(d, 10 * static_cast<double>(FLT_EPSILON)), window), hn::Set(d, 0.5));
      const auto sure = hn::IfThenElseZero(hn::Gt(left, noise), left);  // else rounding errors alone
      // Nothing cancels from here on: a float's root and quotient are as good as its products.
      const auto of = as(t, value), size = hn::Abs(of), divisor = hn::Mul(hn::Sqrt(as(t, sure)), hn::Set(t, static_cast<T>(norm.norm)));
      const auto one = hn::Set(t, T(1)), sign = hn::IfThenElse(hn::Gt(of, hn::Zero(t)), one, hn::Neg(one));
      const auto near = hn::IfThenElse(hn::Lt(size, hn::Mul(divisor, hn::Set(t, T(1.125)))), sign, hn::Set(t, static_cast<T>(norm.other)));
      return as(f, hn::IfThenElse(hn::Lt(size, divisor), hn::Div(of, divisor), near));
    } else {
      return hn::DemoteTo(f, value);
    }
  };
  const size_t lanes = hn::Lanes(d);
  size_t x = 0;
  for (; x + lanes <= n; x += lanes) hn::StoreU(made(products + x, add + x, means + x, squares + x), f, out + x);
  if (x == n) return;
  T product[HWY_MAX_BYTES / sizeof(double)] = {};
  double rest[3][HWY_MAX_BYTES / sizeof(double)] = {};
  float to[HWY_MAX_BYTES / sizeof(double)];
  std::copy(products + x, products + n, product);
  std::copy(add + x, add + n, rest[0]), std::copy(means + x, means + n, rest[1]), std::copy(squares + x, squares + n, rest[2]);
  hn::StoreU(made(product, rest[0], rest[1], rest[2]), f, to);
  std::copy(to, to + (n - x), out + x);
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

// Differences of running sums, which may wrap around.
void windows(const uint32_t* HWY_RESTRICT columns, size_t window, size_t n, uint32_t* HWY_RESTRICT work, double* HWY_RESTRICT sums) {
  const hn::FixedTag<uint32_t, 4> d;
  const size_t count = n + window - 1;
  auto carry = hn::Zero(d);
  work[0] = 0;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    auto v = hn::LoadU(d, columns + i);
    v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
    v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
    v = hn::Add(v, carry);
    hn::StoreU(v, d, work + i + 1);
    carry = hn::Broadcast<3>(v);
  }
  for (; i < count; ++i) work[i + 1] = work[i] + columns[i];
  const uint32_t* HWY_RESTRICT ends = work + window;
  for (size_t x = 0; x < n; ++x) sums[x] = static_cast<double>(static_cast<int32_t>(ends[x] - work[x]));
}

void bytes(const uint8_t* HWY_RESTRICT from, float less, size_t n, float* HWY_RESTRICT to) {
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) - less;
}

extern const TemplateLoops kTemplateLoops;
const TemplateLoops kTemplateLoops{finish<float>, finish<double>, slide, windows, bytes};
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
