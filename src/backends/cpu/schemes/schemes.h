// SPDX-License-Identifier: Apache-2.0
// The backend's one table: the rows of all files in this folder. To add a scheme, add a row to a file, or a new file with a line here and
// in schemes.cpp.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "backends/backend.h"
#include "base/selected.h"

namespace minnow::cpu {

std::span<const Scheme> argmax_schemes();
std::span<const Scheme> attention_schemes();
std::span<const Scheme> low_precision_schemes();
std::span<const Scheme> binary_schemes();
std::span<const Scheme> byte_pool_schemes();
std::span<const Scheme> channel_shuffle_schemes();
std::span<const Scheme> conv_schemes();
std::span<const Scheme> conv_transpose_schemes();
std::span<const Scheme> conv_3d_schemes();
std::span<const Scheme> deform_conv_schemes();
std::span<const Scheme> elementwise_schemes();
std::span<const Scheme> fused_elementwise_schemes();
std::span<const Scheme> gather_elements_schemes();
std::span<const Scheme> integer_elementwise_schemes();
std::span<const Scheme> matmul_schemes();
std::span<const Scheme> matmul_rows_schemes();
std::span<const Scheme> movement_schemes();
std::span<const Scheme> normalization_schemes();
std::span<const Scheme> pool_schemes();
std::span<const Scheme> quantize_schemes();
std::span<const Scheme> quantized_conv_schemes();
std::span<const Scheme> quantized_depthwise_schemes();
std::span<const Scheme> quantized_matmul_schemes();
std::span<const Scheme> random_schemes();
std::span<const Scheme> recurrent_schemes();
std::span<const Scheme> reduce_schemes();
std::span<const Scheme> reorder_schemes();
std::span<const Scheme> resize_schemes();
std::span<const Scheme> sampling_schemes();
std::span<const Scheme> softmax_schemes();
std::span<const Scheme> strassen_schemes();
std::span<const Scheme> matmul_f64_i32_schemes();
std::span<const Scheme> winograd_schemes();
#if !MINNOW_SMALL
std::span<const Scheme> nbits_schemes();
std::span<const Scheme> packed_pad_schemes();
std::span<const Scheme> quantized_attention_schemes();
std::span<const Scheme> quantized_matmul_packed_schemes();
std::span<const Scheme> sparse_schemes();
#endif
#if MINNOW_GRADIENTS
std::span<const Scheme> attention_gradient_schemes();
std::span<const Scheme> batch_normalization_schemes();
std::span<const Scheme> conv_gradient_schemes();
std::span<const Scheme> layer_normalization_gradient_schemes();
std::span<const Scheme> pool_gradient_schemes();
std::span<const Scheme> recurrent_gradient_schemes();
std::span<const Scheme> scatter_add_schemes();
#endif

/// Whether the build keeps a row.
constexpr bool is_kept(const Scheme& row) {
#if MINNOW_SMALL
  if (row.large_only) return false;
#endif
  return row.op == kReorder || is_selected(row.op);
}

/// The rows of a file that the build keeps.
template <const auto& kRows>
std::span<const Scheme> selected() {
  constexpr size_t kCount = static_cast<size_t>(std::count_if(std::begin(kRows), std::end(kRows), is_kept));
  static constexpr auto kKept = [] {
    std::array<Scheme, kCount> kept{};
    std::copy_if(std::begin(kRows), std::end(kRows), kept.begin(), is_kept);
    return kept;
  }();
  return kKept;
}

/// All of them.
std::vector<Scheme> scheme_table();

}  // namespace minnow::cpu
