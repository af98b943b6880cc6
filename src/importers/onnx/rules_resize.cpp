// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/rules.h"

namespace minnow::onnx {
namespace {

Expr resized(OnnxNode& node, const Expr& x, const Expr& scales, const std::string& mode, const char* nearest_mode, bool last) {
  const Attributes attributes{
      {"mode", mode}, {"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string(nearest_mode)}};
  return last ? node.make("Resize", {x, Expr(), scales}, attributes)[0] : op("Resize", {x, Expr(), scales}, attributes);
}

/// Before opset 11, output coordinate i was at i / scale, and "nearest" rounded down along growing axes and up along shrinking ones.
Exprs legacy_resize(OnnxNode& node, const Expr& scales) {
  const Expr x = node.required_input(0);
  std::string mode = node.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  bool grows = true, shrinks = true;
  if (const Tensor* known = scales.value()->constant(); known && known->dtype() == DType::f32) {
    grows = shrinks = false;
    for (float scale : std::span<const float>(known->data<float>(), static_cast<size_t>(known->elements())))
      (scale < 1 ? shrinks : grows) = true;
  }
  if (mode != "nearest" || !shrinks) return {resized(node, x, scales, mode, "floor", true)};
  if (!grows) return {resized(node, x, scales, mode, "ceil", true)};
  const Expr one = node.builder().scalar(1);
  const Expr grown = resized(node, x, op("Max", {scales, one}), mode, "floor", false);
  return {resized(node, grown, op("Min", {scales, one}), mode, "ceil", true)};
}

Expr floats(GraphBuilder& g, const Floats& values) { return g.constant(Tensor::of_f32({static_cast<int64_t>(values.size())}, values)); }

}  // namespace

Exprs import_upsample_1(OnnxNode& node, GraphBuilder& g) {
  return legacy_resize(node, floats(g, {1, 1, node.require<float>("height_scale"), node.require<float>("width_scale")}));
}
Exprs import_upsample_7(OnnxNode& node, GraphBuilder& g) { return legacy_resize(node, floats(g, node.require<Floats>("scales"))); }
Exprs import_upsample_9(OnnxNode& node, GraphBuilder&) { return legacy_resize(node, node.required_input(1)); }
Exprs import_resize_10(OnnxNode& node, GraphBuilder&) { return legacy_resize(node, node.required_input(1)); }

Exprs import_resize_11(OnnxNode& node, GraphBuilder&) {
  // Opset 11 required roi and scales even if they were unused: empty tensors stand for absent ones.
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Expr& input = node.inputs[i];
    if (input && input.value()->type.is_static() && input.value()->type.shape().elements() == 0) node.inputs[i] = Expr();
  }
  return node.copy();
}

Exprs import_grid_sample_16(OnnxNode& node, GraphBuilder&) {
  const std::string mode = node.text("mode", "bilinear");
  node.attributes.set("mode", mode == "bilinear" ? std::string("linear") : mode == "bicubic" ? std::string("cubic") : mode);
  return node.copy();
}

Exprs import_roi_align_10(OnnxNode& node, GraphBuilder&) {
  node.attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return node.copy();
}

}  // namespace minnow::onnx
