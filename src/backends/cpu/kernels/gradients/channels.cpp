// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/channels.h"

#include <algorithm>

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gradients/channels.cpp"
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
constexpr size_t kBlock = 256;  // vectors whose mean is found first, while they are in L1

// The sums of `vectors` vectors: of x - mean, of its square, of g, and of their product.
template <bool kGradient>
HWY_INLINE void sums_of(const float* x, const float* g, size_t vectors, V mean, V (&sums)[4]) {
  const D d;
  V a[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)}, b[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  const auto add = [&](V(&to)[4], size_t i) HWY_ATTR {
    const V distance = hn::Sub(hn::LoadU(d, x + i * kLanes), mean);
    to[0] = hn::Add(to[0], distance);
    to[1] = hn::MulAdd(distance, distance, to[1]);
    if constexpr (kGradient) {
      const V gradient = hn::LoadU(d, g + i * kLanes);
      to[2] = hn::Add(to[2], gradient);
      to[3] = hn::MulAdd(gradient, distance, to[3]);
    }
  };
  size_t i = 0;
  for (; i + 2 <= vectors; i += 2) add(a, i), add(b, i + 1);
  if (i < vectors) add(a, i);
  MINNOW_UNROLL for (int k = 0; k < 4; ++k) sums[k] = hn::Add(a[k], b[k]);
}

HWY_INLINE V mean_of(const float* x, size_t vectors) {
  const D d;
  V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  size_t i = 0;
  for (; i + 4 <= vectors; i += 4)
    MINNOW_UNROLL for (size_t k = 0; k < 4; ++k) sums[k] = hn::Add(sums[k], hn::LoadU(d, x + (i + k) * kLanes));
  for (; i < vectors; ++i) sums[0] = hn::Add(sums[0], hn::LoadU(d, x + i * kLanes));
  return hn::Mul(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])), hn::Set(d, 1 / static_cast<float>(vectors)));
}

// Moments about the true mean, from sums about a rounded one.
HWY_INLINE ChannelMoments moments_of(double mean, double count, double sum, double squares, double g, double products) {
  const double rest = sum / count;
  return {mean + rest, std::max(squares - sum * rest, 0.0), g, products - g * rest};
}

// Neither inlined nor vectorized over the lanes: it runs once for thousands of pixels.
HWY_NOINLINE void join_lanes(const V (&sums)[4], V mean, size_t before, size_t count, ChannelMoments* moments) {
  const D d;
  float lanes[5][kLanes];
  for (int k = 0; k < 4; ++k) hn::StoreU(sums[k], d, lanes[k]);
  hn::StoreU(mean, d, lanes[4]);
  const double n = static_cast<double>(count);
  for (size_t l = 0; l < kLanes; ++l) {
    const ChannelMoments found =
        moments_of(static_cast<double>(lanes[4][l]), n, static_cast<double>(lanes[0][l]), static_cast<double>(lanes[1][l]),
                   static_cast<double>(lanes[2][l]), static_cast<double>(lanes[3][l]));
    if (before == 0)
      moments[l] = found;
    else
      join(moments[l], static_cast<double>(before), found, n);
  }
}

void vector_moments(const float* x, const float* g, size_t count, ChannelMoments* moments) {
  Stop stop;
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t vectors = std::min(kBlock, count - first);
    const V mean = mean_of(x + first * kLanes, vectors);
    V sums[4];
    if (g)
      sums_of<true>(x + first * kLanes, g + first * kLanes, vectors, mean, sums);
    else
      sums_of<false>(x + first * kLanes, nullptr, vectors, mean, sums);
    join_lanes(sums, mean, first, vectors, moments);
    if (stop.after(2 * vectors)) return;
  }
}

void row_moments(const float* x, const float* g, size_t count, ChannelMoments* moments) {
  const D d;
  Stop stop;
  for (size_t first = 0; first < count; first += kBlock * kLanes) {
    const size_t floats = std::min(kBlock * kLanes, count - first), vectors = floats / kLanes;
    const float *from = x + first, *gradients = g ? g + first : nullptr;
    const float mean = vectors ? hn::GetLane(hn::SumOfLanes(d, mean_of(from, vectors))) / static_cast<float>(kLanes) : from[0];
    V vector_sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    if (vectors && g)
      sums_of<true>(from, gradients, vectors, hn::Set(d, mean), vector_sums);
    else if (vectors)
      sums_of<false>(from, nullptr, vectors, hn::Set(d, mean), vector_sums);
    double sums[4];
    for (int k = 0; k < 4; ++k) sums[k] = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, vector_sums[k])));
    for (size_t i = vectors * kLanes; i < floats; ++i) {
      const double distance = static_cast<double>(from[i]) - static_cast<double>(mean);
      sums[0] += distance, sums[1] += distance * distance;
      if (g) sums[2] += static_cast<double>(gradients[i]), sums[3] += static_cast<double>(gradients[i]) * distance;
    }
    const double n = static_cast<double>(floats);
    const ChannelMoments found = moments_of(static_cast<double>(mean), n, sums[0], sums[1], sums[2], sums[3]);
    if (first == 0)
      *moments = found;
    else
      join(*moments, static_cast<double>(first), found, n);
    if (stop.after(2 * vectors)) return;
  }
}

template <bool kGradient>
HWY_INLINE void apply(const ChannelAffine& a, size_t vectors, const V (&f)[4]) {
  const D d;
  for (size_t i = 0; i < vectors; ++i) {
    V y = hn::MulAdd(f[0], hn::Sub(hn::LoadU(d, a.x + i * kLanes), f[1]), f[2]);
    if constexpr (kGradient) y = hn::MulAdd(f[3], hn::LoadU(d, a.g + i * kLanes), y);
    hn::StoreU(y, d, a.y + i * kLanes);
  }
}

void vector_affine(const ChannelAffine& a) {
  const D d;
  const V f[4] = {hn::LoadU(d, a.factors), hn::LoadU(d, a.factors + kLanes), hn::LoadU(d, a.factors + 2 * kLanes),
                  hn::LoadU(d, a.factors + 3 * kLanes)};
  if (a.g)
    apply<true>(a, a.count, f);
  else
    apply<false>(a, a.count, f);
}

void row_affine(const ChannelAffine& a) {
  const D d;
  const V f[4] = {hn::Set(d, a.factors[0]), hn::Set(d, a.factors[1]), hn::Set(d, a.factors[2]), hn::Set(d, a.factors[3])};
  const size_t vectors = a.count / kLanes;
  if (a.g)
    apply<true>(a, vectors, f);
  else
    apply<false>(a, vectors, f);
  for (size_t i = vectors * kLanes; i < a.count; ++i)
    a.y[i] = a.factors[0] * (a.x[i] - a.factors[1]) + a.factors[2] + (a.g ? a.factors[3] * a.g[i] : 0);
}
}  // namespace

extern const ChannelKernels kChannelKernels;
const ChannelKernels kChannelKernels{{row_moments, vector_moments}, {row_affine, vector_affine}};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
