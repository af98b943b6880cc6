// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv with three spatial dimensions, slice by slice on the packed layout.
#include <cmath>

#include "backends/cpu/kernels/lanewise_conv.h"
#include "backends/cpu/kernels/volume_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

VolumeShape volume_of(const ConvGeometry& conv) {
  const WindowGeometry& w = conv.window;
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  VolumeShape v;
  v.in_slices = size(w.input[0]), v.out_slices = size(w.output[0]), v.kernel = size(w.kernel[0]);
  v.stride = size(w.stride[0]), v.dilation = size(w.dilation[0]), v.pad = size(w.pad_begin[0]);
  ConvShape& s = v.slice;
  s.batch = size(conv.batch), s.in_channels = size(conv.in_channels), s.out_channels = size(conv.out_channels);
  s.groups = size(conv.groups);
  s.in_h = size(w.input[1]), s.out_h = size(w.output[1]), s.kernel_h = size(w.kernel[1]);
  s.stride_h = size(w.stride[1]), s.dilation_h = size(w.dilation[1]), s.pad_top = size(w.pad_begin[1]);
  s.in_w = size(w.input[2]), s.out_w = size(w.output[2]), s.kernel_w = size(w.kernel[2]);
  s.stride_w = size(w.stride[2]), s.dilation_w = size(w.dilation[2]), s.pad_left = size(w.pad_begin[2]);
  return v;
}

// What no scheme here can do without; empty where nothing is missing.
std::string refusal_of(const NodeView& node) {
  if (node.input_dtype(0) != DType::f32) return format("the dtype is {}, not f32", node.input_dtype(0));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return "a tensor is empty";
  if (has_channels_last(node)) return "the image has its channels last";
  const ConvGeometry conv = ConvGeometry::of(node);
  if (conv.window.rank() != 3) return format("there are {} spatial dimensions, not 3", conv.window.rank());
  if (conv_shape_of(node)) return "two of the dimensions can be one";
  const VolumeShape volume = volume_of(conv);
  for (size_t o = 0; o < volume.out_slices; ++o)
    if (volume.first_tap(o) >= volume.last_tap(o)) return "an output reads padding alone";
  return {};
}

Estimate packed(const NodeView& node, const Device& device, double efficiency) {
  const ConvGeometry conv = ConvGeometry::of(node);
  const double elements = static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements());
  const double compute = device.flop_time(2 * conv.multiply_adds(), efficiency);
  // Slices of the output are read and written once for each tap, from the nearer caches.
  const double again = 8.0 * static_cast<double>((conv.window.kernel[0] - 1) * node.output_shape(0).elements());
  Estimate estimate(std::max(compute, device.weight_time(4.0 * static_cast<double>(node.input_shape(1).elements()))) +
                    0.5 * device.byte_time(4 * elements) + again / (device.l2_bandwidth * device.threads) + 1e-6);
  estimate.packed_inputs = 1 | 8;  // X and the tensor that is added
  estimate.packed_outputs = 1;
  return estimate;
}

Estimate estimate_gemm(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = volume_of(ConvGeometry::of(node)).slice;
  const size_t lanes = static_cast<size_t>(device.pack);
  if (!GemmConv::can_serve(s, lanes)) return declined("{} groups of {} channels are not whole vectors", s.groups, s.in_channels / s.groups);
  const size_t outputs = s.out_channels / s.groups;
  return packed(node, device, 0.8 * static_cast<double>(outputs) / static_cast<double>(ceil_div(outputs, lanes) * lanes));
}

Estimate estimate_lanewise(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = volume_of(ConvGeometry::of(node)).slice;
  if (GemmConv::can_serve(s, static_cast<size_t>(device.pack))) return declined("the groups are whole vectors of {}, or one", device.pack);
  return packed(node, device, 0.2);
}

template <class Conv>
std::unique_ptr<Kernel> prepare_as(PrepareContext& context, const typename Conv::Options& options, std::string_view name) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const NodeView& node = context.node();
  const VolumeShape shape = volume_of(ConvGeometry::of(node));
  return std::make_unique<ConvKernel<VolumeConv<Conv>>>(context, format("{} {} groups {}", name, context.device().name, shape.slice.groups),
                                                        VolumeConv<Conv>(kernels, shape, options, epilogue_of(node, kernels)));
}
std::unique_ptr<Kernel> prepare_gemm(PrepareContext& context) {
  return prepare_as<GemmConv>(context, gemm_options(context.device()), "volume gemm");
}
std::unique_ptr<Kernel> prepare_lanewise(PrepareContext& context) {
  const Device& device = context.device();
  return prepare_as<LanewiseConv>(context, {static_cast<size_t>(device.threads), device.l1, device.l2}, "volume lanewise");
}

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.volume", estimate_gemm, prepare_gemm},
    {"Conv", "conv.volume_lanewise", estimate_lanewise, prepare_lanewise},
    {"minnow.FusedConv", "conv.volume", estimate_gemm, prepare_gemm},
    {"minnow.FusedConv", "conv.volume_lanewise", estimate_lanewise, prepare_lanewise},
};

}  // namespace

std::span<const Scheme> conv_volume_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
