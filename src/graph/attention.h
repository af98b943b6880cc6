// SPDX-License-Identifier: Apache-2.0
// The arithmetic of attention: which heads and positions meet, for the shape rule, the reference and schemes alike.
#pragma once
#include "graph/node_view.h"

namespace minnow {

inline constexpr Name kQuantizedAttention = "minnow.QuantizedAttention";
/// Its inputs behind the mask.
enum QuantizedAttentionInput : size_t {
  kQueryScale = 4,
  kQueryZero,
  kKeyScale,
  kKeyZero,
  kValueScale,
  kValueZero,
  kAttentionScale,
  kAttentionZero
};

/// The sizes and options of an Attention or minnow.QuantizedAttention node, checked against all its inputs.
struct AttentionGeometry {
  int64_t batch = 0, q_heads = 0, kv_heads = 0;
  int64_t queries = 0;          // length of the query sequence
  int64_t past = 0, added = 0;  // keys from the cache, keys of this run
  int64_t head = 0, v_head = 0;
  bool packed = false;  // rank 3: [batch, length, heads * head], else [batch, heads, length, head]
  // Query i stands at place p = first + i among the keys, where first is the number of keys in the cache, or what nonpad_kv_seqlen says
  // less the number of queries. It sees the keys [p - before, p + after]; a bound below 0 is none.
  int64_t before = -1, after = -1;
  double scale = 1, softcap = 0;
  int64_t scores_output = 0;  // what output 3 holds: the scores 0 as multiplied, 1 after the soft cap, 2 with the mask, 3 after softmax

  int64_t keys() const noexcept { return past + added; }
  int64_t group() const noexcept { return q_heads / kv_heads; }  // consecutive query heads that share a key and value head
  Shape output_shape() const { return packed ? Shape{batch, queries, q_heads * v_head} : Shape{batch, q_heads, queries, v_head}; }
  Shape key_shape() const { return {batch, kv_heads, keys(), head}; }
  Shape value_shape() const { return {batch, kv_heads, keys(), v_head}; }
  Shape scores_shape() const { return {batch, q_heads, queries, keys()}; }

  /// Throws InvalidModel where the inputs do not fit; asks for a cut where a shape is not known.
  static AttentionGeometry of(const NodeView& node);
};

/// The shape rule behind AttentionGeometry, which checks the shapes of all inputs: of the result, the present keys, the present values and
/// the scores.
std::array<Sizes, 4> attention_sizes(const NodeView& node);

inline constexpr Attribute<bool> kAttentionCausal{"is_causal", false, "a query sees the keys up to its own place alone"};
inline constexpr Attribute<int64_t> kAttentionLeft{"left_window_size", -1, "how many keys before its own place a query sees; -1: all"};
inline constexpr Attribute<int64_t> kAttentionRight{"right_window_size", -1, "how many keys behind its own place a query sees; -1: all"};
inline constexpr Attribute<float> kAttentionSoftcap{"softcap", 0, "scores are kept within this bound by a tanh; 0: they are not"};
inline constexpr Attribute<int64_t> kAttentionScoresOutput{
    "qk_matmul_output_mode", 0, "which scores the fourth output holds: 0 the products, 1 after softcap, 2 with the mask, 3 after softmax"};

}  // namespace minnow
