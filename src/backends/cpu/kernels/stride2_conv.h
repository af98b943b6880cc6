// SPDX-License-Identifier: Apache-2.0
// Convolutions of stride 2 that read a plain image of few channels, first or last, a network's first layer: over blocks of 2 x 2 pixels
// they have stride 1, four times the channels and half as many taps along each axis, and Winograd's minimal filtering serves. 7x7 needs a
// quarter of the products.
#pragma once
#include <optional>

#include "backends/cpu/kernels/winograd_conv.h"

namespace minnow::cpu {

class Stride2Conv {
 public:
  /// How the convolution over blocks is computed; nothing if no form serves.
  static std::optional<WinogradForm> form_of(const ConvShape& shape);
  /// The convolution over blocks, whose channel 4 c + 2 y + x is pixel (y, x) of a block of channel c.
  static ConvShape blocks_of(const ConvShape& shape);

  Stride2Conv(const Kernels& kernels, const ConvShape& shape, const WinogradConv::Options& options, const Epilogue& epilogue);

  const WinogradConv& conv() const noexcept { return conv_; }
  /// From [out channel][in channel][kernel_h][kernel_w]. Allocates.
  void pack_weights(const float* oihw, float* out) const;

  /// Floats of the image as blocks, the input of conv(), and the units in which it is written.
  size_t blocks_floats() const noexcept;
  size_t gather_units() const noexcept { return shape_.batch * blocks_.in_h; }
  void gather(size_t unit, const float* x, float* blocks) const noexcept;

 private:
  ConvShape shape_, blocks_;
  size_t lanes_;
  WinogradConv conv_;
};

}  // namespace minnow::cpu
