// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "importers/onnx/rules.h"

namespace minnow::onnx {

Exprs import_copy(OnnxNode& node, GraphBuilder&) { return node.copy(); }

Expr shape_of(const Expr& x) {
  const Expr shape = op("Shape", {x});
  shape.value()->type = ValueType::tensor(DType::i64);
  return shape;
}

Expr ones(const Expr& count) {
  const Expr made = op("ConstantOfShape", {count}, {{"value", Tensor::of_i64({1}, Ints{1})}});
  made.value()->type = ValueType::tensor(DType::i64);
  return made;
}

Expr reshaped(const Expr& x, const Ints& shape) {
  const Tensor* tensor = x.value()->constant();
  if (tensor && std::find(shape.begin(), shape.end(), -1) == shape.end() && Shape(shape).elements() == tensor->elements())
    return x.builder().constant(tensor->reshaped(Shape(shape)));
  return op("Reshape", {x, x.builder().constant(shape)});
}

namespace {

/// The second operand before opset 7 with `broadcast`: its dimensions correspond to those of the first from `axis` on.
Expr aligned(OnnxNode& node, GraphBuilder& g, const Expr& a, const Expr& b, int64_t axis) {
  const int64_t rank_a = node.rank(a), rank_b = node.rank(b);
  if (rank_a >= 0 && rank_b >= 0) {
    if (axis < 0) axis += rank_a;
    const int64_t behind = rank_a - axis - rank_b;
    if (axis < 0 || behind < 0) node.fail("cannot lay {} dimensions along {} from axis {}", rank_b, rank_a, axis);
    if (behind == 0) return b;
    if (b.value()->constant()) {
      Ints shape(b.value()->constant()->shape().begin(), b.value()->constant()->shape().end());
      shape.resize(shape.size() + static_cast<size_t>(behind), 1);
      return reshaped(b, shape);
    }
    Ints axes;
    for (int64_t i = 0; i < behind; ++i) axes.push_back(rank_b + i);
    return g.op("Unsqueeze", {b, g.constant(axes)});
  }
  // Ranks that only the run knows: as many ones as there are dimensions behind.
  if (axis < 0) node.refuse("broadcasting from axis {} needs ranks that the file does not tell", axis);
  const Expr shape_b = shape_of(b);
  const Expr count = shape_of(shape_of(a)) - shape_of(shape_b) - g.constant({axis});
  const Expr shape = g.op("Concat", {shape_b, ones(count)}, {{"axis", int64_t{0}}});
  return g.op("Reshape", {b, shape});
}

}  // namespace

Exprs import_legacy_broadcast(OnnxNode& node, GraphBuilder& g) {
  if (node.integer("broadcast", 0) && node.has_attribute("axis"))
    node.inputs.at(1) = aligned(node, g, node.required_input(0), node.required_input(1), node.integer("axis", 0));
  node.attributes.remove("broadcast");
  node.attributes.remove("axis");
  return node.copy();
}

Exprs import_prelu_1(OnnxNode& node, GraphBuilder& g) {
  // One slope per channel (axis 1), or a single one. Later opsets broadcast the slope.
  const Expr slope = node.required_input(1);
  if (node.rank(slope) != 1) return node.copy();
  const std::vector<Dim>* dims = slope.value()->type.dims ? &*slope.value()->type.dims : nullptr;
  if (dims && (*dims)[0].size == 1) return node.copy();
  node.inputs[1] = aligned(node, g, node.required_input(0), slope, 1);
  return node.copy();
}

Exprs import_clip_1(OnnxNode& node, GraphBuilder&) {
  const Expr x = node.required_input(0);
  const auto bound = [&](const char* name) {
    return node.has_attribute(name) ? node.scalar_like(static_cast<double>(node.real(name, 0)), x) : Expr();
  };
  const Expr low = bound("min"), high = bound("max");
  return node.make("Clip", {x, low, high}, {});
}

Exprs import_cast_1(OnnxNode& node, GraphBuilder&) {
  // Opsets before 6 name the type.
  const std::string* to = node.attributes.get<std::string>("to");
  if (!to) return node.copy();
  static constexpr std::pair<std::string_view, DType> kNames[] = {{"FLOAT", DType::f32},
                                                                  {"UINT8", DType::u8},
                                                                  {"INT8", DType::i8},
                                                                  {"UINT16", DType::u16},
                                                                  {"INT16", DType::i16},
                                                                  {"INT32", DType::i32},
                                                                  {"INT64", DType::i64},
                                                                  {"BOOL", DType::boolean},
                                                                  {"FLOAT16", DType::f16},
                                                                  {"DOUBLE", DType::f64},
                                                                  {"UINT32", DType::u32},
                                                                  {"UINT64", DType::u64},
                                                                  {"COMPLEX64", DType::complex64},
                                                                  {"COMPLEX128", DType::complex128}};
  std::string upper;
  for (char c : *to) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const auto& [name, dtype] : kNames)
    if (name == upper) {
      node.attributes.set("to", static_cast<int64_t>(dtype));
      return node.copy();
    }
  node.fail("attribute \"to\" names no type: \"{}\"", upper.substr(0, 40));
}

Exprs import_selu_1(OnnxNode& node, GraphBuilder&) {
  // The defaults had fewer digits.
  node.attributes.set("alpha", node.real("alpha", 1.6732f));
  node.attributes.set("gamma", node.real("gamma", 1.0507f));
  return node.copy();
}

namespace {

/// Dropout as inference sees it: the input, and a mask that keeps all. `mask_like`: the mask has the dtype of the data (before opset 10).
Exprs inference_dropout(OnnxNode& node, GraphBuilder& g, const Expr& ratio, bool mask_like) {
  const Expr x = node.required_input(0);
  Exprs made = node.make("Dropout", {x, ratio}, {});
  if (mask_like && node.has_output(1)) made[1] = g.op("CastLike", {made[1], x});
  return made;
}

}  // namespace

Exprs import_dropout_1(OnnxNode& node, GraphBuilder& g) {
  if (!node.integer("is_test", 0)) node.warn("training mode is read as inference");
  return import_dropout_7(node, g);
}

Exprs import_dropout_7(OnnxNode& node, GraphBuilder& g) {
  return inference_dropout(node, g, node.has_attribute("ratio") ? g.scalar(static_cast<double>(node.real("ratio", 0.5f))) : Expr(),
                           node.version < 10);
}

Exprs import_dropout_12(OnnxNode& node, GraphBuilder& g) {
  if (const Expr training = node.input(2)) {
    const Tensor* known = training.value()->constant();
    const bool off = known && known->dtype() == DType::boolean && known->elements() == 1 && !*known->data<bool>();
    if (!off) node.warn("training mode is read as inference");
  }
  return inference_dropout(node, g, node.input(1), false);
}

Exprs import_swiglu(OnnxNode& node, GraphBuilder& g) {
  return {g.op("Swish", {node.required_input(0)}, {{"alpha", node.real("alpha", 1)}}) * node.required_input(1)};
}

}  // namespace minnow::onnx
