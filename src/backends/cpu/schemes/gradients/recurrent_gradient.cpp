// SPDX-License-Identifier: Apache-2.0
// Back through the steps of an LSTM, a GRU or an RNN, from the gates that the forward pass has kept, or, for an LSTM, that are computed
// again for a span of steps: the states before all steps are known, so that they are two products. A step multiplies the gradients of its
// sums by R; the products with inputs, and those that give the gradients of weights, are one for a span of steps, after the last of them.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/recurrent.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {

namespace {

enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kP, kY, kGates, kCells, kOfY, kOfH, kOfC };
enum Output : size_t { kToX, kToW, kToR, kToB, kToH, kToC };

std::string_view cell_of(const NodeView& node) { return node.attribute(Attribute<Name>{"cell", ""}); }

Estimate estimate(const NodeView& node, const Device& device) {
  const Recurrent r(node, cell_of(node));
  if (Estimate refusal = cell_refusal(r, node, cell_of(node)); !refusal.declined.empty()) return refusal;
  if (r.reset_before) return declined("the reset gate scales the state");
  for (const size_t input : {kY, kGates, kCells, kOfY, kOfH, kOfC}) {
    if (node.has_input(input) && node.input_dtype(input) != DType::f32) return declined("the dtype is not f32");
    if (!node.has_input(input) && (input == kY || (input == kGates && r.gates == 3) || (input == kCells && r.lstm)))
      return declined("the forward pass has not kept what the gradient needs");
  }
  const double rows = static_cast<double>(r.length * r.batch * r.directions), width = static_cast<double>(r.gates * r.hidden);
  const double products = r.lstm && !node.has_input(kGates) ? 6 : 4;
  return Estimate(device.flop_time(products * rows * width * static_cast<double>(r.input + r.hidden), 0.85) +
                  device.flop_time(rows * width * 30) + device.byte_time(16 * rows * width) + static_cast<double>(r.length) * 2e-6);
}

class RecurrentGradientKernel final : public Kernel {
 public:
  explicit RecurrentGradientKernel(PrepareContext& context)
      : r_(context.node(), cell_of(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        width_(r_.gates * r_.hidden),
        lanes_(kernels_.lanes),
        blocks_(ceil_div(r_.hidden, lanes_)),
        plane_(r_.batch * lanes_),
        // Rows of a span lie side by side only if steps come first; two directions add to the same rows in different spans.
        span_(r_.directions > 1 || (r_.batch_first && r_.batch > 1)
                  ? r_.length
                  : std::min(r_.length, std::max<size_t>(1, kRowsOfSpan / std::max<size_t>(1, r_.batch)))),
        makes_gates_(r_.lstm && !context.node().has_input(kGates)),
        whole_(*this, span_ * r_.batch, context),
        rest_(*this, (span_ ? r_.length % span_ : 0) * r_.batch, context) {
    const RecurrentKernels& k = *kernels_.recurrent;
    for (size_t d = 0; d < r_.directions; ++d)
      back_[d] = r_.lstm                                                   ? k.lstm_back
                 : r_.gates == 3                                           ? k.gru_back
                 : *activation_of(context.node(), "RNN", d) == Unary::relu ? k.relu_back
                                                                           : k.tanh_back;
    const auto reserve = [&](std::initializer_list<size_t> factors) {
      size_t floats = sizeof(float);
      for (const size_t factor : factors) floats = product_of({floats, factor});
      return context.reserve_scratch(floats);
    };
    weights_ = reserve({r_.directions, r_.gates * blocks_ * lanes_, blocks_ * lanes_});
    rows_ = span_ * r_.batch;
    sums_ = reserve({r_.directions, r_.gates == 3 ? size_t{2} : size_t{1}, rows_, width_});
    before_ = reserve({r_.directions, rows_, r_.hidden});
    // Tiles may read a little beyond the last vector.
    factors_ = reserve({sum_of({product_of({r_.directions, 2, r_.gates, blocks_, plane_}), lanes_})});
    states_ = reserve({r_.directions, 2, blocks_, plane_});
    bias_ = reserve({r_.directions, 2, r_.gates, blocks_, lanes_});
    zeros_ = reserve({blocks_, lanes_});
    if (makes_gates_) {
      gates_ = reserve({r_.directions, rows_, width_});
      gate_bias_ = reserve({whole_.gates_of_x.bias_floats()});
    }
    size_t packed = 0, units = 0, floats = 0;
    for (const Products* products : {&whole_, &rest_})
      for (const MatMul* product : {&products->of_x, &products->of_w, &products->of_r, &products->gates_of_x, &products->gates_of_r}) {
        if (!makes_gates_ && (product == &products->gates_of_x || product == &products->gates_of_r)) continue;
        packed = std::max(packed, product->packed_b_floats());
        units = std::max(units, product->units());
        floats = std::max(floats, product->scratch_floats());
      }
    packed_ = reserve({packed});
    chunks_ = r_.parts(context.device().threads, ceil_div(blocks_, kPair));
    units_.reserve(context, units, floats);
  }

  void run(RunContext& context) const noexcept override {
    const size_t panels = ceil_div(blocks_, kPair);
    context.parallel_for(r_.directions * panels, [&](size_t task) { pack_panel(context, task / panels, task % panels); });
    std::fill_n(context.scratch_at<float>(zeros_), blocks_ * lanes_, 0.0f);
    for (size_t d = 0; d < r_.directions; ++d) begin(context, d);
    size_t first = 0;
    do {
      const size_t last = std::min(first + span_, r_.length);
      for (size_t d = 0; d < r_.directions && makes_gates_; ++d) make_gates(context, d, first, last);
      go_through(context, first, last + (last == r_.length && context.has_output(kToH)), panels);
      if (last == r_.length)
        for (size_t d = 0; d < r_.directions; ++d) end(context, d);
      for (size_t d = 0; d < r_.directions; ++d) multiply_all(context, d, first, last);
      first = last;
    } while (first < r_.length && !Watch::stopping());
  }

 private:
  static constexpr size_t kPair = 2;          // vectors of a panel
  static constexpr size_t kRowsOfSpan = 256;  // enough for products that read and write the gradients of the weights once for each span

  /// The products of as many rows of sums.
  struct Products {
    Products(const RecurrentGradientKernel& k, size_t rows, const PrepareContext& context)
        : of_x(k.kernels_, {rows, k.width_, k.r_.input, false, false}, options(context), Epilogue{}),
          of_w(k.kernels_, {k.width_, rows, k.r_.input, true, false}, options(context), Epilogue{}),
          of_r(k.kernels_, {k.width_, rows, k.r_.hidden, true, false}, options(context), Epilogue{}),
          gates_of_x(k.kernels_, {rows, k.r_.input, k.width_, false, true}, options(context, SIZE_MAX), Epilogue{}),
          gates_of_r(k.kernels_, {rows, k.r_.hidden, k.width_, false, true}, options(context, SIZE_MAX), Epilogue{}) {}
    MatMul of_x, of_w, of_r, gates_of_x, gates_of_r;
  };

  /// Steps [first, until) of the way back. Step i of a panel multiplies the gradients that step i - 1 of all panels has made.
  void go_through(RunContext& context, size_t first, size_t until, size_t panels) const noexcept {
    const auto advance = [&](size_t d, size_t i, size_t from, size_t to) {
      for (size_t panel = from; panel < to; ++panel) {
        if (i > 0) multiply(context, d, i, panel);
        if (i < r_.length)
          for (size_t block = panel * kPair; block < std::min(blocks_, (panel + 1) * kPair); ++block) go_back(context, d, i, block);
      }
    };
    if (chunks_ == 1) {
      context.parallel_for(r_.directions, [&](size_t d) {
        Stop stop;
        for (size_t i = first; i < until; ++i) {
          if (stop.after(r_.batch * width_ * (1 + r_.hidden / lanes_))) return;
          advance(d, i, 0, panels);
        }
      });
    } else {
      for (size_t i = first; i < until && !Watch::stopping(); ++i)
        context.parallel_for(r_.directions * chunks_, [&](size_t task) {
          const size_t chunk = task % chunks_;
          advance(task / chunks_, i, share(panels, chunks_, chunk), share(panels, chunks_, chunk + 1));
        });
    }
  }

  /// The gates of steps [first, last) of the way back. Sums are those of the forward pass, in its order: the bias, inputs, states.
  void make_gates(RunContext& context, size_t d, size_t first, size_t last) const noexcept {
    const Products& products = last - first == span_ ? whole_ : rest_;
    const size_t row = first_time(d, first, last) * r_.batch;  // 0 where rows do not begin with the time
    float *sums = gates(context, d), *bias = nullptr;
    if (context.has_input(kB)) {
      bias = context.scratch_at<float>(gate_bias_);
      const float* b = context.in<float>(kB) + d * 2 * width_;
      std::fill(std::copy(b, b + width_, bias), bias + products.gates_of_x.bias_floats(), 0.0f);
      for (size_t i = 0; i < width_; ++i) bias[i] += b[width_ + i];
    }
    multiply(context, products.gates_of_x, context.in<float>(kW) + d * width_ * r_.input,
             {.a = context.in<float>(kX) + row * r_.input, .b = nullptr, .bias = bias, .add = nullptr, .y = sums});
    context.parallel_for(r_.batch, [&](size_t b) { copy_states_before(context, d, b, first, last); });
    multiply(context, products.gates_of_r, context.in<float>(kR) + d * width_ * r_.hidden,
             {.a = before(context, d), .b = nullptr, .bias = nullptr, .add = nullptr, .y = sums, .goes_on = true});
    context.parallel_for((last - first) * r_.batch, [&](size_t i) { kernels_.recurrent->lstm_gates(sums + i * width_, r_.hidden); });
  }

  /// The products with the gradients of the sums of steps [first, last) of the way back.
  void multiply_all(RunContext& context, size_t d, size_t first, size_t last) const noexcept {
    const Products& products = last - first == span_ ? whole_ : rest_;
    const size_t row = first_time(d, first, last) * r_.batch;  // 0 where rows do not begin with the time
    if (context.has_output(kToX))
      multiply(context, products.of_x, sums(context, d, 0), context.in<float>(kW) + d * width_ * r_.input, d > 0,
               context.out<float>(kToX) + row * r_.input);
    if (context.has_output(kToW))
      multiply(context, products.of_w, sums(context, d, 0), context.in<float>(kX) + row * r_.input, first > 0,
               context.out<float>(kToW) + d * width_ * r_.input);
    if (context.has_output(kToR)) {
      if (!makes_gates_) context.parallel_for(r_.batch, [&](size_t b) { copy_states_before(context, d, b, first, last); });
      multiply(context, products.of_r, sums(context, d, r_.gates == 3), before(context, d), first > 0,
               context.out<float>(kToR) + d * width_ * r_.hidden);
    }
  }

  static MatMul::Options options(const PrepareContext& context, size_t depth = MatMul::Options().depth) {
    return {static_cast<size_t>(context.device().threads), context.device().l2, nullptr, depth};
  }

  float* sums(const RunContext& context, size_t d, size_t which) const noexcept {
    return context.scratch_at<float>(sums_) + (d * (r_.gates == 3 ? 2 : 1) + which) * rows_ * width_;
  }
  float* gates(const RunContext& context, size_t d) const noexcept { return context.scratch_at<float>(gates_) + d * rows_ * width_; }
  float* before(const RunContext& context, size_t d) const noexcept { return context.scratch_at<float>(before_) + d * rows_ * r_.hidden; }
  float* factors(const RunContext& context, size_t d, size_t i) const noexcept {
    return context.scratch_at<float>(factors_) + (d * 2 + i % 2) * r_.gates * blocks_ * plane_;
  }
  float* state(const RunContext& context, size_t d, size_t which) const noexcept {
    return context.scratch_at<float>(states_) + (d * 2 + which) * blocks_ * plane_;
  }
  float* bias(const RunContext& context, size_t d, size_t which) const noexcept {
    return context.scratch_at<float>(bias_) + (d * 2 + which) * r_.gates * blocks_ * lanes_;
  }
  bool is_reversed(size_t d) const noexcept { return r_.reversed || d == 1; }
  /// The time of step i of the way back.
  size_t time_of(size_t d, size_t i) const noexcept { return is_reversed(d) ? i : r_.length - 1 - i; }
  /// The earliest time of steps [first, last) of the way back.
  size_t first_time(size_t d, size_t first, size_t last) const noexcept { return is_reversed(d) ? first : r_.length - last; }
  /// The earliest time of the span that has step i.
  size_t span_time(size_t d, size_t i) const noexcept {
    const size_t first = i / span_ * span_;
    return first_time(d, first, std::min(first + span_, r_.length));
  }
  size_t row_of(size_t t, size_t b) const noexcept { return r_.batch_first ? b * r_.length + t : t * r_.batch + b; }
  size_t state_place(size_t d, size_t b) const noexcept { return (r_.batch_first ? b * r_.directions + d : d * r_.batch + b) * r_.hidden; }
  /// For Y and its gradient: [steps, directions, batch, hidden] or [batch, steps, directions, hidden].
  size_t y_place(size_t d, size_t t, size_t b) const noexcept {
    return (r_.batch_first ? (b * r_.length + t) * r_.directions + d : (t * r_.directions + d) * r_.batch + b) * r_.hidden;
  }

  /// Two vectors of columns of R: [gate][unit][columns], with zeros where there is no unit or no column.
  void pack_panel(RunContext& context, size_t d, size_t panel) const noexcept {
    const size_t first = panel * kPair * lanes_, lanes = std::min(kPair, blocks_ - panel * kPair) * lanes_;
    const size_t columns = std::min(lanes, r_.hidden - first), depth = r_.gates * blocks_ * lanes_;
    const float* r = context.in<float>(kR) + d * width_ * r_.hidden + first;
    float* to = context.scratch_at<float>(weights_) + d * depth * blocks_ * lanes_ + depth * first;
    for (size_t gate = 0; gate < r_.gates; ++gate)
      for (size_t unit = 0; unit < blocks_ * lanes_; ++unit, to += lanes) {
        const size_t copied = unit < r_.hidden ? columns : 0;
        if (copied) std::memcpy(to, r + (gate * r_.hidden + unit) * r_.hidden, copied * sizeof(float));
        std::fill(to + copied, to + lanes, 0.0f);
      }
  }

  void begin(RunContext& context, size_t d) const noexcept {
    std::fill_n(state(context, d, 0), 2 * blocks_ * plane_, 0.0f);
    std::fill_n(bias(context, d, 0), 2 * r_.gates * blocks_ * lanes_, 0.0f);
    for (const size_t input : {kOfH, kOfC})
      for (size_t b = 0; context.has_input(input) && b < r_.batch; ++b)
        for (size_t i = 0; i < r_.hidden; ++i)
          state(context, d, input == kOfC)[i / lanes_ * plane_ + b * lanes_ + i % lanes_] = context.in<float>(input)[state_place(d, b) + i];
  }

  /// Adds the products with the gradients of the last step to the gradients of the states.
  void multiply(RunContext& context, size_t d, size_t i, size_t panel) const noexcept {
    constexpr ptrdiff_t kNoTaps = 0;
    const size_t vectors = std::min(kPair, blocks_ - panel * kPair), depth = r_.gates * blocks_ * lanes_;
    const float* from = factors(context, d, i - 1);
    float* to = state(context, d, 0) + panel * kPair * plane_;
    Tile t;
    t.taps = &kNoTaps;
    t.blocks = r_.gates * blocks_;
    t.block_stride = static_cast<ptrdiff_t>(plane_);
    t.vector_stride = static_cast<ptrdiff_t>(plane_);
    t.pixel_stride = static_cast<ptrdiff_t>(lanes_);
    t.accumulate = true;
    t.w = context.scratch_at<float>(weights_) + depth * (d * blocks_ + panel * kPair) * lanes_;
    t.prefetch = reinterpret_cast<const char*>(t.w + depth * vectors * lanes_);
    const size_t most = static_cast<size_t>(kernels_.tile->rows[vectors]), tiles = ceil_div(r_.batch, most);
    for (size_t tile = 0; tile < tiles; ++tile) {
      const size_t first = share(r_.batch, tiles, tile), rows = share(r_.batch, tiles, tile + 1) - first, half = (rows + 1) / 2;
      t.x[0] = from + first * lanes_;
      t.x[1] = t.x[0] + half * lanes_;
      t.y[0] = to + first * lanes_;
      t.y[1] = t.y[0] + half * lanes_;
      kernels_.tile->packed[vectors][rows](t);
      t.prefetch = nullptr;
    }
  }

  /// The gradients of the sums of one step and one vector of units.
  void go_back(RunContext& context, size_t d, size_t i, size_t block) const noexcept {
    const size_t t = time_of(d, i), unit = block * lanes_, kept = 4 * r_.hidden;
    const auto step = [&](size_t time) { return (d * r_.length + time) * r_.batch; };  // of what the forward pass has kept
    const bool is_first = i + 1 == r_.length;
    const size_t earlier = is_first ? 0 : time_of(d, i + 1);
    const size_t y_row = r_.batch_first ? r_.length * r_.directions * r_.hidden : r_.hidden;
    const size_t state_row = r_.batch_first ? r_.directions * r_.hidden : r_.hidden;
    CellBack c{};
    const size_t place = row_of(t - span_time(d, i), 0) * width_ + unit, row = r_.batch_first ? r_.length * width_ : width_;
    if (makes_gates_)
      c.gates = gates(context, d) + place, c.of_rows.gates = row;
    else if (r_.gates > 1)
      c.gates = context.in<float>(kGates) + step(t) * kept + unit, c.of_rows.gates = kept;
    c.gate = r_.hidden;
    const size_t initial = r_.lstm ? kInitialC : kInitialH;
    c.initial = context.scratch_at<float>(zeros_) + unit;
    if (context.has_input(initial)) c.initial = context.in<float>(initial) + state_place(d, 0) + unit, c.of_rows.initial = state_row;
    if (r_.lstm) {
      c.after = context.in<float>(kCells) + step(t) * r_.hidden + unit, c.of_rows.after = r_.hidden;
      c.before = is_first ? nullptr : context.in<float>(kCells) + step(earlier) * r_.hidden + unit, c.of_rows.before = r_.hidden;
    } else {
      c.after = context.in<float>(kY) + y_place(d, t, 0) + unit, c.of_rows.after = y_row;
      c.before = is_first ? nullptr : context.in<float>(kY) + y_place(d, earlier, 0) + unit, c.of_rows.before = y_row;
    }
    c.of_y = context.scratch_at<float>(zeros_) + unit;
    if (context.has_input(kOfY)) c.of_y = context.in<float>(kOfY) + y_place(d, t, 0) + unit, c.of_rows.y = y_row;
    c.of_x = sums(context, d, 0) + place, c.of_r = sums(context, d, r_.gates == 3) + place;
    c.of_rows.sums = row;
    c.of_h = state(context, d, 0) + block * plane_, c.of_c = state(context, d, 1) + block * plane_;
    c.factors = factors(context, d, i) + block * plane_, c.factor = blocks_ * plane_;
    c.of_bias_x = bias(context, d, 0) + unit, c.of_bias_r = bias(context, d, 1) + unit, c.bias = blocks_ * lanes_;
    if (context.has_input(kLengths)) c.lengths = context.in<int32_t>(kLengths);
    c.time = static_cast<int32_t>(t), c.time_before = static_cast<int32_t>(earlier), c.rows = r_.batch;
    if (r_.hidden - unit >= lanes_)
      back_[d](c);
    else
      go_back_by_rows(c, d, r_.hidden - unit);
  }

  /// The same for fewer units than a vector has.
  void go_back_by_rows(const CellBack& all, size_t d, size_t units) const noexcept {
    constexpr size_t kGatesAt = 0, kAfterAt = 4, kBeforeAt = 5, kInitialAt = 6, kYAt = 7, kXAt = 8, kRAt = 12, kAll = 16;
    constexpr size_t kMostLanes = 16;
    float vectors[kAll * kMostLanes] = {};
    const auto at = [&](size_t which) { return vectors + which * lanes_; };
    const auto copy = [&](float* to, const float* from) { std::memcpy(to, from, units * sizeof(float)); };
    CellBack one = all;
    one.gates = at(kGatesAt), one.after = at(kAfterAt), one.before = all.before ? at(kBeforeAt) : nullptr, one.initial = at(kInitialAt);
    one.of_y = at(kYAt), one.of_x = at(kXAt), one.of_r = at(kRAt), one.gate = lanes_, one.rows = 1;
    for (size_t row = 0; row < all.rows; ++row) {
      for (size_t g = 0; all.gates && g < 4; ++g) copy(at(kGatesAt + g), all.gates + row * all.of_rows.gates + g * all.gate);
      copy(at(kAfterAt), all.after + row * all.of_rows.after);
      if (all.before) copy(at(kBeforeAt), all.before + row * all.of_rows.before);
      copy(at(kInitialAt), all.initial + row * all.of_rows.initial);
      copy(at(kYAt), all.of_y + row * all.of_rows.y);
      back_[d](one);
      for (size_t g = 0; g < r_.gates; ++g) {
        copy(all.of_x + row * all.of_rows.sums + g * all.gate, at(kXAt + g));
        if (r_.gates == 3) copy(all.of_r + row * all.of_rows.sums + g * all.gate, at(kRAt + g));
      }
      one.of_h += lanes_, one.of_c += lanes_, one.factors += lanes_;
      if (one.lengths) ++one.lengths;
    }
  }

  bool runs(const RunContext& context, size_t t, size_t b) const noexcept {
    return !context.has_input(kLengths) || static_cast<int64_t>(t) < context.in<int32_t>(kLengths)[b];
  }

  void copy_states_before(RunContext& context, size_t d, size_t b, size_t first, size_t last) const noexcept {
    const size_t from = first_time(d, first, last);
    for (size_t t = from; t < from + last - first; ++t) {
      float* to = before(context, d) + row_of(t - from, b) * r_.hidden;
      const size_t earlier = is_reversed(d) ? t + 1 : t - 1;
      if (earlier < r_.length && runs(context, earlier, b))
        std::memcpy(to, context.in<float>(kY) + y_place(d, earlier, b), r_.hidden * sizeof(float));
      else if (context.has_input(kInitialH))
        std::memcpy(to, context.in<float>(kInitialH) + state_place(d, b), r_.hidden * sizeof(float));
      else
        std::fill_n(to, r_.hidden, 0.0f);
    }
  }

  void end(RunContext& context, size_t d) const noexcept {
    for (const size_t output : {kToH, kToC})
      for (size_t b = 0; context.has_output(output) && b < r_.batch; ++b)
        for (size_t i = 0; i < r_.hidden; ++i)  // an empty sequence does not read its states
          context.out<float>(output)[state_place(d, b) + i] =
              runs(context, 0, b) ? state(context, d, output == kToC)[i / lanes_ * plane_ + b * lanes_ + i % lanes_] : 0;
    if (!context.has_output(kToB)) return;
    for (size_t which = 0; which < 2; ++which)
      for (size_t gate = 0; gate < r_.gates; ++gate)
        std::memcpy(context.out<float>(kToB) + (d * 2 + which) * width_ + gate * r_.hidden,
                    bias(context, d, r_.gates == 3 ? which : 0) + gate * blocks_ * lanes_, r_.hidden * sizeof(float));
  }

  void multiply(RunContext& context, const MatMul& product, const float* a, const float* b, bool adds, float* y) const noexcept {
    multiply(context, product, b, {a, nullptr, nullptr, adds ? y : nullptr, y});
  }
  void multiply(RunContext& context, const MatMul& product, const float* b, MatMul::Arguments arguments) const noexcept {
    float* packed = context.scratch_at<float>(packed_);
    context.parallel_for(product.panels(), [&](size_t panel) { product.pack_b(panel, b, 1, packed); });
    arguments.b = packed;
    units_.run(context, 0, product.units(),
               [&](size_t unit, float* scratch, size_t before) { product.run(unit, arguments, scratch, before); });
  }

  Recurrent r_;
  const Kernels& kernels_;
  size_t width_, rows_ = 0;        // of the sums of one direction in a span
  size_t lanes_, blocks_, plane_;  // vectors of units; floats of one vector of all sequences
  size_t span_;                    // steps whose gradients of sums are kept until they are multiplied
  bool makes_gates_;
  Products whole_, rest_;
  void (*back_[2])(const CellBack&) = {};                                                                  // by direction
  size_t weights_, sums_, before_, factors_, states_, bias_, zeros_, packed_, gates_ = 0, gate_bias_ = 0;  // of scratch
  size_t chunks_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<RecurrentGradientKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.RecurrentGradient", "recurrent_gradient", estimate, prepare}};

}  // namespace

std::span<const Scheme> recurrent_gradient_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
