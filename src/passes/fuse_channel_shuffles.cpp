// SPDX-License-Identifier: Apache-2.0
// A minnow.ChannelShuffle absorbs the Concat before it and the Split after it, so that channels are moved once.
#include <algorithm>

#include "passes/loop_steps.h"

namespace minnow {
namespace {

constexpr std::string_view kShuffle = "minnow.ChannelShuffle";
constexpr size_t kMostParts = 64;

bool is_along_channels(const Node& node, int64_t fallback) {
  const auto rank = node.input(0) ? rank_of(*node.input(0)) : std::nullopt;
  return rank && positive_axis(int_attribute(node, "axis", fallback), *rank) == size_t{1};
}

class Fuser {
 public:
  Fuser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (node.op() == kShuffle && node.output_count() == 1)
        take_concat(node);
      else if (node.op() == "Split")
        take_split(node);
      else if (node.op() == "Slice")
        take_slices(node);
    }
    replaced_.remove();
  }

 private:
  void take_concat(Node& shuffle) {
    Node* const concat = shuffle.input_count() == 1 ? made_by(shuffle.input(0), "Concat") : nullptr;
    if (!concat || sole_user(*shuffle.input(0)) != &shuffle || !is_along_channels(*concat, 0) || concat->input_count() > kMostParts) return;
    context_.changed("{} joins what {} joined", label_of(shuffle), label_of(*concat));
    std::vector<Value*> parts;
    for (size_t i = 0; i < concat->input_count(); ++i) parts.push_back(concat->input(i));
    replace(*shuffle.output(0), kShuffle, parts, shuffle.attributes, shuffle.name());
    remove_dead(shuffle);
  }

  /// The shuffle that makes `value` whole.
  Node* shuffle_of(const Value* value) const {
    Node* const shuffle = made_by(value, kShuffle);
    return shuffle && &shuffle->graph() == &graph_ && shuffle->output_count() == 1 ? shuffle : nullptr;
  }

  void take_split(Node& split) {
    Node* const shuffle = shuffle_of(split.input(0));
    if (!shuffle || sole_user(*split.input(0)) != &split || !is_along_channels(split, 0) || split.output_count() > kMostParts) return;
    std::vector<Value*> parts;
    for (size_t i = 0; i < split.output_count(); ++i) {
      if (!split.output(i) || split.output(i)->is_unused() || !dim_of(*split.output(i), 1)) return;
      parts.push_back(split.output(i));
    }
    make_parts(*shuffle, parts, split);
    replaced_.add(split);
  }

  /// Slices that together are the whole, a channel in one each.
  void take_slices(Node& first) {
    Node* const shuffle = shuffle_of(first.input(0));
    if (!shuffle || shuffle->output(0)->is_graph_output()) return;
    const auto channels = dim_of(*shuffle->output(0), 1);
    const auto uses = shuffle->output(0)->uses();
    if (!channels || uses.size() > kMostParts) return;
    std::vector<std::pair<int64_t, Node*>> slices;  // by their beginnings
    for (const Use& use : uses) {
      const auto columns =
          use.node->op() == "Slice" && use.input == 0 && &use.node->graph() == &graph_ ? columns_of(*use.node) : std::nullopt;
      const auto size = columns && columns->axis == 1 && !use.node->output(0)->is_unused() ? dim_of(*use.node->output(0), 1) : std::nullopt;
      if (!size || *size < 1) return;
      slices.emplace_back(columns->begin, use.node);
    }
    std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    int64_t end = 0;
    std::vector<Value*> parts;
    for (const auto& [begin, slice] : slices) {
      if (begin != end) return;
      end += *dim_of(*slice->output(0), 1);
      parts.push_back(slice->output(0));
    }
    if (end != *channels || parts.size() < 2) return;
    make_parts(*shuffle, parts, first);
    for (const auto& [begin, slice] : slices) replaced_.add(*slice);
  }

  /// A shuffle before `place` makes the parts.
  void make_parts(Node& shuffle, const std::vector<Value*>& parts, Node& place) {
    context_.changed("{} makes the parts behind it", label_of(shuffle));
    std::vector<Value*> inputs;
    for (size_t i = 0; i < shuffle.input_count(); ++i) inputs.push_back(shuffle.input(i));
    std::vector<std::string> names;
    Ints sizes;
    for (const Value* part : parts) {
      names.push_back(graph_.fresh_name(part->name()));
      sizes.push_back(*dim_of(*part, 1));
    }
    Attributes attributes = shuffle.attributes;
    attributes.set("sizes", sizes);
    Node& made = graph_.add_node(kShuffle, inputs, names, std::move(attributes), shuffle.name(), &place);
    infer_node(context_, made);
    for (size_t i = 0; i < parts.size(); ++i) take_place_of(*parts[i], *made.output(i));
  }

  Graph& graph_;
  PassContext& context_;
  DeadNodes replaced_;
};

}  // namespace

void fuse_channel_shuffles(Graph& graph, PassContext& context) { Fuser(graph, context).run(); }

}  // namespace minnow
