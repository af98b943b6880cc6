// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/winograd.h"

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
constexpr int kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/clamp.inc"

// Coefficient of y^power in the product of (y - p_k^2) over the pairs, or over all but pair `without`.
template <class Points>
constexpr float coefficient(int power, int without = -1) {
  double c[Points::kPairs + 1] = {1};
  int degree = 0;
  for (int k = 0; k < Points::kPairs; ++k) {
    if (k == without) continue;
    for (int t = ++degree; t >= 0; --t) c[t] = (t > 0 ? c[t - 1] : 0) - (t < degree ? c[t] : 0) * Points::p[k] * Points::p[k];
  }
  return power <= degree ? static_cast<float>(c[power]) : 0;
}
template <class Points>
constexpr float point_to(int pair, int power) {
  double value = 1;
  for (int i = 0; i < power; ++i) value *= Points::p[pair];
  return static_cast<float>(value);
}

// One line of the input's transform, and of the output's.
template <class Points>
HWY_INLINE void to_points(const V* x, V* out) {
  const D d;
  constexpr int P = Points::kPairs, Z = Points::kZero, A = Points::kPositions;
  V infinity = x[2 * P + Z];
  MINNOW_UNROLL for (int i = 0; i < P; ++i) infinity = hn::MulAdd(hn::Set(d, coefficient<Points>(i)), x[2 * i + Z], infinity);
  out[A - 1] = infinity;
  if constexpr (Z) {
    V zero = x[2 * P];
    MINNOW_UNROLL for (int i = 0; i < P; ++i) zero = hn::MulAdd(hn::Set(d, coefficient<Points>(i)), x[2 * i], zero);
    out[0] = zero;
  }
  MINNOW_UNROLL for (int j = 0; j < P; ++j) {
    V even = x[2 * P - 1 + Z], odd = x[2 * P - 2 + Z];
    MINNOW_UNROLL for (int i = 0; i < P - 1; ++i) {
      const V c = hn::Set(d, coefficient<Points>(i, j));
      even = hn::MulAdd(c, x[2 * i + 1 + Z], even);
      odd = hn::MulAdd(c, x[2 * i + Z], odd);
    }
    const V p = hn::Set(d, point_to<Points>(j, 1));
    out[Z + 2 * j] = hn::MulAdd(p, odd, even);
    out[Z + 2 * j + 1] = hn::NegMulAdd(p, odd, even);
  }
}
template <class Points, int M>
HWY_INLINE void from_points(const V* m, V* out) {
  const D d;
  constexpr int P = Points::kPairs, Z = Points::kZero, A = Points::kPositions;
  V sum[P], difference[P];
  MINNOW_UNROLL for (int j = 0; j < P; ++j) {
    sum[j] = hn::Add(m[Z + 2 * j], m[Z + 2 * j + 1]);
    difference[j] = hn::Sub(m[Z + 2 * j], m[Z + 2 * j + 1]);
  }
  MINNOW_UNROLL for (int i = 0; i < M; ++i) {
    const bool with_zero = i == 0 && Z, with_infinity = i == M - 1;
    V y = with_zero ? m[0] : with_infinity ? m[A - 1] : hn::Mul(hn::Set(d, point_to<Points>(0, i)), i % 2 ? difference[0] : sum[0]);
    MINNOW_UNROLL for (int j = with_zero || with_infinity ? 0 : 1; j < P; ++j) y =
        i == 0 ? hn::Add(y, sum[j]) : hn::MulAdd(hn::Set(d, point_to<Points>(j, i)), i % 2 ? difference[j] : sum[j], y);
    out[i] = y;
  }
}

// The product of the differences of a point from all other finite ones: of zero (pair -1), or of either point of a pair.
template <class Points>
constexpr double differences(int pair) {
  const double p = pair < 0 ? 0 : Points::p[pair];
  double product = pair < 0 ? 1 : 2 * p * (Points::kZero ? p : 1);
  for (int k = 0; k < Points::kPairs; ++k)
    if (k != pair) product *= p * p - Points::p[k] * Points::p[k];
  return product;
}
// One line of the weights' transform, of R taps; both points of a pair share their even and their odd taps.
template <class Points, int R>
HWY_INLINE void weights_to_points(const V* w, V* out) {
  const D d;
  constexpr int P = Points::kPairs, Z = Points::kZero, A = Points::kPositions;
  if constexpr (Z) out[0] = hn::Mul(hn::Set(d, static_cast<float>(1 / differences<Points>(-1))), w[0]);
  MINNOW_UNROLL for (int j = 0; j < P; ++j) {
    const auto factor = [&](int power) HWY_ATTR {
      double value = 1 / differences<Points>(j);
      for (int i = 0; i < power; ++i) value *= Points::p[j];
      return hn::Set(d, static_cast<float>(value));
    };
    V even = hn::Mul(factor(0), w[0]), odd = hn::Mul(factor(1), w[1]);
    MINNOW_UNROLL for (int k = 2; k < R; ++k) {
      if (k % 2)
        odd = hn::MulAdd(factor(k), w[k], odd);
      else
        even = hn::MulAdd(factor(k), w[k], even);
    }
    // The factor of the negative point of a pair without a zero has the other sign.
    out[Z + 2 * j] = hn::Add(even, odd);
    out[Z + 2 * j + 1] = Z ? hn::Sub(even, odd) : hn::Sub(odd, even);
  }
  out[A - 1] = w[R - 1];
}

template <WinogradForm kForm>
struct Plain {
  static constexpr WinogradNumbers N = numbers_of(kForm);
  static constexpr int M = N.outputs, A = N.positions;
  using Points = WinogradPoints<M, N.taps>;
  static HWY_INLINE void input(const V* x, V* out) { to_points<Points>(x, out); }
  static HWY_INLINE void output(const V* m, V* out) { from_points<Points, M>(m, out); }
  static constexpr int R = N.taps;
  static HWY_INLINE void weights(const V* w, V* out) { weights_to_points<Points, R>(w, out); }
};
template <WinogradForm kForm>
struct Stride2 {
  static constexpr int M = numbers_of(kForm).outputs, A = 2 * M + 1;
  using Points = WinogradPoints<M, 2>;
  static HWY_INLINE void input(const V* x, V* out) {
    V even[M + 1];
    MINNOW_UNROLL for (int i = 0; i <= M; ++i) even[i] = x[2 * i];
    to_points<Points>(even, out);
    MINNOW_UNROLL for (int i = 0; i < M; ++i) out[M + 1 + i] = x[2 * i + 1];
  }
  static HWY_INLINE void output(const V* m, V* out) {
    from_points<Points, M>(m, out);
    MINNOW_UNROLL for (int i = 0; i < M; ++i) out[i] = hn::Add(out[i], m[M + 1 + i]);
  }
  static constexpr int R = 3;
  static HWY_INLINE void weights(const V* w, V* out) {
    const V even[2] = {w[0], w[2]};
    weights_to_points<Points, 2>(even, out);
    MINNOW_UNROLL for (int i = 0; i < M; ++i) out[M + 1 + i] = w[1];
  }
};

template <class Form>
void input(const float* x, size_t row, float* v, size_t plane) {
  const D d;
  constexpr int A = Form::A;
  HWY_ALIGN float columns[A * A * kLanes];
  for (int j = 0; j < A; ++j) {
    V in[A], out[A];
    MINNOW_UNROLL for (int i = 0; i < A; ++i) in[i] = hn::LoadU(d, x + i * row + j * kLanes);
    Form::input(in, out);
    MINNOW_UNROLL for (int i = 0; i < A; ++i) hn::Store(out[i], d, columns + (i * A + j) * kLanes);
  }
  for (int i = 0; i < A; ++i) {
    V in[A], out[A];
    MINNOW_UNROLL for (int j = 0; j < A; ++j) in[j] = hn::Load(d, columns + (i * A + j) * kLanes);
    Form::input(in, out);
    MINNOW_UNROLL for (int j = 0; j < A; ++j) hn::StoreU(out[j], d, v + (i * A + j) * plane);
  }
}

template <class Form>
void weights(const float* w, size_t step, float* to, size_t plane, size_t vectors) {
  const D d;
  constexpr int A = Form::A, R = Form::R;
  for (size_t i = 0; i < vectors * kLanes; i += kLanes) {
    V in[R], out[A];
    MINNOW_UNROLL for (int k = 0; k < R; ++k) in[k] = hn::LoadU(d, w + k * step + i);
    Form::weights(in, out);
    MINNOW_UNROLL for (int j = 0; j < A; ++j) hn::StoreU(out[j], d, to + j * plane + i);
  }
}

// Row i of a tile's outputs.
template <int M>
HWY_INLINE void finish_row(const WinogradOutput& t, size_t i, V* out) {
  const D d;
  const V bias = t.bias ? hn::LoadU(d, t.bias) : hn::Zero(d), low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  MINNOW_UNROLL for (int j = 0; j < M; ++j) out[j] = hn::Add(out[j], bias);
  if (t.add)
    MINNOW_UNROLL for (int j = 0; j < M; ++j) if (static_cast<size_t>(j) < t.columns) out[j] =
        hn::Add(out[j], hn::LoadU(d, t.add + i * t.row + j * t.pixel));
  if (t.clamps) MINNOW_UNROLL for (int j = 0; j < M; ++j) out[j] = at_most(high, at_least(low, out[j]));
  MINNOW_UNROLL for (int j = 0; j < M; ++j) if (static_cast<size_t>(j) < t.columns) hn::StoreU(out[j], d, t.y + i * t.row + j * t.pixel);
}

template <class Form>
void output(const WinogradOutput& t) {
  const D d;
  constexpr int A = Form::A, M = Form::M;
  HWY_ALIGN float columns[M * A * kLanes];
  for (int j = 0; j < A; ++j) {
    V in[A], out[M];
    MINNOW_UNROLL for (int i = 0; i < A; ++i) in[i] = hn::LoadU(d, t.m + (i * A + j) * t.plane);
    Form::output(in, out);
    MINNOW_UNROLL for (int i = 0; i < M; ++i) hn::Store(out[i], d, columns + (i * A + j) * kLanes);
  }
  for (size_t i = 0; i < t.rows; ++i) {
    V in[A], out[M];
    MINNOW_UNROLL for (int j = 0; j < A; ++j) in[j] = hn::Load(d, columns + (i * A + j) * kLanes);
    Form::output(in, out);
    finish_row<M>(t, i, out);
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

void finish(const WinogradOutput& t) {
  const D d;
  for (size_t i = 0; i < t.rows; ++i) {
    constexpr int M = 4;
    V out[M];
    MINNOW_UNROLL for (int j = 0; j < M; ++j) out[j] = hn::LoadU(d, t.m + (i * M + (static_cast<size_t>(j) < t.columns ? j : 0)) * t.plane);
    finish_row<M>(t, i, out);
  }
}

using F2 = Plain<WinogradForm::f2>;
using F3 = Plain<WinogradForm::f3>;
using F4 = Plain<WinogradForm::f4>;
using S2 = Stride2<WinogradForm::stride2_f2>;
using S4 = Stride2<WinogradForm::stride2_f4>;
using Four = Plain<WinogradForm::four_f4>;
using Two3 = Plain<WinogradForm::two_f3>;
using Two4 = Plain<WinogradForm::two_f4>;
}  // namespace

extern const WinogradKernels kWinogradKernels;
#if MINNOW_SMALL
const WinogradKernels kWinogradKernels{{input<F2>, nullptr, input<F4>},
                                       {output<F2>, nullptr, output<F4>},
                                       {weights<F2>, nullptr, weights<F4>},
                                       {nullptr, line<1>, line<2>, line<3>, line<4>, line<5>, line<6>},
                                       finish};
#else
const WinogradKernels kWinogradKernels{
    {input<F2>, input<F3>, input<F4>, input<S2>, input<S4>, input<Four>, input<Two3>, input<Two4>},
    {output<F2>, output<F3>, output<F4>, output<S2>, output<S4>, output<Four>, output<Two3>, output<Two4>},
    {weights<F2>, weights<F3>, weights<F4>, weights<S2>, weights<S4>, weights<Four>, weights<Two3>, weights<Two4>},
    {nullptr, line<1>, line<2>, line<3>, line<4>, line<5>, line<6>, line<7>, line<8>, line<9>},
    finish};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
