// SPDX-License-Identifier: Apache-2.0
// com.microsoft: the first layer and the attention of transformers, each also with quantized weights (QEmbedLayerNormalization,
// QAttention).
#include "importers/onnx/rules.h"

namespace minnow::onnx {
namespace {

Expr unsqueezed(GraphBuilder& g, const Expr& x, const Ints& axes) { return g.op("Unsqueeze", {x, g.constant(axes)}); }

/// The size of a dimension, as an i64 vector of one element.
Expr size_at(GraphBuilder& g, const Expr& x, int64_t axis) {
  return g.op("Slice", {shape_of(x), g.constant({axis}), g.constant({axis + 1})});
}

/// f32 of [batch or 1, heads or 1, queries or 1, keys] that is added to the scores; empty if all keys count.
Expr mask_of(OnnxNode& node, GraphBuilder& g, size_t at, const Expr& x, const Expr& past) {
  const Expr given = node.input(at);
  if (!given) return {};
  Expr seen;
  switch (node.rank(given)) {
    case 1: {  // the number of keys of each batch entry
      Expr count = size_at(g, x, 1);
      if (past) count = count + size_at(g, past, 3);
      const Expr keys = g.op("Range", {g.scalar(0, DType::i64), reshaped(count, {}), g.scalar(1, DType::i64)});
      seen = unsqueezed(g, g.op("Less", {keys, unsqueezed(g, cast(given, DType::i64), {1})}), {1, 2});
      break;
    }
    case 2:
      seen = unsqueezed(g, cast(given, DType::boolean), {1, 2});
      break;
    case 3:
      seen = unsqueezed(g, cast(given, DType::boolean), {1});
      break;
    default:
      node.refuse("a mask of {} dimensions is not supported", node.rank(given));
  }
  return select(seen, g.scalar(0), g.scalar(static_cast<double>(node.real("mask_filter_value", -10000))));
}

}  // namespace

Exprs import_attention_microsoft(OnnxNode& node, GraphBuilder& g) {
  // Input, weights of queries, keys and values side by side, bias; QAttention has the scales next, and the zero points behind the mask.
  const bool quantized = node.op.ends_with("QAttention");
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    if (node.integer(name, 0)) node.refuse("attribute \"{}\" is not supported", name);
  Expr x = node.required_input(0), w = node.required_input(1);
  const ValueType& type = w.value()->type;
  if (!type.is_static() || type.dims->size() != 2) node.refuse("the shape of the weights must be known");
  Ints sizes = node.integers("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, type.shape()[1] / 3);
  if (sizes.size() != 3) node.fail("qkv_hidden_sizes should hold three sizes, it holds {}", sizes.size());
  if (quantized) {
    x = dequantized(node, x, node.required_input(3), node.input(6));
    w = dequantized(node, w, node.required_input(4), node.input(7), 1);
  }
  Expr merged = g.op("MatMul", {x, w});
  if (node.has_input(2)) merged = merged + node.input(2);
  const Exprs qkv = g.ops("Split", {merged, g.constant(sizes)}, 3, {{"axis", int64_t{-1}}});
  const Expr past = node.input(quantized ? 8 : 4);
  Expr mask = mask_of(node, g, quantized ? 5 : 3, x, past);
  if (const Expr bias = quantized ? Expr() : node.input(5)) mask = mask ? mask + bias : bias;
  Exprs inputs = {qkv[0], qkv[1], qkv[2]};
  if (mask || past) inputs.push_back(mask);
  const auto part = [&](int64_t i) {
    return g.op("Squeeze", {g.op("Slice", {past, g.constant({i}), g.constant({i + 1})}), g.constant({0})});
  };
  if (past) inputs.push_back(part(0)), inputs.push_back(part(1));
  const int64_t heads = node.require<int64_t>("num_heads");
  Attributes attributes{{"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", int64_t{node.integer("unidirectional", 0) != 0}}};
  if (node.has_attribute("scale")) attributes.set("scale", node.real("scale", 1));
  const bool gives_present = node.has_output(1);
  const Exprs made = g.ops("Attention", inputs, gives_present ? 3 : 1, std::move(attributes));
  if (!gives_present) return {made[0]};
  return {made[0], g.op("Concat", {unsqueezed(g, made[1], {0}), unsqueezed(g, made[2], {0})}, {{"axis", int64_t{0}}})};
}

Exprs import_embed_layer_normalization(OnnxNode& node, GraphBuilder& g) {
  // Ids, ids of segments, tables of words, positions and segments, gamma, beta, mask; then positions, or scales and zero points of inputs 2
  // to 6.
  constexpr size_t kWords = 2, kPositions = 3, kSegments = 4, kGamma = 5, kBeta = 6, kMask = 7, kScales = 8, kZeros = 13;
  const bool quantized = node.op.ends_with("QEmbedLayerNormalization");
  const auto real = [&](const Expr& x, size_t i) {
    return quantized ? dequantized(node, x, node.required_input(kScales + i - kWords), node.input(kZeros + i - kWords)) : x;
  };
  const auto rows = [&](size_t i, const Expr& indices) {
    const Expr y = g.op("Gather", {node.required_input(i), indices}, {{"axis", int64_t{0}}});
    return real(y, i);
  };
  const Expr ids = node.required_input(0), mask = node.input(kMask), places = quantized ? Expr() : node.input(kScales);
  const Expr positions =
      places ? rows(kPositions, places)
             : real(g.op("Slice", {node.required_input(kPositions), g.constant({0}), size_at(g, ids, 1), g.constant({0})}), kPositions);
  Expr sum = rows(kWords, ids) + positions;
  if (node.has_input(1)) sum = sum + rows(kSegments, node.input(1));
  const Expr y = g.op("LayerNormalization", {sum, real(node.required_input(kGamma), kGamma), real(node.required_input(kBeta), kBeta)},
                      {{"axis", int64_t{-1}}, {"epsilon", node.real("epsilon", 1e-12f)}});
  // The number of words that count, 0 without a mask. Attention asks for its rank.
  Expr counted;
  if (node.has_output(1)) {
    const Expr counts = cast(mask ? mask : ids - ids, DType::i32);
    counted = reshaped(g.op("ReduceSum", {counts, g.constant({1})}, {{"keepdims", int64_t{0}}}), {-1});
  }
  return {y, counted, sum};
}

}  // namespace minnow::onnx
