// SPDX-License-Identifier: Apache-2.0
// A number for each channel that is multiplied with, or added to, the result of a convolution or a product becomes part of its weights or
// its bias.
#include <cmath>

#include "passes/linear.h"

namespace minnow {
namespace {

bool fold(Node& node) {
  const std::string& op = node.op();
  if ((op != "Mul" && op != "Div" && op != "Add" && op != "Sub") || node.input_count() != 2 || !node.output(0)) return false;
  for (size_t i = 0; i < 2; ++i) {
    Value *x = node.input(i), *other = node.input(1 - i);
    if (!x || !other || !other->constant() || sole_user(*x) != &node) continue;
    const auto linear = Linear::of(x->producer());
    auto values = linear ? linear->per_channel(other) : std::nullopt;
    if (!values) continue;
    std::vector<double> scale, shift;
    if (op == "Mul") {
      scale = *values;
    } else if (op == "Div") {
      if (i != 0) return false;
      for (double value : *values) scale.push_back(std::isinf(value) ? NAN : 1 / value);  // 1 / infinity would be a weight of 0
    } else if (op == "Add") {
      shift = *values;
    } else if (i == 0) {
      for (double value : *values) shift.push_back(-value);
    } else {
      scale.assign(values->size(), -1), shift = *values;
    }
    if (!linear->absorb(scale, shift)) return false;
    take_place_of(*node.output(0), *x);
    return true;
  }
  return false;
}

}  // namespace

void fold_scales(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (!fold(node)) continue;
    context.changed("{} went into the weights before it", label_of(node));
    remove_dead(node);
  }
}

}  // namespace minnow
