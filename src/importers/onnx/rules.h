// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them, and what they share.
#pragma once
#include "importers/onnx/onnx_node.h"

namespace minnow::onnx {

// Parts that rules are made of.
Expr shape_of(const Expr& x);                     // i64 vector
Expr ones(const Expr& count);                     // i64 vector of `count` ones; `count`: i64, one element
Expr reshaped(const Expr& x, const Ints& shape);  // a constant is reshaped at once
/// A scale or zero point of one element as a scalar, whatever rank it was stored with.
Expr as_scalar(OnnxNode& node, const Expr& x);

// rules_elementwise.cpp
Exprs import_copy(OnnxNode& node, GraphBuilder& g);
Exprs import_legacy_broadcast(OnnxNode& node, GraphBuilder& g);
Exprs import_prelu_1(OnnxNode& node, GraphBuilder& g);
Exprs import_clip_1(OnnxNode& node, GraphBuilder& g);
Exprs import_cast_1(OnnxNode& node, GraphBuilder& g);
Exprs import_selu_1(OnnxNode& node, GraphBuilder& g);
Exprs import_dropout_1(OnnxNode& node, GraphBuilder& g);
Exprs import_dropout_7(OnnxNode& node, GraphBuilder& g);
Exprs import_dropout_12(OnnxNode& node, GraphBuilder& g);

// rules_shape.cpp
Exprs import_slice_1(OnnxNode& node, GraphBuilder& g);
Exprs import_pad_1(OnnxNode& node, GraphBuilder& g);
Exprs import_pad_2(OnnxNode& node, GraphBuilder& g);
Exprs import_top_k_1(OnnxNode& node, GraphBuilder& g);
Exprs import_axes_attribute(OnnxNode& node, GraphBuilder& g);
Exprs import_reduce_1(OnnxNode& node, GraphBuilder& g);
Exprs import_split_1(OnnxNode& node, GraphBuilder& g);
Exprs import_split_13(OnnxNode& node, GraphBuilder& g);
Exprs import_reshape_1(OnnxNode& node, GraphBuilder& g);
Exprs import_tile_1(OnnxNode& node, GraphBuilder& g);
Exprs import_concat_1(OnnxNode& node, GraphBuilder& g);
Exprs import_scatter(OnnxNode& node, GraphBuilder& g);
Exprs import_dft_17(OnnxNode& node, GraphBuilder& g);

// rules_resize.cpp
Exprs import_upsample_1(OnnxNode& node, GraphBuilder& g);
Exprs import_upsample_7(OnnxNode& node, GraphBuilder& g);
Exprs import_upsample_9(OnnxNode& node, GraphBuilder& g);
Exprs import_resize_10(OnnxNode& node, GraphBuilder& g);
Exprs import_resize_11(OnnxNode& node, GraphBuilder& g);
Exprs import_grid_sample_16(OnnxNode& node, GraphBuilder& g);
Exprs import_roi_align_10(OnnxNode& node, GraphBuilder& g);

// rules_network.cpp
Exprs import_softmax_1(OnnxNode& node, GraphBuilder& g);
Exprs import_batch_normalization_1(OnnxNode& node, GraphBuilder& g);
Exprs import_batch_normalization_7(OnnxNode& node, GraphBuilder& g);
Exprs import_batch_normalization_9(OnnxNode& node, GraphBuilder& g);
Exprs import_group_normalization_18(OnnxNode& node, GraphBuilder& g);
Exprs import_gemm_1(OnnxNode& node, GraphBuilder& g);
Exprs import_lp_pool_1(OnnxNode& node, GraphBuilder& g);
Exprs import_recurrent_1(OnnxNode& node, GraphBuilder& g);
Exprs import_scan_8(OnnxNode& node, GraphBuilder& g);

// rules_quantized.cpp
Exprs import_qlinear_conv(OnnxNode& node, GraphBuilder& g);
Exprs import_qlinear_matmul(OnnxNode& node, GraphBuilder& g);
Exprs import_qlinear_binary(OnnxNode& node, GraphBuilder& g);  // com.microsoft.QLinearAdd, QLinearMul
Exprs import_qlinear_unary(OnnxNode& node, GraphBuilder& g);   // com.microsoft.QLinearSigmoid, QLinearLeakyRelu, QLinear...Pool
Exprs import_qlinear_concat(OnnxNode& node, GraphBuilder& g);
Exprs import_quantize_microsoft(OnnxNode& node, GraphBuilder& g);
Exprs import_dequantize_microsoft(OnnxNode& node, GraphBuilder& g);
Exprs import_dynamic_quantize_lstm(OnnxNode& node, GraphBuilder& g);
Exprs import_matmul_integer_to_float(OnnxNode& node, GraphBuilder& g);
Exprs import_dynamic_quantize_matmul(OnnxNode& node, GraphBuilder& g);

// rules_microsoft.cpp
Exprs import_fused_matmul(OnnxNode& node, GraphBuilder& g);
Exprs import_fused_activation(OnnxNode& node, GraphBuilder& g);  // FusedConv, FusedGemm
Exprs import_gelu_microsoft(OnnxNode& node, GraphBuilder& g);
Exprs import_bias_gelu(OnnxNode& node, GraphBuilder& g);
Exprs import_fast_gelu(OnnxNode& node, GraphBuilder& g);
Exprs import_quick_gelu(OnnxNode& node, GraphBuilder& g);
Exprs import_skip_layer_normalization(OnnxNode& node, GraphBuilder& g);
Exprs import_simplified_layer_normalization(OnnxNode& node, GraphBuilder& g);

}  // namespace minnow::onnx
