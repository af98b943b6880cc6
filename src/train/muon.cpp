// SPDX-License-Identifier: Apache-2.0
// Momentum whose matrices are made orthogonal.
#include <type_traits>

#include "train/families.h"
#include "train/products.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/muon.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

/// y [rows, columns] = a [rows, depth] b, or b^T where it is [columns, depth].
void multiply(const double* a, const double* b, bool transpose_b, size_t rows, size_t depth, size_t columns, double* y) {
  for (size_t i = 0; i < rows; ++i) {
    const double* from = a + i * depth;
    double* to = y + i * columns;
    if (transpose_b) {
      for (size_t j = 0; j < columns; ++j)
        to[j] = sum_of<double>(depth, [&]<class N>(N, size_t k) HWY_ATTR { return N::load(from + k) * N::load(b + j * depth + k); });
      continue;
    }
    std::fill_n(to, columns, 0.0);
    for (size_t k = 0; k < depth; ++k)
      each<double>(columns,
                   [&]<class N>(N, size_t j) HWY_ATTR { (N::load(to + j) + N::of(from[k]) * N::load(b + k * columns + j)).store(to + j); });
  }
}

/// c: lr, momentum, nesterov, steps, eps, a, b, c of the iteration; Adam's for vectors: beta1, beta2, eps, corrections.
/// States: momentum (matrices), m, v (vectors).
template <class T>
void muon(const Whole& t) {
  const Step& step = t.step;
  const double* c = step.c + kOwn;
  T *w = static_cast<T*>(t.w), *m = static_cast<T*>(t.s[1]), *v = static_cast<T*>(t.s[2]), *momentum = static_cast<T*>(t.s[0]);
  const T *g = static_cast<const T*>(t.g), shrink = static_cast<T>(step.c[kShrink]);
  const size_t count = static_cast<size_t>(t.shape.elements());
  if (t.shape.rank() < 2) {
    for (size_t i = 0; i < count; ++i) {
      const T x = gradient_of<One<T>>(step, w, g, i).v;
      m[i] = static_cast<T>(c[8]) * m[i] + static_cast<T>(1 - c[8]) * x;
      v[i] = static_cast<T>(c[9]) * v[i] + static_cast<T>(1 - c[9]) * x * x;
      w[i] -= shrink * w[i] + static_cast<T>(c[0] * c[11]) * m[i] / (std::sqrt(static_cast<T>(c[12]) * v[i]) + static_cast<T>(c[10]));
    }
    return;
  }
  // A matrix of fewer rows than columns, or its transpose.
  const size_t rows = static_cast<size_t>(t.shape[0]), columns = count / rows, n = std::min(rows, columns),
               length = std::max(rows, columns);
  T *x = static_cast<T*>(t.scratch), *rest = x + (count + 15) / 16 * 16;
  const bool turned = rows > columns;
  const T share = static_cast<T>(1 - c[1]);
  double squares = 0;
  for (size_t r = 0; r < rows; ++r)
    for (size_t j = 0; j < columns; ++j) {
      const size_t i = r * columns + j;
      const T y = gradient_of<One<T>>(step, w, g, i).v;
      momentum[i] += share * (y - momentum[i]);
      const T u = c[2] != 0 ? y + static_cast<T>(c[1]) * (momentum[i] - y) : momentum[i];
      squares += static_cast<double>(u) * static_cast<double>(u);
      x[turned ? j * rows + r : i] = u;
    }
  const T inverse = static_cast<T>(1 / std::max(std::sqrt(squares), c[4]));
  for (size_t i = 0; i < count; ++i) x[i] *= inverse;
  const int iterations = static_cast<int>(c[3]);
  if constexpr (std::is_same_v<T, float>)
    x = train::orthogonalize(x, n, length, iterations, c + 5, rest, t.threads);
  else
    x = train::orthogonalize(x, n, iterations, c + 5, rest, [=](MuonProduct product, const double* a, const double* b, double* y) {
      multiply(a, b, product == MuonProduct::gram, n, product == MuonProduct::gram ? length : n,
               product == MuonProduct::update ? length : n, y);
    });
  const T rate = static_cast<T>(c[0] * std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns))));
  for (size_t r = 0; r < rows; ++r)
    for (size_t j = 0; j < columns; ++j) {
      T& weight = w[r * columns + j];
      weight -= shrink * weight + rate * x[turned ? j * rows + r : r * columns + j];
    }
}

constexpr WholeLoop kWholes[] = {{"muon", muon<float>, muon<double>, true}};
}  // namespace

extern const Family kMuonFamily;
const Family kMuonFamily{{}, kWholes};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kMuonFamily
MINNOW_FAMILY(muon_family)

namespace minnow::train::coefficients {

void muon(Step& step) {
  const auto [momentum, nesterov, steps, eps, beta1, beta2, adam_eps] = step.own<7>();
  const double t = static_cast<double>(step.t);
  double* c = step.c + kOwn;
  c[0] = step.lr, c[1] = momentum, c[2] = nesterov, c[3] = steps, c[4] = eps;
  c[5] = 3.4445, c[6] = -4.7750, c[7] = 2.0315;  // the steepest at 0 that stays within about 0.7 and 1.2
  c[8] = beta1, c[9] = beta2, c[10] = adam_eps;
  c[11] = 1 / (1 - std::pow(beta1, t)), c[12] = 1 / (1 - std::pow(beta2, t));
}

}  // namespace minnow::train::coefficients
#endif
