// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: one matrix product computes the products with the inputs of all steps. Then, step by step, the products with the state
// are added to the sums of the gates. The gates of a vector of hidden units are adjacent ([units / lanes][4 gates][lanes]), so that a cell
// is finished while its sums are in the first-level cache. Computes in f32 or, with constant weights in 16 bits, rounds inputs and states
// to bf16 or f16 before they are multiplied; sums, cells and states stay f32. With weights of 8 bits, products are those of
// recurrent_bytes.h.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/large/recurrent_bytes.h"
#include "backends/cpu/schemes/low_precision.h"
#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/recurrent.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr double kBytesPerThread = 192 << 10;  // of recurrent weights; less is not worth waking a thread in each step

size_t size(int64_t value) { return static_cast<size_t>(value); }

constexpr std::string_view kQuantized = "minnow.Quantized";  // LSTM or GRU
/// LSTM, GRU or RNN.
std::string_view cell_of(const NodeView& node) {
  const std::string_view op = node.op();
  return op.starts_with(kQuantized) ? op.substr(kQuantized.size()) : op;
}

}  // namespace

Recurrent::Recurrent(const NodeView& node, std::string_view cell)
    : lstm(cell == "LSTM"),
      batch_first(node.attribute(Attribute<bool>{"layout", false})),
      reversed(node.attribute(Attribute<Name>{"direction", "forward"}) == "reverse"),
      reset_before(cell == "GRU" && !node.attribute(Attribute<bool>{"linear_before_reset", false})),
      length(size(node.input_shape(0)[batch_first ? 1 : 0])),
      batch(size(node.input_shape(0)[batch_first ? 0 : 1])),
      input(size(node.input_shape(0)[2])),
      hidden(size(node.input_shape(2)[2])),
      directions(size(node.input_shape(2)[0])),
      gates(lstm            ? 4
            : cell == "GRU" ? 3
                            : 1),
      slots(gates == 1 ? 2 : 4) {}

size_t Recurrent::parts(int threads, size_t most, double bytes_of_weight) const noexcept {
  const double bytes = weight_bytes(bytes_of_weight);
  if (size(threads) <= directions || bytes < 2 * kBytesPerThread) return 1;
  return std::min({size(threads) / directions, most, static_cast<size_t>(bytes / kBytesPerThread)});
}

std::optional<Unary> activation_of(const NodeView& node, std::string_view cell, size_t i) {
  const size_t each = cell == "LSTM" ? 3 : cell == "GRU" ? 2 : 1;
  const bool gate = each > 1 && i % each == 0;
  const Strings* names = node.find<Strings>("activations");
  if (!names || i >= names->size()) return gate ? Unary::sigmoid : Unary::tanh;
  std::string name = (*names)[i];
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (name == "sigmoid" && (gate || each == 1)) return Unary::sigmoid;
  if (name == "tanh" && !gate) return Unary::tanh;
  if (name == "relu" && each == 1) return Unary::relu;
  return std::nullopt;
}

Estimate cell_refusal(const Recurrent& r, const NodeView& node, std::string_view cell) {
  const bool quantized = node.op().starts_with(kQuantized);
  for (size_t i : {0, 1, 2, 3, 5, 6})
    if (node.has_input(i) && node.input_dtype(i) != DType::f32 && !(quantized && (i == 1 || i == 2)))
      return declined("the dtype of input {} is {}, not f32", i, node.input_dtype(i));
  if (node.has_input(7) && !quantized) return declined("there are peepholes");
  if (node.find<float>("clip")) return declined("the gates are clipped");
  if (node.attribute(Attribute<bool>{"input_forget", false})) return declined("the forget gate is coupled to the input gate");
  const Strings* names = node.find<Strings>("activations");
  for (size_t i = 0; names && i < names->size(); ++i)
    if (!activation_of(node, cell, i)) return declined("the activations are not the usual ones");
  if (r.length * r.batch * r.input * r.hidden == 0) return declined("a tensor is empty");
  return Estimate(0);
}

namespace {

/// Seconds of all but the products, and of the products in f32 or 16 bits.
double cells_time(const Recurrent& r, const Device& device) {
  return device.flop_time(static_cast<double>(r.length * r.batch * r.directions * r.slots * r.hidden) * 60) + 1e-6;
}
double products_time(const Recurrent& r, const Device& device, Factors factors) {
  const double rows = static_cast<double>(r.length * r.batch), sums = static_cast<double>(r.directions * r.slots * r.hidden);
  const double steps = static_cast<double>(r.length * r.directions);
  const double speed = 0.85 * speed_of(factors, *cpu_device(device).kernels);
  return device.flop_time(2 * rows * sums * static_cast<double>(r.input), speed) +
         std::max(steps * device.byte_time(r.weight_bytes(factors == Factors::f32 ? 4 : 2)),
                  device.flop_time(2 * rows * sums * static_cast<double>(r.hidden), speed));
}

Estimate estimate_as(const NodeView& node, const Device& device, Factors factors) {
  const Recurrent r(node, node.op());
  if (Estimate refusal = cell_refusal(r, node, node.op()); !refusal.declined.empty()) return refusal;
  const bool low_precision = factors != Factors::f32;
  if (low_precision) {
    if (Estimate refusal = refusal_of(factors, node, device, {1, 2}); !refusal.declined.empty()) return refusal;
    if (!node.is_constant(1) || !node.is_constant(2)) return declined("the weights are not constant");
  }
  return Estimate(products_time(r, device, factors) + cells_time(r, device));
}
template <Factors kFactors>
Estimate estimate(const NodeView& node, const Device& device) {
  return estimate_as(node, device, kFactors);
}
Estimate estimate_bytes(const NodeView& node, const Device& device) {
  const Recurrent r(node, cell_of(node));
  if (Estimate refusal = cell_refusal(r, node, cell_of(node)); !refusal.declined.empty()) return refusal;
  const size_t scales = r.lstm ? 7 : 6;
  for (const size_t i : {size_t{1}, size_t{2}, scales, scales + 1})
    if (!node.is_constant(i)) return declined("input {} is not constant", i);
  if (std::max(r.input, r.hidden) > kMostIntegerDepth)
    return declined("sums of {} products do not fit 32 bits for certain", std::max(r.input, r.hidden));
  const double seconds = byte_products_time(r, device);
  if (best_form(*cpu_device(device).kernels->integer, true, r.hidden) == IntegerForm::words && !device.low_memory &&
      seconds > products_time(r, device, Factors::f32))
    return unavailable("this machine has no products of bytes, and products in f32 take less time");
  return Estimate(seconds + cells_time(r, device));
}

class RecurrentKernel final : public Kernel {
 public:
  /// `bytes`: of minnow.QuantizedLSTM or minnow.QuantizedGRU.
  RecurrentKernel(PrepareContext& context, Factors factors, bool bytes = false)
      : r_(context.node(), cell_of(context.node())),
        title_(context.node().where()),
        kernels_(*cpu_device(context.device()).kernels),
        low_precision_(low_precision_kernels(factors, kernels_)),
        tile_(low_precision_ ? low_precision_->tile : *kernels_.tile),
        input_(low_precision_ ? ceil_div(r_.input, 2) : r_.input),
        hidden_(low_precision_ ? ceil_div(r_.hidden, 2) : r_.hidden),
        lanes_(kernels_.lanes),
        blocks_(ceil_div(r_.hidden, lanes_)),
        whole_blocks_(hidden_ / lanes_),
        width_(blocks_ * r_.slots * lanes_),
        product_(kernels_, {r_.length * r_.batch, r_.input, width_, false, true},
                 MatMul::Options{size(context.device().threads), context.device().l2, low_precision_, SIZE_MAX}, Epilogue{}) {
    for (size_t d = 0; d < r_.directions && r_.gates == 1; ++d)
      activations_[d] = (*kernels_.unary)[*activation_of(context.node(), context.node().op(), d)];
    const auto add = [&](size_t input, std::string_view form, size_t floats, Packed& packed,
                         void (RecurrentKernel::*pack)(const float*, float*, size_t) const noexcept) {
      packed.floats = floats;
      if (!context.node().has_input(input)) return;
      packed.input = input;
      packed.pack = pack;
      const size_t bytes = product_of({r_.directions, floats, sizeof(float)});
      if (context.node().is_constant(input)) {
        const PackingParameters parameters = {
            {"gates", r_.gates}, {"slots", r_.slots}, {"factors", factors}, {"reset before", r_.reset_before}};
        packed.kept = context.packed(input, form, parameters, bytes, [&](const TensorView& view, void* out) {
          std::vector<float> rounded;
          const float* from = view.data<float>();
          if (low_precision_ && input != 3) {
            rounded = low_precision_weights(low_precision_->format, from, r_.directions * r_.gates * r_.hidden,
                                            input == 1 ? r_.input : r_.hidden, 1);
            from = rounded.data();
          }
          for (size_t block = 0; block < r_.directions * blocks_; ++block) (this->*pack)(from, static_cast<float*>(out), block);
        });
      } else {
        packed.offset = context.reserve_scratch(bytes);
      }
    };
    if (!bytes) {
      add(1, "recurrent W", product_.packed_b_floats(), w_, &RecurrentKernel::pack_input_weights);
      add(2, "recurrent R", blocks_ * r_.gates * lanes_ * hidden_, recurrent_, &RecurrentKernel::pack_recurrent_weights);
      units_.reserve(context, r_.directions * product_.units(), product_.scratch_floats());
    }
    if (!kSmall && bytes) bytes_.emplace(context, r_, blocks_);
    add(3, "recurrent B", width_, bias_, &RecurrentKernel::pack_bias);
    chunks_ = r_.parts(context.device().threads, blocks_, bytes ? 1 : low_precision_ ? 2 : 4);
    state_floats_ = product_of({blocks_, r_.batch, lanes_});
    sums_offset_ = context.reserve_scratch(product_of({r_.directions, r_.length, r_.batch, width_, sizeof(float)}));
    // Tiles may read a little beyond the last state.
    state_offset_ =
        context.reserve_scratch(product_of({sum_of({product_of({r_.directions, kStates, state_floats_}), lanes_}), sizeof(float)}));
  }

  void run(RunContext& context) const noexcept override {
    const int32_t* steps = steps_of(context);
    for (size_t b = 0; steps && b < r_.batch; ++b)
      if (steps[b] < 0 || size(steps[b]) > r_.length)
        return context.fail("{}: a sequence length is {}, X has {} steps", title_, steps[b], r_.length);
    for (const Packed* packed : {&w_, &recurrent_, &bias_})
      if (packed->pack && !packed->kept)
        context.parallel_for(r_.directions * blocks_, [&](size_t block) {
          (this->*packed->pack)(context.in<float>(packed->input), context.scratch_at<float>(packed->offset), block);
        });
    multiply_inputs(context);
    for (size_t d = 0; d < r_.directions; ++d) begin(context, d);
    if (chunks_ == 1) {
      context.parallel_for(r_.directions, [&](size_t d) {
        Stop stop;
        for (size_t step = 0; step < r_.length; ++step) {
          if (stop.after(r_.batch * hidden_ * r_.gates * (1 + hidden_ / lanes_))) return;
          round_state(context, d, step % 2);
          if (r_.reset_before) {
            scale_state(context, d, step, 0, blocks_);
            round_state(context, d, 3);
          }
          advance(context, d, step, 0, blocks_);
        }
      });
    } else {
      for (size_t step = 0; step < r_.length && !Watch::stopping(); ++step) {
        const auto share_out = [&](auto&& body) {
          context.parallel_for(r_.directions * chunks_, [&](size_t task) {
            const size_t chunk = task % chunks_;
            body(task / chunks_, share(blocks_, chunks_, chunk), share(blocks_, chunks_, chunk + 1));
          });
        };
        for (size_t d = 0; d < r_.directions; ++d) round_state(context, d, step % 2);
        if (r_.reset_before) {
          share_out([&](size_t d, size_t first, size_t last) { scale_state(context, d, step, first, last); });
          for (size_t d = 0; d < r_.directions; ++d) round_state(context, d, 3);
        }
        share_out([&](size_t d, size_t first, size_t last) { advance(context, d, step, first, last); });
      }
    }
    for (size_t d = 0; d < r_.directions; ++d) end(context, d);
  }

 private:
  // h before and after a step, c, h scaled by the reset gate (GRU) or c before a step that some sequences lack (LSTM), pairs of the next
  // factors.
  static constexpr size_t kStates = 5;

  /// Constants are packed once, others in every run.
  struct Packed {
    size_t input = 0, floats = 0, offset = 0;                                                            // floats of one direction
    void (RecurrentKernel::*pack)(const float* from, float* to, size_t block) const noexcept = nullptr;  // null: there is none
    std::shared_ptr<const void> kept;
    const float* data(const RunContext& context) const noexcept {
      return !pack ? nullptr : kept ? static_cast<const float*>(kept.get()) : context.scratch_at<float>(offset);
    }
  };

  void multiply_inputs(RunContext& context) const noexcept {
    const float *x = context.in<float>(0), *bias = bias_.data(context);
    float* const all = context.scratch_at<float>(sums_offset_);
    if (has_bytes()) return bytes_->multiply_inputs(context, bias, all);
    const float* w = w_.data(context);
    const size_t each = product_.units(), sums = r_.length * r_.batch * width_;
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t d = unit / each;
      product_.run(
          unit % each,
          {x, w + d * product_.packed_b_floats(), bias ? bias + d * width_ : nullptr, nullptr, all + d * sums, &context.overflowed},
          scratch);
    });
  }

  // Packs one vector of units of one direction. Every two slots form a panel [k][lanes of both]; lanes without a row are zero.
  void pack_gates(const float* from, size_t depth, size_t slots, size_t block, float* to) const noexcept {
    const size_t direction = block / blocks_, unit = block % blocks_ * lanes_, units = std::min(lanes_, r_.hidden - unit);
    to += block * slots * lanes_ * depth;
    for (size_t slot = 0; slot < slots; slot += 2) {
      const size_t vectors = std::min<size_t>(2, slots - slot), lanes = vectors * lanes_;
      if (units < lanes_ || slot + vectors > r_.gates) std::fill_n(to, depth * lanes, 0.0f);
      for (size_t v = 0; v < vectors && slot + v < r_.gates; ++v)
        kernels_.layout->transpose(from + ((direction * r_.gates + slot + v) * r_.hidden + unit) * depth, depth, units, depth,
                                   to + v * lanes_, lanes);
      if (low_precision_) low_precision_->arrange_whole(to, depth, vectors, lanes_);
      to += depth * lanes;
    }
  }
  void pack_input_weights(const float* w, float* to, size_t block) const noexcept { pack_gates(w, input_, r_.slots, block, to); }
  void pack_recurrent_weights(const float* r, float* to, size_t block) const noexcept { pack_gates(r, hidden_, r_.gates, block, to); }

  // The biases of both products are added to the inputs' sums, except for the bias of the product that the reset gate scales.
  void pack_bias(const float* b, float* to, size_t block) const noexcept {
    const size_t gates = r_.gates * r_.hidden, unit = block % blocks_ * lanes_;
    const bool gru = r_.gates == 3, scaled = gru && !r_.reset_before;
    b += block / blocks_ * 2 * gates + unit;
    to += block * r_.slots * lanes_;
    for (size_t slot = 0; slot < r_.slots; ++slot)
      for (size_t i = 0; i < lanes_; ++i, ++to) {
        const size_t row = (gru && slot == 3 ? 2 : slot) * r_.hidden + i;
        const bool from_x = slot < r_.gates, from_h = !gru ? from_x : slot < 2 || (slot == 2 ? !scaled : scaled);
        *to = unit + i < r_.hidden ? (from_x ? b[row] : 0) + (from_h ? b[gates + row] : 0) : 0;
      }
  }

  // How many steps each sequence has; null: all have all.
  static const int32_t* steps_of(const RunContext& context) noexcept { return context.has_input(4) ? context.in<int32_t>(4) : nullptr; }
  size_t time_of(size_t direction, size_t step) const noexcept { return r_.reversed || direction == 1 ? r_.length - 1 - step : step; }
  float* state(RunContext& context, size_t direction, size_t which) const noexcept {
    return context.scratch_at<float>(state_offset_) + (direction * kStates + which) * state_floats_;
  }
  size_t row_stride() const noexcept { return r_.batch_first ? r_.length * width_ : width_; }  // between sequences
  CellRows cell(RunContext& context, size_t d, size_t step, size_t block) const noexcept {
    const size_t t = time_of(d, step), row = r_.batch_first ? t : t * r_.batch;
    return {context.scratch_at<float>(sums_offset_) + (d * r_.length * r_.batch + row) * width_ + block * r_.slots * lanes_, row_stride(),
            r_.batch};
  }

  // sums of `vectors` slots += h times a panel of recurrent weights.
  void multiply(RunContext& context, const float* h, const float* w, size_t vectors, float* sums) const noexcept {
    constexpr ptrdiff_t kNoTaps = 0;
    Tile t;
    t.overflowed = &context.overflowed;
    t.taps = &kNoTaps;
    t.blocks = whole_blocks_;
    t.rest = hidden_ - whole_blocks_ * lanes_;
    t.block_stride = static_cast<ptrdiff_t>(r_.batch * lanes_);
    t.vector_stride = static_cast<ptrdiff_t>(lanes_);
    t.pixel_stride = static_cast<ptrdiff_t>(row_stride());
    t.accumulate = true;
    t.w = w;
    t.prefetch = reinterpret_cast<const char*>(w + vectors * lanes_ * hidden_);  // the next weights
    t.prefetch_also = vectors > 1 ? static_cast<ptrdiff_t>(hidden_ * asked_bytes(lanes_)) : 0;
    const size_t most = size(tile_.rows[vectors]), tiles = r_.batch <= most ? 1 : ceil_div(r_.batch, most);
    const size_t pixel = lanes_ / (low_precision_ ? low_precision_->parts : 1);
    for (size_t i = 0, first = 0, last; i < tiles; ++i, first = last) {
      last = tiles == 1 ? r_.batch : share(r_.batch, tiles, i + 1);
      const size_t rows = last - first, half = (rows + 1) / 2;
      t.x[0] = h + first * pixel;
      t.x[1] = t.x[0] + half * pixel;
      t.y[0] = sums + first * row_stride();
      t.y[1] = t.y[0] + half * row_stride();
      tile_.packed[vectors][rows](t);
    }
  }

  const float* recurrent_weights(RunContext& context, size_t d, size_t block) const noexcept {
    return recurrent_.data(context) + d * recurrent_.floats + block * r_.gates * lanes_ * hidden_;
  }

  bool has_bytes() const noexcept { return !kSmall && bytes_; }

  // The part of a state that the next products read.
  void round_state(RunContext& context, size_t d, size_t which) const noexcept {
    if (has_bytes()) return bytes_->round(context, d, state(context, d, which));
    if (!low_precision_) return;
    const size_t plane = r_.batch * lanes_;
    const float* h = state(context, d, which);
    float* to = state(context, d, 4);
    for (size_t block = 0; block < blocks_; block += 2, h += 2 * plane, to += plane)
      low_precision_->pack_pixels(h, block + 1 < blocks_ ? h + plane : nullptr, r_.batch, r_.hidden - block * lanes_, to);
  }
  const float* multiplied(RunContext& context, size_t d, size_t which) const noexcept {
    return state(context, d, low_precision_ ? 4 : which);
  }

  // GRU whose reset gate scales the state: update and reset of some vectors of units.
  void scale_state(RunContext& context, size_t d, size_t step, size_t first, size_t last) const noexcept {
    const float* h = state(context, d, step % 2);
    if (has_bytes())
      bytes_->multiply_states(context, d, ByteProducts::Part::gates, first, last, cell(context, d, step, 0).gates, row_stride());
    for (size_t block = first; block < last; ++block) {
      const CellRows rows = cell(context, d, step, block);
      if (!has_bytes()) multiply(context, multiplied(context, d, step % 2), recurrent_weights(context, d, block), 2, rows.gates);
      const size_t at = block * r_.batch * lanes_;
      kernels_.recurrent->reset(rows, h + at, state(context, d, 3) + at);
    }
  }

  void advance(RunContext& context, size_t d, size_t step, size_t first, size_t last) const noexcept {
    if (has_bytes()) {
      const auto part = r_.reset_before ? ByteProducts::Part::scaled : ByteProducts::Part::all;
      bytes_->multiply_states(context, d, part, first, last, cell(context, d, step, 0).gates, row_stride());
      for (size_t block = first; block < last && r_.batch > 1; ++block) finish(context, d, step, block, 1);
      if (r_.batch == 1) finish(context, d, step, first, last - first);
      return;
    }
    for (size_t i = first; i < last; ++i) {
      // Alternate the direction: if the weights are a little larger than L2, most of the weights that a step needs first are those that the
      // step before it used last.
      const size_t block = step % 2 ? first + last - 1 - i : i;
      float* gates = cell(context, d, step, block).gates;
      const float* w = recurrent_weights(context, d, block);
      const size_t pair = 2 * lanes_ * hidden_;
      if (r_.reset_before) {
        multiply(context, multiplied(context, d, 3), w + pair, 1, gates + 2 * lanes_);
      } else if (r_.gates == 1) {
        multiply(context, multiplied(context, d, step % 2), w, 1, gates);
      } else {
        const float* factor = multiplied(context, d, step % 2);
        multiply(context, factor, w, 2, gates);
        multiply(context, factor, w + pair, r_.lstm ? 2 : 1, gates + (r_.lstm ? 2 : 3) * lanes_);
      }
      if (r_.batch > 1) finish(context, d, step, block, 1);
    }
    if (r_.batch == 1) finish(context, d, step, first, last - first);
  }

  // Computes the cells of some vectors of units. A single sequence has few sums per cell, so one call computes all of its cells: they are
  // independent, and their latencies overlap.
  void finish(RunContext& context, size_t d, size_t step, size_t block, size_t blocks) const noexcept {
    CellRows rows = cell(context, d, step, block);
    if (r_.batch == 1) rows.gate_stride = r_.slots * lanes_, rows.rows = blocks;
    const size_t t = time_of(d, step);
    KeptGates kept_gates{};
    const size_t gates_output = r_.lstm ? 3 : 2;
    if (kGradients && r_.gates > 1 && (context.has_output(gates_output) || context.has_output(4))) {
      const size_t width = 4 * r_.hidden, row = (d * r_.length + t) * r_.batch;
      const bool one = r_.batch == 1;
      kept_gates = {context.has_output(gates_output) ? context.out<float>(gates_output) + row * width + block * lanes_ : nullptr,
                    r_.lstm && context.has_output(4) ? context.out<float>(4) + row * r_.hidden + block * lanes_ : nullptr,
                    r_.hidden,
                    one ? lanes_ : width,
                    one ? lanes_ : r_.hidden,
                    r_.hidden - block * lanes_,
                    one ? lanes_ : 0};
      rows.kept = &kept_gates;
    }
    const size_t at = block * r_.batch * lanes_, floats = rows.rows * lanes_;
    const float* h = state(context, d, step % 2) + at;
    float *next = state(context, d, (step + 1) % 2) + at, *c = state(context, d, 2) + at, *kept = state(context, d, 3) + at;
    // A sequence that has ended, or, read backwards, not begun, keeps its state.
    const size_t count = std::min(blocks * lanes_, r_.hidden - block * lanes_), each = blocks * lanes_;
    const int32_t* steps = steps_of(context);
    if (steps && r_.lstm) std::memcpy(kept, c, floats * sizeof(float));
    if (r_.lstm)
      kernels_.recurrent->lstm(rows, c, next);
    else if (r_.gates == 1)
      for (size_t i = 0; i < rows.rows; ++i) activations_[d](rows.gates + i * rows.gate_stride, next + i * lanes_, lanes_, 0, 0);
    else
      kernels_.recurrent->gru(rows, h, next);
    // The last vector of units where it is not whole.
    if (const size_t rest = r_.hidden % lanes_; kGradients && rows.kept && rest && block + blocks == blocks_)
      for (size_t b = 0; b < r_.batch; ++b) {
        const size_t last = (blocks - 1) * lanes_;
        const float* from = rows.gates + (r_.batch == 1 ? blocks - 1 : b) * rows.gate_stride;
        for (size_t g = 0; g < 4 && kept_gates.gates; ++g)
          std::memcpy(kept_gates.gates + (b * 4 + g) * r_.hidden + last, from + g * lanes_, rest * sizeof(float));
        if (kept_gates.c) std::memcpy(kept_gates.c + b * r_.hidden + last, c + b * each + last, rest * sizeof(float));
      }
    for (size_t b = 0; steps && b < r_.batch; ++b) {
      if (t < size(steps[b])) continue;
      std::memcpy(next + b * each, h + b * each, each * sizeof(float));
      if (r_.lstm) std::memcpy(c + b * each, kept + b * each, each * sizeof(float));
      if (!kGradients) continue;
      for (size_t g = 0; g < 4 && kept_gates.gates; ++g) std::fill_n(kept_gates.gates + b * 4 * r_.hidden + g * r_.hidden, count, 0.0f);
      if (kept_gates.c) std::fill_n(kept_gates.c + b * r_.hidden, count, 0.0f);
    }
    if (!context.has_output(0)) return;
    for (size_t b = 0; b < r_.batch; ++b) {
      const size_t place = r_.batch_first ? (b * r_.length + t) * r_.directions + d : (t * r_.directions + d) * r_.batch + b;
      float* y = context.out<float>(0) + place * r_.hidden + block * lanes_;
      if (steps && t >= size(steps[b]))
        std::fill_n(y, count, 0.0f);
      else
        std::memcpy(y, next + b * each, count * sizeof(float));
    }
  }

  // The position of one sequence and direction in the inputs and outputs that hold states.
  size_t state_place(size_t d, size_t b) const noexcept { return (r_.batch_first ? b * r_.directions + d : d * r_.batch + b) * r_.hidden; }

  void begin(RunContext& context, size_t d) const noexcept {
    std::fill_n(state(context, d, 0), kStates * state_floats_, 0.0f);
    if (has_bytes()) bytes_->begin(context, d);
    for (size_t input : {size_t{5}, size_t{6}}) {
      if (!context.has_input(input) || (input == 6 && !r_.lstm)) continue;  // input 6 of minnow.QuantizedGRU is a scale
      float* to = state(context, d, input == 5 ? 0 : 2);
      const int32_t* steps = steps_of(context);
      for (size_t b = 0; b < r_.batch; ++b)
        for (size_t i = 0; i < r_.hidden && !(steps && steps[b] == 0); ++i)  // an empty sequence ends in states of zeros
          to[(i / lanes_ * r_.batch + b) * lanes_ + i % lanes_] = context.in<float>(input)[state_place(d, b) + i];
    }
  }
  void end(RunContext& context, size_t d) const noexcept {
    for (size_t output : {size_t{1}, size_t{2}}) {
      if (!context.has_output(output) || (output == 2 && !r_.lstm)) continue;
      const float* from = state(context, d, output == 1 ? r_.length % 2 : 2);
      for (size_t b = 0; b < r_.batch; ++b)
        for (size_t i = 0; i < r_.hidden; ++i)
          context.out<float>(output)[state_place(d, b) + i] = from[(i / lanes_ * r_.batch + b) * lanes_ + i % lanes_];
    }
  }

  Recurrent r_;
  std::string title_;
  const Kernels& kernels_;
  const LowPrecisionKernels* low_precision_;  // null: f32
  const TileKernels& tile_;
  size_t input_, hidden_;                         // that are multiplied: floats, or pairs
  size_t lanes_, blocks_, whole_blocks_, width_;  // blocks: vectors of units; whole ones of what is multiplied
  MatMul product_;
  Packed w_, recurrent_, bias_;
  UnaryFunction activations_[2] = {};  // of an RNN, by direction
  OptionalUnlessSmall<ByteProducts> bytes_;
  size_t state_floats_ = 0, chunks_ = 1, sums_offset_ = 0, state_offset_ = 0;
  Units units_;
};

template <Factors kFactors>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<RecurrentKernel>(context, kFactors);
}
std::unique_ptr<Kernel> prepare_bytes(PrepareContext& context) { return std::make_unique<RecurrentKernel>(context, Factors::f32, true); }

constexpr Scheme kSchemes[] = {
    {"GRU", "recurrent", estimate<Factors::f32>, prepare<Factors::f32>},
    {"LSTM", "recurrent", estimate<Factors::f32>, prepare<Factors::f32>},
    {"RNN", "recurrent", estimate<Factors::f32>, prepare<Factors::f32>},
    {"minnow.QuantizedGRU", "recurrent.bytes", estimate_bytes, prepare_bytes, kLargeOnly},
    {"minnow.QuantizedLSTM", "recurrent.bytes", estimate_bytes, prepare_bytes, kLargeOnly},
    {"GRU", "recurrent.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"LSTM", "recurrent.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"RNN", "recurrent.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"GRU", "recurrent.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
    {"LSTM", "recurrent.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
    {"RNN", "recurrent.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
};

}  // namespace

std::span<const Scheme> recurrent_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
