// SPDX-License-Identifier: Apache-2.0
// ConvTranspose on the packed layout, as one convolution for each place of the outputs modulo the stride: as a product of matrices, or by
// Winograd's minimal filtering.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/transposed_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/winograd.h"

namespace minnow::cpu {
namespace {

ConvShape shape_of(const ConvTransposeGeometry& conv) {
  const WindowGeometry& w = conv.window;  // of the convolution whose adjoint this is
  const bool flat = w.rank() == 1;
  const size_t x = flat ? 0 : 1;
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  ConvShape s;
  s.batch = size(conv.batch), s.in_channels = size(conv.in_channels), s.out_channels = size(conv.out_channels),
  s.groups = size(conv.groups);
  s.in_w = size(w.output[x]), s.out_w = size(w.input[x]), s.kernel_w = size(w.kernel[x]);
  s.stride_w = size(w.stride[x]), s.dilation_w = size(w.dilation[x]), s.pad_left = size(w.pad_begin[x]);
  if (!flat) {
    s.in_h = size(w.output[0]), s.out_h = size(w.input[0]), s.kernel_h = size(w.kernel[0]);
    s.stride_h = size(w.stride[0]), s.dilation_h = size(w.dilation[0]), s.pad_top = size(w.pad_begin[0]);
  }
  // With one input place the stride means nothing, and each tap can be a phase of its own, without products with padding.
  if (s.in_h == 1 && s.dilation_h == 1 && s.out_h >= s.kernel_h) s.stride_h = std::max(s.stride_h, s.kernel_h);
  if (s.in_w == 1 && s.dilation_w == 1 && s.out_w >= s.kernel_w) s.stride_w = std::max(s.stride_w, s.kernel_w);
  return s;
}

// A reason why no scheme here serves; empty if there is none.
std::string refusal_of(const NodeView& node) {
  if (node.input_dtype(0) != DType::f32) return format("the dtype is {}, not f32", node.input_dtype(0));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return "a tensor is empty";
  const size_t rank = ConvTransposeGeometry::of(node).window.rank();
  if (rank != 1 && rank != 2) return "there are more than two spatial dimensions";
  return {};
}

Estimate packed(double seconds) {
  Estimate estimate(seconds);
  estimate.packed_inputs = 1;
  estimate.packed_outputs = 1;
  return estimate;
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  const ConvTransposeGeometry conv = ConvTransposeGeometry::of(node);
  const ConvShape s = shape_of(conv);
  if (!GemmConv::can_serve(s, static_cast<size_t>(device.pack))) return declined("the channels of a group are not whole vectors");
  const TransposedPhases phases(s);
  if (!phases.refusal.empty()) return declined("{}", phases.refusal);
  if (phases.leaves_gaps && node.has_input(2)) return declined("the stride is larger than the kernel, and there is a bias");
  const double outputs = static_cast<double>(s.out_channels / s.groups), lanes = device.pack;
  const double compute = device.flop_time(2 * conv.multiply_adds(), 0.8 * outputs / (std::ceil(outputs / lanes) * lanes));
  const double image_bytes = 4.0 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements());
  return packed(std::max(compute, device.weight_time(4.0 * static_cast<double>(node.input_shape(1).elements()))) +
                device.byte_time(image_bytes) + 1e-6);
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const ConvShape shape = shape_of(ConvTransposeGeometry::of(context.node()));
  return std::make_unique<ConvKernel<TransposedConv<GemmConv>>>(
      context, "transposed_conv", PackingParameters{{"stride_h", shape.stride_h}, {"stride_w", shape.stride_w}, {"groups", shape.groups}},
      TransposedConv<GemmConv>(kernels, shape, gemm_options(context.device()), Epilogue{}));
}

template <WinogradForm kForm>
Estimate estimate_winograd(const NodeView& node, const Device& device) {
  if (device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  if (device.low_memory) return declined("its weights are several times the plain ones, and memory is to be saved");
  if (const std::string refusal = refusal_of(node); !refusal.empty()) return declined("{}", refusal);
  const TransposedPhases phases(shape_of(ConvTransposeGeometry::of(node)));
  if (!phases.refusal.empty()) return declined("{}", phases.refusal);
  if (phases.leaves_gaps) return declined("the stride is larger than the kernel");
  double seconds = 0;
  for (const ConvShape& phase : phases.shapes) {
    if (!WinogradConv::can_serve(phase, kForm)) return declined("an output does not meet the form's taps of one group, without a dilation");
    if (kForm == WinogradForm::f4 && phase.in_channels < 16) return declined("sums of so few channels would lose digits to it");
    seconds += winograd_seconds(phase, device, kForm, phases.shapes.size());
    if (!node.is_constant(1)) seconds += winograd_packing_seconds(phase, device, kForm);
  }
  return packed(seconds);
}

class TransposedWinogradKernel final : public WinogradKernel {
 public:
  TransposedWinogradKernel(PrepareContext& context, WinogradForm form)
      : conv_(*cpu_device(context.device()).kernels, shape_of(ConvTransposeGeometry::of(context.node())),
              winograd_options(context.device(), form), Epilogue{}) {
    const ConvShape s = shape_of(ConvTransposeGeometry::of(context.node()));
    prepare(context, conv_, "transposed winograd", {{"stride_h", s.stride_h}, {"stride_w", s.stride_w}}, form,
            [&](const float* w, float* out) { conv_.pack_weights(w, out); });
  }
  void run(RunContext& context) const noexcept override { run_conv(context, conv_, context.in<float>(0)); }

 private:
  TransposedConv<WinogradConv> conv_;
};

template <WinogradForm kForm>
std::unique_ptr<Kernel> prepare_winograd(PrepareContext& context) {
  return std::make_unique<TransposedWinogradKernel>(context, kForm);
}

constexpr Scheme kSchemes[] = {
    {"ConvTranspose", "conv_transpose.gemm", estimate, prepare},
    {"ConvTranspose", "conv_transpose.winograd_f3", estimate_winograd<WinogradForm::two_f3>, prepare_winograd<WinogradForm::two_f3>,
     kLargeOnly},
    {"ConvTranspose", "conv_transpose.winograd_f4", estimate_winograd<WinogradForm::two_f4>, prepare_winograd<WinogradForm::two_f4>,
     kLargeOnly},
#if MINNOW_GRADIENTS  // gradients of convolutions
    {"ConvTranspose", "conv_transpose.winograd_3x3_f2", estimate_winograd<WinogradForm::f2>, prepare_winograd<WinogradForm::f2>,
     kLargeOnly},
    {"ConvTranspose", "conv_transpose.winograd_3x3_f4", estimate_winograd<WinogradForm::f4>, prepare_winograd<WinogradForm::f4>,
     kLargeOnly},
#endif
};

}  // namespace

std::span<const Scheme> conv_transpose_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
