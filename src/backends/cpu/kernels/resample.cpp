// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/resample.h"

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/resample.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr ptrdiff_t kLanes = HWY_LANES(float);

void blend_rows(const float* const* rows, const float* weights, size_t taps, size_t count, float* y) {
  const D d;
  const size_t lanes = kLanes;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    V sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, rows[0] + i));
    for (size_t t = 1; t < taps; ++t) sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, rows[t] + i), sum);
    hn::StoreU(sum, d, y + i);
  }
  for (; i < count; ++i) {
    float sum = weights[0] * rows[0][i];
    for (size_t t = 1; t < taps; ++t) sum += weights[t] * rows[t][i];
    y[i] = sum;
  }
}

void blend_pixels(const float* row, const int32_t* index, const float* weights, size_t taps, size_t pixels, float* y) {
  const D d;
  for (size_t p = 0; p < pixels; ++p, index += taps, weights += taps) {
    V sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, row + index[0] * kLanes));
    for (size_t t = 1; t < taps; ++t) sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, row + index[t] * kLanes), sum);
    hn::StoreU(sum, d, y + p * static_cast<size_t>(kLanes));
  }
}

void pick_pixels(const float* row, const int32_t* index, size_t pixels, float* y) {
  const D d;
  for (size_t p = 0; p < pixels; ++p) hn::StoreU(hn::LoadU(d, row + index[p] * kLanes), d, y + p * static_cast<size_t>(kLanes));
}
}  // namespace

extern const ResampleKernels kResampleKernels;
const ResampleKernels kResampleKernels{blend_rows, blend_pixels, pick_pixels};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
