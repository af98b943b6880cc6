// SPDX-License-Identifier: Apache-2.0
// Shapes of what depends on placeholders whose dimensions are open.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// What is known of a tensor's dimensions, whatever values placeholders are given, without computing: sizes, symbols for those that are
/// equal to an open dimension of a placeholder, neither for others. Nothing where the rank is open, or depends on data. Found by probing
/// (see infer_symbolic_types): for display, and to choose by rank. What is found is kept by the nodes, so that a chain costs each node
/// once.
std::optional<std::vector<Dim>> open_dims(const LazyValue& value);

}  // namespace minnow::express
