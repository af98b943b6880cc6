// SPDX-License-Identifier: Apache-2.0
// Tensors of random numbers, drawn from a stream in row-major order.
#pragma once
#include <minnow/tensor.h>

#include <span>
#include <string_view>

#include "numerics/streams.h"

namespace minnow::numerics {

/// Numbers of a distribution, by NumPy's name. `parameters`: f64 tensors of one element or of one for each number, in the order of
/// distributions.h ("uniform": low and high - low). Their values are not checked. `single`: f32 instead of f64, where the distribution has
/// that. InvalidArgument for an unknown name and for tensors that do not fit.
Tensor draw(BitStream& bits, std::string_view distribution, const Shape& shape, std::span<const TensorView> parameters, bool single);
/// InvalidArgument where the parameters are not what the distribution takes, as Generator::draw documents; else "uniform" has high - low.
void check_parameters(std::string_view distribution, std::span<double> parameters);
/// low ... low + range, of an integer dtype or bool. `lows` (i64) and `ranges` (the bits of u64 as i64) have one element, or one for each
/// number.
Tensor integers(BitStream& bits, DType dtype, const Shape& shape, const TensorView& lows, const TensorView& ranges);
/// The same as RandomState draws i64: masked bits, those beyond the range rejected.
Tensor masked_integers(BitStream& bits, const Shape& shape, int64_t low, uint64_t range);
/// 0 ... n - 1 in the order in which shuffling leaves them, down to place `first`: by masked bits, or by multiplication (`lemire`).
Tensor shuffled(BitStream& bits, int64_t n, int64_t first, bool lemire);
/// `count` different numbers below n (Floyd 1987), shuffled or as they come.
Tensor different(BitStream& bits, int64_t n, int64_t count, bool shuffle);
/// How `trials` (i64; one number or one for each row) draws fall into k classes of chances [k] or [.., k] (f64): counts of shape [.., k].
Tensor multinomial(BitStream& bits, const TensorView& trials, const TensorView& chances, const Shape& shape);
/// 64 random bits each.
Tensor raw(BitStream& bits, const Shape& shape);
/// Normal numbers by the polar method, as RandomState draws them.
Tensor gauss(Mt19937& bits, const Shape& shape);

}  // namespace minnow::numerics
