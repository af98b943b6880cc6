// SPDX-License-Identifier: Apache-2.0
// An If whose condition is a constant becomes the nodes of the branch that is taken.
#include <unordered_map>

#include "passes/rewrite.h"

namespace minnow {
namespace {

/// Copies the nodes of `branch` into `graph`; returns the values that were its outputs. The branch is of no use afterwards.
std::vector<Value*> inline_graph(Graph& branch, Graph& graph, Node& before) {
  std::vector<Value*> results = branch.outputs();
  branch.replace_outputs({});
  std::unordered_map<Value*, Value*> made_of;
  for (const auto& constant : branch.constants()) {
    Value& made = graph.add_constant(*constant->constant(), graph.fresh_name(constant->name()));
    constant->replace_all_uses_with(made);
    made_of[constant.get()] = &made;
  }
  for (Node& node : branch.nodes()) {
    std::vector<Value*> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.input(i));
    std::vector<std::string> outputs;
    for (size_t i = 0; i < node.output_count(); ++i)
      outputs.push_back(node.output(i) ? graph.fresh_name(node.output(i)->name()) : std::string());
    // Subgraphs are handed over: the old node is about to go.
    Node& made = graph.add_node(node.op(), inputs, outputs, node.attributes, node.name(), &before);
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

}  // namespace

void inline_constant_ifs(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (node.op() != "If") continue;
    const auto condition = scalar_of(node.input(0));
    const Subgraph* found = condition ? node.attributes.get<Subgraph>(*condition != 0 ? "then_branch" : "else_branch") : nullptr;
    if (!found) continue;
    const Subgraph branch = *found;
    if (!branch->states().empty() || branch->outputs().size() < node.output_count()) continue;
    const std::vector<Value*> results = inline_graph(*branch, graph, node);
    for (size_t i = 0; i < node.output_count(); ++i) {
      Value* output = node.output(i);
      if (!output || output->is_unused()) continue;
      Value& result = *results[i];
      if (forward(*output, result)) continue;
      replace(*output, "Identity", {&result});  // an input or a constant cannot take an output's name
    }
    context.changed("{}: took the branch \"{}\"", label_of(node), *condition != 0 ? "then" : "else");
    remove_dead(node);
  }
}

}  // namespace minnow
