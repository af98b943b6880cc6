// SPDX-License-Identifier: Apache-2.0
// Expressions made of graphs.
#pragma once
#include <unordered_map>

#include "express/node.h"

namespace minnow::express {

/// Calls for all nodes of a graph, with these values for its inputs. `values`, where given, gets what stands for each value of the graph.
std::vector<LazyValue> instantiate(const Graph& graph, const std::shared_ptr<const OperatorSet>& operators,
                                   std::span<const LazyValue> inputs, std::vector<std::pair<std::string, LazyValue>>* values = nullptr);
/// A placeholder of a declared type. Throws Unsupported for sequences and optionals.
LazyValue placeholder_of(const ValueType& type, std::string name);

}  // namespace minnow::express
