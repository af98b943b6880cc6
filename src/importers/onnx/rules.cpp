// SPDX-License-Identifier: Apache-2.0
// The one table of import rules for ONNX's operators. Operators without a row are copied unchanged.
#include <unordered_map>

#include "importers/onnx/rules.h"

namespace minnow::onnx {
namespace {

constexpr ImportRule kRules[] = {
    // Broadcasting by attribute, before opset 7.
    {"Add", 1, import_legacy_broadcast},
    {"Add", 7, import_copy},
    {"And", 1, import_legacy_broadcast},
    {"And", 7, import_copy},
    {"Div", 1, import_legacy_broadcast},
    {"Div", 7, import_copy},
    {"Equal", 1, import_legacy_broadcast},
    {"Equal", 7, import_copy},
    {"Greater", 1, import_legacy_broadcast},
    {"Greater", 7, import_copy},
    {"Less", 1, import_legacy_broadcast},
    {"Less", 7, import_copy},
    {"Mul", 1, import_legacy_broadcast},
    {"Mul", 7, import_copy},
    {"Or", 1, import_legacy_broadcast},
    {"Or", 7, import_copy},
    {"Pow", 1, import_legacy_broadcast},
    {"Pow", 7, import_copy},
    {"Sub", 1, import_legacy_broadcast},
    {"Sub", 7, import_copy},
    {"Xor", 1, import_legacy_broadcast},
    {"Xor", 7, import_copy},
    {"Gemm", 1, import_gemm_1},
    {"Gemm", 7, import_copy},
    {"PRelu", 1, import_prelu_1},
    {"PRelu", 7, import_copy},

    // Attributes that have become inputs.
    {"Clip", 1, import_clip_1},
    {"Clip", 11, import_copy},
    {"DFT", 17, import_dft_17},
    {"DFT", 20, import_copy},
    {"Pad", 1, import_pad_1},
    {"Pad", 2, import_pad_2},
    {"Pad", 11, import_copy},
    {"ReduceL1", 1, import_reduce_1},
    {"ReduceL1", 18, import_copy},
    {"ReduceL2", 1, import_reduce_1},
    {"ReduceL2", 18, import_copy},
    {"ReduceLogSum", 1, import_reduce_1},
    {"ReduceLogSum", 18, import_copy},
    {"ReduceLogSumExp", 1, import_reduce_1},
    {"ReduceLogSumExp", 18, import_copy},
    {"ReduceMax", 1, import_reduce_1},
    {"ReduceMax", 18, import_copy},
    {"ReduceMean", 1, import_reduce_1},
    {"ReduceMean", 18, import_copy},
    {"ReduceMin", 1, import_reduce_1},
    {"ReduceMin", 18, import_copy},
    {"ReduceProd", 1, import_reduce_1},
    {"ReduceProd", 18, import_copy},
    {"ReduceSum", 1, import_reduce_1},
    {"ReduceSum", 13, import_copy},
    {"ReduceSumSquare", 1, import_reduce_1},
    {"ReduceSumSquare", 18, import_copy},
    {"Reshape", 1, import_reshape_1},
    {"Reshape", 5, import_copy},
    {"Slice", 1, import_slice_1},
    {"Slice", 10, import_copy},
    {"Split", 1, import_split_1},
    {"Split", 13, import_split_13},
    {"Split", 18, import_copy},
    {"Squeeze", 1, import_axes_attribute},
    {"Squeeze", 13, import_copy},
    {"Tile", 1, import_tile_1},
    {"Tile", 6, import_copy},
    {"TopK", 1, import_top_k_1},
    {"TopK", 10, import_copy},
    {"Unsqueeze", 1, import_axes_attribute},
    {"Unsqueeze", 13, import_copy},

    // Other names, other defaults, other meanings.
    {"BatchNormalization", 1, import_batch_normalization_1},
    {"BatchNormalization", 7, import_batch_normalization_7},
    {"BatchNormalization", 9, import_batch_normalization_9},
    {"BatchNormalization", 14, import_copy},
    {"Cast", 1, import_cast_1},
    {"Cast", 6, import_copy},
    {"Concat", 1, import_concat_1},
    {"Concat", 4, import_copy},
    {"Dropout", 1, import_dropout_1},
    {"Dropout", 7, import_dropout_7},
    {"Dropout", 12, import_dropout_12},
    {"GlobalLpPool", 1, import_lp_pool_1},
    {"GlobalLpPool", 2, import_copy},
    {"GRU", 1, import_recurrent_1},
    {"GRU", 7, import_copy},
    {"GridSample", 16, import_grid_sample_16},
    {"GridSample", 20, import_copy},
    {"GroupNormalization", 18, import_group_normalization_18},
    {"GroupNormalization", 21, import_copy},
    {"Hardmax", 1, import_softmax_1},
    {"Hardmax", 13, import_copy},
    {"LogSoftmax", 1, import_softmax_1},
    {"LogSoftmax", 13, import_copy},
    {"LpPool", 1, import_lp_pool_1},
    {"LpPool", 2, import_copy},
    {"LSTM", 1, import_recurrent_1},
    {"LSTM", 7, import_copy},
    {"Resize", 10, import_resize_10},
    {"Resize", 11, import_resize_11},
    {"RNN", 1, import_recurrent_1},
    {"RNN", 7, import_copy},
    {"RoiAlign", 10, import_roi_align_10},
    {"RoiAlign", 16, import_copy},
    {"Scan", 8, import_scan_8},
    {"Scan", 9, import_copy},
    {"Scatter", 9, import_scatter},
    {"Selu", 1, import_selu_1},
    {"Selu", 6, import_copy},
    {"Softmax", 1, import_softmax_1},
    {"Softmax", 13, import_copy},
    {"SwiGLU", 28, import_swiglu},
    {"Upsample", 1, import_upsample_1},
    {"Upsample", 7, import_upsample_7},
    {"Upsample", 9, import_upsample_9},
    {"ai.onnx.preview.FlexAttention", 1, import_flex_attention},

    // Quantized operators.
    {"QLinearConv", 10, import_qlinear_conv},
    {"QLinearMatMul", 10, import_qlinear_matmul},
    {"com.microsoft.DequantizeLinear", 1, import_dequantize_microsoft},
    {"com.microsoft.DynamicQuantizeLSTM", 1, import_dynamic_quantize_lstm},
    {"com.microsoft.DynamicQuantizeMatMul", 1, import_dynamic_quantize_matmul},
    {"com.microsoft.MatMulIntegerToFloat", 1, import_matmul_integer_to_float},
    {"com.microsoft.QAttention", 1, import_attention_microsoft},
    {"com.microsoft.QEmbedLayerNormalization", 1, import_embed_layer_normalization},
    {"com.microsoft.QGemm", 1, import_qgemm},
    {"com.microsoft.QLinearAdd", 1, import_qlinear_binary},
    {"com.microsoft.QLinearAveragePool", 1, import_qlinear_unary},
    {"com.microsoft.QLinearConcat", 1, import_qlinear_concat},
    {"com.microsoft.QLinearGlobalAveragePool", 1, import_qlinear_unary},
    {"com.microsoft.QLinearLeakyRelu", 1, import_qlinear_unary},
    {"com.microsoft.QLinearMul", 1, import_qlinear_binary},
    {"com.microsoft.QLinearSigmoid", 1, import_qlinear_unary},
    {"com.microsoft.QLinearSoftmax", 1, import_qlinear_softmax},
    {"com.microsoft.QLinearWhere", 1, import_qlinear_where},
    {"com.microsoft.QuantizeLinear", 1, import_quantize_microsoft},

    // Operators that ONNX Runtime's optimizer writes.
    {"SimplifiedLayerNormalization", 1, import_simplified_layer_normalization},
    {"com.microsoft.Attention", 1, import_attention_microsoft},
    {"com.microsoft.BiasGelu", 1, import_bias_gelu},
    {"com.microsoft.EmbedLayerNormalization", 1, import_embed_layer_normalization},
    {"com.microsoft.FastGelu", 1, import_fast_gelu},
    {"com.microsoft.FusedConv", 1, import_fused_activation},
    {"com.microsoft.FusedGemm", 1, import_fused_activation},
    {"com.microsoft.FusedMatMul", 1, import_fused_matmul},
    {"com.microsoft.GatherBlockQuantized", 1, import_gather_block_quantized},
    {"com.microsoft.Gelu", 1, import_gelu_microsoft},
    {"com.microsoft.MatMulNBits", 1, import_matmul_nbits},
    {"com.microsoft.QuickGelu", 1, import_quick_gelu},
    {"com.microsoft.SkipLayerNormalization", 1, import_skip_layer_normalization},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, import_skip_layer_normalization},
};

}  // namespace

std::vector<ImportRule> all_rules() { return {std::begin(kRules), std::end(kRules)}; }

Builder* find_rule(std::string_view op, int64_t version) {
  static const std::unordered_multimap<std::string_view, const ImportRule*> index = [] {
    std::unordered_multimap<std::string_view, const ImportRule*> rows;
    for (const ImportRule& rule : kRules) rows.emplace(rule.op, &rule);
    return rows;
  }();
  const ImportRule* best = nullptr;
  const auto [from, to] = index.equal_range(op);
  for (auto row = from; row != to; ++row)
    if (row->second->since <= version && (!best || row->second->since > best->since)) best = row->second;
  return best ? best->build : import_copy;
}

}  // namespace minnow::onnx
