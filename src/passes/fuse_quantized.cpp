// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear -> convolution or product (-> Relu) -> QuantizeLinear becomes one operator on integers, minnow.QuantizedConv or
// minnow.QuantizedMatMul, so that tensors and weights stay bytes in memory and on disk.
#include <cmath>

#include "base/numeric.h"
#include "passes/quantized_product.h"

namespace minnow {
namespace {

/// Absorbs Relu, and a Clip whose bounds are 0 or those of the quantization.
bool take_activation(const Node& node, QuantizedProduct& found) {
  if (node.op() == "Relu") return found.relu = true;
  const auto scale = found.y->scale_number();
  const auto zero = found.y->zero_point_number();
  const auto low = scalar_of(node.input(1)), high = scalar_of(node.input(2));
  if (!scale || *scale <= 0 || !zero || (node.input(1) && !low) || (node.input(2) && !high)) return false;
  const auto quantized = [&](double bound) { return std::nearbyint(bound / *scale) + static_cast<double>(*zero); };
  if (high && quantized(*high) < static_cast<double>(highest_of(found.y->dtype))) return false;
  if (!low || quantized(*low) <= static_cast<double>(lowest_of(found.y->dtype))) return true;
  return found.relu = *low == 0;
}

void fuse(Graph& graph, PassContext& context, Node& quantize) {
  QuantizedProduct found;
  found.y = Quantization::of(&quantize);
  if (!found.y || !found.y->is_per_tensor() || !found.y->has_positive_scale() || !is_byte(found.y->dtype)) return;
  Value* result = quantize.input(0);
  if (sole_user(*result) != &quantize || !result->producer()) return;
  if (const std::string& op = result->producer()->op(); op == "Relu" || op == "Clip") {
    Node& activation = *result->producer();
    if (!take_activation(activation, found)) return;
    result = activation.input(0);
    if (!result || sole_user(*result) != &activation) return;
  }
  found.product = result->producer();
  if (!found.product || &found.product->graph() != &graph) return;
  const std::string& op = found.product->op();
  if (op != "Conv" && op != "MatMul" && op != "Gemm") return;
  if (take_inputs(graph, found)) compute_with_integers(graph, context, found, quantize);
}

}  // namespace

void fuse_quantized(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes())
    if (node.op() == "QuantizeLinear") fuse(graph, context, node);
}

}  // namespace minnow
