// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/numeric.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() < 2) node.fail("takes matrices, the input has shape {}", x);
  const Size rows = x[x.rank() - 2], columns = x.back(), count = smaller(rows, columns);
  Sizes values = x.first(x.rank() - 2), left = values, right = values;
  values.push_back(count);
  left.push_back(rows), left.push_back(count);
  right.push_back(count), right.push_back(columns);
  return {values, left, right};
}

double dot(const double* a, const double* b, size_t n) { return std::inner_product(a, a + n, b, 0.0); }

/// One-sided Jacobi (Hestenes 1958), the longer vector of a pair first (de Rijk 1989). `x` holds n <= m vectors of length m; turned by the
/// rows of `v` [n, n] they become orthogonal, the longest first.
void orthogonalize(double* x, double* v, size_t n, size_t m) {
  constexpr double kSmallest = 4e-16;  // of the cosine between two vectors that are taken for orthogonal
  const auto turn = [](double* a, double* b, size_t length, double cosine, double sine) {
    for (size_t k = 0; k < length; ++k) {
      const double first = a[k], second = b[k];
      a[k] = cosine * first + sine * second;
      b[k] = cosine * second - sine * first;
    }
  };
  std::fill_n(v, n * n, 0.0);
  for (size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  Pace pace;
  for (int sweep = 0; sweep < 60; ++sweep) {  // a dozen suffice: each squares the errors at last
    bool done = true;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = i + 1; j < n; ++j) {
        pace.step(8 * m);
        double *a = x + i * m, *b = x + j * m;
        const double product = dot(a, b, m), first = dot(a, a, m), second = dot(b, b, m);
        const bool swaps = first < second;
        if (!(std::fabs(product) > kSmallest * std::sqrt(first) * std::sqrt(second))) {
          if (swaps) std::swap_ranges(a, a + m, b), std::swap_ranges(v + i * n, v + i * n + n, v + j * n), done = false;
          continue;
        }
        done = false;
        const double ratio = (first - second) / (2 * product);
        const double tangent = (ratio < 0 ? -1 : 1) / (std::fabs(ratio) + std::sqrt(1 + ratio * ratio));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent), sine = cosine * tangent;
        if (swaps) std::swap_ranges(a, a + m, b), std::swap_ranges(v + i * n, v + i * n + n, v + j * n);
        turn(a, b, m, cosine, sine);
        turn(v + i * n, v + j * n, n, cosine, sine);
      }
    if (done) break;
  }
}

/// Vectors of length 1 in place of those of length 0 beyond the first `rank`, orthogonal to all others.
void complete(double* x, size_t rank, size_t n, size_t m) {
  Pace pace;
  for (size_t i = rank; i < n; ++i) {
    double best = -1;
    for (size_t axis = 0; axis < m && best < 0.5; ++axis) {
      std::vector<double> candidate(m);
      candidate[axis] = 1;
      pace.step((4 * i + 1) * m);
      for (int round = 0; round < 2; ++round)
        for (size_t k = 0; k < i; ++k) {
          const double along = dot(candidate.data(), x + k * m, m);
          for (size_t j = 0; j < m; ++j) candidate[j] -= along * x[k * m + j];
        }
      const double length = std::sqrt(dot(candidate.data(), candidate.data(), m));
      if (length <= best) continue;
      best = length;
      for (size_t j = 0; j < m; ++j) x[i * m + j] = candidate[j] / length;
    }
  }
}

void reference(const NodeView&, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  const size_t rows = static_cast<size_t>(shape[shape.rank() - 2]), columns = static_cast<size_t>(shape.back());
  const bool wide = rows < columns;
  const size_t n = std::min(rows, columns), m = std::max(rows, columns);
  Numbers<double> x = args.reals(0);
  Numbers<double> values(static_cast<size_t>(args.output(0).elements())), left(static_cast<size_t>(args.output(1).elements())),
      right(static_cast<size_t>(args.output(2).elements()));
  std::vector<double> vectors(n * m), turned(n * n);
  for (size_t at = 0; n > 0 && at < values.size() / n; ++at) {
    const double* a = x.data() + at * n * m;
    double largest = 0;
    for (size_t i = 0; i < n * m; ++i) {
      if (!std::isfinite(a[i])) args.fail("matrix {} has an element that is not finite", at);
      largest = std::max(largest, std::fabs(a[i]));
    }
    const double scale = largest > 0 ? largest : 1;  // squares neither overflow nor vanish
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < m; ++j) vectors[i * m + j] = (wide ? a[i * m + j] : a[j * n + i]) / scale;
    orthogonalize(vectors.data(), turned.data(), n, m);
    size_t rank = 0;
    for (size_t i = 0; i < n; ++i) {
      const double length = std::sqrt(dot(vectors.data() + i * m, vectors.data() + i * m, m));
      values[at * n + i] = length * scale;
      if (!(length > 0)) continue;
      ++rank;
      for (size_t j = 0; j < m; ++j) vectors[i * m + j] /= length;
    }
    complete(vectors.data(), rank, n, m);
    // A tall matrix was turned by its columns, a wide one by its rows.
    double *u = left.data() + at * rows * n, *vt = right.data() + at * n * columns;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < rows; ++j) u[j * n + i] = wide ? turned[i * n + j] : vectors[i * m + j];
      for (size_t j = 0; j < columns; ++j) vt[i * columns + j] = wide ? vectors[i * m + j] : turned[i * n + j];
    }
  }
  args.write(0, values);
  args.write(1, left);
  args.write(2, right);
}

#if MINNOW_GRADIENTS
/// Townsend 2016, "Differentiating the singular value decomposition". Equal singular values have no derivatives of their vectors.
Exprs gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  if (!c.knows_shape(0)) throw Unsupported("{}: the gradient of minnow.Svd needs the shape of its input before the run", c.node.where());
  const Shape& shape = c.node.input_shape(0);
  const int64_t rows = shape[shape.rank() - 2], columns = shape.back(), k = std::min(rows, columns);
  Ints swapped(shape.rank());
  for (size_t i = 0; i < swapped.size(); ++i) swapped[i] = static_cast<int64_t>(i);
  std::swap(swapped[shape.rank() - 1], swapped[shape.rank() - 2]);
  const auto turned = [&](const Expr& x) { return b.op("Transpose", {x}, {{"perm", swapped}}); };
  const auto product = [&](const Expr& x, const Expr& y) { return b.op("MatMul", {x, y}); };
  const Expr &s = c.output(0), &u = c.output(1), &vt = c.output(2);
  const Expr &gs = c.output_gradient(0), &gu = c.output_gradient(1), &gvt = c.output_gradient(2);
  const Expr row = b.op("Unsqueeze", {s, b.constant({-2})}), column = b.op("Unsqueeze", {s, b.constant({-1})});
  Tensor one(c.node.input_dtype(0), Shape{k, k});
  Numbers<double> diagonal(static_cast<size_t>(k * k));
  for (int64_t i = 0; i < k; ++i) diagonal[static_cast<size_t>(i * k + i)] = 1;
  narrow(one.dtype(), diagonal.data(), diagonal.size(), one.writable().data());
  const Expr eye = b.constant(std::move(one));
  Expr inner;
  const auto add = [](Expr& sum, const Expr& x) { sum = sum ? sum + x : x; };
  if (gs) add(inner, b.op("Unsqueeze", {gs, b.constant({-2})}) * eye);
  if (gu || gvt) {
    const Expr differences = row * row - column * column + eye;
    const auto turn = [&](const Expr& x) { return (x - turned(x)) / differences; };
    if (gu) add(inner, turn(product(turned(u), gu)) * row);
    if (gvt) add(inner, column * turn(product(vt, turned(gvt))));
  }
  Expr made = product(product(u, inner), vt);
  if (gu && rows > k) made = made + product((gu - product(u, product(turned(u), gu))) / row, vt);
  if (gvt && columns > k) made = made + product(u / row, gvt - product(product(gvt, turned(vt)), vt));
  return {made};
}
#endif

constexpr List<Operator> definitions() {
  return {{.name = "minnow.Svd",
           .since = 1,
           .doc = MINNOW_DOC(
               "The singular values of each matrix X [..., m, n] that the last two dimensions hold, the largest first, and orthonormal "
               "vectors: X = U diag(S) Vt, U [..., m, k], S [..., k], Vt [..., k, n] with k the smaller of m and n. The sign of a pair of "
               "vectors is not defined. Source: Hestenes 1958, \"Inversion of matrices by biorthogonalization and related results\"."),
           .inputs = {{"X", kFloats}},
           .outputs = {{"S", same_as("X")}, {"U", same_as("X")}, {"Vt", same_as("X")}},
           .infer_shapes = infer,
           .reference = reference,
           .gradient = MINNOW_GRADIENT(gradient)}};
}

}  // namespace

std::span<const Operator> singular_values_operators() { return operator_table<definitions>(); }

}  // namespace minnow
