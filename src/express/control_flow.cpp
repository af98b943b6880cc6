// SPDX-License-Identifier: Apache-2.0
// cond, while_loop and scan call their functions once with placeholders. The nodes that a function makes become the subgraph of an If, a
// Loop or a Scan. Values older than the call are captured. States changed inside are carried beside the values, and the whole is a step of
// these states.
#include <algorithm>
#include <unordered_set>

#include "base/no_memory.h"
#include "express/lower.h"
#include "express/recording.h"
#include "express/state.h"
#include "ops/infer.h"

namespace minnow {

namespace express {

namespace {
constexpr int64_t kMostEmbedded = 64;  // elements of a constant that becomes part of the subgraph; larger ones are captured
}

RecordedFunction record(FunctionRef<Vars()> function, uint64_t first) {
  const RecordingScope scope;
  return collect(function(), first ? first : scope.first());
}

RecordedFunction collect(const Vars& results, uint64_t first) {
  RecordedFunction made;
  made.first = first;
  for (const Var& result : results) made.results.push_back(required_value(result));
  std::vector<const LazyNode*> stack;
  std::unordered_set<const LazyNode*> seen;
  for (const LazyValue& result : made.results) stack.push_back(result.node.get());
  while (!stack.empty()) {
    const LazyNode* node = stack.back();
    stack.pop_back();
    const bool is_made = node->kind == LazyNode::Kind::call || node->kind == LazyNode::Kind::step;
    if (node->id < made.first || !is_made || node->is_computed() || !seen.insert(node).second) continue;
    made.inside.push_back(node);
    for (const LazyValue& input : node->inputs)
      if (input) stack.push_back(input.node.get());
  }
  std::sort(made.inside.begin(), made.inside.end(), [](const LazyNode* a, const LazyNode* b) { return a->id < b->id; });
  for (const LazyNode* node : made.inside)
    if (node->kind == LazyNode::Kind::step)
      for (const LazyValue& state : states_of(*node))
        if (std::find(made.states.begin(), made.states.end(), state) == made.states.end()) made.states.push_back(state);
  return made;
}

Recorded body_of(const RecordedFunction& recording, std::span<const LazyValue> formals, std::span<const LazyValue> states, size_t carried) {
  Recorded body;
  body.graph = std::make_shared<Graph>();
  Graph& graph = *body.graph;
  std::unordered_map<const LazyNode*, std::vector<Value*>> values;
  for (size_t i = 0; i < formals.size(); ++i) {
    std::vector<Value*>& known = values[formals[i].node.get()];
    known.resize(formals[i].node->outputs.size());
    known[formals[i].output] = &graph.add_input(format("in{}", i), type_of(output_of(formals[i])));
  }
  size_t names = 0;
  const auto fresh = [&] { return format("v{}", names++); };
  const auto capture = [&](const LazyValue& value) -> Value* {
    std::vector<Value*>& known = values[value.node.get()];
    known.resize(value.node->outputs.size());
    if (!known[value.output]) {
      known[value.output] = &graph.add_input(format("captured{}", body.captured.size()), type_of(output_of(value)));
      body.captured.push_back(value);
    }
    return known[value.output];
  };
  const auto value_in = [&](const LazyValue& value) -> Value* {
    if (!value) return nullptr;
    if (const auto found = values.find(value.node.get()); found != values.end() && found->second[value.output])
      return found->second[value.output];
    const Output& output = output_of(value);
    const bool embedded = value.node->id >= recording.first && output.tensor && value.node->is_computed() && !value.node->keeps_inputs &&
                          output.tensor.elements() <= kMostEmbedded;
    if (!embedded) return capture(value);
    std::vector<Value*>& known = values[value.node.get()];
    known.resize(value.node->outputs.size());
    return known[value.output] = &graph.add_constant(output.tensor, fresh());
  };
  for (const LazyNode* node : recording.inside) {
    body.operators = joined(body.operators, node->operators);
    std::vector<Value*> inputs;
    for (const LazyValue& input : node->inputs) inputs.push_back(value_in(input));
    std::vector<Value*>& known = values[node];
    if (node->kind == LazyNode::Kind::step) {  // whoever reads the states from here on reads their next values
      known.assign(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(node->outputs.size()));
      for (size_t i = 0; i < state_count(*node); ++i) values[states_of(*node)[i].node.get()] = {inputs[node->outputs.size() + i]};
      continue;
    }
    std::vector<std::string> output_names;
    for (const Output& output : node->outputs) output_names.push_back(output.kind == ValueInfo::Kind::absent ? std::string() : fresh());
    const Node& made = emit(graph, *node, inputs, output_names, node->name);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      known.push_back(made.output(i));
      if (made.output(i)) made.output(i)->type = type_of(node->outputs[i]);
    }
  }
  std::vector<LazyValue> outputs = recording.results;
  outputs.insert(outputs.begin() + static_cast<ptrdiff_t>(carried), states.begin(), states.end());
  for (const LazyValue& output : outputs) {
    Value* value = value_in(output);
    if (!value->producer() || value->is_graph_output()) {
      const std::string name[] = {fresh()};
      Value* const from[] = {value};
      const ValueType type = value->type;
      value = graph.add_node("Identity", from, name).output(0);
      value->type = type;
    }
    graph.add_output(*value);
  }
  return body;
}

LazyValue formal(const std::string& name, DType dtype, const Shape* shape) {
  LazyValue made =
      value_of(shape ? expr::placeholder(name, dtype, std::vector<int64_t>(shape->begin(), shape->end())) : expr::placeholder(name, dtype));
  made.node->is_formal = true;
  return made;
}

bool keeps_shapes(std::span<const LazyValue> formals, std::span<const LazyValue> results) {
  for (size_t i = 0; i < formals.size(); ++i) {
    const Shape* before = known_shape(formals[i]);
    const Shape* after = known_shape(results[i]);
    if (before && !(after && *after == *before)) return false;
  }
  return true;
}

}  // namespace express

using namespace express;

namespace {

LazyValue formal_like(const LazyValue& like, const std::string& name, bool with_shape) {
  return formal(name, output_of(like).dtype, with_shape ? known_shape(like) : nullptr);
}

void check_one_bool(const LazyValue& condition) {
  const Output& output = output_of(condition);
  const Shape* shape = known_shape(condition);
  if (output.kind != ValueInfo::Kind::tensor || output.dtype != DType::boolean || (shape && shape->elements() != 1))
    throw InvalidArgument("the condition should be one bool, it is {}{}", output.dtype, shape ? to_string(*shape) : std::string());
}

void check_same(std::span<const LazyValue> initial, const Vars& results) {
  if (results.size() < initial.size()) throw InvalidArgument("the body gives {} values, {} are carried", results.size(), initial.size());
  for (size_t i = 0; i < initial.size(); ++i)
    if (const DType from = output_of(initial[i]).dtype, to = results[i].dtype(); from != to)
      throw InvalidArgument("carried value {} is {} at first, the body gives {}", i, from, to);
}

// Calls the operator as a step of `states`; its outputs from number `carried` on are the states' next values.
Vars call_with(std::string_view op, std::vector<LazyValue> inputs, Attributes attributes,
               std::vector<std::pair<std::string, Recorded>> bodies, size_t outputs, const std::vector<LazyValue>& states, size_t carried) {
  CallRequest request;
  request.op = &find_operator(op);
  request.inputs = std::move(inputs);
  request.formal_inputs = request.inputs.size();
  request.attributes = std::move(attributes);
  for (auto& [name, body] : bodies) {
    request.operators = joined(request.operators, body.operators);
    request.closures.push_back({name, std::move(body.graph), body.captured.size()});
    request.inputs.insert(request.inputs.end(), body.captured.begin(), body.captured.end());
  }
  request.wanted.assign(outputs + states.size(), true);
  std::shared_ptr<LazyNode> node = call(std::move(request));
  std::vector<LazyValue> values, next;
  for (uint32_t i = 0; i < outputs + states.size(); ++i) (i < carried || i >= carried + states.size() ? values : next).push_back({node, i});
  node.reset();
  if (!states.empty()) {
    node = make_step(values, next, states);
    for (uint32_t i = 0; i < outputs; ++i) values[i] = {node, i};
  }
  Vars results;
  for (LazyValue& value : values) results.push_back(var_of(std::move(value)));
  return results;
}

}  // namespace

namespace expr {

Vars cond(const Var& condition, const std::function<Vars()>& then_branch, const std::function<Vars()>& else_branch) try {
  const LazyValue truth = required_value(condition);
  check_one_bool(truth);
  const RecordedFunction yes = record(then_branch), no = record(else_branch);
  const size_t count = yes.results.size();
  if (count != no.results.size()) throw InvalidArgument("one branch gives {} values, the other {}", count, no.results.size());
  for (size_t i = 0; i < count; ++i)
    if (const DType one = output_of(yes.results[i]).dtype, other = output_of(no.results[i]).dtype; one != other)
      throw InvalidArgument("value {} is {} in one branch and {} in the other", i, one, other);
  std::vector<LazyValue> states = yes.states;
  for (const LazyValue& state : no.states)
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
  return call_with("If", {truth}, {}, {{"then_branch", body_of(yes, {}, states, count)}, {"else_branch", body_of(no, {}, states, count)}},
                   count, states, count);
} catch (...) {
  throw_as_error();
}

Vars while_loop(const std::function<Var(const Vars&)>& condition, const Body& body, const Vars& initial, int64_t most) try {
  const Shape kScalar;
  std::vector<LazyValue> values;
  for (const Var& x : initial) values.push_back(required_value(x));
  const size_t count = values.size();
  const LazyValue starts = required_value(condition(initial));
  check_one_bool(starts);
  for (const bool with_shapes : {true, false}) {
    std::vector<LazyValue> formals{formal("iteration", DType::i64, &kScalar), formal("running", DType::boolean, &kScalar)};
    Vars carried;
    for (size_t i = 0; i < count; ++i) {
      formals.push_back(formal_like(values[i], format("carried {}", i), with_shapes));
      carried.push_back(var_of(formals.back()));
    }
    const RecordedFunction recording = record([&] {
      Vars results = body(carried);
      check_same(values, results);
      if (results.size() != count) throw InvalidArgument("the body gives {} values, {} are carried", results.size(), count);
      const Var goes_on = condition(results);
      check_one_bool(required_value(goes_on));
      results.insert(results.begin(), goes_on);
      return results;
    });
    if (with_shapes && !keeps_shapes(std::span(formals).subspan(2), std::span(recording.results).subspan(1))) continue;
    formals.insert(formals.end(), recording.states.begin(), recording.states.end());
    std::vector<LazyValue> inputs{most < 0 ? LazyValue() : constant_value(Tensor::scalar_i64(most)), starts};
    inputs.insert(inputs.end(), values.begin(), values.end());
    inputs.insert(inputs.end(), recording.states.begin(), recording.states.end());
    return call_with("Loop", std::move(inputs), {}, {{"body", body_of(recording, formals, recording.states, 1 + count)}}, count,
                     recording.states, count);
  }
  return {};  // not reached: the second round ends it
} catch (...) {
  throw_as_error();
}

Vars scan(const Body& body, const Vars& initial, const Vars& sequences) try {
  if (sequences.empty()) throw InvalidArgument("scan() needs a sequence to walk along");
  std::vector<LazyValue> values;
  for (const Var& x : initial) values.push_back(required_value(x));
  for (const Var& x : sequences) values.push_back(required_value(x));
  const size_t count = initial.size();
  for (const bool with_shapes : {true, false}) {
    std::vector<LazyValue> formals;
    Vars arguments;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i < count) {
        formals.push_back(formal_like(values[i], format("carried {}", i), with_shapes));
      } else {
        const Shape* shape = known_shape(values[i]);
        if (shape && shape->empty()) throw InvalidArgument("sequence {} is a scalar, it should have an axis to walk along", i - count);
        Shape element;
        if (shape) element = Shape(std::span(shape->begin() + 1, shape->end()));
        formals.push_back(formal(format("element {}", i - count), output_of(values[i]).dtype, with_shapes && shape ? &element : nullptr));
      }
      arguments.push_back(var_of(formals.back()));
    }
    const RecordedFunction recording = record([&] {
      Vars results = body(arguments);
      check_same(std::span(values).first(count), results);
      return results;
    });
    if (with_shapes && !keeps_shapes(std::span(formals).first(count), recording.results)) continue;
    const auto behind_carried = static_cast<ptrdiff_t>(count);
    formals.insert(formals.begin() + behind_carried, recording.states.begin(), recording.states.end());
    values.insert(values.begin() + behind_carried, recording.states.begin(), recording.states.end());
    return call_with("Scan", std::move(values), {{"num_scan_inputs", static_cast<int64_t>(sequences.size())}},
                     {{"body", body_of(recording, formals, recording.states, count)}}, recording.results.size(), recording.states, count);
  }
  return {};  // not reached: the second round ends it
} catch (...) {
  throw_as_error();
}

}  // namespace expr
}  // namespace minnow
