// SPDX-License-Identifier: Apache-2.0
// Channels that are reshaped into groups, transposed and reshaped back (Zhang et al. 2017, "ShuffleNet") become one operator. If channels
// come last, as in TensorFlow, Transposes move them to the front, provided that they were there before.
#include "passes/permute.h"

namespace minnow {
namespace {

bool is_same(const Dim& a, const Dim& b) { return a == b && (a.known() || !a.symbol.empty()); }

class Raiser {
 public:
  Raiser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes())
      if (node.op() == "Reshape") raise(node);
  }

 private:
  void raise(Node& back) {
    Node* const swap = made_by(back.input(0), "Transpose");
    Node* const split = swap && &swap->graph() == &graph_ ? made_by(swap->input(0), "Reshape") : nullptr;
    const auto perm = split ? permutation_of(*swap) : std::nullopt;
    if (!perm || !back.output(0)) return;
    Value &x = *split->input(0), &y = *back.output(0);
    if (!x.type.dims || x.type.dims->size() < 3 || !same_shape(x, y)) return;
    // Dimensions of one element may be anywhere.
    const std::vector<Dim>&whole = *x.type.dims, &parts = *swap->input(0)->type.dims;
    std::vector<size_t> axes, apart, moved;  // dimensions of x, of the split x, and of the split x in transposed order
    for (size_t i = 0; i < whole.size(); ++i)
      if (whole[i].size != 1) axes.push_back(i);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].size != 1) apart.push_back(i);
      if (const auto from = static_cast<size_t>((*perm)[i]); parts[from].size != 1) moved.push_back(from);
    }
    if (apart.size() != axes.size() + 1) return;
    size_t at = 0;
    while (at < apart.size() && moved[at] == apart[at]) ++at;
    if (at + 1 >= apart.size()) return;
    std::swap(moved[at], moved[at + 1]);
    if (moved != apart) return;
    for (size_t i = 0; i < axes.size(); ++i)
      if (i != at && !is_same(whole[axes[i]], parts[apart[i < at ? i : i + 1]])) return;
    const size_t axis = axes[at];
    const Dim &groups = parts[apart[at]], &each = parts[apart[at + 1]];
    if (!groups.known() || !each.known() || groups.size < 2 || each.size < 2 || whole[axis].size != groups.size * each.size) return;
    if (axis == 1) {
      report(back, groups.size);
      replace(y, "minnow.ChannelShuffle", {&x}, {{"groups", groups.size}});
    } else if (axis + 1 == whole.size() && comes_from_the_front(x, whole.size())) {
      report(back, groups.size);
      Ints to_front = {0, static_cast<int64_t>(axis)}, to_back = {0};
      for (size_t i = 1; i < axis; ++i) to_front.push_back(static_cast<int64_t>(i));
      for (size_t i = 2; i <= axis; ++i) to_back.push_back(static_cast<int64_t>(i));
      to_back.push_back(1);
      Value& front = add("Transpose", x, {{"perm", to_front}}, back);
      Value& shuffled = add("minnow.ChannelShuffle", front, {{"groups", groups.size}}, back);
      replace(y, "Transpose", {&shuffled}, {{"perm", to_back}});
    } else {
      return;
    }
    remove_dead(back);
  }

  void report(const Node& node, int64_t groups) { context_.changed("{} deals out channels of {} groups", label_of(node), groups); }

  /// True if a Transpose that puts channels last makes `x`.
  static bool comes_from_the_front(const Value& x, size_t rank) {
    const Node* node = made_by(&x, "Transpose");
    const auto perm = node ? permutation_of(*node) : std::nullopt;
    return perm && perm->size() == rank && perm->front() == 0 && perm->back() == 1;
  }

  Value& add(std::string_view op, Value& x, Attributes attributes, Node& before) {
    const std::string name[] = {graph_.fresh_name(x.name())};
    Value* const inputs[] = {&x};
    Node& node = graph_.add_node(op, inputs, name, std::move(attributes), before.name(), &before);
    infer_node(context_, node);
    return *node.output(0);
  }

  Graph& graph_;
  PassContext& context_;
};

}  // namespace

void raise_channel_shuffles(Graph& graph, PassContext& context) { Raiser(graph, context).run(); }

}  // namespace minnow
