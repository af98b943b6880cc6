// SPDX-License-Identifier: Apache-2.0
// The gradient rule of one operator, as an expression.
#include <unordered_map>
#include <unordered_set>

#include "base/no_memory.h"
#include "express/backward.h"
#include "express/evaluate.h"
#include "express/graph.h"
#include "express/lower.h"
#include "express/state.h"

namespace minnow {

#if MINNOW_GRADIENTS

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

namespace {
constexpr int64_t kMostContents = 64;  // elements of a value that is computed for a rule to read, such as axes
}

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

Exprs RuleGraph::go_back(const std::shared_ptr<LazyNode>& node, const Exprs& output_gradients, const std::vector<bool>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] && output_of(node->inputs[i]).kind != ValueInfo::Kind::tensor)
      throw Unsupported(
          "node \"{}\" ({}): the gradient of a sequence or an optional needs its length and the places that are read before the run",
          node->name, node->op->name);
  if (!node->closures.empty()) return control_flow_gradients(*this, node, output_gradients, wanted);
  try {
    return apply_rule(node, output_gradients, wanted);
  } catch (const NeedsContents&) {}
  // Small values that the rule may read and that are not computed yet.
  std::vector<LazyValue> small;
  for (const LazyValue& input : node->inputs)
    if (const Shape* shape = input ? known_shape(input) : nullptr;
        shape && shape->elements() <= kMostContents && !input.node->fed_by_others && !input.node->is_computed())
      small.push_back(input);
  try {
    evaluate(small);
    return apply_rule(node, output_gradients, wanted);
  } catch (const NeedsContents& needs) {
    throw Unsupported("node \"{}\" ({}): the gradient needs the contents of input {} before the run", node->name, node->op->name,
                      needs.input);
  }
}

Exprs RuleGraph::apply_rule(const std::shared_ptr<LazyNode>& held, const Exprs& output_gradients, const std::vector<bool>& wanted) {
  const LazyNode& node = *held;
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
    outputs.push_back(is_there ? wrap(LazyValue{held, i}) : Expr());
  }
  const Node& looked_at = own.add_node(node.op->name, arguments, names, node.attributes, node.name);
  const NodeView view(looked_at, known, {}, node.op);
  const OperatorSet& operators = node.operators ? *node.operators : OperatorSet::builtin();
  const auto keep = [&](size_t i, const Shape& shape) -> Expr {
    if (held->is_computed()) return {};
    if (held->outputs.size() <= i) held->outputs.resize(i + 1);
    Output& output = held->outputs[i];
    output.kind = ValueInfo::Kind::tensor;
    output.dtype = output_of(held->inputs[0]).dtype;
    output.shape_known = true, output.shape = shape;
    held->open = nullptr;
    return wrap(LazyValue{held, static_cast<uint32_t>(i)});
  };
  const FunctionRef<Expr(size_t, const Shape&)> keeps = keep;
  return input_gradients(operators, *node.op, {view, builder, inputs, outputs, output_gradients, wanted, &keeps});
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
  const Exprs rule_made = rule.go_back(node, rule.wrap(gradients), std::vector<bool>(node->inputs.size(), true));

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
  /// `ends`: gradients do not go on behind parameters.
  Backward(std::span<const LazyValue> outputs, std::span<const LazyValue> parameters, bool ends)
      : parameters_(parameters.begin(), parameters.end()), ends_(ends), rules_(std::make_unique<RuleGraph>()) {
    resolve_sequences(outputs);
    kept_.insert(parameters.begin(), parameters.end());
    for (const LazyValue& parameter : parameters) reaches_.insert(parameter.node.get());
    walk(outputs, [&](const std::shared_ptr<LazyNode>& node) {
      bool reaches = reaches_.contains(node.get());
      for (const LazyValue& input : node->inputs) reaches = reaches || wants(input);  // not through integers, such as shapes
      if (!reaches) return;
      reaches_.insert(node.get());
      order_.push_back(node);
      if (const std::shared_ptr<const GradientRule> rule = custom_rule(*node)) ++custom_[rule.get()].left;
    });
  }

  RuleGraph& rules() { return *rules_; }
  void add(const LazyValue& value, const Expr& gradient) {
    Sum& sum = sums_[value];
    if (!sum.expr) open_.push_back(value);
    if (sum.made) sum.expr = rules_->wrap(sum.made), sum.made = {};
    sum.expr = sum.expr ? sum.expr + gradient : gradient;
  }

  std::vector<LazyValue> run() {
    for (size_t i = order_.size(); i-- > 0;)
      if (!go_back(order_[i])) stopped_.push_back(order_[i]);
    compute_sums();
    std::vector<LazyValue> gradients;
    for (const LazyValue& parameter : parameters_) {
      const auto found = sums_.find(parameter);
      gradients.push_back(found == sums_.end() ? LazyValue() : found->second.made);
      if (!gradients.back()) continue;
      Output& output = output_of(gradients.back());
      if (const Shape* shape = known_shape(parameter); shape && !output.shape_known) {
        output.shape_known = true;
        output.shape = *shape;
      }
    }
    return gradients;
  }

  /// The gradients of the sum of one output.
  std::vector<LazyValue> run_from(const LazyValue& root) {
    Expr seed = rules_->builder.scalar(1, output_of(root).dtype);
    if (const Shape* shape = known_shape(root); shape && shape->rank() > 0)
      seed = rules_->builder.op("Expand", {seed, rules_->builder.constant(Ints(shape->begin(), shape->end()))});
    add(root, seed);
    return run();
  }

  /// After run(): the nodes, `node "x" (Round)`, that depend on a parameter and give it no gradient.
  std::vector<std::string> stops() const {
    std::vector<std::string> found;
    const auto tell = [&](const LazyNode& node) {
      found.push_back(node.name.empty() ? format("{}", node.op->name) : format("node \"{}\" ({})", node.name, node.op->name));
    };
    for (const std::shared_ptr<LazyNode>& node : order_) {
      if (node->kind != LazyNode::Kind::call || node->op->shape_only) continue;
      const bool floats = std::any_of(node->outputs.begin(), node->outputs.end(), [](const Output& one) { return is_float(one.dtype); });
      if (!floats || std::find(stopped_.begin(), stopped_.end(), node) != stopped_.end()) tell(*node);
    }
    return found;
  }

 private:
  /// The gradient of a value so far: in the graph of the rules, or in the expression.
  struct Sum {
    Expr expr;
    LazyValue made;
    explicit operator bool() const noexcept { return expr || made; }
  };
  /// The gradients that arrived at the outputs of a rule of the program.
  struct Custom {
    size_t left = 0;  // outputs that are still to come
    std::vector<LazyValue> gradients;
  };

  static std::shared_ptr<const GradientRule> custom_rule(const LazyNode& node) {
    return node.kind == LazyNode::Kind::call && node.attributes.size() != 0 ? gradient_rule_of(node) : nullptr;
  }

  /// Makes an expression of what the rules wrote, and begins a new graph.
  void compute_sums() {
    std::vector<Sum*> sums;
    for (const LazyValue& value : open_)
      if (const auto found = sums_.find(value); found != sums_.end() && found->second.expr) {
        sums.push_back(&found->second);
        // A value of the expression itself keeps its name.
        const Expr& sum = found->second.expr;
        rules_->graph.add_output(*(sum.value()->producer() ? sum : rules_->builder.op("Identity", {sum})).value());
      }
    open_.clear();
    if (!sums.empty()) {
      const std::vector<LazyValue> made = instantiate(rules_->graph, operators_, rules_->values);
      for (size_t i = 0; i < sums.size(); ++i) {
        output_of(made[i]).name.clear();
        sums[i]->expr = {};
        sums[i]->made = made[i];
      }
    }
    rules_ = std::make_unique<RuleGraph>();
  }

  /// False where gradients came to the node and none of its inputs got one.
  bool go_back(const std::shared_ptr<LazyNode>& node) {
    if (node->kind != LazyNode::Kind::call && node->kind != LazyNode::Kind::step) return true;
    if (const std::shared_ptr<const GradientRule> rule = custom_rule(*node)) return go_back_by(*rule, node);
    Exprs gradients(node->outputs.size());
    bool any = false;
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      const auto found = sums_.find({node, i});
      if (found == sums_.end() || !found->second || (ends_ && kept_.contains(found->first))) continue;
      Sum& sum = found->second;
      gradients[i] = sum.expr ? sum.expr : rules_->wrap(sum.made);
      any = true;
      if (!kept_.contains(found->first)) sums_.erase(found);
    }
    if (!any) return true;
    if (node->kind == LazyNode::Kind::step) {  // its outputs are its first inputs
      for (size_t i = 0; i < gradients.size(); ++i)
        if (gradients[i] && reaches_.contains(node->inputs[i].node.get())) add(node->inputs[i], gradients[i]);
      return true;
    }
    std::vector<bool> wanted(node->inputs.size());
    bool asked = false;
    for (size_t i = 0; i < wanted.size(); ++i) asked |= wanted[i] = wants(node->inputs[i]);
    if (!asked) return true;
    if (node->operators) operators_ = joined(operators_, node->operators);
    const std::vector<LazyValue> inputs = node->inputs;  // control flow may get others
    const Exprs made = rules_->go_back(node, gradients, wanted);
    bool goes_on = false;
    for (size_t i = 0; i < made.size() && i < wanted.size(); ++i)
      if (made[i] && wanted[i]) add(inputs[i], made[i]), goes_on = true;
    return goes_on;
  }

  bool wants(const LazyValue& input) const { return input && reaches_.contains(input.node.get()) && is_float(output_of(input).dtype); }

  /// Calls the rule when the gradients of all its outputs have come. They are ready before the first of its inputs is looked at. Returns as
  /// go_back().
  bool go_back_by(const GradientRule& rule, const std::shared_ptr<LazyNode>& node) {
    if (ends_ && kept_.contains({node, 0})) return true;
    Custom& custom = custom_[&rule];
    custom.gradients.resize(rule.outputs);
    const auto found = sums_.find({node, 0});
    if (found != sums_.end() && found->second) {
      if (found->second.expr) compute_sums();
      custom.gradients[static_cast<size_t>(*node->attributes.get<int64_t>("output"))] = found->second.made;
      if (!kept_.contains(found->first)) sums_.erase(found);
    }
    if (--custom.left > 0) return true;
    Vars given;
    bool any = false;
    for (const LazyValue& gradient : custom.gradients) {
      given.push_back(gradient ? var_of(gradient) : Var());
      any = any || gradient;
    }
    if (!any) return true;
    const Vars made = rule.function(given);
    const size_t count = node->inputs.size() - 1;
    if (made.size() != count) throw InvalidArgument("a custom gradient gives {} gradients for {} inputs", made.size(), count);
    bool goes_on = false;
    for (size_t i = 0; i < count; ++i) {
      const LazyValue& input = node->inputs[i + 1];
      if (!made[i].has_value() || !wants(input)) continue;
      const LazyValue gradient = required_value(made[i]);
      check(*node, gradient, input, "input", i);
      add(input, rules_->wrap(gradient));
      goes_on = true;
    }
    return goes_on;
  }

  std::vector<LazyValue> parameters_;
  const bool ends_;
  std::unordered_set<LazyValue, HashOfValue> kept_;  // values whose gradients are results
  std::unique_ptr<RuleGraph> rules_;
  std::shared_ptr<const OperatorSet> operators_;
  std::vector<std::shared_ptr<LazyNode>> order_, stopped_;
  std::unordered_set<const LazyNode*> reaches_;
  std::unordered_map<LazyValue, Sum, HashOfValue> sums_;
  std::vector<LazyValue> open_;  // values whose sums are in the graph of the rules
  std::unordered_map<const GradientRule*, Custom> custom_;
};

}  // namespace

std::vector<LazyValue> express::differentiate(std::span<const LazyValue> outputs, std::span<const LazyValue> output_gradients,
                                              std::span<const LazyValue> parameters, bool ends) {
  Backward backward(outputs, parameters, ends);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (output_gradients[i]) backward.add(outputs[i], backward.rules().wrap(output_gradients[i]));
  return backward.run();
}

std::string express::why_no_gradient(const LazyValue& loss, const LazyValue& parameter) {
  Backward backward({&loss, 1}, {&parameter, 1}, false);
  backward.run_from(loss);
  const std::vector<std::string> stops = backward.stops();
  if (stops.empty()) return {};
  std::string told;
  for (size_t i = 0; i < std::min<size_t>(stops.size(), 3); ++i) told += format("{}{}", i > 0 ? ", " : "", stops[i]);
  return format(" by operators that have derivatives: {}{} {} none", told, stops.size() > 3 ? " ..." : "",
                stops.size() > 1 ? "have" : "has");
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
  Backward backward({&root, 1}, values, false);
  const std::vector<LazyValue> made = backward.run_from(root);
  Vars results;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i])
      throw InvalidArgument("the loss does not depend on parameter {} ({}){}", i, described(values[i]), why_no_gradient(root, values[i]));
    results.push_back(var_of(made[i]));
  }
  return results;
} catch (...) {
  throw_as_error();
}

#else

Vars expr::gradient_of(const Vars&, const Vars&) try { throw Unsupported("this build has no gradients (MINNOW_GRADIENTS)"); } catch (...) {
  throw_as_error();
}
Vars expr::gradients(const Var&, const Vars&) try { throw Unsupported("this build has no gradients (MINNOW_GRADIENTS)"); } catch (...) {
  throw_as_error();
}

#endif

}  // namespace minnow
