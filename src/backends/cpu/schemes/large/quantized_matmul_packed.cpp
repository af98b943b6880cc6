// SPDX-License-Identifier: Apache-2.0
// minnow.QuantizedMatMul, QLinearMatMul and MatMulInteger of two activations, exact: a run packs B into panels of bytes, or of 16-bit
// numbers where a machine multiplies no bytes. Zero points may have any value: panels hold B less 128 or 0, and the rest of B's zero point
// is a term of each row.
#include <algorithm>
#include <cstring>
#include "backends/cpu/schemes/large/byte_panels.h"

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"
#include "base/share.h"
#include "graph/matmul.h"

namespace minnow::cpu {
namespace {

constexpr size_t kMostBytesOfPanel = BytePanels::kPair * 16 * sizeof(int32_t);  // of a row

Estimate estimate(const NodeView& node, const Device& device) {
  const FactorInputs inputs(node);
  if (node.is_constant(inputs.w) && node.input_shape(inputs.w).rank() == 2) return declined("B is packed before the run");
  if (node.output_shape(0).elements() == 0 || node.input_shape(kX).elements() == 0) return declined("a matrix is empty");
  const MatMulGeometry p = MatMulGeometry::of(node);
  const size_t depth = static_cast<size_t>(p.k);
  if (const std::string refusal = refusal_of_quantized(node, static_cast<size_t>(p.n), depth, true); !refusal.empty())
    return declined("{}", refusal);
  const double b = static_cast<double>(node.input_shape(inputs.w).elements()),
               results = static_cast<double>(node.output_shape(0).elements()),
               bytes = static_cast<double>(node.input_shape(kX).elements()) + 3 * b +
                       results * (1 + static_cast<double>(size_of(node.output(0).dtype)));
  const Kernels& kernels = *cpu_device(device).kernels;
  const bool words = best_form(*kernels.integer, true, depth) == IntegerForm::words;
  return Estimate(device.flop_time(2 * p.multiply_adds(), 0.7 * integer_speed(kernels, depth)) + device.flop_time(b * (words ? 30 : 6)) +
                  device.byte_time(bytes) + 1e-6);
}

class PackedMatMulKernel final : public Kernel {
 public:
  explicit PackedMatMulKernel(PrepareContext& context)
      : PackedMatMulKernel(context, MatMulGeometry::of(context.node()), FactorInputs(context.node())) {}

  void run(RunContext& context) const noexcept override {
    const uint8_t* b = context.in<uint8_t>(inputs_.w);
    const int32_t w_zero = zero_of(context, inputs_.w_zero, w_is_signed_), x_zero = zero_of(context, inputs_.x_zero, x_is_signed_);
    uint8_t* const panels = context.scratch_at<uint8_t>(panels_offset_);
    int32_t* const biases = context.scratch_at<int32_t>(biases_offset_);
    const size_t pairs = panels_.pairs(), columns = panels_.columns();
    context.parallel_for(matrices_ * pairs, [&](size_t task) {
      const size_t pair = task % pairs;
      uint8_t* const panel = panels + task * panels_.panel_bytes();
      panels_.pack(b + task / pairs * k_ * n_, n_, 1, w_zero, pair, panel);
      int32_t* const bias = biases + task * columns;
      panels_.sum_terms(panel, bias);
      for (size_t i = 0; i < columns; ++i) bias[i] = requantization_.bias[pair * columns + i] - (x_zero + offset_) * bias[i];
    });
    const ByteSource x{context.in<uint8_t>(inputs_.x), x_is_signed_, x_zero};
    uint8_t* const y = context.out<uint8_t>(0);
    const int32_t rest = panels_.rest_of(w_zero);
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t batch = unit / (blocks_ * chunks_), block = unit / chunks_ % blocks_;
      const size_t first = share(m_, blocks_, block), count = share(m_, blocks_, block + 1) - first;
      const size_t matrix = static_cast<size_t>(joined_ ? 0 : geometry_.b_matrix(static_cast<int64_t>(batch)));
      const size_t from = static_cast<size_t>(joined_ ? 0 : geometry_.a_matrix(static_cast<int64_t>(batch))) * m_ + first;
      run_block({x.from + from * k_, x.is_signed, x.zero_point}, panels + matrix * panels_.bytes(), biases + matrix * panels_.padded(),
                rest, count, unit % chunks_, y + (batch * m_ + first) * n_ * place_, scratch);
    });
  }

 private:
  PackedMatMulKernel(PrepareContext& context, const MatMulGeometry& p, const FactorInputs& inputs)
      : geometry_(p),
        inputs_(inputs),
        kernels_(*cpu_device(context.device()).kernels),
        place_(size_of(context.node().output(0).dtype)),
        joined_(p.shares_b()),
        k_(static_cast<size_t>(p.k)),
        n_(static_cast<size_t>(p.n)),
        m_(static_cast<size_t>(joined_ ? p.m * p.batches() : p.m)),
        batches_(static_cast<size_t>(joined_ ? 1 : p.batches())),
        matrices_(static_cast<size_t>(context.node().input_shape(inputs.w).elements()) / (k_ * n_)),
        x_is_signed_(context.node().input_dtype(inputs.x) == DType::i8),
        w_is_signed_(context.node().input_dtype(inputs.w) == DType::i8),
        requantization_(context.node(), n_, 1, kernels_),
        panels_(kernels_, k_, n_, w_is_signed_),
        offset_(byte_offset(*kernels_.integer, x_is_signed_)) {
    panels_offset_ = context.reserve_scratch(product_of({matrices_, panels_.bytes()}));
    biases_offset_ = context.reserve_scratch(product_of({matrices_, panels_.padded(), sizeof(int32_t)}));
    // A block of rows stays in half of L2; it does not depend on the number of threads.
    const size_t most = static_cast<size_t>(most_rows(*kernels_.integer, panels_.form()));
    blocks_ = ceil_div(m_, std::clamp(context.device().l2 / 2 / panels_.row_bytes(), most, 16 * most));
    const size_t threads = static_cast<size_t>(context.device().threads), units = batches_ * blocks_;
    if (threads > 1 && units < 2 * threads) chunks_ = std::min(panels_.pairs(), ceil_div(2 * threads, units));
    rows_ = ceil_div(m_, blocks_);
    units_.reserve(context, units * chunks_, sum_of({rows_, product_of({rows_, panels_.row_bytes()}) / sizeof(float), 1}));
  }

  static int32_t zero_of(const RunContext& context, size_t input, bool is_signed) noexcept {
    if (!context.has_input(input)) return 0;
    return is_signed ? int32_t{*context.in<int8_t>(input)} : int32_t{*context.in<uint8_t>(input)};
  }

  /// `rest`: of B's zero point. `scratch`: terms of rows, and the rows as tiles read them.
  void run_block(const ByteSource& x, const uint8_t* panels, const int32_t* biases, int32_t rest, size_t count, size_t chunk, uint8_t* y,
                 float* scratch) const noexcept {
    int32_t* const terms = reinterpret_cast<int32_t*>(scratch);
    uint8_t* const rows = reinterpret_cast<uint8_t*>(scratch + rows_);
    panels_.arrange(x, k_, count, rows);
    if (rest) {
      ByteWeights{x.from, x.is_signed, nullptr, count, k_, k_, 1, x.zero_point}.sum_terms(terms);
      for (size_t r = 0; r < count; ++r) terms[r] *= -rest;
    }
    const size_t lanes = kernels_.lanes, columns = panels_.columns();
    const IntegerTiles tiles(*kernels_.integer, lanes, panels_.form());
    uint8_t edge[kMostIntegerRows * kMostBytesOfPanel];
    IntegerTile t = panels_.tile(count);
    t.vector_stride = static_cast<ptrdiff_t>(lanes * place_);
    Stop stop;
    for (size_t pair = share(panels_.pairs(), chunks_, chunk); pair < share(panels_.pairs(), chunks_, chunk + 1); ++pair) {
      if (stop.after(count * k_ / 2)) return;
      requantization_.apply(t, 0, pair * BytePanels::kPair, biases);
      if (rest) t.activate = kernels_.integer->finish_rows, t.row_terms = terms;
      t.w = panels + pair * panels_.panel_bytes();
      const size_t column = pair * columns, used = std::min(columns, n_ - column);
      if (used == columns) {
        panels_.multiply(t, tiles, rows, count, y + column * place_, n_ * place_);
        continue;
      }
      // The last columns go through a buffer of whole vectors, a tile at a time.
      const size_t most = static_cast<size_t>(most_rows(*kernels_.integer, panels_.form())), parts = ceil_div(count, most);
      for (size_t i = 0; i < parts; ++i) {
        const size_t first = share(count, parts, i), height = share(count, parts, i + 1) - first;
        if (rest) t.row_terms = terms + first;
        panels_.multiply(t, tiles, rows + first * panels_.row_stride(), height, edge, columns * place_);
        for (size_t r = 0; r < height; ++r)
          std::memcpy(y + ((first + r) * n_ + column) * place_, edge + r * columns * place_, used * place_);
      }
    }
  }

  const MatMulGeometry geometry_;
  const FactorInputs inputs_;
  const Kernels& kernels_;
  const size_t place_;  // bytes of a result
  const bool joined_;   // one B for all batches, whose rows follow each other
  const size_t k_, n_, m_, batches_, matrices_;
  const bool x_is_signed_, w_is_signed_;
  const Requantization requantization_;
  const BytePanels panels_;
  const int32_t offset_;
  size_t panels_offset_ = 0, biases_offset_ = 0, blocks_ = 1, chunks_ = 1, rows_ = 0;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<PackedMatMulKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"MatMulInteger", "quantized_matmul.two", estimate, prepare},
    {"QLinearMatMul", "quantized_matmul.two", estimate, prepare},
    {"minnow.QuantizedMatMul", "quantized_matmul.two", estimate, prepare},
};

}  // namespace

std::span<const Scheme> quantized_matmul_packed_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
