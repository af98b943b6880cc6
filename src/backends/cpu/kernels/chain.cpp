// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/chain.h"

#include <utility>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/chain.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/clamp.inc"
#include "backends/cpu/kernels/division.inc"

#include "backends/cpu/kernels/arithmetic.inc"
#undef MINNOW_UNARY

// The vectors are arguments, at most as many as calling conventions pass in registers. On AVX-512 half of them are h, the held values:
// a store of 64 bytes takes two cycles on Zen 4, and with eight vectors of x, divisions and roots would delay more of the next tile
// (bench/python.py's chain of 20 operations on 1e6 floats, in C++: 0.52 ms; without h 0.62, with eight of x 0.64; Zen 4, 2026-11-22).
// Dividing by a constant as a product with its reciprocal and corrections (Markstein) was slower there: 0.65 instead of 0.55 ms. Each tile
// would need the reciprocal and tests of exponents, and the divider works in parallel with the rest.
#define MINNOW_VECTORS V v0, V v1, V v2, V v3, V v4, V v5, V v6, V v7
#define MINNOW_ARGUMENTS v0, v1, v2, v3, v4, v5, v6, v7
constexpr bool kHolds = HWY_TARGET == HWY_AVX3;
constexpr size_t kTile = (kHolds ? 4 : 8) * kLanes;
using Code = void (*)(const ChainStep*, size_t, MINNOW_VECTORS);

// Each function ends in a call of the next, which optimizing compilers make a jump. Without optimization the calls nest, as deep as the
// program is long.
template <class F>
void step(const ChainStep* s, size_t at, MINNOW_VECTORS) {
  if constexpr (kHolds)
    F::of(*s, at, v0, v1, v2, v3);
  else
    F::of(*s, at, MINNOW_ARGUMENTS);
  return reinterpret_cast<Code>(s[1].code)(s + 1, at, MINNOW_ARGUMENTS);
}
// A step that applies F::of(x, h), which reads or changes the held values.
template <class F>
void held_step(const ChainStep* s, size_t at, MINNOW_VECTORS) {
  F::of(v0, v4), F::of(v1, v5), F::of(v2, v6), F::of(v3, v7);
  return reinterpret_cast<Code>(s[1].code)(s + 1, at, MINNOW_ARGUMENTS);
}
template <class... Vs>
HWY_INLINE void ignore(const Vs&...) {}
void end(const ChainStep*, size_t, MINNOW_VECTORS) { ignore(MINNOW_ARGUMENTS); }

template <bool kFixed>
struct Load {
  template <class... Vs>
  static HWY_INLINE void of(const ChainStep& s, size_t at, Vs&... v) {
    const float* a = kFixed ? s.a : s.a + at;
    ((v = hn::LoadU(D(), a), a += kFixed ? 0 : kLanes), ...);
  }
};
struct Store {
  template <class... Vs>
  static HWY_INLINE void of(const ChainStep& s, size_t at, Vs&... v) {
    float* to = s.to + at;
    ((hn::StoreU(v, D(), to), to += kLanes), ...);
  }
};
// x and an operand, in this order or the other one.
template <class F, bool kSwapped, bool kFixed>
struct Binary {
  template <class... Vs>
  static HWY_INLINE void of(const ChainStep& s, size_t at, Vs&... v) {
    const auto f = [](V x, V operand) HWY_ATTR { return kSwapped ? F::of(operand, x) : F::of(x, operand); };
    if constexpr (kFixed) {
      const V a = hn::LoadU(D(), s.a);
      ((v = f(v, a)), ...);
    } else {
      const float* a = s.a + at;
      ((v = f(v, hn::LoadU(D(), a)), a += kLanes), ...);
    }
  }
};
struct Hold {
  static HWY_INLINE void of(V& x, V& h) { h = x; }
};
struct Swap {
  static HWY_INLINE void of(V& x, V& h) { std::swap(x, h); }
};
struct LoadHeld {
  static HWY_INLINE void of(V& x, V& h) { x = h; }
};
template <class F, bool kSwapped>
struct BinaryHeld {
  static HWY_INLINE void of(V& x, V& h) { x = kSwapped ? F::of(h, x) : F::of(x, h); }
};
struct Select {
  template <class... Vs>
  static HWY_INLINE void of(const ChainStep& s, size_t at, Vs&... v) {
    const float *a = s.a + (at & s.a_mask), *b = s.b + (at & s.b_mask);
    const size_t a_step = kLanes & s.a_mask, b_step = kLanes & s.b_mask;
    ((v = hn::IfThenElse(hn::Ne(v, hn::Zero(D())), hn::LoadU(D(), a), hn::LoadU(D(), b)), a += a_step, b += b_step), ...);
  }
};
struct Square {
  template <class... Vs>
  static HWY_INLINE void of(const ChainStep&, size_t, Vs&... v) {
    ((v = hn::Mul(v, v)), ...);
  }
};
template <class F, bool kParameters = false>
struct Unary {
  template <class... Vs>
  static HWY_INLINE void of(const ChainStep& s, size_t, Vs&... v) {
    const V a = kParameters ? hn::LoadU(D(), s.a) : hn::Zero(D()), b = kParameters ? hn::LoadU(D(), s.b) : hn::Zero(D());
    ((v = F::of(v, a, b)), ...);
  }
};

void run(const ChainStep* steps, size_t count) {
  const V zero = hn::Zero(D());
  for (size_t at = 0; at < count; at += kTile)
    reinterpret_cast<Code>(steps->code)(steps, at, zero, zero, zero, zero, zero, zero, zero, zero);
}
#undef MINNOW_VECTORS
#undef MINNOW_ARGUMENTS

template <class F>
constexpr ChainCode held() {
  if constexpr (kHolds)
    return reinterpret_cast<ChainCode>(&held_step<F>);
  else
    return nullptr;
}
#define MINNOW_STEP(...) reinterpret_cast<ChainCode>(&step<__VA_ARGS__>)
#define MINNOW_OPERAND(F, swapped) \
  { MINNOW_STEP(Binary<F, swapped, false>), MINNOW_STEP(Binary<F, swapped, true>) }
#define MINNOW_HELD(F, swapped) \
  { MINNOW_STEP(Binary<F, swapped, false>), MINNOW_STEP(Binary<F, swapped, true>), held<BinaryHeld<F, swapped>>() }
#define MINNOW_ALONE(...) \
  { MINNOW_STEP(__VA_ARGS__) }
const ChainCode kCode[][3] = {
    {reinterpret_cast<ChainCode>(&end)},
    {MINNOW_STEP(Load<false>), MINNOW_STEP(Load<true>), held<LoadHeld>()},
    MINNOW_ALONE(Store),
    {held<Hold>()},
    {held<Swap>()},
    MINNOW_HELD(Add, false),
    MINNOW_HELD(Subtract, false),
    MINNOW_HELD(Subtract, true),
    MINNOW_HELD(Multiply, false),
    MINNOW_OPERAND(Divide, false),
    MINNOW_OPERAND(Divide, true),
    MINNOW_OPERAND(Minimum, false),
    MINNOW_OPERAND(Minimum, true),
    MINNOW_OPERAND(Maximum, false),
    MINNOW_OPERAND(Maximum, true),
    MINNOW_OPERAND(PRelu, false),
    MINNOW_OPERAND(PRelu, true),
    MINNOW_OPERAND(Less, false),
    MINNOW_OPERAND(Less, true),
    MINNOW_OPERAND(LessEqual, false),
    MINNOW_OPERAND(LessEqual, true),
    MINNOW_OPERAND(Equal, false),
    MINNOW_ALONE(Select),
    MINNOW_ALONE(Square),
    MINNOW_ALONE(Unary<Relu>),
    MINNOW_ALONE(Unary<Clip, true>),
    MINNOW_ALONE(Unary<LeakyRelu, true>),
    MINNOW_ALONE(Unary<Negate>),
    MINNOW_ALONE(Unary<Absolute>),
    MINNOW_ALONE(Unary<SquareRoot>),
    MINNOW_ALONE(Unary<Reciprocal>),
    MINNOW_ALONE(Unary<Floor>),
    MINNOW_ALONE(Unary<Ceil>),
    MINNOW_ALONE(Unary<Round>),
    MINNOW_ALONE(Unary<Scale, true>),
};
#undef MINNOW_STEP
#undef MINNOW_OPERAND
#undef MINNOW_HELD
#undef MINNOW_ALONE
static_assert(sizeof(kCode) / sizeof(kCode[0]) == static_cast<size_t>(Chain::count));
}  // namespace

extern const ChainKernels kChainKernels;
const ChainKernels kChainKernels{kTile, kCode, run};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
