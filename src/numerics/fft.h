// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of the rows of tensors.
#pragma once
#include <minnow/tensor.h>

namespace minnow::numerics {

enum class RowTransform : uint8_t {
  whole,     // n numbers to n complex ones
  to_half,   // n real numbers to the first n / 2 + 1 complex ones
  from_half  // n / 2 + 1 complex numbers to n real ones
};

/// dtype and shape of the result: complex128, or f64 of `from_half`. InvalidArgument where `length` (n) is below 1 or the rows of x have
/// another length.
TensorView transformed_rows(const TensorView& x, RowTransform kind, int64_t length);
/// Transforms every row (last axis) of x, numbers of any dtype, multiplied by `scale`, into y, which has the size that transformed_rows()
/// says. `inverse` is read of `whole` alone.
void transform_rows(const TensorView& x, RowTransform kind, int64_t length, bool inverse, double scale, void* y);

}  // namespace minnow::numerics
