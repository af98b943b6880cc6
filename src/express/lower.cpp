// SPDX-License-Identifier: Apache-2.0
#include "express/lower.h"

#include <algorithm>
#include <unordered_set>

namespace minnow::express {

Node& emit(Graph& graph, const LazyNode& node, std::span<Value* const> inputs, std::span<const std::string> output_names,
           std::string name) {
  Attributes attributes = node.attributes;
  for (const Closure& closure : node.closures) attributes.set(closure.attribute, Subgraph(closure.graph->clone()));
  Node& made = graph.add_node(node.op->name, inputs.first(node.formal_inputs), output_names, std::move(attributes), std::move(name));
  size_t next = node.formal_inputs;
  for (const Closure& closure : node.closures) {
    Graph& body = **made.attributes.get<Subgraph>(closure.attribute);
    const size_t formal = body.inputs().size() - closure.captures;
    for (size_t i = 0; i < closure.captures; ++i) body.inputs()[formal + i]->replace_all_uses_with(*inputs[next + i]);
    for (size_t i = closure.captures; i-- > 0;) body.remove_input(formal + i);
    next += closure.captures;
  }
  return made;
}

ValueType type_of(const Output& output) {
  const ValueType tensor = ValueType::tensor(output.dtype);
  if (output.kind == ValueInfo::Kind::sequence) return ValueType::sequence_of(tensor);
  if (output.kind == ValueInfo::Kind::optional)
    return ValueType::optional_of(output.element == ValueInfo::Kind::sequence ? ValueType::sequence_of(tensor) : tensor);
  return tensor;
}

void walk(std::span<const LazyValue> roots, FunctionRef<void(const std::shared_ptr<LazyNode>&)> visit) {
  std::unordered_set<const LazyNode*> seen;
  std::vector<std::pair<const std::shared_ptr<LazyNode>*, size_t>> stack;
  for (const LazyValue& root : roots) {
    if (!root || !seen.insert(root.node.get()).second) continue;
    stack.emplace_back(&root.node, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == (*node)->inputs.size()) {
        visit(*node);
        stack.pop_back();
        continue;
      }
      const LazyValue& input = (*node)->inputs[next++];
      if (input && seen.insert(input.node.get()).second) stack.emplace_back(&input.node, 0);
    }
  }
}

std::unique_ptr<Graph> graph_of(std::span<const LazyValue> roots, std::span<const LazyValue> inputs,
                                std::shared_ptr<const OperatorSet>& operators) {
  auto graph = std::make_unique<Graph>();
  graph->source = "expression";
  GraphValues values;
  const auto fresh = [&](const std::string& name, std::string_view otherwise) {
    return graph->fresh_name(name.empty() ? otherwise : std::string_view(name));
  };
  for (const LazyValue& input : inputs) {
    const Shape* shape = known_shape(input);
    const Output& output = output_of(input);
    values[input.node.get()] = {
        &graph->add_input(fresh(output.name, "input"), shape ? ValueType::tensor(output.dtype, *shape) : type_of(output))};
  }
  std::vector<const LazyNode*> nodes;
  walk(roots, [&](const std::shared_ptr<LazyNode>& node) { nodes.push_back(node.get()); });
  std::sort(nodes.begin(), nodes.end(), [](const LazyNode* a, const LazyNode* b) { return a->id < b->id; });
  for (const LazyNode* node : nodes) {
    if (values.contains(node)) continue;
    if (node->kind == LazyNode::Kind::placeholder)
      throw InvalidArgument("the expression depends on the placeholder \"{}\", which is not among the inputs", node->outputs[0].name);
    if (node->kind == LazyNode::Kind::state || node->kind == LazyNode::Kind::step)
      throw Unsupported("the expression depends on states of a model, which would change when it is computed");
    std::vector<Value*>& made = values[node];
    if (node->kind == LazyNode::Kind::constant || (node->is_computed() && !node->keeps_inputs)) {
      for (const Output& output : node->outputs) {
        const bool is_there = output.kind != ValueInfo::Kind::absent;
        if (is_there && !output.tensor) throw Unsupported("the expression depends on a sequence or an optional that is computed already");
        made.push_back(is_there ? &graph->add_constant(output.tensor, fresh(output.name, "constant")) : nullptr);
      }
      continue;
    }
    if (node->operators) operators = joined(operators, node->operators);
    std::vector<Value*> arguments;
    for (const LazyValue& input : node->inputs) arguments.push_back(input ? values.at(input.node.get())[input.output] : nullptr);
    std::vector<std::string> names;
    for (const Output& output : node->outputs)
      names.push_back(output.kind == ValueInfo::Kind::absent ? std::string() : fresh(output.name, node->op->name));
    const Node& emitted = emit(*graph, *node, arguments, names, node->name);
    for (size_t i = 0; i < node->outputs.size(); ++i) made.push_back(emitted.output(i));
  }
  for (const LazyValue& root : roots) {
    Value* value = values.at(root.node.get())[root.output];
    const bool is_free = value->producer() && !value->is_graph_output();
    graph->add_output(is_free ? *value : *graph->add_node("Identity", {value}).output(0));
  }
  return graph;
}

namespace {

void append(std::string& bytes, const void* data, size_t count) { bytes.append(static_cast<const char*>(data), count); }
template <class T>
void append(std::string& bytes, T number) {
  append(bytes, &number, sizeof(number));
}
void append_text(std::string& bytes, std::string_view text) {
  append(bytes, text.size());
  bytes += text;
}

// A large tensor stands for itself by its place in memory, which whoever keeps the form keeps too.
constexpr size_t kMostBytes = 4096;
void append_tensor(std::string& bytes, const Tensor& tensor) {
  append(bytes, tensor.dtype());
  append(bytes, tensor.shape().rank());
  for (const int64_t dim : tensor.shape()) append(bytes, dim);
  if (tensor.bytes() <= kMostBytes)
    append(bytes, tensor.data(), tensor.bytes());
  else
    append(bytes, tensor.data());
}

void append_constants(std::string& bytes, const Graph& graph) {
  for (const auto& constant : graph.constants()) append_tensor(bytes, *constant->constant());
  for (const Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes) {
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) append_constants(bytes, **subgraph);
      if (const Tensor* tensor = std::get_if<Tensor>(&attribute)) append_tensor(bytes, *tensor);
    }
}

struct AppendAttribute {
  std::string& bytes;
  void operator()(int64_t value) const { append(bytes, value); }
  void operator()(float value) const { append(bytes, value); }
  void operator()(const std::string& value) const { append_text(bytes, value); }
  void operator()(const Tensor& value) const { append_tensor(bytes, value); }
  void operator()(const Subgraph& value) const {
    append_text(bytes, to_text(*value));
    append_constants(bytes, *value);
  }
  void operator()(const Ints& value) const {
    append(bytes, value.size());
    append(bytes, value.data(), value.size() * sizeof(int64_t));
  }
  void operator()(const Floats& value) const {
    append(bytes, value.size());
    append(bytes, value.data(), value.size() * sizeof(float));
  }
  void operator()(const Strings& value) const {
    append(bytes, value.size());
    for (const std::string& text : value) append_text(bytes, text);
  }
  void operator()(const ValueType& value) const { append_text(bytes, to_string(value)); }
};

}  // namespace

std::string form_of(const Attributes& attributes, const std::vector<Closure>& closures) {
  std::string bytes;
  for (const auto& [name, value] : attributes) {
    append_text(bytes, name);
    append(bytes, value.index());
    std::visit(AppendAttribute{bytes}, value);
  }
  for (const Closure& closure : closures) {
    append_text(bytes, closure.attribute);
    append(bytes, closure.captures);
    append_text(bytes, to_text(*closure.graph));
    append_constants(bytes, *closure.graph);
  }
  return bytes;
}

}  // namespace minnow::express
