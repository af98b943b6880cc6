// SPDX-License-Identifier: Apache-2.0
// Runs nodes and graphs by their references alone, one node after the other: for constant folding, and as the oracle of tests.
#pragma once
#include <functional>

#include "ops/operator.h"

namespace minnow {

/// Outputs of one node for the given inputs (kind none: absent), by its reference or its decomposition.
/// Throws InvalidModel or InvalidArgument with the node where it cannot be computed.
std::vector<Datum> evaluate(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs,
                            const std::function<std::vector<Datum>(const Graph&, std::span<const Datum>)>& run_subgraph = {});

/// Sees a node's inputs and outputs (kind none: absent) when it has been computed, in subgraphs too; may put others in place of the
/// outputs.
using Observer = std::function<void(const Node& node, std::span<const Datum> inputs, std::span<Datum> outputs)>;

/// Outputs of a graph. States read their initial values.
std::vector<Datum> evaluate(const OperatorSet& operators, const Graph& graph, std::span<const Datum> inputs, const Observer& observer = {});

}  // namespace minnow
