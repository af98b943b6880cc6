// SPDX-License-Identifier: Apache-2.0
// The backend's one table: the rows that each file of this folder gives to it. A new scheme is a file, or a row in one, and for a new file
// a line here and in schemes.cpp.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "base/selected.h"

namespace minnow::cpu {

std::span<const Scheme> arg_extreme_schemes();
std::span<const Scheme> attention_schemes();
std::span<const Scheme> pair_schemes();
std::span<const Scheme> binary_schemes();
std::span<const Scheme> byte_pool_schemes();
std::span<const Scheme> channel_shuffle_schemes();
std::span<const Scheme> conv_schemes();
std::span<const Scheme> conv_transpose_schemes();
std::span<const Scheme> conv_volume_schemes();
std::span<const Scheme> deform_conv_schemes();
std::span<const Scheme> elementwise_schemes();
std::span<const Scheme> fused_elementwise_schemes();
std::span<const Scheme> gather_elements_schemes();
std::span<const Scheme> integer_elementwise_schemes();
std::span<const Scheme> matmul_schemes();
std::span<const Scheme> movement_schemes();
std::span<const Scheme> normalization_schemes();
std::span<const Scheme> pool_schemes();
std::span<const Scheme> quantize_schemes();
std::span<const Scheme> quantized_conv_schemes();
std::span<const Scheme> quantized_matmul_schemes();
std::span<const Scheme> recurrent_schemes();
std::span<const Scheme> reduce_schemes();
std::span<const Scheme> reorder_schemes();
std::span<const Scheme> resize_schemes();
std::span<const Scheme> sampling_schemes();
std::span<const Scheme> softmax_schemes();
std::span<const Scheme> strassen_schemes();
std::span<const Scheme> wide_matmul_schemes();
std::span<const Scheme> winograd_schemes();

/// What a small build (MINNOW_SMALL) leaves out, by parts of the rows' names: what only makes some shapes, dtypes or precisions faster.
/// Other rows or references compute the same.
constexpr bool is_left_out([[maybe_unused]] std::string_view row) {
#if MINNOW_SMALL
  for (std::string_view part : {"arg_extreme.floats", "columns", "conv_transpose.winograd", "deform_conv", "f16", "f64", "gather_elements",
                                "integers", "matmul.wide", "norm.rows", "plain_volume", "sampling", "strassen", "transpose.volume",
                                "volume_lanewise", "winograd_f3", "winograd_f6", "winograd_first_layer", "winograd_stride2"})
    if (row.find(part) != row.npos) return true;
#endif
  return false;
}

/// Whether the build keeps a row: those of its operators, and those that serve any.
constexpr bool is_kept(const Scheme& row) { return (row.op == "*" || row.op == kReorder || is_selected(row.op)) && !is_left_out(row.name); }

/// The rows of a file that the build keeps.
template <const auto& kRows>
std::span<const Scheme> selected() {
  static constexpr auto kKept = [] {
    std::array<Scheme, static_cast<size_t>(std::count_if(std::begin(kRows), std::end(kRows), is_kept))> kept{};
    std::copy_if(std::begin(kRows), std::end(kRows), kept.begin(), is_kept);
    return kept;
  }();
  return kKept;
}

/// All of them.
std::vector<std::span<const Scheme>> scheme_table();

}  // namespace minnow::cpu
