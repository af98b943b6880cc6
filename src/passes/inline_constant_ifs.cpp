// SPDX-License-Identifier: Apache-2.0
// An If whose condition is a constant becomes the nodes of the branch that is taken.
#include "passes/inline_graph.h"
#include "passes/rewrite.h"

namespace minnow {

void inline_constant_ifs(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (node.op() != "If") continue;
    const auto condition = scalar_of(node.input(0));
    const Subgraph* found = condition ? node.attributes.get<Subgraph>(*condition != 0 ? "then_branch" : "else_branch") : nullptr;
    if (!found) continue;
    const Subgraph branch = *found;
    if (!branch->states().empty() || branch->outputs().size() < node.output_count()) continue;
    const std::vector<Value*> results = inline_graph(*branch, {}, graph, &node);
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
