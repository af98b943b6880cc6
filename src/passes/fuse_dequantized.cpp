// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear -> convolution or product becomes minnow.QuantizedConv or minnow.QuantizedMatMul with a result in f32, where no
// QuantizeLinear follows: the last layers of most networks. It runs when other passes have moved each QuantizeLinear to its place, and
// products have taken in what follows them.
#include "graph/activation.h"
#include "graph/window.h"
#include "passes/quantized_product.h"

namespace minnow {
namespace {

/// Quantized by constants.
bool is_known(const std::optional<Quantization>& q) { return q && q->scale->constant() && (!q->zero_point || q->zero_point->constant()); }

/// A constant, or one that is looked up in a palette when it is packed.
bool is_stored(const Value& value) { return value.constant() || made_by(&value, "minnow.LookUp"); }

void compute_in_f32(Graph& graph, PassContext& context, Node& product) {
  QuantizedProduct found;
  found.product = &product;
  // Steps that integer kernels would leave to others: f32 products do them in one pass.
  const std::string_view activation = text_attribute(product, kActivation.name);
  if (!activation.empty() && activation != "Relu" && activation != "Clip") return;
  if ((product.input(3) && (!is_matmul(product) || !activation.empty())) || product.input(kScale) ||
      int_attribute(product, kChannelsLast.name, 0))
    return;
  const Node *const x = made_by(product.input(0), "DequantizeLinear"), *const w = made_by(product.input(1), "DequantizeLinear");
  if (!is_known(Quantization::of(x)) || !is_known(Quantization::of(w)) || !is_stored(*w->input(0))) return;
  if (is_matmul(product) && rank_of(*w->input(0)) != size_t{2}) return;
  if (!take_inputs(graph, found)) return;
  if (Value* const residual = product.input(3)) {  // an integer product adds none
    Value& result = *product.output(0);
    Node& sum = graph.add_node("Add", {&result, residual}, 1, {}, {}, product.next());
    sum.output(0)->type = result.type;
    take_place_of(result, *sum.output(0));
    sum.set_input(0, &result);
    product.set_input(3, nullptr);
  }
  compute_with_integers(graph, context, found, product);
}

}  // namespace

void fuse_dequantized(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes())
    if (node.output(0) && (is_conv(node) || is_matmul(node))) compute_in_f32(graph, context, node);
}

}  // namespace minnow
