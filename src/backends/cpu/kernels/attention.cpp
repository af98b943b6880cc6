// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/attention.h"

#include <limits>

#include "backends/cpu/build.h"
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

using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
constexpr float kLog2E = 1.44269504F;

// 2^t of t <= 0, within 0.01 %: a byte needs no more. Numbers below 2^-20 become 0 as bytes.
HWY_INLINE VI weight_of(V t) {
  const D d;
  const V clamped = hn::Max(hn::Set(d, -20.0F), t);
  const VI whole = hn::NearestInt(clamped);
  const V f = hn::Sub(clamped, hn::ConvertTo(d, whole));
  V p = hn::MulAdd(hn::Set(d, 0.0551959688F * 255), f, hn::Set(d, 0.2426185501F * 255));
  p = hn::MulAdd(hn::MulAdd(p, f, hn::Set(d, 0.6932581765F * 255)), f, hn::Set(d, 0.9999275534F * 255));
  return hn::NearestInt(hn::BitCast(d, hn::Add(hn::BitCast(DI(), p), hn::ShiftLeft<23>(whole))));
}

template <bool kAdds>
HWY_INLINE uint32_t weigh_row(const ByteScoreRow& row, uint8_t* y) {
  const D d;
  const DI di;
  const hn::Rebind<uint8_t, D> d8;
  const size_t whole = row.count / kLanes, rest = row.count % kLanes, vectors = whole + (rest ? 1 : 0);
  const V factor = hn::Set(d, row.factor);
  float last[kLanes];  // the last vector's scores
  for (size_t l = 0; l < kLanes; ++l) {
    const size_t i = whole * kLanes + l;
    last[l] = l >= rest ? -kInfinity : static_cast<float>(row.sums[i]) * row.factor + (kAdds ? row.add[i] : 0.0F);
  }
  const auto at = [&](size_t i) HWY_ATTR {
    const V score = hn::Mul(hn::ConvertTo(d, hn::LoadU(di, row.sums + i * kLanes)), factor);
    return kAdds ? hn::Add(score, hn::LoadU(d, row.add + i * kLanes)) : score;
  };
  V most = hn::LoadU(d, last), most2 = most;
  size_t i = 0;
  for (; i + 2 <= whole; i += 2) most = hn::Max(most, at(i)), most2 = hn::Max(most2, at(i + 1));
  if (i < whole) most = hn::Max(most, at(i));
  float lanes[kLanes], largest = -kInfinity;
  hn::StoreU(hn::Max(most, most2), d, lanes);
  for (size_t l = 0; l < kLanes; ++l) largest = lanes[l] > largest ? lanes[l] : largest;
  if (largest == -kInfinity) {
    for (i = 0; i < vectors; ++i) hn::StoreU(hn::Zero(d8), d8, y + i * kLanes);
    return 0;
  }
  const V less = hn::Set(d, largest), log2e = hn::Set(d, kLog2E);
  VI sum = hn::Zero(di);
  for (i = 0; i < vectors; ++i) {
    const VI weight = weight_of(hn::Mul(hn::Sub(i < whole ? at(i) : hn::LoadU(d, last), less), log2e));
    sum = hn::Add(sum, weight);
    hn::StoreU(hn::DemoteTo(d8, weight), d8, y + i * kLanes);
  }
  int32_t sums[kLanes];
  hn::StoreU(sum, di, sums);
  uint32_t total = 0;
  for (size_t l = 0; l < kLanes; ++l) total += static_cast<uint32_t>(sums[l]);
  return total;
}
uint32_t weigh(const ByteScoreRow& row, uint8_t* y) { return row.add ? weigh_row<true>(row, y) : weigh_row<false>(row, y); }

void scale_sums(const int32_t* sums, size_t count, int32_t less, float factor, float* y) {
  const D d;
  const DI di;
  const V by = hn::Set(d, factor);
  const VI zero = hn::Set(di, less);
  for (size_t i = 0; i < count; i += kLanes) hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::Sub(hn::LoadU(di, sums + i), zero)), by), d, y + i);
}
}  // namespace

extern const AttentionKernels kAttentionKernels;
const AttentionKernels kAttentionKernels{softmax, unless_small(multiply_rows), unless_small(add_rows), unless_small(weigh),
                                         unless_small(scale_sums)};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
