// SPDX-License-Identifier: Apache-2.0
// Computing expressions: one plan for all values that are asked for, kept by the expression's form.
#pragma once
#include <span>

#include "express/node.h"

namespace minnow::express {

/// Computes all pending parts in one plan. Intermediate values held outside of the expression are kept too.
void evaluate(std::span<const LazyValue> roots);
inline void evaluate(const LazyValue& root) {
  if (!root.node->is_computed()) evaluate(std::span<const LazyValue>(&root, 1));
}
/// The value, computed if it has to be; must be a tensor.
const Tensor& tensor_of(const LazyValue& value);

}  // namespace minnow::express
