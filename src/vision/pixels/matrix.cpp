// SPDX-License-Identifier: Apache-2.0
#include "vision/matrix.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>

#include "vision/loops/arithmetic.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

/// sqrt(a a + b b) without overflow.
template <class T>
T length_of(T a, T b) {
  a = std::abs(a);
  b = std::abs(b);
  if (a < b) std::swap(a, b);
  if (a == 0) return 0;
  b /= a;
  return a * std::sqrt(1 + b * b);
}

template <class T>
double squares(const T* row, size_t count) {
  double sum = 0;
  for (size_t k = 0; k < count; ++k) sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
  return sum;
}

}  // namespace

template <class T>
void jacobi_svd(T* at, size_t m, size_t n, T* w, T* vt, size_t columns) {
  constexpr bool kSingle = sizeof(T) == 4;
  const T eps = kSingle ? T(FLT_EPSILON * 2) : T(DBL_EPSILON * 10);
  const double least = kSingle ? FLT_MIN : DBL_MIN;
  std::vector<double> size(n);
  for (size_t i = 0; i < n; ++i) size[i] = squares(at + i * m, m);
  if (vt) {
    std::fill(vt, vt + n * n, T(0));
    for (size_t i = 0; i < n; ++i) vt[i * n + i] = 1;
  }
  bool changed = true;
  for (size_t sweep = 0; changed && sweep < std::max<size_t>(m, 30); ++sweep) {
    changed = false;
    for (size_t i = 0; i + 1 < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        T* const x = at + i * m;
        T* const y = at + j * m;
        double a = size[i], b = size[j], p = 0;
        for (size_t k = 0; k < m; ++k) p += static_cast<double>(x[k]) * static_cast<double>(y[k]);
        if (!(std::abs(p) > static_cast<double>(eps) * std::sqrt(a * b))) continue;
        p *= 2;
        const double beta = a - b, gamma = length_of(p, beta);
        T c, s;
        if (beta < 0) {
          s = static_cast<T>(std::sqrt((gamma - beta) * 0.5 / gamma));
          c = static_cast<T>(p / (gamma * static_cast<double>(s) * 2));
        } else {
          c = static_cast<T>(std::sqrt((gamma + beta) / (gamma * 2)));
          s = static_cast<T>(p / (gamma * static_cast<double>(c) * 2));
        }
        a = b = 0;
        for (size_t k = 0; k < m; ++k) {
          const T t0 = c * x[k] + s * y[k], t1 = -s * x[k] + c * y[k];
          x[k] = t0;
          y[k] = t1;
          a += static_cast<double>(t0) * static_cast<double>(t0);
          b += static_cast<double>(t1) * static_cast<double>(t1);
        }
        size[i] = a;
        size[j] = b;
        changed = true;
        if (!vt) continue;
        T* const u = vt + i * n;
        T* const v = vt + j * n;
        for (size_t k = 0; k < n; ++k) {
          const T t0 = c * u[k] + s * v[k], t1 = -s * u[k] + c * v[k];
          u[k] = t0;
          v[k] = t1;
        }
      }
    }
  }
  for (size_t i = 0; i < n; ++i) size[i] = std::sqrt(squares(at + i * m, m));
  for (size_t i = 0; i + 1 < n; ++i) {
    const size_t j = static_cast<size_t>(std::max_element(size.begin() + static_cast<int64_t>(i), size.end()) - size.begin());
    if (i == j) continue;
    std::swap(size[i], size[j]);
    if (!vt) continue;
    std::swap_ranges(at + i * m, at + i * m + m, at + j * m);
    std::swap_ranges(vt + i * n, vt + i * n + n, vt + j * n);
  }
  for (size_t i = 0; i < n; ++i) w[i] = static_cast<T>(size[i]);
  if (!vt) return;
  Random random(0x12345678);
  for (size_t i = 0; i < columns; ++i) {
    T* const row = at + i * m;
    double length = i < n ? size[i] : 0;
    for (int attempt = 0; attempt < 100 && length <= least; ++attempt) {
      // Any vector that is orthogonal to the columns before.
      const T part = static_cast<T>(1. / static_cast<double>(m));
      for (size_t k = 0; k < m; ++k) row[k] = (random.next() & 256) != 0 ? part : -part;
      for (int pass = 0; pass < 2; ++pass) {
        for (size_t j = 0; j < i; ++j) {
          const T* const other = at + j * m;
          double along = 0;
          for (size_t k = 0; k < m; ++k) along += static_cast<double>(row[k] * other[k]);
          T sum = 0;
          for (size_t k = 0; k < m; ++k) {
            row[k] = static_cast<T>(static_cast<double>(row[k]) - along * static_cast<double>(other[k]));
            sum += std::abs(row[k]);
          }
          const T scale = sum > eps * 100 ? 1 / sum : T(0);
          for (size_t k = 0; k < m; ++k) row[k] *= scale;
        }
      }
      length = std::sqrt(squares(row, m));
    }
    const T scale = static_cast<T>(length > least ? 1 / length : 0.);
    for (size_t k = 0; k < m; ++k) row[k] *= scale;
  }
}

template <class T>
void jacobi_eigen(T* a, size_t n, T* values, T* vectors) {
  const auto at = [&](size_t i, size_t j) -> T& { return a[i * n + j]; };
  if (vectors) {
    std::fill(vectors, vectors + n * n, T(0));
    for (size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  }
  // The largest element of each row to the right of the diagonal, and of each column above.
  std::vector<size_t> in_row(n), in_column(n);
  const auto find = [&](size_t k) {
    if (k + 1 < n) {
      in_row[k] = k + 1;
      for (size_t i = k + 2; i < n; ++i)
        if (std::abs(at(k, in_row[k])) < std::abs(at(k, i))) in_row[k] = i;
    }
    if (k > 0) {
      in_column[k] = 0;
      for (size_t i = 1; i < k; ++i)
        if (std::abs(at(in_column[k], k)) < std::abs(at(i, k))) in_column[k] = i;
    }
  };
  for (size_t k = 0; k < n; ++k) {
    values[k] = at(k, k);
    find(k);
  }
  for (size_t step = 0; n > 1 && step < n * n * 30; ++step) {
    size_t k = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (std::abs(at(k, in_row[k])) < std::abs(at(i, in_row[i]))) k = i;
    size_t l = in_row[k];
    for (size_t i = 1; i < n; ++i)
      if (std::abs(at(k, l)) < std::abs(at(in_column[i], i))) k = in_column[i], l = i;
    const T p = at(k, l);
    if (!(std::abs(p) > std::numeric_limits<T>::epsilon())) break;
    const T y = static_cast<T>(static_cast<double>(values[l] - values[k]) * 0.5);
    T t = std::abs(y) + length_of(p, y), s = length_of(p, t);
    const T c = t / s;
    s = p / s;
    t = (p / t) * p;
    if (y < 0) s = -s, t = -t;
    at(k, l) = 0;
    values[k] -= t;
    values[l] += t;
    const auto rotate = [&](T& u, T& v) {
      const T u0 = u, v0 = v;
      u = u0 * c - v0 * s;
      v = u0 * s + v0 * c;
    };
    for (size_t i = 0; i < k; ++i) rotate(at(i, k), at(i, l));
    for (size_t i = k + 1; i < l; ++i) rotate(at(k, i), at(i, l));
    for (size_t i = l + 1; i < n; ++i) rotate(at(k, i), at(l, i));
    if (vectors)
      for (size_t i = 0; i < n; ++i) rotate(vectors[k * n + i], vectors[l * n + i]);
    find(k);
    find(l);
  }
  for (size_t k = 0; k + 1 < n; ++k) {
    const size_t m = static_cast<size_t>(std::max_element(values + k, values + n) - values);
    if (m == k) continue;
    std::swap(values[k], values[m]);
    if (vectors) std::swap_ranges(vectors + k * n, vectors + k * n + n, vectors + m * n);
  }
}

template <class T>
int lu(T* a, size_t n, T* b, size_t k) {
  const T eps = sizeof(T) == 4 ? T(FLT_EPSILON * 10) : T(DBL_EPSILON * 100);
  int sign = 1;
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i + 1; j < n; ++j)
      if (std::abs(a[j * n + i]) > std::abs(a[pivot * n + i])) pivot = j;
    if (!(std::abs(a[pivot * n + i]) >= eps)) return 0;
    if (pivot != i) {
      std::swap_ranges(a + i * n + i, a + i * n + n, a + pivot * n + i);
      if (b) std::swap_ranges(b + i * k, b + i * k + k, b + pivot * k);
      sign = -sign;
    }
    if constexpr (sizeof(T) == 4)
      arithmetic_loops().eliminate_f32(a, n, b, k, i);
    else
      arithmetic_loops().eliminate_f64(a, n, b, k, i);
  }
  if (!b) return sign;
  for (size_t i = n; i-- > 0;) {
    for (size_t j = 0; j < k; ++j) {
      T s = b[i * k + j];
      for (size_t c = i + 1; c < n; ++c) s -= a[i * n + c] * b[c * k + j];
      b[i * k + j] = s / a[i * n + i];
    }
  }
  return sign;
}

template <class T>
bool cholesky(T* a, size_t n, T* b, size_t k) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double s = static_cast<double>(a[i * n + j]);
      for (size_t c = 0; c < j; ++c) s -= static_cast<double>(a[i * n + c]) * static_cast<double>(a[j * n + c]);
      if (j < i) {
        a[i * n + j] = static_cast<T>(s / static_cast<double>(a[j * n + j]));
      } else {
        if (!(s >= static_cast<double>(std::numeric_limits<T>::epsilon()))) return false;
        a[i * n + i] = static_cast<T>(std::sqrt(s));
      }
    }
  }
  for (size_t column = 0; column < k; ++column) {
    for (size_t i = 0; i < n; ++i) {
      double s = static_cast<double>(b[i * k + column]);
      for (size_t c = 0; c < i; ++c) s -= static_cast<double>(a[i * n + c]) * static_cast<double>(b[c * k + column]);
      b[i * k + column] = static_cast<T>(s / static_cast<double>(a[i * n + i]));
    }
    for (size_t i = n; i-- > 0;) {
      double s = static_cast<double>(b[i * k + column]);
      for (size_t c = i + 1; c < n; ++c) s -= static_cast<double>(a[c * n + i]) * static_cast<double>(b[c * k + column]);
      b[i * k + column] = static_cast<T>(s / static_cast<double>(a[i * n + i]));
    }
  }
  return true;
}

double least_squares(const double* a, size_t m, size_t n, const double* b, size_t k, double* x) {
  // The transpose of a wide matrix is decomposed.
  const bool wide = m < n;
  const size_t rows = std::max(m, n), columns = std::min(m, n);
  std::vector<double> at(rows * columns), w(columns), vt(columns * columns);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) (wide ? at[i * rows + j] : at[j * rows + i]) = a[i * n + j];
  jacobi_svd(at.data(), rows, columns, w.data(), vt.data(), columns);
  std::fill(x, x + n * k, 0.);
  const double threshold = std::accumulate(w.begin(), w.end(), 0.) * DBL_EPSILON * 2;
  for (size_t i = 0; i < columns; ++i) {
    if (w[i] <= threshold) continue;
    const double* const u = wide ? vt.data() + i * columns : at.data() + i * rows;
    const double* const v = wide ? at.data() + i * rows : vt.data() + i * columns;
    for (size_t c = 0; c < k; ++c) {
      double s = 0;
      for (size_t j = 0; j < m; ++j) s += u[j] * b[j * k + c];
      s /= w[i];
      for (size_t j = 0; j < n; ++j) x[j * k + c] += s * v[j];
    }
  }
  return columns && w[0] > 0 ? w[columns - 1] / w[0] : 0;
}

std::vector<double> least_squares(const std::vector<double>& a, size_t n, const std::vector<double>& b) {
  std::vector<double> x(n);
  least_squares(a.data(), b.size(), n, b.data(), 1, x.data());
  return x;
}

std::vector<double> inverse3(const double* a) {
  std::vector<double> inverse(9);
  const auto minor = [&](int r, int c) {
    const int r0 = (r + 1) % 3, r1 = (r + 2) % 3, c0 = (c + 1) % 3, c1 = (c + 2) % 3;
    return a[3 * r0 + c0] * a[3 * r1 + c1] - a[3 * r0 + c1] * a[3 * r1 + c0];
  };
  const double determinant = a[0] * minor(0, 0) + a[1] * minor(0, 1) + a[2] * minor(0, 2);
  if (determinant == 0) return inverse;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) inverse[static_cast<size_t>(3 * r + c)] = minor(c, r) / determinant;
  return inverse;
}

void multiply3(const double* a, const double* b, double* product) {
  double result[9];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) result[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
  std::copy(result, result + 9, product);
}

template void jacobi_svd(float*, size_t, size_t, float*, float*, size_t);
template void jacobi_svd(double*, size_t, size_t, double*, double*, size_t);
template void jacobi_eigen(float*, size_t, float*, float*);
template void jacobi_eigen(double*, size_t, double*, double*);
template int lu(float*, size_t, float*, size_t);
template int lu(double*, size_t, double*, size_t);
template bool cholesky(float*, size_t, float*, size_t);
template bool cholesky(double*, size_t, double*, size_t);

}  // namespace minnow::vision
