// SPDX-License-Identifier: Apache-2.0
// Register tiles of products of matrices of f64 and of 32-bit integers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// y[row][column] += sum over k of a[row][k] b[k][column], for `rows` rows and two vectors of columns; `stride` and `a_stride` count the
/// elements between the rows of y and of a. Integers wrap around.
template <class T>
using MatMulTile = void (*)(const T* a, size_t a_stride, const T* b, size_t k, T* y, size_t stride);

struct F64I32Kernels {
  size_t rows;
  MatMulTile<double> f64;  // null if there are no vectors of doubles; both in small builds, whose schemes are left out
  MatMulTile<int32_t> i32;
  MatMulTile<double> tile(double) const noexcept { return f64; }
  MatMulTile<int32_t> tile(int32_t) const noexcept { return i32; }
};

}  // namespace minnow::cpu
