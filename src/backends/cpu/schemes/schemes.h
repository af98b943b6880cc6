// SPDX-License-Identifier: Apache-2.0
// The backend's one table: the rows that each file of this folder gives to it. A new scheme is a file, or a row in one, and for a new file
// a line here and in schemes.cpp.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "backends/backend.h"
#include "base/selected.h"

namespace minnow::cpu {

/// The rows of a file as the library holds them. A pointer in a table costs a relocation beside it, so texts are bytes and functions stand
/// there once, however many rows have them.
struct PackedSchemes {
  struct Functions {
    decltype(Scheme::estimate) estimate;
    decltype(Scheme::prepare) prepare;
  };
  size_t count;
  const char* bytes;  // of a row: operator and name, a zero behind each, empty if those of the row before; the place of its functions
  const Functions* functions;
};

PackedSchemes argmax_schemes();
PackedSchemes attention_schemes();
PackedSchemes low_precision_schemes();
PackedSchemes binary_schemes();
PackedSchemes byte_pool_schemes();
PackedSchemes channel_shuffle_schemes();
PackedSchemes conv_schemes();
PackedSchemes conv_transpose_schemes();
PackedSchemes conv_3d_schemes();
PackedSchemes deform_conv_schemes();
PackedSchemes elementwise_schemes();
PackedSchemes fused_elementwise_schemes();
PackedSchemes gather_elements_schemes();
PackedSchemes integer_elementwise_schemes();
PackedSchemes matmul_schemes();
PackedSchemes matmul_rows_schemes();
PackedSchemes movement_schemes();
PackedSchemes normalization_schemes();
PackedSchemes pool_schemes();
PackedSchemes quantize_schemes();
PackedSchemes quantized_conv_schemes();
PackedSchemes quantized_matmul_schemes();
PackedSchemes recurrent_schemes();
PackedSchemes reduce_schemes();
PackedSchemes reorder_schemes();
PackedSchemes resize_schemes();
PackedSchemes sampling_schemes();
PackedSchemes softmax_schemes();
PackedSchemes strassen_schemes();
PackedSchemes matmul_f64_i32_schemes();
PackedSchemes winograd_schemes();

/// What a small build (MINNOW_SMALL) leaves out, by parts of the rows' names: what only makes some shapes, dtypes or precisions faster.
/// Other rows or references compute the same.
constexpr bool is_left_out([[maybe_unused]] std::string_view row) {
#if MINNOW_SMALL
  for (std::string_view part : {"argmax.floats", "columns", "conv_transpose.winograd", "deform_conv", "f16", "f64", "gather_elements",
                                "integers", "matmul.f64_i32", "norm.rows", "plain_3d", "sampling", "strassen", "transpose.gemm_3d",
                                "depthwise_3d", "winograd_f3", "winograd_f6", "winograd_first_layer", "winograd_stride2"})
    if (row.find(part) != row.npos) return true;
#endif
  return false;
}

/// Whether the build keeps a row: those of its operators, and those that serve any.
constexpr bool is_kept(const Scheme& row) { return (row.op == "*" || row.op == kReorder || is_selected(row.op)) && !is_left_out(row.name); }

/// Rows while they are packed: `kRows` of them and `kBytes` of texts at most.
template <size_t kRows, size_t kBytes>
struct SchemePacking {
  std::array<PackedSchemes::Functions, kRows> functions{};
  std::array<char, kBytes> bytes{};
  size_t function_count = 0, byte_count = 0;

  /// Whether two functions are one. Under sanitizers gcc 12 does not always tell of instances of templates; they stand there twice then.
  template <class F>
  static constexpr bool are_same(F* a, F* b) {
    return __builtin_constant_p(a == b) ? a == b : false;
  }
  constexpr void text(std::string_view value) {
    for (char c : value) bytes[byte_count++] = c;
    bytes[byte_count++] = 0;
  }
  constexpr void add(const Scheme& row, std::string_view op_before, std::string_view name_before) {
    text(row.op == op_before ? "" : row.op);
    text(row.name == name_before ? "" : row.name);
    size_t place = 0;
    while (place < function_count &&
           !(are_same(functions[place].estimate, row.estimate) && are_same(functions[place].prepare, row.prepare)))
      ++place;
    if (place == function_count) functions[function_count++] = {row.estimate, row.prepare};
    bytes[byte_count++] = static_cast<char>(place);
  }
};

/// The rows of a file that the build keeps.
template <const auto& kRows>
PackedSchemes selected() {
  constexpr size_t kCount = static_cast<size_t>(std::count_if(std::begin(kRows), std::end(kRows), is_kept));
  constexpr size_t kTexts = [] {
    size_t bytes = 0;
    for (const Scheme& row : kRows) bytes += row.op.size() + row.name.size() + 3;
    return bytes;
  }();
  constexpr auto kPacking = [] {
    SchemePacking<kCount, kTexts> packing;
    std::string_view op, name;
    for (const Scheme& row : kRows) {
      if (!is_kept(row)) continue;
      packing.add(row, op, name);
      op = row.op, name = row.name;
    }
    return packing;
  }();
  static_assert(kPacking.function_count <= 128, "a row has one byte for the place of its functions");
  // Apart, as addresses are known when the library is loaded.
  static constexpr auto kBytes = [kPacking] {
    std::array<char, kPacking.byte_count> bytes{};
    std::copy_n(kPacking.bytes.begin(), bytes.size(), bytes.begin());
    return bytes;
  }();
  static constexpr auto kFunctions = [kPacking] {
    std::array<PackedSchemes::Functions, kPacking.function_count> functions{};
    std::copy_n(kPacking.functions.begin(), functions.size(), functions.begin());
    return functions;
  }();
  return {kCount, kBytes.data(), kFunctions.data()};
}

/// All of them.
std::vector<Scheme> scheme_table();

}  // namespace minnow::cpu
