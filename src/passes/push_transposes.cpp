// SPDX-License-Identifier: Apache-2.0
// Successive Transposes become one, or none. Then islands are grown from each Transpose: nodes that compute the same on permuted tensors.
// An island is permuted as a whole if that leaves less to transpose at its borders. Networks written for NHWC images, with a pair of
// Transposes around every convolution, are typical.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/permute.h"

namespace minnow {
namespace {

/// The cost of a Transpose of `source`: elements moved, and one for the node.
double cost_of(const Value& source, const Permutation& perm) {
  if (is_identity(perm)) return 0;
  if (moves_nothing(source, perm)) return 1;
  double elements = 1;
  constexpr double kOpenDimension = 16;
  for (const Dim& dim : *source.type.dims) elements *= dim.known() ? static_cast<double>(dim.size) : kOpenDimension;
  return elements + 1;
}

ValueType permuted_type(const ValueType& type, const Permutation& perm) {  // of Transpose(value, perm)
  ValueType result = type;
  for (size_t i = 0; i < perm.size(); ++i) (*result.dims)[i] = (*type.dims)[static_cast<size_t>(perm[i])];
  return result;
}

class Island {
 public:
  Island(PassContext& context, Graph& graph, bool both_ways, size_t most) : context_(context), graph_(graph), up_(both_ways), most_(most) {}

  /// Grows the island from a value that is a Transpose of another by `perm`, along all nodes that can work on permuted tensors. Start from
  /// the output of a Transpose or, with the inverse, from its input.
  void grow(Value& seed, const Permutation& perm) {
    want(seed, perm);
    while (!pending_.empty()) {
      Value& value = *pending_.back();
      pending_.pop_back();
      const Permutation own = wanted_.at(&value);
      Node* maker = value.producer();
      if (maker && up_ && maker->op() != "Transpose" && !nodes_.contains(maker)) add(*maker, permuted_by_output(context_, *maker, own));
      if (!is_made_within(value) && (!maker || maker->op() != "Transpose")) continue;  // stays as it is, beside its permuted copy
      const std::vector<Use> uses(value.uses().begin(), value.uses().end());
      for (const Use& use : uses)
        if (!nodes_.contains(use.node) && use.node->op() != "Transpose")
          add(*use.node, permuted_by_input(context_, *use.node, use.input, own));
    }
  }

  /// Elements that Transposes move less when the island is permuted.
  double gain() const {
    double before = 0, after = 0;
    for (const Value* value : order_) {
      const Permutation& perm = wanted_.at(value);
      if (is_made_within(*value)) {
        bool is_seen = value->is_graph_output();
        for (const Use& use : value->uses()) {
          if (is_within(use)) continue;
          if (const auto next = transpose_of(use)) {
            if (use.node->output(0)->is_unused() || wanted_.contains(use.node->output(0))) continue;
            before += cost_of(*value, *next);
            after += cost_of(*value, compose(perm, *next));
          } else if (!is_shape(use)) {
            is_seen = true;
          }
        }
        if (is_seen) after += cost_of(*value, perm);
      } else if (const auto own = value->producer() ? permutation_of(*value->producer()) : std::nullopt) {
        const Value& source = *value->producer()->input(0);
        const Permutation later = is_made_within(source) ? compose(wanted_.at(&source), *own) : *own;
        const bool goes = !value->is_graph_output() && std::all_of(value->uses().begin(), value->uses().end(),
                                                                   [&](const Use& use) { return is_within(use) || transpose_of(use); });
        before += cost_of(source, *own);
        if (!goes) after += cost_of(source, later);
        after += cost_of(source, compose(later, inverse(perm)));
      } else {
        after += cost_of(*value, inverse(perm));
      }
    }
    return before - after;
  }

  size_t size() const noexcept { return nodes_.size(); }
  /// Calls f for each Transpose whose result comes in.
  template <class F>
  void for_each_entrance(F&& f) const {
    for (Value* value : order_)
      if (value->producer() && value->producer()->op() == "Transpose") f(*value->producer(), wanted_.at(value));
  }

  void apply() {
    // Who looks at the old values from outside gets them back before the island changes.
    for (Value* value : order_)
      if (is_made_within(*value)) restore_outside(*value, wanted_.at(value));
    std::unordered_map<const Value*, Value*> copies;
    for (Value* value : order_)
      if (!is_made_within(*value)) copies[value] = &permuted_copy(*value, wanted_.at(value));
    for (Node* node : node_order_) {
      const PermutedNode& permuted = nodes_.at(node);
      permute_node(context_, *node, permuted);
      for (size_t i = 0; i < permuted.inputs.size(); ++i)
        if (const auto copy = copies.find(node->input(i)); !permuted.inputs[i].empty() && copy != copies.end())
          node->set_input(i, copy->second);
    }
  }

 private:
  bool is_made_within(const Value& value) const {
    const auto found = nodes_.find(value.producer());
    return found != nodes_.end() && !found->second.outputs[value.output_index()].empty();
  }
  bool is_within(const Use& use) const {
    const auto found = nodes_.find(use.node);
    return found != nodes_.end() && use.input < found->second.inputs.size() && !found->second.inputs[use.input].empty();
  }
  std::optional<Permutation> transpose_of(const Use& use) const {
    return &use.node->graph() == &graph_ ? permutation_of(*use.node) : std::nullopt;
  }
  bool is_shape(const Use& use) const {
    return &use.node->graph() == &graph_ && use.node->op() == "Shape" && use.node->attributes.size() == 0;
  }

  void want(Value& value, const Permutation& perm) {
    if (!wanted_.emplace(&value, perm).second) return;
    order_.push_back(&value);
    pending_.push_back(&value);
  }

  /// True if no node needs the value with another permutation.
  bool fits(const Value& value, const Permutation& perm) const {
    const auto found = wanted_.find(&value);
    return rank_of(value) && &value.graph() == &graph_ && (found == wanted_.end() || found->second == perm);
  }

  void add(Node& node, const std::optional<PermutedNode>& permuted) {
    if (!permuted || &node.graph() != &graph_ || nodes_.size() >= most_) return;
    std::vector<std::pair<Value*, const Permutation*>> all;
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i) && !node.input(i)->constant() && !permuted->inputs[i].empty())
        all.emplace_back(node.input(i), &permuted->inputs[i]);
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i) && !permuted->outputs[i].empty()) all.emplace_back(node.output(i), &permuted->outputs[i]);
    for (const auto& [value, perm] : all)
      if (!fits(*value, *perm)) return;
    nodes_.emplace(&node, *permuted);
    node_order_.push_back(&node);
    for (const auto& [value, perm] : all) want(*value, *perm);
  }

  Value& transpose(Value& source, const Permutation& perm, Node* before) {
    Node& node = graph_.add_node("Transpose", {&source}, 1, {{"perm", perm}}, {}, before);
    node.output(0)->type = permuted_type(source.type, perm);
    return *node.output(0);
  }

  /// For a value that comes in: the value that it is a Transpose of.
  Value& permuted_copy(Value& value, const Permutation& perm) {
    Node* maker = value.producer();
    if (const auto own = maker ? permutation_of(*maker) : std::nullopt) {
      if (*own == perm) return *maker->input(0);
      return transpose(*maker->input(0), compose(*own, inverse(perm)), maker->next());
    }
    return transpose(value, inverse(perm), maker ? maker->next() : graph_.first());
  }

  /// `value` is about to hold its permuted form: others get a Transpose of it.
  void restore_outside(Value& value, const Permutation& perm) {
    Node* behind = value.producer()->next();
    const ValueType type = value.type, source_type = permuted_type(type, inverse(perm));
    std::vector<Use> outside;
    for (const Use& use : value.uses())
      if (!is_within(use)) outside.push_back(use);
    const auto add = [&](std::string_view op, std::vector<Value*> inputs, Attributes attributes, Node* before) -> Value& {
      const std::string name[] = {graph_.fresh_name(op)};
      return *graph_.add_node(op, inputs, name, std::move(attributes), {}, before).output(0);
    };
    Value* restored = nullptr;
    const auto old_form = [&]() -> Value& {
      if (!restored) restored = &add("Transpose", {&value}, {{"perm", perm}}, behind);
      return *restored;
    };
    for (const Use& use : outside) {
      if (const auto next = transpose_of(use)) {
        use.node->attributes.set("perm", compose(perm, *next));
      } else if (is_shape(use)) {
        // Axis i of the old form is axis perm[i] of the new one.
        Value& shape = add("Shape", {&value}, {}, use.node);
        shape.type = use.node->output(0)->type;
        Value& gathered = add("Gather", {&shape, &add_ints(graph_, perm)}, {{"axis", int64_t{0}}}, use.node);
        take_place_of(*use.node->output(0), gathered);
      } else {
        use.node->set_input(use.input, &old_form());
      }
    }
    if (value.is_graph_output()) {
      Value& old = old_form();
      const std::vector<Use> inside(value.uses().begin(), value.uses().end());
      value.replace_all_uses_with(old);  // linear, which looking through all outputs is not
      for (const Use& use : inside) use.node->set_input(use.input, &value);
    }
    std::string name = value.name();
    value.rename(graph_.fresh_name(name));
    if (restored) {
      restored->type = type;
      restored->rename(std::move(name));
    }
    value.type = source_type;
  }

  PassContext& context_;
  Graph& graph_;
  bool up_;                                               // also along the producers of its nodes' inputs
  size_t most_;                                           // nodes
  std::unordered_map<const Value*, Permutation> wanted_;  // the forms of values, by their perms
  std::unordered_map<const Node*, PermutedNode> nodes_;
  std::vector<Value*> order_;  // of wanted_, so that results do not depend on addresses
  std::vector<Node*> node_order_;
  std::vector<Value*> pending_;
};

/// True for values that a chain of nodes, whose other inputs are single numbers, computes from a constant.
bool made_of_constants(const Value& value) {
  constexpr int kDeepest = 8;
  const Value* from = &value;
  for (int depth = 0; depth < kDeepest && from && from->producer(); ++depth) {
    const Node& node = *from->producer();
    from = nullptr;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      if (!input || scalar_of(input)) continue;
      if (from) return false;
      from = input;
    }
  }
  return from && from->constant() && from != &value;
}

void merge_in_row(Graph& graph, Node& node, PassContext& context) {
  const auto perm = permutation_of(node);
  if (!perm) return;
  if (is_identity(*perm)) {
    if (!forward(*node.output(0), *node.input(0))) return;
    context.changed("removed {}, which moves nothing", label_of(node));
    remove_dead(node);
    return;
  }
  Node* before = node.input(0)->producer();
  const auto first = before && &before->graph() == &graph ? permutation_of(*before) : std::nullopt;
  if (!first) return;
  const Permutation both = compose(*first, *perm);
  if (is_identity(both)) {
    if (!forward(*node.output(0), *before->input(0))) return;
    context.changed("removed {} and the inverse before it", label_of(node));
    remove_dead(node);
    return;
  }
  context.changed("{} starts from \"{}\", before another", label_of(node), before->input(0)->name());
  node.attributes.set("perm", both);
  node.set_input(0, before->input(0));
  remove_dead(*before);
}

}  // namespace

void push_transposes(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes())
    if (node.op() == "Transpose") merge_in_row(graph, node, context);
  std::vector<Node*> seeds;  // none is removed from here on: islands leave unused Transposes behind
  for (Node& node : graph.nodes())
    if (permutation_of(node)) seeds.push_back(&node);
  std::unordered_set<const Node*> done;
  for (Node* seed : seeds) {
    const auto perm = permutation_of(*seed);
    if (done.contains(seed) || !perm || seed->output(0)->is_unused() || is_identity(*perm)) continue;
    for (const bool both_ways : {true, false}) {
      constexpr size_t kMostDownwards = 256;  // such islands may overlap, and each is looked at anew
      Island island(context, graph, both_ways, both_ways ? SIZE_MAX : kMostDownwards);
      island.grow(*seed->output(0), *perm);
      if (both_ways)
        island.for_each_entrance([&](const Node& entrance, const Permutation& wanted) {
          if (permutation_of(entrance) == wanted) done.insert(&entrance);
        });
      if (island.size() == 0) break;
      if (island.gain() <= 0) continue;
      island.apply();
      context.changed("{}: pushed through {} nodes", label_of(*seed), island.size());
      break;
    }
    if (seed->output(0)->is_unused() || permutation_of(*seed) != perm || !made_of_constants(*seed->input(0))) continue;
    Island above(context, graph, true, SIZE_MAX);  // weights that are computed: the constants themselves can be turned
    above.grow(*seed->input(0), inverse(*perm));
    if (above.size() == 0 || above.gain() <= 0) continue;
    above.apply();
    context.changed("{}: pulled through {} nodes", label_of(*seed), above.size());
  }
}

}  // namespace minnow
