// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv, 1x1 with many channels, and products with constant matrices, by Strassen's algorithm.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/strassen_conv.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

// `rows`: of matrices in row-major order, which are laid out like an image first.
double seconds_of(const ConvShape& s, const Device& device, bool adds, const StrassenConv::Options& options) {
  const size_t lanes = static_cast<size_t>(device.pack);
  const StrassenConv conv(*cpu_device(device).kernels, s, {}, options);
  const bool rows = options.rows;
  const double levels = static_cast<double>(options.levels), slices = static_cast<double>(conv.slices());
  const double in = static_cast<double>(s.in_channels), pixels = static_cast<double>(s.batch * s.in_h * s.in_w);
  const double all = static_cast<double>(ceil_div(s.out_channels, lanes) * lanes);
  const size_t group = (2 * lanes) << options.levels;
  const double split = static_cast<double>(s.out_channels / group * group);
  // Units are few: if they do not fill the threads, some wait.
  const double units = static_cast<double>(conv.units()), threads = device.threads;
  const double waiting = std::ceil(units / threads) * threads / units;
  // Each tile adds to and from other products: as much as about six channels.
  const double products = std::pow(7.0 / 8, levels), depth = in / slices * std::pow(0.5, levels), tiles = 1 + 6 * levels / depth;
  const double paired = options.levels == 1 ? conv.paired_pixels() : pixels;
  // Sums of weights, of two to four quarters each, are read and written while the first tile that uses them computes. Slower tiles hide
  // more of that cost. Measured on Zen 4: 0.3 to 0.5 with tiles of 6 rows (AVX2), 0.6 to 0.8 with 14 (AVX-512).
  const double made = 15 / device.l2_bandwidth, tile = 2.0 * cpu_device(device).kernels->tile->rows[2] / device.flops;  // of a sum
  const double making = 1.4 * made / (made + tile) * made * conv.sums_made() * in * split / 4 / threads;
  const double compute = waiting * (device.flop_time(2 * in * (paired * split * products * tiles + pixels * (all - split)), 0.9) + making);
  const double weight_bytes = 4 * static_cast<double>(conv.weight_floats());
  // At each level the input's quarters are read and their sums written; the quarters of the output are passed over eleven times.
  const double sums = 4 * pixels * levels * (2 * in + 2.75 * split * slices) / (0.5 * device.l2_bandwidth * threads);
  const double moved = 4 * pixels * (in * (rows ? 2 : 1) + all * (slices + (adds ? 1 : 0)));
  const double rest = sums + (rows ? 1 : 0.5) * device.byte_time(moved) + 1e-6;
  if (!options.makes_sums) return compute + device.byte_time(4 * in * all + 2 * weight_bytes) + rest;
  const double weights = device.weight_time(weight_bytes);
  return std::max(compute, weights) + 0.25 * std::min(compute, weights) + rest;
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  if (const std::string refusal = refusal_of_conv(node, {.scales = true}); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  // Its error is relative to the largest output of a pixel, not to each: too much for transforms of signals, written as convolutions over
  // time, whose quiet bands count as much as the loud ones (a logarithm follows).
  if (s.in_channels > kLongestSum) return declined("sums of {} channels are too long for it", s.in_channels);
  if (s.in_h == 1 || s.in_w == 1) return declined("the input is no image: small outputs may matter beside large ones");
  const size_t lanes = static_cast<size_t>(device.pack);
  if (!StrassenConv::can_serve(s, lanes))
    return declined("the kernel is not 1x1 of stride 1, from a multiple of {} to {} channels or more", 2 * lanes, 4 * lanes);
  Estimate estimate(seconds_of(s, device, node.has_input(3), {static_cast<size_t>(device.threads), false, 1, true}) +
                    rounding_seconds(node, device));
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

Estimate estimate_matmul(const NodeView& node, const Device& device, size_t levels) {
  if (device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a matrix is empty");
  if (node.has_input(kScale) && !node.is_constant(kScale)) return declined("sums are rounded");
  const bool constant = node.is_constant(1);
  if (constant && levels > 1) return declined("B is constant, its sums would be {} times as large", 49.0 / 16);
  const std::optional<Addition> addition = addition_of(node);
  if (!addition) return declined("a tensor of shape {} is added", node.input_shape(2));
  const bool bias = addition->kind == Addend::columns;
  // As for convolutions: a transform of a signal has no bias, a layer has one. Matrices that are both computed are no transforms.
  if (constant && !bias) return declined("no bias is added to each column");
  if (addition->kind == Addend::scalar || (bias && !node.is_constant(2))) return declined("the bias is one value or not constant");
  const Product p(node);
  const size_t lanes = static_cast<size_t>(device.pack);
  if (constant && static_cast<size_t>(node.input_shape(1).elements()) != p.shape.k * p.shape.n)
    return declined("B is several constant matrices");
  if (!StrassenConv::can_serve_rows(p.shape.m, p.shape.k, p.shape.n, lanes, levels))
    return declined("{}x{} by {}x{}: not multiples of {}, {} and {}, {} columns or more", p.shape.m, p.shape.k, p.shape.k, p.shape.n,
                    levels > 1 ? 4 : 1, lanes << levels, lanes, (2 * lanes) << levels);
  if (device.low_memory && !constant)
    return declined("its sums take {} times B's memory, and memory is to be saved", std::pow(7.0 / 4, levels));
  if (device.low_memory && p.shape.transpose_a) return declined("A is transposed, which takes a copy, and memory is to be saved");
  const double one =
      seconds_of(shape_of(p), device, added_input(node, *addition) >= 0, {static_cast<size_t>(device.threads), true, levels, constant});
  // A copy whose rows are a power of two apart takes 5 ns per element, six times as long as its bytes alone (2048x2048, Zen 4). So square
  // matrices gain nothing, but wide results do.
  const double copy = p.shape.transpose_a ? 6 * device.byte_time(8.0 * static_cast<double>(p.shape.m * p.shape.k)) : 0;
  return Estimate(static_cast<double>(p.batches) * (one + copy) + rounding_seconds(node, device));
}
Estimate estimate_one_level(const NodeView& node, const Device& device) { return estimate_matmul(node, device, 1); }
Estimate estimate_two_levels(const NodeView& node, const Device& device) { return estimate_matmul(node, device, 2); }

class StrassenKernel final : public Kernel {
 public:
  /// `added`: the input that is added to the result, or -1. The weights' data is input 1's. `product`: of matrices, else nothing.
  StrassenKernel(PrepareContext& context, StrassenConv conv, const StrassenConv::Weights& layout, bool has_bias, float bias_factor,
                 int added, const std::optional<Product>& product = {})
      : kernels_(*cpu_device(context.device()).kernels), conv_(std::move(conv)), layout_(layout), added_(added), product_(product) {
    const PackingParameters parameters = {
        {"levels", conv_.levels()},       {"chunks", conv_.chunks()},     {"slices", conv_.slices()}, {"makes sums", conv_.makes_sums()},
        {"output step", layout.out_step}, {"input step", layout.in_step}, {"factor", layout.factor}};
    if (context.node().is_constant(1)) {
      filter_.prepare(
          context, conv_, "strassen", parameters,
          [&](const float* w, float* out) {
            conv_.pack_weights({w, layout.out_step, layout.in_step, layout.factor}, out);
          },
          bias_factor);
    } else {
      if (has_bias) filter_.prepare_bias(context, conv_, "strassen", parameters, bias_factor);
      weights_offset_ = context.reserve_scratch(product_of({conv_.slice_floats(), sizeof(float)}));
    }
    if (product_ && product_->shape.transpose_a)
      transposed_offset_ = context.reserve_scratch(product_of({product_->shape.m, product_->shape.k, sizeof(float)}));
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) const noexcept override {
    const StrassenConv::Arguments arguments{context.in<float>(0), filter_.weights(), filter_.bias(),
                                            added_ >= 0 ? context.in<float>(static_cast<size_t>(added_)) : nullptr, context.out<float>(0)};
    if (!product_) return multiply(context, arguments, context.in<float>(1));
    const auto& [m, k, n, transpose_a, transpose_b] = product_->shape;
    for (size_t batch = 0; batch < product_->batches; ++batch) {
      StrassenConv::Arguments one = arguments;
      one.x += product_->a_offset(batch);
      if (transpose_a) one.x = transposed(context, one.x);
      if (one.add) one.add += batch * m * n;
      one.y += batch * m * n;
      multiply(context, one, context.in<float>(1) + product_->b_matrix(batch) * k * n);
    }
  }

 private:
  const float* transposed(RunContext& context, const float* a) const noexcept {
    constexpr size_t kRows = 64;  // of a task
    const size_t m = product_->shape.m, k = product_->shape.k;
    float* to = context.scratch_at<float>(transposed_offset_);
    context.parallel_for(ceil_div(m, kRows), [&](size_t task) {
      const size_t first = task * kRows;
      kernels_.layout->transpose(a + first, m, k, std::min(kRows, m - first), to + first * k, k);
    });
    return to;
  }

  void multiply(RunContext& context, StrassenConv::Arguments arguments, const float* b) const noexcept {
    for (; arguments.slice < conv_.slices(); ++arguments.slice) {
      if (filter_.weights()) {
        arguments.w = filter_.weights() + arguments.slice * conv_.slice_floats();
      } else {
        const StrassenConv::Weights weights{b, layout_.out_step, layout_.in_step, layout_.factor};
        float* packed = context.scratch_at<float>(weights_offset_);
        arguments.w = packed;
        context.parallel_for(conv_.weight_parts(), [&](size_t part) { conv_.pack_weights(weights, arguments.slice, part, packed); });
      }
      units_.run(context, [&](size_t unit, float* scratch, size_t before) { conv_.run(unit, arguments, scratch, before); });
    }
  }

  const Kernels& kernels_;
  StrassenConv conv_;
  StrassenConv::Weights layout_;
  int added_;
  std::optional<Product> product_;
  PackedFilter filter_;
  size_t weights_offset_ = 0, transposed_offset_ = 0;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const ConvShape s = conv_shape(node);
  const size_t threads = static_cast<size_t>(context.device().threads);
  return std::make_unique<StrassenKernel>(context, StrassenConv(kernels, s, epilogue_of(node, kernels), {threads, false, 1, true}),
                                          StrassenConv::Weights{nullptr, s.in_channels, 1}, node.has_input(2), 1,
                                          node.has_input(3) ? 3 : -1);
}

std::unique_ptr<Kernel> prepare_matmul(PrepareContext& context, size_t levels) {
  const NodeView& node = context.node();
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const Product p(node);
  const Addition addition = *addition_of(node);
  const float alpha = alpha_of(node);
  const bool transposed = p.shape.transpose_b;
  const size_t threads = static_cast<size_t>(context.device().threads);
  return std::make_unique<StrassenKernel>(
      context, StrassenConv(kernels, shape_of(p), epilogue_of(node, kernels), {threads, true, levels, node.is_constant(1)}),
      StrassenConv::Weights{nullptr, transposed ? p.shape.k : 1, transposed ? 1 : p.shape.n, alpha}, addition.kind == Addend::columns,
      addition.factor, added_input(node, addition), p);
}

std::unique_ptr<Kernel> prepare_one_level(PrepareContext& context) { return prepare_matmul(context, 1); }
std::unique_ptr<Kernel> prepare_two_levels(PrepareContext& context) { return prepare_matmul(context, 2); }

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.strassen", estimate, prepare, kLargeOnly},
    {"minnow.FusedConv", "conv.strassen", estimate, prepare, kLargeOnly},
    {"Gemm", "matmul.strassen", estimate_one_level, prepare_one_level, kLargeOnly},
    {"MatMul", "matmul.strassen", estimate_one_level, prepare_one_level, kLargeOnly},
    {"minnow.FusedMatMul", "matmul.strassen", estimate_one_level, prepare_one_level, kLargeOnly},
    {"Gemm", "matmul.strassen_twice", estimate_two_levels, prepare_two_levels, kLargeOnly},
    {"MatMul", "matmul.strassen_twice", estimate_two_levels, prepare_two_levels, kLargeOnly},
    {"minnow.FusedMatMul", "matmul.strassen_twice", estimate_two_levels, prepare_two_levels, kLargeOnly},
};

}  // namespace

std::span<const Scheme> strassen_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
