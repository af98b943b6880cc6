// SPDX-License-Identifier: Apache-2.0
// Kinds, dtypes and shapes of calls: by the operators' rules, on numbers or, if they depend on placeholders with open dimensions, on sizes.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// Up to this number of elements, contents on which a shape depends are computed to infer the shape.
inline constexpr int64_t kMostShapeElements = 64;

struct Inference {
  bool exact = true;      // the result holds for all calls with the same key
  uint64_t contents = 0;  // bit i: the operator read the contents of input i
  std::unique_ptr<Graph> graph;
  const Node* made = nullptr;
};

/// Infers kinds, dtypes and, if they are known, shapes of a call's outputs, and writes them into the node.
[[gnu::cold]] Inference infer(LazyNode& node);

/// The dimensions of a tensor as far as they hold for every value of the placeholders, without computing: sizes, expressions in the open
/// dimensions of placeholders, and unknown ones. Empty if the rank is open or depends on data. Used for display, and for choices by rank.
/// The nodes keep the results, so that a long chain visits each node only once.
std::optional<std::vector<Dim>> open_dims(const LazyValue& value);

}  // namespace minnow::express
