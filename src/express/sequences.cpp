// SPDX-License-Identifier: Apache-2.0
// Gradients through sequences and optionals: nodes that read a tensor of a sequence become nodes that read the tensor itself. The forward
// pass then keeps no sequence either, and shapes behind it are known.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "express/backward.h"
#include "express/evaluate.h"
#include "express/graph.h"
#include "express/infer.h"
#include "express/lower.h"

namespace minnow::express {

#if MINNOW_GRADIENTS

namespace {

using Items = std::vector<LazyValue>;

class Sequences {
 public:
  /// True if a node was changed.
  bool resolve(std::span<const LazyValue> roots) {
    bool any = false, has_steps = false;
    walk(roots, [&](const std::shared_ptr<LazyNode>& node) {
      for (const Output& output : node->outputs)
        any |= output.kind == ValueInfo::Kind::sequence || output.kind == ValueInfo::Kind::optional;
      has_steps |= node->kind == LazyNode::Kind::step;
    });
    if (!any || has_steps) return false;  // steps have an order that nodes made now would disturb
    walk(roots, [&](const std::shared_ptr<LazyNode>& node) { look_at(node); });
    return !changed_.empty();
  }

 private:
  void look_at(const std::shared_ptr<LazyNode>& node) {
    for (uint32_t i = 0; i < node->outputs.size(); ++i)
      if (const ValueInfo::Kind kind = node->outputs[i].kind; kind == ValueInfo::Kind::sequence || kind == ValueInfo::Kind::optional)
        if (Items items; find(node, i, items)) known_[{node, i}] = std::move(items);
    if (node->kind != LazyNode::Kind::call) return;
    const bool resolved = read_tensors(*node);
    bool after = resolved;
    uint64_t last = 0;
    for (const LazyValue& input : node->inputs)
      if (input) after |= changed_.contains(input.node.get()), last = std::max(last, input.node->id);
    if (!after) return;
    // Shapes that were open may be known now. Numbers of nodes grow from inputs to users.
    if (!resolved && !node->is_computed() && !node->outputs[0].shape_known) infer(*node), node->open = nullptr;
    if (last > node->id) node->id = LazyNode::next_id.fetch_add(1, std::memory_order_relaxed);
    changed_.insert(node.get());
  }

  const Items* known(const LazyValue& value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? nullptr : &found->second;
  }

  /// An input that is one integer, or several, before the run; empty otherwise.
  static Tensor integers(const LazyNode& node, size_t i) {
    const LazyValue& value = node.inputs[i];
    if (value.node->fed_by_others || value.node->keeps_inputs) return {};
    const Tensor& given = tensor_of(value);
    return given.dtype() == DType::i64 ? given : tensor_of(cast(value, DType::i64));
  }

  static bool has(const LazyNode& node, size_t i) { return i < node.inputs.size() && node.inputs[i]; }

  /// The place that input i names; `otherwise` if it is absent.
  static bool place(const LazyNode& node, size_t i, size_t count, size_t otherwise, size_t& found) {
    found = otherwise;
    if (!has(node, i)) return true;
    const Tensor given = integers(node, i);
    if (!given || given.elements() != 1) return false;
    const int64_t number = *given.data<int64_t>();
    found = static_cast<size_t>(number < 0 ? number + static_cast<int64_t>(count) : number);
    return true;
  }

  bool find(const std::shared_ptr<LazyNode>& node, uint32_t output, Items& items) {
    if (node->outputs[output].datum && !node->keeps_inputs && !node->fed_by_others) {
      for (const Datum& item : node->outputs[output].datum->items) items.push_back(constant_value(item.tensor));
      return node->outputs[output].datum->kind == Datum::Kind::sequence;
    }
    if (node->kind != LazyNode::Kind::call) return false;
    const std::string_view op = node->op->name;
    if (op == "SequenceEmpty") return true;
    if (node->inputs.empty()) return false;  // computed, and its expression is gone
    if (op == "SequenceMap") return map(node, output, items);
    if (op == "SplitToSequence") return split(*node, items);
    const Items* first = has(*node, 0) ? known(node->inputs[0]) : nullptr;
    if (op == "SequenceConstruct" || (op == "Optional" && has(*node, 0) && !first)) {
      items = node->inputs;
      return op == "SequenceConstruct" || output_of(items[0]).kind == ValueInfo::Kind::tensor;
    }
    if (!first) return false;
    items = *first;
    if (op == "Identity" || op == "Optional" || op == "OptionalGetElement") return true;
    const bool inserts = op == "SequenceInsert";
    if (!inserts && op != "SequenceErase") return false;
    size_t at = 0;
    if (!place(*node, inserts ? 2 : 1, items.size(), items.size() - !inserts, at) || at >= items.size() + inserts) return false;
    if (inserts)
      items.insert(items.begin() + static_cast<ptrdiff_t>(at), node->inputs[1]);
    else
      items.erase(items.begin() + static_cast<ptrdiff_t>(at));
    return true;
  }

  static bool split(const LazyNode& node, Items& items) {
    const int64_t* given = node.attributes.get<int64_t>("axis");
    const int64_t* keeps = node.attributes.get<int64_t>("keepdims");
    const int64_t axis = given ? *given : 0;
    const Tensor parts = has(node, 1) ? integers(node, 1) : Tensor::scalar_i64(1);
    if (!parts) return false;
    Ints sizes(parts.data<int64_t>(), parts.data<int64_t>() + parts.elements());
    if (parts.shape().rank() == 0) {
      const Shape* shape = known_shape(node.inputs[0]);
      if (!shape || sizes[0] <= 0) return false;
      const int64_t part = sizes[0];
      sizes.clear();
      for (int64_t rest = (*shape)[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape->rank()) : axis)]; rest > 0;
           rest -= part)
        sizes.push_back(std::min(part, rest));
    }
    if (sizes.empty()) return true;
    CallRequest request;
    request.op = &find_operator("Split");
    request.inputs = {node.inputs[0], ints_value(sizes)};
    request.formal_inputs = 2;
    request.attributes.set("axis", axis);
    request.wanted.assign(sizes.size(), true);
    const std::shared_ptr<LazyNode> made = call(std::move(request));
    const bool squeezes = !has(node, 1) && keeps && *keeps == 0;
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      items.push_back({made, i});
      if (squeezes) items.back() = call("Squeeze", {items.back(), ints_value({axis})});
    }
    return true;
  }

  /// The body once for each tensor; the nodes are made for the first output that is asked for.
  bool map(const std::shared_ptr<LazyNode>& node, uint32_t output, Items& items) {
    const auto found = maps_.find(node.get());
    if (found == maps_.end()) {
      std::vector<Items>& results = maps_[node.get()];
      const Items* first = known(node->inputs[0]);
      if (!first) return false;
      for (size_t k = 0; k < first->size(); ++k) {
        Items given = node->inputs;
        for (size_t i = 0; i < node->formal_inputs; ++i)
          if (output_of(given[i]).kind == ValueInfo::Kind::sequence) {
            const Items* list = known(given[i]);
            if (!list || list->size() != first->size()) return results.clear(), false;
            given[i] = (*list)[k];
          }
        results.push_back(instantiate(*node->closures[0].graph, node->operators, given));
      }
      return map(node, output, items);
    }
    for (const Items& result : found->second) items.push_back(result[output]);
    return known(node->inputs[0]) && items.size() == known(node->inputs[0])->size();
  }

  /// Replaces what a node reads of a sequence or an optional.
  bool read_tensors(LazyNode& node) {
    const std::string_view op = node.op->name;
    const bool joins = op == "ConcatFromSequence";
    if ((!joins && op != "SequenceAt" && op != "OptionalGetElement") || node.outputs[0].kind != ValueInfo::Kind::tensor) return false;
    if (node.inputs.empty()) return false;
    const Items* items = known(node.inputs[0]);
    size_t at = 0;
    if (op == "OptionalGetElement" && output_of(node.inputs[0]).kind == ValueInfo::Kind::tensor)
      return become(node, "Identity", {node.inputs[0]}, {});
    if (!items || items->empty()) return false;
    if (!joins) {
      if (!place(node, 1, items->size(), 0, at) || at >= items->size()) return false;
      return become(node, "Identity", {(*items)[at]}, {});
    }
    Items parts = *items;
    const int64_t axis = *node.attributes.get<int64_t>("axis");
    const int64_t* new_axis = node.attributes.get<int64_t>("new_axis");
    if (new_axis && *new_axis)
      for (LazyValue& part : parts) part = call("Unsqueeze", {part, ints_value({axis})});
    Attributes attributes;
    attributes.set("axis", axis);
    return become(node, "Concat", std::move(parts), std::move(attributes));
  }

  static bool become(LazyNode& node, std::string_view op, Items inputs, Attributes attributes) {
    node.op = &find_operator(op);
    node.formal_inputs = inputs.size();
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.form = node.attributes.size() ? form_of(node.attributes, node.closures) : std::string();
    for (const LazyValue& input : node.inputs)
      if (!input.node->is_computed()) node.pending = std::min(node.pending + input.node->pending, kMostPending);
    infer(node);
    node.open = nullptr;
    return true;
  }

  std::unordered_map<LazyValue, Items, HashOfValue> known_;
  std::unordered_map<const LazyNode*, std::vector<Items>> maps_;  // the results for each tensor
  std::unordered_set<const LazyNode*> changed_;
};

}  // namespace

void resolve_sequences(std::span<const LazyValue> roots) {
  while (Sequences().resolve(roots)) {}  // bodies of SequenceMap may have sequences of their own
}

#endif

}  // namespace minnow::express
