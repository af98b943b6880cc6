// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX Runtime's optimizer writes into files (domain com.microsoft, and some that it leaves in ai.onnx).
#include "importers/onnx/rules.h"

namespace minnow::onnx {

Exprs import_fused_matmul(OnnxNode& node, GraphBuilder& g) {
  if (node.integer("transBatchA", 0) || node.integer("transBatchB", 0)) node.refuse("transposed batches are not supported");
  const auto operand = [&](size_t i, const char* attribute) {
    const Expr x = node.required_input(i);
    if (!node.integer(attribute, 0)) return x;
    const int64_t rank = node.rank(x);
    if (rank < 2) node.refuse("the number of dimensions of input {} must be known to transpose it", i);
    Ints perm;
    for (int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return g.op("Transpose", {x}, {{"perm", perm}});
  };
  const Expr y = g.op("MatMul", {operand(0, "transA"), operand(1, "transB")});
  const float alpha = node.real("alpha", 1);
  return {alpha == 1 ? y : y * node.scalar_like(static_cast<double>(alpha), y)};
}

Exprs import_fused_activation(OnnxNode& node, GraphBuilder& g) {
  const bool conv = node.op.ends_with("Conv");
  const std::string activation = node.text("activation", "");
  const Floats given = node.reals("activation_params");
  const auto parameter = [&](size_t i, const char* name, float fallback) {
    return i < given.size() ? given[i] : node.real(std::string("activation_") + name, fallback);
  };
  Attributes attributes;
  for (const auto& [name, value] : node.attributes)
    if (!name.starts_with("activation")) attributes.set(name, value);
  Expr y = g.op(conv ? "Conv" : "Gemm", {node.required_input(0), node.required_input(1), node.input(2)}, std::move(attributes));
  if (conv && node.has_input(3)) y = y + node.input(3);
  if (activation.empty()) return {y};
  if (activation == "LeakyRelu") return {g.op(activation, {y}, {{"alpha", parameter(0, "alpha", 0.01f)}})};
  if (activation == "HardSigmoid")
    return {g.op(activation, {y}, {{"alpha", parameter(0, "alpha", 0.2f)}, {"beta", parameter(1, "beta", 0.5f)}})};
  if (activation == "Clip") {
    return {g.op("Clip", {y, node.scalar_like(static_cast<double>(parameter(0, "min", -3.4e38f)), y),
                          node.scalar_like(static_cast<double>(parameter(1, "max", 3.4e38f)), y)})};
  }
  if (activation == "Relu" || activation == "Sigmoid" || activation == "Tanh" || activation == "HardSwish") return {g.op(activation, {y})};
  node.refuse("activation \"{}\" is not supported", activation);
}

Exprs import_gelu_microsoft(OnnxNode& node, GraphBuilder&) { return node.make("Gelu", {node.required_input(0)}, {}); }

Exprs import_bias_gelu(OnnxNode& node, GraphBuilder& g) { return {g.op("Gelu", {node.required_input(0) + node.required_input(1)})}; }

Exprs import_fast_gelu(OnnxNode& node, GraphBuilder& g) {
  const Expr x = node.required_input(0);
  return {g.op("Gelu", {node.has_input(1) ? x + node.input(1) : x}, {{"approximate", std::string("tanh")}})};
}

Exprs import_quick_gelu(OnnxNode& node, GraphBuilder& g) {
  const Expr x = node.required_input(0);
  return {x * g.op("Sigmoid", {x * node.scalar_like(static_cast<double>(node.real("alpha", 1.702f)), x)})};
}

Exprs import_simplified_layer_normalization(OnnxNode& node, GraphBuilder&) {
  if (node.outputs.size() > 1) node.refuse("the second output is not supported");
  return node.make("RMSNormalization", {node.required_input(0), node.required_input(1)},
                   {{"axis", node.integer("axis", -1)}, {"epsilon", node.real("epsilon", 1e-5f)}});
}

Exprs import_skip_layer_normalization(OnnxNode& node, GraphBuilder& g) {
  // y = normalized(input + skip + bias), and that sum as output 3. The simplified form has no beta.
  const bool simplified = node.op.ends_with("SkipSimplifiedLayerNormalization");
  const Expr beta = simplified ? Expr() : node.input(3), bias = node.input(simplified ? 3 : 4);
  Expr sum = node.required_input(0) + node.required_input(1);
  if (bias) sum = sum + bias;
  const float epsilon = node.real("epsilon", simplified ? 1e-6f : 1e-12f);
  Attributes attributes{{"axis", int64_t{-1}}, {"epsilon", epsilon}};
  const Expr gamma = node.required_input(2);
  const Expr y = simplified ? g.op("RMSNormalization", {sum, gamma}, std::move(attributes))
                            : g.op("LayerNormalization", {sum, gamma, beta}, std::move(attributes));
  return {y, Expr(), Expr(), sum};
}

}  // namespace minnow::onnx
