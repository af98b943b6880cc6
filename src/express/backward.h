// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation of expressions.
#pragma once
#include <unordered_map>

#include "express/node.h"
#include "ops/gradient.h"

namespace minnow::express {

/// The graph that gradient rules write. Its inputs are values of the expression.
class RuleGraph {
 public:
  Graph graph;
  GraphBuilder builder{graph};
  std::vector<LazyValue> values;  // of the inputs

  /// Empty for an absent value.
  Expr wrap(const LazyValue& value);
  Exprs wrap(std::span<const LazyValue> given);
  /// Nodes that stand in the expression: their outputs may be wrapped.
  void hold(const std::shared_ptr<LazyNode>& node) { nodes_[node.get()] = node; }
  /// The gradients of the inputs of a call, captured ones included. Control flow that keeps values for its gradient gets further outputs.
  Exprs go_back(LazyNode& node, const Exprs& output_gradients, const std::vector<bool>& wanted);
  /// The outputs of a call that `described` stands for, with these dtypes. `inputs`: its own, then those of its closures.
  Exprs call(const LazyNode& described, const Exprs& inputs, std::span<const DType> dtypes);
  std::shared_ptr<LazyNode> shared(const LazyNode& node) const { return nodes_.at(&node); }
  Expr zeros_like(const LazyValue& value);

 private:
  std::unordered_map<LazyValue, Expr, HashOfValue> inputs_;
  std::unordered_map<const LazyNode*, std::shared_ptr<LazyNode>> nodes_;
};

/// The gradients of `parameters`, given those of `outputs`; absent where none flows.
std::vector<LazyValue> differentiate(std::span<const LazyValue> outputs, std::span<const LazyValue> output_gradients,
                                     std::span<const LazyValue> parameters);

/// The gradients of the inputs of If, Loop or Scan.
Exprs control_flow_gradients(RuleGraph& rules, LazyNode& node, const Exprs& output_gradients, const std::vector<bool>& wanted);

}  // namespace minnow::express
