// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

std::vector<Scheme> scheme_table() {
  const PackedSchemes files[] = {argmax_schemes(),
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
                                 quantized_matmul_schemes(),
                                 recurrent_schemes(),
                                 reduce_schemes(),
                                 reorder_schemes(),
                                 resize_schemes(),
                                 sampling_schemes(),
                                 softmax_schemes(),
                                 strassen_schemes(),
                                 matmul_f64_i32_schemes(),
                                 winograd_schemes()};
  size_t count = 0;
  for (const PackedSchemes& file : files) count += file.count;
  std::vector<Scheme> table;
  table.reserve(count);
  for (const PackedSchemes& file : files) {
    const char* at = file.bytes;
    const auto text_or = [&](std::string_view before) {
      const std::string_view text = at;
      at += text.size() + 1;
      return text.empty() ? before : text;
    };
    Scheme row{};
    for (size_t i = 0; i < file.count; ++i) {
      row.op = text_or(row.op);
      row.name = text_or(row.name);
      const PackedSchemes::Functions& functions = file.functions[static_cast<unsigned char>(*at++)];
      row.estimate = functions.estimate, row.prepare = functions.prepare;
      table.push_back(row);
    }
  }
  return table;
}

}  // namespace minnow::cpu
