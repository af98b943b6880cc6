// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/attention.h"

#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);
constexpr float kInfinity = std::numeric_limits<float>::infinity();

#include "backends/cpu/kernels/math.inc"

// The largest number of both; NaN if one is NaN.
HWY_INLINE V larger(V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b))); }

void softmax(const ScoreRow& row) {
  const D d;
  const size_t whole = row.count / kLanes, rest = row.count % kLanes;
  float last[kLanes];
  V most = hn::Set(d, -kInfinity), most2 = most;
  const auto at = [&](size_t i) HWY_ATTR {
    const V x = hn::LoadU(d, row.scores + i * row.stride);
    return row.add ? hn::Add(x, hn::LoadU(d, row.add + i * kLanes)) : x;
  };
  size_t i = 0;
  for (; i + 2 <= whole; i += 2) {
    most = larger(most, at(i));
    most2 = larger(most2, at(i + 1));
  }
  if (i < whole) most = larger(most, at(i));
  if (rest) {
    const float* x = row.scores + whole * row.stride;
    for (size_t l = 0; l < kLanes; ++l) last[l] = l >= rest ? -kInfinity : row.add ? x[l] + row.add[whole * kLanes + l] : x[l];
    most2 = larger(most2, hn::LoadU(d, last));
  }
  float lanes[kLanes], largest = -kInfinity;
  hn::StoreU(larger(most, most2), d, lanes);
  for (size_t l = 0; l < kLanes; ++l) largest = lanes[l] != lanes[l] || lanes[l] > largest ? lanes[l] : largest;
  if (largest == -kInfinity) {
    for (i = 0; i < whole + (rest ? 1 : 0); ++i) hn::StoreU(hn::Zero(d), d, row.scores + i * row.stride);
    return;
  }
  const V less = hn::Set(d, largest);
  V sum = hn::Zero(d);
  for (i = 0; i < whole; ++i) {
    const V y = exp_of(hn::Sub(at(i), less));
    hn::StoreU(y, d, row.scores + i * row.stride);
    sum = hn::Add(sum, y);
  }
  if (rest) {
    const V y = exp_of(hn::Sub(hn::LoadU(d, last), less));
    hn::StoreU(y, d, row.scores + whole * row.stride);  // lanes beyond: e^-infinity
    sum = hn::Add(sum, y);
  }
  hn::StoreU(sum, d, lanes);
  float total = 0;
  for (size_t l = 0; l < kLanes; ++l) total += lanes[l];
  const V share = hn::Set(d, 1 / total);
  for (i = 0; i < whole + (rest ? 1 : 0); ++i) {
    float* to = row.scores + i * row.stride;
    hn::StoreU(hn::Mul(hn::LoadU(d, to), share), d, to);
  }
}

#if !MINNOW_SMALL
// Four rows share the loads of x.
void multiply_rows(const float* x, const float* rows, size_t stride, size_t count, size_t depth, float scale, float* y) {
  const D d;
  constexpr size_t kRows = 4;
  for (size_t i = 0; i < count; i += kRows) {
    const size_t some = HWY_MIN(kRows, count - i);
    const float* row[kRows];
    for (size_t r = 0; r < kRows; ++r) row[r] = rows + (i + HWY_MIN(r, some - 1)) * stride;
    V sums[kRows] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    size_t k = 0;
    for (; k + kLanes <= depth; k += kLanes) {
      const V factor = hn::LoadU(d, x + k);
      MINNOW_UNROLL for (size_t r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(factor, hn::LoadU(d, row[r] + k), sums[r]);
    }
    for (size_t r = 0; r < some; ++r) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[r]));
      for (size_t rest = k; rest < depth; ++rest) sum += x[rest] * row[r][rest];
      y[i + r] = scale * sum;
    }
  }
}

/// kVectors neighbouring vectors of all rows.
template <size_t kVectors>
HWY_INLINE void add_columns(const float* x, const float* rows, size_t stride, size_t count, float* y) {
  const D d;
  V sums[kVectors];
  MINNOW_UNROLL for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, y + v * kLanes);
  for (size_t i = 0; i < count; ++i) {
    const V factor = hn::Set(d, x[i]);
    MINNOW_UNROLL for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(factor, hn::LoadU(d, rows + i * stride + v * kLanes), sums[v]);
  }
  MINNOW_UNROLL for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + v * kLanes);
}

void add_rows(const float* x, const float* rows, size_t stride, size_t count, size_t width, float* y) {
  constexpr size_t kMost = 8;
  size_t k = 0;
  for (; k + kMost * kLanes <= width; k += kMost * kLanes) add_columns<kMost>(x, rows + k, stride, count, y + k);
  for (; k + kLanes <= width; k += kLanes) add_columns<1>(x, rows + k, stride, count, y + k);
  for (size_t i = 0; i < count && k < width; ++i)
    for (size_t rest = k; rest < width; ++rest) y[rest] += x[i] * rows[i * stride + rest];
}
#endif
}  // namespace

extern const AttentionKernels kAttentionKernels;
#if MINNOW_SMALL
const AttentionKernels kAttentionKernels{softmax, nullptr, nullptr};
#else
const AttentionKernels kAttentionKernels{softmax, multiply_rows, add_rows};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
