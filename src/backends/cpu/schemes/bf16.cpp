// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv as implicit products of bf16 pairs, on the packed layout or from a plain image of few channels.
#include "backends/cpu/schemes/bf16.h"

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

std::string refusal_of_bf16(const Device& device) {
  if (device.precision != Precision::low) return "its rounding is for precision \"low\"";
  return {};
}

namespace {

Estimate estimate_as(const NodeView& node, const Device& device, bool plain) {
  if (const std::string refusal = refusal_of_bf16(device); !refusal.empty()) return declined("{}", refusal);
  if (const std::string refusal = refusal_of_conv(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  const size_t lanes = static_cast<size_t>(device.pack), channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  const Bf16Forms& forms = *cpu_device(device).kernels->bf16;
  if (plain) {
    if (!bf16_kernels(forms).tile.plain) return declined("this machine has no products of bf16");
    if (s.groups != 1) return declined("there are {} groups", s.groups);
    if (channels > lanes) return declined("{} channels are a whole vector or more: the packed layout is better", channels);
  } else {
    if (channels < lanes) return declined("{} channels of a group are less than a vector", channels);
    if (s.groups > 1 && (channels % (2 * lanes) != 0 || outputs % lanes != 0))
      return declined("{} groups of {} channels are not whole vectors of {} pairs", s.groups, channels, device.pack);
  }
  const double padded = static_cast<double>(ceil_div(outputs, lanes) * lanes) / static_cast<double>(outputs) *
                        static_cast<double>(2 * ceil_div(channels, 2)) / static_cast<double>(channels);
  const double compute = device.flop_time(2 * ConvGeometry::of(node).multiply_adds() * padded, (plain ? 0.75 : 0.88) * bf16_speed(forms));
  const double weights = device.weight_time(2.0 * static_cast<double>(node.input_shape(1).elements()));
  const double in = static_cast<double>(node.input_shape(0).elements());
  double out = static_cast<double>(node.output_shape(0).elements());
  if (node.has_input(3)) out *= 2;
  Estimate estimate(std::max(compute, weights) + device.byte_time(4 * in) + 0.5 * device.byte_time(2 * in + 4 * out) + 1e-6);
  estimate.packed_inputs = plain ? 8 : 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate_as(node, device, false); }
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate_as(node, device, true); }

std::unique_ptr<Kernel> prepare(PrepareContext& context, bool plain) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const ConvShape shape = conv_shape(context.node());
  GemmConv::Options options = gemm_options(context.device());
  options.plain_input = plain;
  options.pairs = &bf16_kernels(*kernels.bf16);
  return std::make_unique<ConvKernel<GemmConv>>(
      context, format("bf16 conv {}{} groups {}", plain ? "plain " : "", context.device().name, shape.groups),
      GemmConv(kernels, shape, options, epilogue_of(context.node(), kernels)));
}
std::unique_ptr<Kernel> prepare_packed(PrepareContext& context) { return prepare(context, false); }
std::unique_ptr<Kernel> prepare_plain(PrepareContext& context) { return prepare(context, true); }

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.bf16", estimate_packed, prepare_packed},
    {"Conv", "conv.bf16_first_layer", estimate_plain, prepare_plain},
    {"minnow.FusedConv", "conv.bf16", estimate_packed, prepare_packed},
    {"minnow.FusedConv", "conv.bf16_first_layer", estimate_plain, prepare_plain},
};

}  // namespace

std::span<const Scheme> bf16_schemes() { return kSchemes; }

}  // namespace minnow::cpu
