// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/graph.h"

namespace minnow {

/// Throws InvalidArgument if dtype or shape do not suit input i of the graph.
void check_input_shape(const Graph& graph, size_t i, const TensorView& given);

}  // namespace minnow
