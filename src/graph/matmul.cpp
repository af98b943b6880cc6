// SPDX-License-Identifier: Apache-2.0
#include "graph/matmul.h"

namespace minnow {
namespace {

Sizes leading(const Sizes& sizes) { return sizes.first(sizes.rank() - 2); }

Shape steps_of(const Shape& from, const Shape& to) {
  Shape steps = Shape::filled(to.rank(), 0);
  int64_t step = 1;
  for (size_t i = 0; i < from.rank(); ++i) {
    const size_t axis = from.rank() - 1 - i;
    if (from[axis] != 1) steps[to.rank() - 1 - i] = step;
    step *= from[axis];
  }
  return steps;
}

}  // namespace

int64_t MatMulGeometry::matrix(int64_t index, const Shape& step) const noexcept {
  int64_t at = 0;
  for (size_t i = batch.rank(); i-- > 0; index /= batch[i]) at += index % batch[i] * step[i];
  return at;
}

bool MatMulGeometry::shares_b() const noexcept {
  for (size_t i = 0; i < batch.rank(); ++i)
    if (b_step[i] != 0 && batch[i] != 1) return false;
  return true;
}

double MatMulGeometry::multiply_adds() const noexcept {
  return static_cast<double>(batches()) * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
}

MatMulSizes MatMulSizes::of(const NodeView& node) {
  const bool quantized = node.op() == "QLinearMatMul" || node.op() == "minnow.QuantizedMatMul";
  Sizes a = node.input_sizes(0), b = node.input_sizes(quantized ? 3 : 1);
  MatMulSizes p;
  if (node.op() == "Gemm" || node.op() == "minnow.FusedMatMul") {
    p.transpose_a = node.attribute(Attribute<bool>{"transA", false});
    p.transpose_b = node.attribute(Attribute<bool>{"transB", false});
  }
  if (node.op() == "Gemm" && (a.rank() != 2 || b.rank() != 2)) node.fail("multiplies matrices, the inputs have shapes {} and {}", a, b);
  if (a.empty() || b.empty()) node.fail("a product of shapes {} and {} is not defined", a, b);
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if ((row && p.transpose_a) || (column && p.transpose_b))
    node.fail("a vector cannot be transposed: the inputs have shapes {} and {}", a, b);
  const Sizes given_a = a, given_b = b;
  if (row) a.insert(0, 1);
  if (column) b.insert(1, 1);
  p.m = a[a.rank() - 2], p.k = a.back(), p.n = b.back();
  Size rows = b[b.rank() - 2];
  if (p.transpose_a) std::swap(p.m, p.k);
  if (p.transpose_b) std::swap(p.n, rows);
  if (differ(rows, p.k)) node.fail("shapes {} and {} do not fit: {} columns meet {} rows", given_a, given_b, p.k, rows);
  p.a_batch = leading(a), p.b_batch = leading(b);
  const Sizes batches[] = {p.a_batch, p.b_batch};
  p.batch = p.result = broadcast_sizes(node, batches);
  if (!row) p.result.push_back(p.m);
  if (!column) p.result.push_back(p.n);
  return p;
}

MatMulGeometry MatMulGeometry::of(const NodeView& node) {
  const MatMulSizes sizes = MatMulSizes::of(node);
  if (!sizes.result.is_static() || !sizes.k.is_number()) node.fail("a product of unknown shape {} is not planned", sizes.result);
  MatMulGeometry p;
  p.m = sizes.m.number(), p.k = sizes.k.number(), p.n = sizes.n.number();
  p.transpose_a = sizes.transpose_a, p.transpose_b = sizes.transpose_b;
  p.batch = sizes.batch.shape();
  p.a_step = steps_of(sizes.a_batch.shape(), p.batch);
  p.b_step = steps_of(sizes.b_batch.shape(), p.batch);
  p.result = sizes.result.shape();
  return p;
}

}  // namespace minnow
