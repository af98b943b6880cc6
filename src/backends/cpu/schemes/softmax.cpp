// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax along the last axis, row by row, and along others, column by column. LpNormalization of rows, running
// sums of columns.
#include <cmath>
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 8 << 10;
constexpr size_t kColumns = 256;  // of another axis that are treated together

struct Lines {
  size_t outer, length, inner;
  explicit Lines(const NodeView& node) : Lines(node, node.attribute(Attribute<int64_t>{"axis", -1})) {}
  Lines(const NodeView& node, int64_t given) {
    const Shape& shape = node.input_shape(0);
    const size_t axis = node.normalize_axis(given, shape.rank());
    outer = static_cast<size_t>(shape.product(0, axis));
    length = static_cast<size_t>(shape[axis]);
    inner = static_cast<size_t>(shape.product(axis + 1, shape.rank()));
  }
};

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  const double count = static_cast<double>(node.input_shape(0).elements());
  if (count == 0) return declined("the input is empty");
  Estimate estimate(device.flop_time(80 * count) + device.byte_time(16 * count) + 2e-7);
  estimate.overwrites = 0;
  return estimate;
}

class RowsKernel final : public Kernel {
 public:
  RowsKernel(const Kernels& kernels, const Lines& lines, bool log)
      : function_(log ? kernels.rows->log_softmax : kernels.rows->softmax), lines_(lines) {}
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t each = std::max<size_t>(1, kFloatsPerTask / lines_.length), tasks = (lines_.outer + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t row = task * each; row < std::min(lines_.outer, (task + 1) * each); ++row)
        function_(x + row * lines_.length, lines_.length, y + row * lines_.length);
    });
  }

 private:
  void (*function_)(const float*, size_t, float*);
  Lines lines_;
};

// y = e^(x - most) / sum, or x - most - log sum, a few hundred columns at a time.
class ColumnsKernel final : public Kernel {
 public:
  ColumnsKernel(const Kernels& kernels, const Lines& lines, bool log) : kernels_(kernels), lines_(lines), log_(log) {}
  void run(RunContext& context) const noexcept override {
    const size_t cuts = (lines_.inner + kColumns - 1) / kColumns;
    const UnaryKernels& unary = *kernels_.unary;
    const BinaryKernels& binary = *kernels_.binary;
    const auto subtract = binary.of(Binary::subtract, BinaryForm::both), divide = binary.of(Binary::divide, BinaryForm::both);
    const auto largest = kernels_.rows->reduce_columns[static_cast<size_t>(Reduction::max)];
    const auto add = kernels_.rows->reduce_columns[static_cast<size_t>(Reduction::sum)];
    context.parallel_for(lines_.outer * cuts, [&](size_t task) {
      const size_t first = task % cuts * kColumns, width = std::min(kColumns, lines_.inner - first);
      const size_t at = task / cuts * lines_.length * lines_.inner + first;
      const float* x = context.in<float>(0) + at;
      float* y = context.out<float>(0) + at;
      float most[kColumns], sum[kColumns], shares[kColumns];
      largest(x, lines_.length, lines_.inner, width, true, most);
      for (size_t i = 0; i < lines_.length; ++i) {
        float* row = y + i * lines_.inner;
        subtract(x + i * lines_.inner, most, row, width);
        unary[Unary::exp](row, log_ ? shares : row, width, 0, 0);
        add(log_ ? shares : row, 1, 0, width, i == 0, sum);
      }
      if (log_) unary[Unary::log](sum, sum, width, 0, 0);
      for (size_t i = 0; i < lines_.length; ++i) {
        float* row = y + i * lines_.inner;
        (log_ ? subtract : divide)(row, sum, row, width);
      }
    });
  }

 private:
  const Kernels& kernels_;
  Lines lines_;
  bool log_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const Kernels& kernels = *cpu_device(context.device()).kernels;
  const Lines lines(context.node());
  const bool log = context.node().op() == "LogSoftmax";
  if (lines.inner == 1) return std::make_unique<RowsKernel>(kernels, lines, log);
  return std::make_unique<ColumnsKernel>(kernels, lines, log);
}

// ---- LpNormalization

Estimate estimate_norm(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  const double count = static_cast<double>(node.input_shape(0).elements());
  if (count == 0) return declined("the input is empty");
  if (Lines(node).inner > 1) return declined("the axis is not the last one");
  Estimate estimate(device.flop_time(8 * count) + device.byte_time(12 * count) + 2e-7);
  estimate.overwrites = 0;
  return estimate;
}

class NormKernel final : public Kernel {
 public:
  NormKernel(const Kernels& kernels, const NodeView& node)
      : lines_(node),
        euclidean_(node.attribute(Attribute<int64_t>{"p", 2}) == 2),
        sum_(kernels.rows->reduce[static_cast<size_t>(euclidean_ ? Reduction::sum_square : Reduction::sum_abs)]),
        divide_(kernels.binary->of(Binary::divide, BinaryForm::b_scalar)) {}
  void run(RunContext& context) const noexcept override {
    const size_t each = std::max<size_t>(1, kFloatsPerTask / lines_.length), tasks = (lines_.outer + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t row = task * each; row < std::min(lines_.outer, (task + 1) * each); ++row)
        normalize(context.in<float>(0) + row * lines_.length, context.out<float>(0) + row * lines_.length);
    });
  }

 private:
  void normalize(const float* x, float* y) const noexcept {
    const float sum = sum_(x, lines_.length);
    if (sum > 1e-30f && sum < 1e30f) {
      const float norm = euclidean_ ? std::sqrt(sum) : sum;
      return divide_(x, &norm, y, lines_.length);
    }
    double wide = 0;  // where squares leave the range of floats, or nothing is there
    for (size_t i = 0; i < lines_.length; ++i) wide += euclidean_ ? double{x[i]} * x[i] : std::fabs(double{x[i]});
    if (euclidean_) wide = std::sqrt(wide);
    for (size_t i = 0; i < lines_.length; ++i) y[i] = wide == 0 ? 0 : static_cast<float>(x[i] / wide);
  }
  Lines lines_;
  bool euclidean_;
  float (*sum_)(const float*, size_t);
  BinaryFunction divide_;
};

std::unique_ptr<Kernel> prepare_norm(PrepareContext& context) {
  return std::make_unique<NormKernel>(*cpu_device(context.device()).kernels, context.node());
}

// ---- Running sums, row after row.

Estimate estimate_running(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (!node.is_constant(1)) return declined("the axis is not constant");
  const double count = static_cast<double>(node.input_shape(0).elements());
  if (count == 0) return declined("the input is empty");
  if (Lines(node, node.int_scalar(1)).inner < 8) return declined("the columns are few");
  return Estimate(device.flop_time(4 * count) + device.byte_time(8 * count) + 2e-7);
}

class RunningKernel final : public Kernel {
 public:
  explicit RunningKernel(PrepareContext& context)
      : add_(cpu_device(context.device()).kernels->binary->of(Binary::add, BinaryForm::both)),
        exclusive_(context.node().attribute(Attribute<bool>{"exclusive", false})),
        reverse_(context.node().attribute(Attribute<bool>{"reverse", false})),
        lines_(context.node(), context.node().int_scalar(1)) {}
  void run(RunContext& context) const noexcept override {
    const size_t cuts = (lines_.inner + kColumns - 1) / kColumns;
    context.parallel_for(lines_.outer * cuts, [&](size_t task) {
      const size_t first = task % cuts * kColumns, width = std::min(kColumns, lines_.inner - first);
      const size_t at = task / cuts * lines_.length * lines_.inner + first;
      const float *x = context.in<float>(0) + at, *before = nullptr;
      float* y = context.out<float>(0) + at;
      for (size_t i = 0; i < lines_.length; ++i) {
        const size_t row = (reverse_ ? lines_.length - 1 - i : i) * lines_.inner, last = reverse_ ? row + lines_.inner : row - lines_.inner;
        if (before)
          add_(before, x + (exclusive_ ? last : row), y + row, width);
        else if (exclusive_)
          std::fill_n(y + row, width, 0.0f);
        else
          std::copy_n(x + row, width, y + row);
        before = y + row;
      }
    });
  }

 private:
  BinaryFunction add_;
  bool exclusive_, reverse_;
  Lines lines_;
};

std::unique_ptr<Kernel> prepare_running(PrepareContext& context) { return std::make_unique<RunningKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"CumSum", "running_sum.columns", estimate_running, prepare_running, kLargeOnly},
    {"LpNormalization", "norm.rows", estimate_norm, prepare_norm, kLargeOnly},
    {"LogSoftmax", "softmax", estimate, prepare},
    {"Softmax", "softmax", estimate, prepare},
};

}  // namespace

std::span<const Scheme> softmax_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
