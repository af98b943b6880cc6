// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them.
#pragma once
#include "importers/mnn/mnn_node.h"

namespace minnow::mnn {

// rules_elementwise.cpp
Exprs import_binary(MnnNode& node, Parts& p);
Exprs import_bnll(MnnNode& node, Parts& p);
Exprs import_cast(MnnNode& node, Parts& p);
Exprs import_cast_like(MnnNode& node, Parts& p);
Exprs import_elu(MnnNode& node, Parts& p);
Exprs import_eltwise(MnnNode& node, Parts& p);
Exprs import_identity(MnnNode& node, Parts& p);
Exprs import_prelu(MnnNode& node, Parts& p);
Exprs import_relu(MnnNode& node, Parts& p);
Exprs import_relu6(MnnNode& node, Parts& p);
Exprs import_scale(MnnNode& node, Parts& p);
Exprs import_select(MnnNode& node, Parts& p);
Exprs import_selu(MnnNode& node, Parts& p);
Exprs import_split_gelu(MnnNode& node, Parts& p);
Exprs import_threshold(MnnNode& node, Parts& p);
Exprs import_unary(MnnNode& node, Parts& p);
Exprs import_plain_unary(MnnNode& node, Parts& p);  // target: the operator
Exprs import_zeros_like(MnnNode& node, Parts& p);

// rules_network.cpp
Exprs import_batch_matmul(MnnNode& node, Parts& p);
Exprs import_batch_norm(MnnNode& node, Parts& p);
Exprs import_convolution(MnnNode& node, Parts& p);
Exprs import_convolution_3d(MnnNode& node, Parts& p);
Exprs import_cosine_similarity(MnnNode& node, Parts& p);
Exprs import_deconvolution(MnnNode& node, Parts& p);
Exprs import_deconvolution_3d(MnnNode& node, Parts& p);
Exprs import_det(MnnNode& node, Parts& p);
Exprs import_dilation_2d(MnnNode& node, Parts& p);
Exprs import_grid_sample(MnnNode& node, Parts& p);
Exprs import_group_norm(MnnNode& node, Parts& p);
Exprs import_im2col(MnnNode& node, Parts& p);
Exprs import_col2im(MnnNode& node, Parts& p);
Exprs import_inner_product(MnnNode& node, Parts& p);
Exprs import_instance_norm(MnnNode& node, Parts& p);
Exprs import_interp(MnnNode& node, Parts& p);
Exprs import_layer_norm(MnnNode& node, Parts& p);
Exprs import_lrn(MnnNode& node, Parts& p);
Exprs import_matmul(MnnNode& node, Parts& p);
Exprs import_moments(MnnNode& node, Parts& p);
Exprs import_normalize(MnnNode& node, Parts& p);
Exprs import_pooling(MnnNode& node, Parts& p);
Exprs import_pooling_3d(MnnNode& node, Parts& p);
Exprs import_reduction(MnnNode& node, Parts& p);
Exprs import_resize(MnnNode& node, Parts& p);
Exprs import_softmax(MnnNode& node, Parts& p);
Exprs import_stft(MnnNode& node, Parts& p);

// rules_quantized.cpp
Exprs import_convolution_int8(MnnNode& node, Parts& p);
Exprs import_dynamic_quantize(MnnNode& node, Parts& p);
Exprs import_eltwise_int8(MnnNode& node, Parts& p);
Exprs import_float_to_int8(MnnNode& node, Parts& p);
Exprs import_int8_to_float(MnnNode& node, Parts& p);

// rules_recurrent.cpp
Exprs import_gru(MnnNode& node, Parts& p);
Exprs import_if(MnnNode& node, Parts& p);
Exprs import_lstm(MnnNode& node, Parts& p);
Exprs import_lstm_block_cell(MnnNode& node, Parts& p);
Exprs import_rnn(MnnNode& node, Parts& p);
Exprs import_while(MnnNode& node, Parts& p);
Exprs import_tensor_array(MnnNode& node, Parts& p);
Exprs import_tensor_array_size(MnnNode& node, Parts& p);
Exprs import_tensor_array_read(MnnNode& node, Parts& p);
Exprs import_tensor_array_write(MnnNode& node, Parts& p);
Exprs import_tensor_array_gather(MnnNode& node, Parts& p);
Exprs import_tensor_array_scatter(MnnNode& node, Parts& p);
Exprs import_tensor_array_split(MnnNode& node, Parts& p);
Exprs import_tensor_array_concat(MnnNode& node, Parts& p);
Exprs import_tensor_array_insert(MnnNode& node, Parts& p);
Exprs import_tensor_array_erase(MnnNode& node, Parts& p);

// rules_shape.cpp
Exprs import_arg_extreme(MnnNode& node, Parts& p);  // target: the operator
Exprs import_batch_to_space(MnnNode& node, Parts& p);
Exprs import_broadcast_to(MnnNode& node, Parts& p);
Exprs import_concat(MnnNode& node, Parts& p);
Exprs import_convert_tensor(MnnNode& node, Parts& p);
Exprs import_crop(MnnNode& node, Parts& p);
Exprs import_cumulative(MnnNode& node, Parts& p);  // target: the operator
Exprs import_depth_to_space(MnnNode& node, Parts& p);
Exprs import_expand_dims(MnnNode& node, Parts& p);
Exprs import_eye_like(MnnNode& node, Parts& p);
Exprs import_fill(MnnNode& node, Parts& p);
Exprs import_flatten(MnnNode& node, Parts& p);
Exprs import_gather(MnnNode& node, Parts& p);
Exprs import_gather_elements(MnnNode& node, Parts& p);
Exprs import_gather_nd(MnnNode& node, Parts& p);
Exprs import_histogram(MnnNode& node, Parts& p);
Exprs import_lin_space(MnnNode& node, Parts& p);
Exprs import_matrix_band_part(MnnNode& node, Parts& p);
Exprs import_one_hot(MnnNode& node, Parts& p);
Exprs import_pack(MnnNode& node, Parts& p);
Exprs import_padding(MnnNode& node, Parts& p);
Exprs import_permute(MnnNode& node, Parts& p);
Exprs import_random(MnnNode& node, Parts& p);  // target: the operator
Exprs import_range(MnnNode& node, Parts& p);
Exprs import_rank(MnnNode& node, Parts& p);
Exprs import_reshape(MnnNode& node, Parts& p);
Exprs import_reverse(MnnNode& node, Parts& p);
Exprs import_reverse_sequence(MnnNode& node, Parts& p);
Exprs import_scatter_elements(MnnNode& node, Parts& p);
Exprs import_scatter_nd(MnnNode& node, Parts& p);
Exprs import_segment_mean(MnnNode& node, Parts& p);
Exprs import_set_diff(MnnNode& node, Parts& p);
Exprs import_shape(MnnNode& node, Parts& p);
Exprs import_size(MnnNode& node, Parts& p);
Exprs import_slice(MnnNode& node, Parts& p);
Exprs import_slice_tf(MnnNode& node, Parts& p);
Exprs import_space_to_batch(MnnNode& node, Parts& p);
Exprs import_space_to_depth(MnnNode& node, Parts& p);
Exprs import_squeeze(MnnNode& node, Parts& p);
Exprs import_strided_slice(MnnNode& node, Parts& p);
Exprs import_tile(MnnNode& node, Parts& p);
Exprs import_top_k(MnnNode& node, Parts& p);
Exprs import_transpose(MnnNode& node, Parts& p);
Exprs import_unique(MnnNode& node, Parts& p);
Exprs import_unpack(MnnNode& node, Parts& p);
Exprs import_unravel_index(MnnNode& node, Parts& p);
Exprs import_unsqueeze(MnnNode& node, Parts& p);
Exprs import_where(MnnNode& node, Parts& p);

// rules_detection.cpp
Exprs import_crop_and_resize(MnnNode& node, Parts& p);
Exprs import_detection_output(MnnNode& node, Parts& p);
Exprs import_detection_post_process(MnnNode& node, Parts& p);
Exprs import_non_max_suppression(MnnNode& node, Parts& p);
Exprs import_prior_box(MnnNode& node, Parts& p);
Exprs import_roi_align(MnnNode& node, Parts& p);
Exprs import_roi_pooling(MnnNode& node, Parts& p);

}  // namespace minnow::mnn
