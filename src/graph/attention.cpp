// SPDX-License-Identifier: Apache-2.0
#include "graph/attention.h"

#include <cmath>

namespace minnow {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kUsedKeys };

int64_t heads_of(const NodeView& node, std::string_view attribute) {
  const int64_t heads = node.require<int64_t>(attribute);
  if (heads <= 0) node.fail("{} is {}, it should be positive", attribute, heads);
  return heads;
}

int64_t split(const NodeView& node, std::string_view name, int64_t width, int64_t heads) {
  if (width % heads != 0) node.fail("{} has {} columns, which {} heads cannot share", name, width, heads);
  return width / heads;
}

void expect(const NodeView& node, size_t input, std::string_view name, const Shape& shape) {
  if (node.input_shape(input) != shape) node.fail("{} should have shape {}, it has {}", name, shape, node.input_shape(input));
}

void check_mask(const NodeView& node, const AttentionGeometry& a) {
  const Shape &mask = node.input_shape(kMask), full = a.scores_shape();
  bool fits = mask.rank() >= 1 && mask.rank() <= 4 && mask.back() <= a.keys();  // missing last columns are masked out
  for (size_t i = 1; fits && i < mask.rank(); ++i) {
    const int64_t dim = mask[mask.rank() - 1 - i];
    fits = dim == 1 || dim == full[3 - i];
  }
  if (!fits) node.fail("the mask should have a shape that can be broadcast to {}, it has {}", full, mask);
}

}  // namespace

AttentionGeometry AttentionGeometry::of(const NodeView& node) {
  AttentionGeometry a;
  const Shape &q = node.input_shape(kQuery), &k = node.input_shape(kKey), &v = node.input_shape(kValue);
  if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank())
    node.fail("Q, K and V should all have rank 3 or all have rank 4, they have shapes {}, {} and {}", q, k, v);
  a.packed = q.rank() == 3;
  a.batch = q[0];
  if (a.packed) {
    a.q_heads = heads_of(node, "q_num_heads");
    a.kv_heads = heads_of(node, "kv_num_heads");
    a.queries = q[1], a.added = k[1];
    a.head = split(node, "Q", q[2], a.q_heads);
    a.v_head = split(node, "V", v[2], a.kv_heads);
    expect(node, kKey, "K", {a.batch, a.added, a.kv_heads * a.head});
    expect(node, kValue, "V", {a.batch, a.added, a.kv_heads * a.v_head});
  } else {
    a.q_heads = q[1], a.kv_heads = k[1];
    a.queries = q[2], a.added = k[2];
    a.head = q[3], a.v_head = v[3];
    expect(node, kKey, "K", {a.batch, a.kv_heads, a.added, a.head});
    expect(node, kValue, "V", {a.batch, a.kv_heads, a.added, a.v_head});
  }
  if (a.kv_heads == 0 ? a.q_heads != 0 : a.q_heads % a.kv_heads != 0)
    node.fail("{} query heads cannot share {} key and value heads", a.q_heads, a.kv_heads);
  if (node.has_input(kPastKey) != node.has_input(kPastValue)) node.fail("past_key and past_value should be given together");
  if (node.has_input(kPastKey)) {
    const Shape& past = node.input_shape(kPastKey);
    if (past.rank() != 4) node.fail("past_key should have rank 4, it has shape {}", past);
    a.past = past[2];
    expect(node, kPastKey, "past_key", {a.batch, a.kv_heads, a.past, a.head});
    expect(node, kPastValue, "past_value", {a.batch, a.kv_heads, a.past, a.v_head});
  }
  if (node.has_input(kMask)) check_mask(node, a);
  if (node.has_input(kUsedKeys)) expect(node, kUsedKeys, "nonpad_kv_seqlen", {a.batch});
  a.before = node.attribute(kAttentionLeft);
  a.after = node.attribute(kAttentionRight);
  if (a.before < -1 || a.after < -1)
    node.fail("left_window_size is {} and right_window_size {}, they should be -1 or more", a.before, a.after);
  if (node.attribute(kAttentionCausal)) a.after = 0;
  a.softcap = static_cast<double>(node.attribute(kAttentionSoftcap));
  const float* scale = node.find<float>("scale");
  a.scale = scale ? static_cast<double>(*scale) : a.head ? 1 / std::sqrt(static_cast<double>(a.head)) : 1;
  if (const int64_t* precision = node.find<int64_t>("softmax_precision"); precision) {
    const DType dtype = static_cast<DType>(*precision);
    if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::f16 && dtype != DType::bf16)
      node.fail("softmax_precision is {}, which is no floating dtype", *precision);
  }
  a.scores_output = node.attribute(kAttentionScoresOutput);
  if (a.scores_output < 0 || a.scores_output > 3) node.fail("qk_matmul_output_mode is {}, it should be 0 to 3", a.scores_output);
  return a;
}

}  // namespace minnow
