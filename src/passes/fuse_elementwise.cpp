// SPDX-License-Identifier: Apache-2.0
// Elementwise nodes whose results have a single user become one minnow.FusedElementwise together with the user: their tensors are never
// written to memory. Only for f32 and boolean tensors, for which backends have such a kernel, and for 8-bit integers that a
// DequantizeLinear at the beginning or a QuantizeLinear at the end turns from or into f32. A DequantizeLinear with several users is copied
// to each: bytes are a quarter of the memory of their numbers.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/quantization.h"

namespace minnow {
namespace {

constexpr std::string_view kFused = "minnow.FusedElementwise";
constexpr size_t kMostNodes = 48, kMostInputs = 16;

bool is_f32_or_boolean(const Value& value) {
  return value.type.kind == ValueType::Kind::tensor && (value.type.dtype == DType::f32 || value.type.dtype == DType::boolean);
}

class ElementwiseFuser {
 public:
  ElementwiseFuser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    if (is_body()) return;
    for (const Node& node : graph_.nodes())
      if (follows_from_constants(node)) constant_.insert(&node);
    // Backward, so that a group begins at its result.
    for (Node* node = graph_.last(); node;) {
      Node* fused = fuse(*node);
      node = (fused ? fused : node)->previous();
    }
  }

 private:
  bool is_body() const {
    if (!graph_.outer || graph_.outputs().size() != 1 || graph_.node_count() > kMostNodes) return false;
    for (const Node& node : graph_.outer->nodes())
      if (node.op() == kFused)
        if (const Subgraph* body = node.attributes.get<Subgraph>("body"); body && body->get() == &graph_) return true;
    return false;
  }

  bool follows_from_constants(const Node& node) const {
    for (size_t i = 0; i < node.input_count(); ++i)
      if (const Value* input = node.input(i); input && !input->constant() && !constant_.contains(input->producer())) return false;
    return node.input_count() > 0;
  }

  /// QuantizeLinear or DequantizeLinear of 8-bit integers, with one number each as scale and zero point.
  static bool is_quantization(const Node& node, std::string_view op) {
    if (node.op() != op || int_attribute(node, "precision", 0) != 0) return false;
    const auto q = Quantization::of(&node);
    if (!q || (q->dtype != DType::u8 && q->dtype != DType::i8) || !rank_of(*node.output(0)) || !rank_of(*node.input(0))) return false;
    return q->scale_number() && q->zero_point_number() && node.input(0)->type.kind == ValueType::Kind::tensor;
  }
  /// A QuantizeLinear is the last node of a group; a DequantizeLinear reads nothing that another node of the group makes.
  bool is_root(const Node& node) const {
    return is_fusible(node) || (is_quantization(node, "QuantizeLinear") && !constant_.contains(&node));
  }

  bool is_fusible(const Node& node) const {
    if (is_quantization(node, "DequantizeLinear")) return !constant_.contains(&node);
    if (constant_.contains(&node) || node.input_count() > kMostInputs + kMostNodes) return false;
    if (node.output_count() != 1 || !node.output(0) || !is_f32_or_boolean(*node.output(0)) || !rank_of(*node.output(0))) return false;
    if (const Operator* op = context_.find(node); !op || !op->fusible) return false;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      if (!input) continue;
      if (!is_f32_or_boolean(*input) || !rank_of(*input)) return false;
      if (node.op() == "Clip" && i > 0 && !scalar_of(input)) return false;
    }
    return true;
  }

  /// A number that can stand in the body: it must not give the result a higher rank.
  static bool is_number(const Value& value) { return value.constant() && value.constant()->elements() == 1; }
  static bool numbers_keep_rank(const Node& node) {
    size_t most = 0;
    for (size_t i = 0; i < node.input_count(); ++i)
      if (const Value* input = node.input(i); input && !is_number(*input)) most = std::max(most, *rank_of(*input));
    return most == *rank_of(*node.output(0));
  }

  bool joins(const Value& value, const Value& root, const std::vector<Node*>& group) const {
    Node* producer = value.producer();
    if (!producer || &producer->graph() != &graph_ || value.is_graph_output() || !same_shape(value, root)) return false;
    if (!is_fusible(*producer) || !numbers_keep_rank(*producer)) return false;
    if (is_quantization(*producer, "DequantizeLinear")) return true;
    for (const Use& use : value.uses())
      if (std::find(group.begin(), group.end(), use.node) == group.end()) return false;
    return true;
  }

  /// The number of distinct outside values of a group that are no numbers.
  static size_t input_count(const std::vector<Node*>& group) {
    std::vector<const Value*> inputs;
    for (const Node* node : group)
      for (size_t i = 0; i < node->input_count(); ++i) {
        const Value* input = node->input(i);
        if (!input || is_number(*input) || std::find(group.begin(), group.end(), input->producer()) != group.end()) continue;
        if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
      }
    return inputs.size();
  }

  std::vector<Node*> group_of(Node& root) const {
    std::vector<Node*> group{&root};
    for (bool grown = true; grown && group.size() < kMostNodes;) {
      grown = false;
      for (size_t k = 0; k < group.size() && group.size() < kMostNodes; ++k)
        for (size_t i = 0; i < group[k]->input_count(); ++i) {
          const Value* input = group[k]->input(i);
          if (!input || !input->producer() || group[k]->op() == "DequantizeLinear" ||
              std::find(group.begin(), group.end(), input->producer()) != group.end())
            continue;
          if (!joins(*input, *root.output(0), group)) continue;
          group.push_back(input->producer());
          if (input_count(group) > kMostInputs) {
            group.pop_back();
            continue;
          }
          grown = true;
        }
    }
    return group;
  }

  /// The node that took the place of a group with this result, or null.
  Node* fuse(Node& root) {
    if (!is_root(root) || !numbers_keep_rank(root)) return nullptr;
    std::vector<Node*> group = group_of(root);
    if (group.size() < 2) return nullptr;
    std::vector<Node*> ordered;
    for (Node* node = &root; ordered.size() < group.size(); node = node->previous())
      if (std::find(group.begin(), group.end(), node) != group.end()) ordered.push_back(node);
    std::reverse(ordered.begin(), ordered.end());

    auto body = std::make_shared<Graph>();
    std::vector<Value*> inputs;
    std::unordered_map<const Value*, Value*> inside;
    const auto inner = [&](Value* value) -> Value* {
      if (!value) return nullptr;
      Value*& known = inside[value];
      if (known) return known;
      if (is_number(*value)) {
        known = &body->add_constant(value->constant()->reshaped(Shape()), "c" + std::to_string(inside.size() - 1));
      } else {
        inputs.push_back(value);
        known = &body->add_input("x" + std::to_string(inputs.size() - 1), ValueType::tensor(value->type.dtype));
      }
      return known;
    };
    for (const Node* node : ordered) {
      std::vector<Value*> arguments;
      for (size_t i = 0; i < node->input_count(); ++i) arguments.push_back(inner(node->input(i)));
      const std::string output[] = {node == &root ? std::string("y") : "v" + std::to_string(inside.size())};
      Node& copy = body->add_node(node->op(), arguments, output, node->attributes, node->name());
      copy.output(0)->type = ValueType::tensor(node->output(0)->type.dtype);
      inside[node->output(0)] = copy.output(0);
    }
    if (inputs.empty() || inputs.size() > kMostInputs) return nullptr;
    body->add_output(*inside.at(root.output(0)));
    context_.changed("{} and {} elementwise nodes before it are one", label_of(root), group.size() - 1);
    Node& fused = replace(*root.output(0), kFused, inputs, {{"body", Subgraph(std::move(body))}}, root.name());
    remove_dead(root);
    return &fused;
  }

  Graph& graph_;
  PassContext& context_;
  // Nodes that depend only on constants: plans compute them while they pack weights.
  std::unordered_set<const Node*> constant_;
};

}  // namespace

void fuse_elementwise(Graph& graph, PassContext& context) { ElementwiseFuser(graph, context).run(); }

}  // namespace minnow
