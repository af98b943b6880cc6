// SPDX-License-Identifier: Apache-2.0
// Shapes in terms of the inputs' symbols, by rules that hold for every size: what passes may build on. A node whose operator has no rule
// here has outputs of unknown shape, unless the shapes of its inputs are fixed: then the operator's own rule tells.
#pragma once
#include "ops/operator.h"
#include "passes/sizes.h"

namespace minnow {

using Sizes = std::vector<Size>;

/// Infers the outputs' shapes of one node from the types of its inputs, and writes them. What is not known is written as unknown.
void infer_dims(const OperatorSet& operators, SizeTable& table, Node& node);

/// The shape that a Reshape (with allowzero = 0) to `wanted` gives; an element is nothing where it is not known.
std::optional<Sizes> reshaped_sizes(const Sizes& from, const std::vector<std::optional<Size>>& wanted);

std::optional<Sizes> sizes_of(const Value* value, SizeTable& table);

}  // namespace minnow
