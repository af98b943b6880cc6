// SPDX-License-Identifier: Apache-2.0
#include "express/open_shape.h"

#include "express/lower.h"
#include "express/state.h"
#include "ops/infer.h"

namespace minnow::express {
namespace {

constexpr int64_t kMostContents = 64;  // elements of a constant that a shape may depend on, as shapes and axes are

std::vector<Dim> fixed(const Shape& shape) {
  std::vector<Dim> dims;
  for (const int64_t dim : shape) dims.push_back({dim, {}});
  return dims;
}

std::optional<std::vector<Dim>> known_dims(const LazyValue& value) {
  if (const Shape* shape = known_shape(value)) return fixed(*shape);
  return value.node->open ? (*value.node->open)[value.output] : std::nullopt;
}

void find_for_given(LazyNode& node) {
  if (node.any_rank) return;
  std::optional<std::vector<Dim>>& dims = (*node.open)[0];
  dims.emplace();
  for (size_t i = 0; i < node.dims.size(); ++i) dims->push_back({node.dims[i], node.dims[i] < 0 ? format("{}.{}", node.id, i) : ""});
}

void find_for_call(LazyNode& node) {
  Graph graph;
  std::vector<Value*> inputs;
  for (const LazyValue& input : node.inputs) {
    if (!input) {
      inputs.push_back(nullptr);
      continue;
    }
    const Output& output = output_of(input);
    if (output.tensor && !input.node->fed_by_others && output.tensor.elements() <= kMostContents) {
      inputs.push_back(&graph.add_constant(output.tensor));
      continue;
    }
    ValueType type = type_of(output);
    if (type.kind == ValueType::Kind::tensor) type.dims = known_dims(input);
    inputs.push_back(&graph.add_input(format("input {}", inputs.size()), type));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    names.push_back(node.outputs[i].kind == ValueInfo::Kind::absent ? std::string() : format("output {}", i));
  const Node& made = emit(graph, node, inputs, names, node.name);
  try {
    infer_symbolic_types(node.operators ? *node.operators : OperatorSet::builtin(), graph);
  } catch (const Error&) {
    return;  // computing the value will raise the error
  }
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (const Value* output = made.output(i)) (*node.open)[i] = output->type.dims;
}

void find(LazyNode& node) {
  node.open = std::make_unique<std::vector<std::optional<std::vector<Dim>>>>(node.outputs.size());
  if (is_given(node)) return find_for_given(node);
  if (node.kind == LazyNode::Kind::call) return find_for_call(node);
  if (node.kind == LazyNode::Kind::step)
    for (size_t i = 0; i < node.outputs.size(); ++i) (*node.open)[i] = known_dims(node.inputs[i]);
}

}  // namespace

std::optional<std::vector<Dim>> open_dims(const LazyValue& value) {
  if (const Shape* shape = known_shape(value)) return fixed(*shape);
  // Inputs before users, without recursion.
  std::vector<std::pair<LazyNode*, size_t>> stack;
  const auto enter = [&](const LazyValue& from) {
    if (from && from.node->fed_by_others && !from.node->open) stack.emplace_back(from.node.get(), 0);
  };
  enter(value);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < node->inputs.size()) {
      enter(node->inputs[next++]);
      continue;
    }
    if (!node->open) find(*node);
    stack.pop_back();
  }
  return known_dims(value);
}

}  // namespace minnow::express
