// SPDX-License-Identifier: Apache-2.0
// Shared by the schemes of convolutions and products.
#pragma once
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/schemes/units.h"
#include "backends/row_tiling.h"
#include "base/saturating.h"
#include "graph/activation.h"
#include "graph/window.h"

namespace minnow::cpu {

/// The shape of a convolution with one spatial dimension (treated as a row), two, or three if two adjacent ones can be merged because one
/// of them has a single tap; empty for others.
std::optional<ConvShape> conv_shape_of(const NodeView& node);
inline ConvShape conv_shape(const NodeView& node) { return *conv_shape_of(node); }

/// The estimate for multiplying and rounding, if the node does so.
double rounding_seconds(const NodeView& node, const Device& device);

/// The operation applied to each sum: none for Conv, the activation for the fused operators.
Epilogue epilogue_of(const NodeView& node, const Kernels& kernels);

/// Cases that a scheme accepts beyond constant weights, images with channels first and sums that are not rounded; or 3-D convolutions.
struct ConvAccepts {
  bool any_weights = false, channels_last = false, scales = false;
  size_t spatial = 2;  // dimensions, or 3
};
/// Why a scheme for f32 convolutions refuses the node; empty if it accepts it.
std::string refusal_of_conv(const NodeView& node, const ConvAccepts& accepts = {});

/// The machine's options for a product or convolution over packed images.
GemmConv::Options gemm_options(const Device& device);

/// The constant weights and bias of a convolution, packed for the class that computes it; null if they are not constants.
class PackedFilter {
 public:
  /// `form` and `parameters` identify the packed forms of weights and bias (PrepareContext::packed); `pack` packs the weights. The bias is
  /// multiplied by `bias_factor`.
  template <class Conv>
  void prepare(PrepareContext& context, const Conv& conv, std::string_view form, const PackingParameters& parameters,
               FunctionRef<void(const float* w, float* out)> pack, float bias_factor = 1) {
    if (context.node().is_constant(1))
      weights_ = context.packed(1, form, parameters, product_of({conv.weight_floats(), sizeof(float)}),
                                [&](const TensorView& w, void* out) { pack(w.data<float>(), static_cast<float*>(out)); });
    prepare_bias(context, conv, form, parameters, bias_factor);
  }
  template <class Conv>
  void prepare_bias(PrepareContext& context, const Conv& conv, std::string_view form, PackingParameters parameters, float bias_factor) {
    if (!context.node().has_input(2) || !context.node().is_constant(2)) return;
    parameters.emplace_back("bias factor", bias_factor);
    bias_ = context.packed(2, form, parameters, conv.bias_floats() * sizeof(float), [&](const TensorView& b, void* out) {
      float* to = static_cast<float*>(out);
      conv.pack_bias(b.data<float>(), to);
      for (size_t i = 0; bias_factor != 1 && i < conv.bias_floats(); ++i) to[i] *= bias_factor;
    });
  }
  const float* weights() const noexcept { return static_cast<const float*>(weights_.get()); }
  const float* bias() const noexcept { return static_cast<const float*>(bias_.get()); }  // null: none

 private:
  std::shared_ptr<const void> weights_, bias_;
};

/// A kernel for any of the classes that compute convolutions in units: packs weights and bias, and runs the units. `form` and `parameters`
/// identify their packed forms. Classes that pack in panels also pack weights and bias that are not constants, in every run.
template <class Conv, class Base = Kernel>
class ConvKernel : public Base {
 public:
  ConvKernel(PrepareContext& context, std::string_view form, const PackingParameters& parameters, Conv conv) : conv_(std::move(conv)) {
    filter_.prepare(context, conv_, form, parameters, [&](const float* w, float* out) { conv_.pack_weights(w, out); });
    if (!filter_.weights()) weights_ = context.reserve_scratch(product_of({conv_.weight_floats(), sizeof(float)}));
    if (context.node().has_input(2) && !filter_.bias()) bias_ = context.reserve_scratch(conv_.bias_floats() * sizeof(float));
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) const noexcept override {
    typename Conv::Arguments arguments{context.in<float>(0), filter_.weights(), filter_.bias(),
                                       context.has_input(3) ? context.in<float>(3) : nullptr, context.out<float>(0)};
    if constexpr (requires { arguments.overflowed; }) arguments.overflowed = &context.overflowed;
    if constexpr (requires { conv_.panels(); }) {
      if (!arguments.w) {
        float* packed = context.scratch_at<float>(weights_);
        const float* w = context.in<float>(1);
        context.parallel_for(conv_.panels(), [&](size_t panel) { conv_.pack_panel(panel, w, packed); });
        arguments.w = packed;
      }
      if (!arguments.bias && context.has_input(2)) {
        float* packed = context.scratch_at<float>(bias_);
        conv_.pack_bias(context.in<float>(2), packed);
        arguments.bias = packed;
      }
    }
    if constexpr (requires { conv_.leaves_gaps(); })
      if (conv_.leaves_gaps()) std::fill_n(arguments.y, conv_.output_floats(), 0.0f);
    run_units(context, arguments, 0, conv_.units());
  }

 protected:
  void run_units(RunContext& context, const typename Conv::Arguments& arguments, size_t first, size_t end) const noexcept {
    if constexpr (requires { conv_.run(0, arguments, nullptr, Units::kNone); })
      units_.run(context, first, end, [&](size_t unit, float* scratch, size_t before) { conv_.run(unit, arguments, scratch, before); });
    else
      units_.run(context, first, end, [&](size_t unit, float* scratch) { conv_.run(unit, arguments, scratch); });
  }

  Conv conv_;
  PackedFilter filter_;

 private:
  size_t weights_ = 0, bias_ = 0;  // of scratch, if they are no constants
  Units units_;
};

/// The same for classes whose units can be put in the order of rows, for row tiling.
template <class Conv>
class RowTiledConv final : public ConvKernel<Conv, RowKernel> {
 public:
  using ConvKernel<Conv, RowKernel>::ConvKernel;
  RowKernel::Reading reading() const noexcept override {
    const ConvShape& s = conv_.shape();
    return {conv_.has_rows(), conv_.reads_ring(), s.stride_h, s.extent_h(), s.pad_top};
  }
  void cut_rows(size_t input, size_t output) override { conv_.cut_rows(input, output); }
  void run_rows(RunContext& context, const float* x, const float* add, float* y, size_t first, size_t end) const noexcept override {
    const size_t units = conv_.units_of_row();
    this->run_units(context, {x, this->filter_.weights(), this->filter_.bias(), add, y}, first * units, end * units);
  }

 private:
  using ConvKernel<Conv, RowKernel>::conv_;
};

}  // namespace minnow::cpu
