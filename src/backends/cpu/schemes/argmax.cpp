// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin of floats and bytes, and Hardmax: the maxima of many lines side by side, and then their indices. TopK of
// floats.
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/sort.h"

namespace minnow::cpu {
namespace {

constexpr size_t kColumns = 512;                   // lines that are searched side by side
constexpr size_t kShortRow = 64, kShortRows = 64;  // rows up to this length are turned, so many at once
constexpr size_t kPiece = 256;                     // of a longer row, searched by its maximum
constexpr size_t kMostLength = 1 << 24;            // positions are counted in f32

struct Lines {
  size_t outer, length, inner;
  explicit Lines(const NodeView& node) {
    const Shape& shape = node.input_shape(0);
    const size_t axis =
        node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", node.op().starts_with("Arg") ? 0 : -1}), shape.rank());
    outer = static_cast<size_t>(shape.product(0, axis));
    length = static_cast<size_t>(shape[axis]);
    inner = static_cast<size_t>(shape.product(axis + 1, shape.rank()));
  }
};

Estimate estimate(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (dtype != DType::f32 && dtype != DType::u8 && dtype != DType::i8) return declined("the dtype is {}", dtype);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (Lines(node).length >= kMostLength) return declined("axis of {} elements is too long to count in f32", Lines(node).length);
  const double count = static_cast<double>(node.input_shape(0).elements());
  return Estimate(device.flop_time(20 * count) + device.byte_time(static_cast<double>(size_of(dtype)) * count) + 2e-7);
}

class ArgKernel final : public Kernel {
 public:
  explicit ArgKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels),
        lines_(context.node()),
        dtype_(context.node().input_dtype(0)),
        min_or_max_(static_cast<size_t>(context.node().op() == "ArgMin" ? Reduction::min : Reduction::max)),
        hard_(context.node().op() == "Hardmax"),
        last_(context.node().attribute(Attribute<bool>{"select_last_index", false})) {
    const bool is_float = dtype_ == DType::f32;
    if (lines_.inner > 1)
      units_.reserve(context, lines_.outer * cuts(), is_float ? 0 : kColumns);
    else if (lines_.length <= kShortRow)
      units_.reserve(context, (lines_.outer + kShortRows - 1) / kShortRows, (is_float ? 1 : 2) * kShortRow * kShortRows);
    else
      units_.reserve(context, lines_.outer, is_float ? 0 : lines_.length);
  }

  void run(RunContext& context) const noexcept override {
    const char* x = context.in<char>(0);
    const size_t length = lines_.length;
    units_.run(context, [&](size_t unit, float* scratch) {
      int64_t positions[std::max(kColumns, kShortRows)];
      size_t line = unit, count = 1;
      if (lines_.inner > 1) {
        const size_t outer = unit / cuts(), first = unit % cuts() * kColumns, width = std::min(kColumns, lines_.inner - first);
        search_columns([&](size_t k) { return floats(x, (outer * length + k) * lines_.inner + first, width, scratch); }, width, positions);
        line = outer * lines_.inner + first, count = width;
      } else if (length <= kShortRow) {
        const size_t first = unit * kShortRows, rows = std::min(kShortRows, lines_.outer - first);
        const float* from = floats(x, first * length, rows * length, scratch + kShortRow * kShortRows);
        kernels_.layout->transpose(from, length, rows, length, scratch, kShortRows);
        search_columns([&](size_t k) { return scratch + k * kShortRows; }, rows, positions);
        line = first, count = rows;
      } else {
        positions[0] = place_in_row(floats(x, unit * length, length, scratch));
      }
      if (hard_)
        write_ones(context.out<float>(0), line, count, positions);
      else
        std::memcpy(context.out<int64_t>(0) + line, positions, count * sizeof(int64_t));
    });
  }

 private:
  // Zeros to `count` lines, and a one to the place of each.
  void write_ones(float* y, size_t line, size_t count, const int64_t* positions) const noexcept {
    const size_t inner = lines_.inner;
    float* first = y + line / inner * lines_.length * inner + line % inner;
    if (inner == 1)
      std::memset(first, 0, count * lines_.length * sizeof(float));
    else
      for (size_t k = 0; k < lines_.length; ++k) std::memset(first + k * inner, 0, count * sizeof(float));
    for (size_t i = 0; i < count; ++i) first[(inner == 1 ? i * lines_.length : i) + static_cast<size_t>(positions[i]) * inner] = 1;
  }

  size_t cuts() const noexcept { return (lines_.inner + kColumns - 1) / kColumns; }

  // Elements of the input as floats, which are put into `scratch` if they are not.
  const float* floats(const char* x, size_t at, size_t count, float* scratch) const noexcept {
    if (dtype_ == DType::f32) return reinterpret_cast<const float*>(x) + at;
    kernels_.integer->dequantize({reinterpret_cast<const uint8_t*>(x) + at, dtype_ == DType::i8, 0}, count, 1, scratch);
    return scratch;
  }

  // row(k): element k of each of `width` lines. Positions count from 1, from the end that loses ties, so the largest count is the wanted
  // one. 0 means that no element equals the maximum, which then is NaN.
  template <class Row>
  void search_columns(Row row, size_t width, int64_t* y) const noexcept {
    float best[kColumns], count[kColumns], equals[kColumns];
    const size_t length = lines_.length;
    for (size_t k = 0; k < length; ++k) kernels_.rows->reduce_columns[min_or_max_](row(k), 1, 0, width, k == 0, best);
    const BinaryFunction equal = kernels_.binary->of(Binary::equal, BinaryForm::both),
                         larger = kernels_.binary->of(Binary::maximum, BinaryForm::both);
    std::fill_n(count, width, 0.0f);
    for (size_t k = 0; k < length; ++k) {
      equal(row(k), best, equals, width);
      (*kernels_.unary)[Unary::scale](equals, equals, width, static_cast<float>(last_ ? k + 1 : length - k), 0);
      larger(count, equals, count, width);
    }
    for (size_t i = 0; i < width; ++i) {
      const int64_t from_end = static_cast<int64_t>(count[i]);
      y[i] = last_ ? from_end - 1 : static_cast<int64_t>(length) - from_end;
      if (from_end > 0) continue;
      for (size_t k = 0; k < length; ++k)
        if (const size_t at = last_ ? k : length - 1 - k; std::isnan(row(at)[i])) y[i] = static_cast<int64_t>(at);
    }
  }

  int64_t place_in_row(const float* x) const noexcept {
    const auto reduce = kernels_.rows->reduce[min_or_max_];
    const size_t length = lines_.length, pieces = (length + kPiece - 1) / kPiece;
    const float best = reduce(x, length);
    const auto is_best = [&](float value) { return value == best || (std::isnan(value) && std::isnan(best)); };
    for (size_t i = 0; i < pieces; ++i) {
      const size_t first = (last_ ? pieces - 1 - i : i) * kPiece, count = std::min(kPiece, length - first);
      if (!is_best(reduce(x + first, count))) continue;
      for (size_t k = 0; k < count; ++k)
        if (const size_t at = first + (last_ ? count - 1 - k : k); is_best(x[at])) return static_cast<int64_t>(at);
    }
    return 0;
  }

  const Kernels& kernels_;
  Lines lines_;
  DType dtype_;
  size_t min_or_max_;
  bool hard_, last_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<ArgKernel>(context); }

// ---- ArgMax and ArgMin of every dtype that has kernels: the largest or smallest element, and then the first position that has it.

MinMax min_max_of(const NodeView& node, const Device& device) {
  return cpu_device(device).kernels->min_max->of(node.input_dtype(0), node.op() == "ArgMax");
}

Estimate estimate_position(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (dtype == DType::boolean || !min_max_of(node, device).loops)
    return dtype == DType::f64 ? unavailable("there are no vectors of doubles") : declined("the dtype is {}", dtype);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (node.attribute(Attribute<bool>{"select_last_index", false})) return declined("the last index is asked for");
  const Lines lines(node);
  const double count = static_cast<double>(node.input_shape(0).elements()), size = static_cast<double>(size_of(dtype));
  const double overhead = lines.inner == 1 ? 20.0 * static_cast<double>(lines.outer) : 0;  // elements that a call of a loop is worth
  return Estimate(device.flop_time(size * (count + overhead)) + device.byte_time(size * count) + 2e-7);
}

class PositionKernel final : public Kernel {
 public:
  explicit PositionKernel(PrepareContext& context)
      : min_max_(min_max_of(context.node(), context.device())),
        loops_(cpu_device(context.device()).kernels->argmax->loops[number_row(context.node().input_dtype(0))]),
        lines_(context.node()),
        size_(size_of(context.node().input_dtype(0))) {
    pieces_ = (lines_.length + kPieceOfRow - 1) / kPieceOfRow;
    strips_ = (lines_.inner + kStrip - 1) / kStrip;
    if (lines_.inner == 1 && lines_.outer == 1)
      scratch_ = context.reserve_scratch(pieces_ * kMostSize);
    else if (lines_.inner == 1)
      units_.reserve(context, lines_.outer, pieces_ * kMostSize / sizeof(float));
    else
      units_.reserve(context, lines_.outer * strips_, kStrip * kMostSize / sizeof(float));
  }

  void run(RunContext& context) const noexcept override {
    const char* x = context.in<char>(0);
    int64_t* const y = context.out<int64_t>(0);
    if (lines_.inner == 1 && lines_.outer == 1) {
      char* const best = context.scratch_at(scratch_);
      context.parallel_for(pieces_, [&](size_t piece) { reduce_piece(x, piece, best); });
      *y = position(x, best);
    } else if (lines_.inner == 1) {
      units_.run(context, [&](size_t row, float* scratch) {
        const char* from = x + row * lines_.length * size_;
        char* const best = reinterpret_cast<char*>(scratch);
        for (size_t piece = 0; piece < pieces_; ++piece) reduce_piece(from, piece, best);
        y[row] = position(from, best);
      });
    } else {
      units_.run(context, [&](size_t unit, float* best) {
        const size_t first = unit % strips_ * kStrip, width = std::min(kStrip, lines_.inner - first), outer = unit / strips_;
        const char* from = x + (outer * lines_.length * lines_.inner + first) * size_;
        min_max_.loops->reduce_columns(from, lines_.length, lines_.inner, width, min_max_.flip, best);
        loops_.find_rows(from, lines_.length, lines_.inner, width, best, y + outer * lines_.inner + first);
      });
    }
  }

 private:
  static constexpr size_t kPieceOfRow = 4096, kStrip = 256, kMostSize = 8;
  void reduce_piece(const char* row, size_t piece, char* best) const noexcept {
    min_max_.loops->reduce(row + piece * kPieceOfRow * size_, std::min(kPieceOfRow, lines_.length - piece * kPieceOfRow), min_max_.flip,
                           best + piece * size_);
  }
  int64_t position(const char* row, const char* best) const noexcept {
    char most[kMostSize];
    size_t first = 0;
    if (pieces_ > 1) {
      min_max_.loops->reduce(best, pieces_, min_max_.flip, most);
      first = loops_.find(best, pieces_, most) * kPieceOfRow;
      best = most;
    }
    return static_cast<int64_t>(first + loops_.find(row + first * size_, lines_.length - first, best));
  }
  MinMax min_max_;
  const ArgmaxLoops& loops_;
  Lines lines_;
  size_t size_, pieces_, strips_, scratch_ = 0;
  Units units_;
};

std::unique_ptr<Kernel> prepare_position(PrepareContext& context) { return std::make_unique<PositionKernel>(context); }

// ---- TopK

Estimate estimate_top(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.output_shape(0).elements() == 0) return declined("nothing is asked for");
  if (Lines(node).length >> 16 >> 16) return declined("positions do not fit 32 bits");
  const double count = static_cast<double>(node.input_shape(0).elements()), found = static_cast<double>(node.output_shape(0).elements());
  return Estimate(device.flop_time(40 * count + 500 * found) + device.byte_time(4 * count) + 2e-7);
}

class TopKernel final : public Kernel {
 public:
  explicit TopKernel(PrepareContext& context)
      : lines_(context.node()),
        largest_(context.node().attribute(Attribute<bool>{"largest", true})),
        wanted_(static_cast<size_t>(context.node().output_shape(0).elements()) / (lines_.outer * lines_.inner)) {
    units_.reserve(context, lines_.outer * lines_.inner, 2 * first_floats_scratch(wanted_));
  }

  void run(RunContext& context) const noexcept override {
    units_.run(context, [&](size_t line, float* scratch) {
      const size_t inner = lines_.inner, outer = line / inner, column = line % inner;
      const float* x = context.in<float>(0) + outer * lines_.length * inner + column;
      uint64_t* best = reinterpret_cast<uint64_t*>(scratch);
      first_floats(x, lines_.length, inner, largest_, wanted_, best);
      const size_t to = outer * wanted_ * inner + column;
      for (size_t k = 0; k < wanted_; ++k) {
        const size_t place = best[k] & 0xffffffffu;
        if (context.has_output(0)) context.out<float>(0)[to + k * inner] = x[place * inner];
        if (context.has_output(1)) context.out<int64_t>(1)[to + k * inner] = static_cast<int64_t>(place);
      }
    });
  }

 private:
  Lines lines_;
  bool largest_;
  size_t wanted_;
  Units units_;
};

std::unique_ptr<Kernel> prepare_top(PrepareContext& context) { return std::make_unique<TopKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"ArgMax", "argmax.min_max", estimate_position, prepare_position, kLargeOnly},
    {"ArgMin", "argmax.min_max", estimate_position, prepare_position, kLargeOnly},
    {"ArgMax", "argmax", estimate, prepare},
    {"ArgMin", "argmax", estimate, prepare},
    {"Hardmax", "argmax", estimate, prepare},
    {"TopK", "argmax.floats", estimate_top, prepare_top, kLargeOnly},
};

}  // namespace

std::span<const Scheme> argmax_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
