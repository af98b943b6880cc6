// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/unary64.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/unary64.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET && HWY_HAVE_FLOAT64
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "backends/cpu/kernels/math64.inc"

struct Exp {
  static HWY_INLINE V of(V x) { return Exponential(within(-746, x, 710)).value(); }
};
struct Exp2 {
  static HWY_INLINE V of(V x) {
    const V c = within(-1080, x, 1025), n = hn::Round(c), f = hn::Sub(c, n);
    // f ln 2 in two parts; the first has few bits, so that its product with the upper bits of f is exact.
    const V upper = hn::BitCast(D(), hn::And(hn::BitCast(Bits(), f), hn::Set(Bits(), 0xFFFFFFFFF8000000))), lower = hn::Sub(f, upper);
    const V high = hn::Mul(upper, constant(0x1.62e42ep-1));
    const V low = hn::MulAdd(lower, constant(0x1.62e42ep-1), hn::Mul(f, constant(0x1.efa39ef35793cp-25)));
    const V r = hn::Add(high, low);
    return Exponential(n, r, hn::Add(hn::Sub(high, r), low)).value();
  }
};

struct Expm1 {
  static HWY_INLINE V of(V x) {
    return hn::IfThenElse(hn::Lt(hn::Abs(x), constant(0x1p-54)), x, Exponential(within(-60, x, 710)).minus_1());
  }
};
struct Tanh {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x);
    const Exponential e(hn::Mul(constant(-2), within(0, size, 25)));
    // -(e^-2x - 1) / (e^-2x + 1), and far from 0 as 1 - 2 e^-2x / (e^-2x + 1), which rounds little.
    const V t = e.minus_1(), power = e.value();
    const auto near = hn::Lt(size, constant(0.75));
    const V quotient = hn::Div(hn::IfThenElse(near, hn::Neg(t), hn::Add(power, power)),
                               hn::Add(hn::IfThenElse(near, t, power), hn::IfThenElse(near, constant(2), constant(1))));
    const V y = hn::CopySign(hn::IfThenElse(near, quotient, hn::Sub(constant(1), quotient)), x);
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-28)), x, y);
  }
};
struct Sinh {
  static HWY_INLINE V of(V x) {
    const V size = within(0, hn::Abs(x), 711), e = Exponential(size).value(1), large = hn::Sub(e, hn::Div(constant(0.25), e));
    const V t = Exponential(within(0, size, 2)).minus_1(), small = hn::Mul(constant(0.5), hn::Add(t, hn::Div(t, hn::Add(t, constant(1)))));
    const V y = hn::CopySign(hn::IfThenElse(hn::Lt(size, constant(1)), small, large), x);
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-28)), x, y);
  }
};
struct Cosh {
  static HWY_INLINE V of(V x) {
    const V e = Exponential(within(0, hn::Abs(x), 711)).value(1);
    return hn::Add(e, hn::Div(constant(0.25), e));
  }
};

struct Log {
  static HWY_INLINE V of(V x) {
    const V y = Logarithm(x).natural(hn::Zero(D()));
    const auto ordinary = hn::And(hn::Gt(x, hn::Zero(D())), hn::Lt(x, constant(std::numeric_limits<double>::infinity())));
    return hn::AllTrue(D(), ordinary) ? y : at_edges(x, y);
  }
};
struct Log2 {
  static HWY_INLINE V of(V x) { return at_edges(x, Logarithm(x).to_base(1.44269504072144627571e+00, 1.67517131648865118353e-10, 1, 0)); }
};
struct Log10 {
  static HWY_INLINE V of(V x) {
    return at_edges(x, Logarithm(x).to_base(4.34294481878168880939e-01, 2.50829467116452752298e-11, 3.01029995663611771306e-01,
                                            3.69423907715893078616e-13));
  }
};
struct Log1p {
  static HWY_INLINE V of(V x) {
    const V one = constant(1), u = hn::Add(one, x);
    // What rounding 1 + x has lost, over it.
    const V lost = hn::IfThenElse(hn::Gt(x, one), hn::Sub(one, hn::Sub(u, x)), hn::Sub(x, hn::Sub(u, one)));
    const V y = at_edges(u, Logarithm(u).natural(hn::Div(lost, u)));
    return hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, y);
  }
};

// Beyond this the C library reduces the argument, with all the digits of pi.
constexpr double kFarthest = 1e6;
/// Sine and cosine of x - n pi/2, where n is the nearest integer.
struct Circle {
  VBits n;
  V sine, cosine;
  HWY_INLINE explicit Circle(V x) : n(hn::Zero(Bits())), sine(x), cosine(x) {
    const V sum = hn::MulAdd(x, constant(6.36619772367581382433e-01), constant(kMagic)), whole = hn::Sub(sum, constant(kMagic));
    n = hn::BitCast(Bits(), sum);
    // Three parts of pi/2; the products of n with the first two are exact.
    const V t = hn::NegMulAdd(whole, constant(1.57079632673412561417e+00), x),
            second = hn::Mul(whole, constant(6.07710050630396597660e-11));
    const V r = hn::Sub(t, second);
    const V third = hn::Sub(hn::Mul(whole, constant(2.02226624879595063154e-21)), hn::Sub(hn::Sub(t, r), second));
    const V y = hn::Sub(r, third), rest = hn::Sub(hn::Sub(r, y), third);
    const V z = hn::Mul(y, y), cube = hn::Mul(z, y);
    const V s = polynomial(z, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                           -2.50507602534068634195e-08, 1.58969099521155010221e-10);
    sine = hn::Sub(y, hn::Sub(hn::Sub(hn::Mul(z, hn::Sub(hn::Mul(constant(0.5), rest), hn::Mul(cube, s))), rest),
                              hn::Mul(cube, constant(-1.66666666666666324348e-01))));
    const V c = hn::Mul(z, polynomial(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                                      -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11));
    const V half = hn::Mul(constant(0.5), z), w = hn::Sub(constant(1), half);
    cosine = hn::Add(w, hn::Add(hn::Sub(hn::Sub(constant(1), w), half), hn::Sub(hn::Mul(z, c), hn::Mul(y, rest))));
  }
  /// Whether n + `quarters` is odd.
  HWY_INLINE hn::Mask<D> is_odd(int quarters) const {
    const VBits one = hn::Set(Bits(), 1);
    return hn::RebindMask(D(), hn::Eq(hn::And(hn::Add(n, hn::Set(Bits(), static_cast<uint64_t>(quarters))), one), one));
  }
};
/// sin(x + quarters pi/2).
template <int kQuarters>
HWY_INLINE V sine(V x) {
  const Circle at(x);
  const VBits quarter = hn::Add(at.n, hn::Set(Bits(), kQuarters));
  const V chosen = hn::IfThenElse(at.is_odd(kQuarters), at.cosine, at.sine);
  return hn::Xor(chosen, hn::BitCast(D(), hn::ShiftLeft<62>(hn::And(quarter, hn::Set(Bits(), 2)))));
}
template <class F>
HWY_INLINE V of_large_too(V x, V y, F f) {
  const auto good = hn::Le(hn::Abs(x), constant(kFarthest));
  if (hn::AllTrue(D(), good)) return y;
  double in[kLanes], out[kLanes];
  hn::StoreU(x, D(), in);
  hn::StoreU(y, D(), out);
  for (size_t i = 0; i < kLanes; ++i)
    if (!(std::fabs(in[i]) <= kFarthest)) out[i] = f(in[i]);
  return hn::LoadU(D(), out);
}
struct Sin {
  static HWY_INLINE V of(V x) {
    const V y = hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, sine<0>(x));
    return of_large_too(x, y, [](double v) { return std::sin(v); });
  }
};
struct Cos {
  static HWY_INLINE V of(V x) {
    return of_large_too(x, sine<1>(x), [](double v) { return std::cos(v); });
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
  return hn::Div(hn::Mul(z, p), q);
}
constexpr double kHalfPi = 1.57079632679489655800e+00, kHalfPiRest = 6.12323399573676603587e-17;
/// Of |x| > 1/2: the root of (1 - |x|) / 2, its upper bits, and what these lack.
struct HalfAngle {
  V z, root, high, low;
  HWY_INLINE explicit HalfAngle(V size) : z(hn::Mul(hn::Sub(constant(1), size), constant(0.5))), root(hn::Sqrt(z)), high(root), low(root) {
    high = hn::BitCast(D(), hn::And(hn::BitCast(Bits(), root), hn::Set(Bits(), 0xFFFFFFFF00000000)));
    const V sum = hn::Add(root, high);
    low = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(D())), hn::Div(hn::NegMulAdd(high, high, z), sum));
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
    const V small = hn::Add(size, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one)))));
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
    const V quotient = hn::Div(hn::IfThenElse(near, hn::Mul(twice, size), twice), rest);
    const V y = hn::Mul(constant(0.5), Log1p::of(hn::Add(quotient, hn::IfThenElseZero(near, twice))));
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-28)), x, hn::CopySign(y, x));
  }
};
/// A third of the exponent, a polynomial of the error, and a step of Newton's method (FreeBSD's s_cbrt.c).
struct CubeRoot {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), infinity = constant(std::numeric_limits<double>::infinity());
    const auto tiny = hn::Lt(size, constant(std::numeric_limits<double>::min()));
    const V scaled = hn::IfThenElse(tiny, hn::Mul(size, constant(0x1p54)), size);
    const V upper = hn::Sub(hn::BitCast(D(), hn::Or(hn::ShiftRight<32>(hn::BitCast(Bits(), scaled)), hn::Set(Bits(), 0x4330000000000000))),
                            constant(0x1p52));
    const V third = hn::Add(hn::Floor(hn::Mul(upper, constant(1.0 / 3))), constant(0x1p52 + 715094163));
    V t = hn::BitCast(D(), hn::ShiftLeft<32>(hn::BitCast(Bits(), third)));
    const V r = hn::Mul(hn::Mul(t, t), hn::Div(t, scaled));
    const V cube = hn::Mul(hn::Mul(r, r), r);
    t = hn::Mul(t, hn::MulAdd(cube, polynomial(r, -0.758397934778766047437, 0.145996192886612446982),
                              polynomial(r, 1.87595182427177009643, -1.88497979543377169875, 1.621429720105354466140)));
    t = hn::BitCast(D(), hn::And(hn::Add(hn::BitCast(Bits(), t), hn::Set(Bits(), 0x80000000)), hn::Set(Bits(), 0xFFFFFFFFC0000000)));
    const V quotient = hn::Div(scaled, hn::Mul(t, t));
    t = hn::MulAdd(t, hn::Div(hn::Sub(quotient, t), hn::Add(hn::Add(t, t), quotient)), t);
    t = hn::IfThenElse(tiny, hn::Mul(t, constant(0x1p-18)), t);
    const auto ordinary = hn::And(hn::Gt(size, hn::Zero(D())), hn::Lt(size, infinity));
    return hn::IfThenElse(ordinary, hn::CopySign(t, x), x);
  }
};

#define MINNOW_UNARY(name, expression)                 \
  struct name {                                        \
    static HWY_INLINE V of(V x) { return expression; } \
  };
MINNOW_UNARY(Negate, hn::Neg(x))
MINNOW_UNARY(Absolute, hn::Abs(x))
MINNOW_UNARY(SquareRoot, hn::Sqrt(x))
MINNOW_UNARY(Round, hn::Round(x))
MINNOW_UNARY(Trunc, hn::Trunc(x))
MINNOW_UNARY(Floor, hn::Floor(x))
MINNOW_UNARY(Ceil, hn::Ceil(x))
#undef MINNOW_UNARY

template <class F>
void map(const double* x, size_t count, double* y) {
  const D d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(F::of(hn::LoadU(d, x + i)), d, y + i);
  if (i < count) {
    double rest[kLanes] = {};
    std::memcpy(rest, x + i, (count - i) * sizeof(double));
    hn::StoreU(F::of(hn::LoadU(d, rest)), d, rest);
    std::memcpy(y + i, rest, (count - i) * sizeof(double));
  }
}

#if MINNOW_SMALL  // those that operators have
#define MINNOW_MORE(name) nullptr
#else
#define MINNOW_MORE(name) map<name>
#endif
constexpr Unary64Function kFunctions[] = {map<Exp>,
                                          MINNOW_MORE(Exp2),
                                          MINNOW_MORE(Expm1),
                                          map<Log>,
                                          MINNOW_MORE(Log2),
                                          MINNOW_MORE(Log10),
                                          MINNOW_MORE(Log1p),
                                          map<Sin>,
                                          map<Cos>,
                                          MINNOW_MORE(Tan),
                                          MINNOW_MORE(Arcsin),
                                          MINNOW_MORE(Arccos),
                                          MINNOW_MORE(Arctan),
                                          MINNOW_MORE(Sinh),
                                          MINNOW_MORE(Cosh),
                                          map<Tanh>,
                                          MINNOW_MORE(Arcsinh),
                                          MINNOW_MORE(Arccosh),
                                          MINNOW_MORE(Arctanh),
                                          MINNOW_MORE(CubeRoot),
                                          map<Negate>,
                                          map<Absolute>,
                                          map<SquareRoot>,
                                          map<Round>,
                                          MINNOW_MORE(Trunc),
                                          map<Floor>,
                                          map<Ceil>};
#undef MINNOW_MORE
static_assert(sizeof(kFunctions) / sizeof(kFunctions[0]) == static_cast<size_t>(Unary64::count));
}  // namespace

extern const Unary64Kernels kUnary64Kernels;
const Unary64Kernels kUnary64Kernels{kFunctions};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::cpu {

const Unary64Kernels* unary64_for(Isa isa) noexcept {
  switch (isa) {
#if HWY_TARGETS & HWY_SSE4
    case Isa::sse4:
      return &N_SSE4::kUnary64Kernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case Isa::avx2:
      return &N_AVX2::kUnary64Kernels;
#endif
#if HWY_TARGETS & HWY_AVX3
    case Isa::avx3:
      return &N_AVX3::kUnary64Kernels;
#endif
#if (HWY_TARGETS & HWY_NEON) && HWY_HAVE_FLOAT64  // 32-bit ARM has no vectors of doubles
    case Isa::neon:
      return &N_NEON::kUnary64Kernels;
#endif
#if HWY_TARGETS & HWY_WASM
    case Isa::simd128:
      return &N_WASM::kUnary64Kernels;
#endif
    default:
      return nullptr;
  }
}

}  // namespace minnow::cpu
#endif
