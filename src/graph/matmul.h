// SPDX-License-Identifier: Apache-2.0
// The arithmetic of matrix products: which matrices meet, for shape rules, references and schemes alike.
#pragma once
#include "graph/node_view.h"

namespace minnow {

/// The sizes of a product, checked: the shape rule behind MatMulGeometry.
struct MatMulSizes {
  Size m = 1, k = 1, n = 1;
  bool transpose_a = false, transpose_b = false;
  Sizes a_batch, b_batch, batch, result;

  static MatMulSizes of(const NodeView& node);
};

/// Products of matrices [m, k] and [k, n] over broadcast leading dimensions, as NumPy's matmul defines them.
struct MatMulGeometry {
  int64_t m = 1, k = 1, n = 1;
  bool transpose_a = false, transpose_b = false;  // stored as [k, m], [n, k]
  Shape batch;                                    // the broadcast leading dimensions
  Shape a_step, b_step;                           // per batch dimension: matrices to step over in A and in B, 0 along broadcast ones
  Shape result;                                   // batch, then [m, n] less the dimensions that a vector does not have

  int64_t batches() const noexcept { return batch.product(0, batch.rank()); }
  /// Which matrices of A and B make result matrix `index`.
  int64_t a_matrix(int64_t index) const noexcept { return matrix(index, a_step); }
  int64_t b_matrix(int64_t index) const noexcept { return matrix(index, b_step); }
  /// All result matrices use one B: then the leading dimensions of A can join m (unless A is transposed).
  bool shares_b() const noexcept;
  double multiply_adds() const noexcept;

  /// For MatMul, Gemm, minnow.FusedMatMul and MatMulInteger: A is input 0, B input 1. QLinearMatMul and minnow.QuantizedMatMul have B at 3.
  /// Throws InvalidModel where the shapes do not fit; asks for a cut where a shape is not known.
  static MatMulGeometry of(const NodeView& node);

 private:
  int64_t matrix(int64_t index, const Shape& step) const noexcept;
};

}  // namespace minnow
