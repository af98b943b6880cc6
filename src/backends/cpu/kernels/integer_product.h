// SPDX-License-Identifier: Apache-2.0
// Products of integers in 64 bits, which wrap around. Only AVX-512 multiplies lanes of 64 bits; on other processors vectors take as long as
// these plain loops, so all instruction sets share them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// SumProductLoops::row of a product.
template <class T>
void multiply_row(const void* from, size_t count, void* y) {
  const T* x = static_cast<const T*>(from);
  const auto wide = [x](size_t i) { return static_cast<uint64_t>(static_cast<int64_t>(x[i])); };
  uint64_t a = 1, b = 1, c = 1, d = 1;  // a multiplication waits for the one before in its chain
  size_t i = 0;
  for (; i + 4 <= count; i += 4) a *= wide(i), b *= wide(i + 1), c *= wide(i + 2), d *= wide(i + 3);
  for (; i < count; ++i) a *= wide(i);
  *static_cast<uint64_t*>(y) = (a * b) * (c * d);
}

/// SumProductLoops::columns of a product.
template <class T>
void multiply_columns(const void* from, size_t rows, size_t stride, size_t count, void* to) {
  const T* x = static_cast<const T*>(from);
  uint64_t* y = static_cast<uint64_t*>(to);
  const auto wide = [](T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  size_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * stride)
    for (size_t i = 0; i < count; ++i) y[i] *= (wide(x[i]) * wide(x[stride + i])) * (wide(x[2 * stride + i]) * wide(x[3 * stride + i]));
  for (; row < rows; ++row, x += stride)
    for (size_t i = 0; i < count; ++i) y[i] *= wide(x[i]);
}

}  // namespace minnow::cpu
