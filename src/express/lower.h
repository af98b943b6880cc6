// SPDX-License-Identifier: Apache-2.0
// From nodes of expressions to nodes of a graph.
#pragma once
#include <unordered_map>

#include "express/node.h"

namespace minnow::express {

/// The graph values that stand for the outputs of lazy nodes.
using GraphValues = std::unordered_map<const LazyNode*, std::vector<Value*>>;

/// Adds the node to `graph`; `inputs`, as many as the node has, may be null for absent ones. Values that closures capture are bound.
Node& emit(Graph& graph, const LazyNode& node, std::span<Value* const> inputs, std::span<const std::string> output_names, std::string name);

/// A type of that dtype and kind, without a shape.
ValueType type_of(const Output& output);

/// Walks everything that `roots` are made of, inputs before users, without recursion: visit(node) once each.
void walk(std::span<const LazyValue> roots, FunctionRef<void(const std::shared_ptr<LazyNode>&)> visit);

/// A graph that computes `roots` from `inputs`, values of any kind, which become its inputs. The nodes stand in the order in which they
/// were made. Each root is an output of its own. `operators` becomes the set that the nodes are from; null: the built-in ones. Throws
/// InvalidArgument for other placeholders, and Unsupported for states and for sequences that are computed already.
std::unique_ptr<Graph> graph_of(std::span<const LazyValue> roots, std::span<const LazyValue> inputs,
                                std::shared_ptr<const OperatorSet>& operators);

/// The attributes and subgraphs of a node as bytes.
std::string form_of(const Attributes& attributes, const std::vector<Closure>& closures);

}  // namespace minnow::express
