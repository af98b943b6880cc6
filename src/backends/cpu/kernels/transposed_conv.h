// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions as ordinary ones: outputs whose positions are equal modulo the stride use the same taps. Each such set of outputs
// ("phase") is a convolution of stride 1 by its taps, reversed. Nothing is scattered, and only padding is multiplied by zero. (Shi et al.,
// "Is the deconvolution layer the same as a convolutional layer?", 2016.)
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/winograd_conv.h"
#include "base/saturating.h"

namespace minnow::cpu {

/// A transposed convolution of one or more images [in_channels][in_h][in_w]: tap (ky, kx) of the input at (y, x) adds to the output at
/// (y * stride_h + ky * dilation_h - pad_top, ...). The sizes of input, output and kernel in `shape` are those of the transposed
/// convolution. Conv computes each phase: GemmConv or WinogradConv.
template <class Conv>
class TransposedConv {
 public:
  using Arguments = typename Conv::Arguments;
  using Options = typename Conv::Options;

  TransposedConv(const Kernels& kernels, const ConvShape& shape, const typename Conv::Options& options, const Epilogue& epilogue);

  size_t weight_floats() const noexcept { return weight_floats_; }
  /// From [in channel][out channel of the group][kernel_h][kernel_w].
  void pack_weights(const float* iohw, float* out) const;
  /// The number of panels, which may be packed in parallel; together they hold all weights.
  size_t panels() const noexcept { return panels_; }
  void pack_panel(size_t panel, const float* iohw, float* out) const noexcept {
    const Phase& p = phase_of(&Phase::first_panel, panel);
    p.conv.pack_panel(panel - p.first_panel, iohw, out + p.first_weight);
  }
  size_t bias_floats() const noexcept { return phases_[0].conv.bias_floats(); }
  void pack_bias(const float* bias, float* out) const noexcept { phases_[0].conv.pack_bias(bias, out); }

  /// Whether no phase computes some of the outputs: they are zero.
  bool leaves_gaps() const noexcept { return phases_.size() < shape_.stride_h * shape_.stride_w; }
  size_t output_floats() const noexcept { return product_of({shape_.batch, bias_floats(), shape_.out_h, shape_.out_w}); }

  size_t units() const noexcept { return units_; }
  size_t scratch_floats() const noexcept { return scratch_floats_; }
  /// For GemmConv; see GemmConv::run() for `before`.
  void run(size_t unit, const Arguments& arguments, float* scratch, size_t before = SIZE_MAX) const noexcept {
    const Phase& p = phase_of(&Phase::first_unit, unit);
    if constexpr (!kTransforms)
      p.conv.run(unit - p.first_unit, arguments_of(p, arguments), scratch, before < p.first_unit ? SIZE_MAX : before - p.first_unit);
  }

  /// WinogradConv::kept_columns of every phase.
  std::vector<bool> kept_columns() const {
    std::vector<bool> kept;
    if constexpr (kTransforms)
      for (const Phase& phase : phases_) kept.push_back(phase.conv.kept_columns()[0]);
    return kept;
  }
  size_t transform_units() const noexcept { return transforms_; }
  size_t shared_floats() const noexcept { return shared_floats_; }
  void transform(size_t unit, const Arguments& arguments, float* shared) const noexcept {
    const Phase& p = phase_of(&Phase::first_transform, unit);
    if constexpr (kTransforms) p.conv.transform(unit - p.first_transform, arguments, shared + p.first_shared);
  }
  void run(size_t unit, const Arguments& arguments, const float* shared, float* scratch) const noexcept {
    const Phase& p = phase_of(&Phase::first_unit, unit);
    if constexpr (kTransforms) p.conv.run(unit - p.first_unit, arguments_of(p, arguments), shared + p.first_shared, scratch);
  }

 private:
  static constexpr bool kTransforms = std::is_same_v<Conv, WinogradConv>;
  struct Phase {
    size_t y, x;              // the first taps that it meets
    size_t first_unit = 0;    // its units follow those of the phases before it
    size_t first_weight = 0;  // likewise for its weights, its transforms and their results
    size_t first_transform = 0, first_shared = 0, first_panel = 0;
    ConvShape shape;
    Conv conv;
  };
  const Phase& phase_of(size_t Phase::*first, size_t unit) const noexcept {
    size_t p = phases_.size() - 1;
    while (phases_[p].*first > unit) --p;
    return phases_[p];
  }
  Arguments arguments_of(const Phase& phase, Arguments arguments) const noexcept {
    arguments.w += phase.first_weight;
    return arguments;
  }

  ConvShape shape_;
  std::vector<Phase> phases_;
  size_t weight_floats_ = 0, units_ = 0, scratch_floats_ = 0, transforms_ = 0, shared_floats_ = 0, panels_ = 0;
};

/// The convolutions that the phases are; without any where the outputs cannot be cut so (a stride and a dilation, ...), and then why not.
struct TransposedPhases {
  std::vector<ConvShape> shapes;
  bool leaves_gaps = false;  // outputs that no tap meets, where the stride is larger than the kernel
  std::string_view refusal;
  explicit TransposedPhases(const ConvShape& shape);
};

}  // namespace minnow::cpu
