// SPDX-License-Identifier: Apache-2.0
#include "express/infer.h"

#include <unordered_map>

#include "express/evaluate.h"
#include "express/lower.h"
#include "express/state.h"
#include "ops/infer.h"

namespace minnow::express {
namespace {

const OperatorSet& operators_of(const LazyNode& node) { return node.operators ? *node.operators : OperatorSet::builtin(); }

/// A call as the one node of a graph. `value_of` adds an input to the graph.
const Node& emit_alone(Graph& graph, const LazyNode& node, FunctionRef<Value&(const LazyValue& input, std::string name)> value_of) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(node.inputs[i] ? &value_of(node.inputs[i], "input " + std::to_string(i)) : nullptr);
  std::vector<std::string> names;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    names.push_back(node.outputs[i].kind == ValueInfo::Kind::absent ? std::string() : "output " + std::to_string(i));
  return emit(graph, node, inputs, names, node.name);
}

[[gnu::cold]] bool compute_contents(const LazyValue& value) {
  const LazyNode& node = *value.node;
  const Output& output = output_of(value);
  if (output.kind != ValueInfo::Kind::tensor || node.fed_by_others) return false;  // the next value may be another
  if (node.is_computed()) return true;
  if (!output.shape_known || output.shape.elements() > kMostShapeElements) return false;
  evaluate(value);
  return true;
}

// Describes the open inputs of a custom operator, which tells the kinds and dtypes of its outputs from sizes. False if no input is open.
[[gnu::cold]] bool describe_open_inputs(const LazyNode& node, std::span<ValueInfo> infos, SizeTable& table) {
  bool any = false;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].kind != ValueInfo::Kind::tensor || infos[i].extent == ValueInfo::Extent::exact) continue;
    any = true;
    if (const std::optional<std::vector<Dim>> dims = open_dims(node.inputs[i])) {
      Sizes sizes;
      for (const Dim& dim : *dims) sizes.push_back(table.size_of(dim));
      infos[i].set_sizes(sizes);
    }
  }
  return any;
}

}  // namespace

Inference infer(LazyNode& node) {
  Inference result;
  result.graph = std::make_unique<Graph>();
  Graph& graph = *result.graph;
  graph.source = "expression";
  std::vector<ValueInfo> infos(node.formal_inputs), outputs(node.outputs.size());
  std::vector<const ValueInfo*> pointers;
  for (size_t i = 0; i < node.formal_inputs; ++i) {
    if (node.inputs[i]) infos[i] = info_of(node.inputs[i], false);
    pointers.push_back(node.inputs[i] ? &infos[i] : nullptr);
  }
  const Node& made = emit_alone(graph, node, [&](const LazyValue& input, std::string name) -> Value& {
    return graph.add_input(std::move(name), type_of(output_of(input)));
  });
  result.made = &made;
  if (!node.closures.empty()) infer_types(operators_of(node), graph);
  SizeTable table;
  bool is_symbolic = node.op->custom && describe_open_inputs(node, infos, table);
  bool exact = !is_symbolic;
  for (;;) {
    const NodeView view = is_symbolic ? NodeView::symbolic(made, pointers, node.op) : NodeView(made, pointers, {}, node.op);
    try {
      infer_outputs(*node.op, view, outputs);
      break;
    } catch (const NeedsContents& needs) {
      const LazyValue& input = node.inputs[needs.input];
      if (!infos[needs.input].contents && compute_contents(input)) {
        infos[needs.input] = info_of(input, true);
        result.contents |= needs.input < 64 ? uint64_t{1} << needs.input : 0;
        result.exact &= needs.input < 64;
        continue;
      }
      exact = false;
      if (node.op->custom && !is_symbolic) {
        is_symbolic = true;
        continue;
      }
      outputs.assign(outputs.size(), ValueInfo());
      infer_kinds(*node.op, view, outputs);
      break;
    }
  }
  if (!node.closures.empty()) {
    std::unordered_map<const Value*, ValueInfo> known;
    size_t place = 0;  // among the graph's inputs, captured ones included
    for (const LazyValue& input : node.inputs)
      if (input) known.emplace(graph.inputs()[place++].get(), info_of(input, false));
    const auto outside = [&](const Value& value) { return known.at(&value); };
    infer_branches(operators_of(node), made, outside, outputs);
    infer_iterations(operators_of(node), made, outside, outputs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = node.outputs[i];
    if (output.kind == ValueInfo::Kind::absent) continue;
    output.kind = outputs[i].kind;
    output.element = outputs[i].element;
    output.dtype = outputs[i].dtype;
    output.shape_known = exact && outputs[i].kind == ValueInfo::Kind::tensor && outputs[i].extent == ValueInfo::Extent::exact;
    if (output.shape_known) output.shape = outputs[i].shape;
  }
  return result;
}

namespace {

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
  const Node& made = emit_alone(graph, node, [&](const LazyValue& input, std::string name) -> Value& {
    const Output& output = output_of(input);
    if (output.tensor && !input.node->fed_by_others && output.tensor.elements() <= kMostShapeElements)
      return graph.add_constant(output.tensor);
    ValueType type = type_of(output);
    if (type.kind == ValueType::Kind::tensor) type.dims = known_dims(input);
    return graph.add_input(std::move(name), type);
  });
  try {
    infer_symbolic_types(operators_of(node), graph);
  } catch (const Error&) {
    return;  // computing it will say why
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
