// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/large/recurrent_bytes.h"
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/integer_weights.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/quantized.h"
#include "base/saturating.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;  // vectors of a tile
constexpr float kMost = 127;
// Registers of AMX are faster for more rows alone: 20 steps of one sequence and an LSTM of 128 units took 55 us with them, 35 us without (a
// Xeon with AMX, one thread, 2026-11-30).
constexpr size_t kFewRows = 4;

}  // namespace

double byte_products_time(const Recurrent& r, const Device& device) {
  const Kernels& kernels = *cpu_device(device).kernels;
  const double rows = static_cast<double>(r.length * r.batch), sums = static_cast<double>(r.directions * r.slots * r.hidden);
  const double steps = static_cast<double>(r.length * r.directions);
  const auto products = [&](size_t depth) {
    return device.flop_time(2 * rows * sums * static_cast<double>(depth), 0.7 * integer_speed(kernels, depth)) +
           device.flop_time(rows * static_cast<double>(r.directions * depth) * 8);  // rounding
  };
  const double bytes = best_form(*kernels.integer, true, r.hidden) == IntegerForm::words ? 2 : 1;
  return products(r.input) + std::max(steps * device.byte_time(r.weight_bytes(bytes)), products(r.hidden)) + steps * 1e-7;
}

/// Tiles over rows that lie in one form.
class ByteProducts::Product {
 public:
  /// `y_row`: floats from one row of results to the next.
  Product(const ByteProducts& of, const Matrix& matrix, const uint8_t* rows, size_t count, size_t d, size_t y_row)
      : matrix_(matrix),
        d_(d),
        pairs_(of.pairs_),
        lanes_(of.lanes_),
        row_(matrix.row_stride()),
        rows_(rows),
        y_row_(y_row * sizeof(float)),
        tiles_(*of.kernels_.integer, of.lanes_, matrix.form),
        count_(ceil_div(count, static_cast<size_t>(most_rows(*of.kernels_.integer, matrix.form)))),
        parts_(matrix.form, count, count_) {
    static constexpr ptrdiff_t kNoTaps = 0;
    tile_.taps = &kNoTaps;
    tile_.groups = matrix.groups;
    tile_.row_stride = static_cast<ptrdiff_t>(row_);
    tile_.group_stride = static_cast<ptrdiff_t>(count * row_);
    tile_.vector_stride = static_cast<ptrdiff_t>(lanes_ * sizeof(float));
    tile_.pixel_stride = static_cast<ptrdiff_t>(y_row_);
    tile_.low = -std::numeric_limits<float>::infinity(), tile_.high = std::numeric_limits<float>::infinity();
    tile_.raw = true;
  }
  void run(size_t pair, size_t vectors, float* y) {
    const size_t at = d_ * pairs_ + pair;
    tile_.w = static_cast<const uint8_t*>(matrix_.panels.get()) + at * matrix_.panel_bytes;
    tile_.bias = matrix_.bias.data() + at * kPair * lanes_;
    tile_.multiplier = matrix_.multiplier.data() + at * kPair * lanes_;
    tile_.vectors = vectors;
    for (size_t i = 0; i < count_; ++i) {
      const size_t from = parts_.begin(i), height = parts_.rows(i), half = (height + 1) / 2;
      tile_.x[0] = rows_ + from * row_;
      tile_.x[1] = tile_.x[0] + half * row_;
      tile_.y[0] = reinterpret_cast<uint8_t*>(y) + from * y_row_;
      tile_.y[1] = tile_.y[0] + half * y_row_;
      tile_.rows = height;
      tiles_.run(tile_);
    }
  }

 private:
  const Matrix& matrix_;
  size_t d_, pairs_, lanes_, row_;
  const uint8_t* rows_;
  size_t y_row_;
  IntegerTiles tiles_;
  size_t count_;
  TileRows parts_;
  IntegerTile tile_{};
};

ByteProducts::ByteProducts(PrepareContext& context, const Recurrent& r, size_t blocks)
    : kernels_(*cpu_device(context.device()).kernels),
      r_(r),
      lanes_(kernels_.lanes),
      blocks_(blocks),
      pairs_(blocks * r.slots / kPair),
      width_(blocks * r.slots * lanes_),
      rows_(r.length * r.batch) {
  const size_t scales = r.lstm ? 7 : 6;
  w_ = packed(context, 1, scales, r.input, rows_);
  r_matrix_ = packed(context, 2, scales + 1, r.hidden, r.batch);
  // A block of rows stays in half of L2; it does not depend on the number of threads.
  const size_t most = static_cast<size_t>(most_rows(*kernels_.integer, w_.form));
  row_blocks_ = ceil_div(rows_, std::clamp(context.device().l2 / 2 / w_.row, most, 16 * most));
  const size_t threads = static_cast<size_t>(context.device().threads), units = r.directions * row_blocks_;
  if (threads > 1 && units < 2 * threads) chunks_ = std::min(pairs_, ceil_div(2 * threads, units));
  const size_t rows = ceil_div(rows_, row_blocks_);
  units_.reserve(context, units * chunks_, sum_of({rows, product_of({rows, sum_of({w_.row, r.input})}) / sizeof(float), lanes_}) + 1);
  // Rounded states as tiles read them, products, steps, and one state's floats and bytes.
  products_at_ = align_up(product_of({r.batch, r_matrix_.row}) + lanes_ * sizeof(float));
  factors_at_ = products_at_ + align_up(product_of({r.batch, width_, sizeof(float)}));
  plain_at_ = factors_at_ + align_up(r.batch * sizeof(float));
  const size_t of_state = align_up(blocks * lanes_ * sizeof(float));
  state_bytes_ = sum_of({plain_at_, of_state, align_up(product_of({r.batch, r.hidden}))});
  state_offset_ = context.reserve_scratch(product_of({r.directions, state_bytes_}));
}

ByteProducts::Matrix ByteProducts::packed(PrepareContext& context, size_t input, size_t scales, size_t depth, size_t rows) const {
  Matrix m{};
  m.form = best_form(*kernels_.integer, true, depth);
  if (kHasAmx && m.form == IntegerForm::amx && rows <= kFewRows) m.form = IntegerForm::bytes;
  m.depth = depth;
  m.groups = groups_of(m.form, depth);
  m.row = m.groups * group_bytes(m.form) + lanes_ * 2;  // whole vectors are written
  m.panel_bytes = m.groups * kPair * lanes_ * group_bytes(m.form);
  m.multiplier.assign(r_.directions * width_, 0);
  m.bias.assign(r_.directions * width_, 0);
  std::vector<size_t> terms(m.groups * channels_at_once(m.form), ByteWeights::kNoTerm);
  for (size_t k = 0; k < depth; ++k) terms[k] = k;
  const size_t lanes = kPair * lanes_, all = r_.directions * pairs_;
  // The outputs of a pair of slots, and their places among all rows of the weights.
  std::vector<uint8_t> outputs(lanes * depth);
  const auto for_each_pair = [&](const TensorView& weights, auto visit) {
    const uint8_t* from = static_cast<const uint8_t*>(weights.data());
    for (size_t pair = 0; pair < all; ++pair) {
      const size_t d = pair / pairs_, block = pair % pairs_ / (r_.slots / kPair), first = pair % (r_.slots / kPair) * kPair;
      std::fill(outputs.begin(), outputs.end(), uint8_t{0});
      const size_t units = std::min(lanes_, r_.hidden - block * lanes_);
      const auto row_of = [&](size_t slot) { return (d * r_.gates + slot) * r_.hidden + block * lanes_; };
      for (size_t v = 0; v < kPair && first + v < r_.gates; ++v)
        std::memcpy(outputs.data() + v * lanes_ * depth, from + row_of(first + v) * depth, units * depth);
      visit(pair, ByteWeights{outputs.data(), true, nullptr, lanes, depth, depth, 1}, [&](size_t lane) {
        const size_t v = lane / lanes_, unit = lane % lanes_;
        return first + v < r_.gates && unit < units ? row_of(first + v) + unit : SIZE_MAX;
      });
    }
  };
  const Tensor& scale = context.node().contents(scales);
  const int32_t offset = byte_offset(*kernels_.integer, true);
  std::vector<int32_t> sums(lanes);
  for_each_pair(context.node().contents(input).view(), [&](size_t pair, const ByteWeights& w, auto row_of) {
    if (m.form != IntegerForm::words) w.sum_terms(sums.data());
    for (size_t lane = 0; lane < lanes; ++lane) {
      m.bias[pair * lanes + lane] = -offset * sums[lane];
      if (const size_t row = row_of(lane); row != SIZE_MAX) m.multiplier[pair * lanes + lane] = scale.data<float>()[row];
    }
  });
  const PackingParameters parameters = {{"form", m.form}, {"gates", r_.gates}, {"slots", r_.slots}, {"depth", depth}};
  m.panels = context.packed(input, "recurrent bytes", parameters, product_of({all, m.panel_bytes}), [&](const TensorView& view, void* out) {
    for_each_pair(view, [&](size_t pair, const ByteWeights& w, auto) {
      w.pack(m.form, terms, 0, lanes, lanes, static_cast<uint8_t*>(out) + pair * m.panel_bytes);
    });
  });
  return m;
}

float ByteProducts::round_row(const float* x, size_t count, uint8_t* to) const noexcept {
  const float most = kernels_.recurrent->largest(x, count), scale = most == 0 ? 1 : most / kMost;
  kernels_.integer->quantize(x, count, scale, 0, true, to);
  return scale;
}

void ByteProducts::multiply_inputs(RunContext& context, const float* bias, float* sums) const noexcept {
  const float* x = context.in<float>(0);
  units_.run(context, [&](size_t unit, float* scratch) {
    const size_t chunk = unit % chunks_, block = unit / chunks_ % row_blocks_, d = unit / chunks_ / row_blocks_;
    const size_t first = share(rows_, row_blocks_, block), count = share(rows_, row_blocks_, block + 1) - first;
    float* const factors = scratch;
    uint8_t* const rows = reinterpret_cast<uint8_t*>(scratch + count);
    uint8_t* const plain = rows + count * w_.row + lanes_ * sizeof(float);
    for (size_t r = 0; r < count; ++r) factors[r] = round_row(x + (first + r) * r_.input, r_.input, plain + r * r_.input);
    arrange_rows(kernels_, w_.form, {plain, true, 0}, r_.input, count, w_.row_stride(), count * w_.row_stride(), rows);
    float* const y = sums + (d * rows_ + first) * width_;
    const size_t begin = share(pairs_, chunks_, chunk), end = share(pairs_, chunks_, chunk + 1), lanes = kPair * lanes_;
    Product product(*this, w_, rows, count, d, width_);
    Stop stop;
    for (size_t pair = begin; pair < end; ++pair) {
      if (stop.after(count * r_.input / 2)) return;
      product.run(pair, kPair, y + pair * lanes);
      for (size_t r = 0; r < count; ++r) {
        float* const row = y + r * width_ + pair * lanes;
        kernels_.recurrent->add_scaled(row, factors[r], bias ? bias + d * width_ + pair * lanes : nullptr, lanes, row);
      }
    }
  });
}

void ByteProducts::begin(RunContext& context, size_t d) const noexcept {
  // Slots without a product stay 0.
  std::memset(rounded(context, d) + products_at_, 0, r_.batch * width_ * sizeof(float));
}

void ByteProducts::round(RunContext& context, size_t d, const float* h) const noexcept {
  uint8_t* const rows = rounded(context, d);
  float* const state = reinterpret_cast<float*>(rows + plain_at_);
  uint8_t* const plain = rows + plain_at_ + align_up(blocks_ * lanes_ * sizeof(float));
  float* const factors = reinterpret_cast<float*>(rows + factors_at_);
  for (size_t b = 0; b < r_.batch; ++b) {
    const float* from = h;
    if (r_.batch > 1) {
      for (size_t block = 0; block < blocks_; ++block)
        std::memcpy(state + block * lanes_, h + (block * r_.batch + b) * lanes_, lanes_ * sizeof(float));
      from = state;
    }
    factors[b] = round_row(from, r_.hidden, plain + b * r_.hidden);
  }
  arrange_rows(kernels_, r_matrix_.form, {plain, true, 0}, r_.hidden, r_.batch, r_matrix_.row_stride(), r_.batch * r_matrix_.row_stride(),
               rows);
}

void ByteProducts::multiply_states(RunContext& context, size_t d, Part part, size_t first, size_t last, float* sums,
                                   size_t stride) const noexcept {
  const uint8_t* rows = rounded(context, d);
  float* const products = reinterpret_cast<float*>(rounded(context, d) + products_at_);
  const float* factors = reinterpret_cast<const float*>(rows + factors_at_);
  const size_t of_block = r_.slots * lanes_;
  {
    Product product(*this, r_matrix_, rows, r_.batch, d, width_);
    for (size_t block = first; block < last; ++block) {
      const size_t pair = block * r_.slots / kPair;
      float* const to = products + block * of_block;
      if (part != Part::scaled) product.run(pair, kPair, to);
      // The third product of a GRU goes to its own slot, or, of a scaled state, to the sum with the input.
      if (part != Part::gates) product.run(pair + 1, r_.lstm ? 2 : 1, to + (r_.lstm || part == Part::scaled ? 2 : 3) * lanes_);
    }
  }
  for (size_t b = 0; b < r_.batch; ++b) {
    const float* from = products + b * width_;
    float* const to = sums + b * stride;
    if (part == Part::all) {
      kernels_.recurrent->add_scaled(from + first * of_block, factors[b], to + first * of_block, (last - first) * of_block,
                                     to + first * of_block);
      continue;
    }
    const size_t slot = part == Part::scaled ? 2 : 0, slots = part == Part::scaled ? 1 : 2;
    for (size_t at = first * of_block + slot * lanes_; at < last * of_block; at += of_block)
      kernels_.recurrent->add_scaled(from + at, factors[b], to + at, slots * lanes_, to + at);
  }
}

}  // namespace minnow::cpu
