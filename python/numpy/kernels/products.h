// SPDX-License-Identifier: Apache-2.0
// Register tiles of products of f32 and f64 matrices.
#pragma once
#include <cstddef>

namespace minnow::numpy {

inline constexpr size_t kMostProductRows = 14, kMostProductVectors = 4;

/// c [rows, columns] = a [rows, depth] b [depth, columns], or += that. Strides are elements between the beginnings of two rows.
template <class T>
struct ProductTile {
  const T* a;
  size_t a_row, a_step;  // from a row of a to the next, and from a column
  const T* b;
  size_t b_stride;
  size_t
      second;   // of two vectors of columns: how far the second lies from the first, in b and c; less than a vector: both have some columns
  size_t wide;  // the number of columns in one vector; less than all lanes only with `masks`
  size_t depth;
  T* c;
  size_t c_stride;
  bool add;
  size_t ahead;  // elements of b that are asked for are so much further than those used; 0: none
};

/// Loops for elements of one dtype.
template <class T>
struct ProductLoops {
  using Tile = void (*)(const ProductTile<T>&);
  size_t lanes;                          // of a vector
  size_t rows[kMostProductVectors + 1];  // the most of a tile of 1, 2 or 4 vectors of columns
  bool masks;                            // tiles of one vector may have fewer columns
  // [vectors][rows]
  Tile tiles[kMostProductVectors + 1][kMostProductRows + 1];
  /// y[i] = the sum over k of a[i * stride + k] x[k], in several partial sums.
  void (*dots)(const T* a, size_t stride, size_t rows, const T* x, size_t count, T* y);
  /// y[j] = the sum over k of x[k * x_stride] b[k * b_stride + j]
  void (*combine)(const T* x, size_t x_stride, const T* b, size_t b_stride, size_t depth, T* y, size_t columns);
  /// to[j * to_stride + i] = from[i * stride + j]
  void (*transpose)(const T* from, size_t stride, size_t rows, size_t columns, T* to, size_t to_stride);
};

struct ProductKernels {
  const ProductLoops<float>* floats;
  const ProductLoops<double>* doubles;
};

}  // namespace minnow::numpy
