// SPDX-License-Identifier: Apache-2.0
#include "express/state.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/no_memory.h"
#include "base/sort.h"
#include "express/lower.h"

namespace minnow {

using namespace express;

namespace express {

thread_local const RecordingScope* RecordingScope::innermost = nullptr;

LazyValue state_of(const ValueType& type, const std::string& name, Tensor initial) {
  LazyValue made = constant_value(initial);
  LazyNode& node = *made.node;
  node.kind = LazyNode::Kind::state;
  node.fed_by_others = node.keeps_inputs = true;
  node.state = std::make_unique<StateParts>();
  node.state->initial = std::move(initial);
  node.any_rank = !type.dims;
  if (type.dims)
    for (const Dim& dim : *type.dims) node.dims.push_back(dim.size);
  Output& output = node.outputs[0];
  output.name = name;
  output.shape_known = type.is_static();
  return made;
}

std::vector<LazyValue> states_of(const Graph& graph) {
  std::vector<LazyValue> states;
  for (const State& state : graph.states()) states.push_back(state_of(state.current->type, state.name, state.initial));
  return states;
}

std::shared_ptr<LazyNode> make_step(std::span<const LazyValue> results, std::span<const LazyValue> next,
                                    std::span<const LazyValue> states) {
  auto node = std::make_shared<LazyNode>();
  node->kind = LazyNode::Kind::step;
  node->fed_by_others = node->keeps_inputs = true;
  node->state = std::make_unique<StateParts>();
  for (const std::span<const LazyValue> part : {results, next, states}) node->inputs.insert(node->inputs.end(), part.begin(), part.end());
  node->pending = 1;
  for (const LazyValue& input : node->inputs) {
    if (!node->operators) node->operators = input.node->operators;
    if (!input.node->is_computed()) node->pending = std::min(node->pending + input.node->pending, kMostPending);
  }
  for (const LazyValue& result : results) {
    const Output& from = output_of(result);
    Output& to = node->outputs.emplace_back();
    to.name = from.name;
    to.kind = from.kind, to.element = from.element, to.dtype = from.dtype;
    to.shape_known = from.shape_known, to.shape = from.shape;
  }
  // Collect the feeds. An earlier step already lists its own, so the walk ends there.
  std::unordered_set<const LazyNode*> seen;
  std::vector<const LazyNode*> stack{node.get()};
  const auto feed = [&](const LazyNode* given) {
    if (seen.insert(given).second) node->state->feeds.push_back(given);
  };
  while (!stack.empty()) {
    const LazyNode* from = stack.back();
    stack.pop_back();
    for (const LazyValue& input : from->inputs) {
      const LazyNode* below = input.node.get();
      if (!below || !below->fed_by_others) continue;
      if (is_given(*below))
        feed(below);
      else if (below->kind == LazyNode::Kind::step)
        std::for_each(below->state->feeds.begin(), below->state->feeds.end(), feed);
      else if (seen.insert(below).second)
        stack.push_back(below);
    }
  }
  return node;
}

void sort_by_age(std::vector<LazyValue>& nodes) {
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  sort_indices(order, [&](size_t a, size_t b) { return nodes[a].node->id < nodes[b].node->id; });
  std::vector<LazyValue> sorted;
  for (const size_t i : order) sorted.push_back(nodes[i]);
  nodes.swap(sorted);
}

std::vector<LazyValue> earlier_steps(std::vector<LazyValue> steps) {
  std::vector<LazyValue> earlier;
  if (steps.size() < 2) return earlier;
  sort_by_age(steps);
  std::unordered_set<const LazyNode*> changed_later;
  for (size_t k = steps.size(); k-- > 0;) {
    bool again = false;
    for (const LazyValue& state : states_of(*steps[k].node)) again |= !changed_later.insert(state.node.get()).second;
    if (again) earlier.push_back(steps[k]);
  }
  std::reverse(earlier.begin(), earlier.end());
  return earlier;
}

bool takes(const LazyNode& given, DType dtype, const Shape& shape) {
  if (dtype != given.outputs[0].dtype) return false;
  if (given.any_rank) return true;
  bool fits = shape.rank() == given.dims.size();
  for (size_t i = 0; fits && i < given.dims.size(); ++i) fits = given.dims[i] < 0 || given.dims[i] == shape[i];
  return fits;
}

void give(const LazyValue& to, Tensor value) {
  LazyNode& node = *to.node;
  if (node.kind == LazyNode::Kind::state && RecordingScope::is_open())
    throw InvalidArgument(
        "the state \"{}\" is assigned or reset inside a function of cond(), while_loop() or scan(), which is called once, to record what "
        "it "
        "computes; do so outside, or give it its next value by step()",
        node.outputs[0].name);
  if (!takes(node, value.dtype(), value.shape()))
    throw InvalidArgument("the {} \"{}\" is {}{}, it is given {}{}", kind_word(node), node.outputs[0].name, node.outputs[0].dtype,
                          node.any_rank ? std::string(" of any shape") : format("{}", node.dims), value.dtype(), value.shape());
  node.outputs[0].tensor = std::move(value);
  node.set_given();
}

}  // namespace express

namespace expr {

Var state(Tensor initial, std::string name) try {
  if (!initial) throw InvalidArgument("a state is made of an empty Tensor");
  const ValueType type = ValueType::tensor(initial.dtype(), initial.shape());
  return var_of(state_of(type, name, std::move(initial)));
} catch (...) {
  throw_as_error();
}

Vars step(const Vars& results, const std::vector<std::pair<Var, Var>>& next) try {
  if (results.empty()) throw InvalidArgument("step() takes the results that are computed as the states change; none are given");
  std::vector<LazyValue> values, changed, following;
  for (const Var& x : results) values.push_back(required_value(x));
  for (const auto& [to, from] : next) {
    const LazyValue state = required_value(to), value = required_value(from);
    const LazyNode& node = *state.node;
    if (node.kind != LazyNode::Kind::state)
      throw InvalidArgument("step() is given a next value of \"{}\", which is no state", output_of(state).name);
    if (std::find(changed.begin(), changed.end(), state) != changed.end())
      throw InvalidArgument("step() is given two next values of the state \"{}\"", output_of(state).name);
    const Shape* shape = known_shape(value);
    if (!takes(node, output_of(value).dtype, shape ? *shape : node.outputs[0].tensor.shape()))
      throw InvalidArgument("the state \"{}\" is {}{}, its next value is {}{}", output_of(state).name, output_of(state).dtype, node.dims,
                            output_of(value).dtype, shape ? to_string(*shape) : std::string());
    changed.push_back(state);
    following.push_back(value);
  }
  const std::shared_ptr<LazyNode> made = make_step(values, following, changed);
  Vars made_results;
  for (uint32_t i = 0; i < results.size(); ++i) made_results.push_back(var_of({made, i}));
  return made_results;
} catch (...) {
  throw_as_error();
}

Vars states(const Vars& outputs) try {
  std::vector<LazyValue> roots;
  for (const Var& x : outputs) roots.push_back(required_value(x));
  Vars found;
  walk(roots, [&](const std::shared_ptr<LazyNode>& node) {
    if (node->kind == LazyNode::Kind::state) found.push_back(var_of({node, 0}));
  });
  return found;
} catch (...) {
  throw_as_error();
}

void reset_states(const Vars& outputs) try {
  for (const Var& state : states(outputs)) reset_state(required_value(state));
} catch (...) {
  throw_as_error();
}

}  // namespace expr
}  // namespace minnow
