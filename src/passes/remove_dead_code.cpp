// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

namespace minnow {

void remove_dead_code(Graph& graph, PassContext& context) {
  for (Node* node = graph.last(); node;) {
    Node* previous = node->previous();
    bool unused = true;
    for (size_t i = 0; i < node->output_count(); ++i) unused &= !node->output(i) || node->output(i)->is_unused();
    if (unused) {
      context.changed("removed {}, which nothing uses", label_of(*node));
      graph.remove(*node);
    }
    node = previous;
  }
  const size_t constants = graph.constants().size();
  graph.remove_unused_constants();
  if (const size_t removed = constants - graph.constants().size()) context.changed("removed {} constants that nothing uses", removed);
}

}  // namespace minnow
