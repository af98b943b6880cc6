// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them.
#pragma once
#include "importers/mnn/mnn_node.h"

namespace minnow::mnn {

// rules_elementwise.cpp
Builder import_binary, import_bnll, import_cast, import_cast_like, import_elu, import_eltwise, import_identity, import_prelu, import_relu,
    import_relu6, import_scale, import_select, import_selu, import_spatial_product, import_split_gelu, import_threshold, import_unary,
    import_zeros_like;
Builder import_plain_unary;  // target: the operator

// rules_convolution.cpp
Builder import_col2im, import_convolution, import_convolution_3d, import_deconvolution, import_deconvolution_3d, import_dilation_2d,
    import_filter_gradient, import_im2col, import_inner_product, import_pool_gradient, import_pooling, import_pooling_3d;

// rules_network.cpp
Builder import_batch_matmul, import_batch_norm, import_cosine_similarity, import_det, import_fused_linear, import_gated_norm,
    import_grid_sample, import_group_norm, import_instance_norm, import_interp, import_layer_norm, import_lrn, import_matmul,
    import_moments, import_normalize, import_reduction, import_resize, import_softmax, import_stft, import_svd;

// rules_image.cpp
Builder import_image_process;

// rules_attention.cpp
Builder import_attention, import_linear_attention, import_rope;

// rules_quantized.cpp
Builder import_convolution_int8, import_dequantize, import_dynamic_quantize, import_eltwise_int8, import_float_to_int8,
    import_int8_to_float;

// rules_recurrent.cpp
Builder import_experts, import_gru, import_if, import_lstm, import_lstm_block_cell, import_rnn, import_while, import_tensor_array,
    import_tensor_array_size, import_tensor_array_read, import_tensor_array_write, import_tensor_array_gather, import_tensor_array_scatter,
    import_tensor_array_split, import_tensor_array_concat, import_tensor_array_insert, import_tensor_array_erase;

// rules_shape.cpp
Builder import_batch_to_space, import_broadcast_to, import_concat, import_convert_tensor, import_crop, import_depth_to_space,
    import_expand_dims, import_eye_like, import_fill, import_flatten, import_gather, import_gather_elements, import_gather_nd,
    import_histogram, import_lin_space, import_matrix_band_part, import_one_hot, import_pack, import_padding, import_permute, import_range,
    import_rank, import_reshape, import_reverse, import_reverse_sequence, import_scatter_elements, import_scatter_nd, import_segment_mean,
    import_set_diff, import_shape, import_size, import_slice, import_slice_tf, import_space_to_batch, import_space_to_depth, import_squeeze,
    import_strided_slice, import_tile, import_top_k, import_transpose, import_unique, import_unpack, import_unravel_index, import_unsqueeze,
    import_where;
Builder import_argmax, import_cumulative, import_random;  // target: the operator

// rules_raster.cpp
Builder import_raster;

// rules_detection.cpp
Builder import_crop_and_resize, import_detection_output, import_detection_post_process, import_non_max_suppression, import_prior_box,
    import_proposal, import_roi_align, import_roi_pooling;

}  // namespace minnow::mnn
