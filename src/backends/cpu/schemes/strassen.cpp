// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv, 1x1 with many channels, and products with constant matrices, by Strassen's algorithm.
#include <cmath>

#include "backends/cpu/kernels/strassen_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {
namespace {

// `rows`: of matrices in row-major order, which are laid out like an image first.
double seconds_of(const ConvShape& s, const Device& device, bool adds, bool rows) {
  const size_t lanes = static_cast<size_t>(device.pack);
  const StrassenConv conv(*cpu_device(device).kernels, s, {}, static_cast<size_t>(device.threads), rows);
  const double in = static_cast<double>(s.in_channels), pixels = static_cast<double>(s.batch * s.in_h * s.in_w);
  const double all = static_cast<double>(ceil_div(s.out_channels, lanes) * lanes);
  const double split = static_cast<double>(s.out_channels / (4 * lanes) * 4 * lanes);
  // Units are few: where they do not fill the threads, some wait.
  const double units = static_cast<double>(conv.units()), threads = device.threads;
  const double waiting = std::ceil(units / threads) * threads / units;
  // Each tile adds to and from other products: as much as about six channels.
  const double tiles = 1 + 6 / (in / 2);
  const double compute = waiting * device.flop_time(2 * pixels * in * (split * 7 / 8 * tiles + all - split), 0.9);
  const double weights = device.weight_time(4 * static_cast<double>(conv.weight_floats()));
  // The input's quarters are read and their sums written; the quarters of the output are passed over eleven times.
  const double sums = 4 * pixels * (2 * in + 2.75 * split) / (0.5 * device.l2_bandwidth * threads);
  const double moved = 4 * pixels * (in * (rows ? 2 : 1) + all * (adds ? 2 : 1));
  return std::max(compute, weights) + 0.25 * std::min(compute, weights) + sums + (rows ? 1 : 0.5) * device.byte_time(moved) + 1e-6;
}

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
  Estimate estimate(seconds_of(s, device, node.has_input(3), false));
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

// A product [m, k] x [k, n] as a 1x1 convolution of m pixels.
ConvShape shape_of(const Product& p) {
  ConvShape s;
  s.batch = 1, s.in_channels = p.shape.k, s.out_channels = p.shape.n;
  s.in_h = s.out_h = 1, s.in_w = s.out_w = p.shape.m;
  return s;
}

// Inputs that are added to the whole product; -1: none.
int added_input(const NodeView& node, const Addition& addition) { return addition.kind == Addend::full ? 2 : node.has_input(3) ? 3 : -1; }

Estimate estimate_matmul(const NodeView& node, const Device& device) {
  if (device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a matrix is empty");
  if (!node.is_constant(1)) return declined("B is not constant");
  const std::optional<Addition> addition = addition_of(node);
  // As for convolutions: a transform of a signal has no bias, a layer has one.
  if (!addition || addition->kind != Addend::columns || !node.is_constant(2)) return declined("no constant bias is added to each column");
  const Product p(node);
  const size_t lanes = static_cast<size_t>(device.pack);
  if (p.batches != 1 || p.shape.transpose_a) return declined("A is transposed or one of several");
  if (!StrassenConv::can_serve_rows(p.shape.k, p.shape.n, lanes))
    return declined("a {}x{} matrix is not a multiple of {} high and of {} wide, {} or more", p.shape.k, p.shape.n, 2 * lanes, lanes,
                    4 * lanes);
  if (device.low_memory) return declined("its weights are 7/4 of the plain ones, and memory is to be saved");
  return Estimate(seconds_of(shape_of(p), device, added_input(node, *addition) >= 0, true));
}

class StrassenKernel final : public Kernel {
 public:
  /// `added`: the input that is added to the result, or -1.
  StrassenKernel(PrepareContext& context, StrassenConv conv, const StrassenConv::Weights& layout, float bias_factor, int added,
                 std::string_view form)
      : conv_(std::move(conv)), added_(added) {
    filter_.prepare(
        context, conv_, format("strassen {} {}", form, context.device().name),
        [&](const float* w, float* out) {
          conv_.pack_weights({w, layout.out_step, layout.in_step, layout.factor}, out);
        },
        bias_factor);
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) noexcept override {
    const StrassenConv::Arguments arguments{context.in<float>(0), filter_.weights(), filter_.bias(),
                                            added_ >= 0 ? context.in<float>(static_cast<size_t>(added_)) : nullptr, context.out<float>(0)};
    units_.run(context, [&](size_t unit, float* scratch, size_t before) { conv_.run(unit, arguments, scratch, before); });
  }

 private:
  StrassenConv conv_;
  int added_;
  PackedFilter filter_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const ConvShape s = conv_shape(node);
  const size_t threads = static_cast<size_t>(context.device().threads);
  return std::make_unique<StrassenKernel>(context, StrassenConv(kernels, s, epilogue_of(node, kernels), threads),
                                          StrassenConv::Weights{nullptr, s.in_channels, 1, 1}, 1, node.has_input(3) ? 3 : -1, "conv");
}

std::unique_ptr<Kernel> prepare_matmul(PrepareContext& context) {
  const NodeView& node = context.node();
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const Product p(node);
  const Addition addition = *addition_of(node);
  const float alpha = alpha_of(node);
  const bool transposed = p.shape.transpose_b;
  const size_t threads = static_cast<size_t>(context.device().threads);
  return std::make_unique<StrassenKernel>(context, StrassenConv(kernels, shape_of(p), epilogue_of(node, kernels), threads, true),
                                          StrassenConv::Weights{nullptr, transposed ? p.shape.k : 1, transposed ? 1 : p.shape.n, alpha},
                                          addition.factor, added_input(node, addition),
                                          format("matmul{} times {} and {}", transposed ? " transposed" : "", alpha, addition.factor));
}

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.strassen", estimate, prepare},
    {"minnow.FusedConv", "conv.strassen", estimate, prepare},
    {"Gemm", "matmul.strassen", estimate_matmul, prepare_matmul},
    {"minnow.FusedMatMul", "matmul.strassen", estimate_matmul, prepare_matmul},
};

}  // namespace

std::span<const Scheme> strassen_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
