// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/binary64.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/binary64.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
#if HWY_HAVE_FLOAT64 && HWY_NATIVE_FMA
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#include "backends/cpu/kernels/math64.inc"

/// An unevaluated sum, whose second part is small.
struct Pair {
  V high, low;
};
/// The product, exact where it neither overflows nor underflows.
HWY_INLINE Pair product(V a, V b) {
  const V high = hn::Mul(a, b);
  return {high, hn::MulSub(a, b, high)};
}
/// a + b for |a| >= |b| or a = 0.
HWY_INLINE Pair sum(V a, V b) {
  const V high = hn::Add(a, b);
  return {high, hn::Add(hn::Sub(a, high), b)};
}

/// ln x of a finite x > 0 to about 2^-66 of it.
HWY_INLINE Pair long_logarithm(V x) {
  const Logarithm parts(x);
  const V two = constant(2), f = parts.f, u = hn::Add(f, two), u_low = hn::Sub(f, hn::Sub(u, two)), inverse = hn::Div(constant(1), u);
  Pair s{hn::Mul(f, inverse), f};  // f / (2 + f)
  s.low = hn::Mul(hn::NegMulAdd(s.high, u_low, hn::NegMulAdd(s.high, u, f)), inverse);
  Pair z = product(s.high, s.high);
  z.low = hn::MulAdd(hn::Add(s.high, s.high), s.low, z.low);
  // ln(1 + f) = 2 s + s (2/3 z + 2/5 z^2 + ...), z = s^2 < 0.0295.
  const V rest = hn::Mul(hn::Mul(z.high, z.high), polynomial(z.high, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                                             2.0 / 19, 2.0 / 21, 2.0 / 23));
  Pair third = product(z.high, constant(0x1.5555555555555p-1));
  third.low = hn::Add(third.low, hn::MulAdd(z.high, constant(0x1.5555555555555p-55), hn::Mul(z.low, constant(2.0 / 3))));
  Pair t = sum(third.high, rest);
  t.low = hn::Add(t.low, third.low);
  Pair m = product(s.high, t.high);
  m.low = hn::Add(m.low, hn::MulAdd(s.high, t.low, hn::Mul(s.low, t.high)));
  Pair near = sum(hn::Add(s.high, s.high), m.high);
  near.low = hn::Add(near.low, hn::Add(m.low, hn::Add(s.low, s.low)));
  Pair y = sum(hn::Mul(parts.k, constant(6.93147180369123816490e-01)), near.high);
  y.low = hn::Add(y.low, hn::MulAdd(parts.k, constant(1.90821492927058770002e-10), near.low));
  return sum(y.high, y.low);
}

HWY_INLINE hn::Mask<D> is_finite(V x) { return hn::Lt(hn::Abs(x), constant(std::numeric_limits<double>::infinity())); }

/// The C library's where vectors do not know better.
template <class F>
HWY_INLINE V where_ordinary(hn::Mask<D> ordinary, V y, V a, V b, F f) {
  if (hn::AllTrue(D(), ordinary)) return y;
  double p[kLanes], q[kLanes], out[kLanes], known[kLanes];
  hn::StoreU(a, D(), p);
  hn::StoreU(b, D(), q);
  hn::StoreU(y, D(), out);
  hn::StoreU(hn::IfThenElseZero(ordinary, constant(1)), D(), known);
  for (size_t i = 0; i < kLanes; ++i)
    if (known[i] == 0) out[i] = f(p[i], q[i]);
  return hn::LoadU(D(), out);
}

struct Power {
  static HWY_INLINE V of(V a, V b) {
    const V size = hn::Abs(a), zero = hn::Zero(D());
    const Pair l = long_logarithm(size), e = product(b, l.high);
    const V bounded = within(-746, e.high, 710);
    V y = Exponential(bounded, hn::IfThenElseZero(hn::Eq(bounded, e.high), hn::MulAdd(b, l.low, e.low))).value();
    const auto negative = hn::Lt(a, zero);
    if (!hn::AllFalse(D(), negative)) {
      const V half = hn::Mul(b, constant(0.5));
      const auto whole = hn::Eq(hn::Round(b), b), even = hn::Eq(hn::Round(half), half);
      const V signed_y = hn::IfThenElse(whole, hn::IfThenElse(even, y, hn::Neg(y)), constant(std::numeric_limits<double>::quiet_NaN()));
      y = hn::IfThenElse(negative, signed_y, y);
    }
    return where_ordinary(hn::And(hn::And(is_finite(a), is_finite(b)), hn::Gt(size, zero)), y, a, b,
                          [](double x, double exponent) { return std::pow(x, exponent); });
  }
};

struct Angle {
  static HWY_INLINE V of(V a, V b) {
    const V zero = hn::Zero(D()), up = hn::Abs(a), right = hn::Abs(b), acute = angle_of_tangent(hn::Div(up, right));
    const V y = hn::IfThenElse(hn::Lt(b, zero),
                               hn::Sub(constant(3.14159265358979311600e+00), hn::Sub(acute, constant(1.2246467991473531772e-16))), acute);
    const auto ordinary = hn::And(hn::And(is_finite(a), is_finite(b)), hn::And(hn::Gt(up, zero), hn::Gt(right, zero)));
    return where_ordinary(ordinary, hn::CopySign(y, a), a, b, [](double p, double q) { return std::atan2(p, q); });
  }
};

template <class F>
void map(const double* a, const double* b, size_t count, double* y) {
  const D d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(F::of(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  if (i < count) {
    double p[kLanes], q[kLanes];
    for (size_t k = 0; k < kLanes; ++k) p[k] = i + k < count ? a[i + k] : 1, q[k] = i + k < count ? b[i + k] : 1;
    hn::StoreU(F::of(hn::LoadU(d, p), hn::LoadU(d, q)), d, p);
    std::memcpy(y + i, p, (count - i) * sizeof(double));
  }
}

constexpr Binary64Function kFunctions[] = {map<Power>, map<Angle>};
static_assert(sizeof(kFunctions) / sizeof(kFunctions[0]) == static_cast<size_t>(Binary64::count));
}  // namespace
#else
constexpr const Binary64Function* kFunctions = nullptr;
#endif

extern const Binary64Kernels kBinary64Kernels;
const Binary64Kernels kBinary64Kernels{kFunctions};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
