// SPDX-License-Identifier: Apache-2.0
// BatchNormalization behind a convolution or a product becomes part of its weights.
#include <cmath>

#include "passes/linear.h"

namespace minnow {
namespace {

bool has_one_output(const Node& node) {
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.output(i)) return false;
  return node.output(0) != nullptr;
}

}  // namespace

void fold_batch_normalizations(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (node.op() != "BatchNormalization" || int_attribute(node, "training_mode", 0) != 0 || !node.input(0)) continue;
    if (!has_one_output(node)) continue;
    const auto linear = Linear::of(node.input(0)->producer());
    if (!linear || sole_user(*node.input(0)) != &node) continue;
    // After MatMul the channels are dimension 1, which is the last dimension only of a matrix.
    if (!linear->has_bias_input) continue;
    const auto gamma = reals_of(node.input(1)), beta = reals_of(node.input(2)), mean = reals_of(node.input(3)),
               variance = reals_of(node.input(4));
    const size_t channels = static_cast<size_t>(linear->channels);
    if (!gamma || !beta || !mean || !variance || gamma->size() != channels || beta->size() != channels || mean->size() != channels ||
        variance->size() != channels)
      continue;
    const double epsilon = real_attribute(node, "epsilon", 1e-5f);
    std::vector<double> scale(channels), shift(channels);
    for (size_t c = 0; c < channels; ++c) {
      scale[c] = (*gamma)[c] / std::sqrt((*variance)[c] + epsilon);
      shift[c] = (*beta)[c] - (*mean)[c] * scale[c];
    }
    if (!linear->absorb(scale, shift)) continue;
    context.changed("{} took in {}", label_of(*linear->node), label_of(node));
    take_place_of(*node.output(0), *node.input(0));
    remove_dead(node);
  }
}

}  // namespace minnow
