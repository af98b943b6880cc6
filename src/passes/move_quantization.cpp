// SPDX-License-Identifier: Apache-2.0
// Data stays quantized while it is only moved: DequantizeLinear moves behind nodes that only move data, QuantizeLinear moves before them,
// and pairs that cancel are removed.
#include <algorithm>

#include "base/numeric.h"
#include "passes/quantization.h"

namespace minnow {
namespace {

class QuantizationMover {
 public:
  QuantizationMover(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (!node.output(0) || !node.input(0)) continue;
      if (node.op() == "QuantizeLinear")
        cancel(node) || move_up(node);
      else if (node.op() == "Relu")
        drop_relu(node);
      else if (node.op() == "Concat")
        concat_moves(node);
      else if (is_moved(node) || pads_with_zeros(node) || (is_chosen(node) && quantized_behind(node)))
        move_down(node);
    }
    for (Node* node : replaced_) remove_dead(*node);
  }

 private:
  Elements elements_of(const Node& node) const {
    const Operator* op = context_.find(node);
    return op && !op->inputs.empty() && (op->inputs.back().arity != Arity::variadic || node.input_count() == 1) ? op->elements
                                                                                                                : Elements::computed;
  }
  /// The node puts elements of its first input elsewhere, whatever they are.
  bool is_moved(const Node& node) const { return moves_data(elements_of(node)); }
  /// The same for elements that are chosen by their order.
  bool is_chosen(const Node& node) const {
    return elements_of(node) == Elements::chosen && !(node.output(1) && !node.output(1)->is_unused());
  }
  bool takes(const Node& node, DType dtype) const { return contains(context_.find(node)->inputs[0].dtypes, dtype); }

  Node* dequantize(const Value* value) const {
    Node* node = made_by(value, "DequantizeLinear");
    return node && &node->graph() == &graph_ ? node : nullptr;
  }

  /// Dequantizing integers and quantizing them with the same parameters leaves them unchanged.
  bool cancel(Node& node) {
    const Node* before = dequantize(node.input(0));
    const auto in = Quantization::of(before), out = Quantization::of(&node);
    if (!in || !out || !in->same_as(*out) || !forward(*node.output(0), *before->input(0))) return false;
    context_.changed("removed {} and the DequantizeLinear before it", label_of(node));
    remove_dead(node);
    return true;
  }

  /// Numbers from a zero point that is the lowest number on are not negative.
  void drop_relu(Node& node) {
    const auto in = Quantization::of(dequantize(node.input(0)));
    if (!in || in->zero_point_number() != lowest_of(in->dtype) || !in->is_per_tensor()) return;
    if (in->scale_number().value_or(-1) < 0 || !forward(*node.output(0), *node.input(0))) return;
    context_.changed("removed {}: nothing before it is negative", label_of(node));
    remove_dead(node);
  }

  /// True if every user quantizes the result as the input was quantized.
  bool quantized_behind(const Node& node) const {
    const auto in = Quantization::of(dequantize(node.input(0)));
    const Value& y = *node.output(0);
    return in && !y.is_graph_output() && std::all_of(y.uses().begin(), y.uses().end(), [&](const Use& use) {
             const auto out = use.input == 0 && use.node->op() == "QuantizeLinear" ? Quantization::of(use.node) : std::nullopt;
             return out && out->same_as(*in);
           });
  }

  /// The axis of a scale after it moves with the data; empty if it cannot.
  static std::optional<int64_t> axis_behind(const Node& node, const Quantization& q) {
    if (q.is_per_tensor()) return q.axis;
    if (node.op() != "Transpose") return {};
    const auto rank = rank_of(*node.input(0));
    const auto axis = rank ? positive_axis(q.axis, *rank) : std::nullopt;
    if (!axis) return {};
    const Ints* perm = ints_attribute(node, "perm");
    for (size_t i = 0; i < *rank; ++i)
      if ((perm && i < perm->size() ? (*perm)[i] : static_cast<int64_t>(*rank - 1 - i)) == static_cast<int64_t>(*axis))
        return static_cast<int64_t>(i);
    return {};
  }

  /// move(dequantize(x)) becomes dequantize(move(x)).
  void move_down(Node& node) {
    const Node* before = dequantize(node.input(0));
    const auto q = Quantization::of(before);
    const auto axis = q && takes(node, q->dtype) ? axis_behind(node, *q) : std::nullopt;
    if (!axis || node.output(0)->is_unused()) return;
    std::vector<Value*> inputs{before->input(0)};
    for (size_t i = 1; i < node.input_count(); ++i) inputs.push_back(node.input(i));
    if (pads_with_zeros(node)) {
      if (!q->is_per_tensor() || !q->zero_point_number()) return;
      inputs.resize(std::max<size_t>(inputs.size(), 3), nullptr);
      inputs[2] = &q->zero_point_value(graph_);
    }
    move_behind(node, inputs, *q, *axis);
  }

  /// Concat of tensors that are quantized alike.
  void concat_moves(Node& node) {
    std::vector<Value*> inputs;
    std::optional<Quantization> first;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Node* before = dequantize(node.input(i));
      const auto q = Quantization::of(before);
      if (!q || !q->is_per_tensor() || (first && !first->same_as(*q))) return;
      if (!first) first = q;
      inputs.push_back(before->input(0));
    }
    if (first && !node.output(0)->is_unused()) move_behind(node, inputs, *first, first->axis);
  }

  void move_behind(Node& node, const std::vector<Value*>& inputs, const Quantization& q, int64_t axis) {
    context_.changed("{} moves quantized data", label_of(node));
    std::vector<std::string> names;
    for (size_t i = 0; i < node.output_count(); ++i) names.push_back(node.output(i) ? graph_.fresh_name(node.op()) : std::string());
    Node& moved = graph_.add_node(node.op(), inputs, names, node.attributes, node.name(), &node);
    for (size_t i = 0; i < node.output_count(); ++i) {
      Value* output = node.output(i);
      if (!output) continue;
      moved.output(i)->type = output->type;
      moved.output(i)->type.dtype = q.dtype;
      const std::string name[] = {graph_.fresh_name("DequantizeLinear")};
      Attributes attributes;
      if (!q.is_per_tensor()) attributes.set("axis", axis);
      Node& dequantized = graph_.add_node("DequantizeLinear", std::vector<Value*>{moved.output(i), q.scale, q.zero_point}, name,
                                          std::move(attributes), {}, &node);
      take_place_of(*output, *dequantized.output(0));
    }
    replaced_.push_back(&node);
  }

  /// quantize(move(x)) becomes move(quantize(x)), so that the producer of x can quantize its result.
  bool move_up(Node& node) {
    Node* mover = node.input(0)->producer();
    const auto q = Quantization::of(&node);
    if (!q || !q->is_per_tensor() || !mover || sole_user(*node.input(0)) != &node) return false;
    if (!is_moved(*mover) && !is_chosen(*mover)) return false;
    // Less may be quantized behind a copy of some.
    if (elements_of(*mover) == Elements::copied || !takes(*mover, q->dtype)) return false;
    Value* x = mover->input(0);
    const Node* maker = x ? x->producer() : nullptr;
    if (!maker || sole_user(*x) != mover || q->scale_number().value_or(-1) <= 0) return false;
    const Operator* maker_op = context_.find(*maker);
    if (!maker_op || (!maker_op->quantizable && (elements_of(*maker) == Elements::computed || elements_of(*maker) == Elements::copied)))
      return false;
    context_.changed("{} goes before {}", label_of(node), label_of(*mover));
    const std::string name[] = {graph_.fresh_name("QuantizeLinear")};
    std::vector<Value*> inputs{x};
    for (size_t i = 1; i < node.input_count(); ++i) inputs.push_back(node.input(i));
    Node& earlier = graph_.add_node("QuantizeLinear", inputs, name, node.attributes, node.name(), mover);
    earlier.output(0)->type = x->type;
    earlier.output(0)->type.dtype = q->dtype;
    inputs = {earlier.output(0)};
    for (size_t i = 1; i < mover->input_count(); ++i) inputs.push_back(mover->input(i));
    replace(*node.output(0), mover->op(), inputs, mover->attributes, mover->name());
    remove_dead(node);
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<Node*> replaced_;
};

}  // namespace

void move_quantization(Graph& graph, PassContext& context) { QuantizationMover(graph, context).run(); }

}  // namespace minnow
