// SPDX-License-Identifier: Apache-2.0
// Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", with means from samples.
#include "compress/means.h"

namespace minnow::compress {

size_t channel_axis(const Layer& layer, const Shape& x) { return layer.node->op() == "Conv" ? 1 : x.rank() - 1; }

void ChannelMeans::add(const Tensor& x, size_t axis, const Quantizer& quantizer) {
  const Shape& shape = x.shape();
  const size_t channels = static_cast<size_t>(shape[axis]);
  const size_t inner = static_cast<size_t>(shape.product(axis + 1, shape.rank())), outer = static_cast<size_t>(shape.product(0, axis));
  real_.resize(channels, 0), quantized_.resize(channels, 0);
  const float* data = x.data<float>();
  for (size_t o = 0; o < outer; ++o)
    for (size_t c = 0; c < channels; ++c) {
      const Quantizer of_channel = quantizer.of_channel(c);
      for (size_t i = 0; i < inner; ++i, ++data) {
        const double value = static_cast<double>(*data);
        real_[c] += value, quantized_[c] += of_channel(value);
      }
    }
  count_ += static_cast<double>(outer * inner);
}

std::vector<double> ChannelMeans::correction(const Rows& wanted, const Rows& got, size_t groups) const {
  std::vector<double> result(wanted.channels, 0);
  if (count_ == 0) return result;
  const size_t each = real_.size() / groups, taps = wanted.depth / each, outputs = wanted.channels / groups;
  for (size_t o = 0; o < wanted.channels; ++o)
    for (size_t k = 0; k < wanted.depth; ++k) {
      const size_t c = o / outputs * each + k / taps;
      result[o] += (static_cast<double>(wanted.row(o)[k]) * real_[c] - static_cast<double>(got.row(o)[k]) * quantized_[c]) / count_;
    }
  return result;
}

}  // namespace minnow::compress
