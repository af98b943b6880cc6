// SPDX-License-Identifier: Apache-2.0
// Files of other tools quantize the scores of attention, its weights, and each step between. Where queries, keys and values are bytes,
// these roundings go before the products become integer ones: minnow.QuantizedAttention keeps scores exact, and chooses the steps of its
// weights for each row.
#include "graph/attention.h"
#include "passes/quantized_product.h"

namespace minnow {
namespace {

/// A tensor of rank 4 that is dequantized, and perhaps moved then.
bool comes_from_bytes(const Value& value) {
  const Node* maker = value.producer();
  while (maker && (maker->op() == "Transpose" || maker->op() == "Reshape")) maker = maker->input(0)->producer();
  return rank_of(value) == size_t{4} && maker && maker->op() == "DequantizeLinear" && byte_quantization_of(maker);
}

/// The value before a QuantizeLinear and a DequantizeLinear, which go to `pairs`, else `value`. Null if others see a value on the way.
Value* before_pair(Value* value, std::vector<Node*>& pairs) {
  if (!sole_user(*value)) return nullptr;
  Node* const dequantize = made_by(value, "DequantizeLinear");
  Node* const quantize = dequantize ? made_by(dequantize->input(0), "QuantizeLinear") : nullptr;
  const auto from = Quantization::of(quantize), to = Quantization::of(dequantize);
  if (!from || !to || !from->same_as(*to)) return value;
  if (sole_user(*quantize->output(0)) != dequantize || !sole_user(*quantize->input(0))) return nullptr;
  pairs.push_back(dequantize);
  return quantize->input(0);
}

bool is_scaled(const Node& node) { return (node.op() == "Mul" || node.op() == "Div") && scalar_of(node.input(1)); }
/// A product, perhaps scaled, and quantized after each step.
bool are_scores(Value& value) {
  std::vector<Node*> pairs;
  const Value* before = before_pair(&value, pairs);
  const Node* const maker = before ? before->producer() : nullptr;
  return maker && (maker->op() == "MatMul" || is_scaled(*maker));
}

/// `last`: a product with a quantized second factor, perhaps that of attention.
void widen_scores_of(PassContext& context, Node& last) {
  std::vector<Node*> pairs;
  if (!comes_from_bytes(*last.input(1))) return;
  Value* value = before_pair(last.input(0), pairs);
  const Node* const softmax = value ? made_by(value, "Softmax") : nullptr;
  if (!softmax) return;
  if (const int64_t axis = int_attribute(*softmax, "axis", -1); axis != -1 && axis != 3) return;
  value = before_pair(softmax->input(0), pairs);
  bool masked = false;
  for (const Node* node = nullptr; value && (node = value->producer()) && node->op() != "MatMul"; value = before_pair(value, pairs)) {
    if (node->op() == "Add" && !masked) {
      masked = true;
      const size_t side = same_shape(*node->input(0), *node->output(0)) && are_scores(*node->input(0)) ? 0 : 1;
      if (!is_attention_mask(*node->input(1 - side), *node->output(0))) return;
      value = node->input(side);
    } else if (is_scaled(*node)) {
      value = node->input(0);
    } else {
      return;
    }
  }
  const Node* const first = value ? made_by(value, "MatMul") : nullptr;
  if (!first || pairs.empty() || !comes_from_bytes(*first->input(0)) || !comes_from_bytes(*first->input(1))) return;
  context.changed("scores before {} are not rounded", label_of(last));
  for (Node* const dequantize : pairs)
    if (forward(*dequantize->output(0), *dequantize->input(0)->producer()->input(0))) remove_dead(*dequantize);
}

}  // namespace

void widen_scores(Graph& graph, PassContext& context) {
  if (!context.operators().find(kQuantizedAttention)) return;
  for (Node& node : graph.nodes())
    if (node.op() == "MatMul") widen_scores_of(context, node);
}

}  // namespace minnow
