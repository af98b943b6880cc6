// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "importers/onnx/messages.h"

namespace minnow::onnx {

/// The order in which the nodes of one graph can be built, as indices: that of the file where every value is made before it is used, as
/// ONNX asks for; else the nearest one to it. What nodes use includes what their subgraphs use of the graph. `visible` tells which names
/// come from elsewhere (inputs, initializers, outer graphs). Throws InvalidModel, beginning with `where`, naming nodes that wait for each
/// other.
std::vector<size_t> node_order(std::span<const NodeMessage> nodes, FunctionRef<bool(std::string_view name)> visible,
                               const std::string& where);

}  // namespace minnow::onnx
