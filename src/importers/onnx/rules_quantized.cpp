// SPDX-License-Identifier: Apache-2.0
// Integer forms to the one form of quantized graphs: DequantizeLinear -> operator -> QuantizeLinear.
#include "importers/onnx/rules.h"

namespace minnow::onnx {

Expr as_scalar(OnnxNode& node, const Expr& x) {
  if (!x) return x;
  const int64_t rank = node.rank(x);
  if (rank == 0) return x;
  if (const Tensor* tensor = x.value()->constant()) return tensor->elements() == 1 ? reshaped(x, {}) : x;
  const ValueType& type = x.value()->type;
  return rank == 1 && type.is_static() && type.shape()[0] == 1 ? reshaped(x, {}) : x;
}

Expr dequantized(OnnxNode& node, const Expr& x, const Expr& scale, const Expr& zero_point, int64_t axis) {
  Attributes attributes;
  const Expr s = as_scalar(node, scale);
  if (axis != kNoAxis && node.rank(s) != 0) attributes.set("axis", axis);
  const Expr y = op("DequantizeLinear", {x, s, as_scalar(node, zero_point)}, std::move(attributes));
  y.value()->type.dtype = node.dtype(scale);
  return y;
}

namespace {

Expr quantized(OnnxNode& node, const Expr& y, const Expr& scale, const Expr& zero_point, int64_t axis = kNoAxis) {
  Attributes attributes;
  const Expr s = as_scalar(node, scale);
  if (axis != kNoAxis && node.rank(s) != 0) attributes.set("axis", axis);
  const Expr q = op("QuantizeLinear", {y, s, as_scalar(node, zero_point)}, std::move(attributes));
  q.value()->type.dtype = zero_point ? node.dtype(zero_point) : DType::u8;
  return q;
}

/// An operand of QLinearMatMul: its scale is one number, or a vector along `axis`, or spread over rows already.
Expr dequantized_operand(OnnxNode& node, size_t first, int64_t axis) {
  const Expr x = node.required_input(first), scale = node.required_input(first + 1), zero_point = node.required_input(first + 2);
  if (node.rank(as_scalar(node, scale)) <= 1) return dequantized(node, x, scale, zero_point, axis);
  const DType dtype = node.dtype(scale);
  return (cast(x, dtype) - cast(zero_point, dtype)) * scale;
}

}  // namespace

Exprs import_qlinear_conv(OnnxNode& node, GraphBuilder& g) {
  const Expr x_scale = node.required_input(1), w_scale = node.required_input(4);
  const Expr x = dequantized(node, node.required_input(0), x_scale, node.required_input(2));
  const Expr w = dequantized(node, node.required_input(3), w_scale, node.required_input(5), 0);
  Expr bias;
  if (node.has_input(8)) {
    // An i32 bias counts in steps of both scales' product.
    const Expr scale = as_scalar(node, x_scale) * as_scalar(node, w_scale);
    if (const Value* value = as_scalar(node, w_scale).value()) scale.value()->type = value->type;
    bias = dequantized(node, node.input(8), scale, Expr(), 0);
  }
  const Expr y = g.op("Conv", {x, w, bias}, node.attributes);
  return {quantized(node, y, node.required_input(6), node.required_input(7))};
}

Exprs import_qlinear_matmul(OnnxNode& node, GraphBuilder& g) {
  const Expr a = dequantized_operand(node, 0, -2), b = dequantized_operand(node, 3, -1);
  return {quantized(node, g.op("MatMul", {a, b}), node.required_input(6), node.required_input(7), -2)};
}

// com.microsoft. Inputs come as tensor, scale, zero point (which may be absent).

Exprs import_qlinear_binary(OnnxNode& node, GraphBuilder& g) {
  const Expr a = dequantized(node, node.required_input(0), node.required_input(1), node.input(2));
  const Expr b = dequantized(node, node.required_input(3), node.required_input(4), node.input(5));
  const Expr y = g.op(node.op.ends_with("Add") ? "Add" : "Mul", {a, b});
  return {quantized(node, y, node.required_input(6), node.input(7))};
}

Exprs import_qlinear_unary(OnnxNode& node, GraphBuilder& g) {
  static constexpr std::string_view kPrefix = "com.microsoft.QLinear";
  if (node.integer("channels_last", 0)) node.refuse("attribute \"channels_last\" is not supported");
  const Expr x = dequantized(node, node.required_input(0), node.required_input(1), node.input(2));
  Attributes attributes = node.attributes;
  attributes.remove("channels_last");
  const Expr y = g.op(std::string_view(node.op).substr(kPrefix.size()), {x}, std::move(attributes));
  return {quantized(node, y, node.required_input(3), node.input(4))};
}

Exprs import_qlinear_concat(OnnxNode& node, GraphBuilder& g) {
  Exprs parts;
  for (size_t i = 2; i + 2 < node.inputs.size(); i += 3)
    parts.push_back(dequantized(node, node.required_input(i), node.required_input(i + 1), node.required_input(i + 2)));
  if (parts.empty()) node.fail("has no tensors to join");
  const Expr y = g.op("Concat", parts, {{"axis", node.require<int64_t>("axis")}});
  return {quantized(node, y, node.required_input(0), node.required_input(1))};
}

Exprs import_qgemm(OnnxNode& node, GraphBuilder& g) {
  // A, B, an i32 C in steps of alpha * A's scale * B's scale (which B may have for each column), then y, which is real without a scale.
  const Expr a_scale = node.required_input(1), b_scale = node.required_input(4);
  const bool turned = node.integer("transB", 0) != 0;
  const float alpha = node.real("alpha", 1);
  const Expr a = dequantized(node, node.required_input(0), a_scale, node.input(2));
  const Expr b = dequantized(node, node.required_input(3), b_scale, node.input(5), turned ? 0 : 1);
  Expr c;
  if (node.has_input(6)) {
    Expr scale = as_scalar(node, a_scale) * as_scalar(node, b_scale);
    if (alpha != 1) scale = scale * node.scalar_like(static_cast<double>(alpha), a_scale);
    if (const Value* value = as_scalar(node, b_scale).value()) scale.value()->type = value->type;
    c = dequantized(node, node.input(6), scale, Expr(), -1);
  }
  const Expr y = g.op("Gemm", {a, b, c}, {{"alpha", alpha}, {"transA", node.integer("transA", 0)}, {"transB", int64_t{turned}}});
  y.value()->type.dtype = node.dtype(a_scale);
  return {node.has_input(7) ? quantized(node, y, node.input(7), node.input(8)) : y};
}

Exprs import_qlinear_softmax(OnnxNode& node, GraphBuilder& g) {
  const Expr x = dequantized(node, node.required_input(0), node.required_input(1), node.input(2));
  const int64_t axis = node.integer("axis", -1);
  // The opset of the Softmax that was quantized: before 13 the dimensions from `axis` on were one.
  const Expr y = node.require<int64_t>("opset") < 13 ? softmax_1(node, g, "Softmax", x, axis) : g.op("Softmax", {x}, {{"axis", axis}});
  return {quantized(node, y, node.required_input(3), node.input(4))};
}

Exprs import_qlinear_where(OnnxNode& node, GraphBuilder& g) {
  const Expr x = dequantized(node, node.required_input(1), node.required_input(2), node.input(3));
  const Expr y = dequantized(node, node.required_input(4), node.required_input(5), node.input(6));
  return {quantized(node, g.op("Where", {node.required_input(0), x, y}), node.required_input(7), node.input(8))};
}

Exprs import_quantize_microsoft(OnnxNode& node, GraphBuilder&) { return node.copy("QuantizeLinear"); }
Exprs import_dequantize_microsoft(OnnxNode& node, GraphBuilder&) { return node.copy("DequantizeLinear"); }

Exprs import_matmul_integer_to_float(OnnxNode& node, GraphBuilder& g) {
  // A, B, A's scale, B's scale (one, or one a column), zero points, bias.
  const Expr a = dequantized(node, node.required_input(0), node.required_input(2), node.input(4), -2);
  const Expr b = dequantized(node, node.required_input(1), node.required_input(3), node.input(5), -1);
  const Expr y = g.op("MatMul", {a, b});
  return {node.has_input(6) ? y + node.input(6) : y};
}

namespace {

/// x rounded to the 256 steps that its own range gives, as operators that quantize while running see it.
Expr rounded(GraphBuilder& g, const Expr& x) {
  const Exprs q = g.ops("DynamicQuantizeLinear", {x}, 3);
  q[0].value()->type.dtype = DType::u8;
  q[1].value()->type.dtype = DType::f32;
  q[2].value()->type.dtype = DType::u8;
  const Expr y = g.op("DequantizeLinear", {q[0], q[1], q[2]});
  y.value()->type.dtype = DType::f32;
  return y;
}

}  // namespace

Exprs import_dynamic_quantize_matmul(OnnxNode& node, GraphBuilder& g) {
  const Expr b = dequantized(node, node.required_input(1), node.required_input(2), node.input(3), -1);
  const Expr y = g.op("MatMul", {rounded(g, node.required_input(0)), b});
  return {node.has_input(4) ? y + node.input(4) : y};
}

namespace {

/// [directions, rows, columns] as [directions, columns, rows]; a constant of one-byte elements at once.
Expr with_columns_first(GraphBuilder& g, const Expr& x) {
  const Tensor* tensor = x.value()->constant();
  if (!tensor || tensor->shape().rank() != 3 || size_of(tensor->dtype()) != 1) return g.op("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  const Shape& shape = tensor->shape();
  Tensor turned(tensor->dtype(), {shape[0], shape[2], shape[1]});
  const uint8_t* from = tensor->data<uint8_t>();
  uint8_t* const to = turned.writable().data<uint8_t>();
  const size_t rows = static_cast<size_t>(shape[1]), columns = static_cast<size_t>(shape[2]);
  for (size_t d = 0; d < static_cast<size_t>(shape[0]); ++d)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) to[(d * columns + c) * rows + r] = *from++;
  return g.constant(std::move(turned));
}

/// Weights of DynamicQuantizeLSTM, [directions, input or hidden size, 4 * hidden size], in the layout of LSTM. There is a scale per
/// direction, or per output column.
Expr lstm_weight(OnnxNode& node, GraphBuilder& g, size_t i, size_t scale_at) {
  const Expr w = with_columns_first(g, node.required_input(i));
  const Expr scale = node.required_input(scale_at), zero_point = node.input(scale_at + 1);
  const ValueType& type = scale.value()->type;
  const int64_t rank = node.rank(scale);
  if (rank == 1) return dequantized(node, w, scale, zero_point, 0);
  if (rank != 2) node.refuse("scales of {} dimensions are not supported", rank);
  if (type.is_static() && type.shape()[0] == 1) {
    const auto flat = [](const Expr& x) { return x ? reshaped(x, {-1}) : x; };
    return dequantized(node, w, flat(scale), flat(zero_point), 1);
  }
  // Both a direction and a column: no axis of DequantizeLinear says that.
  const auto spread = [&](const Expr& x) { return g.op("Unsqueeze", {x, g.constant({2})}); };
  const Expr wide = cast(w, DType::f32);
  return (zero_point ? wide - spread(cast(zero_point, DType::f32)) : wide) * spread(scale);
}

}  // namespace

Exprs import_dynamic_quantize_lstm(OnnxNode& node, GraphBuilder& g) {
  // X, W, R, B, sequence_lens, initial_h, initial_c, P, then scale and zero point of W and of R. The input is rounded as there; the hidden
  // state, which is rounded anew in every step there, keeps its precision here.
  const Expr w = lstm_weight(node, g, 1, 8), r = lstm_weight(node, g, 2, 10);
  return node.make("LSTM",
                   {rounded(g, node.required_input(0)), w, r, node.input(3), node.input(4), node.input(5), node.input(6), node.input(7)},
                   node.attributes);
}

}  // namespace minnow::onnx
