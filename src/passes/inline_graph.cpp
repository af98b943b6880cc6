// SPDX-License-Identifier: Apache-2.0
#include "passes/inline_graph.h"

#include <unordered_map>

namespace minnow {

std::vector<Value*> inline_graph(Graph& body, std::span<Value* const> inputs, Graph& graph, Node* before) {
  std::vector<Value*> results = body.outputs();
  body.replace_outputs({});
  std::unordered_map<Value*, Value*> made_of;
  for (size_t i = 0; i < inputs.size(); ++i) {
    body.inputs()[i]->replace_all_uses_with(*inputs[i]);
    made_of[body.inputs()[i].get()] = inputs[i];
  }
  for (const auto& constant : body.constants()) {
    Value& made = graph.add_constant(*constant->constant(), graph.fresh_name(constant->name()));
    constant->replace_all_uses_with(made);
    made_of[constant.get()] = &made;
  }
  for (Node& node : body.nodes()) {
    std::vector<Value*> operands;
    for (size_t i = 0; i < node.input_count(); ++i) operands.push_back(node.input(i));
    std::vector<std::string> outputs;
    for (size_t i = 0; i < node.output_count(); ++i)
      outputs.push_back(node.output(i) ? graph.fresh_name(node.output(i)->name()) : std::string());
    // Subgraphs are handed over: the old node is about to go.
    Node& made = graph.add_node(node.op(), operands, outputs, node.attributes, node.name(), before);
    for (size_t i = 0; i < node.output_count(); ++i) {
      if (!node.output(i)) continue;
      made.output(i)->type = node.output(i)->type;
      node.output(i)->replace_all_uses_with(*made.output(i));
      made_of[node.output(i)] = made.output(i);
    }
  }
  for (Value*& result : results)
    if (const auto found = made_of.find(result); found != made_of.end()) result = found->second;
  return results;
}

}  // namespace minnow
