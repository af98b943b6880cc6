// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv: as implicit products on the packed layout or from a plain image of few channels, and lane by lane.
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/functions.h"

#include <cmath>

#include "backends/cpu/kernels/depthwise_conv.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {
namespace {

// Two neighbouring axes along which nothing is summed, skipped or padded are one.
void join_axes(WindowGeometry& w) {
  const auto is_idle = [&](size_t axis) {
    return w.kernel[axis] == 1 && w.stride[axis] == 1 && w.pad_begin[axis] == 0 && w.input[axis] == w.output[axis];
  };
  for (size_t axis = 0; axis + 1 < w.rank(); ++axis) {
    if (!is_idle(axis) || !is_idle(axis + 1)) continue;
    w.input[axis] *= w.input[axis + 1];
    w.output[axis] *= w.output[axis + 1];
    for (Shape* sizes : {&w.input, &w.output, &w.kernel, &w.stride, &w.dilation, &w.pad_begin, &w.pad_end}) sizes->erase(axis + 1);
    return;
  }
}

}  // namespace

std::optional<ConvShape> conv_shape_of(const NodeView& node) {
  const ConvGeometry conv = ConvGeometry::of(node);
  WindowGeometry w = conv.window;
  if (w.rank() == 3) join_axes(w);
  if (w.rank() != 1 && w.rank() != 2) return std::nullopt;
  const bool flat = w.rank() == 1;
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  const size_t x = flat ? 0 : 1;  // the horizontal axis
  ConvShape s;
  s.batch = size(conv.batch), s.in_channels = size(conv.in_channels), s.out_channels = size(conv.out_channels),
  s.groups = size(conv.groups);
  s.channels_last = has_channels_last(node);
  s.in_w = size(w.input[x]), s.out_w = size(w.output[x]), s.kernel_w = size(w.kernel[x]);
  s.stride_w = size(w.stride[x]), s.dilation_w = size(w.dilation[x]), s.pad_left = size(w.pad_begin[x]);
  if (!flat) {
    s.in_h = size(w.input[0]), s.out_h = size(w.output[0]), s.kernel_h = size(w.kernel[0]);
    s.stride_h = size(w.stride[0]), s.dilation_h = size(w.dilation[0]), s.pad_top = size(w.pad_begin[0]);
  }
  return s;
}

Epilogue epilogue_of(const NodeView& node, const Kernels& kernels) {
  Epilogue epilogue;
  const Activation activation = Activation::of(node);
  if (activation.kind == Activation::Kind::relu) {
    epilogue.low = 0;
  } else if (activation.kind == Activation::Kind::clip) {
    epilogue.low = activation.alpha, epilogue.high = activation.beta;
  } else if (activation.kind != Activation::Kind::none) {
    const Function function = function_of(activation);
    epilogue.after = (*kernels.unary)[function.kind], epilogue.a = function.a, epilogue.b = function.b;
  }
#if !MINNOW_SMALL
  if (node.has_input(kScale)) {
    const Tensor& scale = node.contents(kScale);
    const size_t count = static_cast<size_t>(scale.elements());
    epilogue.scale.resize(ceil_div(count, kernels.lanes) * kernels.lanes);
    std::copy_n(scale.data<float>(), count, epilogue.scale.begin());
  }
#endif
  return epilogue;
}

std::string refusal_of_conv(const NodeView& node, const ConvAccepts& accepts) {
  if (node.input_dtype(0) != DType::f32) return format("the dtype is {}, not f32", node.input_dtype(0));
  if (!accepts.any_weights && !node.is_constant(1)) return "the weights are not constant";
  if (!accepts.any_weights && node.has_input(2) && !node.is_constant(2)) return "the bias is not constant";
  if (!accepts.channels_last && has_channels_last(node)) return "the image has its channels last";
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return "a tensor is empty";
  if (node.has_input(kScale) && !(accepts.scales && node.is_constant(kScale))) return "sums are rounded";
  const bool is_image = conv_shape_of(node).has_value();
  if (accepts.spatial == 2 && !is_image) return "there are more than two spatial dimensions";
  if (accepts.spatial == 3 && (is_image || ConvGeometry::of(node).window.rank() != 3)) return "there are not three spatial dimensions";
  return {};
}

double rounding_seconds(const NodeView& node, const Device& device) {
  return node.has_input(kScale) ? device.flop_time(6 * static_cast<double>(node.output_shape(0).elements())) : 0;
}

GemmConv::Options gemm_options(const Device& device) {
  GemmConv::Options options;
  options.threads = static_cast<size_t>(device.threads);
  options.l2 = device.l2;
  return options;
}

namespace {

DepthwiseConv::Options depthwise_options(const Device& device) { return {static_cast<size_t>(device.threads), device.l1, device.l2}; }

double conv_bytes(const NodeView& node) {
  double elements = static_cast<double>(node.input_shape(0).elements()) + static_cast<double>(node.output_shape(0).elements());
  if (node.has_input(3)) elements += static_cast<double>(node.output_shape(0).elements());
  return 4 * elements;
}

// Lanes that compute nothing cost as much as those that do.
double efficiency_of(const ConvShape& s, const Device& device) {
  const double lanes = device.pack, outputs = static_cast<double>(s.out_channels / s.groups);
  return 0.9 * outputs / (std::ceil(outputs / lanes) * lanes);
}

Estimate estimate_packed(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of_conv(node, {.any_weights = true, .scales = true}); !refusal.empty())
    return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (!GemmConv::can_serve(s, static_cast<size_t>(device.pack)))
    return declined("{} groups of {} channels are not whole vectors of {}", s.groups, s.in_channels / s.groups, device.pack);
  const double weights = 4.0 * static_cast<double>(node.input_shape(1).elements());
  const double few = s.in_channels < static_cast<size_t>(device.pack) ? 0.8 : 1;  // lanes of the input without a channel are moved too
  const double compute = device.flop_time(2 * ConvGeometry::of(node).multiply_adds(), efficiency_of(s, device) * few);
  Estimate estimate(std::max(compute, device.weight_time(weights)) + 0.5 * device.byte_time(conv_bytes(node)) +
                    rounding_seconds(node, device) + 5e-7);
  estimate.packed_inputs = 1 | 8;  // X and the tensor that is added
  estimate.packed_outputs = 1;
  return estimate;
}

Estimate estimate_plain(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of_conv(node, {.any_weights = true, .channels_last = true, .scales = true}); !refusal.empty())
    return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (s.groups != 1) return declined("there are {} groups", s.groups);
  if (s.in_channels > static_cast<size_t>(device.pack))
    return declined("{} channels are a whole vector or more: the packed layout is better", s.in_channels);
  Estimate estimate(device.flop_time(2 * ConvGeometry::of(node).multiply_adds(), 0.9 * efficiency_of(s, device)) +
                    0.5 * device.byte_time(conv_bytes(node)) + rounding_seconds(node, device) + 5e-7);
  estimate.packed_inputs = 8;
  estimate.packed_outputs = 1;
  return estimate;
}

Estimate estimate_depthwise(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of_conv(node, {.any_weights = true, .scales = true}); !refusal.empty())
    return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (s.groups == 1) return declined("there is one group");
  if (GemmConv::can_serve(s, static_cast<size_t>(device.pack))) return declined("the groups are whole vectors of {}", device.pack);
  const bool direct = DepthwiseConv(*cpu_device(device).kernels, s, depthwise_options(device), {}).is_direct();
  Estimate estimate(device.flop_time(2 * ConvGeometry::of(node).multiply_adds(), direct ? 0.5 : 0.2) +
                    0.5 * device.byte_time(conv_bytes(node)) + rounding_seconds(node, device) + 5e-7);
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

/// A small build has no row tiling.
template <class Conv>
using ByRows = std::conditional_t<kSmall, ConvKernel<Conv>, RowTiledConv<Conv>>;

std::unique_ptr<Kernel> prepare_gemm(PrepareContext& context, bool plain) {
  GemmConv::Options options = gemm_options(context.device());
  options.plain_input = plain;
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const NodeView& node = context.node();
  return std::make_unique<ByRows<GemmConv>>(context, "gemm_conv", PackingParameters{{"plain", plain}, {"groups", conv_shape(node).groups}},
                                            GemmConv(kernels, conv_shape(node), options, epilogue_of(node, kernels)));
}
std::unique_ptr<Kernel> prepare_packed(PrepareContext& context) { return prepare_gemm(context, false); }
std::unique_ptr<Kernel> prepare_plain(PrepareContext& context) { return prepare_gemm(context, true); }
std::unique_ptr<Kernel> prepare_depthwise(PrepareContext& context) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const NodeView& node = context.node();
  return std::make_unique<ByRows<DepthwiseConv>>(
      context, "depthwise_conv", PackingParameters{{"groups", conv_shape(node).groups}},
      DepthwiseConv(kernels, conv_shape(node), depthwise_options(context.device()), epilogue_of(node, kernels)));
}

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.gemm", estimate_packed, prepare_packed},
    {"Conv", "conv.first_layer", estimate_plain, prepare_plain},
    {"Conv", "conv.depthwise", estimate_depthwise, prepare_depthwise},
    {"minnow.FusedConv", "conv.gemm", estimate_packed, prepare_packed},
    {"minnow.FusedConv", "conv.first_layer", estimate_plain, prepare_plain},
    {"minnow.FusedConv", "conv.depthwise", estimate_depthwise, prepare_depthwise},
};

}  // namespace

std::span<const Scheme> conv_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
