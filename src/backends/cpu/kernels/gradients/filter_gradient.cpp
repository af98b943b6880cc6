// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/filter_gradient.h"

#include <algorithm>

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gradients/filter_gradient.cpp"
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

// kRows * kVectors sums stay in registers.
template <int kRows, int kVectors>
void tile(const FilterGradientTile& t) {
  const D d;
  V sums[kRows][kVectors];
  MINNOW_UNROLL for (int r = 0; r < kRows; ++r) MINNOW_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  for (size_t row = 0; row < t.rows; ++row) {
    const float* x = t.x + static_cast<ptrdiff_t>(row) * t.x_row;
    const float* g[kVectors];
    MINNOW_UNROLL for (int v = 0; v < kVectors; ++v) g[v] = t.g[v] + static_cast<ptrdiff_t>(row) * t.g_row;
    for (size_t column = 0; column < t.columns; ++column) {
      V factors[kVectors];
      MINNOW_UNROLL for (int v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(d, g[v] + static_cast<ptrdiff_t>(column) * kLanes);
      MINNOW_UNROLL for (int r = 0; r < kRows; ++r) {
        const V of_x = hn::Set(d, x[r]);
        MINNOW_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(of_x, factors[v], sums[r][v]);
      }
      x += t.x_column;
    }
  }
  MINNOW_UNROLL for (int r = 0; r < kRows; ++r) MINNOW_UNROLL for (int v = 0; v < kVectors; ++v) {
    float* const to = t.sums + static_cast<size_t>(r) * t.sum_row + v * kLanes;
    hn::StoreU(hn::Add(hn::LoadU(d, to), sums[r][v]), d, to);
  }
}

void depthwise(const FilterGradientTile& t) {
  const D d;
  V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (size_t row = 0; row < t.rows; ++row) {
    const float* x = t.x + static_cast<ptrdiff_t>(row) * t.x_row;
    const float* g = t.g[0] + static_cast<ptrdiff_t>(row) * t.g_row;
    size_t column = 0;
    for (; column + 4 <= t.columns; column += 4, x += 4 * t.x_column, g += 4 * kLanes)
      MINNOW_UNROLL for (int i = 0; i < 4; ++i) sums[i] =
          hn::MulAdd(hn::LoadU(d, x + i * t.x_column), hn::LoadU(d, g + i * kLanes), sums[i]);
    for (; column < t.columns; ++column, x += t.x_column, g += kLanes) sums[0] = hn::MulAdd(hn::LoadU(d, x), hn::LoadU(d, g), sums[0]);
  }
  hn::StoreU(hn::Add(hn::LoadU(d, t.sums), hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))), d, t.sums);
}

void depthwise_image(const DepthwiseImageGradient& p) {
  const D d;
  std::fill_n(p.y, p.in_h * p.in_w * static_cast<size_t>(kLanes), 0.0f);
  Stop stop;
  for (size_t row = 0; row < p.out_h; ++row)
    for (size_t ky = 0; ky < p.kernel_h; ++ky) {
      const ptrdiff_t top = static_cast<ptrdiff_t>(row * p.stride_h + ky * p.dilation_h) - p.pad_top;
      if (static_cast<size_t>(top) >= p.in_h) continue;
      if (stop.after(p.out_w * p.kernel_w)) return;
      for (size_t kx = 0; kx < p.kernel_w; ++kx) {
        const ptrdiff_t left = static_cast<ptrdiff_t>(kx * p.dilation_w) - p.pad_left, step = static_cast<ptrdiff_t>(p.stride_w);
        // The outputs whose tap lies within the image.
        const ptrdiff_t begin = left < 0 ? (-left + step - 1) / step : 0;
        const ptrdiff_t end = std::min(static_cast<ptrdiff_t>(p.out_w), (static_cast<ptrdiff_t>(p.in_w) - left + step - 1) / step);
        const V w = hn::LoadU(d, p.w + static_cast<ptrdiff_t>(ky * p.kernel_w + kx) * kLanes);
        const float* g = p.g + static_cast<ptrdiff_t>(row * p.out_w) * kLanes;
        float* y = p.y + (top * static_cast<ptrdiff_t>(p.in_w) + left) * kLanes;
        for (ptrdiff_t x = begin; x < end; ++x) {
          float* const to = y + x * step * kLanes;
          hn::StoreU(hn::MulAdd(w, hn::LoadU(d, g + x * kLanes), hn::LoadU(d, to)), d, to);
        }
      }
    }
}

constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3;
constexpr int kMostRows = kManyRegisters ? 8 : 4;
}  // namespace

extern const FilterGradientKernels kFilterGradientKernels;
const FilterGradientKernels kFilterGradientKernels{
    {4, kMostRows},
    {{tile<4, 1>, tile<4, 2>, tile<4, 3>}, {tile<kMostRows, 1>, tile<kMostRows, 2>, tile<kMostRows, 3>}},
    depthwise,
    depthwise_image};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
