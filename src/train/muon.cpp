// SPDX-License-Identifier: Apache-2.0
// Momentum whose matrices are made orthogonal.
#include <type_traits>

#include "train/families.h"
#include "train/products.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/muon.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

template <class T>
T dot(const T* a, const T* b, size_t count) {
  return static_cast<T>(sum_of<T>(count, [&]<class N>(N, size_t i) HWY_ATTR { return N::load(a + i) * N::load(b + i); }));
}

/// to [n, n] = a a^T of a [n, length].
template <class T>
void gram(const T* a, size_t n, size_t length, T* to) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i; j < n; ++j) to[i * n + j] = to[j * n + i] = dot(a + i * length, a + j * length, length);
}

/// As train::orthogonalize of f32, in plain loops.
template <class T>
T* orthogonalize(T* x, size_t n, size_t length, int steps, const double* c, T* scratch, int) {
  T *other = scratch, *g = other + n * length, *g2 = g + n * n;
  for (int step = 0; step < steps; ++step) {
    gram(x, n, length, g);
    gram(g, n, n, g2);  // g is symmetric
    for (size_t i = 0; i < n * n; ++i) g2[i] = static_cast<T>(c[1]) * g[i] + static_cast<T>(c[2]) * g2[i];
    for (size_t i = 0; i < n; ++i) {
      T* row = other + i * length;
      each<T>(length, [&]<class N>(N, size_t j) HWY_ATTR { (N::of(static_cast<T>(c[0])) * N::load(x + i * length + j)).store(row + j); });
      for (size_t k = 0; k < n; ++k)
        each<T>(length, [&]<class N>(N, size_t j)
                            HWY_ATTR { (N::load(row + j) + N::of(g2[i * n + k]) * N::load(x + k * length + j)).store(row + j); });
    }
    std::copy_n(other, n * length, x);
  }
  return x;
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
    x = orthogonalize(x, n, length, iterations, c + 5, rest, t.threads);
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
