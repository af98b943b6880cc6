// SPDX-License-Identifier: Apache-2.0
// Shared by the schemes by Winograd's minimal filtering.
#pragma once
#include "backends/cpu/kernels/winograd_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {

WinogradConv::Options winograd_options(const Device& device, WinogradForms form);

/// Predicted seconds for transforming weights in every run.
double winograd_packing_seconds(const ConvShape& shape, const Device& device, WinogradForms form);

/// Predicted seconds of a convolution that the form can serve, one of so many of a node.
double winograd_seconds(const ConvShape& shape, const Device& device, WinogradForms form, size_t parts = 1);

/// The base of kernels by Winograd's filtering, whatever class Conv computes the convolution.
class WinogradKernel : public Kernel {
 protected:
  template <class Conv>
  void prepare(PrepareContext& context, const Conv& conv, std::string_view name, PackingParameters parameters, WinogradForms form,
               FunctionRef<void(const float* w, float* out)> pack) {
    parameters.emplace_back("down", form.down);
    parameters.emplace_back("across", form.across);
    for (const bool kept : conv.kept_columns()) parameters.emplace_back("columns", kept);
    filter_.prepare(context, conv, name, parameters, pack);
    if (!filter_.weights()) weights_ = context.reserve_scratch(product_of({conv.weight_floats(), sizeof(float)}));
    if (context.node().has_input(2) && !filter_.bias()) bias_ = context.reserve_scratch(conv.bias_floats() * sizeof(float));
    if (conv.shared_floats()) shared_ = context.reserve_scratch(product_of({conv.shared_floats(), sizeof(float)}));
    units_.reserve(context, conv.units(), conv.scratch_floats());
  }
  template <class Conv>
  void run_conv(RunContext& context, const Conv& conv, const float* x) const noexcept {
    typename Conv::Arguments arguments{x, filter_.weights(), filter_.bias(), context.has_input(3) ? context.in<float>(3) : nullptr,
                                       context.out<float>(0)};
    if (!arguments.w) {
      float* const packed = context.scratch_at<float>(weights_);
      const float* const w = context.in<float>(1);
      context.parallel_for(conv.panels(), [&](size_t panel) { conv.pack_panel(panel, w, packed); });
      arguments.w = packed;
    }
    if (!arguments.bias && context.has_input(2)) {
      float* const packed = context.scratch_at<float>(bias_);
      conv.pack_bias(context.in<float>(2), packed);
      arguments.bias = packed;
    }
    float* shared = context.scratch_at<float>(shared_);
    if (conv.transform_units()) context.parallel_for(conv.transform_units(), [&](size_t unit) { conv.transform(unit, arguments, shared); });
    units_.run(context, [&](size_t unit, float* scratch) { conv.run(unit, arguments, shared, scratch); });
  }

 private:
  PackedFilter filter_;
  size_t shared_ = 0, weights_ = 0, bias_ = 0;  // of scratch; the last two if they are no constants
  Units units_;
};

}  // namespace minnow::cpu
