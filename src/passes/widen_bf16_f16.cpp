// SPDX-License-Identifier: Apache-2.0
// Graphs of f16 or bf16 compute in f32, like the kernels: 16 bits remain at the inputs, the outputs and in stored weights. Results become
// more exact, because values between two operators are no longer rounded.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/storage_dtype.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

bool is_16_bit_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
bool is_16_bit_float(const Value* value) {
  return value && value->type.kind == ValueType::Kind::tensor && is_16_bit_float(value->type.dtype);
}

/// The Cast that makes `value` of f32; null if it is another node.
Node* narrowing(const Value* value) {
  Node* cast = made_by(value, "Cast");
  return cast && is_16_bit_float(value) && cast->input(0)->type.dtype == DType::f32 ? cast : nullptr;
}
bool is_widening(const Node& node) {
  return node.op() == "Cast" && is_16_bit_float(node.input(0)) && node.output(0) && node.output(0)->type.dtype == DType::f32;
}

/// True if the node takes f32 for all its inputs of bf16 or f16, and then makes f32 in place of them.
bool may_compute_in_f32(const Node& node, const PassContext& context) {
  const Operator* op = context.find(node);
  if (!op || !computes_in_16_bits(*op)) return false;
  bool narrow = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.input(i)) continue;
    if (node.input(i)->type.kind != ValueType::Kind::tensor || node.input(i)->type.dtype == DType::undefined) return false;
    const InputSpec& spec = op->inputs[std::min(i, op->inputs.size() - 1)];
    if (!is_16_bit_float(node.input(i))) continue;
    if (!contains(spec.dtypes, DType::f32)) return false;
    narrow = true;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    const OutputSpec& spec = op->outputs[std::min(i, op->outputs.size() - 1)];
    if (is_16_bit_float(node.output(i)) && spec.dtype.kind != DTypeRule::Kind::same_as) return false;
  }
  return narrow;
}

/// True if the node takes elements of a constant (a row of a table): they are widened, and the constant keeps its 16 bits.
bool takes_from_constant(const Node& node, const PassContext& context) {
  return context.find(node)->elements == Elements::copied && node.input(0) && node.input(0)->constant();
}

/// The dtype of 16 bits in which all of a graph's nodes compute; undefined: some compute in f32 or f64, or have subgraphs. Casts from
/// inputs and to outputs do not count.
DType only_dtype(const Graph& graph) {
  DType half = DType::undefined;
  if (graph.outer) return half;
  for (const Node& node : graph.nodes()) {
    for (const auto& [name, attribute] : node.attributes)
      if (std::holds_alternative<Subgraph>(attribute)) return DType::undefined;
    for (size_t i = 0; i < node.output_count(); ++i) {
      const Value* output = node.output(i);
      if (!output) continue;
      const ValueType& type = output->type;
      if (type.kind != ValueType::Kind::tensor || type.dtype == DType::undefined) return DType::undefined;
      if (is_16_bit_float(type.dtype)) {
        if (half != DType::undefined && type.dtype != half) return DType::undefined;
        half = type.dtype;
      } else if (is_float(type.dtype) && !(is_widening(node) && output->uses().empty())) {
        return DType::undefined;
      }
    }
    for (size_t i = 0; i < node.input_count(); ++i)
      if (const Value* input = node.input(i);
          input && input->is_input() && node.op() != "Cast" && is_float(input->type.dtype) && !is_16_bit_float(input))
        return DType::undefined;
  }
  return half;
}

class Widening {
 public:
  Widening(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    bool worthwhile = false;  // rounding as it goes is all that other operators would do anyway
    for (Node& node : graph_.nodes()) {
      if (!may_compute_in_f32(node, context_) || takes_from_constant(node, context_)) continue;
      nodes_.insert(&node);
      worthwhile = worthwhile || context_.find(node)->operations;
    }
    if (!worthwhile) return;
    if (const DType half = only_dtype(graph_); half != DType::undefined)
      graph_.metadata.properties[kStorageDtypeKey] = half == DType::f16 ? "f16" : "bf16";
    for (Node* node = graph_.first(); node;) {
      Node* next = node->next();
      if (nodes_.contains(node)) widen(*node);
      node = next;
    }
    // Users that widen the value again read the original. remove_dead_code removes Casts without users.
    for (Node* cast : casts_) {
      const std::vector<Use> uses(cast->output(0)->uses().begin(), cast->output(0)->uses().end());
      for (const Use& use : uses)
        if (&use.node->graph() == &graph_ && is_widening(*use.node)) forward(*use.node->output(0), *cast->input(0));
    }
    context_.changed("{} operators compute in f32", nodes_.size());
  }

 private:
  Value& wide(Value& value) {
    if (const Node* cast = narrowing(&value)) return *cast->input(0);
    Value*& found = wide_[&value];
    if (!found) {
      Node* before = value.producer() && &value.graph() == &graph_ ? value.producer()->next() : graph_.first();
      found =
          graph_.add_node("Cast", {&value}, 1, {{"to", static_cast<int64_t>(DType::f32)}}, graph_.fresh_name("widen"), before).output(0);
      found->type = value.type;
      found->type.dtype = DType::f32;
    }
    return *found;
  }

  void widen(Node& node) {
    for (size_t i = 0; i < node.input_count(); ++i)
      if (is_16_bit_float(node.input(i))) node.set_input(i, &wide(*node.input(i)));
    for (size_t i = 0; i < node.output_count(); ++i)
      if (is_16_bit_float(node.output(i))) widen(node, *node.output(i));
  }

  // The output becomes f32; users that want 16 bits get a Cast, under its name.
  void widen(Node& node, Value& output) {
    const DType dtype = output.type.dtype;
    Node& cast = graph_.add_node("Cast", {&output}, 1, {{"to", static_cast<int64_t>(dtype)}}, graph_.fresh_name("narrow"), node.next());
    cast.output(0)->type = output.type;
    take_place_of(output, *cast.output(0));
    cast.set_input(0, &output);
    output.type.dtype = DType::f32;
    casts_.push_back(&cast);
  }

  Graph& graph_;
  PassContext& context_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_map<const Value*, Value*> wide_;
  std::vector<Node*> casts_;
};

}  // namespace

void widen_bf16_f16(Graph& graph, PassContext& context) { Widening(graph, context).run(); }

}  // namespace minnow
