// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv as implicit matrix products in bf16 or f16, on the packed layout or from a plain image of few channels.
#include "backends/cpu/schemes/low_precision.h"

#include <cmath>

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

Estimate refusal_of(Factors factors, const NodeView& node, const Device& device, std::initializer_list<size_t> weights) {
  if (factors == Factors::f32) return {};
  if (device.precision != Precision::low) return declined("its rounding is for precision \"low\"");
  if (factors == Factors::bf16) return {};
  if (!low_precision_kernels(factors, *cpu_device(device).kernels)->tile.packed || !has_f16_products())
    return unavailable("this machine has no products of f16");
  for (const size_t input : weights) {
    if (!node.is_constant(input)) continue;
    const Tensor& w = node.contents(input);
    for (const float weight : std::span(w.data<float>(), static_cast<size_t>(w.elements())))
      if (!(std::fabs(weight) <= kLargestF16)) return declined("weight {} is too large for f16", weight);
  }
  return {};
}

const LowPrecisionKernels* low_precision_kernels(Factors factors, const Kernels& kernels, bool plain) {
  if (factors == Factors::f32) return nullptr;
  return factors == Factors::bf16 ? &bf16_kernels(*kernels.bf16, plain) : &kernels.f16->direct;
}

double speed_of(Factors factors, const Kernels& kernels, bool plain) {
  if (factors == Factors::f32) return 1;
  if (factors == Factors::bf16) return bf16_speed(*kernels.bf16, plain);
  return 1.8;  // twice the products per instruction, less the cost of sums in f32
}

std::string_view suffix_of(Factors factors) noexcept {
  constexpr std::string_view kNames[] = {"", " bf16", " f16"};
  return kNames[static_cast<size_t>(factors)];
}

namespace {

Estimate estimate_as(const NodeView& node, const Device& device, Factors factors, bool plain) {
  if (const std::string refusal = refusal_of_conv(node, {.channels_last = plain}); !refusal.empty()) return declined("{}", refusal);
  if (Estimate refusal = refusal_of(factors, node, device); !refusal.declined.empty()) return refusal;
  const ConvShape s = conv_shape(node);
  const size_t lanes = static_cast<size_t>(device.pack), channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  const Kernels& kernels = *cpu_device(device).kernels;
  if (plain) {
    if (!low_precision_kernels(factors, kernels, true)->tile.plain)
      return unavailable(format("this machine has no products of{}", suffix_of(factors)));
    if (s.groups != 1) return declined("there are {} groups", s.groups);
    if (channels > lanes) return declined("{} channels are a whole vector or more: the packed layout is better", channels);
  } else {
    if (channels < lanes) return declined("{} channels of a group are less than a vector", channels);
    if (s.groups > 1 && (channels % (2 * lanes) != 0 || outputs % lanes != 0))
      return declined("{} groups of {} channels are not whole vectors of {} pairs", s.groups, channels, device.pack);
  }
  const double padded = static_cast<double>(ceil_div(outputs, lanes) * lanes) / static_cast<double>(outputs) *
                        static_cast<double>(2 * ceil_div(channels, 2)) / static_cast<double>(channels);
  const double compute =
      device.flop_time(2 * ConvGeometry::of(node).multiply_adds() * padded, (plain ? 0.75 : 0.88) * speed_of(factors, kernels, plain));
  const double weights = device.weight_time(2.0 * static_cast<double>(node.input_shape(1).elements()));
  const double in = static_cast<double>(node.input_shape(0).elements());
  double out = static_cast<double>(node.output_shape(0).elements());
  if (node.has_input(3)) out *= 2;
  Estimate estimate(std::max(compute, weights) + device.byte_time(4 * in) + 0.5 * device.byte_time(2 * in + 4 * out) + 1e-6);
  estimate.packed_inputs = plain ? 8 : 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}
template <Factors kFactors, bool kPlain>
Estimate estimate(const NodeView& node, const Device& device) {
  return estimate_as(node, device, kFactors, kPlain);
}

template <Factors kFactors, bool kPlain>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const ConvShape shape = conv_shape(context.node());
  GemmConv::Options options = gemm_options(context.device());
  options.plain_input = kPlain;
  options.low_precision = low_precision_kernels(kFactors, kernels, kPlain);
  const PackingParameters parameters = {{"factors", kFactors}, {"plain", kPlain}, {"groups", shape.groups}};
  return std::make_unique<ConvKernel<GemmConv>>(context, "gemm_conv", parameters,
                                                GemmConv(kernels, shape, options, epilogue_of(context.node(), kernels)));
}
constexpr Scheme kSchemes[] = {
    {"Conv", "conv.bf16", estimate<Factors::bf16, false>, prepare<Factors::bf16, false>, kLargeOnly},
    {"Conv", "conv.bf16_first_layer", estimate<Factors::bf16, true>, prepare<Factors::bf16, true>, kLargeOnly},
    {"Conv", "conv.f16", estimate<Factors::f16, false>, prepare<Factors::f16, false>, kLargeOnly},
    {"Conv", "conv.f16_first_layer", estimate<Factors::f16, true>, prepare<Factors::f16, true>, kLargeOnly},
    {"minnow.FusedConv", "conv.bf16", estimate<Factors::bf16, false>, prepare<Factors::bf16, false>, kLargeOnly},
    {"minnow.FusedConv", "conv.bf16_first_layer", estimate<Factors::bf16, true>, prepare<Factors::bf16, true>, kLargeOnly},
    {"minnow.FusedConv", "conv.f16", estimate<Factors::f16, false>, prepare<Factors::f16, false>, kLargeOnly},
    {"minnow.FusedConv", "conv.f16_first_layer", estimate<Factors::f16, true>, prepare<Factors::f16, true>, kLargeOnly},
};

}  // namespace

std::span<const Scheme> low_precision_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
