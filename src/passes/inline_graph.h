// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/graph.h"

namespace minnow {

/// Moves the nodes of `body`, a graph within `graph`, to `graph`, before a node (null: to the end). `inputs` replace the inputs of `body`.
/// Returns the values that replace its outputs. `body` must not have states, and must not be used afterwards.
std::vector<Value*> inline_graph(Graph& body, std::span<Value* const> inputs, Graph& graph, Node* before);

}  // namespace minnow
