// SPDX-License-Identifier: Apache-2.0
// Reductions over neighbouring axes: over rows if these axes are the last ones, else over columns.
#include <algorithm>
#include <cmath>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/min_max.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;
constexpr size_t kColumns = 2048, kMostParts = 8;
constexpr size_t kShortRow = 16, kShortRows = 64;  // rows up to this length are turned, so many at once, and reduced side by side

/// The shape with the reduced dimensions merged into one, and likewise those before and after them.
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

/// How threads divide the work: by columns or, if these are few or the rows long, into parts of the length, whose results are joined. Both
/// depend only on the shape.
class Shares {
 public:
  /// `size`: bytes of a result.
  Shares(PrepareContext& context, const Lines& lines, size_t size) : lines_(lines), size_(size), columns_(std::min(lines.inner, kColumns)) {
    cuts_ = (lines.inner + columns_ - 1) / columns_;
    each_ = lines.length;
    if (lines.inner == 1)
      each_ = std::min(each_, kFloatsPerTask);
    else if (lines.outer * cuts_ < kMostParts)
      each_ = std::max((lines.length + kMostParts - 1) / kMostParts, std::min(lines.length, kFloatsPerTask / lines.inner + 1));
    parts_ = (lines.length + each_ - 1) / each_;
    if (parts_ > 1) scratch_ = context.reserve_scratch(parts_ * lines.outer * lines.inner * size);
  }
  /// Whether each task reduces whole rows.
  bool whole_rows() const noexcept { return lines_.inner == 1 && parts_ == 1; }
  /// piece(at, rows, columns, to): `rows` rows from element `at` on, lines.inner elements apart; join(parts, count, from, to): the parts of
  /// `count` results.
  template <class Piece, class Join>
  void run(RunContext& context, Piece piece, Join join) const noexcept {
    run(context, context.out<char>(0), piece, join);
  }
  /// The same with results to y.
  template <class Piece, class Join>
  void run(RunContext& context, char* y, Piece piece, Join join) const noexcept {
    char* const to = parts_ > 1 ? context.scratch_at(scratch_) : y;
    const size_t results = lines_.outer * lines_.inner;
    context.parallel_for(lines_.outer * parts_ * cuts_, [&](size_t task) {
      const size_t column = task % cuts_ * columns_, part = task / cuts_ % parts_, outer = task / cuts_ / parts_, first = part * each_;
      piece((outer * lines_.length + first) * lines_.inner + column, std::min(each_, lines_.length - first),
            std::min(columns_, lines_.inner - column), to + (part * results + outer * lines_.inner + column) * size_);
    });
    if (parts_ > 1) join(parts_, results, to, y);
  }

 private:
  Lines lines_;
  size_t size_, columns_, cuts_, each_, parts_, scratch_ = 0;
};

/// The parts of an operator: a reduction, then scaling by 1 / length, then a function.
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
    {"ReduceMean", Reduction::sum, true},
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
  ReduceKernel(PrepareContext& context, const Kernels& kernels, const Row& row, const Lines& lines)
      : reduce_(kernels.rows->reduce[static_cast<size_t>(row.reduction)]),
        transpose_(kernels.layout->transpose),
        reduce_columns_(kernels.rows->reduce_columns[static_cast<size_t>(row.reduction)]),
        // The results of parts are joined without squaring them again.
        join_(kernels.rows->reduce_columns[static_cast<size_t>(row.reduction == Reduction::product ? Reduction::product : Reduction::sum)]),
        scale_(row.mean ? (*kernels.unary)[Unary::scale] : nullptr),
        then_(row.then == Unary::copy ? nullptr : (*kernels.unary)[row.then]),
        lines_(lines),
        shares_(context, lines, sizeof(float)) {}

  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    if (shares_.whole_rows()) {
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
            reduce_columns_(turned, lines_.length, kShortRows, rows, true, y + row);
          }
        }
        finish(y + first, last - first);
      });
      return;
    }
    shares_.run(
        context,
        [&](size_t at, size_t rows, size_t columns, char* to) {
          float* result = reinterpret_cast<float*>(to);
          if (lines_.inner == 1)
            *result = reduce_(x + at, rows);
          else
            reduce_columns_(x + at, rows, lines_.inner, columns, true, result);
        },
        [&](size_t parts, size_t count, const char* from, char* to) {
          join_(reinterpret_cast<const float*>(from), parts, count, count, true, reinterpret_cast<float*>(to));
        });
    finish(y, lines_.outer * lines_.inner);
  }

 private:
  void finish(float* y, size_t count) const noexcept {
    if (scale_) scale_(y, y, count, 1 / static_cast<float>(lines_.length), 0);
    if (then_) then_(y, y, count, 0, 0);
  }
  float (*reduce_)(const float*, size_t);
  void (*transpose_)(const float*, size_t, size_t, size_t, float*, size_t);
  void (*reduce_columns_)(const float*, size_t, size_t, size_t, bool, float*);
  void (*join_)(const float*, size_t, size_t, size_t, bool, float*);
  UnaryFunction scale_, then_;
  Lines lines_;
  Shares shares_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<ReduceKernel>(context, *cpu_device(context.device()).kernels, row_of(context.node()), *lines_of(context.node()));
}

// ---- Largest and smallest elements, of every dtype that has kernels.

MinMax min_max_of(const NodeView& node, const Device& device) {
  return cpu_device(device).kernels->min_max->of(node.input_dtype(0), node.op() == "ReduceMax");
}

Estimate estimate_min_max(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (!min_max_of(node, device).loops)
    return dtype == DType::f64 ? unavailable("there are no vectors of doubles") : declined("the dtype is {}", dtype);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (!lines_of(node)) return declined("the reduced axes are not neighbours");
  const double count = static_cast<double>(node.input_shape(0).elements()), size = static_cast<double>(size_of(node.input_dtype(0)));
  return Estimate(device.flop_time(size * count) + device.byte_time(size * count) + 2e-7);
}

class MinMaxKernel final : public Kernel {
 public:
  MinMaxKernel(PrepareContext& context, const MinMax& min_max, const Lines& lines)
      : min_max_(min_max), lines_(lines), size_(size_of(context.node().input_dtype(0))), shares_(context, lines, size_) {}

  void run(RunContext& context) const noexcept override {
    const char* x = context.in<char>(0);
    char* y = context.out<char>(0);
    const MinMaxLoops& loops = *min_max_.loops;
    if (shares_.whole_rows()) {
      const size_t each = std::max<size_t>(1, kFloatsPerTask / lines_.length);
      context.parallel_for((lines_.outer + each - 1) / each, [&](size_t task) {
        for (size_t row = task * each; row < std::min(lines_.outer, (task + 1) * each); ++row)
          loops.reduce(x + row * lines_.length * size_, lines_.length, min_max_.flip, y + row * size_);
      });
      return;
    }
    shares_.run(
        context,
        [&](size_t at, size_t rows, size_t columns, char* to) {
          if (lines_.inner == 1)
            loops.reduce(x + at * size_, rows, min_max_.flip, to);
          else
            loops.reduce_columns(x + at * size_, rows, lines_.inner, columns, min_max_.flip, to);
        },
        [&](size_t parts, size_t count, const char* from, char* to) {
          loops.reduce_columns(from, parts, count, count, min_max_.flip, to);
        });
  }

 private:
  MinMax min_max_;
  Lines lines_;
  size_t size_;
  Shares shares_;
};

std::unique_ptr<Kernel> prepare_min_max(PrepareContext& context) {
  const NodeView& node = context.node();
  const Lines lines = *lines_of(node);
  if (node.input_dtype(0) == DType::f32 && lines.inner == 1 && lines.length <= kShortRow) {
    const Row row{node.op(), node.op() == "ReduceMax" ? Reduction::max : Reduction::min};
    return std::make_unique<ReduceKernel>(context, *cpu_device(context.device()).kernels, row, lines);
  }
  return std::make_unique<MinMaxKernel>(context, min_max_of(node, context.device()), lines);
}

// ---- Sums and products of f64 in f64 and of integers in 64 bits; means of f64.

Estimate estimate_64(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (dtype == DType::f32 || sum_row(dtype) == kSumRows) return declined("the dtype is {}", dtype);
  if (node.op() == "ReduceMean" && dtype != DType::f64) return declined("the dtype is {}, not f64", dtype);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (!lines_of(node)) return declined("the reduced axes are not neighbours");
  const double count = static_cast<double>(node.input_shape(0).elements());
  return Estimate(device.flop_time(4 * count) + device.byte_time(count * static_cast<double>(size_of(dtype))) + 2e-7);
}

class Sum64Kernel final : public Kernel {
 public:
  Sum64Kernel(PrepareContext& context, const Lines& lines)
      : dtype_(context.node().input_dtype(0)),
        is_product_(context.node().op() == "ReduceProd"),
        is_mean_(context.node().op() == "ReduceMean"),
        lines_(lines),
        shares_(context, lines, kSize) {
    const SumProductKernels& kernels = *cpu_device(context.device()).kernels->sum_product;
    const SumProductLoops* loops = is_product_ ? kernels.products : kernels.sums;
    loops_ = loops + sum_row(dtype_);
    join_ = loops + sum_row(is_float(dtype_) ? DType::f64 : DType::i64);
    if (size_of(dtype_) != kSize) results_ = context.reserve_scratch(lines.outer * lines.inner * kSize);
  }

  void run(RunContext& context) const noexcept override {
    const char* x = context.in<char>(0);
    const size_t size = size_of(dtype_), count = lines_.outer * lines_.inner;
    char* const y = size == kSize ? context.out<char>(0) : context.scratch_at(results_);
    if (shares_.whole_rows()) {
      const size_t each = std::max<size_t>(1, kFloatsPerTask / lines_.length);
      context.parallel_for((lines_.outer + each - 1) / each, [&](size_t task) {
        for (size_t row = task * each; row < std::min(lines_.outer, (task + 1) * each); ++row)
          loops_->row(x + row * lines_.length * size, lines_.length, y + row * kSize);
      });
    } else {
      shares_.run(
          context, y,
          [&](size_t at, size_t rows, size_t columns, char* to) {
            if (lines_.inner == 1) return loops_->row(x + at * size, rows, to);
            begin(to, columns);
            loops_->columns(x + at * size, rows, lines_.inner, columns, to);
          },
          [&](size_t parts, size_t results, const char* from, char* to) {
            begin(to, results);
            join_->columns(from, parts, results, results, to);
          });
    }
    double* const means = reinterpret_cast<double*>(y);
    for (size_t i = 0; is_mean_ && i < count; ++i) means[i] /= static_cast<double>(lines_.length);
    if (size != kSize)  // 32 bits of integers
      for (size_t i = 0; i < count; ++i) context.out<uint32_t>(0)[i] = static_cast<uint32_t>(reinterpret_cast<const uint64_t*>(y)[i]);
  }

 private:
  static constexpr size_t kSize = 8;  // of a result
  void begin(char* y, size_t count) const noexcept {
    if (is_float(dtype_))
      std::fill_n(reinterpret_cast<double*>(y), count, is_product_ ? 1.0 : -0.0);
    else
      std::fill_n(reinterpret_cast<int64_t*>(y), count, int64_t{is_product_});
  }
  DType dtype_;
  bool is_product_, is_mean_;
  const SumProductLoops *loops_, *join_;
  Lines lines_;
  Shares shares_;
  size_t results_ = 0;
};

std::unique_ptr<Kernel> prepare_64(PrepareContext& context) { return std::make_unique<Sum64Kernel>(context, *lines_of(context.node())); }

// ---- The largest and smallest of truth values: any and all.

Estimate estimate_bool(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::boolean) return declined("the dtype is {}, not bool", node.input_dtype(0));
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (!lines_of(node)) return declined("the reduced axes are not neighbours");
  return Estimate(device.byte_time(static_cast<double>(node.input_shape(0).elements())) + 1e-7);
}

class AnyAllKernel final : public Kernel {
 public:
  AnyAllKernel(PrepareContext& context, const Lines& lines)
      : loops_(cpu_device(context.device()).kernels->any_all->loops[0]),
        any_(context.node().op() == "ReduceMax"),
        lines_(lines),
        shares_(context, lines, 1) {}

  void run(RunContext& context) const noexcept override {
    const char* x = context.in<char>(0);
    const auto found = [&](const char* row, size_t count) { return static_cast<char>(loops_.found(row, count, kKeep, !any_)); };
    char* const y = context.out<char>(0);
    if (shares_.whole_rows()) {
      const size_t each = std::max<size_t>(1, 4 * kFloatsPerTask / lines_.length);
      context.parallel_for((lines_.outer + each - 1) / each, [&](size_t task) {
        for (size_t row = task * each; row < std::min(lines_.outer, (task + 1) * each); ++row)
          y[row] = found(x + row * lines_.length, lines_.length);
      });
    } else {
      shares_.run(
          context,
          [&](size_t at, size_t rows, size_t columns, char* to) {
            if (lines_.inner == 1)
              *to = found(x + at, rows);
            else
              loops_.found_in_columns(x + at, rows, lines_.inner, columns, kKeep, !any_, reinterpret_cast<uint8_t*>(to));
          },
          [&](size_t parts, size_t results, const char* from, char* to) {
            loops_.found_in_columns(from, parts, results, results, kKeep, false, reinterpret_cast<uint8_t*>(to));
          });
    }
    for (size_t i = 0; !any_ && i < lines_.outer * lines_.inner; ++i) y[i] ^= 1;
  }

 private:
  static constexpr uint64_t kKeep = 0xff;
  const AnyAllLoops& loops_;
  bool any_;
  Lines lines_;
  Shares shares_;
};

std::unique_ptr<Kernel> prepare_bool(PrepareContext& context) { return std::make_unique<AnyAllKernel>(context, *lines_of(context.node())); }

constexpr Scheme kSchemes[] = {
    {"ReduceL1", "reduce", estimate, prepare},
    {"ReduceL2", "reduce", estimate, prepare},
    {"ReduceLogSum", "reduce", estimate, prepare},
    {"ReduceMax", "reduce", estimate_min_max, prepare_min_max},
    {"ReduceMean", "reduce", estimate, prepare},
    {"ReduceMin", "reduce", estimate_min_max, prepare_min_max},
    {"ReduceProd", "reduce", estimate, prepare},
    {"ReduceSum", "reduce", estimate, prepare},
    {"ReduceSumSquare", "reduce", estimate, prepare},
    {"ReduceMax", "reduce.bool", estimate_bool, prepare_bool, kLargeOnly},
    {"ReduceMin", "reduce.bool", estimate_bool, prepare_bool, kLargeOnly},
    {"ReduceMean", "reduce.64", estimate_64, prepare_64, kLargeOnly},
    {"ReduceProd", "reduce.64", estimate_64, prepare_64, kLargeOnly},
    {"ReduceSum", "reduce.64", estimate_64, prepare_64, kLargeOnly},
};

}  // namespace

std::span<const Scheme> reduce_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
