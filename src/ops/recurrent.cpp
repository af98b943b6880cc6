// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: the cells, over the loops of loops/recurrent.cpp.
#include "ops/recurrent.h"

#include <algorithm>

#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr int64_t kRnnGates = 1, kGruGates = 3, kLstmGates = 4, kLstmPeepholes = 3;

/// The input with the scales of W, which those of R follow; 0 where weights are real numbers.
size_t scales_of(const NodeView& node) { return node.op() == kQuantizedLstm ? 7 : node.op() == kQuantizedGru ? 6 : 0; }
void check_scales(const NodeView& node, const SymbolicRecurrentSizes& sizes, int64_t gates) {
  const size_t first = scales_of(node);
  for (size_t i = first; first && i < first + 2; ++i)
    if (const Sizes expected{sizes.directions, sizes.hidden * gates, 1}; differ(node.input_sizes(i), expected))
      node.fail("input {} (\"{}\") should have shape {}, it has {}", i, node.input_name(i), expected, node.input_sizes(i));
}

void add(std::span<const double> a, std::span<double> out) {
  for (size_t i = 0; i < a.size(); ++i) out[i] += a[i];
}

Shapes rnn_shapes(const NodeView& node) {
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, kRnnGates, 1, 0);
  return {sizes.sequence(), sizes.state()};
}
/// Sizes of gates or cell states, for gradients.
Sizes kept_sizes(const SymbolicRecurrentSizes& sizes, int64_t each) {
  return {sizes.directions, sizes.length, sizes.batch, each * sizes.hidden};
}
Shapes gru_shapes(const NodeView& node) {
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, kGruGates, 1, 0);
  check_scales(node, sizes, kGruGates);
  return {sizes.sequence(), sizes.state(), kept_sizes(sizes, 4)};
}
Shapes lstm_shapes(const NodeView& node) {
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, kLstmGates, 2, scales_of(node) ? 0 : kLstmPeepholes);
  check_scales(node, sizes, kLstmGates);
  return {sizes.sequence(), sizes.state(), sizes.state(), kept_sizes(sizes, 4), kept_sizes(sizes, 1)};
}

void rnn(const NodeView& node, KernelArgs& args) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kRnnGates, 1, 0);
  const auto activations = recurrent_activations(node, sizes, {"Tanh"});
  const auto cell = [](const RecurrentWeights& weights, std::span<double> x, std::span<double> h, std::span<double>) {
    add(weights.rb, x);
    weights.add_state(h, x.first(h.size()));
    for (size_t j = 0; j < h.size(); ++j) h[j] = weights.activations[0](x[j]);
  };
  run_recurrent(node, args, sizes, kRnnGates, false, activations, cell);
}

// Gates in the order of the weights: update z, reset r, new state h.
void gru(const NodeView& node, KernelArgs& args) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kGruGates, 1, 0);
  const auto activations = recurrent_activations(node, sizes, {"Sigmoid", "Tanh"});
  const bool linear_before_reset = node.attribute(kLinearBeforeReset);
  const size_t n = static_cast<size_t>(sizes.hidden);
  Numbers<double> recurrent(3 * n), reset(n);
  const auto cell = [&](const RecurrentWeights& weights, std::span<double> x, std::span<double> h, std::span<double>) {
    const RecurrentActivation &f = weights.activations[0], &g = weights.activations[1];
    std::fill(recurrent.begin(), recurrent.end(), 0.0);
    add(weights.rb, recurrent);
    weights.add_state(h, recurrent);
    for (size_t j = 0; j < n; ++j) {
      x[j] = f(x[j] + recurrent[j]);
      x[n + j] = reset[j] = f(x[n + j] + recurrent[n + j]);
    }
    std::fill(x.begin() + static_cast<ptrdiff_t>(3 * n), x.end(), 0.0);
    if (linear_before_reset) {
      for (size_t j = 0; j < n; ++j) x[2 * n + j] += reset[j] * (x[3 * n + j] = recurrent[2 * n + j]);
    } else {
      if (!weights.rb.empty()) add(weights.rb.subspan(2 * n), x.subspan(2 * n));
      for (size_t j = 0; j < n; ++j) reset[j] *= h[j];
      std::fill(recurrent.begin(), recurrent.end(), 0.0);
      weights.add_state(reset, recurrent);
      for (size_t j = 0; j < n; ++j) x[2 * n + j] += recurrent[2 * n + j];
    }
    for (size_t j = 0; j < n; ++j) {
      x[2 * n + j] = g(x[2 * n + j]);
      h[j] = (1 - x[j]) * x[2 * n + j] + x[j] * h[j];
    }
  };
  run_recurrent(node, args, sizes, kGruGates, false, activations, cell, scales_of(node));
}

// Gates in the order of the weights: input i, output o, forget f, new cell state c; peepholes i, o, f.
void lstm(const NodeView& node, KernelArgs& args) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kLstmGates, 2, scales_of(node) ? 0 : kLstmPeepholes);
  const auto activations = recurrent_activations(node, sizes, {"Sigmoid", "Tanh", "Tanh"});
  const bool input_forget = node.attribute(kInputForget);
  const auto cell = [=](const RecurrentWeights& weights, std::span<double> x, std::span<double> h, std::span<double> c) {
    const RecurrentActivation &f = weights.activations[0], &g = weights.activations[1], &last = weights.activations[2];
    const size_t n = h.size();
    add(weights.rb, x);
    weights.add_state(h, x);
    const auto peephole = [&](size_t gate, size_t j) { return weights.p.empty() ? 0 : weights.p[gate * n + j] * c[j]; };
    for (size_t j = 0; j < n; ++j) {
      x[j] = f(x[j] + peephole(0, j));
      x[2 * n + j] = input_forget ? 1 - x[j] : f(x[2 * n + j] + peephole(2, j));
      x[3 * n + j] = g(x[3 * n + j]);
      c[j] = x[2 * n + j] * c[j] + x[j] * x[3 * n + j];
      x[n + j] = f(x[n + j] + peephole(1, j));
      h[j] = x[n + j] * last.without_clip(c[j]);  // ONNX Runtime clips the gates alone; the standard leaves it open
    }
  };
  run_recurrent(node, args, sizes, kLstmGates, true, activations, cell, scales_of(node));
}

constexpr DTypes kLengths = one_of({DType::i32});

/// LSTM or GRU behind DequantizeLinear, without the rounding of X and h.
Exprs dequantized_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const size_t scales = scales_of(node);
  Exprs inputs(in.begin(), in.begin() + static_cast<ptrdiff_t>(scales));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    inputs[i] = b.op("DequantizeLinear", {in[i], in[scales + i - 1]},
                     {{"axis", int64_t{2}}, {"block_size", std::max<int64_t>(node.input_shape(i)[2], 1)}});
    inputs[i].value()->type.dtype = DType::f32;
  }
  return b.ops(scales == 7 ? "LSTM" : "GRU", inputs, scales == 7 ? 3 : 2, node.node().attributes);
}

#if MINNOW_GRADIENTS
Exprs gates_of(const Expr& x, int64_t gates) {
  return x.builder().ops("Split", {x}, static_cast<size_t>(gates), {{"axis", int64_t{-1}}, {"num_outputs", gates}});
}
Expr plus(const Expr& x, const Expr& bias) { return bias ? x + bias : x; }

Exprs rnn_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kRnnGates, 1, 0);
  const auto activations = recurrent_activations(node, sizes, {"Tanh"});
  const auto step = [](const RecurrentParts& parts, const Expr& x, Expr& h, Expr&) {
    h = recurrent_activation(parts.activations[0], plus(x + op("MatMul", {h, parts.r}), parts.rb));
  };
  return unrolled(node, b, in, sizes, kRnnGates, 1, activations, step);
}

Exprs gru_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kGruGates, 1, 0);
  const auto activations = recurrent_activations(node, sizes, {"Sigmoid", "Tanh"});
  const bool linear_before_reset = node.attribute(kLinearBeforeReset);
  const auto step = [&](const RecurrentParts& parts, const Expr& x, Expr& h, Expr&) {
    const RecurrentActivation &f = parts.activations[0], &g = parts.activations[1];
    const Exprs given = gates_of(x, kGruGates), recurrent = gates_of(plus(op("MatMul", {h, parts.r}), parts.rb), kGruGates);
    const Expr update = recurrent_activation(f, given[0] + recurrent[0]), reset = recurrent_activation(f, given[1] + recurrent[1]);
    Expr fresh;
    if (linear_before_reset)
      fresh = given[2] + reset * recurrent[2];
    else
      fresh =
          plus(given[2] + op("MatMul", {reset * h, gates_of(parts.r, kGruGates)[2]}), parts.rb ? gates_of(parts.rb, kGruGates)[2] : Expr());
    h = (1.0 - update) * recurrent_activation(g, fresh) + update * h;
  };
  return unrolled(node, b, in, sizes, kGruGates, 1, activations, step);
}

Exprs lstm_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kLstmGates, 2, kLstmPeepholes);
  const auto activations = recurrent_activations(node, sizes, {"Sigmoid", "Tanh", "Tanh"});
  const bool input_forget = node.attribute(kInputForget);
  const auto step = [=](const RecurrentParts& parts, const Expr& x, Expr& h, Expr& c) {
    const RecurrentActivation &f = parts.activations[0], &g = parts.activations[1], &last = parts.activations[2];
    const Exprs gates = gates_of(plus(x + op("MatMul", {h, parts.r}), parts.rb), kLstmGates);
    const Exprs holes = parts.p ? gates_of(parts.p, kLstmPeepholes) : Exprs(static_cast<size_t>(kLstmPeepholes));
    const auto looks = [&](size_t gate, size_t hole) { return holes[hole] ? gates[gate] + holes[hole] * c : gates[gate]; };
    const Expr input = recurrent_activation(f, looks(0, 0));
    const Expr forget = input_forget ? 1.0 - input : recurrent_activation(f, looks(2, 2));
    c = forget * c + input * recurrent_activation(g, gates[3]);
    h = recurrent_activation(f, looks(1, 1)) * recurrent_activation(last, c, false);
  };
  return unrolled(node, b, in, sizes, kLstmGates, 2, activations, step);
}

#endif

}  // namespace

#if MINNOW_GRADIENTS
Exprs recurrent_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  return (node.op() == "RNN" ? rnn_parts : node.op() == "GRU" ? gru_parts : lstm_parts)(node, b, in);
}
#endif

double recurrent_operations(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  return 2 * static_cast<double>(x[0] * x[1]) *
         (static_cast<double>(node.input_shape(1).elements()) + static_cast<double>(node.input_shape(2).elements()));
}

namespace {

#if MINNOW_GRADIENTS
#define MINNOW_KEPT(...) __VA_ARGS__  // for gradients
constexpr OutputSpec kept(Name name) { return {name, same_as("X"), Arity::kept}; }
#else
#define MINNOW_KEPT(...)
#endif

constexpr DTypes kReal = one_of({DType::f32}), kIntegers = one_of({DType::i8});

constexpr List<Operator> definitions() {
  return {
      {.name = "RNN",
       .since = 22,
       .doc = MINNOW_DOC("A simple recurrent layer: h = f(x W^T + h R^T + b). Sequences may end before the last step; then Y is 0 there."),
       .inputs = {{"X", kFloats},
                  {.name = "W", .dtypes = kFloats, .weight = Weight::packed, .like = "X"},
                  {.name = "R", .dtypes = kFloats, .weight = Weight::packed, .like = "X"},
                  {.name = "B", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {"sequence_lens", kLengths, kOptional},
                  {.name = "initial_h", .dtypes = kFloats, .arity = kOptional, .like = "X"}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional}},
       .attributes = recurrent_attributes({}),
       .infer_shapes = rnn_shapes,
       .reference = rnn,
       .gradient = MINNOW_GRADIENT(recurrent_gradient),
       .operations = recurrent_operations,
       .wants_constants = true},
      {.name = "GRU",
       .since = 22,
       .doc = MINNOW_DOC("Gated recurrent units. Source: Cho et al. 2014, \"Learning phrase representations using RNN encoder-decoder\"."),
       .inputs = {{"X", kFloats},
                  {.name = "W", .dtypes = kFloats, .weight = Weight::packed, .like = "X"},
                  {.name = "R", .dtypes = kFloats, .weight = Weight::packed, .like = "X"},
                  {.name = "B", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {"sequence_lens", kLengths, kOptional},
                  {.name = "initial_h", .dtypes = kFloats, .arity = kOptional, .like = "X"}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional} MINNOW_KEPT(, kept("gates"))},
       .attributes = recurrent_attributes({kLinearBeforeReset}),
       .infer_shapes = gru_shapes,
       .reference = gru,
       .gradient = MINNOW_GRADIENT(recurrent_gradient),
       .operations = recurrent_operations,
       .wants_constants = true},
      {.name = "LSTM",
       .since = 22,
       .doc = MINNOW_DOC("Long short-term memory, with peepholes where P is given. Source: Hochreiter, Schmidhuber 1997; Gers, Schmidhuber "
                         "2000 (peepholes)."),
       .inputs = {{"X", kFloats},
                  {.name = "W", .dtypes = kFloats, .weight = Weight::packed, .like = "X"},
                  {.name = "R", .dtypes = kFloats, .weight = Weight::packed, .like = "X"},
                  {.name = "B", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {"sequence_lens", kLengths, kOptional},
                  {.name = "initial_h", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {.name = "initial_c", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {.name = "P", .dtypes = kFloats, .arity = kOptional, .like = "X"}},
       .outputs = {{"Y", same_as("X"), kOptional},
                   {"Y_h", same_as("X"), kOptional},
                   {"Y_c", same_as("X"), kOptional} MINNOW_KEPT(, kept("gates"), kept("cells"))},
       .attributes = recurrent_attributes({kInputForget}),
       .infer_shapes = lstm_shapes,
       .reference = lstm,
       .gradient = MINNOW_GRADIENT(recurrent_gradient),
       .operations = recurrent_operations,
       .wants_constants = true},
      {.name = kQuantizedLstm,
       .doc =
           MINNOW_DOC("LSTM whose W and R are integers in steps of w_scale and r_scale, [directions, 4 * hidden size, 1]. X and the state "
                      "of each step and sequence are rounded to integers from -127 to 127, in steps of their largest magnitude / 127, "
                      "and sums of products are exact. Where that takes more time than f32, runs do not round them."),
       .inputs = {{"X", kReal},
                  {"W", kIntegers},
                  {"R", kIntegers},
                  {"B", kReal, kOptional},
                  {"sequence_lens", kLengths, kOptional},
                  {"initial_h", kReal, kOptional},
                  {"initial_c", kReal, kOptional},
                  {"w_scale", kReal},
                  {"r_scale", kReal}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional}, {"Y_c", same_as("X"), kOptional}},
       .attributes = recurrent_attributes({kInputForget}),
       .infer_shapes = lstm_shapes,
       .reference = lstm,
       .decompose = dequantized_parts,
       .operations = recurrent_operations,
       .wants_constants = true},
      {.name = kQuantizedGru,
       .doc =
           MINNOW_DOC("GRU whose W and R are integers, as in minnow.QuantizedLSTM, with scales [directions, 3 * hidden size, 1]. A state "
                      "that the reset gate scales is rounded again."),
       .inputs = {{"X", kReal},
                  {"W", kIntegers},
                  {"R", kIntegers},
                  {"B", kReal, kOptional},
                  {"sequence_lens", kLengths, kOptional},
                  {"initial_h", kReal, kOptional},
                  {"w_scale", kReal},
                  {"r_scale", kReal}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional}},
       .attributes = recurrent_attributes({kLinearBeforeReset}),
       .infer_shapes = gru_shapes,
       .reference = gru,
       .decompose = dequantized_parts,
       .operations = recurrent_operations,
       .wants_constants = true},
  };
}

}  // namespace

std::span<const Operator> recurrent_operators() { return operator_table<definitions>(); }

}  // namespace minnow
