// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include <cmath>

#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
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
       .operations = operations,
       .batch = batch_apart,
       .quantizable = true},
  };
}

}  // namespace

std::span<const Operator> matmul_operators() { return operator_table<definitions>(); }

}  // namespace minnow
