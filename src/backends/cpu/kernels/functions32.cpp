// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/functions32.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/functions32.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
#if HWY_HAVE_FLOAT64 && HWY_NATIVE_FMA && !MINNOW_SMALL
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using Bits = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VBits = hn::Vec<Bits>;
constexpr size_t kLanes = HWY_LANES(float);
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

#include "backends/cpu/kernels/clamp.inc"

HWY_INLINE V constant(float value) { return hn::Set(D(), value); }
HWY_INLINE VBits bits(uint32_t value) { return hn::Set(Bits(), value); }
HWY_INLINE V polynomial(V, float last) { return constant(last); }
/// first + x (second + x (...)).
template <class... Rest>
HWY_INLINE V polynomial(V x, float first, Rest... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, constant(first));
}
HWY_INLINE V within(float low, V x, float high) { return at_most(constant(high), at_least(constant(low), x)); }
HWY_INLINE V twice(V x) { return hn::Add(x, x); }

// Beside this a float's fraction has no bits: adding it rounds to an integer, which the lowest bits then hold.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
/// 2^n for an integer -126 <= n <= 127.
HWY_INLINE V power_of_2(V n) { return hn::BitCast(D(), hn::ShiftLeft<23>(hn::BitCast(Bits(), hn::Add(n, constant(kMagic + 127))))); }

/// e^x = 2^n (1 + q), where |q| < 0.42.
struct Exponential {
  V n, q;
  /// For |x| < 180.
  HWY_INLINE explicit Exponential(V x) : n(hn::Sub(hn::MulAdd(x, constant(1.44269504f), constant(kMagic)), constant(kMagic))), q(n) {
    // The first difference is exact.
    const V r = hn::NegMulAdd(n, constant(-1.90465421e-9f), hn::NegMulAdd(n, constant(0.69314718246459961f), x));
    q = hn::MulAdd(hn::Mul(r, r), polynomial(r, 0.5f, 0.166666672f, 0.041666355f, 0.00833327416f, 0.00139410142f, 0.000199135626f), r);
  }
  /// y 2^(n - k), in two factors, because n may lie outside the exponents of normal numbers.
  static HWY_INLINE V scaled(V y, V n, float k = 0) {
#if HWY_TARGET == HWY_AVX3
    return V{_mm512_scalef_ps(y.raw, hn::Sub(n, constant(k)).raw)};
#endif
    const V half = hn::Round(hn::Mul(n, constant(0.5f))), rest = hn::Sub(hn::Sub(n, half), constant(k));
    return hn::Mul(hn::Mul(y, power_of_2(half)), power_of_2(rest));
  }
  /// e^x / 2^k.
  HWY_INLINE V value(float k) const { return scaled(hn::Add(q, constant(1)), n, k); }
  /// (e^x - 1) / 2 for -60 <= x <= 89.5, by a quarter, because 2^(n-1) may be infinity where the result is not.
  HWY_INLINE V half_of_rise() const {
    const V scale = power_of_2(hn::Sub(n, constant(2)));
    return twice(hn::MulAdd(scale, q, hn::Sub(scale, constant(0.25f))));
  }
};

struct Exp2 {
  static HWY_INLINE V of(V x) {
    const V c = within(-160, x, 129), n = hn::Round(c), f = hn::Sub(c, n);
    return Exponential::scaled(
        polynomial(f, 1.0f, 0.693147182f, 0.240226507f, 0.055503279f, 0.00961800572f, 0.00134002487f, 0.00015475876f), n);
  }
};
struct Expm1 {
  static HWY_INLINE V of(V x) {
    const V y = twice(Exponential(within(-60, x, 89)).half_of_rise());
    return hn::IfThenElse(hn::Lt(hn::Abs(x), constant(0x1p-26f)), x, y);
  }
};
struct Sinh {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), half = Exponential(within(0, size, 89.5f)).half_of_rise();
    // Beside a large half the quotient counts nothing, and would be that of two infinities.
    const V y = hn::Add(half, hn::IfThenElseZero(hn::Lt(size, constant(20)), hn::Div(half, hn::Add(twice(half), constant(1)))));
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-13f)), x, hn::CopySign(y, x));
  }
};
struct Cosh {
  static HWY_INLINE V of(V x) {
    const V e = twice(Exponential(within(0, hn::Abs(x), 89.5f)).value(2));
    return hn::Add(e, hn::Div(constant(0.25f), e));
  }
};

/// The C library's where vectors do not know better.
template <class F>
HWY_INLINE V where_ordinary(hn::Mask<D> ordinary, V y, V x, F f) {
  if (hn::AllTrue(D(), ordinary)) return y;
  float in[kLanes], out[kLanes], known[kLanes];
  hn::StoreU(x, D(), in);
  hn::StoreU(y, D(), out);
  hn::StoreU(hn::IfThenElseZero(ordinary, constant(1)), D(), known);
  for (size_t i = 0; i < kLanes; ++i)
    if (known[i] == 0) out[i] = f(in[i]);
  return hn::LoadU(D(), out);
}

/// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and ln(1 + f) = f + rest.
struct Logarithm {
  V k, f, rest;
  HWY_INLINE explicit Logarithm(V x) : k(x), f(x), rest(x) {
#if HWY_TARGET == HWY_AVX3
    const V part{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero)}, exponent{_mm512_getexp_ps(x.raw)};
    const auto upper = hn::Gt(part, constant(1.41421356f));
    k = hn::IfThenElse(upper, hn::Add(exponent, constant(1)), exponent);
    f = hn::Sub(hn::IfThenElse(upper, hn::Mul(part, constant(0.5f)), part), constant(1));
#else
    const VBits root = bits(0x3F3504F3), from_root = hn::Add(hn::BitCast(Bits(), x), hn::Sub(bits(0x3F800000), root));
    // The biased exponent as a fraction's lowest bits.
    k = hn::Sub(hn::BitCast(D(), hn::Or(hn::ShiftRight<23>(from_root), bits(0x4B000000))), constant(0x1p23f + 127));
    f = hn::Sub(hn::BitCast(D(), hn::Add(hn::And(from_root, bits(0x007FFFFF)), root)), constant(1));
#endif
    set();
  }
  HWY_INLINE Logarithm(V exponent, V fraction) : k(exponent), f(fraction), rest(fraction) { set(); }
  HWY_INLINE void set() {
    const V square = hn::Mul(f, f);
    rest = hn::Mul(square, hn::MulAdd(f,
                                      polynomial(f, 0.333333164f, -0.250008106f, 0.200022861f, -0.16624549f, 0.141811803f, -0.131287888f,
                                                 0.128817514f, -0.0785964578f),
                                      constant(-0.5f)));
  }
  /// ln x, and `more` beside it.
  HWY_INLINE V natural(V more) const {
    const V whole = hn::Mul(k, constant(0.693145751953125f)), sum = hn::Add(whole, f), lost = hn::Sub(f, hn::Sub(sum, whole));
    return hn::Add(sum, hn::Add(hn::MulAdd(k, constant(1.42860677e-6f), hn::Add(more, rest)), lost));
  }
  /// The logarithm to another base: 1 / ln(base) and ln 2 / ln(base), each in two parts; the latter's first has few bits.
  HWY_INLINE V to_base(float scale, float scale_rest, float two, float two_rest) const {
    const V first = hn::Mul(f, constant(scale)), whole = hn::Mul(k, constant(two)), sum = hn::Add(whole, first);
    V more = hn::MulAdd(rest, constant(scale), hn::MulAdd(f, constant(scale_rest), hn::MulSub(f, constant(scale), first)));
    more = hn::MulAdd(k, constant(two_rest), hn::Add(more, hn::Sub(first, hn::Sub(sum, whole))));
    return hn::Add(sum, more);
  }
};
/// True where Logarithm is valid: not for zero, negative, infinite, NaN or subnormal x.
HWY_INLINE hn::Mask<D> is_normal_positive(V x) {
  return hn::And(hn::Ge(x, constant(std::numeric_limits<float>::min())), hn::Lt(x, constant(kInfinity)));
}

#if HWY_TARGET == HWY_AVX3
// Logarithms for sixteenths of 3/4 ... 3/2, in the order of a fraction's upper bits: reciprocals (exactly 1 next to 1), and their
// logarithms to base 2 and 10, chosen so close to floats that rounding loses little.
constexpr float kReciprocals[16] = {
    1,           0.913514793f, 0.866652012f, 0.822740912f, 0.778705776f, 0.745189726f, 0.712168634f, 0.680350125f,
    1.30854821f, 1.25747347f,  1.20739293f,  1.16539598f,  1.11813903f,  1.08659244f,  1.05061388f,  1};
constexpr float kLog2s[16] = {0,
                              0.130500004f,
                              0.206475273f,
                              0.281489909f,
                              0.360849768f,
                              0.42432031f,
                              0.489709198f,
                              0.555650711f,
                              -0.38796708f,
                              -0.330527961f,
                              -0.27189526f,
                              -0.220820233f,
                              -0.161099583f,
                              -0.119810909f,
                              -0.0712325498f,
                              0};
constexpr float kLog10s[16] = {0,
                               0.0392844155f,
                               0.0621552505f,
                               0.084736906f,
                               0.108626604f,
                               0.127733141f,
                               0.147417158f,
                               0.167267531f,
                               -0.116789728f,
                               -0.0994988307f,
                               -0.0818486288f,
                               -0.0664735138f,
                               -0.0484958068f,
                               -0.0360666774f,
                               -0.0214431342f,
                               0};
/// x = 2^k (1 + r) / reciprocal with -1/32 <= r < 1/16.
struct TableLogarithm {
  V k, r;
  __m512i place;
  HWY_INLINE explicit TableLogarithm(V x) : k(x), r(x) {
    const V part{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero)}, exponent{_mm512_getexp_ps(x.raw)};
    k = hn::IfThenElse(hn::Lt(part, constant(1)), hn::Add(exponent, constant(1)), exponent);
    place = hn::ShiftRight<19>(hn::BitCast(Bits(), part)).raw;
    r = hn::MulSub(part, at(kReciprocals), constant(1));
  }
  HWY_INLINE V at(const float* table) const { return V{_mm512_permutexvar_ps(place, hn::LoadU(D(), table).raw)}; }
  /// k (two + two_rest) + upper + r (first + rest), where `two` has few bits. Adds the rounding error of the first sum.
  HWY_INLINE V to_base(float two, float two_rest, V upper, float first, V rest) const {
    const V sum = hn::MulAdd(k, constant(two), upper), lost = hn::Sub(upper, hn::NegMulAdd(k, constant(two), sum));
    return hn::Add(sum, hn::MulAdd(r, constant(first), hn::MulAdd(r, rest, hn::MulAdd(k, constant(two_rest), lost))));
  }
};
#endif
/// y for positive finite x, f(x) for the rest. Without AVX-512's table, subnormal x gets f(x) too.
template <class F>
HWY_INLINE V logarithm_or(V x, V y, F f) {
#if HWY_TARGET == HWY_AVX3
  return where_ordinary(hn::And(hn::Gt(x, hn::Zero(D())), hn::Lt(x, constant(kInfinity))), y, x, f);
#else
  return where_ordinary(is_normal_positive(x), y, x, f);
#endif
}
struct Log2 {
  static HWY_INLINE V of(V x) {
#if HWY_TARGET == HWY_AVX3
    const TableLogarithm parts(x);
    const V y = parts.to_base(1, 0, parts.at(kLog2s), 1.44269502f,
                              polynomial(parts.r, 1.92596303e-08f, -0.72134757f, 0.480918646f, -0.360773027f, 0.271207482f));
#else
    const V y = Logarithm(x).to_base(1.44269502f, 1.92596303e-08f, 1, 0);
#endif
    return logarithm_or(x, y, [](float v) { return std::log2(v); });
  }
};
struct Log10 {
  static HWY_INLINE V of(V x) {
#if HWY_TARGET == HWY_AVX3
    const TableLogarithm parts(x);
    const V y = parts.to_base(0.301025391f, 4.60503907e-06f, parts.at(kLog10s), 0.434294492f,
                              polynomial(parts.r, -1.010305e-08f, -0.217147246f, 0.144770935f, -0.108603507f, 0.0816415846f));
#else
    const V y = Logarithm(x).to_base(0.434294492f, -1.010305e-08f, 0.301025391f, 4.60503907e-06f);
#endif
    return logarithm_or(x, y, [](float v) { return std::log10(v); });
  }
};
struct Log1p {
  static HWY_INLINE V of(V x) {
    const V one = constant(1), u = hn::Add(one, x);
    const Logarithm parts(u);
    // Add the rounding error of u = 1 + x, divided by u. Near 0 no correction is needed.
    const V lost = hn::IfThenElse(hn::Gt(x, one), hn::Sub(one, hn::Sub(u, x)), hn::Sub(x, hn::Sub(u, one)));
    const auto near = hn::Lt(hn::Abs(x), constant(0.25f));
    const Logarithm chosen(hn::IfThenZeroElse(near, parts.k), hn::IfThenElse(near, x, parts.f));
    const V y = chosen.natural(hn::IfThenZeroElse(near, hn::Mul(lost, hn::ApproximateReciprocal(u))));
    return where_ordinary(is_normal_positive(u), hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, y), x, [](float v) { return std::log1p(v); });
  }
};
struct Arcsinh {
  static HWY_INLINE V of(V x) {
    // ln(size + sqrt(size^2 + 1)) as ln(1 + size + size^2 / (1 + sqrt(size^2 + 1))); of large numbers that of twice as much.
    const V size = hn::Abs(x), one = constant(1);
    const auto large = hn::Gt(size, constant(0x1p26f));
    const V c = at_most(constant(0x1p26f), size), square = hn::Mul(c, c);
    const V rise = hn::Add(c, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one)))));
    const V y = hn::Add(Log1p::of(hn::IfThenElse(large, size, rise)), hn::IfThenElseZero(large, constant(0.69314718f)));
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-13f)), x, hn::CopySign(y, x));
  }
};
struct Arccosh {
  static HWY_INLINE V of(V x) {
    const V t = hn::Sub(x, constant(1));
    const auto large = hn::Gt(x, constant(0x1p26f));
    const V c = at_most(constant(0x1p26f), t), rise = hn::Add(c, hn::Sqrt(hn::MulAdd(c, c, twice(c))));
    const V y = hn::Add(Log1p::of(hn::IfThenElse(large, x, rise)), hn::IfThenElseZero(large, constant(0.69314718f)));
    return hn::IfThenElse(hn::Ge(x, constant(1)), y, constant(kNan));
  }
};
struct Arctanh {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), y = hn::Mul(constant(0.5f), Log1p::of(hn::Div(twice(size), hn::Sub(constant(1), size))));
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-13f)), x, hn::CopySign(y, x));
  }
};

// Pi/2 in three parts.
constexpr float kHalfPi = 1.57079637f, kHalfPiRest = -4.37113883e-08f, kHalfPiLast = -1.71512451e-15f;
struct Tan {
  static HWY_INLINE V of(V x) {
    const V sum = hn::MulAdd(x, constant(0.636619772f), constant(kMagic)), n = hn::Sub(sum, constant(kMagic));
    // Subtract three parts of pi/2. The first difference is exact. The rounding errors of the second product and difference are kept; they
    // matter if the remainder is small.
    const V t = hn::NegMulAdd(n, constant(kHalfPi), x), second = hn::Mul(n, constant(kHalfPiRest)), r = hn::Sub(t, second);
    const V more = hn::Sub(r, t), lost_sum = hn::Sub(hn::Sub(t, hn::Sub(r, more)), hn::Add(second, more));
    const V lost = hn::NegMulAdd(n, constant(kHalfPiLast), hn::Sub(lost_sum, hn::MulSub(n, constant(kHalfPiRest), second)));
    const V z = hn::Mul(r, r), tangent = hn::Add(r, hn::MulAdd(hn::Mul(z, r),
                                                               polynomial(z, 0.333333522f, 0.133326083f, 0.0540656708f, 0.0212542731f,
                                                                          0.0109042311f, 7.08062089e-06f, 0.00441511627f),
                                                               hn::MulAdd(lost, z, lost)));
    const auto odd = hn::RebindMask(D(), hn::Ne(hn::And(hn::BitCast(Bits(), sum), bits(1)), bits(0)));
    const V y = hn::IfThenElse(odd, hn::Div(constant(-1), tangent), tangent);
    return where_ordinary(hn::Le(hn::Abs(x), constant(30000)), hn::IfThenElse(hn::Lt(hn::Abs(x), constant(0x1p-13f)), x, y), x,
                          [](float v) { return std::tan(v); });
  }
};

/// The angle whose tangent is up / right, of up, right >= 0 that are not both 0 and far from overflow: reduced to below pi/8.
HWY_INLINE V acute_angle(V up, V right) {
  const auto middle = hn::Gt(up, hn::Mul(right, constant(0.41421356f))), steep = hn::Gt(up, hn::Mul(right, constant(2.41421356f)));
  const V over = hn::IfThenElse(steep, hn::Neg(right), hn::IfThenElse(middle, hn::Sub(up, right), up));
  const V under = hn::IfThenElse(steep, up, hn::IfThenElse(middle, hn::Add(up, right), right));
  const V t = hn::Div(over, under), z = hn::Mul(t, t);
  const V high = hn::IfThenElse(steep, constant(kHalfPi), hn::IfThenElseZero(middle, constant(kHalfPi / 2)));
  const V low = hn::IfThenElse(steep, constant(kHalfPiRest), hn::IfThenElseZero(middle, constant(kHalfPiRest / 2)));
  const V more = hn::MulAdd(hn::Mul(z, t), polynomial(z, -0.333333164f, 0.199984893f, -0.142438442f, 0.105959624f, -0.0608335026f), low);
  const V sum = hn::Add(high, t), lost = hn::Sub(t, hn::Sub(sum, high));
  return hn::Add(sum, hn::Add(more, lost));
}
struct Arctan {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), y = acute_angle(at_most(constant(0x1p60f), size), constant(1));
    return hn::IfThenElse(hn::Lt(size, constant(0x1p-13f)), x, hn::CopySign(y, x));
  }
};
/// arcsin(s) / s - 1 of z = s^2 <= 1/4.
HWY_INLINE V arcsine_rest(V z) {
  return hn::Mul(z, polynomial(z, 0.166667536f, 0.0749524161f, 0.045477096f, 0.0241476111f, 0.0422185473f));
}
struct Arcsin {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), half = hn::Mul(hn::Sub(constant(1), size), constant(0.5f)), root = hn::Sqrt(half);
    const auto near = hn::Lt(size, constant(0.5f));
    const V z = hn::IfThenElse(near, hn::Mul(x, x), half), s = hn::IfThenElse(near, size, root);
    const V rest = hn::Mul(s, arcsine_rest(z)), pi_half = constant(kHalfPi), two = twice(s);
    // Near 1: pi/2 less twice the angle of the root. Add the rounding error of the first difference.
    const V sum = hn::Sub(pi_half, two), lost = hn::Sub(hn::Sub(pi_half, sum), two);
    const V far = hn::Add(sum, hn::NegMulAdd(constant(2), rest, hn::Add(lost, constant(kHalfPiRest))));
    return hn::CopySign(hn::IfThenElse(near, hn::Add(s, rest), far), x);
  }
};
struct Arccos {
  static HWY_INLINE V of(V x) {
    const V size = hn::Abs(x), half = hn::Mul(hn::Sub(constant(1), size), constant(0.5f)), root = hn::Sqrt(half);
    const auto near = hn::Lt(size, constant(0.5f)), negative = hn::Lt(x, hn::Zero(D()));
    const V z = hn::IfThenElse(near, hn::Mul(x, x), half), s = hn::IfThenElse(near, x, root), rest = hn::Mul(s, arcsine_rest(z));
    const V middle = hn::Sub(constant(kHalfPi), hn::Sub(s, hn::Sub(constant(kHalfPiRest), rest)));
    const V small = twice(hn::Add(s, rest));
    const V far = hn::IfThenElse(negative, hn::Sub(constant(2 * kHalfPi), hn::Sub(small, constant(2 * kHalfPiRest))), small);
    return hn::IfThenElse(near, middle, far);
  }
};
/// A third of the exponent, two steps of Halley's method for the reciprocal, and one of Newton's with the exact error of the cube.
struct CubeRoot {
  static HWY_INLINE V of(V x) {
    const V scaled = hn::Abs(x);
    // The bits of x as an integer approximate its scaled logarithm; the upper bits suffice.
    const V exponent = hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), scaled));
    V y = hn::BitCast(D(), hn::ConvertTo(hn::RebindToSigned<D>(), hn::NegMulAdd(exponent, constant(1.0f / 3), constant(1.41994304e9f))));
    for (int i = 0; i < 2; ++i) {  // y = x^(-1/3): h = 1 - x y^3, y (1 + h/3 + 2/9 h^2)
      const V h = hn::NegMulAdd(hn::Mul(scaled, y), hn::Mul(y, y), constant(1));
      y = hn::MulAdd(hn::Mul(y, h), hn::MulAdd(h, constant(2.0f / 9), constant(1.0f / 3)), y);
    }
    const V t = hn::Mul(scaled, hn::Mul(y, y)), square = hn::Mul(t, t), lost = hn::MulSub(t, t, square);
    const V excess = hn::MulAdd(lost, t, hn::MulSub(square, t, scaled));
    const V root = hn::NegMulAdd(hn::Mul(excess, hn::Mul(y, y)), constant(1.0f / 3), t);
    return where_ordinary(is_normal_positive(scaled), hn::CopySign(root, x), x, [](float v) { return std::cbrt(v); });
  }
};

#if HWY_TARGET == HWY_AVX3
// The hyperbolic tangent for quarters of octaves from 1/16 to 16; the first one also covers all smaller numbers. Each has a midpoint, whose
// tangent is close to a float, and a polynomial of the distance from it with the least relative error.
constexpr float kTangents[7][32] = {{0,
                                     0.0860791653f,
                                     0.101899028f,
                                     0.117159747f,
                                     0.140924543f,
                                     0.171887636f,
                                     0.203730762f,
                                     0.234232739f,
                                     0.281358659f,
                                     0.344996721f,
                                     0.40751183f,
                                     0.468273133f,
                                     0.561762333f,
                                     0.684332967f,
                                     0.814266205f,
                                     0.940034568f,
                                     1.12532592f,
                                     1.38166642f,
                                     1.61801577f,
                                     1.8820591f,
                                     2.25929189f,
                                     2.7458272f,
                                     3.25277448f,
                                     3.75111175f,
                                     4.50320292f,
                                     5.49858046f,
                                     6.47332525f,
                                     7.51304722f,
                                     9.05722046f,
                                     0,
                                     0,
                                     0},
                                    {0,
                                     0.0858671889f,
                                     0.1015478f,
                                     0.116626613f,
                                     0.139998987f,
                                     0.170214579f,
                                     0.200958088f,
                                     0.230040982f,
                                     0.274162084f,
                                     0.331930935f,
                                     0.386357963f,
                                     0.436802983f,
                                     0.509283841f,
                                     0.594329059f,
                                     0.671936989f,
                                     0.735238135f,
                                     0.809413493f,
                                     0.881323874f,
                                     0.924335837f,
                                     0.9546749f,
                                     0.978426337f,
                                     0.991791785f,
                                     0.997014225f,
                                     0.998896897f,
                                     0.999754786f,
                                     0.999966502f,
                                     0.999995232f,
                                     0.999999404f,
                                     1,
                                     1,
                                     1,
                                     1},
                                    {1,
                                     0.992626846f,
                                     0.989688039f,
                                     0.98639822f,
                                     0.980400264f,
                                     0.971027017f,
                                     0.959615827f,
                                     0.947081149f,
                                     0.924835145f,
                                     0.889821827f,
                                     0.850727499f,
                                     0.809203148f,
                                     0.740629971f,
                                     0.646772981f,
                                     0.548500657f,
                                     0.459424883f,
                                     0.344849795f,
                                     0.223268211f,
                                     0.145603269f,
                                     0.0885958374f,
                                     0.0426819213f,
                                     0.0163490511f,
                                     0.00596264051f,
                                     0.00220499071f,
                                     0.000490385049f,
                                     6.69962246e-05f,
                                     9.53638664e-06f,
                                     1.19216747e-06f,
                                     5.4360477e-08f,
                                     0,
                                     0,
                                     0},
                                    {0,
                                     -0.0852340758f,
                                     -0.100500643f,
                                     -0.115040287f,
                                     -0.137255043f,
                                     -0.16528295f,
                                     -0.192842558f,
                                     -0.217867479f,
                                     -0.253554702f,
                                     -0.295359373f,
                                     -0.328685313f,
                                     -0.353462338f,
                                     -0.37719062f,
                                     -0.384395897f,
                                     -0.36855796f,
                                     -0.337786794f,
                                     -0.279128015f,
                                     -0.196772695f,
                                     -0.134586737f,
                                     -0.0845802799f,
                                     -0.0417599007f,
                                     -0.0162139405f,
                                     -0.00594442617f,
                                     -0.00220239698f,
                                     -0.000489648548f,
                                     -6.69100264e-05f,
                                     -9.52552818e-06f,
                                     -1.19063236e-06f,
                                     -2.4294846e-07f,
                                     0,
                                     0,
                                     0},
                                    {-0.333332628f,
                                     -0.323556781f,
                                     -0.319690406f,
                                     -0.315382868f,
                                     -0.307584554f,
                                     -0.295542121f,
                                     -0.281118721f,
                                     -0.26557526f,
                                     -0.238763466f,
                                     -0.19856897f,
                                     -0.1565862f,
                                     -0.115340918f,
                                     -0.0547798723f,
                                     0.0128669627f,
                                     0.064814195f,
                                     0.0952129662f,
                                     0.11098092f,
                                     0.099004738f,
                                     0.075866878f,
                                     0.0512153693f,
                                     0.0266308729f,
                                     0.0106324088f,
                                     0.00393903954f,
                                     0.00146498368f,
                                     0.00032614739f,
                                     4.46062659e-05f,
                                     6.36530012e-06f,
                                     7.92658057e-07f,
                                     1.42065035e-08f,
                                     0,
                                     0,
                                     0},
                                    {0,
                                     0.0561776534f,
                                     0.0659623444f,
                                     0.0751101226f,
                                     0.0887978822f,
                                     0.105380736f,
                                     0.120757058f,
                                     0.133681983f,
                                     0.149880543f,
                                     0.16426909f,
                                     0.169971898f,
                                     0.168125778f,
                                     0.153424978f,
                                     0.12042027f,
                                     0.0793419033f,
                                     0.042683322f,
                                     0.0036172336f,
                                     -0.0214307532f,
                                     -0.0251762662f,
                                     -0.0206876267f,
                                     -0.0122007914f,
                                     -0.0051874402f,
                                     -0.00196717284f,
                                     -0.000737602706f,
                                     -0.00017085344f,
                                     -2.33823521e-05f,
                                     -3.32472018e-06f,
                                     -4.16095133e-07f,
                                     1.6608567e-07f,
                                     0,
                                     0,
                                     0},
                                    {0.13291508f,
                                     0.12480969f,
                                     0.121953428f,
                                     0.120821849f,
                                     0.111996412f,
                                     0.102182359f,
                                     0.0910227969f,
                                     0.0787616074f,
                                     0.0591814704f,
                                     0.0320571773f,
                                     0.00600805879f,
                                     -0.0170994103f,
                                     -0.0433422364f,
                                     -0.0615236983f,
                                     -0.0626694635f,
                                     -0.053077694f,
                                     -0.0321120694f,
                                     -0.00955127086f,
                                     0.00138141005f,
                                     0.00459699985f,
                                     0.00397670455f,
                                     0.00191629422f,
                                     0.00077123713f,
                                     0.000292947079f,
                                     6.85917184e-05f,
                                     9.31898012e-06f,
                                     1.26186558e-06f,
                                     1.70796014e-07f,
                                     5.04327673e-08f,
                                     0,
                                     0,
                                     0}};
struct Tanh {
  static HWY_INLINE V of(V x) {
    const V size = at_most(constant(15), hn::Abs(x));
    const hn::RebindToSigned<D> n;
    const auto place = hn::Max(hn::Zero(n), hn::Sub(hn::ShiftRight<21>(hn::BitCast(n, size)), hn::Set(n, 492)));  // in quarters of octaves
    const auto at = [place](const float* row)
                        HWY_ATTR { return V{_mm512_permutex2var_ps(hn::LoadU(D(), row).raw, place.raw, hn::LoadU(D(), row + 16).raw)}; };
    const V r = hn::Sub(size, at(kTangents[0]));
    V y = at(kTangents[6]);
    MINNOW_UNROLL for (int k = 5; k > 0; --k) y = hn::MulAdd(y, r, at(kTangents[k]));
    return hn::CopySign(y, x);
  }
};
#endif

struct Trunc {
  static HWY_INLINE V of(V x) { return hn::Trunc(x); }
};

template <class F>
HWY_NOINLINE void map(const float* x, size_t count, float* y) {
  const D d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(F::of(hn::LoadU(d, x + i)), d, y + i);
  if (i < count) {
    float rest[kLanes] = {};
    std::memcpy(rest, x + i, (count - i) * sizeof(float));
    map<F>(rest, kLanes, rest);
    std::memcpy(y + i, rest, (count - i) * sizeof(float));
  }
}

// Powers, in f64.
using D64 = hn::ScalableTag<double>;
using Bits64 = hn::RebindToUnsigned<D64>;
using Half = hn::Rebind<float, D64>;
using V64 = hn::Vec<D64>;
constexpr size_t kLanes64 = HWY_LANES(double);
HWY_INLINE V64 wide(double value) { return hn::Set(D64(), value); }
HWY_INLINE V64 polynomial(V64, double last) { return wide(last); }
template <class... Rest>
HWY_INLINE V64 polynomial(V64 x, double first, Rest... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, wide(first));
}
#if HWY_TARGET == HWY_AVX3
// As kReciprocals, in f64.
constexpr double kReciprocals64[2][16] = {
    {1, 0.9140625, 0.86474609375, 0.8203125, 0.7802734375, 0.744140625, 0.7109375, 0.6806640625, 1.3056640625, 1.2548828125, 1.2080078125,
     1.1640625, 1.123046875, 1.0849609375, 1.048828125, 1},
    {0, 0.12963528041659547, 0.20965150324808576, 0.28575448233387735, 0.35794830707202324, 0.42635281250667795, 0.49220535980130375,
     0.5549851541315769, -0.3847837500933528, -0.32755264408124046, -0.2726297849763697, -0.21916852046216156, -0.16741814583173756,
     -0.117643101389092, -0.06877827798541261, 0}};
/// log2 x of x > 0, to 2^-40 of it.
HWY_INLINE V64 binary_logarithm(V64 x) {
  const V64 part{_mm512_getmant_pd(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero)}, exponent{_mm512_getexp_pd(x.raw)};
  const V64 k = hn::IfThenElse(hn::Lt(part, wide(1)), hn::Add(exponent, wide(1)), exponent);
  const auto place = hn::ShiftRight<48>(hn::BitCast(Bits64(), part));
  const auto at = [place](const double* row)
                      HWY_ATTR { return V64{_mm512_permutex2var_pd(hn::LoadU(D64(), row).raw, place.raw, hn::LoadU(D64(), row + 8).raw)}; };
  const V64 r = hn::MulSub(part, at(kReciprocals64[0]), wide(1));
  return hn::Add(k, hn::MulAdd(r,
                               polynomial(r, 1.442695040889869, -0.7213475203053786, 0.48089833499628365, -0.36067423493498163,
                                          0.2885669182985442, -0.24027804123958715, 0.1881267363508728),
                               at(kReciprocals64[1])));
}
#else
/// log2 x of a normal x > 0, to 2^-35 of it.
HWY_INLINE V64 binary_logarithm(V64 x) {
  const Bits64 b;
  const auto root = hn::Set(b, 0x3FE6A09E667F3BCD), from_root = hn::Add(hn::BitCast(b, x), hn::Sub(hn::Set(b, 0x3FF0000000000000), root));
  const V64 k = hn::Sub(hn::BitCast(D64(), hn::Or(hn::ShiftRight<52>(from_root), hn::Set(b, 0x4330000000000000))), wide(0x1p52 + 1023));
  const V64 f = hn::Sub(hn::BitCast(D64(), hn::Add(hn::And(from_root, hn::Set(b, 0x000FFFFFFFFFFFFF)), root)), wide(1));
  const V64 s = hn::Div(f, hn::Add(f, wide(2)));
  return hn::MulAdd(
      s, polynomial(hn::Mul(s, s), 2.885390081790146, 0.9617966732766321, 0.5770835960024956, 0.41167212055668106, 0.3407402483500102), k);
}
#endif
/// 2^x, to 2^-29 of it.
HWY_INLINE V64 binary_power(V64 x) {
  const auto fraction = [](V64 f) HWY_ATTR {
    return polynomial(f, 1.0000000005541865, 0.6931472057371943, 0.2402264689047411, 0.05550328777085575, 0.009618488974404602,
                      0.001339993118034263, 0.00015345807356724144);
  };
#if HWY_TARGET == HWY_AVX3
  const V64 n = hn::Round(x);
  return V64{_mm512_scalef_pd(fraction(hn::Sub(x, n)).raw, n.raw)};
#else
  const V64 c = at_most(wide(129), at_least(wide(-151), x)), magic = wide(6755399441055744.0 + 1023), sum = hn::Add(c, magic);
  return hn::Mul(fraction(hn::Sub(c, hn::Sub(sum, magic))), hn::BitCast(D64(), hn::ShiftLeft<52>(hn::BitCast(Bits64(), sum))));
#endif
}
HWY_INLINE void power(const float* from_a, const float* from_b, float* y) {
  const D64 d;
  const V64 a = hn::PromoteTo(d, hn::LoadU(Half(), from_a)), b = hn::PromoteTo(d, hn::LoadU(Half(), from_b)), size = hn::Abs(a);
  const V64 exponent = hn::Mul(b, binary_logarithm(size)), infinity = wide(std::numeric_limits<double>::infinity());
  V64 result = binary_power(exponent);
  const auto negative = hn::Lt(a, hn::Zero(d));
  if (!hn::AllFalse(d, negative)) {
    const V64 half = hn::Mul(b, wide(0.5));
    const auto whole = hn::Eq(hn::Round(b), b), even = hn::Eq(hn::Round(half), half);
    const V64 of_whole = hn::IfThenElse(even, result, hn::Neg(result));
    result = hn::IfThenElse(negative, hn::IfThenElse(whole, of_whole, wide(std::numeric_limits<double>::quiet_NaN())), result);
  }
#if HWY_TARGET == HWY_AVX3  // whose logarithms of 0 and infinity are infinite
  const auto ordinary = hn::Lt(hn::Abs(exponent), infinity);
#else
  const auto ordinary = hn::And(hn::And(hn::Gt(size, hn::Zero(d)), hn::Lt(size, infinity)), hn::Lt(hn::Abs(b), infinity));
#endif
  hn::StoreU(hn::DemoteTo(Half(), result), Half(), y);
  if (hn::AllTrue(d, ordinary)) return;
  double known[kLanes64];
  hn::StoreU(hn::IfThenElseZero(ordinary, wide(1)), d, known);
  for (size_t i = 0; i < kLanes64; ++i)
    if (known[i] == 0) y[i] = std::pow(from_a[i], from_b[i]);
}
HWY_INLINE void length(const float* from_a, const float* from_b, float* y) {
  const D64 d;
  const V64 a = hn::PromoteTo(d, hn::LoadU(Half(), from_a)), b = hn::PromoteTo(d, hn::LoadU(Half(), from_b));
  const V64 infinity = wide(std::numeric_limits<double>::infinity()), sum = hn::MulAdd(a, a, hn::Mul(b, b));
  const auto infinite = hn::Or(hn::Eq(hn::Abs(a), infinity), hn::Eq(hn::Abs(b), infinity));  // beside NaN too
  hn::StoreU(hn::DemoteTo(Half(), hn::Sqrt(hn::IfThenElse(infinite, infinity, sum))), Half(), y);
}

HWY_INLINE void angle(const float* from_a, const float* from_b, float* to) {
  const D d;
  const V a = hn::LoadU(d, from_a), b = hn::LoadU(d, from_b), up = hn::Abs(a), right = hn::Abs(b), acute = acute_angle(up, right);
  const V y = hn::IfThenElse(hn::Lt(b, hn::Zero(d)), hn::Sub(constant(2 * kHalfPi), hn::Sub(acute, constant(2 * kHalfPiRest))), acute);
  hn::StoreU(hn::CopySign(y, a), d, to);
  const V bound = constant(0x1p126f);
  const auto ordinary = hn::And(hn::And(hn::Lt(up, bound), hn::Lt(right, bound)), hn::Gt(hn::Add(up, right), hn::Zero(d)));
  if (hn::AllTrue(d, ordinary)) return;
  float known[kLanes];
  hn::StoreU(hn::IfThenElseZero(ordinary, constant(1)), d, known);
  for (size_t i = 0; i < kLanes; ++i)
    if (known[i] == 0) to[i] = std::atan2(from_a[i], from_b[i]);
}
/// f of `kStep` elements, for all.
template <size_t kStep, void (*f)(const float*, const float*, float*)>
HWY_NOINLINE void map(const float* a, const float* b, size_t count, float* y) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) f(a + i, b + i, y + i);
  if (i < count) {
    float p[kStep], q[kStep], out[kStep];
    for (size_t k = 0; k < kStep; ++k) p[k] = i + k < count ? a[i + k] : 1, q[k] = i + k < count ? b[i + k] : 1;
    map<kStep, f>(p, q, kStep, out);
    std::memcpy(y + i, out, (count - i) * sizeof(float));
  }
}

constexpr Unary32Function kUnary[] = {map<Exp2>,    map<Expm1>,   map<Log2>,     map<Log10>, map<Log1p>, map<Tan>,
                                      map<Arcsin>,  map<Arccos>,  map<Arctan>,   map<Sinh>,  map<Cosh>,  map<Arcsinh>,
                                      map<Arccosh>, map<Arctanh>, map<CubeRoot>, map<Trunc>};
static_assert(sizeof(kUnary) / sizeof(kUnary[0]) == static_cast<size_t>(MoreUnary::count));
#if HWY_TARGET == HWY_AVX3
constexpr Unary32Function kTanh = map<Tanh>;
#else
constexpr Unary32Function kTanh = nullptr;
#endif
constexpr Binary32Function kBinary[] = {map<kLanes64, power>, map<kLanes64, length>, map<kLanes, angle>};
static_assert(sizeof(kBinary) / sizeof(kBinary[0]) == static_cast<size_t>(Binary32::count));
}  // namespace
#else
constexpr const Unary32Function* kUnary = nullptr;
constexpr const Binary32Function* kBinary = nullptr;
constexpr Unary32Function kTanh = nullptr;
#endif

extern const Functions32Kernels kFunctions32Kernels;
const Functions32Kernels kFunctions32Kernels{kUnary, kBinary, kTanh};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
