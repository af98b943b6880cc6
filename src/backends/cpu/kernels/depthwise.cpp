// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/depthwise.h"

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/depthwise.cpp"
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

template <int N, class Rows>
HWY_INLINE void store(const Rows& r, V (&sum)[N], size_t at) {
  const D d;
  if (r.add) MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = hn::Add(sum[n], hn::LoadU(d, r.add + at + n * kLanes));
  if (!kSmall && r.scale) {
    const V scale = hn::LoadU(d, r.scale);
    MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = hn::Round(hn::Mul(sum[n], scale));
  }
  if (r.clamps) {
    const V low = hn::Set(d, r.low), high = hn::Set(d, r.high);
    MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = at_most(high, at_least(low, sum[n]));
  }
  MINNOW_UNROLL for (int n = 0; n < N; ++n) hn::StoreU(sum[n], d, r.y + at + n * kLanes);
}

// N neighbouring outputs of one row, from image column `column` on; kEdge: some of their inputs may lie outside.
template <int K, int S, int N, bool kEdge>
HWY_INLINE void direct_tile(const DirectDepthwiseRows& r, ptrdiff_t top, size_t ky_begin, size_t ky_end, ptrdiff_t column, size_t at) {
  const D d;
  V sum[N];
  const V bias = r.bias ? hn::LoadU(d, r.bias) : hn::Zero(d);
  MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = bias;
  for (size_t ky = ky_begin; ky < ky_end; ++ky) {
    ptrdiff_t row = top + static_cast<ptrdiff_t>(ky * r.dilation_h);
    if (row >= static_cast<ptrdiff_t>(r.wrap)) row -= static_cast<ptrdiff_t>(r.ring);
    const float* x = r.x + (row * static_cast<ptrdiff_t>(r.in_w) + column) * kLanes;
    const float* weights = r.w + ky * K * kLanes;
    V w[K];
    MINNOW_UNROLL for (int k = 0; k < K; ++k) w[k] = hn::LoadU(d, weights + k * kLanes);
    MINNOW_UNROLL for (int j = 0; j < (N - 1) * S + K; ++j) {
      if (kEdge && static_cast<size_t>(column + j) >= r.in_w) continue;
      const V v = hn::LoadU(d, x + j * kLanes);
      MINNOW_UNROLL for (int k = 0; k < K; ++k) if (j >= k && (j - k) % S == 0 && (j - k) / S < N) sum[(j - k) / S] =
          hn::MulAdd(v, w[k], sum[(j - k) / S]);
    }
  }
  store<N>(r, sum, at);
}

// Seven outputs at once: sizes of networks are multiples of 7, and more need more registers than SSE and AVX2 have.
template <int K, int S>
void direct(const DirectDepthwiseRows& r) {
  constexpr size_t N = 7, kBorder = kSmall ? 1 : N;  // kBorder: outputs at once that reach beyond the image
  const ptrdiff_t in_w = static_cast<ptrdiff_t>(r.in_w), in_h = static_cast<ptrdiff_t>(r.in_h);
  for (size_t row = 0; row < r.rows; ++row) {
    const ptrdiff_t top = static_cast<ptrdiff_t>((r.first + row) * r.stride_h) - r.pad_top, step = static_cast<ptrdiff_t>(r.dilation_h);
    size_t begin = 0, end = r.kernel_h;
    while (begin < end && top + static_cast<ptrdiff_t>(begin) * step < 0) ++begin;
    while (end > begin && top + static_cast<ptrdiff_t>(end - 1) * step >= in_h) --end;
    const auto column_of = [&](size_t x) { return static_cast<ptrdiff_t>(x * S) - r.pad_left; };
    size_t x = 0;
    if (r.out_w >= N)
      for (;; x += N) {
        if (x + N > r.out_w) x = r.out_w - N;  // the last tile may overlap the one before
        const ptrdiff_t column = column_of(x);
        const size_t at = (row * r.out_w + x) * kLanes;
        if (column >= 0 && column + static_cast<ptrdiff_t>((N - 1) * S + K) <= in_w)
          direct_tile<K, S, N, false>(r, top, begin, end, column, at);
        else
          for (size_t i = 0; i < N; i += kBorder)
            direct_tile<K, S, kBorder, true>(r, top, begin, end, column + static_cast<ptrdiff_t>(i * S), at + i * kLanes);
        if (x + N == r.out_w) break;
      }
    else
      for (; x < r.out_w; ++x) direct_tile<K, S, 1, true>(r, top, begin, end, column_of(x), (row * r.out_w + x) * kLanes);
  }
}

template <int N>
HWY_INLINE void window_tile(const WindowDepthwiseRows& r, const float* x, size_t at) {
  const D d;
  V sum[N];
  const V bias = r.bias ? hn::LoadU(d, r.bias) : hn::Zero(d);
  MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = bias;
  for (size_t t = 0; t < r.tap_count; ++t) {
    const V w = hn::LoadU(d, r.w + t * kLanes);
    const float* tap = x + r.taps[t];
    MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[n] = hn::MulAdd(w, hn::LoadU(d, tap + n * kLanes), sum[n]);
  }
  store<N>(r, sum, at);
}

void window_rows(const WindowDepthwiseRows& r) {
  constexpr size_t N = 8;
  Stop stop;
  for (size_t row = 0; row < r.rows; ++row) {
    if (stop.after(r.out_w * r.tap_count)) return;
    size_t x = 0;
    for (; x + N <= r.out_w; x += N) window_tile<N>(r, r.x + row * r.x_row + x * kLanes, (row * r.out_w + x) * kLanes);
    for (; x + 3 <= r.out_w; x += 3) window_tile<3>(r, r.x + row * r.x_row + x * kLanes, (row * r.out_w + x) * kLanes);
    for (; x < r.out_w; ++x) window_tile<1>(r, r.x + row * r.x_row + x * kLanes, (row * r.out_w + x) * kLanes);
  }
}

void permute(const LaneOrder& order, const float* x, size_t plane, size_t count, float* y) {
  const D d;
  const hn::RebindToSigned<D> di;
  for (size_t i = 0; i < order.inputs; ++i) {
    const auto lanes = hn::IndicesFromVec(d, hn::LoadU(di, order.source + i * kLanes));
    const auto take = hn::RebindMask(d, hn::Ne(hn::LoadU(di, order.take + i * kLanes), hn::Zero(di)));
    const float* from = x + i * plane;
    if (i == 0)
      for (size_t p = 0; p < count; ++p) hn::StoreU(hn::TableLookupLanes(hn::LoadU(d, from + p * kLanes), lanes), d, y + p * kLanes);
    else
      for (size_t p = 0; p < count; ++p)
        hn::StoreU(hn::IfThenElse(take, hn::TableLookupLanes(hn::LoadU(d, from + p * kLanes), lanes), hn::LoadU(d, y + p * kLanes)), d,
                   y + p * kLanes);
  }
}
}  // namespace

extern const DepthwiseKernels kDepthwiseKernels;
const DepthwiseKernels kDepthwiseKernels{{{direct<3, 1>, direct<3, 2>}, {direct<5, 1>, direct<5, 2>}}, window_rows, permute};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
