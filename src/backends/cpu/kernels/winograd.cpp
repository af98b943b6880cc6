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

// Coefficient of y^power in the product of (y - p_k^2) over the pairs, or over all but pair `without`.
template <int M>
constexpr float coefficient(int power, int without = -1) {
  using P = WinogradPoints<M>;
  double c[P::kPairs + 1] = {1};
  int degree = 0;
  for (int k = 0; k < P::kPairs; ++k) {
    if (k == without) continue;
    for (int t = ++degree; t >= 0; --t) c[t] = (t > 0 ? c[t - 1] : 0) - (t < degree ? c[t] : 0) * P::p[k] * P::p[k];
  }
  return power <= degree ? static_cast<float>(c[power]) : 0;
}
template <int M>
constexpr float point_to(int pair, int power) {
  double value = 1;
  for (int i = 0; i < power; ++i) value *= WinogradPoints<M>::p[pair];
  return static_cast<float>(value);
}

// One column or row of the input's transform.
template <int M>
HWY_INLINE void input_line(const V* x, V* out) {
  const D d;
  constexpr int P = WinogradPoints<M>::kPairs, A = M + 2;
  V zero = x[2 * P], infinity = x[2 * P + 1];
  MINNOW_UNROLL for (int i = 0; i < P; ++i) {
    const V c = hn::Set(d, coefficient<M>(i));
    zero = hn::MulAdd(c, x[2 * i], zero);
    infinity = hn::MulAdd(c, x[2 * i + 1], infinity);
  }
  out[0] = zero;
  out[A - 1] = infinity;
  MINNOW_UNROLL for (int j = 0; j < P; ++j) {
    V even = x[2 * P], odd = x[2 * P - 1];
    MINNOW_UNROLL for (int i = 0; i < P - 1; ++i) {
      const V c = hn::Set(d, coefficient<M>(i, j));
      even = hn::MulAdd(c, x[2 * i + 2], even);
      odd = hn::MulAdd(c, x[2 * i + 1], odd);
    }
    const V p = hn::Set(d, point_to<M>(j, 1));
    out[1 + 2 * j] = hn::MulAdd(p, odd, even);
    out[2 + 2 * j] = hn::NegMulAdd(p, odd, even);
  }
}

// One column or row of the output's transform.
template <int M>
HWY_INLINE void output_line(const V* m, V* out) {
  const D d;
  constexpr int P = WinogradPoints<M>::kPairs, A = M + 2;
  V sum[P], difference[P];
  MINNOW_UNROLL for (int j = 0; j < P; ++j) {
    sum[j] = hn::Add(m[1 + 2 * j], m[2 + 2 * j]);
    difference[j] = hn::Sub(m[1 + 2 * j], m[2 + 2 * j]);
  }
  MINNOW_UNROLL for (int i = 0; i < M; ++i) {
    V y = i == 0 ? m[0] : i == M - 1 ? m[A - 1] : hn::Mul(hn::Set(d, point_to<M>(0, i)), i % 2 ? difference[0] : sum[0]);
    MINNOW_UNROLL for (int j = (i == 0 || i == M - 1) ? 0 : 1; j < P; ++j) y =
        i == 0 ? hn::Add(y, sum[j]) : hn::MulAdd(hn::Set(d, point_to<M>(j, i)), i % 2 ? difference[j] : sum[j], y);
    out[i] = y;
  }
}

template <int M>
void input(const float* x, size_t row, float* v, size_t plane) {
  const D d;
  constexpr int A = M + 2;
  HWY_ALIGN float columns[A * A * kLanes];
  for (int j = 0; j < A; ++j) {
    V in[A], out[A];
    MINNOW_UNROLL for (int i = 0; i < A; ++i) in[i] = hn::LoadU(d, x + i * row + j * kLanes);
    input_line<M>(in, out);
    MINNOW_UNROLL for (int i = 0; i < A; ++i) hn::Store(out[i], d, columns + (i * A + j) * kLanes);
  }
  for (int i = 0; i < A; ++i) {
    V in[A], out[A];
    MINNOW_UNROLL for (int j = 0; j < A; ++j) in[j] = hn::Load(d, columns + (i * A + j) * kLanes);
    input_line<M>(in, out);
    MINNOW_UNROLL for (int j = 0; j < A; ++j) hn::StoreU(out[j], d, v + (i * A + j) * plane);
  }
}

template <int M>
void output(const WinogradOutput& t) {
  const D d;
  constexpr int A = M + 2;
  HWY_ALIGN float columns[M * A * kLanes];
  for (int j = 0; j < A; ++j) {
    V in[A], out[M];
    MINNOW_UNROLL for (int i = 0; i < A; ++i) in[i] = hn::LoadU(d, t.m + (i * A + j) * t.plane);
    output_line<M>(in, out);
    MINNOW_UNROLL for (int i = 0; i < M; ++i) hn::Store(out[i], d, columns + (i * A + j) * kLanes);
  }
  const V bias = t.bias ? hn::LoadU(d, t.bias) : hn::Zero(d), low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  for (size_t i = 0; i < t.rows; ++i) {
    V in[A], out[M];
    MINNOW_UNROLL for (int j = 0; j < A; ++j) in[j] = hn::Load(d, columns + (i * A + j) * kLanes);
    output_line<M>(in, out);
    MINNOW_UNROLL for (int j = 0; j < M; ++j) out[j] = hn::Add(out[j], bias);
    if (t.add)
      MINNOW_UNROLL for (int j = 0; j < M; ++j) if (static_cast<size_t>(j) < t.columns) out[j] =
          hn::Add(out[j], hn::LoadU(d, t.add + i * t.row + j * kLanes));
    if (t.clamps) MINNOW_UNROLL for (int j = 0; j < M; ++j) out[j] = hn::Min(high, hn::Max(low, out[j]));  // in this order NaN passes
    MINNOW_UNROLL for (int j = 0; j < M; ++j) if (static_cast<size_t>(j) < t.columns) hn::StoreU(out[j], d, t.y + i * t.row + j * kLanes);
  }
}
}  // namespace

extern const WinogradKernels kWinogradKernels;
const WinogradKernels kWinogradKernels{{input<2>, input<4>}, {output<2>, output<4>}};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
