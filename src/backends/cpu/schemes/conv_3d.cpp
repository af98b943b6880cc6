// SPDX-License-Identifier: Apache-2.0
// Conv, minnow.FusedConv and ConvTranspose with three spatial dimensions, slice by slice on the packed layout.
#include <type_traits>

#include "backends/cpu/kernels/conv_3d.h"
#include "backends/cpu/kernels/depthwise_conv.h"
#include "backends/cpu/kernels/transposed_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

// Geometry is ConvGeometry or ConvTransposeGeometry; in the window of the latter, input and output change places.
template <class Geometry>
Conv3dShape conv_3d_shape(const Geometry& conv) {
  const WindowGeometry& w = conv.window;
  constexpr bool kTransposed = std::is_same_v<Geometry, ConvTransposeGeometry>;
  const Shape &input = kTransposed ? w.output : w.input, &output = kTransposed ? w.input : w.output;
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  Conv3dShape v;
  v.transposed = kTransposed;
  v.in_slices = size(input[0]), v.out_slices = size(output[0]), v.kernel = size(w.kernel[0]);
  v.stride = size(w.stride[0]), v.dilation = size(w.dilation[0]), v.pad = size(w.pad_begin[0]);
  ConvShape& s = v.slice;
  s.batch = size(conv.batch), s.in_channels = size(conv.in_channels), s.out_channels = size(conv.out_channels);
  s.groups = size(conv.groups);
  s.in_h = size(input[1]), s.out_h = size(output[1]), s.kernel_h = size(w.kernel[1]);
  s.stride_h = size(w.stride[1]), s.dilation_h = size(w.dilation[1]), s.pad_top = size(w.pad_begin[1]);
  s.in_w = size(input[2]), s.out_w = size(output[2]), s.kernel_w = size(w.kernel[2]);
  s.stride_w = size(w.stride[2]), s.dilation_w = size(w.dilation[2]), s.pad_left = size(w.pad_begin[2]);
  return v;
}

std::string refusal_of(const Conv3dShape& shape) {
  for (size_t o = 0; o < shape.out_slices; ++o)
    if (shape.last_tap(o) == shape.kernel) return "an output reads padding alone";
  return {};
}
// A reason why no scheme here serves; empty if there is none.
std::string refusal_of(const NodeView& node) {
  const std::string refusal = refusal_of_conv(node, {.any_weights = true, .spatial = 3});
  return refusal.empty() ? refusal_of(conv_3d_shape(ConvGeometry::of(node))) : refusal;
}

template <class Geometry>
Estimate packed(const Geometry& conv, const NodeView& node, const Device& device, double efficiency) {
  const double elements = static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements());
  const double compute = device.flop_time(2 * conv.multiply_adds(), efficiency);
  // Slices of the output are read and written once for each tap, from the nearer caches.
  const WindowGeometry& w = conv.window;
  const int64_t taps = std::is_same_v<Geometry, ConvTransposeGeometry> ? (w.kernel[0] - 1) / w.stride[0] : w.kernel[0] - 1;
  const double again = 8.0 * static_cast<double>(taps * node.output_shape(0).elements());
  Estimate estimate(std::max(compute, device.weight_time(4.0 * static_cast<double>(node.input_shape(1).elements()))) +
                    0.5 * device.byte_time(4 * elements) + again / (device.l2_bandwidth * device.threads) + 1e-6);
  estimate.packed_inputs = 1 | 8;  // X and the tensor that is added
  estimate.packed_outputs = 1;
  return estimate;
}

Estimate estimate_gemm(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_3d_shape(ConvGeometry::of(node)).slice;
  const size_t lanes = static_cast<size_t>(device.pack);
  if (!GemmConv::can_serve(s, lanes)) return declined("{} groups of {} channels are not whole vectors", s.groups, s.in_channels / s.groups);
  const size_t outputs = s.out_channels / s.groups;
  return packed(ConvGeometry::of(node), node, device,
                0.8 * static_cast<double>(outputs) / static_cast<double>(ceil_div(outputs, lanes) * lanes));
}

Estimate estimate_depthwise(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_3d_shape(ConvGeometry::of(node)).slice;
  if (GemmConv::can_serve(s, static_cast<size_t>(device.pack))) return declined("the groups are whole vectors of {}, or one", device.pack);
  return packed(ConvGeometry::of(node), node, device, 0.2);
}

Estimate estimate_transposed(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  const ConvTransposeGeometry conv = ConvTransposeGeometry::of(node);
  if (conv.window.rank() != 3) return declined("there are {} spatial dimensions, not 3", conv.window.rank());
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a tensor is empty");
  const Conv3dShape v = conv_3d_shape(conv);
  const size_t lanes = static_cast<size_t>(device.pack), outputs = v.slice.out_channels / v.slice.groups;
  if (!GemmConv::can_serve(v.slice, lanes)) return declined("the channels of a group are not whole vectors");
  const TransposedPhases phases(v.slice);
  if (!phases.refusal.empty()) return declined("{}", phases.refusal);
  if (phases.leaves_gaps) return declined("the stride is larger than the kernel");
  if (const std::string refusal = refusal_of(v); !refusal.empty()) return declined("{}", refusal);
  return packed(conv, node, device, 0.7 * static_cast<double>(outputs) / static_cast<double>(ceil_div(outputs, lanes) * lanes));
}

template <class Conv>
std::unique_ptr<Kernel> prepare_as(PrepareContext& context, const typename Conv::Options& options, std::string_view name) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const NodeView& node = context.node();
  const Conv3dShape shape = conv_3d_shape(ConvGeometry::of(node));
  return std::make_unique<ConvKernel<Conv3d<Conv>>>(context, name, PackingParameters{{"groups", shape.slice.groups}},
                                                    Conv3d<Conv>(kernels, shape, options, epilogue_of(node, kernels)));
}
std::unique_ptr<Kernel> prepare_transposed(PrepareContext& context) {
  using Conv = Conv3d<TransposedConv<GemmConv>>;
  const Device& device = context.device();
  const Conv3dShape v = conv_3d_shape(ConvTransposeGeometry::of(context.node()));
  const ConvShape& s = v.slice;
  return std::make_unique<ConvKernel<Conv>>(context, "transposed 3d",
                                            PackingParameters{{"stride_h", s.stride_h}, {"stride_w", s.stride_w}, {"groups", s.groups}},
                                            Conv(*cpu_device(device).kernels, v, gemm_options(device), Epilogue{}));
}
std::unique_ptr<Kernel> prepare_gemm(PrepareContext& context) {
  return prepare_as<GemmConv>(context, gemm_options(context.device()), "3d gemm");
}
std::unique_ptr<Kernel> prepare_depthwise(PrepareContext& context) {
  const Device& device = context.device();
  return prepare_as<DepthwiseConv>(context, {static_cast<size_t>(device.threads), device.l1, device.l2}, "3d depthwise");
}

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.gemm_3d", estimate_gemm, prepare_gemm},
    {"Conv", "conv.depthwise_3d", estimate_depthwise, prepare_depthwise, kLargeOnly},
    {"ConvTranspose", "conv_transpose.gemm_3d", estimate_transposed, prepare_transposed, kLargeOnly},
    {"minnow.FusedConv", "conv.gemm_3d", estimate_gemm, prepare_gemm},
    {"minnow.FusedConv", "conv.depthwise_3d", estimate_depthwise, prepare_depthwise, kLargeOnly},
};

}  // namespace

std::span<const Scheme> conv_3d_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
