// SPDX-License-Identifier: Apache-2.0
// Shared by the operators on quantized tensors: zero points and scales along an axis, and the one requantization.
#pragma once
#include "ops/operator.h"

namespace minnow {

inline constexpr DTypes kBytes = one_of({DType::u8, DType::i8});

/// Inputs of the result's scale and zero point, of products that requantize; a node without them has a result of real numbers.
inline constexpr size_t kResultScale = 6, kResultZero = 7;
inline bool has_real_result(const NodeView& node) { return !node.has_input(kResultScale); }
/// Inputs of minnow.QuantizedConv for a tensor of bytes that is added to the result before an activation, its scale and zero point.
inline constexpr size_t kResidual = 9, kResidualScale = 10, kResidualZero = 11;

/// The shape under which scale or zero point `input` is broadcast to a tensor of shape `to`: one element, or a vector of as many elements
/// as `to` has along `axis`, or (for products) a tensor that can be broadcast as it is. Throws InvalidModel for other shapes.
Shape aligned_shape(const NodeView& node, size_t input, const Shape& to, size_t axis);

/// Elements of input `values` less their zero point, which may be absent. Sums of products of 8-bit integers are exact in doubles.
Numbers<double> centered(const NodeView& node, const KernelArgs& args, size_t values, size_t zero_point, size_t axis);

/// An element of a quantized result: `sum` (an integer, in units of input scale * weight scale) times multiplier (input scale * weight
/// scale / output scale, from left to right) in single precision, plus a residual times its step, rounded to nearest, ties to even, moved
/// by the zero point, cut to the dtype's range.
int64_t requantize(double sum, float multiplier, int64_t zero_point, int64_t lowest, int64_t highest, float residual = 0,
                   float step = 0) noexcept;

}  // namespace minnow
