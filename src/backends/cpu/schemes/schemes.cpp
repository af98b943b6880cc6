// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

std::vector<std::span<const Scheme>> scheme_table() {
  return {arg_extreme_schemes(),
          attention_schemes(),
          pair_schemes(),
          binary_schemes(),
          byte_pool_schemes(),
          channel_shuffle_schemes(),
          conv_schemes(),
          conv_transpose_schemes(),
          conv_volume_schemes(),
          deform_conv_schemes(),
          elementwise_schemes(),
          fused_elementwise_schemes(),
          gather_elements_schemes(),
          integer_elementwise_schemes(),
          matmul_schemes(),
          movement_schemes(),
          normalization_schemes(),
          pool_schemes(),
          quantize_schemes(),
          quantized_conv_schemes(),
          quantized_matmul_schemes(),
          recurrent_schemes(),
          reduce_schemes(),
          reorder_schemes(),
          resize_schemes(),
          sampling_schemes(),
          softmax_schemes(),
          strassen_schemes(),
          wide_matmul_schemes(),
          winograd_schemes()};
}

}  // namespace minnow::cpu
