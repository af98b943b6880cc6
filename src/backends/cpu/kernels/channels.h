// SPDX-License-Identifier: Apache-2.0
// Statistics of channels, and what batch normalization and its gradient make of them.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// Sums over the pixels of a channel: the mean of x, the sum of (x - mean)^2, the sum of g, the sum of g (x - mean).
struct ChannelMoments {
  double mean, squares, g, products;
};

/// Joins the moments of other pixels: `count` of `to`, `more` of `from` (Chan, Golub, LeVeque 1979).
inline void join(ChannelMoments& to, double count, const ChannelMoments& from, double more) {
  const double distance = from.mean - to.mean, step = distance * more / (count + more);
  to.squares += from.squares + distance * step * count;
  to.products += from.products + from.g * (distance - step) - to.g * step;
  to.g += from.g;
  to.mean += step;
}

/// y = factor[0] (x - factor[1]) + factor[2] + factor[3] g, g being null or of as many pixels.
struct ChannelAffine {
  const float *x, *g;
  const float* factors;  // [4], or [4][lanes] where pixels are vectors of channels
  float* y;
  size_t count;
};

struct ChannelKernels {
  /// The moments of `count` > 0 pixels; g may be null. [0]: of one channel; [1]: of a vector of channels, one result for each lane.
  void (*moments[2])(const float* x, const float* g, size_t count, ChannelMoments* moments);
  void (*affine[2])(const ChannelAffine& affine);
};

}  // namespace minnow::cpu
