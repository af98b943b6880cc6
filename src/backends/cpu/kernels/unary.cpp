// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/unary.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/functions32.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/unary.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
extern const Functions32Kernels kFunctions32Kernels;
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/math.inc"

#include "backends/cpu/kernels/arithmetic.inc"

MINNOW_UNARY(Copy, x)
MINNOW_UNARY(HardSigmoid, clamp(hn::MulAdd(a, x, b), hn::Zero(D()), constant(1)))
MINNOW_UNARY(HardSwish, hn::Mul(x, clamp(hn::MulAdd(x, constant(1.0f / 6), constant(0.5f)), hn::Zero(D()), constant(1))))
MINNOW_UNARY(Sigmoid, sigmoid_of(x))
MINNOW_UNARY(Tanh, tanh_of(x))
MINNOW_UNARY(Swish, hn::Mul(x, sigmoid_of(hn::Mul(a, x))))
MINNOW_UNARY(Gelu, gelu_of(x))
MINNOW_UNARY(GeluTanh, hn::Mul(hn::Mul(x, constant(0.5f)),
                               hn::Add(constant(1), tanh_of(hn::Mul(hn::Mul(x, constant(0.79788456080f)),
                                                                    hn::MulAdd(hn::Mul(x, x), constant(0.044715f), constant(1)))))))
HWY_INLINE V exp_minus_1(V x) {  // for x <= 0; near 0 as tanh(x / 2) (e^x + 1), which does not cancel
  return hn::Mul(tanh_of(hn::Mul(x, constant(0.5f))), hn::Add(exp_of(x), constant(1)));
}
HWY_INLINE V elu(V x, V a, V scaled) { return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Mul(a, exp_minus_1(scaled)), x); }
MINNOW_UNARY(Elu, elu(x, a, x))
MINNOW_UNARY(Selu, hn::Mul(b, elu(x, a, x)))
MINNOW_UNARY(Celu, elu(x, a, divide(x, a)))
MINNOW_UNARY(Softplus, softplus_of(x))
MINNOW_UNARY(Softsign, divide(x, hn::Add(constant(1), hn::Abs(x))))
MINNOW_UNARY(Mish, hn::Mul(x, tanh_of(softplus_of(x))))
MINNOW_UNARY(ThresholdedRelu, hn::IfThenElseZero(hn::Gt(x, a), x))  // 0 of NaN
MINNOW_UNARY(Exponential, exp_of(x))
MINNOW_UNARY(Logarithm, log_of(x))
MINNOW_UNARY(ErrorFunction, erf_of(x))
/// For large numbers it takes the angle to the other axis, of 1 / |x|, at most 1. The polynomial is a minimax fit of atan(u) / u in u^2.
HWY_INLINE V arc_tangent(V x) {
  const V size = hn::Abs(x);
  const auto large = hn::Gt(size, constant(1));
  const V u = hn::IfThenElse(large, divide(constant(1), size), size), s = hn::Mul(u, u);
  V p = constant(0.002920688662f);
  p = hn::MulAdd(p, s, constant(-0.0163679137f));
  p = hn::MulAdd(p, s, constant(0.04321183753f));
  p = hn::MulAdd(p, s, constant(-0.07552212314f));
  p = hn::MulAdd(p, s, constant(0.1066600372f));
  p = hn::MulAdd(p, s, constant(-0.1421105507f));
  p = hn::MulAdd(p, s, constant(0.1999377281f));
  p = hn::MulAdd(p, s, constant(-0.3333315273f));
  const V angle = hn::MulAdd(hn::Mul(p, s), u, u);
  return hn::CopySign(hn::IfThenElse(large, hn::Sub(constant(1.57079632679f), angle), angle), x);
}
MINNOW_UNARY(Sign, hn::IfThenElse(hn::Eq(hn::Abs(x), hn::Abs(x)),
                                  hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(D())), constant(1)),
                                          hn::IfThenElseZero(hn::Lt(x, hn::Zero(D())), constant(1))),
                                  x))
MINNOW_UNARY(ArcTangent, arc_tangent(x))
#undef MINNOW_UNARY

// Highway's reduction of the argument is good up to this; beyond, and for infinities and NaN, the C library serves.
template <class F>
HWY_INLINE V of_large_too(V x, V y, F f) {
  const D d;
  const auto good = hn::Le(hn::Abs(x), constant(39000));
  if (hn::AllTrue(d, good)) return y;
  float in[kLanes], out[kLanes];
  hn::StoreU(x, d, in);
  hn::StoreU(y, d, out);
  for (size_t i = 0; i < kLanes; ++i)
    if (!(std::fabs(in[i]) <= 39000)) out[i] = f(in[i]);
  return hn::LoadU(d, out);
}
struct Sine {
  static HWY_INLINE V of(V x, V, V) {
    const hn::RebindToSigned<D> di;
    constexpr int32_t kGap = std::numeric_limits<int32_t>::max() - std::bit_cast<int32_t>(39000.0f);
    const V y = hn::Sin(D(), x);
    // Above 0, whose sign Highway's loses, and not too large, in one comparison: beyond, the sum wraps around.
    const auto gap = hn::Set(di, kGap);
    if (hn::AllTrue(di, hn::Gt(hn::Add(hn::BitCast(di, hn::Abs(x)), gap), gap))) return y;
    return of_large_too(x, hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, y), [](float v) { return std::sin(v); });
  }
};
struct Cosine {
  static HWY_INLINE V of(V x, V, V) {
    return of_large_too(x, hn::Cos(D(), x), [](float v) { return std::cos(v); });
  }
};

template <class F>
HWY_NOINLINE void map(const float* x, float* y, size_t count, float a, float b) {
  const D d;
  const V va = hn::Set(d, a), vb = hn::Set(d, b);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(F::of(hn::LoadU(d, x + i), va, vb), d, y + i);
  if (i < count) {
    float rest[kLanes] = {};
    std::memcpy(rest, x + i, (count - i) * sizeof(float));
    map<F>(rest, rest, kLanes, a, b);  // F::of is compiled once
    std::memcpy(y + i, rest, (count - i) * sizeof(float));
  }
}

#if HWY_TARGET == HWY_AVX3 && !MINNOW_SMALL
// By tables: 140 instead of 240 us for 1e6 floats (Xeon, AVX-512, bench/python_numpy.py --only tanh, 2026-11-23).
void tanh(const float* x, float* y, size_t count, float, float) { kFunctions32Kernels.tanh(x, count, y); }
#else
constexpr UnaryFunction tanh = map<Tanh>;
#endif

constexpr UnaryFunction kFunctions[] = {
    map<Copy>,          map<Relu>,     map<Clip>,       map<LeakyRelu>,  map<HardSigmoid>, map<HardSwish>,
    map<Sigmoid>,       tanh,          map<Swish>,      map<Gelu>,       map<GeluTanh>,    map<Elu>,
    map<Selu>,          map<Celu>,     map<Softplus>,   map<Softsign>,   map<Mish>,        map<ThresholdedRelu>,
    map<Negate>,        map<Absolute>, map<SquareRoot>, map<Reciprocal>, map<Exponential>, map<Logarithm>,
    map<ErrorFunction>, map<Floor>,    map<Ceil>,       map<Round>,      map<Sign>,        map<Sine>,
    map<Cosine>,        map<Scale>,    map<ArcTangent>};
static_assert(sizeof(kFunctions) / sizeof(kFunctions[0]) == static_cast<size_t>(Unary::count));
}  // namespace

extern const UnaryKernels kUnaryKernels;
const UnaryKernels kUnaryKernels{kFunctions};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
