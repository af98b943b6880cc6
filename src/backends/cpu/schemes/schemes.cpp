// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

std::vector<Scheme> scheme_table() {
  const std::span<const Scheme> files[] = {argmax_schemes(),
                                           attention_schemes(),
                                           low_precision_schemes(),
                                           binary_schemes(),
                                           byte_pool_schemes(),
                                           channel_shuffle_schemes(),
                                           conv_schemes(),
                                           conv_transpose_schemes(),
                                           conv_3d_schemes(),
                                           deform_conv_schemes(),
                                           elementwise_schemes(),
                                           fused_elementwise_schemes(),
                                           gather_elements_schemes(),
                                           integer_elementwise_schemes(),
                                           matmul_schemes(),
                                           matmul_rows_schemes(),
                                           movement_schemes(),
                                           normalization_schemes(),
                                           pool_schemes(),
                                           quantize_schemes(),
                                           quantized_conv_schemes(),
                                           quantized_depthwise_schemes(),
                                           quantized_matmul_schemes(),
                                           random_schemes(),
                                           recurrent_schemes(),
                                           reduce_schemes(),
                                           reorder_schemes(),
                                           resize_schemes(),
                                           sampling_schemes(),
                                           softmax_schemes(),
                                           strassen_schemes(),
                                           matmul_f64_i32_schemes(),
                                           winograd_schemes()};
  std::vector<Scheme> table;
#if MINNOW_GRADIENTS
  for (const std::span<const Scheme> file :
       {attention_gradient_schemes(), batch_normalization_schemes(), conv_gradient_schemes(), recurrent_gradient_schemes(),
        layer_normalization_gradient_schemes(), pool_gradient_schemes(), scatter_add_schemes()})
    table.insert(table.end(), file.begin(), file.end());
#endif
#if !MINNOW_SMALL
  for (const std::span<const Scheme> file :
       {nbits_schemes(), packed_pad_schemes(), quantized_attention_schemes(), quantized_matmul_packed_schemes(), sparse_schemes()})
    table.insert(table.end(), file.begin(), file.end());
#endif
  for (const std::span<const Scheme> file : files) table.insert(table.end(), file.begin(), file.end());
  return table;
}

}  // namespace minnow::cpu
