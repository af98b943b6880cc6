// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

namespace minnow {
namespace {

/// Dropout that passes its input on. It stays in graphs that will be trained.
bool is_idle_dropout(const Node& node, const PassContext& context) {
  if (node.op() != "Dropout" || context.keeps_parameters()) return false;
  if (node.output(1) && !node.output(1)->is_unused()) return false;
  return !node.input(2) || scalar_of(node.input(2)) == 0.0;
}

}  // namespace

void remove_identities(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (node.op() != "Identity" && !is_idle_dropout(node, context)) continue;
    if (!node.input(0) || !node.output(0) || !forward(*node.output(0), *node.input(0))) continue;
    context.changed("removed {}", label_of(node));
    remove_dead(node);
  }
}

}  // namespace minnow
