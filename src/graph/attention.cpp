// SPDX-License-Identifier: Apache-2.0
#include "graph/attention.h"

#include <cmath>

namespace minnow {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kUsedKeys };

/// minnow.QuantizedAttention has scales in the place of the cache.
bool may_have_cache(const NodeView& node) { return node.op() != kQuantizedAttention; }
bool has_cache(const NodeView& node) { return may_have_cache(node) && node.has_input(kPastKey); }

int64_t heads_of(const NodeView& node, std::string_view attribute) {
  const int64_t heads = node.require<int64_t>(attribute);
  if (heads <= 0) node.fail("{} is {}, it should be positive", attribute, heads);
  return heads;
}

Size split(const NodeView& node, std::string_view name, Size width, int64_t heads) {
  if (leaves_rest(width, heads)) node.fail("{} has {} columns, which {} heads cannot share", name, width, heads);
  return divide_exactly(width, heads);
}

void expect(const NodeView& node, size_t input, std::string_view name, const Sizes& shape) {
  if (const auto given = node.known_sizes(input); given && differ(*given, shape))
    node.fail("{} should have shape {}, it has {}", name, shape, *given);
}

void check_mask(const NodeView& node, const Sizes& scores) {
  const auto mask = node.known_sizes(kMask);
  if (!mask) return;
  bool fits = mask->rank() >= 1 && mask->rank() <= 4 && !less(scores[3], mask->back());  // missing last columns are masked out
  for (size_t i = 1; fits && i < mask->rank(); ++i) {
    const Size dim = (*mask)[mask->rank() - 1 - i];
    fits = !differ(dim, 1) || !differ(dim, scores[3 - i]);
  }
  if (!fits) node.fail("the mask should have a shape that can be broadcast to {}, it has {}", scores, *mask);
}

}  // namespace

std::array<Sizes, 4> attention_sizes(const NodeView& node) {
  const int64_t before = node.attribute(kAttentionLeft), after = node.attribute(kAttentionRight),
                scores_output = node.attribute(kAttentionScoresOutput);
  if (before < -1 || after < -1) node.fail("left_window_size is {} and right_window_size {}, they should be -1 or more", before, after);
  if (scores_output < 0 || scores_output > 3) node.fail("qk_matmul_output_mode is {}, it should be 0 to 3", scores_output);
  if (const int64_t* precision = node.find<int64_t>("softmax_precision"); precision) {
    const DType dtype = static_cast<DType>(*precision);
    if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::f16 && dtype != DType::bf16)
      node.fail("softmax_precision is {}, which is no floating dtype", *precision);
  }
  const Sizes q = node.input_sizes(kQuery), k = node.input_sizes(kKey), v = node.input_sizes(kValue);
  if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank())
    node.fail("Q, K and V should all have rank 3 or all have rank 4, they have shapes {}, {} and {}", q, k, v);
  const bool packed = q.rank() == 3;
  const Size batch = q[0];
  Size q_heads = q[1], kv_heads = k[1], queries = q[packed ? 1 : 2], keys = k[packed ? 1 : 2], head = q.back(), v_head = v.back(), width;
  if (packed) {
    const int64_t q_count = heads_of(node, "q_num_heads"), kv_count = heads_of(node, "kv_num_heads");
    q_heads = q_count, kv_heads = kv_count;
    head = split(node, "Q", q[2], q_count);
    v_head = split(node, "V", v[2], kv_count);
    width = divide_exactly(v[2] * q_count, kv_count);
    expect(node, kKey, "K", {batch, keys, kv_heads * head});
    expect(node, kValue, "V", {batch, keys, kv_heads * v_head});
  } else {
    expect(node, kKey, "K", {batch, kv_heads, keys, head});
    expect(node, kValue, "V", {batch, kv_heads, keys, v_head});
  }
  if (kv_heads.is(0) ? less(0, q_heads) : leaves_rest(q_heads, kv_heads))
    node.fail("{} query heads cannot share {} key and value heads", q_heads, kv_heads);
  if (may_have_cache(node) && node.has_input(kPastKey) != node.has_input(kPastValue))
    node.fail("past_key and past_value should be given together");
  if (has_cache(node)) {
    const auto past = node.known_sizes(kPastKey);
    if (past && past->rank() != 4) node.fail("past_key should have rank 4, it has shape {}", *past);
    const Size length = past ? (*past)[2] : Size::unknown();
    expect(node, kPastKey, "past_key", {batch, kv_heads, length, head});
    expect(node, kPastValue, "past_value", {batch, kv_heads, length, v_head});
    keys += length;
    if (past) head = clearer(head, past->back());
    if (const auto values = node.known_sizes(kPastValue)) v_head = clearer(v_head, values->back());
  }
  const Sizes scores{batch, q_heads, queries, keys};
  check_mask(node, scores);
  if (may_have_cache(node)) expect(node, kUsedKeys, "nonpad_kv_seqlen", {batch});
  return {packed ? Sizes{batch, queries, width} : Sizes{batch, q_heads, queries, v_head}, Sizes{batch, kv_heads, keys, head},
          Sizes{batch, kv_heads, keys, v_head}, scores};
}

AttentionGeometry AttentionGeometry::of(const NodeView& node) {
  AttentionGeometry a;
  const auto sizes = attention_sizes(node);
  const Shape keys = sizes[1].shape(), values = sizes[2].shape(), scores = sizes[3].shape();
  a.packed = node.input_shape(kQuery).rank() == 3;
  a.batch = scores[0], a.q_heads = scores[1], a.kv_heads = keys[1];
  a.queries = scores[2], a.head = keys[3], a.v_head = values[3];
  a.past = has_cache(node) ? node.input_shape(kPastKey)[2] : 0;
  a.added = keys[2] - a.past;
  a.before = node.attribute(kAttentionLeft);
  a.after = node.attribute(kAttentionRight);
  if (node.attribute(kAttentionCausal)) a.after = 0;
  a.softcap = static_cast<double>(node.attribute(kAttentionSoftcap));
  const float* scale = node.find<float>("scale");
  a.scale = scale ? static_cast<double>(*scale) : a.head ? 1 / std::sqrt(static_cast<double>(a.head)) : 1;
  a.scores_output = node.attribute(kAttentionScoresOutput);
  return a;
}

}  // namespace minnow
