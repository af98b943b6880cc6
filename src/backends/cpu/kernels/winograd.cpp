// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/winograd.h"

#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/winograd.cpp"
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

// A positions: zero (if their number is even), pairs of points, infinity. Forms with the same number share the code; the points are in the
// coefficients, which stay in registers, or on the stack of machines with few registers.
template <int A>
struct Points {
  static constexpr int kPairs = (A - 1) / 2, kZero = (A - 1) % 2;
};
// The most outputs of the forms with `positions` positions, and whether one of them also has positions of odd inputs.
constexpr size_t most_outputs(size_t positions) {
  size_t most = 0;
  for (const WinogradNumbers& n : kWinogradForms)
    if (n.served() == positions && n.outputs > most) most = n.outputs;
  return most;
}
constexpr bool has_copies(size_t positions) {
  for (const WinogradNumbers& n : kWinogradForms)
    if (n.served() == positions && n.copies() > 0) return true;
  return false;
}

template <int A>
void input(const WinogradLines& t, const float* x, float* y) {
  const D d;
  constexpr int P = Points<A>::kPairs, Z = Points<A>::kZero;
  V polynomial[P], without[P][P];  // without the factor of a pair; the last of each is the point
  MINNOW_UNROLL for (int i = 0; i < P; ++i) polynomial[i] = hn::Set(d, t.coefficients[i]);
  MINNOW_UNROLL for (int j = 0; j < P; ++j) MINNOW_UNROLL for (int i = 0; i < P; ++i) without[j][i] =
      hn::Set(d, t.coefficients[(j + 1) * P + i]);
  for (size_t line = 0; line < t.lines; ++line, x += t.x_line, y += t.y_line) {
    V in[A];
    MINNOW_UNROLL for (int i = 0; i < A; ++i) in[i] = hn::LoadU(d, x + i * t.x_value);
    V infinity = in[A - 1];
    MINNOW_UNROLL for (int i = 0; i < P; ++i) infinity = hn::MulAdd(polynomial[i], in[2 * i + Z], infinity);
    hn::StoreU(infinity, d, y + (A - 1) * t.y_value);
    if constexpr (Z) {
      V zero = in[2 * P];
      MINNOW_UNROLL for (int i = 0; i < P; ++i) zero = hn::MulAdd(polynomial[i], in[2 * i], zero);
      hn::StoreU(zero, d, y);
    }
    MINNOW_UNROLL for (int j = 0; j < P; ++j) {
      V even = in[2 * P - 1 + Z], odd = in[2 * P - 2 + Z];
      MINNOW_UNROLL for (int i = 0; i < P - 1; ++i) {
        even = hn::MulAdd(without[j][i], in[2 * i + 1 + Z], even);
        odd = hn::MulAdd(without[j][i], in[2 * i + Z], odd);
      }
      const V p = without[j][P - 1];
      hn::StoreU(hn::MulAdd(p, odd, even), d, y + (Z + 2 * j) * t.y_value);
      // Without a zero, the negative point has the other sign here, and weights of both points have the same.
      hn::StoreU(Z ? hn::NegMulAdd(p, odd, even) : hn::MulSub(p, odd, even), d, y + (Z + 2 * j + 1) * t.y_value);
    }
    if constexpr (has_copies(A))
      for (size_t i = 0; i < t.copies; ++i) hn::StoreU(hn::LoadU(d, x + t.x_value / 2 + i * t.x_value), d, y + (A + i) * t.y_value);
  }
}

// A WinogradFinish in registers.
struct Finish {
  explicit HWY_INLINE Finish(const WinogradFinish& f)
      : add(f.add),
        rounds(f.scale != nullptr),
        scale(f.scale ? hn::LoadU(D(), f.scale) : hn::Zero(D())),
        bias(f.bias ? hn::LoadU(D(), f.bias) : hn::Zero(D())),
        low(hn::Set(D(), f.clamps ? f.low : -std::numeric_limits<float>::infinity())),
        high(hn::Set(D(), f.clamps ? f.high : std::numeric_limits<float>::infinity())) {}
  HWY_INLINE void put(V out, float* y, size_t offset) const {
    const D d;
    out = hn::Add(out, bias);
    if (add) out = hn::Add(out, hn::LoadU(d, add + offset));
    if (!kSmall && rounds) out = hn::Round(hn::Mul(out, scale));
    hn::StoreU(at_most(high, at_least(low, out)), d, y + offset);
  }
  const float* add;
  bool rounds;
  V scale, bias, low, high;
};
struct NoFinish {
  HWY_INLINE void put(V out, float* y, size_t offset) const { hn::StoreU(out, D(), y + offset); }
};

template <int A, class F>
HWY_INLINE void output_lines(const WinogradLines& t, const float* x, float* y, const F finish) {
  const D d;
  constexpr int P = Points<A>::kPairs, Z = Points<A>::kZero, kMost = most_outputs(A);
  V powers[kMost][P];
  MINNOW_UNROLL for (int i = 1; i < kMost; ++i) MINNOW_UNROLL for (int j = 0; j < P; ++j) powers[i][j] =
      hn::Set(d, t.coefficients[(i - 1) * P + j]);
  const int last = static_cast<int>(t.outputs) - 1;
  size_t to = 0;
  for (size_t line = 0; line < t.lines; ++line, x += t.x_line, to += t.y_line) {
    V sum[P], difference[P];
    MINNOW_UNROLL for (int j = 0; j < P; ++j) {
      const V a = hn::LoadU(d, x + (Z + 2 * j) * t.x_value), b = hn::LoadU(d, x + (Z + 2 * j + 1) * t.x_value);
      sum[j] = hn::Add(a, b), difference[j] = hn::Sub(a, b);
    }
    MINNOW_UNROLL for (int i = 0; i < kMost; ++i) {
      V out = i == 0 ? sum[0] : hn::Mul(powers[i][0], i % 2 ? difference[0] : sum[0]);
      MINNOW_UNROLL for (int j = 1; j < P; ++j) out =
          i == 0 ? hn::Add(out, sum[j]) : hn::MulAdd(powers[i][j], i % 2 ? difference[j] : sum[j], out);
      if (i == 0 && Z) out = hn::Add(out, hn::LoadU(d, x));
      if (has_copies(A) && t.copies) out = hn::Add(out, hn::LoadU(d, x + (A + i) * t.x_value));
      if (i == last) {
        finish.put(hn::Add(out, hn::LoadU(d, x + (A - 1) * t.x_value)), y, to + i * t.y_value);
        break;
      }
      finish.put(out, y, to + i * t.y_value);
    }
  }
}
template <int A>
void output(const WinogradLines& t, const float* x, float* y, const WinogradFinish* finish) {
  // The forms of 3x3 kernels, which most networks spend their time in, have code of their own for the first of the two axes.
  constexpr bool kHasOwn = A >= 4 && A <= 6;
  if (kHasOwn && !finish)
    output_lines<A>(t, x, y, NoFinish());
  else
    output_lines<A>(t, x, y, Finish(finish ? *finish : WinogradFinish()));
}

template <int R>
void weights(const WinogradLines& t, const float* w, float* to) {
  const D d;
  const size_t pairs = (t.outputs - 1) / 2, zero = (t.outputs - 1) % 2;
  for (size_t i = 0; i < t.lines * kLanes; i += kLanes) {
    V in[R];
    MINNOW_UNROLL for (int k = 0; k < R; ++k) in[k] = hn::LoadU(d, w + k * t.x_value + i);
    const float* c = t.coefficients;
    float* y = to + i;
    if (zero) hn::StoreU(hn::Mul(hn::Set(d, *c), in[0]), d, y), y += t.y_value;
    c += 1;
    for (size_t j = 0; j < pairs; ++j, c += R, y += 2 * t.y_value) {
      V even = hn::Mul(hn::Set(d, c[0]), in[0]), odd = hn::Mul(hn::Set(d, c[1]), in[1]);
      MINNOW_UNROLL for (int k = 2; k < R; ++k) {
        if (k % 2)
          odd = hn::MulAdd(hn::Set(d, c[k]), in[k], odd);
        else
          even = hn::MulAdd(hn::Set(d, c[k]), in[k], even);
      }
      hn::StoreU(hn::Add(even, odd), d, y);
      hn::StoreU(hn::Sub(even, odd), d, y + t.y_value);
    }
    hn::StoreU(in[R - 1], d, y);
    for (size_t copy = 0; copy < t.copies; ++copy) hn::StoreU(hn::LoadU(d, w + t.x_value / 2 + i), d, y += t.y_value);
  }
}

template <int N>
void line(const float* x, const size_t* from, const float* matrix, size_t count, float* y, const size_t* to) {
  const D d;
  V in[N];
  MINNOW_UNROLL for (int k = 0; k < N; ++k) in[k] = hn::LoadU(d, x + from[k]);
  for (size_t i = 0; i < count; ++i, matrix += N) {
    V sum = hn::Mul(hn::Set(d, matrix[0]), in[0]);
    MINNOW_UNROLL for (int k = 1; k < N; ++k) sum = hn::MulAdd(hn::Set(d, matrix[k]), in[k], sum);
    hn::StoreU(sum, d, y + to[i]);
  }
}

void finish(const float* x, size_t columns, float* y, size_t pixel, const WinogradFinish& f) {
  const Finish finish(f);
  for (size_t j = 0; j < columns; ++j) finish.put(hn::LoadU(D(), x + j * kLanes), y, j * pixel);
}

// to[l] = sum over k < count of factors[k] from[k * step + l], for l < lanes.
template <class T>
void combine(const double* from, size_t step, const double* factors, size_t count, size_t lanes, T* to) {
#if HWY_HAVE_FLOAT64
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> d_to;
  for (size_t l = 0; l < lanes; l += hn::Lanes(d)) {
    auto sum = hn::Mul(hn::Set(d, factors[0]), hn::LoadU(d, from + l));
    for (size_t k = 1; k < count; ++k) sum = hn::MulAdd(hn::Set(d, factors[k]), hn::LoadU(d, from + k * step + l), sum);
    if constexpr (sizeof(T) == sizeof(float))
      hn::StoreU(hn::DemoteTo(d_to, sum), d_to, to + l);
    else
      hn::StoreU(sum, d_to, to + l);
  }
#else
  for (size_t l = 0; l < lanes; ++l) {
    double sum = factors[0] * from[l];
    for (size_t k = 1; k < count; ++k) sum += factors[k] * from[k * step + l];
    to[l] = static_cast<T>(sum);
  }
#endif
}

void pack(const WinogradWeights& w) {
  double row[kMostWinogradTaps * 2 * kLanes];
  float* to = w.to;
  for (size_t i = 0; i < w.rows; ++i) {
    const double* down = w.down + i * kMostWinogradTaps;
    for (size_t x = 0; x < w.width; ++x)
      if (w.columns)
        combine(w.kernel + x * w.lanes, w.width * w.lanes, down, w.height, w.lanes, row + x * w.lanes);
      else
        combine(w.kernel + x * w.lanes, w.width * w.lanes, down, w.height, w.lanes, to), to += w.step;
    for (size_t j = 0; j < w.columns; ++j, to += w.step) combine(row, w.lanes, w.across + j * kMostWinogradTaps, w.width, w.lanes, to);
  }
}
}  // namespace

extern const WinogradKernels kWinogradKernels;
const WinogradKernels kWinogradKernels{
    {nullptr, nullptr, nullptr, unless_small(input<3>), input<4>, unless_small(input<5>), input<6>, unless_small(input<7>),
     unless_small(input<8>), unless_small(input<9>)},
    {nullptr, nullptr, nullptr, unless_small(output<3>), output<4>, unless_small(output<5>), output<6>, unless_small(output<7>),
     unless_small(output<8>), unless_small(output<9>)},
    {nullptr, nullptr, unless_small(weights<2>), weights<3>, unless_small(weights<4>)},
    {nullptr, line<1>, line<2>, line<3>, line<4>, line<5>, line<6>, unless_small(line<7>), unless_small(line<8>), unless_small(line<9>)},
    finish,
    pack};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
