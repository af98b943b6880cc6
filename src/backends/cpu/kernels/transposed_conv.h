// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions as ordinary ones: the outputs at places that agree modulo the stride meet the same taps, so that each such set
// ("phase") is a convolution of stride 1 by the taps that it meets, reversed. Nothing is scattered, and nothing but padding is multiplied
// by zero. (Shi et al., "Is the deconvolution layer the same as a convolutional layer?", 2016.)
#pragma once
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/gemm_conv.h"

namespace minnow::cpu {

/// A transposed convolution of one or more images [in_channels][in_h][in_w]: tap (ky, kx) of the input place (y, x) adds to the output
/// place (y * stride_h + ky * dilation_h - pad_top, ...). `shape` has the sizes of input, output and kernel as they are called here.
class TransposedConv {
 public:
  using Arguments = GemmConv::Arguments;

  /// Why this class cannot serve; empty where it can.
  static std::string_view refusal(const ConvShape& shape, size_t lanes);
  TransposedConv(const Kernels& kernels, const ConvShape& shape, const GemmConv::Options& options, const Epilogue& epilogue);

  size_t weight_floats() const noexcept { return weight_floats_; }
  /// From [in channel][out channel of the group][kernel_h][kernel_w].
  void pack_weights(const float* iohw, float* out) const;
  size_t bias_floats() const noexcept { return phases_[0].conv.bias_floats(); }
  void pack_bias(const float* bias, float* out) const noexcept { phases_[0].conv.pack_bias(bias, out); }

  size_t units() const noexcept { return units_; }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  /// `before`: as GemmConv's.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept;

 private:
  struct Phase {
    size_t y, x;              // the first taps that it meets
    size_t first_unit = 0;    // its units follow those of the phases before it
    size_t first_weight = 0;  // and so do its weights
    ConvShape shape;
    GemmConv conv;
  };
  ConvShape shape_;
  std::vector<Phase> phases_;
  size_t weight_floats_ = 0, units_ = 0, scratch_floats_ = 0;
};

}  // namespace minnow::cpu
