// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

namespace minnow {

// Replacing a value updates nodes and the outputs of its own graph, but not a subgraph's output that is a value of an outer graph. An
// Identity in between, which no pass removes, prevents this case.
void copy_outer_outputs(Graph& graph, PassContext& context) {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Value& output = *graph.outputs()[i];
    if (&output.graph() == &graph) continue;
    Node& copy = graph.add_node("Identity", {&output});
    copy.output(0)->type = output.type;
    graph.set_output(i, *copy.output(0));
    context.changed("output {} of a subgraph no longer is the outer value \"{}\" itself", i, output.name());
  }
}

}  // namespace minnow
