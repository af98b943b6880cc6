// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/schemes.h"

// The files of schemes: name_schemes() gives the rows of a file that the build keeps. Files in large/ and gradients/ are not in every
// build.
#define MINNOW_SCHEME_FILES(DO)                \
  DO(attention_gradient, kGradients)           \
  DO(batch_normalization, kGradients)          \
  DO(conv_gradient, kGradients)                \
  DO(recurrent_gradient, kGradients)           \
  DO(layer_normalization_gradient, kGradients) \
  DO(pool_gradient, kGradients)                \
  DO(scatter_add, kGradients)                  \
  DO(random, kGradients)                       \
  DO(nbits, !kSmall)                           \
  DO(packed_pad, !kSmall)                      \
  DO(quantized_attention, !kSmall)             \
  DO(quantized_matmul_packed, !kSmall)         \
  DO(sparse, !kSmall)                          \
  DO(argmax, true)                             \
  DO(attention, true)                          \
  DO(low_precision, true)                      \
  DO(binary, true)                             \
  DO(byte_pool, true)                          \
  DO(channel_shuffle, true)                    \
  DO(conv, true)                               \
  DO(conv_transpose, true)                     \
  DO(conv_3d, true)                            \
  DO(deform_conv, true)                        \
  DO(elementwise, true)                        \
  DO(fused_elementwise, true)                  \
  DO(gather_elements, true)                    \
  DO(integer_elementwise, true)                \
  DO(matmul, true)                             \
  DO(matmul_rows, true)                        \
  DO(movement, true)                           \
  DO(normalization, true)                      \
  DO(pool, true)                               \
  DO(quantize, true)                           \
  DO(quantized_conv, true)                     \
  DO(quantized_depthwise, true)                \
  DO(quantized_matmul, true)                   \
  DO(recurrent, true)                          \
  DO(reduce, true)                             \
  DO(reorder, true)                            \
  DO(resize, true)                             \
  DO(sampling, true)                           \
  DO(softmax, true)                            \
  DO(strassen, true)                           \
  DO(matmul_f64_i32, true)                     \
  DO(winograd, true)

namespace minnow::cpu {

#define MINNOW_DECLARE_SCHEMES(name, kept) std::span<const Scheme> name##_schemes();
MINNOW_SCHEME_FILES(MINNOW_DECLARE_SCHEMES)

std::vector<Scheme> scheme_table() {
  std::vector<Scheme> table;
  const auto add = [&](std::span<const Scheme> rows) { table.insert(table.end(), rows.begin(), rows.end()); };
#define MINNOW_ADD_SCHEMES(name, kept) \
  if (kept) add(name##_schemes());
  MINNOW_SCHEME_FILES(MINNOW_ADD_SCHEMES)
  return table;
}

}  // namespace minnow::cpu
