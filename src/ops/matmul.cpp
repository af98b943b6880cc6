// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include <algorithm>
#include <cmath>

#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<float> kAlpha{"alpha", 1, MINNOW_DOC("factor of the product")};
constexpr Attribute<float> kBeta{"beta", 1, MINNOW_DOC("factor of C")};
constexpr Attribute<bool> kTransA{"transA", false, MINNOW_DOC("A is transposed before it is multiplied")};
constexpr Attribute<bool> kTransB{"transB", false, MINNOW_DOC("B is transposed before it is multiplied")};

Shapes matmul_shape(const NodeView& node) { return {MatMulSizes::of(node).result}; }

/// Integers wrap around; unsigned arithmetic is where wrapping is defined.
Numbers<uint64_t> bits(const Numbers<int64_t>& values) { return {values.begin(), values.end()}; }

void matmul(const NodeView& node, KernelArgs& args) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  const size_t count = static_cast<size_t>(p.result.elements());
  if (is_float(args.input(0).dtype())) {
    Numbers<double> y(count);
    multiply<double>(p, args.reals(0).data(), args.reals(1).data(), y.data());
    args.write(0, y);
  } else {
    Numbers<uint64_t> y(count);
    multiply<uint64_t>(p, bits(args.ints(0)).data(), bits(args.ints(1)).data(), y.data());
    args.write(0, Numbers<int64_t>(y.begin(), y.end()));
  }
}

Shapes gemm_shape(const NodeView& node) {
  const MatMulSizes p = MatMulSizes::of(node);
  if (const auto c = node.known_sizes(2)) {
    const auto fits = [](Size dim, Size to) { return !differ(dim, 1) || !differ(dim, to); };
    if (c->rank() > 2 || (c->rank() >= 1 && !fits(c->back(), p.n)) || (c->rank() == 2 && !fits((*c)[0], p.m)))
      node.fail("C of shape {} cannot be broadcast to {}", *c, p.result);
  }
  return {p.result};
}

void gemm(const NodeView& node, KernelArgs& args) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  const double alpha = node.attribute(kAlpha), beta = node.attribute(kBeta);
  const size_t count = static_cast<size_t>(p.result.elements());
  const bool has_c = args.has_input(2) && beta != 0;
  const Ints step = has_c ? broadcast_strides(args.input(2).shape(), p.result) : Ints{0, 0};
  const auto c_at = [&](size_t i) {
    return static_cast<size_t>(static_cast<int64_t>(i) / p.n * step[0] + static_cast<int64_t>(i) % p.n * step[1]);
  };
  if (is_float(args.input(0).dtype())) {
    Numbers<double> y(count);
    multiply<double>(p, args.reals(0).data(), args.reals(1).data(), y.data());
    const Numbers<double> c = has_c ? args.reals(2) : Numbers<double>();
    for (size_t i = 0; i < count; ++i) y[i] = alpha * y[i] + (has_c ? beta * c[c_at(i)] : 0);
    return args.write(0, y);
  }
  Numbers<uint64_t> y(count);
  multiply<uint64_t>(p, bits(args.ints(0)).data(), bits(args.ints(1)).data(), y.data());
  const Numbers<uint64_t> c = has_c ? bits(args.ints(2)) : Numbers<uint64_t>();
  // A factor that is no integer truncates its product toward zero.
  const bool is_unsigned64 = args.input(0).dtype() == DType::u64;
  const auto scaled = [&](double factor, uint64_t value) {
    if (factor == std::trunc(factor) && std::fabs(factor) < 0x1p62) return static_cast<uint64_t>(static_cast<int64_t>(factor)) * value;
    const double product = factor * (is_unsigned64 ? static_cast<double>(value) : static_cast<double>(static_cast<int64_t>(value)));
    return std::fabs(product) < 0x1p63 ? static_cast<uint64_t>(static_cast<int64_t>(product)) : 0;
  };
  for (size_t i = 0; i < count; ++i) y[i] = scaled(alpha, y[i]) + (has_c ? scaled(beta, c[c_at(i)]) : 0);
  args.write(0, Numbers<int64_t>(y.begin(), y.end()));
}

double operations(const NodeView& node) { return 2 * MatMulGeometry::of(node).multiply_adds(); }

constexpr DTypes kProducts = kFloats | one_of({DType::i32, DType::i64, DType::u32, DType::u64});

#if MINNOW_GRADIENTS
Exprs gemm_gradient(const GradientContext& c) {
  const Expr &a = c.input(0), &b = c.input(1), &g = c.output_gradient(0);
  const int64_t turn_a = c.node.attribute(kTransA), turn_b = c.node.attribute(kTransB);
  const auto product = [&](const Expr& left, const Expr& right, int64_t turn_left, int64_t turn_right) {
    return c.builder.op("Gemm", {left, right}, {{"alpha", c.node.attribute(kAlpha)}, {"transA", turn_left}, {"transB", turn_right}});
  };
  Exprs made(c.inputs.size());
  if (c.wants(0)) made[0] = turn_a ? product(b, g, turn_b, 1) : product(g, b, 0, !turn_b);
  if (c.wants(1)) made[1] = turn_b ? product(g, a, 1, turn_a) : product(a, g, !turn_a, 0);
  if (c.wants(2)) made[2] = c.builder.op("minnow.SumTo", {g * static_cast<double>(c.node.attribute(kBeta)), c.shape_of(2)});
  return made;
}
/// The last two axes in the other order.
Expr turned(const Expr& x, size_t rank) {
  Ints perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return x.builder().op("Transpose", {x}, {{"perm", perm}});
}
Exprs matmul_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  Expr x = c.input(0), w = c.input(1), g = c.output_gradient(0);
  Exprs made(2);
  if (c.knows_shape(1) && c.node.input_shape(1).rank() == 2) {  // all other axes of X are rows
    const Shape& shape = c.node.input_shape(1);
    if (c.wants(0)) made[0] = b.op("MatMul", {g, turned(w, 2)});
    const auto rows = [&](const Expr& of, int64_t columns) { return b.op("Reshape", {of, b.constant({int64_t{-1}, columns})}); };
    if (c.wants(1)) made[1] = b.op("Gemm", {rows(x, shape[0]), rows(g, shape[1])}, {{"transA", int64_t{1}}});
    return made;
  }
  const Shape left = c.node.input_shape(0), right = c.node.input_shape(1);
  // Vectors become matrices of one row, or of one column.
  if (left.rank() == 1)
    x = b.op("Unsqueeze", {x, b.constant({int64_t{0}})}),
    g = b.op("Unsqueeze", {g, b.constant({right.rank() == 1 ? int64_t{0} : int64_t{-2}})});
  if (right.rank() == 1) w = b.op("Unsqueeze", {w, b.constant({int64_t{1}})}), g = b.op("Unsqueeze", {g, b.constant({int64_t{-1}})});
  const auto to = [&](const Expr& gradient, size_t i, bool is_vector) {
    // Summed over axes that were broadcast; then the axis that a vector has not goes.
    Ints shape(c.node.input_shape(i).begin(), c.node.input_shape(i).end());
    if (is_vector) shape.insert(i == 0 ? shape.begin() : shape.end(), 1);
    const Expr sum = b.op("minnow.SumTo", {gradient, b.constant(shape)});
    return is_vector ? c.shaped_like(sum, i) : sum;
  };
  if (c.wants(0)) made[0] = to(b.op("MatMul", {g, turned(w, std::max<size_t>(right.rank(), 2))}), 0, left.rank() == 1);
  if (c.wants(1)) made[1] = to(b.op("MatMul", {turned(x, std::max<size_t>(left.rank(), 2)), g}), 1, right.rank() == 1);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Gemm",
       .since = 13,
       .doc = MINNOW_DOC("alpha * A B + beta * C, where A [M, K] and B [K, N] may be stored transposed and C is broadcast to [M, N]. "
                         "Integers wrap around."),
       .inputs = {{.name = "A", .dtypes = kProducts, .weight = Weight::stored},
                  packed_weight("B", kProducts, "A"),
                  like("C", kProducts, "A", kOptional)},
       .outputs = {{"Y", same_as("A")}},
       .attributes = {kAlpha, kBeta, kTransA, kTransB},
       .infer_shapes = gemm_shape,
       .reference = gemm,
       .gradient = MINNOW_GRADIENT(gemm_gradient),
       .operations = operations,
       .batch = batch_apart,
       .quantizable = true},
      {.name = "MatMul",
       .since = 13,
       .doc =
           MINNOW_DOC("The matrix product over the last two dimensions, as numpy.matmul; leading dimensions are broadcast. Integers wrap "
                      "around."),
       .inputs = {{.name = "A", .dtypes = kProducts, .weight = Weight::stored}, packed_weight("B", kProducts, "A")},
       .outputs = {{"Y", same_as("A")}},
       .infer_shapes = matmul_shape,
       .reference = matmul,
       .gradient = MINNOW_GRADIENT(matmul_gradient),
       .operations = operations,
       .batch = batch_apart,
       .quantizable = true},
  };
}

}  // namespace

std::span<const Operator> matmul_operators() { return operator_table<definitions>(); }

}  // namespace minnow
