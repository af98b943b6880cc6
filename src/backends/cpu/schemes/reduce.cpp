// SPDX-License-Identifier: Apache-2.0
// Reductions over neighbouring axes: rows where those are the last ones, columns else.
#include <cmath>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;
constexpr size_t kColumns = 1024;
constexpr size_t kShortRow = 16, kShortRows = 64;  // rows up to this length are turned, so many at once, and reduced side by side

/// The reduced dimensions as one, between those before and those after.
struct Lines {
  size_t outer, length, inner;
};

std::optional<Lines> lines_of(const NodeView& node) {
  const Shape& shape = node.input_shape(0);
  std::vector<bool> reduced(shape.rank(), false);
  const Ints axes = node.has_input(1) ? node.ints(1) : Ints();
  if (axes.empty()) {
    if (node.attribute(Attribute<bool>{"noop_with_empty_axes", false})) return std::nullopt;
    reduced.assign(shape.rank(), true);
  }
  for (int64_t axis : axes) reduced[node.normalize_axis(axis, shape.rank())] = true;
  size_t first = 0, last = shape.rank();  // dimensions of 1 belong to either side
  while (first < last && (!reduced[first] || shape[first] == 1)) ++first;
  while (last > first && (!reduced[last - 1] || shape[last - 1] == 1)) --last;
  for (size_t i = first; i < last; ++i)
    if (!reduced[i] && shape[i] != 1) return std::nullopt;
  return Lines{static_cast<size_t>(shape.product(0, first)), static_cast<size_t>(shape.product(first, last)),
               static_cast<size_t>(shape.product(last, shape.rank()))};
}

/// What an operator is: a reduction, then scaling by 1 / length, then a function.
struct Row {
  std::string_view op;
  Reduction reduction;
  bool mean = false;
  Unary then = Unary::copy;
};
constexpr Row kRows[] = {
    {"ReduceL1", Reduction::sum_abs},
    {"ReduceL2", Reduction::sum_square, false, Unary::sqrt},
    {"ReduceLogSum", Reduction::sum, false, Unary::log},
    {"ReduceMax", Reduction::max},
    {"ReduceMean", Reduction::sum, true},
    {"ReduceMin", Reduction::min},
    {"ReduceProd", Reduction::product},
    {"ReduceSum", Reduction::sum},
    {"ReduceSumSquare", Reduction::sum_square},
};
const Row& row_of(const NodeView& node) {
  for (const Row& row : kRows)
    if (row.op == node.op()) return row;
  throw InternalError("{}: is not a reduction", node.where());
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (!lines_of(node)) return declined("the reduced axes are not neighbours");
  const double count = static_cast<double>(node.input_shape(0).elements());
  return Estimate(device.flop_time(4 * count) + device.byte_time(4 * count) + 2e-7);
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const Kernels& kernels, const Row& row, const Lines& lines)
      : reduce_(kernels.rows->reduce[static_cast<size_t>(row.reduction)]),
        transpose_(kernels.layout->transpose),
        fold_(kernels.rows->fold[static_cast<size_t>(row.reduction)]),
        scale_(row.mean ? (*kernels.unary)[Unary::scale] : nullptr),
        then_(row.then == Unary::copy ? nullptr : (*kernels.unary)[row.then]),
        lines_(lines) {}

  void run(RunContext& context) noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    if (lines_.inner == 1) {
      const size_t each = std::max<size_t>(1, kFloatsPerTask / lines_.length), tasks = (lines_.outer + each - 1) / each;
      context.parallel_for(tasks, [&](size_t task) {
        const size_t first = task * each, last = std::min(lines_.outer, first + each);
        if (lines_.length > kShortRow) {
          for (size_t row = first; row < last; ++row) y[row] = reduce_(x + row * lines_.length, lines_.length);
        } else {
          float turned[kShortRow * kShortRows];
          for (size_t row = first; row < last; row += kShortRows) {
            const size_t rows = std::min(kShortRows, last - row);
            transpose_(x + row * lines_.length, lines_.length, rows, lines_.length, turned, kShortRows);
            for (size_t i = 0; i < lines_.length; ++i) fold_(turned + i * kShortRows, rows, i == 0, y + row);
          }
        }
        finish(y + first, last - first);
      });
      return;
    }
    const size_t cuts = (lines_.inner + kColumns - 1) / kColumns;
    context.parallel_for(lines_.outer * cuts, [&](size_t task) {
      const size_t outer = task / cuts, first = task % cuts * kColumns, width = std::min(kColumns, lines_.inner - first);
      float* to = y + outer * lines_.inner + first;
      for (size_t i = 0; i < lines_.length; ++i) fold_(x + (outer * lines_.length + i) * lines_.inner + first, width, i == 0, to);
      finish(to, width);
    });
  }

 private:
  void finish(float* y, size_t count) const noexcept {
    if (scale_) scale_(y, y, count, 1 / static_cast<float>(lines_.length), 0);
    if (then_) then_(y, y, count, 0, 0);
  }
  float (*reduce_)(const float*, size_t);
  void (*transpose_)(const float*, size_t, size_t, size_t, float*, size_t);
  void (*fold_)(const float*, size_t, bool, float*);
  UnaryFunction scale_, then_;
  Lines lines_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<ReduceKernel>(*cpu_device(context.device()).kernels, row_of(context.node()), *lines_of(context.node()));
}

constexpr Scheme kSchemes[] = {
    {"ReduceL1", "reduce", estimate, prepare},        {"ReduceL2", "reduce", estimate, prepare},
    {"ReduceLogSum", "reduce", estimate, prepare},    {"ReduceMax", "reduce", estimate, prepare},
    {"ReduceMean", "reduce", estimate, prepare},      {"ReduceMin", "reduce", estimate, prepare},
    {"ReduceProd", "reduce", estimate, prepare},      {"ReduceSum", "reduce", estimate, prepare},
    {"ReduceSumSquare", "reduce", estimate, prepare},
};

}  // namespace

std::span<const Scheme> reduce_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
