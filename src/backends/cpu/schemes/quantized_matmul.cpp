// SPDX-License-Identifier: Apache-2.0
// minnow.QuantizedMatMul, QLinearMatMul and MatMulInteger with a constant matrix B, exact: tiles of 32-bit sums over a copy of some rows of
// A.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"
#include "base/share.h"
#include "graph/matmul.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;
constexpr size_t kMostLanes = 16;

Estimate estimate(const NodeView& node, const Device& device) {
  const FactorInputs inputs(node);
  if (!node.is_constant(inputs.w)) return declined("B is not constant");
  if (node.input_shape(inputs.w).rank() != 2) return declined("B has rank {}, not 2", node.input_shape(inputs.w).rank());
  if (node.output_shape(0).elements() == 0 || node.input_shape(kX).elements() == 0) return declined("a matrix is empty");
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (const std::string refusal = refusal_of_quantized(node, static_cast<size_t>(p.n), static_cast<size_t>(p.k)); !refusal.empty())
    return declined("{}", refusal);
  const double results = static_cast<double>(node.output_shape(0).elements()),
               bytes = static_cast<double>(node.input_shape(kX).elements()) +
                       results * (1 + static_cast<double>(size_of(node.output(0).dtype)));
  const double speed = 0.7 * integer_speed(*cpu_device(device).kernels, static_cast<size_t>(p.k));
  return Estimate(std::max(device.flop_time(2 * p.multiply_adds(), speed),
                           device.weight_time(static_cast<double>(node.input_shape(inputs.w).elements()))) +
                  device.byte_time(bytes) + 1e-6);
}

class QuantizedMatMulKernel final : public Kernel {
 public:
  explicit QuantizedMatMulKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels),
        place_(size_of(context.node().output(0).dtype)),
        k_(static_cast<size_t>(context.node().input_shape(FactorInputs(context.node()).w)[0])),
        n_(static_cast<size_t>(context.node().input_shape(FactorInputs(context.node()).w)[1])),
        m_(static_cast<size_t>(context.node().input_shape(kX).elements()) / k_),
        requantization_(context.node(), n_, 1, kernels_),
        weights_(context.node(), kernels_, n_, k_, 1, 1, true) {
    weights_.prepare(context, requantization_);
    row_ = weights_.channel_groups() * group_bytes(weights_.form()) + kernels_.lanes * 2;  // whole vectors are written
    // A block of rows stays in half of L2; it does not depend on the number of threads.
    const size_t most = static_cast<size_t>(most_rows(*kernels_.integer, weights_.form()));
    const size_t rows = std::clamp(context.device().l2 / 2 / row_, most, 16 * most);
    blocks_ = ceil_div(m_, rows);
    const size_t threads = static_cast<size_t>(context.device().threads);
    if (threads > 1 && blocks_ < 2 * threads) chunks_ = std::min(weights_.pairs(), ceil_div(2 * threads, blocks_));
    units_.reserve(context, blocks_ * chunks_, product_of({ceil_div(m_, blocks_), row_}) / sizeof(float) + 1);
  }

  void run(RunContext& context) const noexcept override {
    const ByteSource x = weights_.source(context);
    const int32_t* biases = weights_.biases(context, requantization_, x);
    uint8_t* y = context.out<uint8_t>(0);
    units_.run(context, [&](size_t unit, float* scratch) {
      run_block(x, biases, y, unit / chunks_, unit % chunks_, reinterpret_cast<uint8_t*>(scratch));
    });
  }

 private:
  void run_block(const ByteSource& x, const int32_t* biases, uint8_t* y, size_t block, size_t chunk, uint8_t* rows) const noexcept {
    const size_t first = share(m_, blocks_, block), count = share(m_, blocks_, block + 1) - first, lanes = kernels_.lanes;
    const IntegerForm form = weights_.form();
    const size_t row = form == IntegerForm::matrices ? group_bytes(form) : row_, group = count * row;
    arrange_rows(kernels_, form, {x.from + first * k_, x.is_signed, x.zero_point}, k_, count, row, group, rows);
    constexpr ptrdiff_t kNoTaps = 0;
    const IntegerTiles integer_tiles(*kernels_.integer, lanes, form);
    const size_t most = static_cast<size_t>(most_rows(*kernels_.integer, form)), tiles = ceil_div(count, most);
    uint8_t edge[kMostIntegerRows * kPair * kMostLanes * sizeof(int32_t)];
    IntegerTile t{};
    t.taps = &kNoTaps;
    t.groups = weights_.channel_groups();
    t.row_stride = static_cast<ptrdiff_t>(row);
    t.group_stride = static_cast<ptrdiff_t>(group);
    t.vector_stride = static_cast<ptrdiff_t>(lanes * place_);
    const size_t last = share(weights_.pairs(), chunks_, chunk + 1);
    const TileRows parts(form, count, tiles);
    Stop stop;
    for (size_t pair = share(weights_.pairs(), chunks_, chunk); pair < last; ++pair) {
      if (stop.after(count * k_ / 2)) return;
      requantization_.apply(t, 0, pair * kPair, biases);
      t.w = weights_.panel(0, pair);
      const size_t column = pair * kPair * lanes, columns = std::min(kPair * lanes, n_ - column);
      const bool narrow = columns < kPair * lanes;                  // the last columns go through a buffer of whole vectors
      const size_t y_row = (narrow ? kPair * lanes : n_) * place_;  // bytes
      t.pixel_stride = static_cast<ptrdiff_t>(y_row);
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = parts.begin(i), height = parts.rows(i), half = (height + 1) / 2;
        uint8_t* to = y + ((first + from) * n_ + column) * place_;
        t.x[0] = rows + from * row;
        t.x[1] = t.x[0] + half * row;
        t.y[0] = narrow ? edge : to;
        t.y[1] = t.y[0] + half * y_row;
        t.rows = height;
        integer_tiles.run(t);
        if (narrow)
          for (size_t r = 0; r < height; ++r) std::memcpy(to + r * n_ * place_, edge + r * y_row, columns * place_);
      }
    }
  }

  const Kernels& kernels_;
  size_t place_;  // bytes of a result
  size_t k_, n_, m_;
  Requantization requantization_;
  IntegerWeights weights_;
  size_t row_ = 0, blocks_ = 1, chunks_ = 1;  // bytes of a row of A as it is arranged
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<QuantizedMatMulKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"MatMulInteger", "quantized_matmul", estimate, prepare},
    {"QLinearMatMul", "quantized_matmul", estimate, prepare},
    {"minnow.QuantizedMatMul", "quantized_matmul", estimate, prepare},
};

}  // namespace

std::span<const Scheme> quantized_matmul_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
