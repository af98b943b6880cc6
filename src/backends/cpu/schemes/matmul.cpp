// SPDX-License-Identifier: Apache-2.0
// Products of matrices: MatMul, Gemm and minnow.FusedMatMul, with B constant (packed once) or not (packed in every run); in f32, and with
// a constant B in 16 bits.
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/low_precision.h"
#include "backends/cpu/schemes/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {

std::optional<Addition> addition_of(const NodeView& node) {
  if (!node.has_input(2)) return Addition{};
  Addition addition;
  if (node.op() == "Gemm") addition.factor = node.attribute(Attribute<float>{"beta", 1});
  if (addition.factor == 0) return Addition{};
  const Shape &shape = node.input_shape(2), &result = node.output_shape(0);
  const int64_t elements = shape.elements();
  if (elements == 1) {
    addition.kind = Addend::scalar;
  } else if (node.input_shape(1).rank() > 1 && !shape.empty() && shape.back() == elements && elements == result.back()) {
    addition.kind = Addend::columns;
  } else if (shape == result && addition.factor == 1 && !node.has_input(3)) {
    addition.kind = Addend::full;
  } else {
    return std::nullopt;
  }
  return addition;
}

float alpha_of(const NodeView& node) {
  return node.op() == "Gemm" || node.op() == "minnow.FusedMatMul" ? node.attribute(Attribute<float>{"alpha", 1}) : 1;
}

namespace {

Estimate estimate_as(const NodeView& node, const Device& device, Factors factors) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a matrix is empty");
  const std::optional<Addition> addition = addition_of(node);
  if (!addition) return declined("a tensor of shape {} is added", node.input_shape(2));
  const Product p(node);
  const bool low_precision = factors != Factors::f32;
  if (node.has_input(kScale) && (low_precision || !node.is_constant(kScale))) return declined("sums are rounded");
  if (low_precision) {
    if (Estimate refusal = refusal_of(factors, node, device); !refusal.declined.empty()) return refusal;
    if (!node.is_constant(1)) return declined("B is not constant");
    if (p.shape.transpose_a) return declined("A is transposed");
  }
  const double b_bytes = (low_precision ? 2.0 : 4.0) * static_cast<double>(node.input_shape(1).elements());
  const double lanes = static_cast<double>(ceil_div(p.shape.n, static_cast<size_t>(device.pack))) * device.pack;
  const double compute = device.flop_time(2.0 * static_cast<double>(p.batches * p.shape.m * p.shape.k) * lanes,
                                          low_precision ? 0.85 * speed_of(factors, *cpu_device(device).kernels) : 0.89);
  double moved = 4.0 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements());
  if (low_precision) moved += 2.0 * static_cast<double>(node.input_shape(0).elements());
  if (!node.is_constant(1)) moved += 2 * b_bytes;
  return Estimate(std::max(compute, node.is_constant(1) ? device.weight_time(b_bytes) : device.byte_time(b_bytes)) +
                  device.byte_time(moved) + rounding_seconds(node, device) + 5e-7);
}
template <Factors kFactors>
Estimate estimate(const NodeView& node, const Device& device) {
  return estimate_as(node, device, kFactors);
}

class MatMulKernel final : public Kernel {
 public:
  /// B and A are rounded as `factors` says, in pairs along k.
  MatMulKernel(PrepareContext& context, Factors factors)
      : product_(context.node()),
        kernels_(*cpu_device(context.device()).kernels),
        low_precision_(low_precision_kernels(factors, kernels_)),
        matmul_(kernels_, product_.shape, options(context.device()), epilogue_of(context.node(), kernels_)) {
    const NodeView& node = context.node();
    alpha_ = alpha_of(node);
    b_count_ = static_cast<size_t>(node.input_shape(1).elements()) / (product_.shape.k * product_.shape.n);
    // To save memory, each block of rows packs the panels of B again, in a few kilobytes: 3 % of the time of a step of training.
    makes_panels_ = !node.is_constant(1) && b_count_ == product_.batches && context.device().low_memory;
    if (makes_panels_) {
      MatMul::Options made = options(context.device());
      made.made_step = kernels_.lanes;
      matmul_ = MatMul(kernels_, product_.shape, made, epilogue_of(node, kernels_));
    }
    const size_t bytes = product_of({b_count_, matmul_.packed_b_floats(), sizeof(float)});
    const auto pack = [&](const TensorView& b, void* out) {
      if (low_precision_) return pack_pairs(b.data<float>(), static_cast<float*>(out));
      for (size_t i = 0; i < b_count_ * matmul_.panels(); ++i) pack_panel(i, b.data<float>(), static_cast<float*>(out));
    };
    if (node.is_constant(1)) {
      b_ = context.packed(1, "matmul",
                          {{"factors", factors},
                           {"transposed", product_.shape.transpose_b},
                           {"alpha", alpha_},
                           {"k", product_.shape.k},
                           {"n", product_.shape.n},
                           {"slices", matmul_.slices()}},
                          bytes, pack);
    } else if (!makes_panels_) {
      b_offset_ = context.reserve_scratch(bytes);
    }
    addition_ = *addition_of(node);
    if (addition_.kind == Addend::columns || addition_.kind == Addend::scalar) {
      if (node.is_constant(2))
        bias_ = context.packed(2, "matmul bias", {{"kind", addition_.kind}, {"factor", addition_.factor}, {"n", product_.shape.n}},
                               matmul_.bias_floats() * sizeof(float),
                               [&](const TensorView& c, void* out) { pack_bias(c.data<float>(), static_cast<float*>(out)); });
      else
        bias_offset_ = context.reserve_scratch(matmul_.bias_floats() * sizeof(float));
    }
    units_.reserve(context, product_.batches * matmul_.units(), matmul_.scratch_floats());
  }

  void run(RunContext& context) const noexcept override {
    const float* a = context.in<float>(0);
    const float* b = static_cast<const float*>(b_.get());
    if (!b && !makes_panels_) {
      float* packed = context.scratch_at<float>(b_offset_);
      const float* from = context.in<float>(1);
      // A few panels a task: packing one is a matter of microseconds.
      const size_t panels = b_count_ * matmul_.panels(), panel = product_.shape.k * 2 * kernels_.lanes;
      const size_t each = std::max<size_t>(1, (16 << 10) / std::max<size_t>(1, panel));
      context.parallel_for(ceil_div(panels, each), [&](size_t task) {
        for (size_t i = task * each; i < std::min(panels, (task + 1) * each); ++i) pack_panel(i, from, packed);
      });
      b = packed;
    }
    const float* bias = static_cast<const float*>(bias_.get());
    if (!bias && (addition_.kind == Addend::columns || addition_.kind == Addend::scalar)) {
      float* packed = context.scratch_at<float>(bias_offset_);
      pack_bias(context.in<float>(2), packed);
      bias = packed;
    }
    const float* add = addition_.kind == Addend::full ? context.in<float>(2) : context.has_input(3) ? context.in<float>(3) : nullptr;
    float* y = context.out<float>(0);
    const size_t each = matmul_.units(), result = product_.shape.m * product_.shape.n;
    units_.run(context, [&](size_t unit, float* scratch, size_t before) {
      const size_t batch = unit / each, matrix = product_.b_matrix(batch);
      const PlainB plain{this, makes_panels_ ? context.in<float>(1) + matrix * product_.shape.k * product_.shape.n : nullptr};
      matmul_.run(unit % each,
                  {a + product_.a_offset(batch),
                   makes_panels_ ? nullptr : b + matrix * matmul_.packed_b_floats(),
                   bias,
                   add ? add + batch * result : nullptr,
                   y + batch * result,
                   &context.overflowed,
                   {make_panel, &plain}},
                  scratch, before / each == batch ? before % each : Units::kNone);
    });
  }

 private:
  struct PlainB {
    const MatMulKernel* kernel;
    const float* b;
  };
  static void make_panel(const void* from, size_t panel, size_t begin, size_t count, float* to) noexcept {
    const PlainB& plain = *static_cast<const PlainB*>(from);
    plain.kernel->matmul_.pack_b(panel, begin, count, plain.b, plain.kernel->alpha_, to);
  }
  MatMul::Options options(const Device& device) const noexcept { return {static_cast<size_t>(device.threads), device.l2, low_precision_}; }
  void pack_panel(size_t i, const float* b, float* out) const noexcept {
    const size_t matrix = i / matmul_.panels();
    matmul_.pack_b(i % matmul_.panels(), b + matrix * product_.shape.k * product_.shape.n, alpha_,
                   out + matrix * matmul_.packed_b_floats());
  }
  // The pairs of B lie as B does.
  void pack_pairs(const float* b, float* out) const {
    const auto [m, k, n, transpose_a, transpose_b] = product_.shape;
    const std::vector<float> pairs = transpose_b ? low_precision_weights(low_precision_->format, b, b_count_ * n, k, 1, alpha_)
                                                 : low_precision_weights(low_precision_->format, b, b_count_, k, n, alpha_);
    for (size_t matrix = 0; matrix < b_count_; ++matrix)
      for (size_t panel = 0; panel < matmul_.panels(); ++panel)
        matmul_.pack_b(panel, pairs.data() + matrix * ceil_div(k, 2) * n, 1, out + matrix * matmul_.packed_b_floats());
  }
  void pack_bias(const float* bias, float* out) const noexcept {
    if (addition_.kind == Addend::columns) return matmul_.pack_bias(bias, addition_.factor, out);
    std::fill_n(out, matmul_.bias_floats(), addition_.factor * bias[0]);
  }

  Product product_;
  const Kernels& kernels_;
  const LowPrecisionKernels* low_precision_;  // null: f32
  MatMul matmul_;
  float alpha_ = 1;
  Addition addition_;
  size_t b_count_, b_offset_ = 0, bias_offset_ = 0;
  bool makes_panels_ = false;
  std::shared_ptr<const void> b_, bias_;
  Units units_;
};

template <Factors kFactors>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<MatMulKernel>(context, kFactors);
}

constexpr Scheme kSchemes[] = {
    {"Gemm", "matmul", estimate<Factors::f32>, prepare<Factors::f32>},
    {"MatMul", "matmul", estimate<Factors::f32>, prepare<Factors::f32>},
    {"minnow.FusedMatMul", "matmul", estimate<Factors::f32>, prepare<Factors::f32>},
    {"Gemm", "matmul.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"MatMul", "matmul.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"minnow.FusedMatMul", "matmul.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"Gemm", "matmul.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
    {"MatMul", "matmul.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
    {"minnow.FusedMatMul", "matmul.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
};

}  // namespace

std::span<const Scheme> matmul_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
