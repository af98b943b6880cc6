// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them.
#pragma once
#include "importers/tflite/flexbuffer.h"
#include "importers/tflite/tflite_node.h"

namespace minnow::tflite {

// rules_elementwise.cpp
Builder import_unary, import_binary;  // target: the operator
Builder import_add_n, import_atan2, import_bitcast, import_bitwise_xor, import_bucketize, import_cast, import_clipped_relu,
    import_dequantize, import_div, import_fake_quant, import_floor_div, import_floor_mod, import_gelu, import_leaky_relu, import_not_equal,
    import_quantize, import_right_shift, import_rsqrt, import_select, import_square, import_squared_difference;
Builder import_binary_activated;  // the same; option 0 is an activation function

// rules_network.cpp
Builder import_batch_matmul, import_conv_2d, import_conv_3d, import_conv_3d_transpose, import_depthwise_conv_2d, import_depth_to_space,
    import_space_to_depth, import_batch_to_space, import_space_to_batch, import_embedding_lookup, import_fully_connected,
    import_hashtable_lookup, import_l2_normalization, import_local_response_normalization, import_log_softmax, import_resize_bilinear,
    import_resize_nearest, import_softmax, import_transpose_conv, import_reduce_window;
Builder import_pool;  // target: the operator

// rules_shape.cpp
Builder import_broadcast_args, import_broadcast_to, import_concatenation, import_cumsum, import_densify, import_dilate,
    import_dynamic_update_slice, import_expand_dims, import_fill, import_gather, import_gather_nd, import_matrix_diag,
    import_matrix_set_diag, import_mirror_pad, import_one_hot, import_pack, import_pad, import_range, import_rank, import_reshape,
    import_reverse, import_reverse_sequence, import_scatter_nd, import_segment_sum, import_shape, import_slice, import_sparse_to_dense,
    import_split, import_split_v, import_squeeze, import_strided_slice, import_tile, import_top_k, import_transpose, import_unique,
    import_unpack, import_where, import_zeros_like;
Builder import_argmax, import_reduce;  // target: the operator
Builder import_unsorted_segment;       // target: "add", "mul", "max" or "min"

// rules_recurrent.cpp
Builder import_lstm, import_sequence_lstm, import_bidirectional_lstm, import_rnn, import_sequence_rnn, import_bidirectional_rnn,
    import_svdf;
// fixed_point_lstm.cpp
/// An LSTM layer in LiteRT's integers: Y, Y_h and Y_c as stored, for `x` [steps, batch, input] as stored. Empty where the layer has other
/// dtypes or scales than LiteRT's kernel of 8-bit data and 16-bit cells takes.
Exprs fixed_point_lstm(TfliteNode& node, TypedBuilder& p, const Expr& x);

// rules_control.cpp
Builder import_assign_variable, import_call, import_call_once, import_complex_abs, import_composite, import_imag, import_if,
    import_multinomial, import_read_variable, import_real, import_rfft2d, import_var_handle, import_while;
Builder import_random;  // target: the operator

// rules_detection.cpp
Builder import_detection_post_process, import_non_max_suppression, import_transpose_conv_bias;
/// A number among a custom operator's options, which must be there unless `fallback` is given.
double number_of(const TfliteNode& node, const FlexMap& options, const std::string& name, std::optional<double> fallback = {});

// rules_mediapipe.cpp
Builder import_landmarks_to_matrix, import_max_pool_argmax, import_max_unpool, import_transform_landmarks, import_transform_tensor;

}  // namespace minnow::tflite
