// SPDX-License-Identifier: Apache-2.0
// The gradient of a batch normalization in training mode.
#include <algorithm>

#include "ops/operator_table.h"

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

constexpr Attribute<float> kEpsilon{"epsilon", 1e-5f, MINNOW_DOC("added to the variance, against division by zero")};

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() < 2) node.fail("the input should have a batch and a channel dimension, its shape is {}", x);
  const Sizes channels{x[1]};
  if (const auto scale = node.known_sizes(1); scale && differ(*scale, channels))
    node.fail("the scale should have shape {}, it has shape {}", channels, *scale);
  if (const auto g = node.known_sizes(2); g && differ(*g, x)) node.fail("the gradient should have shape {}, it has shape {}", x, *g);
  return {x, channels, channels};
}

Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const size_t rank = node.input_shape(0).rank();
  Ints along(rank - 1, 1), axes{0};
  along[0] = -1;
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  const Expr others = b.constant(axes);
  const auto mean_of = [&](const Expr& x) { return b.op("ReduceMean", {x, others}, {{"keepdims", int64_t{1}}}); };
  const auto sum_of = [&](const Expr& x) { return b.op("ReduceSum", {x, others}, {{"keepdims", int64_t{0}}}); };
  const Expr &x = in[0], &g = in[2];
  const Expr centered = x - mean_of(x);
  const Expr inverse = 1.0 / op("Sqrt", {mean_of(centered * centered) + static_cast<double>(node.attribute(kEpsilon))});
  const Expr normal = centered * inverse, factor = b.op("Reshape", {in[1], b.constant(along)}) * inverse;
  return {factor * (g - mean_of(g) - normal * mean_of(g * normal)), sum_of(g * normal), sum_of(g)};
}

constexpr List<Operator> definitions() {
  return {
      {.name = "minnow.BatchNormalizationGradient",
       .doc = MINNOW_DOC("The gradients of X, scale and B of a BatchNormalization in training mode whose output has this gradient."),
       .inputs = {{"X", kFloats}, {.name = "scale", .dtypes = kFloats, .like = "X"}, {.name = "gradient", .dtypes = kFloats, .like = "X"}},
       .outputs = {{"of_X", same_as("X")}, {"of_scale", same_as("X")}, {"of_B", same_as("X")}},
       .attributes = {kEpsilon},
       .infer_shapes = infer,
       .decompose = parts}};
}

}  // namespace

std::span<const Operator> batch_normalization_gradient_operators() { return operator_table<definitions>(); }

#endif

}  // namespace minnow
