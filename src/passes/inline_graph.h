// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/graph.h"

namespace minnow {

/// Moves the nodes of `body`, a graph within `graph`, to `graph`, before a node (null: to the end), with values of `graph` in place of the
/// inputs, one each. Returns what its outputs have become. `body`, which must have no states, is of no use afterwards.
std::vector<Value*> inline_graph(Graph& body, std::span<Value* const> inputs, Graph& graph, Node* before);

}  // namespace minnow
