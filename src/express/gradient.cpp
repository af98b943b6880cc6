// SPDX-License-Identifier: Apache-2.0
// The gradient rule of one operator, as an expression.
#include <unordered_map>

#include "base/no_memory.h"
#include "express/backward.h"
#include "express/graph.h"
#include "express/lower.h"
#include "express/state.h"

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

}  // namespace

namespace express {

Expr RuleGraph::wrap(const LazyValue& value) {
  if (!value || output_of(value).kind == ValueInfo::Kind::absent) return {};
  Expr& made = inputs_[value];
  if (!made) {
    made = builder.wrap(&graph.add_input(graph.fresh_name("value"), type_of(output_of(value))));
    values.push_back(value);
  }
  return made;
}

Exprs RuleGraph::wrap(std::span<const LazyValue> given) {
  Exprs made;
  for (const LazyValue& value : given) made.push_back(wrap(value));
  return made;
}

Exprs RuleGraph::call(const LazyNode& described, const Exprs& inputs, std::span<const DType> dtypes) {
  std::vector<Value*> values;
  for (const Expr& input : inputs) values.push_back(input.value());
  std::vector<std::string> names;
  for (size_t i = 0; i < dtypes.size(); ++i) names.push_back(graph.fresh_name("gradient"));
  const Node& node = emit(graph, described, values, names, described.name);
  Exprs made;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    node.output(i)->type.dtype = dtypes[i];
    made.push_back(builder.wrap(node.output(i)));
  }
  return made;
}

Expr RuleGraph::zeros_like(const LazyValue& value) {
  const Shape* known = known_shape(value);
  const Expr shape = known ? builder.constant(Ints(known->begin(), known->end())) : builder.op("Shape", {wrap(value)});
  const Expr made = builder.op("ConstantOfShape", {shape}, {{"value", Tensor(output_of(value).dtype, Shape{1})}});
  made.value()->type.dtype = output_of(value).dtype;
  return made;
}

Exprs RuleGraph::go_back(LazyNode& node, const Exprs& output_gradients, const std::vector<bool>& wanted) {
  if (!node.closures.empty()) return control_flow_gradients(*this, node, output_gradients, wanted);
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

}  // namespace express

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

/// An expression from the parameters to the outputs, and the gradients that arrive at its values.
class Backward {
 public:
  Backward(std::span<const LazyValue> outputs, std::span<const LazyValue> parameters) : parameters_(parameters) {
    for (const LazyValue& parameter : parameters) reaches_[parameter.node.get()] = true;
    walk(outputs, [&](const std::shared_ptr<LazyNode>& node) {
      bool reaches = reaches_.contains(node.get());
      for (const LazyValue& input : node->inputs) reaches = reaches || reaches_.contains(input.node.get());
      if (!reaches) return;
      reaches_[node.get()] = true;
      order_.push_back(node);
      rule_.hold(node);
    });
  }

  RuleGraph& rules() { return rule_; }
  void add(const LazyValue& value, const Expr& gradient) {
    Expr& sum = arrived(value);
    sum = sum ? sum + gradient : gradient;
  }

  std::vector<LazyValue> run() {
    for (size_t i = order_.size(); i-- > 0;) go_back(*order_[i]);
    std::vector<size_t> places;
    for (size_t i = 0; i < parameters_.size(); ++i)
      if (const Expr gradient = arrived(parameters_[i])) {
        // A value of the expression itself keeps its name.
        const bool is_made = gradient.value()->producer() != nullptr;
        places.push_back(i), rule_.graph.add_output(*(is_made ? gradient : rule_.builder.op("Identity", {gradient})).value());
      }
    std::vector<LazyValue> made = instantiate(rule_.graph, operators_, rule_.values), gradients(parameters_.size());
    for (size_t k = 0; k < places.size(); ++k) {
      Output& output = output_of(made[k]);
      output.name.clear();
      if (const Shape* shape = known_shape(parameters_[places[k]]); shape && !output.shape_known) {
        output.shape_known = true;
        output.shape = *shape;
      }
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
  void go_back(LazyNode& node) {
    const auto at = sums_.find(&node);
    if (at == sums_.end()) return;
    if (node.kind == LazyNode::Kind::step) {  // its outputs are its first inputs
      const Exprs gradients = at->second;
      for (size_t i = 0; i < gradients.size(); ++i)
        if (gradients[i] && reaches_.contains(node.inputs[i].node.get())) add(node.inputs[i], gradients[i]);
    }
    if (node.kind != LazyNode::Kind::call) return;
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

std::vector<LazyValue> express::differentiate(std::span<const LazyValue> outputs, std::span<const LazyValue> output_gradients,
                                              std::span<const LazyValue> parameters) {
  Backward backward(outputs, parameters);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (output_gradients[i]) backward.add(outputs[i], backward.rules().wrap(output_gradients[i]));
  return backward.run();
}

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
  Backward backward({&root, 1}, values);
  RuleGraph& rules = backward.rules();
  Expr seed = rules.builder.scalar(1, output.dtype);
  if (const Shape* shape = known_shape(root); shape && shape->rank() > 0)
    seed = rules.builder.op("Expand", {seed, rules.builder.constant(Ints(shape->begin(), shape->end()))});
  backward.add(root, seed);
  const std::vector<LazyValue> made = backward.run();
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
