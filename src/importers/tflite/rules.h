// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them.
#pragma once
#include "importers/tflite/tflite_node.h"

namespace minnow::tflite {

// rules_elementwise.cpp
Exprs import_unary(TfliteNode& node, Parts& p);             // target: the operator
Exprs import_binary(TfliteNode& node, Parts& p);            // target: the operator
Exprs import_binary_activated(TfliteNode& node, Parts& p);  // the same; option 0 is an activation function
Exprs import_add_n(TfliteNode& node, Parts& p);
Exprs import_atan2(TfliteNode& node, Parts& p);
Exprs import_bitcast(TfliteNode& node, Parts& p);
Exprs import_bitwise_xor(TfliteNode& node, Parts& p);
Exprs import_bucketize(TfliteNode& node, Parts& p);
Exprs import_cast(TfliteNode& node, Parts& p);
Exprs import_clipped_relu(TfliteNode& node, Parts& p);
Exprs import_dequantize(TfliteNode& node, Parts& p);
Exprs import_div(TfliteNode& node, Parts& p);
Exprs import_fake_quant(TfliteNode& node, Parts& p);
Exprs import_floor_div(TfliteNode& node, Parts& p);
Exprs import_floor_mod(TfliteNode& node, Parts& p);
Exprs import_gelu(TfliteNode& node, Parts& p);
Exprs import_leaky_relu(TfliteNode& node, Parts& p);
Exprs import_not_equal(TfliteNode& node, Parts& p);
Exprs import_quantize(TfliteNode& node, Parts& p);
Exprs import_right_shift(TfliteNode& node, Parts& p);
Exprs import_rsqrt(TfliteNode& node, Parts& p);
Exprs import_select(TfliteNode& node, Parts& p);
Exprs import_square(TfliteNode& node, Parts& p);
Exprs import_squared_difference(TfliteNode& node, Parts& p);

// rules_network.cpp
Exprs import_batch_matmul(TfliteNode& node, Parts& p);
Exprs import_conv_2d(TfliteNode& node, Parts& p);
Exprs import_conv_3d(TfliteNode& node, Parts& p);
Exprs import_conv_3d_transpose(TfliteNode& node, Parts& p);
Exprs import_depthwise_conv_2d(TfliteNode& node, Parts& p);
Exprs import_depth_to_space(TfliteNode& node, Parts& p);
Exprs import_space_to_depth(TfliteNode& node, Parts& p);
Exprs import_batch_to_space(TfliteNode& node, Parts& p);
Exprs import_space_to_batch(TfliteNode& node, Parts& p);
Exprs import_embedding_lookup(TfliteNode& node, Parts& p);
Exprs import_fully_connected(TfliteNode& node, Parts& p);
Exprs import_hashtable_lookup(TfliteNode& node, Parts& p);
Exprs import_l2_normalization(TfliteNode& node, Parts& p);
Exprs import_local_response_normalization(TfliteNode& node, Parts& p);
Exprs import_log_softmax(TfliteNode& node, Parts& p);
Exprs import_pool(TfliteNode& node, Parts& p);  // target: the operator
Exprs import_resize_bilinear(TfliteNode& node, Parts& p);
Exprs import_resize_nearest(TfliteNode& node, Parts& p);
Exprs import_softmax(TfliteNode& node, Parts& p);
Exprs import_transpose_conv(TfliteNode& node, Parts& p);
Exprs import_reduce_window(TfliteNode& node, Parts& p);

// rules_shape.cpp
Exprs import_arg_extreme(TfliteNode& node, Parts& p);  // target: the operator
Exprs import_broadcast_args(TfliteNode& node, Parts& p);
Exprs import_broadcast_to(TfliteNode& node, Parts& p);
Exprs import_concatenation(TfliteNode& node, Parts& p);
Exprs import_cumsum(TfliteNode& node, Parts& p);
Exprs import_densify(TfliteNode& node, Parts& p);
Exprs import_dilate(TfliteNode& node, Parts& p);
Exprs import_dynamic_update_slice(TfliteNode& node, Parts& p);
Exprs import_expand_dims(TfliteNode& node, Parts& p);
Exprs import_fill(TfliteNode& node, Parts& p);
Exprs import_gather(TfliteNode& node, Parts& p);
Exprs import_gather_nd(TfliteNode& node, Parts& p);
Exprs import_matrix_diag(TfliteNode& node, Parts& p);
Exprs import_matrix_set_diag(TfliteNode& node, Parts& p);
Exprs import_mirror_pad(TfliteNode& node, Parts& p);
Exprs import_one_hot(TfliteNode& node, Parts& p);
Exprs import_pack(TfliteNode& node, Parts& p);
Exprs import_pad(TfliteNode& node, Parts& p);
Exprs import_range(TfliteNode& node, Parts& p);
Exprs import_rank(TfliteNode& node, Parts& p);
Exprs import_reduce(TfliteNode& node, Parts& p);  // target: the operator
Exprs import_reshape(TfliteNode& node, Parts& p);
Exprs import_reverse(TfliteNode& node, Parts& p);
Exprs import_reverse_sequence(TfliteNode& node, Parts& p);
Exprs import_scatter_nd(TfliteNode& node, Parts& p);
Exprs import_segment_sum(TfliteNode& node, Parts& p);
Exprs import_shape(TfliteNode& node, Parts& p);
Exprs import_slice(TfliteNode& node, Parts& p);
Exprs import_sparse_to_dense(TfliteNode& node, Parts& p);
Exprs import_split(TfliteNode& node, Parts& p);
Exprs import_split_v(TfliteNode& node, Parts& p);
Exprs import_squeeze(TfliteNode& node, Parts& p);
Exprs import_strided_slice(TfliteNode& node, Parts& p);
Exprs import_tile(TfliteNode& node, Parts& p);
Exprs import_top_k(TfliteNode& node, Parts& p);
Exprs import_transpose(TfliteNode& node, Parts& p);
Exprs import_unique(TfliteNode& node, Parts& p);
Exprs import_unpack(TfliteNode& node, Parts& p);
Exprs import_unsorted_segment(TfliteNode& node, Parts& p);  // target: "add", "mul", "max" or "min"
Exprs import_where(TfliteNode& node, Parts& p);
Exprs import_zeros_like(TfliteNode& node, Parts& p);

// rules_recurrent.cpp
Exprs import_lstm(TfliteNode& node, Parts& p);
Exprs import_sequence_lstm(TfliteNode& node, Parts& p);
Exprs import_bidirectional_lstm(TfliteNode& node, Parts& p);
Exprs import_rnn(TfliteNode& node, Parts& p);
Exprs import_sequence_rnn(TfliteNode& node, Parts& p);
Exprs import_bidirectional_rnn(TfliteNode& node, Parts& p);
Exprs import_svdf(TfliteNode& node, Parts& p);

// rules_control.cpp
Exprs import_assign_variable(TfliteNode& node, Parts& p);
Exprs import_call(TfliteNode& node, Parts& p);
Exprs import_call_once(TfliteNode& node, Parts& p);
Exprs import_complex_abs(TfliteNode& node, Parts& p);
Exprs import_imag(TfliteNode& node, Parts& p);
Exprs import_if(TfliteNode& node, Parts& p);
Exprs import_multinomial(TfliteNode& node, Parts& p);
Exprs import_random(TfliteNode& node, Parts& p);  // target: the operator
Exprs import_read_variable(TfliteNode& node, Parts& p);
Exprs import_real(TfliteNode& node, Parts& p);
Exprs import_rfft2d(TfliteNode& node, Parts& p);
Exprs import_var_handle(TfliteNode& node, Parts& p);
Exprs import_while(TfliteNode& node, Parts& p);

// rules_detection.cpp
Exprs import_detection_post_process(TfliteNode& node, Parts& p);
Exprs import_non_max_suppression(TfliteNode& node, Parts& p);
Exprs import_transpose_conv_bias(TfliteNode& node, Parts& p);

}  // namespace minnow::tflite
