// SPDX-License-Identifier: Apache-2.0
// Operators whose attributes have become inputs.
#include "importers/onnx/rules.h"

namespace minnow::onnx {

Exprs import_slice_1(OnnxNode& node, GraphBuilder&) {
  if (!node.has_attribute("starts") || !node.has_attribute("ends")) node.fail("attributes \"starts\" and \"ends\" are missing");
  node.integers_to_input("starts", 1);
  node.integers_to_input("ends", 2);
  node.integers_to_input("axes", 3);
  return node.copy();
}

namespace {

Exprs pad(OnnxNode& node, std::string_view pads) {
  const Expr x = node.required_input(0);
  if (!node.has_attribute(pads)) node.fail("attribute \"{}\" is missing", pads);
  node.integers_to_input(pads, 1);
  if (node.has_attribute("value")) {
    node.inputs.resize(3);
    node.inputs[2] = node.scalar_like(static_cast<double>(node.real("value", 0)), x);
    node.attributes.remove("value");
  }
  return node.copy();
}

}  // namespace

Exprs import_pad_1(OnnxNode& node, GraphBuilder&) { return pad(node, "paddings"); }
Exprs import_pad_2(OnnxNode& node, GraphBuilder&) { return pad(node, "pads"); }

Exprs import_top_k_1(OnnxNode& node, GraphBuilder& g) {
  const Expr k = g.constant({node.require<int64_t>("k")});
  node.attributes.remove("k");
  node.inputs = {node.required_input(0), k};
  return node.copy();
}

Exprs import_axes_attribute(OnnxNode& node, GraphBuilder&) {
  node.integers_to_input("axes", 1);
  return node.copy();
}

Exprs import_reduce_1(OnnxNode& node, GraphBuilder&) {
  // An empty list meant all axes, as an absent one.
  if (node.integers("axes").empty()) node.attributes.remove("axes");
  node.integers_to_input("axes", 1);
  return node.copy();
}

Exprs import_split_1(OnnxNode& node, GraphBuilder& g) {
  if (node.integers("split").empty()) node.attributes.remove("split");
  if (node.has_input(1)) node.attributes.remove("split");  // opset 1 had it as input too
  node.integers_to_input("split", 1);
  return import_split_13(node, g);
}

Exprs import_split_13(OnnxNode& node, GraphBuilder&) {
  // Without sizes, before opset 18: as many equal parts as there are outputs.
  if (!node.has_input(1)) node.attributes.set("num_outputs", static_cast<int64_t>(node.outputs.size()));
  return node.copy();
}

Exprs import_reshape_1(OnnxNode& node, GraphBuilder&) {
  node.integers_to_input("shape", 1);
  return node.copy();
}

Exprs import_tile_1(OnnxNode& node, GraphBuilder& g) {
  // One count and one axis; today a count for each axis.
  const Expr x = node.required_input(0);
  const auto vector = [&](size_t i) {
    const Expr wide = cast(node.required_input(i), DType::i64);
    return reshaped(wide, {1});
  };
  const Expr count = vector(1), axis = vector(2);
  const Expr repeats = g.op("ScatterElements", {ones(shape_of(shape_of(x))), axis, count}, {{"axis", int64_t{0}}});
  return node.make("Tile", {x, repeats}, {});
}

Exprs import_concat_1(OnnxNode& node, GraphBuilder&) {
  node.attributes.set("axis", node.integer("axis", 1));
  return node.copy();
}

Exprs import_scatter(OnnxNode& node, GraphBuilder&) { return node.copy("ScatterElements"); }

Exprs import_dft_17(OnnxNode& node, GraphBuilder& g) {
  const Expr axis = g.scalar(static_cast<double>(node.integer("axis", 1)), DType::i64);
  node.attributes.remove("axis");
  node.inputs.resize(3);
  node.inputs[2] = axis;
  return node.copy();
}

}  // namespace minnow::onnx
