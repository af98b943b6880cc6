// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv, 1x1 with many channels, by Strassen's algorithm.
#include <cmath>

#include "backends/cpu/kernels/strassen_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {
namespace {

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  if (const std::string refusal = refusal_of_conv(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  // Its error is relative to the largest output of a pixel, not to each: too much for transforms of signals, written as convolutions over
  // time, whose quiet bands count as much as the loud ones (a logarithm follows).
  if (s.in_h == 1 || s.in_w == 1) return declined("the input is no image: small outputs may matter beside large ones");
  const size_t lanes = static_cast<size_t>(device.pack);
  if (!StrassenConv::can_serve(s, lanes))
    return declined("the kernel is not 1x1 of stride 1, from a multiple of {} to {} channels or more", 2 * lanes, 4 * lanes);
  if (device.low_memory) return declined("its weights are 7/4 of the plain ones, and memory is to be saved");
  const StrassenConv conv(*cpu_device(device).kernels, s, {});
  const double in = static_cast<double>(s.in_channels), pixels = static_cast<double>(s.batch * s.in_h * s.in_w);
  const double all = static_cast<double>(ceil_div(s.out_channels, lanes) * lanes);
  const double split = static_cast<double>(s.out_channels / (4 * lanes) * 4 * lanes);
  // Units are few: where they do not fill the threads, some wait.
  const double units = static_cast<double>(conv.units()), threads = device.threads;
  const double waiting = std::ceil(units / threads) * threads / units;
  const double compute = waiting * device.flop_time(2 * pixels * in * (split * 7 / 8 + all - split), 0.9);
  const double weights = device.weight_time(4 * static_cast<double>(conv.weight_floats()));
  // The input's quarters are read and their sums written; the quarters of the output are passed over eleven times.
  const double sums = 4 * pixels * (2 * in + 2.75 * split) / (0.5 * device.l2_bandwidth * threads);
  const double moved = 4 * pixels * (in + all * (node.has_input(3) ? 2 : 1));
  Estimate estimate(std::max(compute, weights) + sums + 0.5 * device.byte_time(moved) + 1e-6);
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

class StrassenKernel final : public Kernel {
 public:
  explicit StrassenKernel(PrepareContext& context)
      : conv_(*cpu_device(context.device()).kernels, conv_shape(context.node()),
              epilogue_of(context.node(), *cpu_device(context.device()).kernels)) {
    const std::string packing = format("strassen {}", context.device().name);
    weights_ = context.packed(1, packing, conv_.weight_floats() * sizeof(float),
                              [&](const TensorView& w, void* out) { conv_.pack_weights(w.data<float>(), static_cast<float*>(out)); });
    if (context.node().has_input(2))
      bias_ = context.packed(2, packing, conv_.bias_floats() * sizeof(float),
                             [&](const TensorView& b, void* out) { conv_.pack_bias(b.data<float>(), static_cast<float*>(out)); });
    shared_ = context.reserve_scratch(conv_.shared_floats() * sizeof(float));
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) noexcept override {
    const StrassenConv::Arguments arguments{context.in<float>(0), static_cast<const float*>(weights_.get()),
                                            static_cast<const float*>(bias_.get()), context.has_input(3) ? context.in<float>(3) : nullptr,
                                            context.out<float>(0)};
    float* shared = context.scratch_at<float>(shared_);
    context.parallel_for(conv_.sum_units(), [&](size_t unit) { conv_.sum(unit, arguments, shared); });
    units_.run(context, [&](size_t unit, float* scratch) { conv_.run(unit, arguments, shared, scratch); });
  }

 private:
  StrassenConv conv_;
  std::shared_ptr<const void> weights_, bias_;
  size_t shared_ = 0;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<StrassenKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.strassen", estimate, prepare},
    {"minnow.FusedConv", "conv.strassen", estimate, prepare},
};

}  // namespace

std::span<const Scheme> strassen_schemes() { return kSchemes; }

}  // namespace minnow::cpu
