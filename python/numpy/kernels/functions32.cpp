// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/functions32.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/functions32.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
#if HWY_HAVE_FLOAT64 && HWY_NATIVE_FMA
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
    const VBits root = bits(0x3F3504F3), from_root = hn::Add(hn::BitCast(Bits(), x), hn::Sub(bits(0x3F800000), root));
    // The biased exponent as a fraction's lowest bits.
    k = hn::Sub(hn::BitCast(D(), hn::Or(hn::ShiftRight<23>(from_root), bits(0x4B000000))), constant(0x1p23f + 127));
    f = hn::Sub(hn::BitCast(D(), hn::Add(hn::And(from_root, bits(0x007FFFFF)), root)), constant(1));
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
/// Of what a Logarithm is good for: neither zero, negative, infinite, NaN nor subnormal.
HWY_INLINE hn::Mask<D> is_normal_positive(V x) {
  return hn::And(hn::Ge(x, constant(std::numeric_limits<float>::min())), hn::Lt(x, constant(kInfinity)));
}

struct Log2 {
  static HWY_INLINE V of(V x) {
    const V y = Logarithm(x).to_base(1.44269502f, 1.92596303e-08f, 1, 0);
    return where_ordinary(is_normal_positive(x), y, x, [](float v) { return std::log2(v); });
  }
};
struct Log10 {
  static HWY_INLINE V of(V x) {
    const V y = Logarithm(x).to_base(0.434294492f, -1.010305e-08f, 0.301025391f, 4.60503907e-06f);
    return where_ordinary(is_normal_positive(x), y, x, [](float v) { return std::log10(v); });
  }
};
struct Log1p {
  static HWY_INLINE V of(V x) {
    const V one = constant(1), u = hn::Add(one, x);
    const Logarithm parts(u);
    // What rounding 1 + x has lost, over it; near 0 nothing has to be added.
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
    // Three parts of pi/2. The first difference is exact; of the second product and difference what rounding loses is kept, which counts
    // where little remains.
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
    // Near 1 pi/2 less twice the angle of the root; what the first difference loses is added again.
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
    const V size = hn::Abs(x);
    const auto tiny = hn::Lt(size, constant(std::numeric_limits<float>::min()));
    const V scaled = hn::IfThenElse(tiny, hn::Mul(size, constant(0x1p24f)), size);
    // Of the bits as a number: the upper ones suffice.
    const V exponent = hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), scaled));
    V y = hn::BitCast(D(), hn::ConvertTo(hn::RebindToSigned<D>(), hn::NegMulAdd(exponent, constant(1.0f / 3), constant(1.41994304e9f))));
    for (int i = 0; i < 2; ++i) {  // y = x^(-1/3): h = 1 - x y^3, y (1 + h/3 + 2/9 h^2)
      const V h = hn::NegMulAdd(hn::Mul(scaled, y), hn::Mul(y, y), constant(1));
      y = hn::MulAdd(hn::Mul(y, h), hn::MulAdd(h, constant(2.0f / 9), constant(1.0f / 3)), y);
    }
    const V t = hn::Mul(scaled, hn::Mul(y, y)), square = hn::Mul(t, t), lost = hn::MulSub(t, t, square);
    const V excess = hn::MulAdd(lost, t, hn::MulSub(square, t, scaled));
    const V root = hn::NegMulAdd(hn::Mul(excess, hn::Mul(y, y)), constant(1.0f / 3), t);
    const auto ordinary = hn::And(hn::Gt(size, hn::Zero(D())), hn::Lt(size, constant(kInfinity)));
    return hn::IfThenElse(ordinary, hn::CopySign(hn::IfThenElse(tiny, hn::Mul(root, constant(0x1p-8f)), root), x), x);
  }
};

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
/// 2^x for -151 <= x <= 129, to 2^-29 of it.
HWY_INLINE V64 binary_power(V64 x) {
  const V64 magic = wide(6755399441055744.0 + 1023), sum = hn::Add(x, magic), f = hn::Sub(x, hn::Sub(sum, magic));
  return hn::Mul(polynomial(f, 1.0000000005541865, 0.6931472057371943, 0.2402264689047411, 0.05550328777085575, 0.009618488974404602,
                            0.001339993118034263, 0.00015345807356724144),
                 hn::BitCast(D64(), hn::ShiftLeft<52>(hn::BitCast(Bits64(), sum))));
}
HWY_INLINE void power(const float* from_a, const float* from_b, float* y) {
  const D64 d;
  const V64 a = hn::PromoteTo(d, hn::LoadU(Half(), from_a)), b = hn::PromoteTo(d, hn::LoadU(Half(), from_b)), size = hn::Abs(a);
  V64 result = binary_power(at_most(wide(129), at_least(wide(-151), hn::Mul(b, binary_logarithm(size)))));
  const auto negative = hn::Lt(a, hn::Zero(d));
  if (!hn::AllFalse(d, negative)) {
    const V64 half = hn::Mul(b, wide(0.5));
    const auto whole = hn::Eq(hn::Round(b), b), even = hn::Eq(hn::Round(half), half);
    const V64 of_whole = hn::IfThenElse(even, result, hn::Neg(result));
    result = hn::IfThenElse(negative, hn::IfThenElse(whole, of_whole, wide(std::numeric_limits<double>::quiet_NaN())), result);
  }
  const V64 infinity = wide(std::numeric_limits<double>::infinity());
  const auto ordinary = hn::And(hn::And(hn::Gt(size, hn::Zero(d)), hn::Lt(size, infinity)), hn::Lt(hn::Abs(b), infinity));
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
constexpr Binary32Function kBinary[] = {map<kLanes64, power>, map<kLanes64, length>, map<kLanes, angle>};
static_assert(sizeof(kBinary) / sizeof(kBinary[0]) == static_cast<size_t>(Binary32::count));
}  // namespace
#else
constexpr const Unary32Function* kUnary = nullptr;
constexpr const Binary32Function* kBinary = nullptr;
#endif

extern const Functions32Kernels kFunctions32Kernels;
const Functions32Kernels kFunctions32Kernels{kUnary, kBinary};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
