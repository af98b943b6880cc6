// SPDX-License-Identifier: Apache-2.0
// Zeros that are put around an image before a convolution or a pool become that node's own padding.
#include <algorithm>

#include "passes/permute.h"

namespace minnow {
namespace {

/// The amounts of a Pad with zeros around the dimensions from 2 on, once its result is transposed by `perm` (if there is one): before each,
/// then after each.
std::optional<Ints> zeros_around(const Node& pad, const std::optional<Permutation>& perm) {
  if (text_attribute(pad, "mode", "constant") != "constant" || !pad.input(0)) return {};
  if (pad.input(2) && scalar_of(pad.input(2)) != 0.0) return {};
  const auto amounts = ints_of(pad.input(1));
  const auto rank = rank_of(*pad.input(0));
  if (!amounts || !rank || *rank < 3) return {};
  Ints axes;
  if (pad.input(3)) {
    const auto given = ints_of(pad.input(3));
    if (!given) return {};
    axes = *given;
  } else {
    for (size_t i = 0; i < *rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (amounts->size() != 2 * axes.size()) return {};
  Ints around(2 * (*rank - 2), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = positive_axis(axes[i], *rank);
    if (!axis) return {};
    if (perm) axis = static_cast<size_t>(inverse(*perm)[*axis]);
    const int64_t begin = (*amounts)[i], end = (*amounts)[i + axes.size()];
    if (begin < 0 || end < 0 || (*axis < 2 && (begin || end))) return {};
    if (*axis < 2) continue;
    around[*axis - 2] = begin;
    around[*axis - 2 + *rank - 2] = end;
  }
  return around;
}

bool fold(Node& node, PassContext& context) {
  const bool conv = node.op() == "Conv", average = node.op() == "AveragePool", maximum = node.op() == "MaxPool";
  if (!conv && !average && !maximum) return false;
  // With channels last, the padding may come before the Transpose of the image.
  Node* transpose = made_by(node.input(0), "Transpose");
  const auto perm =
      transpose && has_one_use(*node.input(0)) && &transpose->graph() == &node.graph() ? permutation_of(*transpose) : std::nullopt;
  const Node* pad = made_by(perm ? transpose->input(0) : node.input(0), "Pad");
  const auto around = pad ? zeros_around(*pad, perm) : std::nullopt;
  if (!around) return false;
  const std::string_view automatic = text_attribute(node, "auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) return false;
  Ints pads(around->size(), 0);
  if (const Ints* own = ints_attribute(node, "pads"); own && automatic != "VALID") pads = *own;
  if (pads.size() != around->size()) return false;
  const bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t amount) { return amount != 0; });
  if (average || maximum) {
    // Rounding the number of windows up depends on where the padding ends.
    if (int_attribute(node, "ceil_mode", 0) != 0) return false;
  }
  if (average) {
    // Averages count the zeros of a Pad, so the pool must count its padding, and must have done so before.
    if (padded && int_attribute(node, "count_include_pad", 0) == 0) return false;
  }
  // MaxPool ignores its own padding. Zeros in its place give the same result if all numbers are non-negative, because a zero is then never
  // the only largest element of a window.
  if (maximum && (!is_never_negative(*pad->input(0)) || (node.output(1) && !node.output(1)->is_unused()))) return false;
  if (const Ints* dilations = ints_attribute(node, "dilations"); maximum && dilations)
    if (std::any_of(dilations->begin(), dilations->end(), [](int64_t dilation) { return dilation != 1; })) return false;
  if (average || maximum) {
    const Ints* kernel = ints_attribute(node, "kernel_shape");
    if (!kernel || kernel->size() * 2 != pads.size()) return false;
    for (size_t i = 0; i < pads.size(); ++i)
      if (pads[i] + (*around)[i] >= (*kernel)[i % kernel->size()]) return false;
  }
  if (average) node.attributes.set("count_include_pad", int64_t{1});
  for (size_t i = 0; i < pads.size(); ++i) pads[i] += (*around)[i];
  node.attributes.set("pads", pads);
  node.attributes.remove("auto_pad");
  if (perm) {
    transpose->set_input(0, pad->input(0));
    transpose->output(0)->rename(node.graph().fresh_name(transpose->output(0)->name()));
    infer_node(context, *transpose);
  } else {
    node.set_input(0, pad->input(0));
  }
  return true;
}

}  // namespace

void fold_pads(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    Node* pad = node.input(0) ? node.input(0)->producer() : nullptr;
    if (pad && pad->op() == "Transpose") pad = pad->input(0)->producer();
    if (!fold(node, context)) continue;
    context.changed("{} pads its own input", label_of(node));
    if (&pad->graph() == &graph) remove_dead(*pad);
  }
}

}  // namespace minnow
