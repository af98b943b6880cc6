// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() < 2 || differ(x.back(), x[x.rank() - 2]))
    node.fail("the last two dimensions should be those of a square, the shape is {}", x);
  return {x.first(x.rank() - 2)};
}

/// By elimination with the largest pivot of each column; the matrix is overwritten.
double determinant(double* a, size_t n) {
  double result = 1;
  Pace pace;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    if (pivot != k) {
      for (size_t j = k; j < n; ++j) std::swap(a[pivot * n + j], a[k * n + j]);
      result = -result;
    }
    result *= a[k * n + k];
    if (a[k * n + k] == 0) return result;
    for (size_t i = k + 1; i < n; ++i, pace.step(n - k)) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (size_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return result;
}

void reference(const NodeView&, KernelArgs& args) {
  Numbers<double> x = args.reals(0);
  const size_t n = static_cast<size_t>(args.input(0).shape().back());
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  for (size_t i = 0; i < y.size(); ++i) y[i] = determinant(x.data() + i * n * n, n);
  args.write(0, y);
}

#if MINNOW_GRADIENTS
/// Cofactors from the singular values of X = U diag(S) Vt, also where X has no inverse: det(U) det(Vt) U diag(products of the other values)
/// Vt.
Exprs gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  const Exprs parts = b.ops("minnow.Svd", {c.input(0)}, 3);
  const Expr last = b.scalar(-1, DType::i64), matrix = b.constant({-2, -1});
  const auto before = [&](int64_t reverse) { return b.op("CumProd", {parts[0], last}, {{"exclusive", int64_t{1}}, {"reverse", reverse}}); };
  const Expr others = b.op("Unsqueeze", {before(0) * before(1), b.constant({-2})});
  const Expr sign = b.op("Det", {parts[1]}) * b.op("Det", {parts[2]});
  const Expr cofactors = b.op("MatMul", {parts[1] * others, parts[2]});
  return {cofactors * b.op("Unsqueeze", {sign * c.output_gradient(0), matrix})};
}
#endif

constexpr List<Operator> definitions() {
  return {{.name = "Det",
           .since = 22,
           .doc = MINNOW_DOC("The determinant of each matrix that the last two dimensions hold; 1 of an empty one."),
           .inputs = {{"X", kFloats}},
           .outputs = {{"Y", same_as("X")}},
           .infer_shapes = infer,
           .reference = reference,
           .gradient = MINNOW_GRADIENT(gradient)}};
}

}  // namespace

std::span<const Operator> determinant_operators() { return operator_table<definitions>(); }

}  // namespace minnow
