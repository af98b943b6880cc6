// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear -> convolution or product (-> activation) -> QuantizeLinear becomes one operator on integers, minnow.QuantizedConv or
// minnow.QuantizedMatMul, so that tensors and weights stay bytes in memory and on disk.
#include <cmath>

#include "base/numeric.h"
#include "passes/quantized_product.h"

namespace minnow {
namespace {

/// The activation before a result becomes bytes. A Clip whose bounds are 0 or those of the quantization is a Relu, or nothing.
Activation activation_before(const Node& node, const Quantization& y) {
  const Activation activation = *activation_of(node);
  const auto scales = reals_of(y.scale);
  const auto zero = y.zero_point_number();
  if (activation.kind != Activation::Kind::clip || !scales || !zero) return activation;
  bool cuts_below = false, cuts_above = false;
  for (const double scale : *scales) {
    const auto quantized = [&](float bound) { return std::nearbyint(static_cast<double>(bound) / scale) + static_cast<double>(*zero); };
    cuts_below |= quantized(activation.alpha) > static_cast<double>(lowest_of(y.dtype));
    cuts_above |= quantized(activation.beta) < static_cast<double>(highest_of(y.dtype));
  }
  if (cuts_above || (cuts_below && activation.alpha != 0)) return activation;
  return {cuts_below ? Activation::Kind::relu : Activation::Kind::none};
}

/// The result of a convolution of one group, without other readers, plus a dequantized tensor of its shape: the tensor is the residual, the
/// convolution's result takes the place of the sum. Kernels of depthwise convolutions add none.
void take_residual(QuantizedProduct& found, Value*& result) {
  Node* const sum = result->producer();
  if (!sum || sum->op() != "Add" || !found.activation.joins_rounding() || !found.y->is_per_tensor() || !found.y->scale->constant()) return;
  for (const size_t i : {0, 1}) {
    Value *const product = sum->input(i), *const other = sum->input(1 - i);
    const Node* const maker = made_by(other, "DequantizeLinear");
    const auto residual = Quantization::of(maker);
    const Node* const conv = product->producer();
    if (!conv || conv->op() != "Conv" || int_attribute(*conv, "group", 1) != 1 || sole_user(*product) != sum ||
        !same_shape(*product, *other))
      continue;
    if (!residual || maker->input(0)->constant() || !is_byte(residual->dtype)) continue;
    if (!residual->is_per_tensor() || !residual->has_positive_scale() || !residual->scale->constant() || !residual->zero_point_number())
      continue;
    found.residual = residual;
    found.residual_values = maker->input(0);
    result = product;
    return;
  }
}

/// A product of matrices without other readers, plus a tensor that does not change its shape: the tensor may be a bias.
void take_added(QuantizedProduct& found, Value*& result) {
  Node* const sum = result->producer();
  if (!sum || sum->op() != "Add") return;
  for (const size_t i : {0, 1}) {
    Value* const product = sum->input(i);
    if (!made_by(product, "MatMul") || sole_user(*product) != sum || !same_shape(*product, *result)) continue;
    found.added = sum->input(1 - i);
    result = product;
    return;
  }
}

void fuse(Graph& graph, PassContext& context, Node& quantize) {
  QuantizedProduct found;
  found.y = Quantization::of(&quantize);
  if (!found.y || !found.y->has_positive_scale() || !is_byte(found.y->dtype)) return;
  Value* result = quantize.input(0);
  if (sole_user(*result) != &quantize || !result->producer()) return;
  if (Node& activation = *result->producer(); activation_of(activation)) {
    found.activation = activation_before(activation, *found.y);
    result = activation.input(0);
    if (!result || sole_user(*result) != &activation) return;
  }
  take_residual(found, result);
  take_added(found, result);
  found.product = result->producer();
  if (!found.product || &found.product->graph() != &graph) return;
  const std::string& op = found.product->op();
  if (op != "Conv" && op != "MatMul" && op != "Gemm") return;
  if (!found.y->is_per_tensor() && !(op == "Conv" && found.y->is_along(1, *quantize.output(0)))) return;
  if (take_inputs(graph, found)) compute_with_integers(graph, context, found, quantize);
}

}  // namespace

void fuse_quantized(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes())
    if (node.op() == "QuantizeLinear") fuse(graph, context, node);
}

}  // namespace minnow
