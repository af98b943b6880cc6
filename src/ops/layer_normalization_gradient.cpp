// SPDX-License-Identifier: Apache-2.0
// The gradient of a layer normalization, with a mean or without one.
#include "ops/operator_table.h"

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

constexpr Attribute<float> kEpsilon{"epsilon", 1e-5f, MINNOW_DOC("added to the variance (the mean square), against division by zero")};
constexpr Attribute<int64_t> kAxis{"axis", -1, MINNOW_DOC("the first of the dimensions that are normalized together")};
constexpr Attribute<bool> kCentered{"centered", true,
                                    MINNOW_DOC("the mean is taken off first (LayerNormalization), or not (RMSNormalization)")};

size_t axis_of(const NodeView& node) { return node.normalize_axis(node.attribute(kAxis), node.input_sizes(0).rank()); }

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  Sizes row = x;
  for (size_t i = axis_of(node); i > 0; --i) row.erase(0);
  if (const auto scale = node.known_sizes(1); scale && differ(*scale, row))
    node.fail("the scale should have shape {}, it has shape {}", row, *scale);
  if (const auto g = node.known_sizes(2); g && differ(*g, x)) node.fail("the gradient should have shape {}, it has shape {}", x, *g);
  return {x, row, row};
}

Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const size_t axis = axis_of(node), rank = node.input_shape(0).rank();
  Ints within, others;
  for (size_t i = 0; i < rank; ++i) (i < axis ? others : within).push_back(static_cast<int64_t>(i));
  const Expr row = b.constant(within);
  const auto mean_of = [&](const Expr& x) { return b.op("ReduceMean", {x, row}); };
  const auto sum_of = [&](const Expr& x) {
    return others.empty() ? x : b.op("ReduceSum", {x, b.constant(others)}, {{"keepdims", int64_t{0}}});
  };
  const bool centered = node.attribute(kCentered);
  const Expr &x = in[0], &g = in[2], less = centered ? x - mean_of(x) : x, scaled = g * in[1];
  const Expr inverse = 1.0 / op("Sqrt", {mean_of(less * less) + static_cast<double>(node.attribute(kEpsilon))});
  const Expr normal = less * inverse, across = scaled - normal * mean_of(scaled * normal);
  return {inverse * (centered ? across - mean_of(scaled) : across), sum_of(g * normal), sum_of(g)};
}

constexpr List<Operator> definitions() {
  return {
      {.name = "minnow.LayerNormalizationGradient",
       .doc =
           MINNOW_DOC("The gradients of X, Scale and B of a LayerNormalization, or of an RMSNormalization, whose output has this gradient. "
                      "The scale has an element for each one of the dimensions from `axis` on."),
       .inputs = {{"X", kFloats}, {.name = "Scale", .dtypes = kFloats, .like = "X"}, {.name = "gradient", .dtypes = kFloats, .like = "X"}},
       .outputs = {{"of_X", same_as("X"), kOptional}, {"of_Scale", same_as("X"), kOptional}, {"of_B", same_as("X"), kOptional}},
       .attributes = {kAxis, kEpsilon, kCentered},
       .infer_shapes = infer,
       .decompose = parts}};
}

}  // namespace

std::span<const Operator> layer_normalization_gradient_operators() { return operator_table<definitions>(); }

#endif

}  // namespace minnow
