// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax along the last axis, row by row, and along others, column by column.
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 8 << 10;
constexpr size_t kColumns = 256;  // of another axis that are treated together

struct Lines {
  size_t outer, length, inner;
  explicit Lines(const NodeView& node) {
    const Shape& shape = node.input_shape(0);
    const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -1}), shape.rank());
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
  void run(RunContext& context) noexcept override {
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
  void run(RunContext& context) noexcept override {
    const size_t cuts = (lines_.inner + kColumns - 1) / kColumns;
    const UnaryKernels& unary = *kernels_.unary;
    const BinaryKernels& binary = *kernels_.binary;
    const auto subtract = binary.of(Binary::subtract, BinaryForm::both), divide = binary.of(Binary::divide, BinaryForm::both);
    const auto largest = kernels_.rows->fold[static_cast<size_t>(Reduction::max)];
    const auto add = kernels_.rows->fold[static_cast<size_t>(Reduction::sum)];
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

constexpr Scheme kSchemes[] = {
    {"LogSoftmax", "softmax", estimate, prepare},
    {"Softmax", "softmax", estimate, prepare},
};

}  // namespace

std::span<const Scheme> softmax_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
