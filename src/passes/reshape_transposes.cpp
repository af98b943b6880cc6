// SPDX-License-Identifier: Apache-2.0
// A Transpose that only moves dimensions of size 1 becomes a Reshape, which moves no data.
#include <algorithm>

#include "passes/permute.h"

namespace minnow {

void reshape_transposes(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    const auto perm = permutation_of(node);
    if (!perm || !moves_nothing(*node.input(0), *perm)) continue;
    const std::vector<Dim>& from = *node.input(0)->type.dims;
    Ints shape;
    for (size_t i = 0; i < perm->size(); ++i) {
      const Dim& dim = from[static_cast<size_t>((*perm)[i])];
      shape.push_back(dim.known() ? dim.size : from[i] == dim && !dim.symbol.empty() ? 0 : -1);
    }
    // A dimension of size 0 would be read as "copy", and leaves nothing to infer another from.
    if (std::count(shape.begin(), shape.end(), -1) > 1) continue;
    if (std::any_of(from.begin(), from.end(), [](const Dim& dim) { return dim.size == 0; })) continue;
    context.changed("{} moves nothing in memory", label_of(node));
    replace(*node.output(0), "Reshape", {node.input(0), &add_ints(graph, shape)});
    remove_dead(node);
  }
}

}  // namespace minnow
