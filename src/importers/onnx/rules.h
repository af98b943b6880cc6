// SPDX-License-Identifier: Apache-2.0
// The builders named in the rule table (rules.cpp), by the file that defines them, and their shared functions.
#pragma once
#include "importers/onnx/onnx_node.h"

namespace minnow::onnx {

// Parts that rules are made of.
Expr shape_of(const Expr& x);                     // i64 vector
Expr ones(const Expr& count);                     // i64 vector of `count` ones; `count`: i64, one element
Expr reshaped(const Expr& x, const Ints& shape);  // a constant is reshaped at once
/// A scale or zero point of one element as a scalar, whatever rank it was stored with.
Expr as_scalar(OnnxNode& node, const Expr& x);
inline constexpr int64_t kNoAxis = INT64_MIN;
/// DequantizeLinear; the axis matters where the scale is a vector.
Expr dequantized(OnnxNode& node, const Expr& x, const Expr& scale, const Expr& zero_point, int64_t axis = kNoAxis);
/// Softmax, LogSoftmax or Hardmax as before opset 13, where the dimensions from `axis` on were one.
Expr softmax_1(OnnxNode& node, GraphBuilder& g, std::string_view op, const Expr& x, int64_t axis);

// rules_elementwise.cpp
Builder import_copy, import_legacy_broadcast, import_prelu_1, import_clip_1, import_cast_1, import_selu_1, import_dropout_1,
    import_dropout_7, import_dropout_12, import_swiglu;

// rules_shape.cpp
Builder import_slice_1, import_pad_1, import_pad_2, import_top_k_1, import_axes_attribute, import_reduce_1, import_split_1, import_split_13,
    import_reshape_1, import_tile_1, import_concat_1, import_scatter, import_dft_17;

// rules_resize.cpp
Builder import_upsample_1, import_upsample_7, import_upsample_9, import_resize_10, import_resize_11, import_grid_sample_16,
    import_roi_align_10;

// rules_network.cpp
Builder import_softmax_1, import_batch_normalization_1, import_batch_normalization_7, import_batch_normalization_9,
    import_group_normalization_18, import_gemm_1, import_lp_pool_1, import_recurrent_1, import_scan_8, import_flex_attention;

// rules_quantized.cpp
Builder import_qlinear_conv, import_qlinear_matmul;
Builder import_qlinear_binary;  // com.microsoft.QLinearAdd, QLinearMul
Builder import_qlinear_unary;   // com.microsoft.QLinearSigmoid, QLinearLeakyRelu, QLinear...Pool
Builder import_qgemm, import_qlinear_softmax, import_qlinear_where;
Builder import_qlinear_concat, import_quantize_microsoft, import_dequantize_microsoft, import_dynamic_quantize_lstm,
    import_matmul_integer_to_float, import_dynamic_quantize_matmul;

// rules_microsoft.cpp
Builder import_fused_matmul, import_gelu_microsoft, import_bias_gelu, import_fast_gelu, import_quick_gelu, import_skip_layer_normalization,
    import_simplified_layer_normalization;
Builder import_fused_activation;  // FusedConv, FusedGemm

// rules_attention.cpp
Builder import_attention_microsoft;        // Attention, QAttention
Builder import_embed_layer_normalization;  // EmbedLayerNormalization, QEmbedLayerNormalization

// rules_nbits.cpp
Builder import_matmul_nbits, import_gather_block_quantized;

}  // namespace minnow::onnx
