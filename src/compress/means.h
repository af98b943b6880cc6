// SPDX-License-Identifier: Apache-2.0
// Bias correction: rounding moves the mean of a channel, and its bias moves it back.
#pragma once
#include "compress/insertion.h"

namespace minnow::compress {

/// Means of the channels of a layer's input, before and after it is quantized.
class ChannelMeans {
 public:
  void add(const Tensor& x, size_t axis, const Quantizer& quantizer);
  /// Returns the gain of each output channel's bias. `wanted`, `got`: the weights before and after rounding; `groups`: of a convolution.
  std::vector<double> correction(const Rows& wanted, const Rows& got, size_t groups) const;

 private:
  std::vector<double> real_, quantized_;
  double count_ = 0;  // of positions
};

/// The axis of the channels of the layer's input.
size_t channel_axis(const Layer& layer, const Shape& x);

}  // namespace minnow::compress
