// SPDX-License-Identifier: Apache-2.0
// Products of a matrix and a vector: every row of A is multiplied with B and summed. B is read as it is, so that nothing is packed.
#include <cmath>

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;
constexpr size_t kFloatsPerPart = 64 << 10;  // of a row that is cut, whose parts are summed at the end

Estimate estimate(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a matrix is empty");
  if (node.has_input(kScale) && !node.is_constant(kScale)) return declined("sums are rounded");
  if (!addition_of(node)) return declined("a tensor of shape {} is added", node.input_shape(2));
  const Product p(node);
  if (p.shape.n != 1) return declined("B has {} columns, not one", p.shape.n);
  if (p.shape.transpose_a && p.shape.m != 1) return declined("A is transposed");
  const double products = static_cast<double>(p.batches * p.shape.m * p.shape.k);
  const double b_bytes = 4.0 * static_cast<double>(node.input_shape(1).elements());
  return Estimate(
      std::max(device.flop_time(2 * products, 0.35), node.is_constant(1) ? device.weight_time(b_bytes) : device.byte_time(b_bytes)) +
      device.byte_time(4.0 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements())) + 2e-7);
}

class RowsKernel final : public Kernel {
 public:
  explicit RowsKernel(PrepareContext& context)
      : product_(context.node()),
        addition_(*addition_of(context.node())),
        alpha_(alpha_of(context.node())),
        dot_(cpu_device(context.device()).kernels->rows->dot),
        epilogue_(epilogue_of(context.node(), *cpu_device(context.device()).kernels)),
        clamp_((*cpu_device(context.device()).kernels->unary)[Unary::clip]),
        rows_(product_.batches * product_.shape.m),
        parts_(ceil_div(product_.shape.k, kFloatsPerPart)) {
    if (parts_ > 1) sums_ = context.reserve_scratch(product_of({rows_, parts_, sizeof(float)}));
  }

  void run(RunContext& context) const noexcept override {
    const size_t m = product_.shape.m, k = product_.shape.k;
    const float *a = context.in<float>(0), *b = context.in<float>(1);
    float* y = context.out<float>(0);
    const auto part_of = [&](size_t row, size_t part) {
      const size_t batch = row / m, first = part * kFloatsPerPart;
      return dot_(a + product_.a_offset(batch) + row % m * k + first, b + product_.b_matrix(batch) * k + first,
                  std::min(k - first, kFloatsPerPart));
    };
    if (parts_ == 1) {
      const size_t each = std::max<size_t>(1, kFloatsPerTask / k);
      context.parallel_for(ceil_div(rows_, each), [&](size_t task) {
        for (size_t row = task * each; row < std::min(rows_, (task + 1) * each); ++row) y[row] = part_of(row, 0);
      });
    } else {
      float* const sums = context.scratch_at<float>(sums_);
      context.parallel_for(rows_ * parts_, [&](size_t task) { sums[task] = part_of(task / parts_, task % parts_); });
      for (size_t row = 0; row < rows_; ++row) {
        double sum = 0;
        for (size_t part = 0; part < parts_; ++part) sum += static_cast<double>(sums[row * parts_ + part]);
        y[row] = static_cast<float>(sum);
      }
    }
    const float* c = addition_.kind == Addend::none ? nullptr : context.in<float>(2);
    const float* residual = context.has_input(3) ? context.in<float>(3) : nullptr;
    for (size_t row = 0; row < rows_; ++row) {
      float value = alpha_ * y[row];
      if (c) value += addition_.factor * c[addition_.kind == Addend::full ? row : 0];
      y[row] = residual ? value + residual[row] : value;
    }
    if (const float* scale = epilogue_.scale_of(0))
      for (size_t row = 0; row < rows_; ++row) y[row] = std::nearbyint(y[row] * *scale);
    if (epilogue_.clamps()) clamp_(y, y, rows_, epilogue_.low, epilogue_.high);
    if (epilogue_.after) epilogue_.after(y, y, rows_, epilogue_.a, epilogue_.b);
  }

 private:
  const Product product_;
  const Addition addition_;
  const float alpha_;
  float (*const dot_)(const float* a, const float* b, size_t count);
  const Epilogue epilogue_;
  const UnaryFunction clamp_;
  const size_t rows_, parts_;
  size_t sums_ = 0;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<RowsKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"Gemm", "matmul.rows", estimate, prepare},
    {"MatMul", "matmul.rows", estimate, prepare},
    {"minnow.FusedMatMul", "matmul.rows", estimate, prepare},
};

}  // namespace

std::span<const Scheme> matmul_rows_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
