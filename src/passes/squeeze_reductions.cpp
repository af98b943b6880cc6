// SPDX-License-Identifier: Apache-2.0
// A reduction that keeps its reduced dimensions, followed by a Reshape that removes them, removes them itself.
#include <algorithm>

#include "passes/rewrite.h"

namespace minnow {
namespace {

struct Reduction {
  std::string_view op;
  Ints axes;
};

/// A reduction over listed axes that keeps them, or a pool over whole images.
std::optional<Reduction> reduction_of(const Node& node, size_t rank) {
  Reduction found;
  if (node.op() == "GlobalAveragePool" || node.op() == "GlobalMaxPool") {
    found.op = node.op() == "GlobalAveragePool" ? "ReduceMean" : "ReduceMax";
    for (size_t axis = 2; axis < rank; ++axis) found.axes.push_back(static_cast<int64_t>(axis));
  } else if (node.op().starts_with("Reduce") && int_attribute(node, "keepdims", 1) != 0) {
    found.op = node.op();
    if (const auto axes = ints_of(node.input(1))) found.axes = *axes;
  }
  if (found.axes.empty()) return {};
  return found;
}

}  // namespace

void squeeze_reductions(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (!is_reshape(node) || !node.input(0) || !node.input(0)->producer()) continue;
    const Node& before = *node.input(0)->producer();
    if (&before.graph() != &graph || sole_user(*node.input(0)) != &node || !before.input(0)) continue;
    Value& x = *before.input(0);
    const auto rank = rank_of(x);
    const auto found = rank ? reduction_of(before, *rank) : std::nullopt;
    if (!found || !node.output(0)->type.dims) continue;
    std::vector<bool> is_reduced(*rank);
    for (int64_t axis : found->axes)
      if (const auto place = positive_axis(axis, *rank)) is_reduced[*place] = true;
    std::vector<Dim> left;
    for (size_t i = 0; i < *rank; ++i)
      if (!is_reduced[i]) left.push_back((*x.type.dims)[i]);
    if (left != *node.output(0)->type.dims || std::any_of(left.begin(), left.end(), SizeTable::is_unknown)) continue;
    context.changed("{} drops the dimensions that it reduces", label_of(before));
    replace(*node.output(0), found->op, {&x, &add_ints(graph, found->axes)}, {{"keepdims", int64_t{0}}}, before.name());
    remove_dead(node);
  }
}

}  // namespace minnow
