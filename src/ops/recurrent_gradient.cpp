// SPDX-License-Identifier: Apache-2.0
// The gradients of RNN, GRU and LSTM: one operator, which schemes compute from the gates that the forward pass has kept.
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/recurrent.h"

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

constexpr Attribute<Name> kCell{"cell", "LSTM", MINNOW_DOC("LSTM, GRU or RNN")};
constexpr size_t kForwardInputs = 8, kOfY = 11, kOutputs = 7;  // before kOfY: Y, gates and cell states
/// The output that is the gradient of an input of the forward node; lengths have none.
constexpr size_t kOutputOf[kForwardInputs] = {0, 1, 2, 3, SIZE_MAX, 4, 5, 6};

struct Cell {
  std::string_view name;
  int64_t gates;
  size_t states;
  int64_t peepholes;
};
constexpr Cell kCells[] = {{"RNN", 1, 1, 0}, {"GRU", 3, 1, 0}, {"LSTM", 4, 2, 3}};

const Cell& cell_of(const NodeView& node, std::string_view name) {
  for (const Cell& cell : kCells)
    if (cell.name == name) return cell;
  node.fail("cell is \"{}\", it should be LSTM, GRU or RNN", name);
}

Shapes infer(const NodeView& node) {
  const Cell& cell = cell_of(node, node.attribute(kCell));
  const SymbolicRecurrentSizes sizes = recurrent_sizes(node, cell.gates, cell.states, cell.peepholes);
  const Sizes y = sizes.sequence(), state = sizes.state();
  const Sizes gates{sizes.directions, sizes.length, sizes.batch, 4 * sizes.hidden},
      cells{sizes.directions, sizes.length, sizes.batch, sizes.hidden};
  const Sizes* const expected[] = {&y, &gates, &cells, &y, &state, &state};
  for (size_t i = 0; i < std::size(expected); ++i)
    if (const auto given = node.known_sizes(kForwardInputs + i); given && differ(*given, *expected[i]))
      node.fail("input {} should have shape {}, it has {}", kForwardInputs + i, *expected[i], *given);
  const Size rows = cell.gates * sizes.hidden;
  return {node.input_sizes(0),
          {sizes.directions, rows, sizes.input},
          {sizes.directions, rows, sizes.hidden},
          {sizes.directions, 2 * rows},
          state,
          state,
          {sizes.directions, cell.peepholes * sizes.hidden}};
}

/// Back through all steps, one after the other.
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Cell& cell = cell_of(node, node.attribute(kCell));
  const Operator& op = *OperatorSet::builtin().find(cell.name);
  Graph own;  // the forward node, for the rule to look at
  std::vector<Value*> values;
  std::vector<const ValueInfo*> infos;
  Exprs inputs;
  std::vector<bool> wanted;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool given = node.has_input(i);
    values.push_back(given ? &own.add_input(own.fresh_name("input"), ValueType::tensor(node.input_dtype(i), node.input_shape(i)))
                           : nullptr);
    infos.push_back(given ? &node.input(i) : nullptr);
    inputs.push_back(given ? in[i] : Expr());
    wanted.push_back(given && kOutputOf[i] < kOutputs && node.has_output(kOutputOf[i]));
  }
  Attributes attributes = node.node().attributes;
  attributes.remove(kCell.name);
  std::vector<std::string> names;
  Exprs gradients;
  for (size_t i = 0; i < 1 + cell.states; ++i) {
    names.push_back(own.fresh_name("output"));
    gradients.push_back(kOfY + i < in.size() ? in[kOfY + i] : Expr());
  }
  const Node& forward = own.add_node(std::string(cell.name), values, names, std::move(attributes));
  const NodeView view(forward, infos, {}, &op);
  const GradientContext context{view, b, inputs, Exprs(names.size()), gradients, wanted};
  const Exprs found = gradient_through(context, recurrent_parts);
  Exprs made(node.output_count());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (wanted[i]) made[kOutputOf[i]] = b.op("Identity", {i < found.size() && found[i] ? found[i] : context.zeros_like(i)});
  return made;
}

constexpr List<Operator> definitions() {
  const auto like_x = [](Name name, Arity arity = kOptional) {
    return InputSpec{.name = name, .dtypes = kFloats, .arity = arity, .like = "X"};
  };
  return {
      {.name = "minnow.RecurrentGradient",
       .doc = MINNOW_DOC("The gradients of the inputs of an LSTM, GRU or RNN with these inputs and attributes. The forward pass may have "
                         "kept gates [directions, steps, batch, 4 hidden] and, of an LSTM, the cell's states after each step."),
       .inputs = {{"X", kFloats},
                  like_x("W", Arity::required),
                  like_x("R", Arity::required),
                  like_x("B"),
                  {"sequence_lens", one_of({DType::i32}), kOptional},
                  like_x("initial_h"),
                  like_x("initial_c"),
                  like_x("P"),
                  like_x("Y"),
                  like_x("gates"),
                  like_x("cells"),
                  like_x("gradient_Y"),
                  like_x("gradient_Y_h"),
                  like_x("gradient_Y_c")},
       .outputs = {{"of_X", same_as("X"), kOptional},
                   {"of_W", same_as("X"), kOptional},
                   {"of_R", same_as("X"), kOptional},
                   {"of_B", same_as("X"), kOptional},
                   {"of_initial_h", same_as("X"), kOptional},
                   {"of_initial_c", same_as("X"), kOptional},
                   {"of_P", same_as("X"), kOptional}},
       .attributes = recurrent_attributes({kCell, kInputForget, kLinearBeforeReset}),
       .infer_shapes = infer,
       .decompose = parts,
       .operations = [](const NodeView& node) { return 2 * recurrent_operations(node); }}};
}

}  // namespace

Exprs recurrent_gradient(const GradientContext& c) {
  const NodeView& node = c.node;
  const Cell& cell = cell_of(node, node.op());
  if (!c.know_shapes()) return gradient_through(c, recurrent_parts);
  const RecurrentSizes sizes = RecurrentSizes::of(node, cell.gates, cell.states, cell.peepholes);
  // Y, gates and cell states.
  const size_t needed = cell.gates == 1 ? 1 : 1 + cell.states, first = 1 + cell.states;
  const Shape shapes[] = {sizes.sequence(),
                          {sizes.directions, sizes.length, sizes.batch, 4 * sizes.hidden},
                          {sizes.directions, sizes.length, sizes.batch, sizes.hidden}};
  Exprs kept, inputs = c.inputs, again;
  for (size_t i = 0; i < needed; ++i) kept.push_back(c.kept_output(i ? cell.states + i : 0, shapes[i]));
  for (size_t i = 0; i < needed; ++i) {
    if (kept[i]) continue;
    if (again.empty()) again = c.builder.ops(node.op(), c.inputs, cell.states + needed, node.node().attributes);
    kept[i] = again[i ? cell.states + i : 0];
  }
  inputs.resize(kOfY);
  std::copy(kept.begin(), kept.end(), inputs.begin() + kForwardInputs);
  inputs.insert(inputs.end(), c.output_gradients.begin(),
                c.output_gradients.begin() + static_cast<ptrdiff_t>(std::min(first, c.output_gradients.size())));
  Attributes attributes = node.node().attributes;
  attributes.set(std::string(kCell.name), std::string(cell.name));
  std::vector<Value*> values;
  for (const Expr& input : inputs) values.push_back(input.value());
  std::vector<std::string> names(kOutputs);
  Exprs made(c.inputs.size());
  Graph& graph = c.builder.graph();
  for (size_t i = 0; i < made.size(); ++i)
    if (c.wants(i) && kOutputOf[i] < kOutputs) names[kOutputOf[i]] = graph.fresh_name("gradient");
  const Node& of = graph.add_node("minnow.RecurrentGradient", values, names, std::move(attributes));
  for (size_t i = 0; i < made.size(); ++i)
    if (kOutputOf[i] < kOutputs && of.output(kOutputOf[i])) {
      of.output(kOutputOf[i])->type.dtype = node.input_dtype(0);
      made[i] = c.builder.wrap(of.output(kOutputOf[i]));
    }
  return made;
}

std::span<const Operator> recurrent_gradient_operators() { return operator_table<definitions>(); }

#endif

}  // namespace minnow
