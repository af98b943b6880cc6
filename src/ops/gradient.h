// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation of nodes: what the gradient rules of operators are written with, and the steps that join them.
//
// A rule gets expressions for the inputs and outputs of a node and for the gradients of its outputs, and adds nodes that compute the
// gradients of its inputs:
//
//   .gradient = MINNOW_GRADIENT(unary_gradient<[](const Expr& x, const Expr& y, const Expr& g) { return g * y; }>)
//
// An operator without a rule is differentiated through its decomposition, or through where its elements come from (Elements::kept,
// permuted, copied).
#pragma once
#include "ops/operator.h"

namespace minnow {

/// A node in the eyes of its gradient rule. Shapes of inputs are numbers where they are known.
struct GradientContext {
  const NodeView& node;
  GraphBuilder& builder;
  Exprs inputs, outputs, output_gradients;  // output_gradients[i] is empty where nothing depends on output i
  std::vector<bool> wanted;                 // inputs whose gradients somebody asks for; those of others may be left out
  const FunctionRef<Expr(size_t output, const Shape& shape)>* keep = nullptr;

  const Expr& input(size_t i) const { return inputs[i]; }
  const Expr& output(size_t i) const { return outputs[i]; }
  const Expr& output_gradient(size_t i) const { return output_gradients[i]; }
  /// Output i, of the dtype of input 0, which the forward pass computes from now on. Empty where it cannot: values are computed already, or
  /// the node is a part of another one.
  Expr kept_output(size_t i, const Shape& shape) const {
    return i < outputs.size() && outputs[i] ? outputs[i] : keep ? (*keep)(i, shape) : Expr();
  }
  bool has_input(size_t i) const { return i < inputs.size() && inputs[i]; }
  bool wants(size_t i) const { return i < wanted.size() && wanted[i]; }
  bool knows_shape(size_t i) const { return node.has_input(i) && node.input(i).extent == ValueInfo::Extent::exact; }
  bool know_shapes() const;  // of all inputs that are there
  /// The shape of input i as i64: a constant, or computed in the run.
  Expr shape_of(size_t i) const;
  /// Zeros of the shape and dtype of input i.
  Expr zeros_like(size_t i) const;
  /// `gradient`, which has the elements of input i, in the shape of input i.
  Expr shaped_like(const Expr& gradient, size_t i) const;
  /// `gradient`, of the shape that input i is broadcast to, summed to the shape of input i.
  Expr sum_to(const Expr& gradient, size_t i) const;
};

/// The gradient of an operator with one input and one output: kRule(x, y, gradient of y).
template <auto kRule>
Exprs unary_gradient(const GradientContext& c) {
  return {kRule(c.input(0), c.output(0), c.output_gradient(0))};
}
/// The gradients of an operator with two broadcast inputs: kA and kB(a, b, y, gradient of y), summed to the shapes of a and b.
template <auto kA, auto kB>
Exprs binary_gradient(const GradientContext& c) {
  Exprs made(2);
  if (c.wants(0)) made[0] = c.sum_to(kA(c.input(0), c.input(1), c.output(0), c.output_gradient(0)), 0);
  if (c.wants(1)) made[1] = c.sum_to(kB(c.input(0), c.input(1), c.output(0), c.output_gradient(0)), 1);
  return made;
}
/// Steps, such as Floor: the derivative is zero wherever there is one.
Exprs zero_gradient(const GradientContext& context);
/// The output's gradient in the shape of input 0, whose elements the output has in their order.
Exprs reshape_gradient(const GradientContext& context);

/// A node of the operator `op` with these attributes, or with those of the context's node, whose output i is the gradient of input i.
Exprs gradient_node(const GradientContext& context, std::string_view op, const Exprs& inputs, const Attributes& attributes);
inline Exprs gradient_node(const GradientContext& context, std::string_view op, const Exprs& inputs) {
  return gradient_node(context, op, inputs, context.node.node().attributes);
}

/// The places in input 0 that the elements of output 0 come from, found by moving their numbers; the gradients are added up there. Needs
/// the input's shape.
Exprs moved_gradient(const GradientContext& context);

Expr greater(const Expr& a, double b);
Expr less(const Expr& a, double b);
/// `a` where the condition holds, else zero.
Expr where(const Expr& condition, const Expr& a);

/// The gradients of the inputs through a form of the node in simpler operators, which kParts adds as a decomposition does: for operators
/// whose runs are not decomposed.
using Decompose = Exprs (*)(const NodeView&, GraphBuilder&, const Exprs&);
Exprs gradient_through(const GradientContext& context, Decompose parts);
template <auto kParts>
Exprs parts_gradient(const GradientContext& context) {
  return gradient_through(context, kParts);
}

/// The gradients of the inputs of one node, by its rule or as said above. Throws Unsupported, with the node, where there is no way.
Exprs input_gradients(const OperatorSet& operators, const Operator& op, const GradientContext& context);

}  // namespace minnow
