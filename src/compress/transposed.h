// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "passes/rewrite.h"

namespace minnow::compress {

/// Makes a Conv and a DepthToSpace of each ConvTranspose that is one of few more products, so that it can compute with integers: with a
/// stride of s it is s * s convolutions, one for each place in a square of s * s pixels. Nodes that `skip` names stay as they are. Types
/// are not inferred.
void transposed_to_convolutions(Graph& graph, const std::vector<std::string>& skip);

}  // namespace minnow::compress
