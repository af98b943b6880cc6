// SPDX-License-Identifier: Apache-2.0
// Back through the steps of an LSTM's cells. The products with inputs and weights are not part of it: they are one product for all steps.
#include "ops/operator_table.h"

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

Shapes infer(const NodeView& node) {
  const Sizes sums = node.input_sizes(0), r = node.input_sizes(1);
  if (sums.rank() != 3 || r.rank() != 2) node.fail("takes sums of rank 3 and R of rank 2, they have shapes {} and {}", sums, r);
  const Size hidden = r[1];
  if (differ(r[0], 4 * hidden) || differ(sums[2], 4 * hidden)) node.fail("sums of shape {} do not fit R of shape {}", sums, r);
  const Sizes state{sums[1], hidden}, sequence{sums[0], sums[1], hidden};
  if (const auto g = node.known_sizes(2); g && differ(*g, sequence))
    node.fail("the gradient should have shape {}, it has {}", sequence, *g);
  for (size_t i = 3; i < 6; ++i)
    if (const auto given = node.known_sizes(i); given && differ(*given, state))
      node.fail("input {} should have shape {}, it has {}", i, state, *given);
  return {sums, state, state};
}

Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Shape& shape = node.input_shape(0);
  const DType dtype = node.input_dtype(0);
  const int64_t length = shape[0], hidden = node.input_shape(1)[1];
  const auto at = [&](const Expr& x, int64_t t) { return b.op("Gather", {x, b.scalar(static_cast<double>(t), DType::i64)}); };
  const auto state = [&](size_t i) { return i < in.size() && in[i] ? in[i] : b.constant(Tensor(dtype, Shape{shape[1], hidden})); };
  std::vector<Exprs> gates(static_cast<size_t>(length));
  Exprs cells{state(3)};
  for (size_t t = 0; t < gates.size(); ++t) {
    gates[t] = b.ops("Split", {at(in[0], static_cast<int64_t>(t))}, 4, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{4}}});
    for (size_t i = 0; i < 4; ++i) gates[t][i] = op(i < 3 ? "Sigmoid" : "Tanh", {gates[t][i]});
    cells.push_back(gates[t][2] * cells[t] + gates[t][0] * gates[t][3]);
  }
  Expr of_h = state(4), of_c = state(5);
  Exprs made(gates.size());
  const Expr first = b.constant({int64_t{0}});
  for (size_t t = gates.size(); t-- > 0;) {
    const Expr &i = gates[t][0], &o = gates[t][1], &f = gates[t][2], &g = gates[t][3];
    const Expr h = of_h + at(in[2], static_cast<int64_t>(t)), last = op("Tanh", {cells[t + 1]});
    const Expr c = of_c + h * o * (1.0 - last * last);
    const Expr sums = b.op("Concat", {c * g * i * (1.0 - i), h * last * o * (1.0 - o), c * cells[t] * f * (1.0 - f), c * i * (1.0 - g * g)},
                           {{"axis", int64_t{-1}}});
    of_c = c * f;
    of_h = b.op("MatMul", {sums, in[1]});
    made[t] = b.op("Unsqueeze", {sums, first});
  }
  const Expr all = made.empty() ? b.op("Identity", {in[0]}) : b.op("Concat", made, {{"axis", int64_t{0}}});
  return {all, b.op("Identity", {of_h}), b.op("Identity", {of_c})};
}

constexpr List<Operator> definitions() {
  const auto like_sums = [](std::string_view name, Arity arity = Arity::required) {
    return InputSpec{.name = name, .dtypes = kFloats, .arity = arity, .like = "sums"};
  };
  return {
      {.name = "minnow.LstmCellGradient",
       .doc = MINNOW_DOC("The gradients of the sums [steps, batch, 4 hidden] that the gates of an LSTM (input, output, forget, new) are "
                         "made of, given the gradients of its states at each step and of the last ones, and of the initial states."),
       .inputs = {{"sums", kFloats},
                  like_sums("R"),
                  like_sums("gradient"),
                  like_sums("initial_c", kOptional),
                  like_sums("gradient_h", kOptional),
                  like_sums("gradient_c", kOptional)},
       .outputs = {{"of_sums", same_as("sums")}, {"of_initial_h", same_as("sums")}, {"of_initial_c", same_as("sums")}},
       .infer_shapes = infer,
       .decompose = parts}};
}

}  // namespace

std::span<const Operator> lstm_gradient_operators() { return operator_table<definitions>(); }

#endif

}  // namespace minnow
