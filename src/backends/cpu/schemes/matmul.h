// SPDX-License-Identifier: Apache-2.0
// Shared by the schemes of matrix products.
#pragma once
#include <optional>

#include "backends/cpu/kernels/matmul.h"
#include "graph/matmul.h"

namespace minnow::cpu {

/// The product as the kernel computes it: leading dimensions joined with m where all of them meet the same B.
struct Product {
  MatMul::Shape shape;
  MatMulGeometry geometry;
  size_t batches;  // products to compute
  explicit Product(const NodeView& node) : geometry(MatMulGeometry::of(node)) {
    const auto size = [](int64_t value) { return static_cast<size_t>(value); };
    shape = {size(geometry.m), size(geometry.k), size(geometry.n), geometry.transpose_a, geometry.transpose_b};
    batches = size(geometry.batches());
    const bool dense_a = size(node.input_shape(0).elements()) == batches * shape.m * shape.k;  // A itself is not broadcast
    if (batches > 1 && geometry.shares_b() && dense_a && (!shape.transpose_a || shape.m == 1)) {
      shape.m *= batches;
      shape.transpose_a = false;
      batches = 1;
    }
  }
  size_t a_offset(size_t batch) const { return static_cast<size_t>(geometry.a_matrix(static_cast<int64_t>(batch))) * shape.m * shape.k; }
  size_t b_matrix(size_t batch) const { return static_cast<size_t>(geometry.b_matrix(static_cast<int64_t>(batch))); }
};

/// The addend of the product: nothing, a value for each column, one value, or a tensor like the result.
enum class Addend { none, columns, scalar, full };
struct Addition {
  Addend kind = Addend::none;
  float factor = 1;
};

/// The addition of input 2, Gemm's C or the fused operator's bias; nothing if no kernel serves.
std::optional<Addition> addition_of(const NodeView& node);

/// The factor of the product.
float alpha_of(const NodeView& node);

}  // namespace minnow::cpu
