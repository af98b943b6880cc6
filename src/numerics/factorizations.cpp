// SPDX-License-Identifier: Apache-2.0
#include "numerics/factorizations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "numerics/real_factorizations.h"

namespace minnow::numerics {
namespace {

constexpr size_t kTiny = 8;  // rows of real matrices that are not worth blocks

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double conjugate(double x) { return x; }
Complex conjugate(const Complex& x) { return std::conj(x); }
double real_part(double x) { return x; }
double real_part(const Complex& x) { return x.real(); }
double imaginary_part(double) { return 0; }
double imaginary_part(const Complex& x) { return x.imag(); }
// Pivots are compared by this size.
double size_of_pivot(double x) { return std::fabs(x); }
double size_of_pivot(const Complex& x) { return std::fabs(x.real()) + std::fabs(x.imag()); }

// y += a x
template <class T>
void add_scaled(size_t n, T a, const T* __restrict x, T* __restrict y) {
  for (size_t i = 0; i < n; ++i) y[i] += a * x[i];
}
// Without the C++ rules for products of infinities, which would keep the loop scalar.
template <>
void add_scaled(size_t n, Complex a, const Complex* __restrict x, Complex* __restrict y) {
  const double re = a.real(), im = a.imag();
  const double* from = reinterpret_cast<const double*>(x);
  double* to = reinterpret_cast<double*>(y);
  for (size_t i = 0; i < n; ++i) {
    to[2 * i] += re * from[2 * i] - im * from[2 * i + 1];
    to[2 * i + 1] += re * from[2 * i + 1] + im * from[2 * i];
  }
}

// sum of conj(x) y
template <class T>
T dot(size_t n, const T* x, const T* y) {
  T sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t k = 0; k < 4; ++k) sums[k] += conjugate(x[i + k]) * y[i + k];
  for (; i < n; ++i) sums[0] += conjugate(x[i]) * y[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The length of a vector whose squares may overflow.
template <class T>
double length(size_t n, const T* x, size_t step) {
  double largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max({largest, std::fabs(real_part(x[i * step])), std::fabs(imaginary_part(x[i * step]))});
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const double re = real_part(x[i * step]) / largest, im = imaginary_part(x[i * step]) / largest;
    sum += re * re + im * im;
  }
  return largest * std::sqrt(sum);
}

}  // namespace

template <class T>
bool lu(T* a, size_t n, std::vector<size_t>& swaps) {
  if constexpr (std::is_same_v<T, double>)
    if (n > kTiny) return real::lu(a, n, swaps);
  swaps.resize(n);
  bool regular = true;
  for (size_t k = 0; k < n; ++k) {
    stop_if_asked(n);
    size_t best = k;
    for (size_t i = k + 1; i < n; ++i)
      if (size_of_pivot(a[i * n + k]) > size_of_pivot(a[best * n + k])) best = i;
    swaps[k] = best;
    if (best != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    if (a[k * n + k] == T(0)) {
      regular = false;
      continue;
    }
    const T inverse = T(1) / a[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      T* row = a + i * n;
      if (row[k] == T(0)) continue;
      row[k] *= inverse;
      add_scaled(n - k - 1, -row[k], a + k * n + k + 1, row + k + 1);
    }
  }
  return regular;
}

template <class T>
void lu_solve(const T* factors, size_t n, const std::vector<size_t>& swaps, T* b, size_t k) {
  if constexpr (std::is_same_v<T, double>)
    if (n > kTiny) return real::lu_solve(factors, n, swaps, b, k);
  for (size_t i = 0; i < n; ++i)
    if (swaps[i] != i) std::swap_ranges(b + i * k, b + (i + 1) * k, b + swaps[i] * k);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j) add_scaled(k, -factors[i * n + j], b + j * k, b + i * k);
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j) add_scaled(k, -factors[i * n + j], b + j * k, b + i * k);
    for (size_t c = 0; c < k; ++c) b[i * k + c] /= factors[i * n + i];
  }
}

template <class T>
bool cholesky(T* a, size_t n) {
  if constexpr (std::is_same_v<T, double>)
    if (n > kTiny) return real::cholesky(a, n);
  for (size_t i = 0; i < n; ++i) {
    stop_if_asked(n);
    for (size_t j = 0; j < i; ++j) a[i * n + j] = (a[i * n + j] - conjugate(dot(j, a + i * n, a + j * n))) / a[j * n + j];
    const double rest = real_part(a[i * n + i]) - real_part(dot(i, a + i * n, a + i * n));
    if (!(rest > 0)) return false;
    a[i * n + i] = std::sqrt(rest);
    for (size_t j = i + 1; j < n; ++j) a[i * n + j] = 0;
  }
  return true;
}

template <class T>
void qr(T* a, size_t m, size_t n, T* tau) {
  if constexpr (std::is_same_v<T, double>)
    if (m > kTiny) return real::qr(a, m, n, tau);
  std::vector<T> products(n);
  for (size_t k = 0; k < std::min(m, n); ++k) {
    stop_if_asked(n);
    const T alpha = a[k * n + k];
    const double below = length(m - k - 1, a + (k + 1) * n + k, n);
    if (below == 0 && imaginary_part(alpha) == 0) {
      tau[k] = 0;
      continue;
    }
    const double whole = std::hypot(std::hypot(real_part(alpha), imaginary_part(alpha)), below);
    const double beta = real_part(alpha) >= 0 ? -whole : whole;
    tau[k] = (T(beta) - alpha) / beta;
    const T scale = T(1) / (alpha - T(beta));
    for (size_t i = k + 1; i < m; ++i) a[i * n + k] *= scale;
    a[k * n + k] = beta;
    // The rest of the columns: A -= conj(tau) v (v^H A).
    const size_t width = n - k - 1;
    if (width == 0) continue;
    std::copy_n(a + k * n + k + 1, width, products.begin());
    for (size_t i = k + 1; i < m; ++i) add_scaled(width, conjugate(a[i * n + k]), a + i * n + k + 1, products.data());
    const T factor = -conjugate(tau[k]);
    add_scaled(width, factor, products.data(), a + k * n + k + 1);
    for (size_t i = k + 1; i < m; ++i) add_scaled(width, factor * a[i * n + k], products.data(), a + i * n + k + 1);
  }
}

template <class T>
void qr_q(const T* factors, size_t m, size_t n, const T* tau, T* q, size_t columns) {
  if constexpr (std::is_same_v<T, double>)
    if (m > kTiny) return real::qr_q(factors, m, n, tau, q, columns);
  std::fill_n(q, m * columns, T(0));
  for (size_t i = 0; i < std::min(m, columns); ++i) q[i * columns + i] = 1;
  std::vector<T> products(columns);
  for (size_t k = std::min({m, n, columns}); k-- > 0;) {
    stop_if_asked(n);
    if (tau[k] == T(0)) continue;
    std::copy_n(q + k * columns, columns, products.begin());
    for (size_t i = k + 1; i < m; ++i) add_scaled(columns, conjugate(factors[i * n + k]), q + i * columns, products.data());
    add_scaled(columns, -tau[k], products.data(), q + k * columns);
    for (size_t i = k + 1; i < m; ++i) add_scaled(columns, -tau[k] * factors[i * n + k], products.data(), q + i * columns);
  }
}

namespace {

/// Multiplies all by the power of two that brings the largest to about 1, so that squares neither overflow nor vanish; `scale` is 0 if
/// all are 0. False if one is not finite.
template <class T>
bool scale_to_one(T* a, size_t count, double& scale) {
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double re = std::fabs(real_part(a[i])), im = std::fabs(imaginary_part(a[i]));
    if (!std::isfinite(re) || !std::isfinite(im)) return false;
    largest = std::max({largest, re, im});
  }
  scale = largest == 0 ? 0 : std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
  for (size_t i = 0; scale != 0 && i < count; ++i) a[i] *= scale;
  return true;
}

// Puts values in order with the rows that belong to them.
template <class Less, class Value, class T>
void sort_rows(size_t n, size_t width, Value* values, T* rows, Less less) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return less(values[i], values[j]) || (values[i] == values[j] && i < j); });
  const std::vector<Value> old_values(values, values + n);
  for (size_t i = 0; i < n; ++i) values[i] = old_values[order[i]];
  if (!rows) return;
  const std::vector<T> old_rows(rows, rows + n * width);
  for (size_t i = 0; i < n; ++i) std::copy_n(old_rows.begin() + static_cast<std::ptrdiff_t>(order[i] * width), width, rows + i * width);
}

template <class T>
void transpose_square(T* a, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

constexpr double kNegligible = kEpsilon * kEpsilon;  // beside a largest element of about 1

/// Turns pairs of rows until all are orthogonal (Jacobi's sweeps), and the rows of `turns` likewise. False: they do not become so.
template <class T>
bool orthogonalize(T* rows, T* turns, size_t n) {
  const double tolerance = kEpsilon * std::sqrt(static_cast<double>(n));
  bool turned = n > 1;
  std::vector<double> squares(n);
  for (int sweep = 0; turned; ++sweep) {
    if (sweep == 60) return false;
    turned = false;
    for (size_t i = 0; i < n; ++i) squares[i] = real_part(dot(n, rows + i * n, rows + i * n));
    for (size_t i = 0; i + 1 < n; ++i)
      for (size_t j = i + 1; j < n; ++j) {
        if (j == i + 1) stop_if_asked(n);
        T* __restrict x = rows + i * n;
        T* __restrict y = rows + j * n;
        const double p = squares[i], q = squares[j];
        const T product = dot(n, y, x);  // <y, x>
        const double size = std::abs(product);
        if (size <= tolerance * std::sqrt(p * q) || size <= kNegligible * kNegligible) continue;
        turned = true;
        const double zeta = (q - p) / (2 * size);
        const double t = (zeta >= 0 ? 1.0 : -1.0) / (std::fabs(zeta) + std::hypot(1.0, zeta));
        const double c = 1 / std::hypot(1.0, t), s = c * t;
        const T phase = product / size;
        // x <- c x - s phase y, y <- s conj(phase) x + c y
        const T sx = s * phase, sy = s * conjugate(phase);
        const auto rotate = [&](T* __restrict r, T* __restrict w) {
          for (size_t k = 0; k < n; ++k) {
            const T old = r[k];
            r[k] = c * old - sx * w[k];
            w[k] = sy * old + c * w[k];
          }
        };
        rotate(x, y);
        rotate(turns + i * n, turns + j * n);
        squares[i] = p - t * size, squares[j] = q + t * size;
      }
  }
  return true;
}

/// Divides rows by their lengths. Rows of length zero get directions of their own, orthogonal to the others.
template <class T>
void make_unit_rows(T* rows, const double* lengths, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    T* row = rows + i * n;
    if (lengths[i] > kNegligible) {
      for (size_t k = 0; k < n; ++k) row[k] /= lengths[i];
      continue;
    }
    double best = -1;
    std::vector<T> candidate(n), chosen(n);
    for (size_t axis = 0; axis < n && best < 0.5; ++axis) {
      std::fill(candidate.begin(), candidate.end(), T(0));
      candidate[axis] = 1;
      for (int twice = 0; twice < 2; ++twice)
        for (size_t other = 0; other < i; ++other)
          add_scaled(n, -dot(n, rows + other * n, candidate.data()), rows + other * n, candidate.data());
      const double norm = length(n, candidate.data(), 1);
      if (norm > best) {
        best = norm;
        for (size_t k = 0; k < n; ++k) chosen[k] = candidate[k] / norm;
      }
    }
    std::copy(chosen.begin(), chosen.end(), row);
  }
}

/// Makes rows and columns about equally large (balancing: Parlett, Reinsch 1969). Returns the factors of the rows.
std::vector<double> balance(Complex* a, size_t n) {
  const auto h = [&](size_t i, size_t j) -> Complex& { return a[i * n + j]; };
  std::vector<double> scales(n, 1.0);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < n; ++i) {
      double row = 0, column = 0;
      for (size_t j = 0; j < n; ++j)
        if (j != i) row += std::abs(h(i, j)), column += std::abs(h(j, i));
      if (row == 0 || column == 0) continue;
      double f = 1;
      const double sum = row + column;
      while (column < row / 2) f *= 2, column *= 4;
      while (column >= row * 2) f /= 2, column /= 4;
      if ((column + row) / f >= 0.95 * sum || f == 1) continue;
      changed = true;
      scales[i] *= f;
      for (size_t j = 0; j < n; ++j) h(i, j) /= f;
      for (size_t j = 0; j < n; ++j) h(j, i) *= f;
    }
  }
  return scales;
}

/// Reduces a matrix to Hessenberg form by reflections; z, which may be null, is multiplied by them from the right.
void make_hessenberg(Complex* a, size_t n, Complex* z) {
  const auto h = [&](size_t i, size_t j) -> Complex& { return a[i * n + j]; };
  std::vector<Complex> v(n);
  for (size_t k = 0; k + 2 < n; ++k) {
    stop_if_asked(n);
    const double whole = length(n - k - 1, a + (k + 1) * n + k, n);
    if (whole == 0) continue;
    const Complex alpha = h(k + 1, k);
    const double size = std::abs(alpha);
    const Complex beta = size == 0 ? Complex(-whole) : -alpha / size * whole;
    for (size_t i = k + 1; i < n; ++i) v[i] = h(i, k);
    v[k + 1] -= beta;
    const double norm = length(n - k - 1, v.data() + k + 1, 1);
    if (norm == 0) continue;
    for (size_t i = k + 1; i < n; ++i) v[i] /= norm;
    std::vector<Complex> sums(n);
    for (size_t i = k + 1; i < n; ++i) add_scaled(n, std::conj(v[i]), a + i * n, sums.data());
    for (size_t i = k + 1; i < n; ++i) add_scaled(n, -2.0 * v[i], sums.data(), a + i * n);
    const auto from_right = [&](Complex* rows) {
      for (size_t i = 0; i < n; ++i) {
        Complex sum = 0;
        for (size_t j = k + 1; j < n; ++j) sum += rows[i * n + j] * v[j];
        for (size_t j = k + 1; j < n; ++j) rows[i * n + j] -= 2.0 * sum * std::conj(v[j]);
      }
    };
    from_right(a);
    if (z) from_right(z);
    for (size_t i = k + 2; i < n; ++i) h(i, k) = 0;
  }
}

/// Wilkinson's shift of the block that ends with row high - 1; in every tenth round another one, in case that the block goes in circles.
Complex shift_of(const Complex* a, size_t n, size_t high, int round) {
  const auto h = [&](size_t i, size_t j) { return a[i * n + j]; };
  const size_t e = high - 1;
  if (round % 10 == 0) return h(e, e) + std::abs(h(e, e - 1));
  const Complex p = h(e - 1, e - 1), q = h(e - 1, e), r = h(e, e - 1), s = h(e, e);
  const Complex half = (p - s) / 2.0, root = std::sqrt(half * half + q * r);
  const Complex under = std::real(half * std::conj(root)) >= 0 ? half + root : half - root;
  return under == 0.0 ? s : s - q * r / under;
}

/// A QR step on the block [low, high): Givens rotations make H - shift upper triangular, and are put back from the right. z may be null.
void qr_step(Complex* a, size_t n, size_t low, size_t high, Complex shift, Complex* z) {
  const auto h = [&](size_t i, size_t j) -> Complex& { return a[i * n + j]; };
  std::vector<double> cosines(high);
  std::vector<Complex> sines(high);
  for (size_t i = low; i < high; ++i) h(i, i) -= shift;
  for (size_t i = low; i + 1 < high; ++i) {
    const Complex f = h(i, i), g = h(i + 1, i);
    const double size = std::hypot(std::abs(f), std::abs(g));
    double c = 1;
    Complex s = 0;
    if (size != 0) {
      const Complex phase = std::abs(f) == 0 ? Complex(1) : f / std::abs(f);
      c = std::abs(f) / size;
      s = phase * std::conj(g) / size;
    }
    cosines[i] = c, sines[i] = s;
    for (size_t j = i; j < n; ++j) {
      const Complex x = h(i, j), y = h(i + 1, j);
      h(i, j) = c * x + s * y;
      h(i + 1, j) = -std::conj(s) * x + c * y;
    }
  }
  const auto from_right = [&](Complex* rows, size_t i, size_t end) {
    for (size_t k = 0; k < end; ++k) {
      const Complex x = rows[k * n + i], y = rows[k * n + i + 1];
      rows[k * n + i] = cosines[i] * x + std::conj(sines[i]) * y;
      rows[k * n + i + 1] = -sines[i] * x + cosines[i] * y;
    }
  };
  for (size_t i = low; i + 1 < high; ++i) {
    from_right(a, i, std::min(i + 2, high));
    if (z) from_right(z, i, n);
  }
  for (size_t i = low; i < high; ++i) h(i, i) += shift;
}

}  // namespace

template <class T>
bool eigh(T* a, size_t n, double* values, bool vectors) {
  for (size_t i = 0; i < n; ++i) {
    a[i * n + i] = real_part(a[i * n + i]);
    for (size_t j = i + 1; j < n; ++j) a[i * n + j] = conjugate(a[j * n + i]);
  }
  for (size_t i = 0; i < n * n; ++i)
    if (!std::isfinite(real_part(a[i])) || !std::isfinite(imaginary_part(a[i]))) return false;
  // Householder's reduction to a tridiagonal matrix: A <- H A H, H = 1 - 2 v v^H with v of length 1, for one column after the other.
  std::vector<T> reflections(n * n), product(n), beside_of(n);
  std::vector<double> diagonal(n), beside(n, 0.0);
  for (size_t k = 0; k + 1 < n; ++k) {
    stop_if_asked(n);
    T* v = reflections.data() + k * n;  // zero up to k
    const double whole = length(n - k - 1, a + (k + 1) * n + k, n);
    const T alpha = a[(k + 1) * n + k];
    const double size = std::abs(alpha);
    const bool done = whole == 0 || (k + 2 == n);
    if (done) {
      beside_of[k] = alpha;
      continue;
    }
    const T beta = size == 0 ? T(-whole) : -alpha / size * whole;
    beside_of[k] = beta;
    for (size_t i = k + 1; i < n; ++i) v[i] = a[i * n + k];
    v[k + 1] -= beta;
    const double norm = length(n - k - 1, v + k + 1, 1);
    if (norm == 0) {
      std::fill(v, v + n, T(0));
      beside_of[k] = alpha;
      continue;
    }
    for (size_t i = k + 1; i < n; ++i) v[i] /= norm;
    // p = A v, then A -= 2 v q^H + 2 q v^H with q = p - (v^H p) v
    const size_t width = n - k - 1;
    for (size_t i = k + 1; i < n; ++i) {
      T sum = 0;
      const T* row = a + i * n;
      for (size_t j = k + 1; j < n; ++j) sum += row[j] * v[j];
      product[i] = sum;
    }
    const T along = dot(width, v + k + 1, product.data() + k + 1);
    for (size_t i = k + 1; i < n; ++i) product[i] -= along * v[i];
    for (size_t i = k + 1; i < n; ++i) {
      T* row = a + i * n;
      const T p = T(2) * product[i], u = T(2) * v[i];
      for (size_t j = k + 1; j < n; ++j) row[j] -= u * conjugate(product[j]) + p * conjugate(v[j]);
    }
  }
  for (size_t i = 0; i < n; ++i) diagonal[i] = real_part(a[i * n + i]);
  // Phases make what is beside the diagonal real.
  std::vector<T> phases(n, T(1));
  for (size_t k = 0; k + 1 < n; ++k) {
    stop_if_asked(n);
    const double size = std::abs(beside_of[k]);
    beside[k] = size;
    phases[k + 1] = size == 0 ? phases[k] : phases[k] * (beside_of[k] / size);
  }
  std::vector<double> rotated(vectors ? n * n : 0);
  if (!real::tridiagonal(diagonal, beside, vectors ? rotated.data() : nullptr)) return false;
  sort_rows(n, n, diagonal.data(), vectors ? rotated.data() : nullptr, std::less<>());
  std::copy(diagonal.begin(), diagonal.end(), values);
  if (!vectors) return true;
  // Back: an eigenvector is H0 H1 ... (phases * row).
  for (size_t i = 0; i < n; ++i) {
    T* row = a + i * n;
    for (size_t j = 0; j < n; ++j) row[j] = phases[j] * rotated[i * n + j];
  }
  for (size_t k = n; k-- > 0;) {
    const T* v = reflections.data() + k * n;
    if (std::all_of(v, v + n, [](const T& x) { return x == T(0); })) continue;
    for (size_t i = 0; i < n; ++i) {
      T* row = a + i * n;
      const T along = dot(n - k - 1, v + k + 1, row + k + 1);
      add_scaled(n - k - 1, T(-2) * along, v + k + 1, row + k + 1);
    }
  }
  transpose_square(a, n);
  return true;
}

// One-sided Jacobi (Hestenes 1958) on the rows of R^H of a QR factorization, which makes the sweeps few (Drmac, Veselic 2008).
template <class T>
bool svd(T* a, size_t m, size_t n, double* values, T* v) {
  if (n == 0) return true;
  double scale = 0;
  if (!scale_to_one(a, m * n, scale)) return false;
  if (scale == 0) {
    std::fill_n(values, n, 0.0);
    std::fill_n(a, m * n, T(0));
    if (v) std::fill_n(v, n * n, T(0));
    for (size_t i = 0; v && i < n; ++i) a[i * n + i] = v[i * n + i] = 1;
    return true;
  }
  // Columns of falling length, then QR.
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> lengths(n);
  for (size_t j = 0; j < n; ++j) lengths[j] = length(m, a + j, n);
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return lengths[i] != lengths[j] ? lengths[i] > lengths[j] : i < j; });
  std::vector<T> ordered(m * n), tau(n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) ordered[i * n + j] = a[i * n + order[j]];
  qr(ordered.data(), m, n, tau.data());
  // A P = Q R; the rows of R (columns of R^H) are made orthogonal by rotations J from the left: J R = S W^H, so that A P = Q J^H S W^H.
  std::vector<T> rows(n * n), turns(n * n);
  for (size_t i = 0; i < n; ++i) {
    turns[i * n + i] = 1;
    for (size_t j = i; j < n; ++j) rows[i * n + j] = ordered[i * n + j];
  }
  if (!orthogonalize(rows.data(), turns.data(), n)) return false;
  for (size_t i = 0; i < n; ++i) values[i] = length(n, rows.data() + i * n, 1);
  if (!v) {
    std::sort(values, values + n, std::greater<>());
    for (size_t i = 0; i < n; ++i) values[i] /= scale;
    return true;
  }
  {
    std::vector<double> copy(values, values + n);
    sort_rows(n, n, copy.data(), rows.data(), std::greater<>());
    sort_rows(n, n, values, turns.data(), std::greater<>());
  }
  make_unit_rows(rows.data(), values, n);
  // V = P W: row i of `rows` is row i of W^H.
  for (size_t j = 0; j < n; ++j)
    for (size_t i = 0; i < n; ++i) v[order[j] * n + i] = conjugate(rows[i * n + j]);
  // U = Q [J^H; 0]
  std::vector<T> q(m * n);
  qr_q(ordered.data(), m, n, tau.data(), q.data(), n);
  std::fill_n(a, m * n, T(0));
  transpose_square(turns.data(), n);
  for (T& x : turns) x = conjugate(x);
  for (size_t i = 0; i < m; ++i)
    for (size_t k = 0; k < n; ++k) add_scaled(n, q[i * n + k], turns.data() + k * n, a + i * n);
  for (size_t i = 0; i < n; ++i) values[i] /= scale;
  return true;
}

// Reduction to Hessenberg form, then QR steps with Wilkinson's shifts (Francis 1961), all in complex numbers.
bool eig(Complex* a, size_t n, Complex* values, Complex* vectors) {
  double scale = 0;
  if (!scale_to_one(a, n * n, scale)) return false;
  if (scale == 0) scale = 1;
  const auto h = [&](size_t i, size_t j) -> Complex& { return a[i * n + j]; };
  const std::vector<double> scales = balance(a, n);
  std::vector<Complex> z(vectors ? n * n : 0);
  for (size_t i = 0; vectors && i < n; ++i) z[i * n + i] = 1;
  make_hessenberg(a, n, vectors ? z.data() : nullptr);
  // QR steps on the active block [low, high].
  double norm = 0;
  for (size_t i = 0; i < n * n; ++i) norm = std::max(norm, std::abs(a[i]));
  size_t high = n;
  int round = 0;
  while (high > 1) {
    stop_if_asked(n);
    size_t low = high - 1;
    for (; low > 0; --low) {
      double around = std::abs(h(low - 1, low - 1)) + std::abs(h(low, low));
      if (around == 0) around = norm;
      if (std::abs(h(low, low - 1)) <= kEpsilon * around) {
        h(low, low - 1) = 0;
        break;
      }
    }
    if (low == high - 1) {
      --high, round = 0;
      continue;
    }
    if (++round > 300) return false;
    qr_step(a, n, low, high, shift_of(a, n, high, round), vectors ? z.data() : nullptr);
  }
  const auto store_values = [&] {
    for (size_t i = 0; i < n; ++i) values[i] = h(i, i) / scale;
    return true;
  };
  if (!vectors) return store_values();
  // Eigenvectors of the triangle by substitution, turned back by Z and the scales.
  std::vector<Complex> x(n), v(n);
  for (size_t k = 0; k < n; ++k) {
    stop_if_asked(n);
    std::fill(x.begin(), x.end(), Complex(0));
    x[k] = 1;
    for (size_t i = k; i-- > 0;) {
      Complex sum = 0;
      for (size_t j = i + 1; j <= k; ++j) sum += h(i, j) * x[j];
      Complex gap = h(i, i) - h(k, k);
      if (std::abs(gap) < kEpsilon * norm) gap = kEpsilon * std::max(norm, std::numeric_limits<double>::min());
      x[i] = -sum / gap;
    }
    for (size_t i = 0; i < n; ++i) {
      Complex sum = 0;
      for (size_t j = 0; j <= k; ++j) sum += z[i * n + j] * x[j];
      v[i] = sum * scales[i];
    }
    const double size = length(n, v.data(), 1);
    // The largest component is real, as LAPACK scales complex vectors.
    size_t largest = 0;
    for (size_t i = 1; i < n; ++i)
      if (std::norm(v[i]) > std::norm(v[largest]) * (1 + 1e-9)) largest = i;
    const Complex turn = std::conj(v[largest]) / std::abs(v[largest]) / size;
    for (size_t i = 0; i < n; ++i) vectors[i * n + k] = v[i] * turn;
  }
  return store_values();
}

template <>
bool eigh(double* a, size_t n, double* values, bool vectors) {
  return real::eigh(a, n, values, vectors);
}
template <>
bool svd(double* a, size_t m, size_t n, double* values, double* v) {
  return real::svd(a, m, n, values, v);
}

#define MINNOW_INSTANTIATE(T)                                                       \
  template bool lu(T*, size_t, std::vector<size_t>&);                               \
  template void lu_solve(const T*, size_t, const std::vector<size_t>&, T*, size_t); \
  template bool cholesky(T*, size_t);                                               \
  template void qr(T*, size_t, size_t, T*);                                         \
  template void qr_q(const T*, size_t, size_t, const T*, T*, size_t);
MINNOW_INSTANTIATE(double)
MINNOW_INSTANTIATE(Complex)
template bool eigh(Complex*, size_t, double*, bool);
template bool svd(Complex*, size_t, size_t, double*, Complex*);

}  // namespace minnow::numerics
