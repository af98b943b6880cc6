// SPDX-License-Identifier: Apache-2.0
// The gradient of MaxPool.
#include "graph/window.h"
#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/operator_table.h"

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

Shapes infer(const NodeView& node) {
  const Sizes output = PoolGeometry::output_sizes(node);
  if (const auto g = node.known_sizes(1); g && differ(*g, output))
    node.fail("the gradient should have shape {}, it has shape {}", output, *g);
  return {node.input_sizes(0)};
}

/// To the element that was chosen, which the second output of MaxPool tells.
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Shape& shape = node.input_shape(0);
  const DType dtype = node.input_dtype(0);
  const Exprs again = b.ops("MaxPool", {in[0]}, 2, node.node().attributes);
  const Expr flat = b.constant({int64_t{-1}});
  const Expr zeros = b.op("ConstantOfShape", {b.constant({shape.elements()})}, {{"value", Tensor(dtype, Shape{1})}});
  zeros.value()->type.dtype = dtype;
  const Expr sums = b.op("ScatterElements", {zeros, b.op("Reshape", {again[1], flat}), b.op("Reshape", {in[1], flat})},
                         {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return {b.op("Reshape", {sums, b.constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}})};
}

constexpr List<Operator> definitions() {
  return {{.name = "minnow.MaxPoolGradient",
           .doc = MINNOW_DOC("The gradient of X of a MaxPool whose output has this gradient: the first largest element of a window has its "
                             "gradient."),
           .inputs = {{"X", kFloats}, {.name = "gradient", .dtypes = kFloats, .like = "X"}},
           .outputs = {{"of_X", same_as("X")}},
           .attributes = {kAutoPad, optional("ceil_mode", AttributeKind::integer, MINNOW_DOC("as MaxPool's")), kDilations, kPads, kStrides,
                          required("kernel_shape", AttributeKind::integers, MINNOW_DOC("shape of a window"))},
           .infer_shapes = infer,
           .decompose = parts,
           .batch = batch_apart}};
}

}  // namespace

std::span<const Operator> pool_gradient_operators() { return operator_table<definitions>(); }

#endif

}  // namespace minnow
