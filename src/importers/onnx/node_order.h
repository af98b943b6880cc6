// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "importers/onnx/messages.h"

namespace minnow::onnx {

/// Returns the order in which to build the nodes of one graph, as indices. If the file makes every value before its first use, as ONNX
/// requires, this is the file's order; else the topological order closest to it. The values that a node's subgraphs capture count as its
/// inputs. `visible` tells which names come from elsewhere (inputs, initializers, outer graphs). Throws InvalidModel, beginning with
/// `where` and naming the nodes, if nodes depend on each other in a cycle.
std::vector<size_t> node_order(std::span<const NodeMessage> nodes, FunctionRef<bool(std::string_view name)> visible,
                               const std::string& where);

}  // namespace minnow::onnx
