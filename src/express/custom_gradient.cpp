// SPDX-License-Identifier: Apache-2.0
// Gradients by functions of the program. Each output passes through a node of minnow.After, whose other inputs are the values that get
// gradients, and whose attribute leads to the function. The attribute survives where the node becomes part of a subgraph.
#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "base/no_memory.h"
#include "express/backward.h"
#include "express/graph.h"
#include "express/lower.h"
#include "express/recording.h"

namespace minnow {

#if MINNOW_GRADIENTS

using namespace express;

namespace {

std::mutex& rules_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::unordered_map<const void*, std::weak_ptr<const GradientRule>>& rules() {
  static auto& rules = *new std::unordered_map<const void*, std::weak_ptr<const GradientRule>>;  // outlives every thread
  return rules;
}

Vars with_rule(std::span<const LazyValue> inputs, const Vars& outputs, expr::GradientFunction function) {
  auto rule = std::make_shared<GradientRule>(std::move(function), outputs.size());
  {
    const std::lock_guard lock(rules_mutex());
    rules()[&rule->place] = rule;
  }
  const Tensor attribute(DType::i64, Shape{}, &rule->place, rule);
  Vars made;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<LazyValue> values{required_value(outputs[i])};
    values.insert(values.end(), inputs.begin(), inputs.end());
    static const Operator& after = find_operator("minnow.After");
    made.push_back(var_of(call(after, values, {{"rule", attribute}, {"output", static_cast<int64_t>(i)}})));
  }
  return made;
}

std::vector<LazyValue> values_of(const Vars& vars) {
  std::vector<LazyValue> values;
  for (const Var& x : vars) values.push_back(required_value(x));
  return values;
}

}  // namespace

namespace express {

GradientRule::~GradientRule() {
  const std::lock_guard lock(rules_mutex());
  rules().erase(&place);
}

std::shared_ptr<const GradientRule> gradient_rule_of(const LazyNode& node) {
  const Tensor* attribute = node.attributes.get<Tensor>("rule");
  if (!attribute || node.op->name != "minnow.After") return nullptr;
  const std::lock_guard lock(rules_mutex());
  const auto found = rules().find(attribute->data());
  return found == rules().end() ? nullptr : found->second.lock();
}

void forget_gradient_rules(Graph& graph) {
  for (Node& node : graph.nodes()) {
    if (node.op() == "minnow.After") node.attributes.remove("rule");
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) forget_gradient_rules(**subgraph);
  }
}

}  // namespace express

namespace expr {

Vars custom_gradient(const Vars& inputs, const Vars& outputs, GradientFunction gradient) try {
  if (inputs.empty() || outputs.empty()) throw InvalidArgument("custom_gradient takes at least one input and one output");
  return with_rule(values_of(inputs), outputs, std::move(gradient));
} catch (...) {
  throw_as_error();
}

Var with_gradient_hook(const Var& x, std::function<Var(const Var&)> hook) try {
  return custom_gradient({x}, {x}, [hook = std::move(hook)](const Vars& gradients) {
    const Var changed = hook(gradients[0]);
    return Vars{changed.has_value() ? changed : gradients[0]};
  })[0];
} catch (...) {
  throw_as_error();
}

Vars checkpoint(const Body& function, const Vars& inputs) try {
  const uint64_t first = LazyNode::next_id.load(std::memory_order_relaxed);
  const RecordedFunction made = collect(function(inputs), first);
  if (made.inside.empty()) return function(inputs);
  if (!made.states.empty()) throw Unsupported("checkpoint: the function changes states, and it cannot be computed twice");
  // The values that the function reads: those that a gradient may be asked of, parameters apart.
  std::unordered_set<const LazyNode*> inside(made.inside.begin(), made.inside.end());
  std::unordered_set<LazyValue, HashOfValue> seen;
  std::vector<LazyValue> read;
  for (const LazyNode* node : made.inside)
    for (const LazyValue& input : node->inputs)
      if (input && !inside.contains(input.node.get()) && input.node->keeps_inputs && output_of(input).kind == ValueInfo::Kind::tensor &&
          seen.insert(input).second)
        read.push_back(input);
  Vars outputs;
  for (const LazyValue& result : made.results) outputs.push_back(var_of(result));
  if (read.empty()) return outputs;
  const auto again = [read, outputs](const Vars& given) {
    std::vector<LazyValue> present;
    for (const Var& gradient : given)
      if (gradient.has_value()) present.push_back(required_value(gradient));
    // Computing the function again begins after its gradients are there: until then nothing of it takes memory.
    std::vector<std::pair<Var, Var>> from_to;
    std::vector<LazyValue> parameters;
    const bool waits_elsewhere = std::any_of(read.begin(), read.end(), [](const LazyValue& value) { return !value.node->trainable; });
    for (const LazyValue& value : read) {
      if (value.node->trainable && waits_elsewhere) {
        parameters.push_back(value);
        continue;
      }
      std::vector<LazyValue> waits{value};
      waits.insert(waits.end(), present.begin(), present.end());
      parameters.push_back(call(find_operator("minnow.After"), waits));
      from_to.emplace_back(var_of(value), var_of(parameters.back()));
    }
    const Vars recomputed = replace(outputs, from_to);
    std::vector<LazyValue> results, gradients;
    for (size_t i = 0; i < recomputed.size(); ++i) {
      if (!given[i].has_value()) continue;
      results.push_back(required_value(recomputed[i]));
      gradients.push_back(required_value(given[i]));
    }
    Vars found;
    for (const LazyValue& gradient : differentiate(results, gradients, parameters, true))
      found.push_back(gradient ? var_of(gradient) : Var());
    return found;
  };
  return with_rule(read, outputs, again);
} catch (...) {
  throw_as_error();
}

}  // namespace expr

#else

void express::forget_gradient_rules(Graph&) {}
Vars expr::custom_gradient(const Vars&, const Vars& outputs, GradientFunction) { return outputs; }
Var expr::with_gradient_hook(const Var& x, std::function<Var(const Var&)>) { return x; }
Vars expr::checkpoint(const Body& function, const Vars& inputs) { return function(inputs); }

#endif

}  // namespace minnow
