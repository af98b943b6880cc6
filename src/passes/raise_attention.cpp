// SPDX-License-Identifier: Apache-2.0
// softmax(scale Q K^T + mask) V becomes Attention. If Reshape and Transpose split the heads from one dimension and join them again,
// Attention takes over these too. If Q, K and V are dequantized, it becomes minnow.QuantizedAttention. Runs after products have absorbed
// their scales and biases.
#include <algorithm>

#include "graph/attention.h"
#include "passes/quantized_product.h"

namespace minnow {
namespace {

bool is_product(const Node* node) { return node && (node->op() == "MatMul" || node->op() == "minnow.FusedMatMul"); }

bool is_transpose(const Node* node, const Ints& perm) {
  const Ints* own = node && node->op() == "Transpose" ? ints_attribute(*node, "perm") : nullptr;
  return own && *own == perm;
}

class AttentionRaiser {
 public:
  AttentionRaiser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes())
      if (is_product(&node))
        raise(node);
      else if (node.op() == "Attention")
        quantize(node);
    replaced_.remove();
  }

 private:
  struct Parts {
    Value *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
    bool keys_first = false;  // k is [batch, heads, keys, width], else the last two are swapped
    float scale = 1;
  };

  static bool is_plain_product(const Node& node) {
    return node.op() == "MatMul" ||
           (real_attribute(node, "alpha", 1) == 1 && int_attribute(node, "transA", 0) == 0 && int_attribute(node, "transB", 0) == 0 &&
            !node.input(2) && !node.input(3) && text_attribute(node, "activation").empty());
  }

  /// True if a tensor added to the scores has the shape of a mask, with all columns.
  static bool is_mask(const Value& mask, const Value& scores) {
    const auto rank = rank_of(mask);
    if (!rank || *rank < 1 || *rank > 4 || !same_dtype(mask, scores)) return false;
    for (size_t i = 0; i < *rank; ++i) {
      const Dim &own = (*mask.type.dims)[*rank - 1 - i], &full = (*scores.type.dims)[3 - i];
      const bool same = own.known() ? own.size == full.size : !own.symbol.empty() && own == full;
      if (!same && !(i > 0 && own.known() && own.size == 1)) return false;
    }
    return true;
  }

  std::optional<Parts> parts_of(const Node& last) const {
    Parts parts;
    const Node* softmax = made_by(last.input(0), "Softmax");
    if (!is_plain_product(last) || !softmax || sole_user(*softmax->output(0)) != &last) return {};
    parts.v = last.input(1);
    const Value* scores = softmax->input(0);
    const int64_t axis = int_attribute(*softmax, "axis", -1);
    if (rank_of(*scores) != size_t{4} || rank_of(*parts.v) != size_t{4} || (axis != -1 && axis != 3)) return {};
    if (sole_user(*scores) != softmax) return {};
    if (const Node* add = made_by(scores, "Add")) {
      size_t side = is_product(add->input(0)->producer()) && is_mask(*add->input(1), *scores) ? 0 : 1;
      parts.mask = add->input(1 - side);
      scores = add->input(side);
      if (!is_mask(*parts.mask, *add->output(0)) || sole_user(*scores) != add || !same_shape(*scores, *add->output(0))) return {};
    }
    const Node* product = scores->producer();
    if (!is_product(product) || &product->graph() != &graph_) return {};
    if (int_attribute(*product, "transA", 0) != 0 || !text_attribute(*product, "activation").empty()) return {};
    parts.scale = real_attribute(*product, "alpha", 1);
    for (size_t i : {2, 3})
      if (Value* added = product->input(i)) {
        if (parts.mask || !is_mask(*added, *scores)) return {};
        parts.mask = added;
      }
    parts.q = product->input(0), parts.k = product->input(1);
    parts.keys_first = int_attribute(*product, "transB", 0) != 0;
    for (const Value* value : {parts.q, parts.k, parts.v})
      if (rank_of(*value) != size_t{4} || value->type.dtype != DType::f32) return {};
    // Batch and heads must be the same three times: nothing is broadcast.
    for (const Value* value : {parts.k, parts.v})
      for (size_t i : {0, 1})
        if ((*value->type.dims)[i] != (*parts.q->type.dims)[i] ||
            (!(*value->type.dims)[i].known() && (*value->type.dims)[i].symbol.empty()))
          return {};
    return parts;
  }

  /// The value that was split into heads: [batch, length, heads * width], or, where `length_first`, [length, batch, heads * width].
  struct Joined {
    Value* value = nullptr;
    bool length_first = false;
  };
  static Joined joined_heads(const Value& value) {
    const Node* turn = value.producer();
    const bool length_first = is_transpose(turn, {1, 2, 0, 3});
    if (!length_first && !is_transpose(turn, {0, 2, 1, 3})) return {};
    const Node* split = made_by(turn->input(0), "Reshape");
    Value* joined = split ? split->input(0) : nullptr;
    return joined && are_joined(*turn->input(0), *joined) ? Joined{joined, length_first} : Joined{};
  }
  /// True if `joined` is `heads` with its last two dimensions made one.
  static bool are_joined(const Value& heads, const Value& joined) {
    if (rank_of(joined) != size_t{3}) return false;
    const auto count = dim_of(heads, 2), width = dim_of(heads, 3), both = dim_of(joined, 2);
    if (!count || !width || both != *count * *width) return false;
    return std::equal(heads.type.dims->begin(), heads.type.dims->begin() + 2, joined.type.dims->begin());
  }

  /// The node that joins the heads of an attention's result, if it is the only user. `flat`: it also merges length and batch.
  struct Join {
    Node* node = nullptr;
    bool length_first = false, flat = false;
  };
  static Join joins_heads(const Value& result) {
    Node* turn = sole_user(result);
    const bool length_first = is_transpose(turn, {2, 0, 1, 3});
    if (!length_first && !is_transpose(turn, {0, 2, 1, 3})) return {};
    const Value& turned = *turn->output(0);
    Node* join = sole_user(turned);
    if (!join || join->op() != "Reshape" || join->input(0) != &turned) return {};
    if (are_joined(turned, *join->output(0))) return {join, length_first, false};
    const auto count = dim_of(turned, 2), width = dim_of(turned, 3);
    if (rank_of(*join->output(0)) != size_t{2} || !count || !width || dim_of(*join->output(0), 1) != *count * *width) return {};
    return {join, length_first, true};
  }

  /// [batch, length, width] from [length, batch, width], or the other way round.
  Value* turned(Value* value, Node& before) {
    Node& node = graph_.add_node("Transpose", {value}, 1, {{"perm", Ints{1, 0, 2}}}, {}, &before);
    infer_node(context_, node);
    return node.output(0);
  }

  Value* with_keys_first(Value& k, Node& before, Value*& made) {
    Node* maker = k.producer();
    const Ints* perm = maker && maker->op() == "Transpose" ? ints_attribute(*maker, "perm") : nullptr;
    Value* from = perm && perm->size() == 4 ? maker->input(0) : &k;
    Ints order = from == &k ? Ints{0, 1, 3, 2} : Ints{(*perm)[0], (*perm)[1], (*perm)[3], (*perm)[2]};
    if (order == Ints{0, 1, 2, 3}) return from;
    Node& turned = graph_.add_node("Transpose", {from}, 1, {{"perm", order}}, {}, &before);
    infer_node(context_, turned);
    return made = turned.output(0);
  }

  /// How a tensor of bytes is quantized, by constants.
  static std::optional<Quantization> bytes(const Node* node) {
    auto q = Quantization::of(node);
    const bool fits = q && is_byte(q->dtype) && q->is_per_tensor() && q->scale->constant() && q->has_positive_scale() &&
                      q->zero_point_number() && !node->input(0)->constant();
    return fits ? q : std::nullopt;
  }

  /// If all factors are dequantized, they become their bytes. Returns the scales and zero points, and those of the result, which becomes
  /// the quantized one; nothing for factors in f32.
  std::vector<Value*> take_bytes(Parts& parts, Value*& result) {
    std::vector<Value*> numbers;
    for (Value** value : {&parts.q, &parts.k, &parts.v}) {
      const auto q = bytes(made_by(*value, "DequantizeLinear"));
      if (!q || !context_.operators().find(kQuantizedAttention)) return {};
      numbers.insert(numbers.end(), {q->scale, &q->zero_point_value(graph_)});
    }
    for (Value** value : {&parts.q, &parts.k, &parts.v}) *value = (*value)->producer()->input(0);
    Node* const user = sole_user(*result);
    const auto y = user && user->op() == "QuantizeLinear" && user->input(0) == result ? bytes(user) : std::nullopt;
    if (!y) return numbers;
    numbers.insert(numbers.end(), {y->scale, &y->zero_point_value(graph_)});
    result = user->output(0);
    return numbers;
  }

  /// An Attention of dequantized tensors.
  void quantize(Node& node) {
    if (!refusal_of_quantized_attention(node).empty()) return;
    Parts parts;
    parts.q = node.input(0), parts.k = node.input(1), parts.v = node.input(2);
    Value* result = node.output(0);
    const std::vector<Value*> numbers = take_bytes(parts, result);
    if (numbers.empty()) return;
    std::vector<Value*> inputs = {parts.q, parts.k, parts.v, node.input(3)};
    inputs.insert(inputs.end(), numbers.begin(), numbers.end());
    Attributes attributes = node.attributes;
    for (const std::string_view name : {"softcap", "qk_matmul_output_mode"}) attributes.remove(name);
    context_.changed("{} and what stands around it compute with integers", label_of(node));
    Node& before = *result->producer();
    replace(*result, kQuantizedAttention, inputs, std::move(attributes), node.name());
    replaced_.add(before);
  }

  void raise(Node& last) {
    const auto found = parts_of(last);
    if (!found || !context_.operators().find("Attention")) return;
    Parts parts = *found;
    Value* result = last.output(0);
    const std::vector<Value*> numbers = take_bytes(parts, result);
    const std::string_view op = numbers.empty() ? "Attention" : kQuantizedAttention;
    Value* made = nullptr;  // keys that had to be turned
    if (!parts.keys_first) parts.k = with_keys_first(*parts.k, last, made);
    Attributes attributes{{"scale", parts.scale}};
    const auto heads = dim_of(*parts.q, 1);
    const Join join = joins_heads(*result);
    const Joined q = joined_heads(*parts.q), k = joined_heads(*parts.k), v = joined_heads(*parts.v);
    context_.changed("{} and what makes its factors are Attention", label_of(last));
    if (heads && join.node && q.value && k.value && v.value) {
      attributes.set("q_num_heads", *heads);
      attributes.set("kv_num_heads", *heads);
      Node& root = *join.node;
      std::vector<Value*> inputs;
      for (const Joined& each : {q, k, v}) inputs.push_back(each.length_first ? turned(each.value, root) : each.value);
      inputs.push_back(parts.mask);
      inputs.insert(inputs.end(), numbers.begin(), numbers.end());
      if (!join.length_first && !join.flat) {
        replace(*root.output(0), op, inputs, std::move(attributes), last.name());
      } else {
        const std::string name[] = {graph_.fresh_name(last.output(0)->name())};
        Node& node = graph_.add_node(op, inputs, name, std::move(attributes), last.name(), &root);
        infer_node(context_, node);
        Value* made_result = node.output(0);
        if (join.length_first) made_result = turned(made_result, root);
        if (join.flat)
          replace(*root.output(0), "Reshape", {made_result, root.input(1)}, root.attributes);
        else
          take_place_of(*root.output(0), *made_result);
      }
      replaced_.add(root);
    } else {
      std::vector<Value*> inputs = {parts.q, parts.k, parts.v, parts.mask};
      inputs.insert(inputs.end(), numbers.begin(), numbers.end());
      Node& before = *result->producer();
      replace(*result, op, inputs, std::move(attributes), last.name());
      replaced_.add(before);
    }
    if (made && made->is_unused()) remove_dead(*made->producer());  // the heads were joined
  }

  Graph& graph_;
  PassContext& context_;
  DeadNodes replaced_;
};

}  // namespace

void raise_attention(Graph& graph, PassContext& context) { AttentionRaiser(graph, context).run(); }

}  // namespace minnow
