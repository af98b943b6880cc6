// SPDX-License-Identifier: Apache-2.0
// The gradient rule of one operator, as an expression.
#include "base/no_memory.h"
#include "express/graph.h"
#include "express/lower.h"

namespace minnow {

using namespace express;

namespace {

std::string described(const LazyValue& value) {
  const Shape* shape = known_shape(value);
  return shape ? format("{}{}", output_of(value).dtype, *shape) : format("{}", output_of(value).dtype);
}

/// Throws if `gradient` cannot be the gradient of `of`; in errors, `of` is the operator's `what` number i.
void check(const LazyNode& node, const LazyValue& gradient, const LazyValue& of, std::string_view what, size_t i) {
  const Output& made = output_of(gradient);
  const Shape *shape = known_shape(gradient), *expected = known_shape(of);
  if (made.kind != ValueInfo::Kind::tensor || made.dtype != output_of(of).dtype || (shape && expected && !(*shape == *expected)))
    throw InvalidArgument("{}: the gradient of {} {} is {}, the {} is {}", node.op->name, what, i, described(gradient), what,
                          described(of));
}

/// The graph that a rule writes, whose inputs are values of the expression.
struct RuleGraph {
  Graph graph;
  GraphBuilder builder{graph};
  std::vector<LazyValue> values;  // of the inputs

  Exprs wrap(std::span<const LazyValue> given) {
    Exprs made;
    for (const LazyValue& value : given) {
      made.emplace_back();
      if (!value || output_of(value).kind == ValueInfo::Kind::absent) continue;
      made.back() = builder.wrap(&graph.add_input(graph.fresh_name("value"), type_of(output_of(value))));
      values.push_back(value);
    }
    return made;
  }
};

}  // namespace

Vars expr::gradient_of(const Vars& outputs, const Vars& output_gradients) try {
  if (outputs.empty() || outputs.size() != output_gradients.size())
    throw InvalidArgument("gradient_of takes a gradient for each output; {} outputs and {} gradients were given", outputs.size(),
                          output_gradients.size());
  const std::shared_ptr<LazyNode> node = required_value(outputs[0]).node;
  if (node->kind != LazyNode::Kind::call) throw InvalidArgument("gradient_of takes outputs of an operator, not a value that was given");
  if (!node->op->gradient) throw Unsupported("{}: the operator has no gradient", node->op->name);
  if (node->inputs.empty() && node->is_computed())
    throw InvalidArgument(
        "{}: gradient_of is asked when the expression is gone: what depends on no placeholder, parameter or state keeps none once it is "
        "computed",
        node->op->name);
  std::vector<LazyValue> made, gradients(node->outputs.size());
  for (uint32_t i = 0; i < gradients.size(); ++i) made.push_back({node, i});
  for (size_t k = 0; k < outputs.size(); ++k) {
    const LazyValue output = required_value(outputs[k]);
    if (output.node != node) throw InvalidArgument("{}: gradient_of takes outputs of one operator, not of several", node->op->name);
    if (!output_gradients[k].has_value()) continue;
    gradients[output.output] = value_of(output_gradients[k]);
    check(*node, gradients[output.output], output, "output", output.output);
  }

  RuleGraph rule;
  const Exprs inputs = rule.wrap(node->inputs);
  std::vector<ValueInfo> infos(node->inputs.size());
  std::vector<const ValueInfo*> known;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (inputs[i]) infos[i] = info_of(node->inputs[i], true);
    known.push_back(inputs[i] ? &infos[i] : nullptr);
  }
  // A node for the rule to look at. Its outputs are represented by their values in the expression.
  Graph own;
  std::vector<Value*> arguments(infos.size());
  for (size_t i = 0; i < infos.size(); ++i)
    if (inputs[i]) arguments[i] = &own.add_input(inputs[i].value()->name(), inputs[i].value()->type);
  const Node& looked_at = own.add_node(node->op->name, arguments, {}, node->attributes, node->name);
  const NodeView view(looked_at, known, {}, node->op);
  const Exprs rule_made = node->op->gradient({view, inputs, rule.wrap(made), rule.wrap(gradients)});

  std::vector<size_t> places;  // in the results, of the graph's outputs
  for (size_t i = 0; i < rule_made.size() && i < infos.size(); ++i)
    if (rule_made[i]) places.push_back(i), rule.graph.add_output(*rule_made[i].value());
  const std::vector<LazyValue> computed = instantiate(rule.graph, node->operators, rule.values);
  Vars results(infos.size());
  for (size_t k = 0; k < places.size(); ++k) {
    check(*node, computed[k], node->inputs[places[k]], "input", places[k]);
    output_of(computed[k]).name.clear();
    results[places[k]] = var_of(computed[k]);
  }
  return results;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
