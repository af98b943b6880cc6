// SPDX-License-Identifier: Apache-2.0
// A convolution, product or attention of dequantized tensors, as passes find it, and the operator on integers that takes its place.
#pragma once
#include "passes/quantization.h"

namespace minnow {

struct QuantizedProduct {
  Node* product = nullptr;  // Conv, MatMul, Gemm, or fused
  Quantization x, w;
  std::optional<Quantization> y;         // empty: the result is f32
  Value* residual_values = nullptr;      // added to a convolution before the activation; null: nothing is
  std::optional<Quantization> residual;  // of these
  Value* added = nullptr;                // to a product of matrices without a bias, before the activation; null: nothing is
  Activation activation;                 // behind the product
  bool transposes_w = false;
  Value *x_values = nullptr, *w_values = nullptr, *bias = nullptr;
};

bool is_byte(DType dtype);

/// Finds factors and bias of found.product. False, without changes, if integers cannot take their place. The bias is in units of x_scale *
/// w_scale: its stored integers, else real numbers, rounded once.
bool take_inputs(Graph& graph, QuantizedProduct& found);
/// Replaces the result of `last`, which is the product or a node behind it.
void compute_with_integers(Graph& graph, PassContext& context, QuantizedProduct& found, Node& last);

/// Why minnow.QuantizedAttention cannot take the place of an Attention, whatever its factors are; empty: it can.
std::string refusal_of_quantized_attention(const Node& attention);

}  // namespace minnow
