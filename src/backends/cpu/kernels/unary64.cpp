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
using D = hn::ScalableTag<double>;
using Bits = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VBits = hn::Vec<Bits>;
constexpr size_t kLanes = HWY_LANES(double);

#include "backends/cpu/kernels/clamp.inc"

HWY_INLINE V constant(double value) { return hn::Set(D(), value); }
HWY_INLINE V polynomial(V, double last) { return constant(last); }
/// first + x (second + x (...)).
template <class... Rest>
HWY_INLINE V polynomial(V x, double first, Rest... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, constant(first));
}

// Beside this a double's fraction has no bits: adding it rounds to an integer, which the lowest bits then hold.
constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
/// 2^n for an integer -1022 <= n <= 1023.
HWY_INLINE V power_of_2(V n) { return hn::BitCast(D(), hn::ShiftLeft<52>(hn::BitCast(Bits(), hn::Add(n, constant(kMagic + 1023))))); }

/// e^x = 2^n (1 + q), where |q| < 0.42.
struct Exponential {
  V n, q;
  /// For |x| < 1100.
  HWY_INLINE explicit Exponential(V x) : n(hn::Sub(hn::MulAdd(x, constant(1.4426950408889634), constant(kMagic)), constant(kMagic))), q(n) {
    // The product of n and the first part of ln 2 is exact.
    const V high = hn::NegMulAdd(n, constant(6.93147180369123816490e-01), x), low = hn::Mul(n, constant(1.90821492927058770002e-10));
    set(hn::Sub(high, low), hn::Sub(hn::Sub(high, hn::Sub(high, low)), low));
  }
  HWY_INLINE Exponential(V whole, V r, V rest) : n(whole), q(r) { set(r, rest); }
  HWY_INLINE void set(V r, V rest) {
    const V p = polynomial(r, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
                           1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0);
    q = hn::Add(r, hn::MulAdd(hn::Mul(r, r), p, rest));
  }
  /// e^x / 2^k for k = 0 or 1, in two factors, because n may lie outside the exponents of normal numbers.
  HWY_INLINE V value(double k = 0) const {
    const V half = hn::Round(hn::Mul(n, constant(0.5))), rest = hn::Sub(hn::Sub(n, half), constant(k));
    return hn::Mul(hn::Mul(hn::Add(q, constant(1)), power_of_2(half)), power_of_2(rest));
  }
  /// e^x - 1 for -60 <= x <= 711, in halves, because 2^n may be infinity where the result is not.
  HWY_INLINE V minus_1() const {
    const V scale = power_of_2(hn::Sub(n, constant(1))), y = hn::MulAdd(scale, q, hn::Sub(scale, constant(0.5)));
    return hn::Add(y, y);
  }
};

HWY_INLINE V within(double low, V x, double high) { return at_most(constant(high), at_least(constant(low), x)); }

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

/// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and ln(1 + f) = f - (square - s (square + r)), where square is f^2 / 2.
struct Logarithm {
  V k, f, square, rest;  // rest = s (square + r)
  HWY_INLINE explicit Logarithm(V x) : k(x), f(x), square(x), rest(x) {
    const D d;
    const Bits b;
    const auto tiny = hn::Lt(x, constant(std::numeric_limits<double>::min()));
    const VBits bits = hn::BitCast(b, hn::IfThenElse(tiny, hn::Mul(x, constant(0x1p54)), x));
    const VBits root = hn::Set(b, 0x3FE6A09E667F3BCD), one = hn::Set(b, 0x3FF0000000000000);
    const VBits from_root = hn::Add(bits, hn::Sub(one, root));
    // The biased exponent as a fraction's lowest bits.
    const V biased = hn::BitCast(d, hn::Or(hn::ShiftRight<52>(from_root), hn::Set(b, 0x4330000000000000)));
    k = hn::Sub(biased, hn::IfThenElse(tiny, constant(0x1p52 + 1023 + 54), constant(0x1p52 + 1023)));
    f = hn::Sub(hn::BitCast(d, hn::Add(hn::And(from_root, hn::Set(b, 0x000FFFFFFFFFFFFF)), root)), constant(1));
    const V s = hn::Div(f, hn::Add(f, constant(2))), z = hn::Mul(s, s);
    const V r =
        hn::Mul(z, polynomial(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
                              1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01));
    square = hn::Mul(hn::Mul(f, f), constant(0.5));
    rest = hn::Mul(s, hn::Add(square, r));
  }
  /// ln x, and `more` beside it.
  HWY_INLINE V natural(V more) const {
    const V low = hn::Add(rest, hn::MulAdd(k, constant(1.90821492927058770002e-10), more));
    return hn::Sub(hn::Mul(k, constant(6.93147180369123816490e-01)), hn::Sub(hn::Sub(square, low), f));
  }
  /// The logarithm to another base: 1 / ln(base) and ln 2 / ln(base), each in two parts of which the first has few bits.
  HWY_INLINE V to_base(double scale, double scale_rest, double two, double two_rest) const {
    const V exact = hn::Sub(f, square);
    const V high = hn::BitCast(D(), hn::And(hn::BitCast(Bits(), exact), hn::Set(Bits(), 0xFFFFFFFF00000000)));
    const V low = hn::Add(hn::Sub(hn::Sub(f, high), square), rest);
    const V first = hn::Mul(high, constant(scale)), whole = hn::Mul(k, constant(two)), sum = hn::Add(whole, first);
    V more = hn::MulAdd(k, constant(two_rest), hn::MulAdd(hn::Add(low, high), constant(scale_rest), hn::Mul(low, constant(scale))));
    more = hn::Add(more, hn::Add(hn::Sub(whole, sum), first));
    return hn::Add(sum, more);
  }
};
/// What logarithms are outside of the positive numbers.
HWY_INLINE V at_edges(V x, V y) {
  const V infinity = constant(std::numeric_limits<double>::infinity());
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(D())), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(D())), constant(std::numeric_limits<double>::quiet_NaN()), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
struct Log {
  static HWY_INLINE V of(V x) { return at_edges(x, Logarithm(x).natural(hn::Zero(D()))); }
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
/// sin(x + quarters pi/2).
template <int kQuarters>
HWY_INLINE V sine(V x) {
  const V sum = hn::MulAdd(x, constant(6.36619772367581382433e-01), constant(kMagic)), n = hn::Sub(sum, constant(kMagic));
  // Three parts of pi/2; the products of n with the first two are exact.
  const V t = hn::NegMulAdd(n, constant(1.57079632673412561417e+00), x), second = hn::Mul(n, constant(6.07710050630396597660e-11));
  const V r = hn::Sub(t, second);
  const V third = hn::Sub(hn::Mul(n, constant(2.02226624879595063154e-21)), hn::Sub(hn::Sub(t, r), second));
  const V y = hn::Sub(r, third), rest = hn::Sub(hn::Sub(r, y), third);
  const V z = hn::Mul(y, y), cube = hn::Mul(z, y);
  const V s = polynomial(z, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                         -2.50507602534068634195e-08, 1.58969099521155010221e-10);
  const V sin_y = hn::Sub(y, hn::Sub(hn::Sub(hn::Mul(z, hn::Sub(hn::Mul(constant(0.5), rest), hn::Mul(cube, s))), rest),
                                     hn::Mul(cube, constant(-1.66666666666666324348e-01))));
  const V c = hn::Mul(z, polynomial(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                                    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11));
  const V half = hn::Mul(constant(0.5), z), w = hn::Sub(constant(1), half);
  const V cos_y = hn::Add(w, hn::Add(hn::Sub(hn::Sub(constant(1), w), half), hn::Sub(hn::Mul(z, c), hn::Mul(y, rest))));
  const VBits quarter = hn::Add(hn::BitCast(Bits(), sum), hn::Set(Bits(), kQuarters)), one = hn::Set(Bits(), 1);
  const V chosen = hn::IfThenElse(hn::RebindMask(D(), hn::Eq(hn::And(quarter, one), one)), cos_y, sin_y);
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

constexpr Unary64Function kFunctions[] = {map<Exp>,        map<Exp2>,  map<Expm1>, map<Log>,   map<Log2>, map<Log10>,  map<Log1p>,
                                          map<Sin>,        map<Cos>,   map<Sinh>,  map<Cosh>,  map<Tanh>, map<Negate>, map<Absolute>,
                                          map<SquareRoot>, map<Round>, map<Trunc>, map<Floor>, map<Ceil>};
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
