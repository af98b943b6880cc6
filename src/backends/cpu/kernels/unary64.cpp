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
#if MINNOW_KERNEL_TARGET
#if HWY_HAVE_FLOAT64 && !MINNOW_SMALL  // whose schemes are left out then
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "backends/cpu/kernels/math64.inc"

struct Exp {
  static HWY_INLINE V of(V x) { return Exponential(within(-746, x, 710)).value(); }
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

struct Log {
  static HWY_INLINE V of(V x) {
    const V y = Logarithm(x).natural(hn::Zero(D()));
    const auto ordinary = hn::And(hn::Gt(x, hn::Zero(D())), hn::Lt(x, constant(std::numeric_limits<double>::infinity())));
    return hn::AllTrue(D(), ordinary) ? y : at_edges(x, y);
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
MINNOW_UNARY(Floor, hn::Floor(x))
MINNOW_UNARY(Ceil, hn::Ceil(x))
#undef MINNOW_UNARY

constexpr Unary64Function kFunctions[] = {map<Exp>,      map<Log>,        map<Sin>,   map<Cos>,   map<Tanh>, map<Negate>,
                                          map<Absolute>, map<SquareRoot>, map<Round>, map<Floor>, map<Ceil>};
static_assert(sizeof(kFunctions) / sizeof(kFunctions[0]) == static_cast<size_t>(Unary64::count));
}  // namespace
#else
constexpr const Unary64Function* kFunctions = nullptr;
#endif

extern const Unary64Kernels kUnary64Kernels;
const Unary64Kernels kUnary64Kernels{kFunctions};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
