// SPDX-License-Identifier: Apache-2.0
// Second moments of matrices kept as those of rows and columns.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/factored.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

/// c: the size of a step, 1 - beta2, eps, the least RMS of the weights, the most RMS of a step, lr weight_decay.
/// States: rows, columns (matrices), or all elements.
template <class T>
void adafactor(const Whole& t) {
  using V = typename NumbersOf<T>::Type;
  const Step& step = t.step;
  const double* c = step.c + kOwn;
  T* w = static_cast<T*>(t.w);
  const T* g = static_cast<const T*>(t.g);
  const size_t count = static_cast<size_t>(t.shape.elements()), rank = t.shape.rank();
  const double share = c[1], eps = c[2] > 0 ? c[2] : static_cast<double>(std::numeric_limits<T>::epsilon());
  const double rms =
      std::sqrt(sum_of<T>(count, [&]<class N>(N, size_t i) HWY_ATTR { return N::load(w + i) * N::load(w + i); }) / step.count);
  const double rate = std::max(c[3], rms) * c[0];
  const size_t columns = rank < 2 ? count : static_cast<size_t>(t.shape.back()),
               rows = rank < 2 ? 1 : static_cast<size_t>(t.shape[rank - 2]);
  T *row_means = static_cast<T*>(t.s[0]), *column_means = static_cast<T*>(t.s[1]), *all = static_cast<T*>(t.s[2]);
  const size_t matrices = count / (rows * columns);

  // The second moments.
  const T decay = static_cast<T>(1 - share);
  if (rank < 2) {
    each<T>(count, [&]<class N>(N, size_t i) HWY_ATTR {
      const N x = gradient_of<N>(step, w, g, i);
      (N::of(decay) * N::load(all + i) + N::of(static_cast<T>(share)) * (x * x)).store(all + i);
    });
  } else {
    for (size_t m = 0; m < matrices; ++m) {
      T* of_columns = column_means + m * columns;
      for (size_t j = 0; j < columns; ++j) of_columns[j] *= decay;
      for (size_t r = 0; r < rows; ++r) {
        const size_t first = (m * rows + r) * columns;
        const V part = V::of(static_cast<T>(share / static_cast<double>(rows)));
        double sum = 0;
        size_t j = 0;
        for (; j + V::kCount <= columns; j += V::kCount) {
          const V x = gradient_of<V>(step, w, g, first + j), square = x * x;
          (V::load(of_columns + j) + part * square).store(of_columns + j);
          sum += square.total();
        }
        for (; j < columns; ++j) {
          const T x = gradient_of<One<T>>(step, w, g, first + j).v;
          of_columns[j] += static_cast<T>(share / static_cast<double>(rows)) * x * x;
          sum += static_cast<double>(x) * static_cast<double>(x);
        }
        T& row = row_means[m * rows + r];
        row = static_cast<T>((1 - share) * static_cast<double>(row) + share * sum / static_cast<double>(columns));
      }
    }
  }

  // The step twice: its norm, then itself.
  const auto over_rows = [&](auto&& f) HWY_ATTR {
    for (size_t m = 0; m < matrices; ++m) {
      double mean = 0;
      for (size_t r = 0; r < rows && rank >= 2; ++r) mean += static_cast<double>(row_means[m * rows + r]);
      mean = std::max(mean / static_cast<double>(rows), eps);
      for (size_t r = 0; r < rows; ++r) {
        const T factor = rank < 2 ? T(1) : static_cast<T>(static_cast<double>(row_means[m * rows + r]) / mean);
        f((m * rows + r) * columns, factor, rank < 2 ? all : column_means + m * columns);
      }
    }
  };
  const T least = static_cast<T>(eps * eps);
  const auto direction = [&]<class N>(N, size_t first, size_t j, T factor, const T* of_columns) HWY_ATTR {
    return gradient_of<N>(step, w, g, first + j) / root(larger(N::of(factor) * N::load(of_columns + j), N::of(least)));
  };
  double squares = 0;
  over_rows([&](size_t first, T factor, const T* of_columns) HWY_ATTR {
    squares += sum_of<T>(columns, [&]<class N>(N n, size_t j) HWY_ATTR {
      const N x = direction(n, first, j, factor, of_columns);
      return x * x;
    });
  });
  const T length = static_cast<T>(rate / std::max(1.0, std::sqrt(squares / step.count) / c[4])), shrink = static_cast<T>(c[5]);
  over_rows([&](size_t first, T factor, const T* of_columns) HWY_ATTR {
    each<T>(columns, [&]<class N>(N n, size_t j) HWY_ATTR {
      const N weight = N::load(w + first + j);
      (weight - N::of(shrink) * weight - N::of(length) * direction(n, first, j, factor, of_columns)).store(w + first + j);
    });
  });
}

/// c: lr, beta1, 1 - beta1, eps. States: the largest sums of squares along each axis, m.
template <class T>
void sm3(const Whole& t) {
  const Step& step = t.step;
  const double* c = step.c + kOwn;
  T *w = static_cast<T*>(t.w), *axes = static_cast<T*>(t.s[0]), *m = static_cast<T*>(t.s[1]), *next = static_cast<T*>(t.scratch);
  const T* g = static_cast<const T*>(t.g);
  const size_t rank = t.shape.rank(), columns = rank == 0 ? 1 : static_cast<size_t>(t.shape.back());
  const size_t rows = static_cast<size_t>(t.shape.elements()) / columns;
  size_t length = 0, last = 0;  // of the axes together; where the last begins
  for (size_t axis = 0; axis < rank; ++axis) last = length, length += static_cast<size_t>(t.shape[axis]);
  std::fill_n(next, std::max<size_t>(length, 1), T(0));
  size_t index[kMaxRank] = {};
  for (size_t row = 0; row < rows; ++row) {
    T bound = std::numeric_limits<T>::infinity();
    for (size_t axis = 0, at = 0; axis + 1 < rank; at += static_cast<size_t>(t.shape[axis++]))
      bound = std::min(bound, axes[at + index[axis]]);
    T most = 0;
    const size_t first = row * columns;
    for (size_t j = 0; j < columns; ++j) {
      const T x = gradient_of<One<T>>(step, w, g, first + j).v, sum = x * x + std::min(bound, axes[last + j]);
      next[last + j] = std::max(next[last + j], sum);
      most = std::max(most, sum);
      T& momentum = m[first + j];
      momentum = static_cast<T>(c[1]) * momentum + static_cast<T>(c[2]) * (sum > 0 ? x / std::sqrt(sum + static_cast<T>(c[3])) : T(0));
      w[first + j] -= static_cast<T>(step.c[kShrink]) * w[first + j] + static_cast<T>(c[0]) * momentum;
    }
    for (size_t axis = 0, at = 0; axis + 1 < rank; at += static_cast<size_t>(t.shape[axis++]))
      next[at + index[axis]] = std::max(next[at + index[axis]], most);
    for (size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
      if (++index[axis] < static_cast<size_t>(t.shape[axis])) break;
      index[axis] = 0;
    }
  }
  std::copy_n(next, std::max<size_t>(length, 1), axes);
}

constexpr WholeLoop kWholes[] = {{"adafactor", adafactor<float>, adafactor<double>}, {"sm3", sm3<float>, sm3<double>}};
}  // namespace

extern const Family kFactoredFamily;
const Family kFactoredFamily{{}, kWholes};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kFactoredFamily
MINNOW_FAMILY(factored_family)

namespace minnow::train::coefficients {

void adafactor(Step& step) {
  const auto [decay, eps, least_rms, clip] = step.own<4>();
  const double t = static_cast<double>(step.t);
  double* c = step.c + kOwn;
  c[0] = std::min(step.lr, 1 / std::sqrt(t));
  c[1] = std::pow(t, -decay);
  c[2] = eps;
  c[3] = least_rms;
  c[4] = clip;
  c[5] = step.lr * step.weight_decay;
}

void sm3(Step& step) {
  const auto [beta1, eps] = step.own<2>();
  double* c = step.c + kOwn;
  c[0] = step.lr, c[1] = beta1, c[2] = 1 - beta1, c[3] = eps;
}

}  // namespace minnow::train::coefficients
#endif
