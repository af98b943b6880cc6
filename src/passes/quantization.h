// SPDX-License-Identifier: Apache-2.0
// Questions of passes about QuantizeLinear and DequantizeLinear.
#pragma once
#include "passes/rewrite.h"

namespace minnow {

/// The scale and zero point of a QuantizeLinear or DequantizeLinear.
struct Quantization {
  Value *scale = nullptr, *zero_point = nullptr;  // zero_point may be null: 0
  DType dtype = DType::undefined;                 // of the quantized tensor
  int64_t axis = 1;                               // of the scale, if it has more than one element

  /// Nothing if the tensor is quantized in blocks, or in another precision than f32.
  static std::optional<Quantization> of(const Node* node);
  /// One scale for the whole tensor.
  bool is_per_tensor() const;
  /// A scale for each place along this axis, and one zero point for all, in constants.
  bool is_along(size_t axis, const Value& quantized) const;
  /// False if the scale is a constant that is not above 0, which integer kernels ask for.
  bool has_positive_scale() const;
  /// The scale, and the zero point, as numbers, if they are constants of one element, or of equal elements.
  std::optional<double> scale_number() const;
  std::optional<int64_t> zero_point_number() const;
  /// True if both are the same for certain.
  bool same_as(const Quantization& other) const;
  /// The zero point as a value, made if it is absent.
  Value& zero_point_value(Graph& graph) const;
};

/// A Pad with zeros: quantized data can be padded with its zero point instead.
bool pads_with_zeros(const Node& node);

}  // namespace minnow
