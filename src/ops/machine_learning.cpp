// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: what classical models need besides arithmetic: features picked out, values turned into 0 or 1.
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr DTypes kFeatures = one_of({DType::f32, DType::f64, DType::i64, DType::i32});

constexpr Attribute<float> kThreshold{"threshold", 0, MINNOW_DOC("values above it become 1, others 0")};

Shapes same_shape(const NodeView& node) { return {node.input_sizes(0)}; }

void binarize(const NodeView& node, KernelArgs& args) {
  const double threshold = node.attribute(kThreshold);
  args.map([=](auto x) { return static_cast<decltype(x)>(static_cast<double>(x) > threshold ? 1 : 0); });
}

Shapes features_shape(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  if (shape.empty()) node.fail("X is a scalar, it should have a last axis to select from");
  const Size count = node.input_sizes(1).elements();
  if (shape.rank() == 1) return {{1, count}};
  shape[shape.rank() - 1] = count;
  return {shape};
}

Exprs features_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Expr indices = b.op("Reshape", {in[1], b.constant({-1})});
  const Expr selected = b.op("Gather", {in[0], indices}, {{"axis", int64_t{-1}}});
  return {node.input_shape(0).rank() == 1 ? b.op("Unsqueeze", {selected, b.constant({0})}) : selected};
}

constexpr List<Operator> definitions() {
  return {
      {.name = "ai.onnx.ml.ArrayFeatureExtractor",
       .doc = MINNOW_DOC("The elements of X along its last axis that the indices Y name; a vector X gives one row."),
       .inputs = {{"X", kFeatures}, {"Y", kI64}},
       .outputs = {{"Z", same_as("X")}},
       .infer_shapes = features_shape,
       .decompose = features_parts},
      {.name = "ai.onnx.ml.Binarizer",
       .doc = MINNOW_DOC("1 where an element is larger than the threshold, else 0."),
       .inputs = {{"X", kFeatures}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kThreshold},
       .infer_shapes = same_shape,
       .reference = binarize,
       .elementwise = true},
  };
}

}  // namespace

std::span<const Operator> machine_learning_operators() { return operator_table<definitions>(); }

}  // namespace minnow
