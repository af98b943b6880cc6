// SPDX-License-Identifier: Apache-2.0
// The builders of the table in rules.cpp, by the files that have them.
#pragma once
#include "importers/torchscript/call.h"

namespace minnow::torchscript {

// rules_numbers.cpp
Builder import_arithmetic, import_reversed_sub, import_divide, import_fmod, import_power, import_compare, import_not, import_bitwise,
    import_bitwise_not, import_logical, import_shift, import_negate, import_number_function, import_number_min_max, import_int,
    import_float, import_item, import_bool, import_to_tensor, import_tensor_literal, import_to_list, import_dtype, import_is_floating,
    import_text_constant, import_false, import_true, import_zero, import_minus_one, import_is_quantized, import_nothing, import_length,
    import_get, import_dict_get, import_set, import_update, import_set_default, import_append, import_extend, import_insert, import_pop,
    import_clear, import_delete, import_reverse_list, import_copy_list, import_list_slice, import_contains, import_keys, import_new_dict,
    import_sum_list, import_all_of_list, import_sorted, import_sort_list, import_range_length, import_derive_index, import_lower,
    import_starts_with;

// rules_elementwise.cpp
Builder import_unary, import_unary_same, import_rounding, import_fraction, import_rsqrt, import_square, import_log_base, import_log1p,
    import_expm1, import_exp2, import_erfc, import_scaled, import_logit, import_sinc, import_atan2, import_is_finite, import_is_special,
    import_nan_to_num, import_clamp, import_lerp, import_addcmul, import_xlogy, import_hypot, import_logaddexp, import_where,
    import_masked_fill, import_is_close, import_tensors_equal, import_leaky_relu, import_rrelu, import_relu, import_relu6, import_elu,
    import_celu, import_selu, import_gelu, import_silu, import_mish, import_hard_sigmoid, import_hard_swish, import_hard_tanh,
    import_hard_shrink, import_tanh_shrink, import_threshold, import_softplus, import_log_sigmoid, import_softmax, import_prelu, import_glu,
    import_dropout, import_reduce, import_all_any, import_count_nonzero, import_nan_sum, import_min_max, import_argmax, import_aminmax,
    import_variance, import_norm, import_frobenius, import_cumulative, import_log_cumsum_exp, import_distance, import_pairwise_distance,
    import_cosine_similarity, import_matmul, import_linear, import_addmm, import_outer, import_einsum, import_tensordot, import_bilinear,
    import_cross, import_det, import_mse_loss;

// rules_network.cpp
Builder import_conv, import_convolution, import_batch_norm, import_instance_norm, import_group_norm, import_layer_norm, import_max_pool,
    import_avg_pool, import_adaptive_pool, import_max_unpool, import_upsample, import_pad, import_pixel_shuffle, import_pixel_unshuffle,
    import_channel_shuffle, import_im2col, import_col2im, import_grid_sampler, import_affine_grid, import_embedding, import_embedding_bag,
    import_attention, import_native_attention, import_encoder_layer, import_nms, import_roi_align, import_roi_pool, import_deform_conv;

// rules_recurrent.cpp
Builder import_recurrent, import_recurrent_cell;

// rules_complex.cpp
Builder import_view_as_complex, import_view_as_real, import_make_complex, import_complex_part, import_complex_exp, import_complex_sum,
    import_complex_product, import_complex_quotient, import_fft, import_fft_frequencies, import_stft, import_istft;

// rules_shape.cpp
Builder import_size, import_dim, import_numel, import_shape_tensor, import_stride, import_view, import_view_as, import_flatten,
    import_ravel, import_unflatten, import_squeeze, import_unsqueeze, import_identity, import_clone, import_as_strided, import_permute,
    import_transpose, import_numpy_transpose, import_movedim, import_flip, import_rot90, import_roll, import_expand, import_expand_as,
    import_repeat, import_repeat_interleave, import_broadcast_tensors, import_meshgrid, import_slice, import_select, import_narrow,
    import_chunk, import_split, import_tensor_split, import_unbind, import_tensor_item, import_diagonal, import_trilu, import_diag,
    import_diag_embed, import_unfold_dimension, import_cat, import_stack, import_hstack;

// rules_creation.cpp
Builder import_full, import_full_like, import_new_full, import_fill_in_place, import_copy_in_place, import_arange, import_linspace,
    import_eye, import_window, import_tril_indices, import_random, import_to, import_cast_to;

// rules_indexing.cpp
Builder import_gather, import_index_select, import_take, import_scatter, import_index_add, import_index, import_index_put,
    import_masked_select, import_masked_scatter, import_nonzero, import_topk, import_sort, import_msort, import_kthvalue, import_median,
    import_unique, import_one_hot, import_bucketize, import_isin;

// rules_quantized.cpp
Builder import_quantize, import_quantize_channels, import_dequantize, import_quantization_fact, import_int_repr, import_prepack,
    import_unpack, import_quantized_conv, import_quantized_linear, import_dynamic_linear, import_quantized_recurrent,
    import_quantized_recurrent_cell, import_quantized_binary, import_quantized_cat, import_quantized_batch_norm,
    import_quantized_activation, import_quantized_relu6, import_quantized_layer_norm;

}  // namespace minnow::torchscript
