// SPDX-License-Identifier: Apache-2.0
// Shapes of values that depend on placeholders with open dimensions.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// The dimensions of a tensor as far as they hold for every value of the placeholders, without computing: sizes, expressions in the open
/// dimensions of placeholders, and unknown ones. Empty if the rank is open or depends on data. Used for display, and for choices by rank.
/// The nodes keep the results, so that a long chain visits each node only once.
std::optional<std::vector<Dim>> open_dims(const LazyValue& value);

}  // namespace minnow::express
