// SPDX-License-Identifier: Apache-2.0
// The gradient rule of one operator, as an expression.
#include <unordered_map>

#include "base/no_memory.h"
#include "express/graph.h"
#include "express/lower.h"
#include "ops/gradient.h"

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

/// The graph that rules write, whose inputs are values of the expression.
class RuleGraph {
 public:
  Graph graph;
  GraphBuilder builder{graph};
  std::vector<LazyValue> values;  // of the inputs

  Expr wrap(const LazyValue& value) {
    if (!value || output_of(value).kind == ValueInfo::Kind::absent) return {};
    Expr& made = inputs_[{value.node.get(), value.output}];
    if (!made) {
      made = builder.wrap(&graph.add_input(graph.fresh_name("value"), type_of(output_of(value))));
      values.push_back(value);
    }
    return made;
  }
  Exprs wrap(std::span<const LazyValue> given) {
    Exprs made;
    for (const LazyValue& value : given) made.push_back(wrap(value));
    return made;
  }

  /// The gradients of the node's inputs.
  Exprs go_back(const LazyNode& node, const Exprs& output_gradients, const std::vector<bool>& wanted) {
    const Exprs inputs = wrap(node.inputs);
    std::vector<ValueInfo> infos(node.inputs.size());
    std::vector<const ValueInfo*> known;
    for (size_t i = 0; i < infos.size(); ++i) {
      if (inputs[i]) infos[i] = info_of(node.inputs[i], true);
      known.push_back(inputs[i] ? &infos[i] : nullptr);
    }
    // For the rule to look at; the values of the expression stand for its outputs.
    Graph own;
    std::vector<Value*> arguments(infos.size());
    for (size_t i = 0; i < infos.size(); ++i)
      if (inputs[i]) arguments[i] = &own.add_input(inputs[i].value()->name(), inputs[i].value()->type);
    std::vector<std::string> names;
    Exprs outputs;
    for (uint32_t i = 0; i < node.outputs.size(); ++i) {
      const bool is_there = node.outputs[i].kind != ValueInfo::Kind::absent;
      names.push_back(is_there ? own.fresh_name("output") : std::string());
      outputs.push_back(is_there ? wrap(LazyValue{shared(node), i}) : Expr());
    }
    const Node& looked_at = own.add_node(node.op->name, arguments, names, node.attributes, node.name);
    const NodeView view(looked_at, known, {}, node.op);
    const OperatorSet& operators = node.operators ? *node.operators : OperatorSet::builtin();
    return input_gradients(operators, *node.op, {view, builder, inputs, outputs, output_gradients, wanted});
  }

  /// Nodes that stand in the expression: their outputs may be wrapped.
  void hold(const std::shared_ptr<LazyNode>& node) { nodes_[node.get()] = node; }

 private:
  std::shared_ptr<LazyNode> shared(const LazyNode& node) { return nodes_.at(&node); }
  struct Hash {
    size_t operator()(const std::pair<const LazyNode*, uint32_t>& key) const noexcept {
      return std::hash<const void*>()(key.first) * 31 + key.second;
    }
  };
  std::unordered_map<std::pair<const LazyNode*, uint32_t>, Expr, Hash> inputs_;
  std::unordered_map<const LazyNode*, std::shared_ptr<LazyNode>> nodes_;
};

}  // namespace

Vars expr::gradient_of(const Vars& outputs, const Vars& output_gradients) try {
  if (outputs.empty() || outputs.size() != output_gradients.size())
    throw InvalidArgument("gradient_of takes a gradient for each output; {} outputs and {} gradients were given", outputs.size(),
                          output_gradients.size());
  const std::shared_ptr<LazyNode> node = required_value(outputs[0]).node;
  if (node->kind != LazyNode::Kind::call) throw InvalidArgument("gradient_of takes outputs of an operator, not a value that was given");
  if (node->inputs.empty() && node->is_computed())
    throw InvalidArgument(
        "{}: gradient_of is asked when the expression is gone: what depends on no placeholder, parameter or state keeps none once it is "
        "computed",
        node->op->name);
  std::vector<LazyValue> gradients(node->outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    const LazyValue output = required_value(outputs[k]);
    if (output.node != node) throw InvalidArgument("{}: gradient_of takes outputs of one operator, not of several", node->op->name);
    if (!output_gradients[k].has_value()) continue;
    gradients[output.output] = value_of(output_gradients[k]);
    check(*node, gradients[output.output], output, "output", output.output);
  }

  RuleGraph rule;
  rule.hold(node);
  const Exprs rule_made = rule.go_back(*node, rule.wrap(gradients), std::vector<bool>(node->inputs.size(), true));

  std::vector<size_t> places;  // in the results, of the graph's outputs
  for (size_t i = 0; i < rule_made.size() && i < node->inputs.size(); ++i)
    if (rule_made[i]) places.push_back(i), rule.graph.add_output(*rule_made[i].value());
  const std::vector<LazyValue> computed = instantiate(rule.graph, node->operators, rule.values);
  Vars results(node->inputs.size());
  for (size_t k = 0; k < places.size(); ++k) {
    check(*node, computed[k], node->inputs[places[k]], "input", places[k]);
    output_of(computed[k]).name.clear();
    results[places[k]] = var_of(computed[k]);
  }
  return results;
} catch (...) {
  throw_as_error();
}

namespace {

/// An expression from the parameters to the loss, and the gradients that arrive at its values.
class Backward {
 public:
  Backward(const LazyValue& loss, std::span<const LazyValue> parameters) : parameters_(parameters) {
    for (const LazyValue& parameter : parameters) reaches_[parameter.node.get()] = true;
    walk({&loss, 1}, [&](const std::shared_ptr<LazyNode>& node) {
      bool reaches = reaches_.contains(node.get());
      for (const LazyValue& input : node->inputs) reaches = reaches || reaches_.contains(input.node.get());
      if (!reaches) return;
      reaches_[node.get()] = true;
      order_.push_back(node);
      rule_.hold(node);
    });
  }

  std::vector<LazyValue> run(const LazyValue& loss) {
    if (order_.empty()) return std::vector<LazyValue>(parameters_.size());
    const Shape* shape = known_shape(loss);
    const DType dtype = output_of(loss).dtype;
    Expr seed = rule_.builder.scalar(1, dtype);
    if (shape && shape->rank() > 0) seed = rule_.builder.op("Expand", {seed, rule_.builder.constant(Ints(shape->begin(), shape->end()))});
    add(loss, seed);
    for (size_t i = order_.size(); i-- > 0;) go_back(*order_[i]);
    std::vector<size_t> places;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (const Expr gradient = arrived(parameters_[i]))
        places.push_back(i), rule_.graph.add_output(*rule_.builder.op("Identity", {gradient}).value());
    std::vector<LazyValue> made = instantiate(rule_.graph, operators_, rule_.values), gradients(parameters_.size());
    for (size_t k = 0; k < places.size(); ++k) {
      output_of(made[k]).name.clear();
      gradients[places[k]] = std::move(made[k]);
    }
    return gradients;
  }

 private:
  Expr& arrived(const LazyValue& value) {
    std::vector<Expr>& gradients = sums_[value.node.get()];
    gradients.resize(value.node->outputs.size());
    return gradients[value.output];
  }
  void add(const LazyValue& value, const Expr& gradient) {
    Expr& sum = arrived(value);
    sum = sum ? sum + gradient : gradient;
  }

  void go_back(const LazyNode& node) {
    const auto at = sums_.find(&node);
    if (node.kind != LazyNode::Kind::call || at == sums_.end()) return;
    std::vector<bool> wanted(node.inputs.size());
    bool asked = false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const LazyValue& input = node.inputs[i];
      wanted[i] = input && reaches_.contains(input.node.get()) && is_float(output_of(input).dtype);
      asked = asked || wanted[i];
    }
    if (!asked) return;
    if (node.operators) operators_ = joined(operators_, node.operators);
    const Exprs gradients = at->second;
    const Exprs made = rule_.go_back(node, gradients, wanted);
    for (size_t i = 0; i < made.size() && i < wanted.size(); ++i)
      if (made[i] && wanted[i]) add(node.inputs[i], made[i]);
  }

  std::span<const LazyValue> parameters_;
  RuleGraph rule_;
  std::shared_ptr<const OperatorSet> operators_;
  std::vector<std::shared_ptr<LazyNode>> order_;
  std::unordered_map<const LazyNode*, bool> reaches_;
  std::unordered_map<const LazyNode*, Exprs> sums_;
};

}  // namespace

Vars expr::gradients(const Var& loss, const Vars& parameters) try {
  const LazyValue root = required_value(loss);
  const Output& output = output_of(root);
  if (output.kind != ValueInfo::Kind::tensor || !is_float(output.dtype))
    throw InvalidArgument("gradients takes a loss of floats, not {}", described(root));
  if (const Shape* shape = known_shape(root); shape && shape->elements() != 1)
    throw InvalidArgument("gradients takes a loss of one element, not {}", described(root));
  std::vector<LazyValue> values;
  for (const Var& parameter : parameters) {
    values.push_back(required_value(parameter));
    if (!is_float(output_of(values.back()).dtype))
      throw InvalidArgument("the gradient of {} is asked for; there are gradients of floats", described(values.back()));
  }
  Backward backward(root, values);
  const std::vector<LazyValue> made = backward.run(root);
  Vars results;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i])
      throw InvalidArgument("the loss does not depend on parameter {} ({}) by operators that have derivatives", i, described(values[i]));
    results.push_back(var_of(made[i]));
  }
  return results;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
