// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/powers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/powers.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// step(vector) over whole vectors; the rest through a buffer.
template <class W, class Step>
HWY_INLINE void vectors(const W* in, W* out, size_t n, Step step) {
  const hn::ScalableTag<W> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(step(hn::LoadU(d, in + i)), d, out + i);
  if (i == n) return;
  W rest[HWY_MAX_BYTES / sizeof(W)];
  std::fill(rest, rest + lanes, W(1));
  std::copy(in + i, in + n, rest);
  hn::StoreU(step(hn::LoadU(d, rest)), d, rest);
  std::copy(rest, rest + (n - i), out + i);
}

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Integers = hn::RebindToSigned<D>;

HWY_INLINE V number(double value) { return hn::Set(D(), static_cast<float>(value)); }

constexpr double kMagic = 12582912;  // 1.5 * 2^23: a sum with it rounds to an integer, which is in its low bits

/// e^r for r within log(2) / 2 of 0, times 2^k, by a polynomial of degree 6 that is right to 1e-7. shifted: k + kMagic.
HWY_INLINE V scaled_exponential(V r, V shifted) {
  const D d;
  const Integers integers;
  const V r2 = hn::Mul(r, r);
  const V a = hn::MulAdd(number(1.0 / 720), r, number(1.0 / 120)), b = hn::MulAdd(number(1.0 / 24), r, number(1.0 / 6)),
          c = hn::MulAdd(number(0.5), r, number(1));
  const V p = hn::MulAdd(hn::MulAdd(a, r2, b), hn::Mul(r2, r), hn::MulAdd(c, r, number(1)));
  return hn::BitCast(d, hn::Add(hn::BitCast(integers, p), hn::ShiftLeft<23>(hn::BitCast(integers, shifted))));
}

/// e^x for x within 87 of 0.
HWY_INLINE V exponential_of(V x) {
  const V shifted = hn::MulAdd(x, number(1.4426950408889634), number(kMagic)), k = hn::Sub(shifted, number(kMagic));
  return scaled_exponential(hn::NegMulAdd(k, number(-2.12194440e-4), hn::NegMulAdd(k, number(0.693359375), x)), shifted);
}
HWY_NOINLINE V any_exponential(V x) {
  // Beyond these bounds the results are infinite or 0.
  const V high = number(88.72284), low = number(-87.0);
  const V bounded = exponential_of(hn::Max(hn::Min(x, high), low));
  const V made =
      hn::IfThenElse(hn::Gt(x, high), number(std::numeric_limits<double>::infinity()), hn::IfThenZeroElse(hn::Lt(x, low), bounded));
  return hn::IfThenElse(hn::IsNaN(x), x, made);
}
void exponential_f32(const float* in, float* out, size_t n) {
  vectors(in, out, n,
          [](V x) HWY_ATTR { return hn::AllTrue(D(), hn::Le(hn::Abs(x), number(87))) ? exponential_of(x) : any_exponential(x); });
}

void exponential_f64(const double* in, double* out, size_t n) {
  const hn::ScalableTag<double> d;
  using V64 = hn::Vec<decltype(d)>;
  const V64 high = hn::Set(d, 709.782712893384), low = hn::Set(d, -708.0);
  vectors(in, out, n, [&](V64 x) HWY_ATTR {
    const V64 bounded = hn::Exp(d, hn::Max(hn::Min(x, high), low));
    const V64 made =
        hn::IfThenElse(hn::Gt(x, high), hn::Set(d, std::numeric_limits<double>::infinity()), hn::IfThenZeroElse(hn::Lt(x, low), bounded));
    return hn::IfThenElse(hn::IsNaN(x), x, made);
  });
}

template <class W>
HWY_NOINLINE hn::Vec<hn::ScalableTag<W>> any_logarithm(hn::Vec<hn::ScalableTag<W>> x) {
  const hn::ScalableTag<W> d;
  const auto infinity = hn::Set(d, std::numeric_limits<W>::infinity());
  auto made = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), hn::Log(d, x));
  made = hn::IfThenElse(hn::Or(hn::Eq(x, infinity), hn::IsNaN(x)), x, made);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<W>::quiet_NaN()), made);
}

/// Whether all are positive, finite and not subnormal.
HWY_INLINE bool are_plain(V x) {
  const D d;
  const Integers integers;
  // Shifted so that the least normal number is the least integer; the others, and negative ones, come behind infinity.
  const auto shifted = hn::Add(hn::BitCast(integers, x), hn::Set(integers, 0x7f800000));
  return hn::AllTrue(integers, hn::Lt(shifted, hn::Set(integers, std::numeric_limits<int32_t>::min() + (0x7f800000 - 0x00800000))));
}

/// x = m * 2^exponent with m within a factor of sqrt(2) of 1; returns log(m), by the polynomial of Cephes' logf (Moshier). x: plain.
HWY_INLINE V logarithm_of(V x, V& exponent) {
  const D d;
  const Integers integers;
  constexpr int32_t kRoot = 0x3f3504f3;  // sqrt(1/2)
  const auto shifted = hn::Sub(hn::BitCast(integers, x), hn::Set(integers, kRoot));
  const auto k = hn::ShiftRight<23>(shifted);
  exponent = hn::ConvertTo(d, k);
  const V m = hn::BitCast(d, hn::Sub(hn::BitCast(integers, x), hn::ShiftLeft<23>(k)));
  const V f = hn::Sub(m, number(1)), f2 = hn::Mul(f, f);
  V p = number(7.0376836292e-2);
  p = hn::MulAdd(p, f, number(-1.1514610310e-1));
  p = hn::MulAdd(p, f, number(1.1676998740e-1));
  p = hn::MulAdd(p, f, number(-1.2420140846e-1));
  p = hn::MulAdd(p, f, number(1.4249322787e-1));
  p = hn::MulAdd(p, f, number(-1.6668057665e-1));
  p = hn::MulAdd(p, f, number(2.0000714765e-1));
  p = hn::MulAdd(p, f, number(-2.4999993993e-1));
  p = hn::MulAdd(p, f, number(3.3333331174e-1));
  return hn::MulAdd(hn::MulAdd(p, f, number(-0.5)), f2, f);
}

void logarithm_f32(const float* in, float* out, size_t n) {
  vectors(in, out, n, [](V x) HWY_ATTR {
    if (!are_plain(x)) return any_logarithm<float>(x);
    V exponent;
    const V made = logarithm_of(x, exponent);
    return hn::MulAdd(exponent, number(0.693359375), hn::MulAdd(exponent, number(-2.12194440e-4), made));
  });
}
void logarithm_f64(const double* in, double* out, size_t n) {
  vectors(in, out, n, [](hn::Vec<hn::ScalableTag<double>> x) HWY_ATTR { return any_logarithm<double>(x); });
}

HWY_NOINLINE V any_power(V x, float exponent) {
  const D d;
  float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::StoreU(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::pow(lanes[i], exponent);
  return hn::LoadU(d, lanes);
}

void power_f32(const float* in, float* out, size_t n, float exponent) {
  const D d;
  const V y = hn::Set(d, exponent);
  vectors(in, out, n, [&](V given) HWY_ATTR {
    const V x = hn::Abs(given);
    if (!are_plain(x)) return any_power(x, exponent);
    V e;
    // x^y = 2^(y e + y log2(m)); the integer k next to the exponent is taken off before the sum rounds.
    const V log2 = hn::Mul(logarithm_of(x, e), number(1.4426950408889634)), power = hn::Mul(y, hn::Add(e, log2));
    if (!hn::AllTrue(d, hn::Lt(hn::Abs(power), number(125)))) return any_power(x, exponent);
    const V shifted = hn::Add(power, number(kMagic)), k = hn::Sub(shifted, number(kMagic));
    const V r = hn::MulAdd(y, log2, hn::MulSub(y, e, k));
    return scaled_exponential(hn::Mul(r, number(0.6931471805599453)), shifted);
  });
}

}  // namespace

extern const PowerLoops kPowerLoops;
const PowerLoops kPowerLoops{exponential_f32, exponential_f64, logarithm_f32, logarithm_f64, power_f32};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kPowerLoops
const minnow::vision::PowerLoops& minnow::vision::power_loops() {
  static const PowerLoops& loops = choose_loops<PowerLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
