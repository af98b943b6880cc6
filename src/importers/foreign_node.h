// SPDX-License-Identifier: Apache-2.0
// The node of a foreign file as rules of every format see it: its place, errors that name it, and shared checks.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "graph/expr.h"

namespace minnow {

struct ForeignNode {
  std::string place;  // `net.onnx: node "conv1" (Conv)`, the beginning of every error

  /// The file is wrong.
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    throw InvalidModel("{}: {}", place, format(pattern, args...));
  }
  /// The file is right, and Minnow cannot take it.
  template <class... Args>
  [[noreturn]] void refuse(std::string_view pattern, const Args&... args) const {
    throw Unsupported("{}: {}", place, format(pattern, args...));
  }

  /// One of the node's inputs, which must be there.
  const Expr& required(const Exprs& inputs, size_t i) const {
    if (i >= inputs.size() || !inputs[i]) fail("input {} is missing", i);
    return inputs[i];
  }
  /// The one element that input `i` should hold.
  int64_t only(const Ints& elements, size_t i) const {
    if (elements.size() != 1) fail("input {} should hold one element, it holds {}", i, elements.size());
    return elements[0];
  }
  /// An axis counted from the front, checked against a rank.
  int64_t from_front(int64_t axis, int64_t rank) const {
    if (axis < -rank || axis >= rank) fail("axis {} does not fit {} dimensions", axis, rank);
    return axis < 0 ? axis + rank : axis;
  }
};

/// The values made by nodes after `before` (null: by all nodes): the values that a rule made.
inline std::unordered_set<const Value*> values_made_after(const Graph& graph, const Node* before) {
  std::unordered_set<const Value*> made;
  for (const Node* at = graph.last(); at != before; at = at->previous())
    for (size_t i = 0; i < at->output_count(); ++i) made.insert(at->output(i));
  return made;
}

}  // namespace minnow
