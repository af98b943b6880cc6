// SPDX-License-Identifier: Apache-2.0
// Recurrent layers. One function computes a step, for single steps and for sequences (a Scan); plain LSTMs in single precision become
// LSTM, and those of 8-bit data with 16-bit cells FixedPointLstm (fixed_point_lstm.cpp). Other integer layers round where the format's
// kernels do: gates and their activations to 16 bits, the cell and the hidden state to the dtypes of their tensors.
#include <algorithm>
#include <cmath>
#include <functional>

#include "importers/tflite/rules.h"

#include "importers/builder/arithmetic.h"

namespace minnow::tflite {
namespace {

/// One step: (x, states) -> states, then the output.
using Step = std::function<Exprs(TypedBuilder& p, const Expr& x, const Exprs& states)>;

/// Runs a step along the first dimension of `x`. Returns the final states, then the outputs stacked along the first dimension.
Exprs scan(TypedBuilder& p, const Expr& x, const Exprs& states, bool backward, const Step& step) {
  InnerGraph body(p);
  Exprs inputs, given = states;
  for (size_t i = 0; i <= states.size(); ++i) {
    const bool is_x = i == states.size();
    ValueType type = ValueType::tensor(p.dtype(is_x ? x : states[i]));
    const int64_t rank = p.rank(is_x ? x : states[i]);
    if (rank >= 0) {
      type.dims.emplace();
      for (int64_t k = is_x ? 1 : 0; k < rank; ++k) type.dims->push_back(Dim{p.dim(is_x ? x : states[i], k), {}});
    }
    inputs.push_back(body.builder.wrap(&body.graph->add_input(is_x ? "x" : "state" + std::to_string(i), std::move(type))));
  }
  given.push_back(x);
  const Expr x_step = inputs.back();
  inputs.pop_back();
  const Exprs results = step(body.builder, x_step, inputs);
  for (const Expr& result : results) body.graph->add_output(*body.builder.own(result).value());
  Attributes attributes{{"body", Subgraph(body.graph)}, {"num_scan_inputs", int64_t{1}}};
  if (backward) attributes.set("scan_input_directions", Ints{1}), attributes.set("scan_output_directions", Ints{1});
  Exprs made = p.ops("Scan", given, results.size(), std::move(attributes));
  for (size_t i = 0; i < states.size(); ++i)
    if (!made[i].value()->type.dims) made[i].value()->type.dims = states[i].value()->type.dims;
  if (!made.back().value()->type.dims && results.back().value()->type.dims)
    made.back().value()->type.dims = std::vector<Dim>(results.back().value()->type.dims->size() + 1);
  return made;
}

/// [batch, time, ...] <-> [time, batch, ...]
Expr turned(TypedBuilder& p, const Expr& x) { return p.transpose(x, {1, 0, 2}); }

Expr product(TypedBuilder& p, const Expr& x, const Expr& weights) {
  return p.op("MatMul", {x, p.op("Transpose", {weights}, {{"perm", Ints{1, 0}}})});
}

/// How numbers are rounded before they are multiplied with weights: with 8-bit weights to 8 bits, with a scale for each row.
struct Rounding {
  bool rounds = false, symmetric = true;
  Rounding() = default;
  /// `w`: weights among the inputs; `option`: the field that says whether rows are rounded symmetrically.
  Rounding(const TfliteNode& node, size_t w, size_t option)
      : rounds(node.input_info(0).dtype == DType::f32 && node.input_info(w).quantized() && is_integer(node.input_info(w).dtype)),
        symmetric(!node.flag(option)) {}
  Expr operator()(TypedBuilder& p, const Expr& x) const { return rounds ? rounded_by_item(p, x, symmetric) : x; }
};

/// Quantizes a state's real values as the state is stored.
Expr stored(TypedBuilder& p, const Expr& real, const TensorInfo& as) { return as.quantized() ? quantize(p, real, as) : real; }

struct Lstm {
  // Gates in the order input, forget, cell, output; absent ones are empty.
  Expr w[4], r[4], peephole[4], bias[4], norm[4], projection, projection_bias;
  bool integers = false;
  const TensorInfo *cell = nullptr, *output = nullptr;  // integers: how the states are stored
  const TensorInfo* hidden = nullptr;                   // integers, before a projection
  int64_t activation = 4;
  float cell_clip = 0, projection_clip = 0;
  Rounding rounding;

  bool coupled() const { return !w[0]; }
  bool is_plain() const {
    bool plain = !integers && !rounding.rounds && !coupled() && activation == 4 && cell_clip <= 0 && !projection;
    for (size_t gate = 0; gate < 4; ++gate) plain = plain && !norm[gate] && !peephole[gate];
    return plain;
  }

  Exprs step(const TfliteNode& node, TypedBuilder& p, const Expr& x, const Expr& h, const Expr& c) const {
    const auto round_gate = [&](const Expr& y) { return integers ? rounded_with(p, y, 1.0f / 4096, 0, DType::i16) : y; };
    const auto round_unit = [&](const Expr& y) { return integers ? rounded_with(p, y, 1.0f / 32768, 0, DType::i16) : y; };
    const Expr x_rows = rounding(p, x), h_rows = rounding(p, h);
    const auto gate = [&](size_t i, const Expr& state) {
      Expr y = p.op("Add", {product(p, x_rows, w[i]), product(p, h_rows, r[i])});
      if (peephole[i]) y = p.op("Add", {y, p.op("Mul", {state, peephole[i]})});
      if (norm[i])
        y = p.op("LayerNormalization", {y, norm[i], bias[i]}, {{"axis", int64_t{-1}}, {"epsilon", 1e-8f}});
      else if (bias[i])
        y = p.op("Add", {y, bias[i]});
      return round_gate(y);
    };
    const auto sigmoid = [&](const Expr& y) { return round_unit(p.op("Sigmoid", {y})); };
    const auto activate = [&](const Expr& y) {
      const Expr made = activation == 4   ? p.op("Tanh", {y})
                        : activation == 0 ? y
                        : activation == 1 ? clip(p, y, 0, {})
                        : activation == 3 ? clip(p, y, 0, 6)
                                          : Expr();
      if (!made) node.refuse("activation function {} is not supported", activation);
      return activation == 4 ? round_unit(made) : made;
    };
    const Expr forget = sigmoid(gate(1, c)), candidate = activate(gate(2, c));
    const Expr in = coupled() ? p.op("Sub", {p.scalar(1), forget}) : sigmoid(gate(0, c));
    Expr cell_next = p.op("Add", {p.op("Mul", {forget, c}), p.op("Mul", {in, candidate})});
    if (cell_clip > 0) cell_next = clip(p, cell_next, static_cast<double>(-cell_clip), static_cast<double>(cell_clip));
    if (integers) cell_next = rounded_as(p, cell_next, *cell);
    const Expr out = sigmoid(gate(3, cell_next));
    Expr next = p.op("Mul", {out, activate(cell_next)});
    if (projection) {
      if (hidden) next = rounded_as(p, next, *hidden);
      next = product(p, rounding(p, next), projection);
      if (projection_bias) next = p.op("Add", {next, projection_bias});
      if (projection_clip > 0) next = clip(p, next, static_cast<double>(-projection_clip), static_cast<double>(projection_clip));
    }
    if (integers) next = rounded_as(p, next, *output);
    return {next, cell_next, next};
  }
};

/// Reads the weights that begin at input `first` (in the layout of the full kernel), without the states.
Lstm read_lstm(const TfliteNode& node, size_t first, size_t norms, size_t h, size_t c, size_t asymmetric) {
  Lstm lstm;
  for (size_t i = 0; i < 4; ++i) {
    lstm.w[i] = node.real_constant(first + i);
    lstm.r[i] = node.real_constant(first + 4 + i);
    lstm.bias[i] = node.real_constant(first + 11 + i);
    if (norms) lstm.norm[i] = node.real_constant(norms + i);
  }
  for (size_t i = 1; i < 4; ++i)
    if (!lstm.w[i] || !lstm.r[i]) node.fail("weights of a gate are missing");
  if (lstm.w[0] && !lstm.r[0]) node.fail("recurrent weights of the input gate are missing");
  lstm.peephole[0] = node.real_constant(first + 8);
  lstm.peephole[1] = node.real_constant(first + 9);
  lstm.peephole[3] = node.real_constant(first + 10);
  lstm.projection = node.real_constant(first + 15);
  lstm.projection_bias = node.real_constant(first + 16);
  lstm.rounding = Rounding(node, first + 1, asymmetric);
  lstm.integers = node.input_info(0).quantized();
  lstm.output = &node.input_info(h);
  lstm.cell = &node.input_info(c);
  lstm.activation = node.option<int8_t>(0, 0);
  lstm.cell_clip = node.real_option(1, 0);
  lstm.projection_clip = node.real_option(2, 0);
  return lstm;
}

/// A sequence [time, batch, in] through an LSTM: the outputs [time, batch, out], the hidden and the cell state after it.
struct LstmResult {
  Expr y, h, c;
};
LstmResult run_lstm(TfliteNode& node, TypedBuilder& p, const Lstm& lstm, const Expr& x, const Expr& h, const Expr& c, bool backward) {
  if (!lstm.is_plain()) {
    const Exprs made = scan(p, x, {h, c}, backward, [&](TypedBuilder& inner, const Expr& step, const Exprs& states) {
      return lstm.step(node, inner, step, states[0], states[1]);
    });
    return {made[2], made[0], made[1]};
  }
  // LSTM wants the gates in the order input, output, forget, cell, in one tensor with a dimension of directions.
  static constexpr size_t kOrder[] = {0, 3, 1, 2};
  Exprs w, r, b;
  for (size_t gate : kOrder) {
    w.push_back(lstm.w[gate]);
    r.push_back(lstm.r[gate]);
    b.push_back(lstm.bias[gate] ? lstm.bias[gate] : p.fill(p.shape_of(lstm.w[gate], 0, 1), 0, DType::f32));
  }
  const int64_t hidden = p.dim(lstm.r[3], 0);
  if (hidden < 0) node.refuse("weights of unknown shape are not supported");
  b.push_back(p.fill(p.constant({4 * hidden}), 0, DType::f32));
  const auto joined = [&](const Exprs& parts) { return p.unsqueeze(p.concat(parts, 0), {0}); };
  Attributes attributes{{"hidden_size", hidden}};
  if (backward) attributes.set("direction", std::string("reverse"));
  const Exprs made =
      p.ops("LSTM", {x, joined(w), joined(r), joined(b), Expr(), p.unsqueeze(h, {0}), p.unsqueeze(c, {0})}, 3, std::move(attributes));
  return {p.squeeze(made[0], {1}), p.squeeze(made[1], {0}), p.squeeze(made[2], {0})};
}

}  // namespace

Exprs import_sequence_lstm(TfliteNode& node, TypedBuilder& p) {
  Lstm lstm = read_lstm(node, 1, 20, 18, 19, 4);
  if (lstm.integers && lstm.projection && node.intermediates.size() > 4) lstm.hidden = node.intermediates[4];
  const bool time_major = node.flag(3);
  const auto steps_first = [&](const Expr& x) { return time_major ? x : turned(p, x); };
  if (const Exprs made = lstm.integers ? fixed_point_lstm(node, p, steps_first(node.raw[0])) : Exprs(); !made.empty()) {
    node.host.set_variable(node, 18, made[1]);
    node.host.set_variable(node, 19, made[2]);
    return {steps_first(made[0])};
  }
  const Expr x = steps_first(node.real(0));
  const LstmResult result = run_lstm(node, p, lstm, x, node.real(18), node.real(19), false);
  node.host.set_variable(node, 18, stored(p, result.h, node.input_info(18)));
  node.host.set_variable(node, 19, stored(p, result.c, node.input_info(19)));
  return {stored(p, steps_first(result.y), node.output_info(0))};
}

Exprs import_bidirectional_lstm(TfliteNode& node, TypedBuilder& p) {
  for (size_t i = 39; i < node.in.size(); ++i)
    if (node.in[i]) node.refuse("an auxiliary input is not supported");
  const bool merges = node.flag(3), time_major = node.flag(4, true);
  const Expr x = time_major ? node.real(0) : turned(p, node.real(0));
  Exprs outputs;
  for (const bool backward : {false, true}) {
    const size_t h = backward ? 37 : 35, c = h + 1;
    const LstmResult result = run_lstm(node, p, read_lstm(node, backward ? 18 : 1, 0, h, c, 5), x, node.real(h), node.real(c), backward);
    node.host.set_variable(node, h, stored(p, result.h, node.input_info(h)));
    node.host.set_variable(node, c, stored(p, result.c, node.input_info(c)));
    outputs.push_back(time_major ? result.y : turned(p, result.y));
  }
  if (merges) return {stored(p, p.concat(outputs, -1), node.output_info(0))};
  for (size_t i = 0; i < 2; ++i) outputs[i] = stored(p, outputs[i], node.output_info(i));
  return outputs;
}

Exprs import_lstm(TfliteNode& node, TypedBuilder& p) {
  if (node.in.size() == 5) {
    // The basic kernel: x, activation, weights [4 * hidden, in + hidden] of the gates input, cell, forget, output, bias, cell state.
    const Expr joined = p.concat({node.real(0), node.real(1)}, 1);
    const Expr gates = p.op("Add", {product(p, joined, node.real(2)), node.real(3)});
    const Exprs parts = p.ops("Split", {gates}, 4, {{"axis", int64_t{1}}, {"num_outputs", int64_t{4}}});
    const Expr cell = p.op("Add", {p.op("Mul", {p.op("Sigmoid", {parts[2]}), node.real(4)}),
                                   p.op("Mul", {p.op("Sigmoid", {parts[0]}), p.op("Tanh", {parts[1]})})});
    const Expr y = p.op("Mul", {p.op("Sigmoid", {parts[3]}), p.op("Tanh", {cell})});
    Exprs outputs = {y, cell, joined, gates};
    outputs.resize(node.output_count());
    node.host.set_variable(node, 1, stored(p, y, node.input_info(1)));
    node.host.set_variable(node, 4, stored(p, cell, node.input_info(4)));
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]) outputs[i] = stored(p, outputs[i], node.output_info(i));
    return outputs;
  }
  const Lstm lstm = read_lstm(node, 1, 20, 18, 19, 4);
  if (const Exprs made = lstm.integers ? fixed_point_lstm(node, p, p.unsqueeze(node.raw[0], {0})) : Exprs(); !made.empty()) {
    node.host.set_variable(node, 18, made[1]);
    node.host.set_variable(node, 19, made[2]);
    return {p.squeeze(made[0], {0})};
  }
  const Exprs made = lstm.step(node, p, node.real(0), node.real(18), node.real(19));
  node.host.set_variable(node, 18, stored(p, made[0], node.input_info(18)));
  node.host.set_variable(node, 19, stored(p, made[1], node.input_info(19)));
  return {stored(p, made[2], node.output_info(0))};
}

namespace {

/// h' = f(x W^T + h R^T + b), with inputs of the node by their numbers; `option` is that of the activation function,
/// `asymmetric` that of how rows are rounded.
Step rnn_step(const TfliteNode& node, size_t w, size_t r, size_t b, size_t option, size_t asymmetric) {
  const Expr weights = node.real_constant(w), recurrent = node.real_constant(r), bias = node.real_constant(b);
  if (!weights || !recurrent) node.fail("weights are missing");
  const int64_t function = node.option<int8_t>(option, 0);
  if (function > 4 || function == 2) node.refuse("activation function {} is not supported", function);
  const Rounding rounding(node, w, asymmetric);
  return [weights, recurrent, bias, function, rounding](TypedBuilder& p, const Expr& x, const Exprs& states) -> Exprs {
    Expr y = p.op("Add", {product(p, rounding(p, x), weights), product(p, rounding(p, states[0]), recurrent)});
    if (bias) y = p.op("Add", {y, bias});
    if (function == 1) y = clip(p, y, 0, {});
    if (function == 3) y = clip(p, y, 0, 6);
    if (function == 4) y = p.op("Tanh", {y});
    return {y, y};
  };
}

}  // namespace

Exprs import_rnn(TfliteNode& node, TypedBuilder& p) {
  const Exprs made = rnn_step(node, 1, 2, 3, 0, 1)(p, node.real(0), {node.real(4)});
  node.host.set_variable(node, 4, stored(p, made[0], node.input_info(4)));
  return {made[1]};
}

Exprs import_sequence_rnn(TfliteNode& node, TypedBuilder& p) {
  const bool time_major = node.flag(0);
  const Expr x = time_major ? node.real(0) : turned(p, node.real(0));
  const Exprs made = scan(p, x, {node.real(4)}, false, rnn_step(node, 1, 2, 3, 1, 2));
  node.host.set_variable(node, 4, stored(p, made[0], node.input_info(4)));
  return {time_major ? made[1] : turned(p, made[1])};
}

Exprs import_bidirectional_rnn(TfliteNode& node, TypedBuilder& p) {
  for (size_t i = 9; i < node.in.size(); ++i)
    if (node.in[i]) node.refuse("an auxiliary input is not supported");
  const bool time_major = node.flag(0);
  const Expr x = time_major ? node.real(0) : turned(p, node.real(0));
  Exprs outputs;
  for (const size_t first : {size_t{1}, size_t{5}}) {
    const Exprs made = scan(p, x, {node.real(first + 3)}, first == 5, rnn_step(node, first, first + 1, first + 2, 1, 3));
    node.host.set_variable(node, first + 3, stored(p, made[0], node.input_info(first + 3)));
    outputs.push_back(time_major ? made[1] : turned(p, made[1]));
  }
  if (node.flag(2)) return {p.concat(outputs, -1)};
  return outputs;
}

Exprs import_svdf(TfliteNode& node, TypedBuilder& p) {
  // x [batch, in], feature weights [filters, in], time weights [filters, memory], bias [units], state [batch, filters * memory].
  const int64_t rank = node.option<int32_t>(0, 0);
  const Expr feature = node.real_constant(1), time = node.real_constant(2), bias = node.real_constant(3);
  if (!feature || !time) node.fail("weights are missing");
  const int64_t filters = p.dim(time, 0), memory = p.dim(time, 1);
  if (rank < 1 || filters < 1 || memory < 1 || filters % rank != 0) node.fail("{} filters of rank {} are not valid", filters, rank);
  const TensorInfo& state_info = node.input_info(4);
  Expr features = product(p, Rounding(node, 1, 2)(p, node.real(0)), feature);
  if (state_info.quantized()) features = rounded_as(p, features, state_info);
  // The newest feature comes last.
  const Expr old = p.reshape(node.real(4), Ints{-1, filters, memory});
  const Expr state = p.concat({p.slice(old, {1}, {memory}, {2}), p.unsqueeze(features, {2})}, 2);
  const Expr sums = p.op("ReduceSum", {p.op("Mul", {state, time}), p.constant({2})}, {{"keepdims", int64_t{0}}});
  Expr y = p.op("ReduceSum", {p.reshape(sums, Ints{-1, filters / rank, rank}), p.constant({2})}, {{"keepdims", int64_t{0}}});
  if (bias) y = p.op("Add", {y, bias});
  node.host.set_variable(node, 4, stored(p, p.reshape(state, Ints{-1, filters * memory}), state_info));
  return {stored(p, node.activated(y, 1), node.output_info(0))};
}

}  // namespace minnow::tflite
