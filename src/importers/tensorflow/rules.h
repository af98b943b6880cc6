// SPDX-License-Identifier: Apache-2.0
// Rules defined in other files than rules.cpp, which holds the one table.
#pragma once
#include "importers/tensorflow/tf_node.h"

namespace minnow::tensorflow {

// rules_lists.cpp: lists of tensors are sequences.
Builder tensor_array, tensor_array_write, tensor_array_read, tensor_array_gather, tensor_array_scatter, tensor_array_concat,
    tensor_array_split, tensor_array_size, list_reserve, list_empty, list_from_tensor, list_get, list_set, list_stack, list_length,
    list_push, list_pop, list_gather, list_scatter, list_concat;

// rules_tables.cpp: lookups in tables of constants.
Builder table_find, table_size;

// rules_images.cpp
Builder conv, depthwise_conv, conv_transpose, pool, pool_argmax, bias_add, fused_batch_norm, resize, resize_bicubic, resize_area,
    extract_patches, space_to_depth, depth_to_space, space_to_batch, batch_to_space, lrn, rgb_to_hsv, hsv_to_rgb, adjust_contrast, crop,
    non_max_suppression, non_max_suppression_counted, combined_non_max_suppression;

// rules_signal.cpp; rows with the target "complex" read or give complex numbers.
Builder import_fft, import_rfft, import_irfft, import_complex, import_real, import_imaginary, import_complex_abs, audio_spectrogram, mfcc;

}  // namespace minnow::tensorflow
