// SPDX-License-Identifier: Apache-2.0
// Operators of language models. Data kept between calls (keys and values, the tail of a convolution's input, the memory of linear
// attention) is a state of the graph, which a session keeps, resets and saves.
#include <algorithm>

#include "importers/mnn/rules.h"

namespace minnow::mnn {
namespace {

struct Kept {
  Expr past;
  size_t state = 0;
};

Kept keep(MnnNode& node, std::string_view what, const Shape& shape) {
  Kept kept;
  kept.past = node.host.add_state(node, what, shape, kept.state);
  return kept;
}

void replace(TypedBuilder& p, const Kept& kept, const Expr& next) { p.graph().set_state_next(kept.state, *p.own(next).value()); }

int64_t known(MnnNode& node, TypedBuilder& p, const Expr& x, int64_t axis, std::string_view what) {
  const int64_t size = p.dim(x, axis);
  if (size < 1) node.refuse("an unknown number of {} is not supported", what);
  return size;
}

/// The normalization of a table LayerNorm, over the last dimension; x itself where the table has no scales.
Expr normalized(MnnNode& node, TypedBuilder& p, const FlatTable& norm, const Expr& x, int64_t size) {
  // axis 0, epsilon 1, gamma 2, beta 3, group 4, external 5, useRMSNorm 6
  if (!norm || norm.numbers<float>(2).empty()) return x;
  const std::vector<float> gamma = norm.numbers<float>(2).copy<float>(), beta = norm.numbers<float>(3).copy<float>();
  if (static_cast<int64_t>(gamma.size()) != size) node.fail("{} scales do not fit heads of {}", gamma.size(), size);
  const Attributes attributes = {{"axis", int64_t{-1}}, {"epsilon", norm.number<float>(1, 0)}};
  const Expr scale = p.constant(Tensor::of_f32({size}, gamma));
  Expr y = p.op(norm.flag(6, false) ? "RMSNormalization" : "LayerNormalization", {x, scale}, attributes);
  if (beta.size() == gamma.size() && std::any_of(beta.begin(), beta.end(), [](float v) { return v != 0; }))
    y = p.op("Add", {y, p.constant(Tensor::of_f32({size}, beta))});
  return y;
}

}  // namespace

Exprs import_rope(MnnNode& node, TypedBuilder& p) {
  // rope_cut_head_dim 0, num_head 1, kv_num_head 2, head_dim 3, q_norm 4, k_norm 5. Queries and keys [length, heads * width, 1, 1], cosines
  // and sines of each position, first those of the front half -> both [1, length, heads, width].
  const int64_t width = node.integer(3), cut = node.integer(0);
  if (width < 2 || width > 1 << 20) node.fail("heads of width {} are not valid", width);
  const int64_t turning = (cut <= 0 || cut > width ? width : cut) / 2 * 2, half = turning / 2;
  const auto angles = [&](size_t input) { return p.reshape(node.input(input), Ints{1, -1, 1, turning}); };
  const Expr cosines = angles(2), sines = angles(3);
  const auto part = [&](const Expr& x, int64_t from, int64_t to) { return p.slice(x, {from}, {to}, {3}); };
  Exprs results;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t heads = node.integer(1 + i);
    if (heads < 1 || heads > 1 << 20) node.fail("{} heads are not valid", heads);
    const Expr x = normalized(node, p, node.parameter().table(4 + i), p.reshape(node.input(i), Ints{1, -1, heads, width}), width);
    const Expr front = part(x, 0, turning);
    const Expr beside = p.concat({p.op("Neg", {part(x, half, turning)}), part(x, 0, half)}, 3);
    const Expr turned = p.op("Add", {p.op("Mul", {front, cosines}), p.op("Mul", {beside, sines})});
    results.push_back(turning == width ? turned : p.concat({turned, part(x, turning, width)}, 3));
  }
  node.output_layouts.assign(node.output_layouts.size(), Layout::channels_last);
  return results;
}

Exprs import_attention(MnnNode& node, TypedBuilder& p) {
  // kv_cache 0, kv_shared_layer 1, layer_index 2, kv_shared_layer_index 3, mhq_quant 4, output_c4 5, attnScale 6. Queries, keys, values
  // [batch, length, heads, width], an additive mask, a score of each head for attending to nothing.
  // kv_shared_layer_index: the layer whose keys and values, including kept ones, replace the node's own.
  const Host::Layer* other = nullptr;
  if (const int64_t number = node.integer(3, -1); number >= 0) {
    const auto found = node.host.layers.find(number);
    if (found == node.host.layers.end()) node.refuse("keys of layer {} are wanted, which no Attention before it keeps", number);
    other = &found->second;
  }
  for (size_t i = 0; i < (other ? 1u : 3u); ++i)
    if (node.rank(i) != 4) node.fail("input {} should have 4 dimensions, it has {}", i, node.rank(i));
  const auto here = [&](const Expr& x) { return p.wrap(x.value()); };
  const Expr q = node.input(0), k = other ? here(other->k) : node.input(1), v = other ? here(other->v) : node.input(2);
  const int64_t heads = known(node, p, q, 2, "heads"), shared = known(node, p, k, 2, "heads"), width = known(node, p, k, 3, "elements"),
                v_width = known(node, p, v, 3, "elements");
  const auto packed = [&](const Expr& x, int64_t columns) {
    return p.reshape(x, p.concat({p.shape_of(x, 0, 2), p.constant({columns})}, 0));
  };
  Exprs inputs = {packed(q, heads * width), packed(k, shared * width), packed(v, shared * v_width)};
  Attributes attributes = {{"q_num_heads", heads}, {"kv_num_heads", shared}};
  if (node.real(6) > 0) attributes.set("scale", node.real(6));
  const bool keeps = other || node.flag(0, true), sinks = node.has(4);
  // A mask of one number means that no query sees a later key, as none does.
  const bool masked = node.has(3) && node.rank(3) > 0;
  if (!masked) attributes.set("is_causal", int64_t{1});
  const int64_t batch = std::max<int64_t>(p.dim(k, 0), 1);
  Kept keys, values;
  Expr total = p.shape_of(k, 1, 2);
  if (keeps) {
    if (other)
      keys.past = here(other->keys), values.past = here(other->values);
    else
      keys = keep(node, "keys", {batch, shared, 0, width}), values = keep(node, "values", {batch, shared, 0, v_width});
    if (const int64_t number = node.integer(2, -1); number >= 0 && !other) node.host.layers[number] = {k, v, keys.past, values.past};
    total = p.op("Add", {total, p.op("Shape", {keys.past}, {{"start", int64_t{2}}, {"end", int64_t{3}}})});
  }
  Expr mask;
  if (masked) {
    // A mask with columns only for the new keys shows all earlier ones.
    mask = p.cast(node.input(3), DType::f32);
    const int64_t rank = node.rank(3), columns = p.dim(mask, -1);
    if (rank < 2 || rank > 4) node.fail("a mask of {} dimensions is not valid", rank);
    if (keeps || columns < 0 || columns != p.dim(k, 1)) {
      const Expr before = p.op("Sub", {total, p.shape_of(mask, rank - 1, rank)});
      mask = p.op("Pad", {mask, p.concat({before, p.constant({0})}, 0), Expr(), p.constant({rank - 1})});
    }
  }
  if (sinks) {
    // The score for seeing nothing is that of a key of zeros in front of the others, whose value is nothing.
    const Expr rows = p.concat({p.constant({1, heads}), p.shape_of(q, 1, 2)}, 0);
    const auto spread = [&](const Expr& x, const Expr& columns) { return p.op("Expand", {x, p.concat({rows, columns}, 0)}); };
    mask = p.concat({spread(p.reshape(node.input(4), Ints{1, heads, 1, 1}), p.constant({1})), spread(mask ? mask : p.scalar(0), total)}, 3);
    const auto in_front = [&](const Expr& past, int64_t size) {
      const Expr zeros = p.fill(p.constant({batch, shared, 1, size}), 0, DType::f32);
      return past ? p.concat({zeros, past}, 2) : zeros;
    };
    inputs.insert(inputs.end(), {mask, in_front(keys.past, width), in_front(values.past, v_width)});
  } else if (keeps) {
    inputs.insert(inputs.end(), {mask, keys.past, values.past});
  } else if (mask) {
    inputs.push_back(mask);
  }
  const Exprs made = p.ops("Attention", inputs, keeps ? 3 : 1, attributes);
  if (keeps && !other) {
    const auto kept = [&](const Expr& x) { return sinks ? p.slice(x, {1}, {kEnd}, {2}) : x; };
    replace(p, keys, kept(made[1]));
    replace(p, values, kept(made[2]));
  }
  if (!node.flag(5)) return {made[0]};
  if (!node.output_layouts.empty()) node.output_layouts[0] = Layout::packed;
  return {p.reshape(made[0], Ints{-1, heads * v_width, 1, 1})};
}

Exprs import_linear_attention(MnnNode& node, TypedBuilder& p) {
  // attn_type 0, num_k_heads 1, num_v_heads 2, head_k_dim 3, head_v_dim 4, use_qk_l2norm 5, gate_fold 6, gate_coef 7, gate_bias 8. Queries,
  // keys and values behind each other in [batch, channels, length] (or packed, [length, channels, 1, 1]), decay and rate of each step and
  // head, filter [channels, 1, taps] -> [batch, length, heads, width] (packed: [length * heads, width, 1, 1]).
  const std::string_view kind = node.parameter().text(0);
  const bool short_conv = kind == "short_conv";
  if (!short_conv && kind != "gated_delta_rule") node.refuse("kind \"{}\" is not supported", kind.substr(0, 100));
  const int64_t k_heads = node.integer(1), heads = node.integer(2), k_width = node.integer(3), width = node.integer(4);
  for (int64_t size : {k_heads, heads, k_width, width})
    if (size < 0 || size > 1 << 20) node.fail("{} heads or elements are not valid", size);
  if (heads < 1 || width < 1 || (!short_conv && (k_heads < 1 || k_width < 1 || heads % k_heads != 0)))
    node.fail("{} heads of {} and {} heads of {} do not fit", k_heads, k_width, heads, width);
  const bool packed = node.layout(0) == Layout::packed;
  const Expr x = packed ? p.unsqueeze(p.transpose(p.squeeze(node.input(0), {2, 3}), {1, 0}), {0}) : node.input(0);
  const Expr weights = node.input(3);
  if (p.rank(x) != 3 || p.rank(weights) != 3)
    node.fail("a tensor of {} and a filter of {} dimensions are not valid", p.rank(x), p.rank(weights));
  const int64_t taps = known(node, p, weights, 2, "taps"), batch = std::max<int64_t>(p.dim(x, 0), 1);
  const auto convolved = [&](const Expr& image, int64_t channels, std::string_view activation) {
    const Kept end = keep(node, "end", {batch, channels, taps - 1});
    const Exprs made = p.ops("CausalConvWithState", {image, p.reshape(weights, Ints{channels, 1, taps}), Expr(), end.past}, 2,
                             {{"activation", std::string(activation)}});
    replace(p, end, made[1]);
    return made[0];
  };
  const auto channels = [&](const Expr& of, int64_t from, int64_t to) { return p.slice(of, {from}, {to}, {1}); };
  const auto result = [&](const Expr& y) {  // from [batch, length, heads * width]
    if (packed) return p.reshape(y, Ints{-1, width, 1, 1});
    return p.reshape(y, p.concat({p.shape_of(y, 0, 2), p.constant({short_conv ? 1 : heads, width})}, 0));
  };
  if (short_conv) {
    const Expr made = convolved(p.op("Mul", {channels(x, 0, width), channels(x, 2 * width, 3 * width)}), width, "none");
    return {result(p.transpose(p.op("Mul", {channels(x, width, 2 * width), made}), {0, 2, 1}))};
  }
  const int64_t key = k_heads * k_width, value = heads * width;
  const Expr turned = p.transpose(convolved(x, 2 * key + value, "silu"), {0, 2, 1});
  const auto columns = [&](int64_t from, int64_t to) { return p.slice(turned, {from}, {to}, {2}); };
  // A key head stands for several heads of values.
  const auto head_rows = [&](Expr of) {
    const Expr length = p.shape_of(of, 0, 2);
    const auto split = [&](const Ints& rest) { return p.concat({length, p.constant(rest)}, 0); };
    if (node.flag(5)) {
      of = p.reshape(of, split({k_heads, k_width}));
      const Expr squares = p.op("ReduceSum", {p.op("Mul", {of, of}), p.constant({3})});
      of = p.op("Div", {of, p.op("Sqrt", {p.op("Add", {squares, p.scalar(1e-6)})})});
    }
    if (heads != k_heads) of = p.op("Expand", {p.reshape(of, split({k_heads, 1, k_width})), p.constant({1, 1, 1, heads / k_heads, 1})});
    return p.reshape(of, split({heads * k_width}));
  };
  const auto of_heads = [&](size_t i) { return packed ? p.reshape(node.input(i), Ints{1, -1, heads}) : node.input(i); };
  Expr decay = of_heads(1), rate = of_heads(2);
  if (node.flag(6)) {
    const std::vector<float> factor = node.reals(7), bias = node.reals(8);
    if (static_cast<int64_t>(factor.size()) != heads || bias.size() != factor.size())
      node.fail("{} factors and {} biases do not fit {} heads", factor.size(), bias.size(), heads);
    const auto row = [&](const std::vector<float>& values) { return p.constant(Tensor::of_f32({heads}, values)); };
    decay = p.op("Mul", {p.op("Softplus", {p.op("Add", {decay, row(bias)})}), row(factor)});
    rate = p.op("Sigmoid", {rate});
  }
  const Kept memory = keep(node, "memory", {batch, heads, k_width, width});
  const Exprs made =
      p.ops("LinearAttention",
            {head_rows(columns(0, key)), head_rows(columns(key, 2 * key)), columns(2 * key, 2 * key + value), memory.past, decay, rate}, 2,
            {{"q_num_heads", heads}, {"kv_num_heads", heads}, {"update_rule", std::string("gated_delta")}});
  replace(p, memory, made[1]);
  return {result(made[0])};
}

}  // namespace minnow::mnn
