// SPDX-License-Identifier: Apache-2.0
// Expressions made of graphs.
#pragma once
#include <functional>
#include <unordered_map>

#include "express/node.h"

namespace minnow::express {

/// Sees every input and every value that a node makes, with its name in the model. The Var that it returns takes the value's place for the
/// nodes and outputs that read it; Var() keeps it. Rounding while training and losses on features are made with it.
using Seen = std::function<Var(const std::string&, const Var&)>;

/// Makes calls for all nodes of a graph, with `inputs` as its inputs; with states they make a step. `states`: one for each state of the
/// graph; null: new ones. `values`, if not null, gets the expression for each value of the graph.
std::vector<LazyValue> instantiate(const Graph& graph, const std::shared_ptr<const OperatorSet>& operators,
                                   std::span<const LazyValue> inputs, const std::vector<LazyValue>* states = nullptr,
                                   std::vector<std::pair<std::string, LazyValue>>* values = nullptr,
                                   const expr::ApplyOptions* options = nullptr, const Seen& seen = {});
/// The outputs of a model for these inputs. Throws InvalidArgument if they do not fit.
Vars apply(const Model& model, const Vars& inputs, const std::vector<LazyValue>* states, const expr::ApplyOptions* options = nullptr,
           const Seen& seen = {});
/// Throws InvalidArgument, with the nearest names, for a name in options.constants that no constant has.
void check_constants(const Model& model, const expr::ApplyOptions& options);
/// A placeholder of a declared type. Throws Unsupported for sequences and optionals.
LazyValue placeholder_of(const ValueType& type, std::string name);

}  // namespace minnow::express
