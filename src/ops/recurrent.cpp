// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: the cells, over the loops of recurrent_common.cpp.
#include "ops/recurrent.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kInputForget{"input_forget", false, MINNOW_DOC("the forget gate is 1 - the input gate")};
constexpr Attribute<bool> kLinearBeforeReset{"linear_before_reset", false,
                                             MINNOW_DOC("the reset gate scales the product with R, not the state")};

constexpr int64_t kRnnGates = 1, kGruGates = 3, kLstmGates = 4, kLstmPeepholes = 3;

void add(std::span<const double> a, std::span<double> out) {
  for (size_t i = 0; i < a.size(); ++i) out[i] += a[i];
}

Shapes rnn_shapes(const NodeView& node) {
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, kRnnGates, 1, 0);
  return {sizes.sequence(), sizes.state()};
}
Shapes gru_shapes(const NodeView& node) {
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, kGruGates, 1, 0);
  return {sizes.sequence(), sizes.state()};
}
Shapes lstm_shapes(const NodeView& node) {
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, kLstmGates, 2, kLstmPeepholes);
  return {sizes.sequence(), sizes.state(), sizes.state()};
}

void rnn(const NodeView& node, KernelArgs& args) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kRnnGates, 1, 0);
  const auto activations = recurrent_activations(node, sizes, {"Tanh"});
  const auto cell = [](const RecurrentWeights& weights, std::span<double> x, std::span<double> h, std::span<double>) {
    add(weights.rb, x);
    add_product(h, weights.r, x);
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
    add_product(h, weights.r, recurrent);
    for (size_t j = 0; j < n; ++j) {
      x[j] = f(x[j] + recurrent[j]);
      reset[j] = f(x[n + j] + recurrent[n + j]);
    }
    if (linear_before_reset) {
      for (size_t j = 0; j < n; ++j) x[2 * n + j] += reset[j] * recurrent[2 * n + j];
    } else {
      if (!weights.rb.empty()) add(weights.rb.subspan(2 * n), x.subspan(2 * n));
      for (size_t k = 0; k < n; ++k)
        for (size_t j = 0; j < n; ++j) x[2 * n + j] += reset[k] * h[k] * weights.r[k * 3 * n + 2 * n + j];
    }
    for (size_t j = 0; j < n; ++j) h[j] = (1 - x[j]) * g(x[2 * n + j]) + x[j] * h[j];
  };
  run_recurrent(node, args, sizes, kGruGates, false, activations, cell);
}

// Gates in the order of the weights: input i, output o, forget f, new cell state c; peepholes i, o, f.
void lstm(const NodeView& node, KernelArgs& args) {
  const RecurrentSizes sizes = RecurrentSizes::of(node, kLstmGates, 2, kLstmPeepholes);
  const auto activations = recurrent_activations(node, sizes, {"Sigmoid", "Tanh", "Tanh"});
  const bool input_forget = node.attribute(kInputForget);
  const auto cell = [=](const RecurrentWeights& weights, std::span<double> x, std::span<double> h, std::span<double> c) {
    const RecurrentActivation &f = weights.activations[0], &g = weights.activations[1], &last = weights.activations[2];
    const size_t n = h.size();
    add(weights.rb, x);
    add_product(h, weights.r, x);
    const auto peephole = [&](size_t gate, size_t j) { return weights.p.empty() ? 0 : weights.p[gate * n + j] * c[j]; };
    for (size_t j = 0; j < n; ++j) {
      const double input = f(x[j] + peephole(0, j));
      const double forget = input_forget ? 1 - input : f(x[2 * n + j] + peephole(2, j));
      c[j] = forget * c[j] + input * g(x[3 * n + j]);
      h[j] = f(x[n + j] + peephole(1, j)) * last.without_clip(c[j]);  // ONNX Runtime clips the gates alone; the standard leaves it open
    }
  };
  run_recurrent(node, args, sizes, kLstmGates, true, activations, cell);
}

constexpr List<AttributeSpec> attributes(std::initializer_list<AttributeSpec> more) {
  List<AttributeSpec> list = {
      optional("activations", AttributeKind::texts, MINNOW_DOC("names of the activations, in order of use, of each direction")),
      optional("activation_alpha", AttributeKind::reals, MINNOW_DOC("one for each activation that takes an alpha")),
      optional("activation_beta", AttributeKind::reals, MINNOW_DOC("one for each activation that takes a beta")),
      optional("clip", AttributeKind::real, MINNOW_DOC("inputs of activations are limited to [-clip, clip]")),
      optional("hidden_size", AttributeKind::integer, MINNOW_DOC("must agree with R")),
      kRecurrentDirection,
      kRecurrentLayout};
  list.append(more);
  return list;
}

constexpr DTypes kLengths = one_of({DType::i32});

// Every step of every sequence multiplies by all of W and R.
double operations(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  return 2 * static_cast<double>(x[0] * x[1]) *
         (static_cast<double>(node.input_shape(1).elements()) + static_cast<double>(node.input_shape(2).elements()));
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

/// Only the cells are gone through step by step; products with inputs and weights are one for all steps. Cells with peepholes, clips,
/// lengths or other activations are unrolled.
Exprs lstm_gradient(const GradientContext& c) {
  const NodeView& node = c.node;
  if (!c.know_shapes() || c.has_input(4) || c.has_input(7) || node.find<float>("clip") || node.find<Strings>("activations") ||
      node.attribute(kInputForget))
    return gradient_through(c, lstm_parts);
  const RecurrentSizes sizes = RecurrentSizes::of(node, kLstmGates, 2, kLstmPeepholes);
  const int64_t length = sizes.length, batch = sizes.batch, hidden = sizes.hidden, width = kLstmGates * hidden;
  if (length * batch * hidden * sizes.input == 0) return gradient_through(c, lstm_parts);
  GraphBuilder& b = c.builder;
  const DType dtype = node.input_dtype(0);
  const auto swapped = [&](const Expr& x) { return sizes.batch_first ? b.op("Transpose", {x}, {{"perm", Ints{1, 0, 2}}}) : x; };
  const auto pick = [&](const Expr& x, int64_t d, int64_t axis = 0) {
    return b.op("Gather", {x, b.scalar(static_cast<double>(d), DType::i64)}, {{"axis", axis}});
  };
  const auto slice = [&](const Expr& x, int64_t from, int64_t to, int64_t step) {
    return b.op("Slice", {x, b.constant({from}), b.constant({to}), b.constant({int64_t{0}}), b.constant({step})});
  };
  const auto reversed = [&](const Expr& x) { return slice(x, -1, -length - 1, -1); };
  // [steps, directions, batch, hidden]
  const auto by_steps = [&](const Expr& y) { return sizes.batch_first ? b.op("Transpose", {y}, {{"perm", Ints{1, 2, 0, 3}}}) : y; };
  const Expr x = swapped(c.input(0));
  const Expr y = by_steps(c.output(0) ? c.output(0) : b.ops("LSTM", c.inputs, 1, node.node().attributes)[0]);
  const Expr of_y = c.output_gradient(0) ? by_steps(c.output_gradient(0)) : Expr();
  const auto state = [&](const Expr& all, int64_t d) { return all ? pick(swapped(all), d) : Expr(); };
  const auto rows = [&](const Expr& of, int64_t columns) { return b.op("Reshape", {of, b.constant({length * batch, columns})}); };
  const auto product = [&](const Expr& of_sums, const Expr& of, int64_t columns) {
    return b.op("Gemm", {rows(of_sums, width), rows(of, columns)}, {{"transA", int64_t{1}}});
  };
  const Expr first = b.constant({int64_t{0}});
  std::array<Exprs, 6> made;  // of each direction: W, R, B, initial h and c; the sum of all for X
  Expr of_x;
  for (int64_t d = 0; d < sizes.directions; ++d) {
    const bool back = d == 1 || sizes.first_reversed;
    const auto in_order = [&](const Expr& of) { return back ? reversed(of) : of; };
    const Expr w = pick(c.input(1), d), r = pick(c.input(2), d), xs = in_order(x);
    const Expr before = c.has_input(5) ? state(c.input(5), d) : b.constant(Tensor(dtype, Shape{batch, hidden}));
    const Expr initial_c = c.has_input(6) ? state(c.input(6), d) : Expr();
    Expr h = b.op("Unsqueeze", {before, first});
    if (length > 1) h = b.op("Concat", {h, slice(in_order(pick(y, d, 1)), 0, length - 1, 1)}, {{"axis", int64_t{0}}});
    Expr sums = op("MatMul", {xs, op("Transpose", {w})}) + op("MatMul", {h, op("Transpose", {r})});
    if (c.has_input(3)) {
      const Exprs biases = b.ops("Split", {pick(c.input(3), d), b.constant({width, width})}, 2);
      sums = sums + (biases[0] + biases[1]);
    }
    const Expr g = of_y ? in_order(pick(of_y, d, 1)) : b.constant(Tensor(dtype, Shape{length, batch, hidden}));
    const Exprs of = b.ops("minnow.LstmCellGradient",
                           {sums, r, g, initial_c, state(c.output_gradients.size() > 1 ? c.output_gradient(1) : Expr(), d),
                            state(c.output_gradients.size() > 2 ? c.output_gradient(2) : Expr(), d)},
                           3);
    if (c.wants(0)) {
      const Expr part = in_order(op("MatMul", {of[0], w}));
      of_x = of_x ? of_x + part : part;
    }
    const auto add = [&](size_t i, const Expr& gradient) { made[i].push_back(b.op("Unsqueeze", {gradient, first})); };
    if (c.wants(1)) add(1, product(of[0], xs, sizes.input));
    if (c.wants(2)) add(2, product(of[0], h, hidden));
    if (c.wants(3)) {
      const Expr sum = b.op("ReduceSum", {rows(of[0], width), first}, {{"keepdims", int64_t{0}}});
      add(3, b.op("Concat", {sum, sum}, {{"axis", int64_t{0}}}));
    }
    if (c.wants(5)) add(4, of[1]);
    if (c.wants(6)) add(5, of[2]);
  }
  const auto all = [&](size_t i) {
    return made[i].empty() ? Expr() : made[i].size() == 1 ? made[i][0] : b.op("Concat", made[i], {{"axis", int64_t{0}}});
  };
  Exprs gradients(c.inputs.size());
  if (of_x) gradients[0] = swapped(of_x);
  for (size_t i = 1; i < 4 && i < gradients.size(); ++i) gradients[i] = all(i);
  for (size_t i = 5; i < 7 && i < gradients.size(); ++i)
    if (const Expr states = all(i - 1)) gradients[i] = swapped(states);
  return gradients;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "RNN",
       .since = 22,
       .doc = MINNOW_DOC("A simple recurrent layer: h = f(x W^T + h R^T + b). Sequences may end before the last step; then Y is 0 there."),
       .inputs = {{"X", kFloats},
                  {.name = "W", .dtypes = kFloats, .like = "X", .weight = Weight::packed},
                  {.name = "R", .dtypes = kFloats, .like = "X", .weight = Weight::packed},
                  {.name = "B", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {"sequence_lens", kLengths, kOptional},
                  {.name = "initial_h", .dtypes = kFloats, .arity = kOptional, .like = "X"}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional}},
       .attributes = attributes({}),
       .infer_shapes = rnn_shapes,
       .reference = rnn,
       .gradient = MINNOW_GRADIENT(parts_gradient<rnn_parts>),
       .operations = operations,
       .wants_constants = true},
      {.name = "GRU",
       .since = 22,
       .doc = MINNOW_DOC("Gated recurrent units. Source: Cho et al. 2014, \"Learning phrase representations using RNN encoder-decoder\"."),
       .inputs = {{"X", kFloats},
                  {.name = "W", .dtypes = kFloats, .like = "X", .weight = Weight::packed},
                  {.name = "R", .dtypes = kFloats, .like = "X", .weight = Weight::packed},
                  {.name = "B", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {"sequence_lens", kLengths, kOptional},
                  {.name = "initial_h", .dtypes = kFloats, .arity = kOptional, .like = "X"}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional}},
       .attributes = attributes({kLinearBeforeReset}),
       .infer_shapes = gru_shapes,
       .reference = gru,
       .gradient = MINNOW_GRADIENT(parts_gradient<gru_parts>),
       .operations = operations,
       .wants_constants = true},
      {.name = "LSTM",
       .since = 22,
       .doc = MINNOW_DOC("Long short-term memory, with peepholes where P is given. Source: Hochreiter, Schmidhuber 1997; Gers, Schmidhuber "
                         "2000 (peepholes)."),
       .inputs = {{"X", kFloats},
                  {.name = "W", .dtypes = kFloats, .like = "X", .weight = Weight::packed},
                  {.name = "R", .dtypes = kFloats, .like = "X", .weight = Weight::packed},
                  {.name = "B", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {"sequence_lens", kLengths, kOptional},
                  {.name = "initial_h", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {.name = "initial_c", .dtypes = kFloats, .arity = kOptional, .like = "X"},
                  {.name = "P", .dtypes = kFloats, .arity = kOptional, .like = "X"}},
       .outputs = {{"Y", same_as("X"), kOptional}, {"Y_h", same_as("X"), kOptional}, {"Y_c", same_as("X"), kOptional}},
       .attributes = attributes({kInputForget}),
       .infer_shapes = lstm_shapes,
       .reference = lstm,
       .gradient = MINNOW_GRADIENT(lstm_gradient),
       .operations = operations,
       .wants_constants = true},
  };
}

}  // namespace

std::span<const Operator> recurrent_operators() { return operator_table<definitions>(); }

}  // namespace minnow
