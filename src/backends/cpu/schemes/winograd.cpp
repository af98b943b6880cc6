// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv by Winograd's minimal filtering, in tiles of 2 x 2 and 4 x 4 outputs: a row of the table each.
#include "backends/cpu/kernels/winograd_conv.h"

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {
namespace {

WinogradConv::Options options_of(const Device& device, size_t tile) { return {tile, static_cast<size_t>(device.threads), device.l2}; }

Estimate estimate(const NodeView& node, const Device& device, size_t tile) {
  if (tile > 2 && device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  if (const std::string refusal = refusal_of_conv(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (!WinogradConv::can_serve(s)) return declined("the kernel is not 3x3 of stride 1, dilation 1 and one group");
  const size_t lanes = static_cast<size_t>(device.pack);
  const double in = static_cast<double>(s.in_channels), out = static_cast<double>(ceil_div(s.out_channels, lanes) * lanes);
  const double positions = static_cast<double>((tile + 2) * (tile + 2));
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
  WinogradKernel(PrepareContext& context, size_t tile)
      : conv_(*cpu_device(context.device()).kernels, conv_shape(context.node()), options_of(context.device(), tile),
              epilogue_of(context.node(), *cpu_device(context.device()).kernels)) {
    const std::string packing = format("winograd {} {}", tile, context.device().name);
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

Estimate estimate_2(const NodeView& node, const Device& device) { return estimate(node, device, 2); }
Estimate estimate_4(const NodeView& node, const Device& device) { return estimate(node, device, 4); }
std::unique_ptr<Kernel> prepare_2(PrepareContext& context) { return std::make_unique<WinogradKernel>(context, 2); }
std::unique_ptr<Kernel> prepare_4(PrepareContext& context) { return std::make_unique<WinogradKernel>(context, 4); }

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.winograd_f2", estimate_2, prepare_2},
    {"Conv", "conv.winograd_f4", estimate_4, prepare_4},
    {"minnow.FusedConv", "conv.winograd_f2", estimate_2, prepare_2},
    {"minnow.FusedConv", "conv.winograd_f4", estimate_4, prepare_4},
};

}  // namespace

std::span<const Scheme> winograd_schemes() { return kSchemes; }

}  // namespace minnow::cpu
