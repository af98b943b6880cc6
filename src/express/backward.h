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
  /// The gradients of the inputs of a call, captured ones included. Control flow that keeps values for its gradient gets further outputs.
  Exprs go_back(const std::shared_ptr<LazyNode>& node, const Exprs& output_gradients, const std::vector<bool>& wanted);
  /// The outputs of a call that `described` stands for, with these dtypes. `inputs`: its own, then those of its closures.
  Exprs call(const LazyNode& described, const Exprs& inputs, std::span<const DType> dtypes);
  Expr zeros_like(const LazyValue& value);

 private:
  Exprs apply_rule(const std::shared_ptr<LazyNode>& node, const Exprs& output_gradients, const std::vector<bool>& wanted);
  std::unordered_map<LazyValue, Expr, HashOfValue> inputs_;
};

/// The gradients of `parameters`, given those of `outputs`; absent where none flows. `ends`: what parameters are made of counts as
/// constant.
std::vector<LazyValue> differentiate(std::span<const LazyValue> outputs, std::span<const LazyValue> output_gradients,
                                     std::span<const LazyValue> parameters, bool ends = false);

/// The end of an error about a parameter that gets no gradient: the nodes that let none through. Empty where the loss does not depend on
/// it.
std::string why_no_gradient(const LazyValue& loss, const LazyValue& parameter);

/// Makes nodes that read a tensor of a sequence or an optional read the tensor itself, where the length and the place are known before the
/// run. Gradients then need no rules for sequences.
void resolve_sequences(std::span<const LazyValue> roots);

/// The gradients of the inputs of If, Loop or Scan.
Exprs control_flow_gradients(RuleGraph& rules, const std::shared_ptr<LazyNode>& node, const Exprs& output_gradients,
                             const std::vector<bool>& wanted);

/// A gradient by a function of the program. The attribute "rule" of a node minnow.After keeps it, by its place in memory.
struct GradientRule {
  GradientRule(expr::GradientFunction given, size_t count) : function(std::move(given)), outputs(count) {}
  ~GradientRule();
  GradientRule(const GradientRule&) = delete;
  GradientRule& operator=(const GradientRule&) = delete;
  const int64_t place = 0;
  const expr::GradientFunction function;
  const size_t outputs;
};
/// The rule of a node; null if it has none.
std::shared_ptr<const GradientRule> gradient_rule_of(const LazyNode& node);
/// Takes the rules out of a graph that will not be differentiated.
void forget_gradient_rules(Graph& graph);

}  // namespace minnow::express
