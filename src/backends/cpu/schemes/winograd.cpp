// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv by Winograd's minimal filtering: 3x3 kernels of stride 1 and 2, in tiles of 2 x 2 and 4 x 4 outputs.
#include "backends/cpu/kernels/winograd_conv.h"

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {
namespace {

WinogradConv::Options options_of(const Device& device, WinogradForm form) { return {form, static_cast<size_t>(device.threads), device.l2}; }

Estimate estimate(const NodeView& node, const Device& device, WinogradForm form) {
  const WinogradNumbers numbers = numbers_of(form);
  if (numbers.outputs > 2 && device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  if (const std::string refusal = refusal_of_conv(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (!WinogradConv::can_serve(s, form)) return declined("the kernel is not 3x3 of stride {}, dilation 1 and one group", numbers.stride);
  const size_t lanes = static_cast<size_t>(device.pack);
  const double in = static_cast<double>(s.in_channels), out = static_cast<double>(ceil_div(s.out_channels, lanes) * lanes);
  const size_t tile = static_cast<size_t>(numbers.outputs);
  const double positions = numbers.positions * numbers.positions;
  const double tiles = static_cast<double>(s.batch * ceil_div(s.out_h, tile) * ceil_div(s.out_w, tile));
  const double products = device.flop_time(2 * positions * tiles * in * out, 0.85);
  // The weights grow with the positions: where they come from memory, that decides.
  const double weights = device.byte_time(4 * positions * in * out);
  const double transforms = device.flop_time(6 * positions * tiles * (in + out), 0.3);
  Estimate estimate(std::max(products, weights) + transforms + 1e-6);
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(PrepareContext& context, WinogradForm form)
      : conv_(*cpu_device(context.device()).kernels, conv_shape(context.node()), options_of(context.device(), form),
              epilogue_of(context.node(), *cpu_device(context.device()).kernels)) {
    const std::string packing = format("winograd {} {}", static_cast<int>(form), context.device().name);
    weights_ = context.packed(1, packing, conv_.weight_floats() * sizeof(float),
                              [&](const TensorView& w, void* out) { conv_.pack_weights(w.data<float>(), static_cast<float*>(out)); });
    if (context.node().has_input(2))
      bias_ = context.packed(2, packing, conv_.bias_floats() * sizeof(float),
                             [&](const TensorView& b, void* out) { conv_.pack_bias(b.data<float>(), static_cast<float*>(out)); });
    if (conv_.shared_floats()) shared_ = context.reserve_scratch(conv_.shared_floats() * sizeof(float));
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) noexcept override {
    const WinogradConv::Arguments arguments{context.in<float>(0), static_cast<const float*>(weights_.get()),
                                            static_cast<const float*>(bias_.get()), context.has_input(3) ? context.in<float>(3) : nullptr,
                                            context.out<float>(0)};
    float* shared = context.scratch_at<float>(shared_);
    if (conv_.transform_units())
      context.parallel_for(conv_.transform_units(), [&](size_t unit) { conv_.transform(unit, arguments, shared); });
    units_.run(context, [&](size_t unit, float* scratch) { conv_.run(unit, arguments, shared, scratch); });
  }

 private:
  WinogradConv conv_;
  std::shared_ptr<const void> weights_, bias_;
  size_t shared_ = 0;
  Units units_;
};

template <WinogradForm kForm>
Estimate estimate_form(const NodeView& node, const Device& device) {
  return estimate(node, device, kForm);
}
template <WinogradForm kForm>
std::unique_ptr<Kernel> prepare_form(PrepareContext& context) {
  return std::make_unique<WinogradKernel>(context, kForm);
}

#define MINNOW_WINOGRAD_ROWS(name, form) \
  {"Conv", name, estimate_form<form>, prepare_form<form>}, { "minnow.FusedConv", name, estimate_form<form>, prepare_form<form> }

constexpr Scheme kSchemes[] = {
    MINNOW_WINOGRAD_ROWS("conv.winograd_f2", WinogradForm::f2),
    MINNOW_WINOGRAD_ROWS("conv.winograd_f4", WinogradForm::f4),
    MINNOW_WINOGRAD_ROWS("conv.winograd_stride2_f2", WinogradForm::stride2_f2),
    MINNOW_WINOGRAD_ROWS("conv.winograd_stride2_f4", WinogradForm::stride2_f4),
};
#undef MINNOW_WINOGRAD_ROWS

}  // namespace

std::span<const Scheme> winograd_schemes() { return kSchemes; }

}  // namespace minnow::cpu
