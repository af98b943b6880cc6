// SPDX-License-Identifier: Apache-2.0
// cond, while_loop and scan: functions are called once with placeholders, and what they computed becomes the subgraph of an If, a Loop or a
// Scan. Values that are older than the call are captured.
#include <algorithm>

#include "express/lower.h"
#include "ops/infer.h"

namespace minnow {

using namespace express;

namespace {

constexpr int64_t kMostEmbedded = 64;  // elements of a constant that becomes part of the subgraph; larger ones are captured

/// A subgraph and what it captures.
struct Recorded {
  std::shared_ptr<Graph> graph;
  std::vector<LazyValue> captured;
};

/// Marks the beginning: nodes that are made from now on are inside.
uint64_t begin_recording() { return LazyNode::next_id.load(std::memory_order_relaxed); }

Recorded record(uint64_t first, const std::vector<LazyValue>& formals, const Vars& results) {
  Recorded recorded;
  recorded.graph = std::make_shared<Graph>();
  Graph& graph = *recorded.graph;
  std::unordered_map<const LazyNode*, std::vector<Value*>> values;
  for (size_t i = 0; i < formals.size(); ++i)
    values[formals[i].node.get()] = {&graph.add_input(format("in{}", i), type_of(output_of(formals[i])))};
  size_t names = 0;
  const auto fresh = [&] { return format("v{}", names++); };
  const auto capture = [&](const LazyValue& value) -> Value* {
    std::vector<Value*>& known = values[value.node.get()];
    known.resize(value.node->outputs.size());
    if (!known[value.output]) {
      known[value.output] = &graph.add_input(format("captured{}", recorded.captured.size()), type_of(output_of(value)));
      recorded.captured.push_back(value);
    }
    return known[value.output];
  };
  const auto is_inside = [&](const LazyNode& node) { return node.id >= first && node.kind == LazyNode::Kind::call && !node.is_computed(); };
  const auto value_in = [&](const LazyValue& value) -> Value* {
    if (!value) return nullptr;
    if (const auto found = values.find(value.node.get()); found != values.end() && found->second[value.output])
      return found->second[value.output];
    const Output& output = output_of(value);
    const bool embedded = value.node->id >= first && output.tensor && value.node->is_computed() && !value.node->keeps_inputs &&
                          output.tensor.elements() <= kMostEmbedded;
    if (!embedded) return capture(value);
    std::vector<Value*>& known = values[value.node.get()];
    known.resize(value.node->outputs.size());
    return known[value.output] = &graph.add_constant(output.tensor, fresh());
  };
  // In the order in which they were made, which is that of their use.
  std::vector<LazyValue> roots;
  for (const Var& result : results) roots.push_back(required_value(result));
  std::vector<const LazyNode*> inside, stack;
  std::unordered_map<const LazyNode*, bool> seen;
  for (const LazyValue& root : roots) stack.push_back(root.node.get());
  while (!stack.empty()) {
    const LazyNode* node = stack.back();
    stack.pop_back();
    if (node->id >= first && node->kind == LazyNode::Kind::step)
      throw Unsupported("a module with states is called inside cond(), while_loop() or scan(), which cannot keep them; call it outside");
    if (!is_inside(*node) || !seen.emplace(node, true).second) continue;
    inside.push_back(node);
    for (const LazyValue& input : node->inputs)
      if (input) stack.push_back(input.node.get());
  }
  std::sort(inside.begin(), inside.end(), [](const LazyNode* a, const LazyNode* b) { return a->id < b->id; });
  for (const LazyNode* node : inside) {
    std::vector<Value*> inputs;
    for (const LazyValue& input : node->inputs) inputs.push_back(value_in(input));
    std::vector<std::string> output_names;
    for (const Output& output : node->outputs) output_names.push_back(output.kind == ValueInfo::Kind::absent ? std::string() : fresh());
    const Node& made = emit(graph, *node, inputs, output_names, node->name);
    std::vector<Value*>& known = values[node];
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      known.push_back(made.output(i));
      if (made.output(i)) made.output(i)->type = type_of(node->outputs[i]);
    }
  }
  for (const LazyValue& root : roots) {
    Value* value = value_in(root);
    if (!value->producer() || value->is_graph_output()) {
      const std::string name[] = {fresh()};
      Value* const from[] = {value};
      const ValueType type = value->type;
      value = graph.add_node("Identity", from, name).output(0);
      value->type = type;
    }
    graph.add_output(*value);
  }
  return recorded;
}

LazyValue formal(const LazyValue& like, const std::string& name, bool with_shape) {
  const Output& output = output_of(like);
  const Shape* shape = with_shape ? known_shape(like) : nullptr;
  LazyValue made = value_of(shape ? expr::placeholder(name, output.dtype, std::vector<int64_t>(shape->begin(), shape->end()))
                                  : expr::placeholder(name, output.dtype));
  made.node->is_formal = true;
  return made;
}

void check_one_bool(const LazyValue& condition) {
  const Output& output = output_of(condition);
  const Shape* shape = known_shape(condition);
  if (output.kind != ValueInfo::Kind::tensor || output.dtype != DType::boolean || (shape && shape->elements() != 1))
    throw InvalidArgument("the condition should be one bool, it is {}{}", output.dtype, shape ? to_string(*shape) : std::string());
}

void check_same(const std::vector<LazyValue>& initial, const Vars& results, size_t count, const char* what) {
  if (results.size() < count) throw InvalidArgument("{} gives {} values, {} are carried", what, results.size(), count);
  for (size_t i = 0; i < count; ++i)
    if (const DType from = output_of(initial[i]).dtype, to = results[i].dtype(); from != to)
      throw InvalidArgument("carried value {} is {} at first, {} gives {}", i, from, what, to);
}

// True where every carried value keeps the shape that it had at first, as far as that is known.
bool keeps_shapes(const std::vector<LazyValue>& formals, const Vars& results) {
  for (size_t i = 0; i < formals.size(); ++i) {
    const Shape* before = known_shape(formals[i]);
    const std::optional<Shape> after = results[i].known_shape();
    if (before && !(after && *after == *before)) return false;
  }
  return true;
}

Vars call_with(std::string_view op, std::vector<LazyValue> inputs, Attributes attributes,
               std::vector<std::pair<std::string, Recorded>> bodies, size_t outputs) {
  CallRequest request;
  request.op = &find_operator(op);
  request.inputs = std::move(inputs);
  request.formal_inputs = request.inputs.size();
  request.attributes = std::move(attributes);
  for (auto& [name, body] : bodies) {
    request.closures.push_back({name, std::move(body.graph), body.captured.size()});
    request.inputs.insert(request.inputs.end(), body.captured.begin(), body.captured.end());
  }
  request.wanted.assign(outputs, true);
  const std::shared_ptr<LazyNode> node = call(std::move(request));
  Vars results;
  for (uint32_t i = 0; i < outputs; ++i) results.push_back(var_of({node, i}));
  return results;
}

}  // namespace

namespace expr {

Vars cond(const Var& condition, const std::function<Vars()>& then_branch, const std::function<Vars()>& else_branch) {
  const LazyValue truth = required_value(condition);
  check_one_bool(truth);
  const auto branch = [](const std::function<Vars()>& function, Vars& results) {
    const uint64_t first = begin_recording();
    results = function();
    return record(first, {}, results);
  };
  Vars yes, no;
  Recorded then_body = branch(then_branch, yes), else_body = branch(else_branch, no);
  if (yes.size() != no.size()) throw InvalidArgument("one branch gives {} values, the other {}", yes.size(), no.size());
  for (size_t i = 0; i < yes.size(); ++i)
    if (yes[i].dtype() != no[i].dtype())
      throw InvalidArgument("value {} is {} in one branch and {} in the other", i, yes[i].dtype(), no[i].dtype());
  return call_with("If", {truth}, {}, {{"then_branch", std::move(then_body)}, {"else_branch", std::move(else_body)}}, yes.size());
}

Vars while_loop(const std::function<Var(const Vars&)>& condition, const Body& body, const Vars& initial, int64_t most) {
  std::vector<LazyValue> values;
  for (const Var& x : initial) values.push_back(required_value(x));
  const LazyValue starts = required_value(condition(initial));
  check_one_bool(starts);
  Recorded recorded;
  for (const bool with_shapes : {true, false}) {
    const uint64_t first = begin_recording();
    std::vector<LazyValue> formals{value_of(placeholder("iteration", DType::i64, {})),
                                   value_of(placeholder("running", DType::boolean, {}))};
    Vars carried;
    for (size_t i = 0; i < values.size(); ++i) {
      formals.push_back(formal(values[i], format("carried {}", i), with_shapes));
      carried.push_back(var_of(formals.back()));
    }
    Vars results = body(carried);
    check_same(values, results, values.size(), "the body");
    if (results.size() != values.size()) throw InvalidArgument("the body gives {} values, {} are carried", results.size(), values.size());
    if (with_shapes && !keeps_shapes({formals.begin() + 2, formals.end()}, results)) continue;
    const Var goes_on = condition(results);
    check_one_bool(required_value(goes_on));
    results.insert(results.begin(), goes_on);
    recorded = record(first, formals, results);
    break;
  }
  std::vector<LazyValue> inputs{most < 0 ? LazyValue() : constant_value(Tensor::scalar_i64(most)), starts};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return call_with("Loop", std::move(inputs), {}, {{"body", std::move(recorded)}}, values.size());
}

Vars scan(const Body& body, const Vars& initial, const Vars& sequences) {
  if (sequences.empty()) throw InvalidArgument("scan() needs a sequence to walk along");
  std::vector<LazyValue> values;
  for (const Var& x : initial) values.push_back(required_value(x));
  for (const Var& x : sequences) values.push_back(required_value(x));
  Recorded recorded;
  size_t outputs = 0;
  for (const bool with_shapes : {true, false}) {
    const uint64_t first = begin_recording();
    std::vector<LazyValue> formals;
    Vars arguments;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i < initial.size()) {
        formals.push_back(formal(values[i], format("carried {}", i), with_shapes));
      } else {
        const Shape* shape = known_shape(values[i]);
        if (shape && shape->empty())
          throw InvalidArgument("sequence {} is a scalar, it should have an axis to walk along", i - initial.size());
        const std::string name = format("element {}", i - initial.size());
        const DType dtype = output_of(values[i]).dtype;
        formals.push_back(value_of(with_shapes && shape ? placeholder(name, dtype, std::vector<int64_t>(shape->begin() + 1, shape->end()))
                                                        : placeholder(name, dtype)));
      }
      arguments.push_back(var_of(formals.back()));
    }
    const Vars results = body(arguments);
    check_same(values, results, initial.size(), "the body");
    if (with_shapes && !keeps_shapes({formals.begin(), formals.begin() + static_cast<ptrdiff_t>(initial.size())}, results)) continue;
    outputs = results.size();
    recorded = record(first, formals, results);
    break;
  }
  return call_with("Scan", std::move(values), {{"num_scan_inputs", static_cast<int64_t>(sequences.size())}},
                   {{"body", std::move(recorded)}}, outputs);
}

}  // namespace expr
}  // namespace minnow
