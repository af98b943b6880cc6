// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/functions64.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/functions64.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
using Function = void (*)(const double* x, size_t count, double* y);
#if HWY_HAVE_FLOAT64 && !MINNOW_SMALL
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "backends/cpu/kernels/math64.inc"

/// a / b to one unit in the last place, for numbers that are neither large nor small. For functions with several divisions and roots: only
/// a single division overlaps with other instructions.
HWY_INLINE V quotient(V a, V b) {
#if HWY_TARGET == HWY_AVX3
  V y{_mm512_rcp14_pd(b.raw)};
  for (int i = 0; i < 2; ++i) y = hn::MulAdd(y, hn::NegMulAdd(b, y, constant(1)), y);
  const V q = hn::Mul(a, y);
  return hn::MulAdd(y, hn::NegMulAdd(q, b, a), q);
#else
  return hn::Div(a, b);
#endif
}
/// a / b to some digits, of a normal b.
HWY_INLINE V rough_quotient(V a, V b) {
#if HWY_TARGET == HWY_AVX3
  return hn::Mul(a, V{_mm512_rcp14_pd(b.raw)});
#else
  return hn::Div(a, b);
#endif
}

struct Exp2 {
  static HWY_INLINE V of(V x) {
    const V c = within(-1080, x, 1025), steps = hn::MulAdd(c, constant(kSteps), constant(kMagic));
    const V f = hn::NegMulAdd(hn::Sub(steps, constant(kMagic)), constant(1 / kSteps), c);
#if HWY_NATIVE_FMA
    const V high = hn::Mul(f, constant(0.693147180559945286));
    const V low = hn::MulAdd(f, constant(2.31904681384629956e-17), hn::MulSub(f, constant(0.693147180559945286), high));
    return Exponential(steps, high, low).value();
#else
    // f ln 2 in two parts; the first has few bits, so that its product with the upper bits of f is exact.
    const V upper = hn::BitCast(D(), hn::And(hn::BitCast(Bits(), f), hn::Set(Bits(), 0xFFFFFFFFF8000000))), lower = hn::Sub(f, upper);
    const V high = hn::Mul(upper, constant(0x1.62e42ep-1));
    const V low = hn::MulAdd(lower, constant(0x1.62e42ep-1), hn::Mul(f, constant(0x1.efa39ef35793cp-25)));
    const V r = hn::Add(high, low);
    return Exponential(steps, r, hn::Add(hn::Sub(high, r), low)).value();
#endif
  }
};
struct Expm1 {
  static HWY_INLINE V of(V x) {
    return hn::IfThenElse(hn::Lt(hn::Abs(x), constant(0x1p-54)), x, Exponential(within(-60, x, 710)).minus_1());
  }
};
struct Sinh {
  static HWY_INLINE V of(V x) {
    const V size = within(0, hn::Abs(x), 710.5), half = Exponential(size).rise<1, 2>();
    // Beside a large half the quotient counts nothing, and would be that of two infinities.
    const V part = hn::Div(half, hn::Add(hn::Add(half, half), constant(1)));
    const V y = hn::CopySign(hn::Add(half, hn::IfThenElseZero(hn::Lt(size, constant(40)), part)), x);
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-28)), x, y);
  }
};
struct Cosh {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), e = Exponential(within(0, size, 711)).value(1);
    return hn::IfThenElse(hn::Gt(size, constant(40)), e, hn::Add(e, hn::Div(constant(0.25), e)));
  }
};

/// y for positive finite x, and the logarithms of zero, negative and infinite x and NaN.
HWY_INLINE V with_edges(V x, V y) {
  const auto ordinary = hn::And(hn::Gt(x, hn::Zero(D())), hn::Lt(x, constant(std::numeric_limits<double>::infinity())));
  return hn::AllTrue(D(), ordinary) ? y : at_edges(x, y);
}
struct Log2 {
  static HWY_INLINE V of(V x) { return with_edges(x, Logarithm(x).to_base(1.44269504072144627571e+00, 1.67517131648865118353e-10, 1, 0)); }
};
struct Log10 {
  static HWY_INLINE V of(V x) {
    return with_edges(x, Logarithm(x).to_base(4.34294481878168880939e-01, 2.50829467116452752298e-11, 3.01029995663611771306e-01,
                                              3.69423907715893078616e-13));
  }
};
struct Log1p {
  static HWY_NOINLINE V of(V x) {  // once, for the inverse hyperbolic functions too
    const V one = constant(1), u = hn::Add(one, x);
    const Logarithm parts(u);
    // Add the rounding error of u = 1 + x, divided by u. Near 0 no correction is needed.
    const V lost = hn::IfThenElse(hn::Gt(x, one), hn::Sub(one, hn::Sub(u, x)), hn::Sub(x, hn::Sub(u, one)));
    const auto near = hn::Lt(hn::Abs(x), constant(0.25));
    const Logarithm chosen(hn::IfThenZeroElse(near, parts.k), hn::IfThenElse(near, x, parts.f));
    const auto counts = hn::AndNot(near, hn::Lt(x, constant(0x1p60)));
    const V y = with_edges(u, chosen.natural(hn::IfThenElseZero(counts, rough_quotient(lost, u))));
    return hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, y);
  }
};

struct Tan {
  static HWY_INLINE V of(V x) {
    const Circle at(x);
    const auto odd = at.is_odd(0);
    const V y = hn::Div(hn::IfThenElse(odd, hn::Neg(at.cosine), at.sine), hn::IfThenElse(odd, at.sine, at.cosine));
    return of_large_too(x, hn::IfThenElse(hn::Lt(hn::Abs(x), constant(0x1p-27)), x, y), [](double v) { return std::tan(v); });
  }
};

struct Arctan {
  static HWY_INLINE V of(V x) { return angle_of_tangent(x); }
};
/// (arcsin(sqrt z) / sqrt z) - 1 for z <= 1/4, as a quotient (fdlibm's e_asin.c).
HWY_INLINE V arcsine_rest(V z) {
  const V p = polynomial(z, 1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
                         -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05);
  const V q =
      polynomial(z, 1, -2.40339491173441421878e+00, 2.02094576023350569471e+00, -6.88283971605453293030e-01, 7.70381505559019352791e-02);
  return quotient(hn::Mul(z, p), q);
}
constexpr double kHalfPi = 1.57079632679489655800e+00, kHalfPiRest = 6.12323399573676603587e-17;
/// For |x| > 1/2: the square root of (1 - |x|) / 2, split into its upper bits and the rest.
struct HalfAngle {
  V z, root, high, low;
  HWY_INLINE explicit HalfAngle(V size) : z(hn::Mul(hn::Sub(constant(1), size), constant(0.5))), root(hn::Sqrt(z)), high(root), low(root) {
    high = hn::BitCast(D(), hn::And(hn::BitCast(Bits(), root), hn::Set(Bits(), 0xFFFFFFFF00000000)));
    const V sum = hn::Add(root, high);
    low = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(D())), quotient(hn::NegMulAdd(high, high, z), sum));
  }
};
struct Arcsin {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x);
    const HalfAngle half(size);
    const auto near = hn::Lt(size, constant(0.5));
    const V rest = arcsine_rest(hn::IfThenElse(near, hn::Mul(x, x), half.z));
    const V p = hn::Sub(hn::Mul(hn::Add(half.root, half.root), rest), hn::Sub(constant(kHalfPiRest), hn::Add(half.low, half.low)));
    const V far = hn::Sub(constant(kHalfPi / 2), hn::Sub(p, hn::Sub(constant(kHalfPi / 2), hn::Add(half.high, half.high))));
    const V y = hn::IfThenElse(near, hn::MulAdd(size, rest, size), far);
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-27)), x, hn::CopySign(y, x));
  }
};
struct Arccos {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x);
    const HalfAngle half(size);
    const auto near = hn::Lt(size, constant(0.5));
    const V rest = arcsine_rest(hn::IfThenElse(near, hn::Mul(x, x), half.z));
    const V middle = hn::Sub(constant(kHalfPi), hn::Sub(x, hn::Sub(constant(kHalfPiRest), hn::Mul(x, rest))));
    const V small = hn::Add(half.high, hn::MulAdd(rest, half.root, half.low));
    const V mirrored = hn::Sub(constant(kHalfPi), hn::Add(half.root, hn::Sub(hn::Mul(rest, half.root), constant(kHalfPiRest))));
    const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(D())), mirrored, small);
    return hn::IfThenElse(near, middle, hn::Add(far, far));
  }
};
struct Arcsinh {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), square = hn::Mul(x, x), one = constant(1);
    const auto large = hn::Gt(size, constant(0x1p54));  // there the 1 under the root does not count
    const V small = hn::Add(size, quotient(square, hn::Add(one, hn::Sqrt(hn::Add(square, one)))));
    const V y = hn::Add(Log1p::of(hn::IfThenElse(large, size, small)), hn::IfThenElseZero(large, constant(0.69314718055994530942)));
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-28)), x, hn::CopySign(y, x));
  }
};
struct Arccosh {
  static HWY_INLINE V of(V x) {
    const auto large = hn::Gt(x, constant(0x1p54));
    const V t = hn::Sub(x, constant(1)), small = hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t))));
    const V y = hn::Add(Log1p::of(hn::IfThenElse(large, x, small)), hn::IfThenElseZero(large, constant(0.69314718055994530942)));
    return hn::IfThenElse(hn::Lt(x, constant(1)), constant(std::numeric_limits<double>::quiet_NaN()), y);
  }
};
struct Arctanh {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), twice = hn::Add(size, size), rest = hn::Sub(constant(1), size);
    const auto near = hn::Lt(size, constant(0.5));
    const V part = quotient(hn::IfThenElse(near, hn::Mul(twice, size), twice), rest);
    V y = hn::Mul(constant(0.5), Log1p::of(hn::Add(part, hn::IfThenElseZero(near, twice))));
    y = hn::IfThenElse(hn::Eq(size, constant(1)), constant(std::numeric_limits<double>::infinity()), y);
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-28)), x, hn::CopySign(y, x));
  }
};
/// A third of the exponent and steps of Halley's method for the reciprocal, the last of Newton's with the exact error of the cube. Where
/// machines do not fuse: a polynomial of the error, and a step of Newton's method (FreeBSD's s_cbrt.c).
struct CubeRoot {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), infinity = constant(std::numeric_limits<double>::infinity());
    const auto tiny = hn::Lt(size, constant(std::numeric_limits<double>::min()));
    const V scaled = hn::IfThenElse(tiny, hn::Mul(size, constant(0x1p54)), size);
    const V upper = hn::Sub(hn::BitCast(D(), hn::Or(hn::ShiftRight<32>(hn::BitCast(Bits(), scaled)), hn::Set(Bits(), 0x4330000000000000))),
                            constant(0x1p52));
#if HWY_NATIVE_FMA
    const V third = hn::NegMulAdd(upper, constant(1.0 / 3), constant(0x1p52 + 1430186000));
    V y = hn::BitCast(D(), hn::ShiftLeft<32>(hn::BitCast(Bits(), third)));
    for (int i = 0; i < 3; ++i) {  // y = x^(-1/3): h = 1 - x y^3 is at most 0.11, y (1 + h/3 + 2/9 h^2)
      const V h = hn::NegMulAdd(hn::Mul(scaled, y), hn::Mul(y, y), constant(1));
      y = hn::MulAdd(hn::Mul(y, h), i < 2 ? hn::MulAdd(h, constant(2.0 / 9), constant(1.0 / 3)) : constant(1.0 / 3), y);
    }
    V t = hn::Mul(scaled, hn::Mul(y, y));
    const V square = hn::Mul(t, t), lost = hn::MulSub(t, t, square), excess = hn::MulAdd(lost, t, hn::MulSub(square, t, scaled));
    t = hn::NegMulAdd(hn::Mul(excess, hn::Mul(y, y)), constant(1.0 / 3), t);
#else
    const V third = hn::Add(hn::Floor(hn::Mul(upper, constant(1.0 / 3))), constant(0x1p52 + 715094163));
    V t = hn::BitCast(D(), hn::ShiftLeft<32>(hn::BitCast(Bits(), third)));
    const V r = hn::Mul(hn::Mul(t, t), hn::Div(t, scaled));
    const V cube = hn::Mul(hn::Mul(r, r), r);
    t = hn::Mul(t, hn::MulAdd(cube, polynomial(r, -0.758397934778766047437, 0.145996192886612446982),
                              polynomial(r, 1.87595182427177009643, -1.88497979543377169875, 1.621429720105354466140)));
    t = hn::BitCast(D(), hn::And(hn::Add(hn::BitCast(Bits(), t), hn::Set(Bits(), 0x80000000)), hn::Set(Bits(), 0xFFFFFFFFC0000000)));
    const V quotient = hn::Div(scaled, hn::Mul(t, t));
    t = hn::MulAdd(t, hn::Div(hn::Sub(quotient, t), hn::Add(hn::Add(t, t), quotient)), t);
#endif
    t = hn::IfThenElse(tiny, hn::Mul(t, constant(0x1p-18)), t);
    const auto ordinary = hn::And(hn::Gt(size, hn::Zero(D())), hn::Lt(size, infinity));
    return hn::IfThenElse(ordinary, hn::CopySign(t, x), x);
  }
};
struct Trunc {
  static HWY_INLINE V of(V x) { return hn::Trunc(x); }
};

constexpr Function kFunctions[] = {map<Exp2>,   map<Expm1>, map<Log2>, map<Log10>,   map<Log1p>,   map<Tan>,     map<Arcsin>,   map<Arccos>,
                                   map<Arctan>, map<Sinh>,  map<Cosh>, map<Arcsinh>, map<Arccosh>, map<Arctanh>, map<CubeRoot>, map<Trunc>};
static_assert(sizeof(kFunctions) / sizeof(kFunctions[0]) == static_cast<size_t>(MoreUnary::count));
}  // namespace
#else
constexpr const Function* kFunctions = nullptr;
#endif

extern const Functions64Kernels kFunctions64Kernels;
const Functions64Kernels kFunctions64Kernels{kFunctions};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
