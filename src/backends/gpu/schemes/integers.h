// SPDX-License-Identifier: Apache-2.0
// Sums of products of bytes become results: shared by the schemes of quantized convolutions and matrix products.
#pragma once
#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {

inline bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }
inline int64_t lowest_of(DType dtype) { return dtype == DType::i8 ? -128 : dtype == DType::i16 ? -32768 : 0; }
inline int64_t highest_of(DType dtype) { return dtype == DType::i8 ? 127 : dtype == DType::u8 ? 255 : dtype == DType::i16 ? 32767 : 65535; }

/// Attributes of QuantizeLinear and DequantizeLinear.
inline constexpr Attribute<int64_t> kAxis{"axis", 1}, kBlockSize{"block_size", 0}, kPrecision{"precision", 0};

/// Inputs: a, its scale and zero point, b, its scale and zero point, the result's scale and zero point, a bias; or a, b and zero points.
struct IntegerInputs {
  size_t a_zero = 2, b = 3, b_zero = 5;
  bool rescales = true;
  explicit IntegerInputs(const NodeView& node) {
    if (node.op() == "MatMulInteger" || node.op() == "ConvInteger") b = 1, b_zero = 3, rescales = false;
  }
};

/// How sums become results where scales, zero points and the bias are constant: a table of four words for each output channel with the
/// bias as an integer, the bias in f32, the factor of sums, and the factor behind an activation that comes before the rounding.
struct IntegerEnds {
  /// Why there is no such table; empty: there is.
  static std::string refusal(const NodeView& node, int64_t channels);
  static std::vector<int32_t> table(const NodeView& node, int64_t channels);
  /// Statements that make `result` of the int `sum` by the table `ends`; `channel` is an expression, and so is `residual`, the byte that is
  /// added where the node has_residual.
  static std::string statements(const NodeView& node, std::string_view channel, std::string_view residual);
  static constexpr size_t kResidual = 9;
  static bool has_residual(const NodeView& node) { return node.has_input(kResidual); }
};

}  // namespace minnow::gpu
