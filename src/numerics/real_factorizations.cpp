// SPDX-License-Identifier: Apache-2.0
#include "numerics/real_factorizations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "numerics/factorizations.h"
#include "numerics/matrix_kernels.h"

namespace minnow::numerics::real {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr size_t kStep = kMatrixStep;
constexpr size_t kBlock = 32;  // reflections that are applied at once

const MatrixKernels& kernels() {
  static const MatrixKernels& kKernels = matrix_kernels(cpu::best_isa());
  return kKernels;
}
double dot(size_t n, const double* x, const double* y) {
  double sum = 0;
  kernels().dots(x, n, 1, y, n, &sum);
  return sum;
}

size_t up(size_t n) { return (n + kStep - 1) / kStep * kStep; }
size_t down(size_t n) { return n / kStep * kStep; }

/// Zeros; rows begin at whole vectors.
class Matrix {
 public:
  Matrix(size_t rows, size_t columns) : rows(rows), stride(up(columns)), data_(new (kAlign) double[rows * stride]()) {}
  Matrix(const double* from, size_t rows, size_t columns) : Matrix(rows, columns) {
    for (size_t i = 0; i < rows; ++i) std::copy_n(from + i * columns, columns, row(i));
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { ::operator delete[](data_, kAlign); }
  double* row(size_t i) { return data_ + i * stride; }
  const double* row(size_t i) const { return data_ + i * stride; }
  double& at(size_t i, size_t j) { return data_[i * stride + j]; }
  double at(size_t i, size_t j) const { return data_[i * stride + j]; }
  void store(double* to, size_t columns) const {
    for (size_t i = 0; i < rows; ++i) std::copy_n(row(i), columns, to + i * columns);
  }
  void clear() { std::fill_n(data_, rows * stride, 0.0); }

  const size_t rows, stride;

 private:
  static constexpr std::align_val_t kAlign{64};
  double* data_;
};

/// to [columns, rows] = the transpose of from [rows, columns]
void transpose(const double* from, size_t from_stride, size_t rows, size_t columns, double* to, size_t to_stride) {
  kernels().transpose(from, from_stride, rows, columns, to, to_stride);
}

// ---- Triangles

/// b [n, columns] becomes l^-1 b of a lower triangle, whose diagonal is 1 where `unit`.
void lower_solve(const double* l, size_t l_stride, size_t n, double* b, size_t b_stride, size_t columns, bool unit) {
  const auto subtract = kernels().subtract;
  if (n <= kStep) {
    for (size_t i = 0; i < n; ++i) {
      double* row = b + i * b_stride;
      if (i > 0) subtract(l + i * l_stride, l_stride, b, b_stride, i, row, b_stride, 1, columns);
      if (unit) continue;
      const double inverse = 1 / l[i * l_stride + i];
      for (size_t j = 0; j < columns; ++j) row[j] *= inverse;
    }
    return;
  }
  const size_t half = up(n / 2);
  lower_solve(l, l_stride, half, b, b_stride, columns, unit);
  subtract(l + half * l_stride, l_stride, b, b_stride, half, b + half * b_stride, b_stride, n - half, columns);
  lower_solve(l + half * l_stride + half, l_stride, n - half, b + half * b_stride, b_stride, columns, unit);
}

/// b [n, columns] becomes u^-1 b of an upper triangle.
void upper_solve(const double* u, size_t u_stride, size_t n, double* b, size_t b_stride, size_t columns) {
  const auto subtract = kernels().subtract;
  if (n <= kStep) {
    for (size_t i = n; i-- > 0;) {
      double* row = b + i * b_stride;
      if (i + 1 < n) subtract(u + i * u_stride + i + 1, u_stride, row + b_stride, b_stride, n - i - 1, row, b_stride, 1, columns);
      const double inverse = 1 / u[i * u_stride + i];
      for (size_t j = 0; j < columns; ++j) row[j] *= inverse;
    }
    return;
  }
  const size_t half = up(n / 2);
  upper_solve(u + half * u_stride + half, u_stride, n - half, b + half * b_stride, b_stride, columns);
  subtract(u + half, u_stride, b + half * b_stride, b_stride, n - half, b, b_stride, half, columns);
  upper_solve(u, u_stride, half, b, b_stride, columns);
}

/// Columns [first, last) of a from row `first` on, by halves (Toledo 1997).
bool lu_columns(Matrix& a, size_t first, size_t last, std::vector<size_t>& swaps) {
  const size_t n = a.rows, width = last - first;
  if (width <= kStep) {
    bool regular = true;
    double pivots[kStep];
    size_t best = first;
    for (size_t i = first; i < n; ++i)
      if (std::fabs(a.at(i, first)) > std::fabs(a.at(best, first))) best = i;
    for (size_t k = first; k < last; ++k) {
      stop_if_asked();
      swaps[k] = best;
      if (best != k) std::swap_ranges(a.row(k), a.row(k) + a.stride, a.row(best));
      const double pivot = a.at(k, k);
      if (pivot == 0) {
        regular = false;
        best = k + 1;
        for (size_t i = k + 1; k + 1 < last && i < n; ++i)
          if (std::fabs(a.at(i, k + 1)) > std::fabs(a.at(best, k + 1))) best = i;
        continue;
      }
      if (k + 1 == n) break;
      std::fill_n(pivots, kStep, 0.0);
      std::copy(a.row(k) + k + 1, a.row(k) + last, pivots + (k + 1 - first));
      best = k + 1 + kernels().eliminate(a.row(k + 1) + first, a.stride, n - k - 1, k - first, 1 / pivot, pivots);
    }
    return regular;
  }
  const size_t middle = first + up(width / 2);
  bool regular = lu_columns(a, first, middle, swaps);
  const size_t columns = up(last) - middle, high = middle - first;
  lower_solve(a.row(first) + first, a.stride, high, a.row(first) + middle, a.stride, columns, true);
  kernels().subtract(a.row(middle) + first, a.stride, a.row(first) + middle, a.stride, high, a.row(middle) + middle, a.stride, n - middle,
                     columns);
  regular &= lu_columns(a, middle, last, swaps);
  return regular;
}

/// The lower triangle of rows and columns [first, last).
bool cholesky_rows(Matrix& a, size_t first, size_t last, Matrix& turned) {
  if (last - first <= kStep) {
    for (size_t i = first; i < last; ++i) {
      stop_if_asked();
      for (size_t j = first; j <= i; ++j) {
        double rest = a.at(i, j);
        for (size_t k = first; k < j; ++k) rest -= a.at(i, k) * a.at(j, k);
        if (i == j) {
          if (!(rest > 0)) return false;
          a.at(i, i) = std::sqrt(rest);
        } else {
          a.at(i, j) = rest / a.at(j, j);
        }
      }
    }
    return true;
  }
  const size_t middle = first + up((last - first) / 2), wide = middle - first, high = last - middle;
  if (!cholesky_rows(a, first, middle, turned)) return false;
  for (size_t i = 0; i < wide; ++i) std::fill(turned.row(i) + high, turned.row(i) + up(high), 0.0);
  transpose(a.row(middle) + first, a.stride, high, wide, turned.row(0), turned.stride);
  lower_solve(a.row(first) + first, a.stride, wide, turned.row(0), turned.stride, up(high), false);
  transpose(turned.row(0), turned.stride, wide, high, a.row(middle) + first, a.stride);
  for (size_t j = 0; j < high; j += kBlock)  // what is above the diagonal is not read
    kernels().subtract(a.row(middle + j) + first, a.stride, turned.row(0) + j, turned.stride, wide, a.row(middle + j) + middle + j,
                       a.stride, high - j, std::min(kBlock, up(high - j)));
  return cholesky_rows(a, middle, last, turned);
}

// ---- Reflections

/// v of length 1, in place of x, so that (1 - 2 v v^T) x = (beta, 0, ..): v is 0 if x is that already. Returns beta.
double reflection(double* x, size_t n) {
  const double alpha = x[0], below = n > 1 ? dot(n - 1, x + 1, x + 1) : 0;
  if (below == 0) {
    std::fill_n(x, n, 0.0);
    return alpha;
  }
  const double whole = std::sqrt(alpha * alpha + below), beta = alpha >= 0 ? -whole : whole;
  x[0] = alpha - beta;
  const double inverse = 1 / std::sqrt(2 * whole * (whole + std::fabs(alpha)));
  for (size_t i = 0; i < n; ++i) x[i] *= inverse;
  return beta;
}

/// t of H0 H1 .. = 1 - V t V^T (Schreiber, Van Loan 1989), H = 1 - tau v v^T, where the vectors are rows of `v` [count, n].
void join_reflections(const double* v, size_t v_stride, size_t count, size_t n, const double* tau, Matrix& t) {
  t.clear();
  double along[kBlock];
  for (size_t j = 0; j < count; ++j) {
    kernels().dots(v, v_stride, j, v + j * v_stride, n, along);
    for (size_t i = 0; i < j; ++i) {
      double sum = 0;
      for (size_t k = i; k < j; ++k) sum += t.at(i, k) * along[k];
      t.at(i, j) = -tau[j] * sum;
    }
    t.at(j, j) = tau[j];
  }
}

/// a [rows, columns] -= V op(t) V^T a of `count` vectors, the rows of `v`: of the product of reflections, or with `turned` of its
/// transpose.
void reflect(const double* v, size_t v_stride, size_t count, const Matrix& t, bool turned, double* a, size_t a_stride, size_t rows,
             size_t columns) {
  const auto subtract = kernels().subtract;
  Matrix upright(rows, count), along(count, columns), mixed(count, columns), factors(count, count);
  transpose(v, v_stride, count, rows, upright.row(0), upright.stride);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) factors.at(i, j) = turned ? t.at(j, i) : t.at(i, j);
  subtract(v, v_stride, a, a_stride, rows, along.row(0), along.stride, count, columns);
  subtract(factors.row(0), factors.stride, along.row(0), along.stride, count, mixed.row(0), mixed.stride, count, columns);
  subtract(upright.row(0), upright.stride, mixed.row(0), mixed.stride, count, a, a_stride, rows, columns);
}

/// The rows x of `rows` become H0 H1 .. x, H = 1 - 2 v v^T, where the vectors are the first rows of v; vector k begins at `offset` + k.
void reflect_rows(const Matrix& v, size_t count, size_t offset, Matrix& rows) {
  const auto subtract = kernels().subtract;
  const std::vector<double> tau(kBlock, 2.0);
  Matrix t(kBlock, kBlock), turned(kBlock, kBlock), upright(v.stride, kBlock), along(rows.rows, kBlock), mixed(rows.rows, kBlock);
  for (size_t end = count; end > 0;) {
    stop_if_asked();
    const size_t first = (end - 1) / kBlock * kBlock, high = end - first, from = down(first + offset), length = v.stride - from;
    const double* vectors = v.row(first) + from;
    join_reflections(vectors, v.stride, high, length, tau.data(), t);
    turned.clear(), upright.clear(), along.clear(), mixed.clear();
    transpose(t.row(0), t.stride, high, high, turned.row(0), turned.stride);
    transpose(vectors, v.stride, high, length, upright.row(0), upright.stride);
    subtract(rows.row(0) + from, rows.stride, upright.row(0), upright.stride, length, along.row(0), along.stride, rows.rows, up(high));
    subtract(along.row(0), along.stride, turned.row(0), turned.stride, high, mixed.row(0), mixed.stride, rows.rows, up(high));
    subtract(mixed.row(0), mixed.stride, vectors, v.stride, high, rows.row(0) + from, rows.stride, rows.rows, length);
    end = first;
  }
}

/// Whether all elements are finite; `scale` is the power of two that brings the largest to about 1, or 0 if all are 0.
bool find_scale(const double* a, size_t count, double& scale) {
  double largest = 0;
  bool finite = true;
  for (size_t i = 0; i < count; ++i) {
    const double size = std::fabs(a[i]);
    finite &= size <= std::numeric_limits<double>::max();
    largest = std::max(largest, size);
  }
  if (!finite) return false;
  scale = 0;
  if (largest > 0) scale = std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
  return true;
}

/// c and s that turn (f, g) into (r, 0); of sizes whose squares do not overflow.
double turn(double f, double g, double& c, double& s) {
  const double r = std::sqrt(f * f + g * g);
  if (r == 0) {
    c = 1, s = 0;
    return f;
  }
  const double inverse = 1 / r;
  c = f * inverse, s = g * inverse;
  return r;
}

std::vector<size_t> order_of(const double* values, size_t n, bool falling) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [=](size_t i, size_t j) { return values[i] != values[j] ? (falling ? values[i] > values[j] : values[i] < values[j]) : i < j; });
  return order;
}

/// Eigenvalues of a symmetric tridiagonal matrix with a largest element of about 1 by the implicit QL method (Dubrulle, Martin, Wilkinson
/// 1968); the rotations are applied to the rows of `vectors`.
bool tridiagonal_ql(std::vector<double>& diagonal, std::vector<double>& beside, Matrix* vectors) {
  const size_t n = diagonal.size();
  std::vector<double> cosines(n), sines(n);
  double largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max({largest, std::fabs(diagonal[i]), std::fabs(beside[i])});
  size_t rounds = 0;
  for (size_t l = 0; l < n; ++l) {
    stop_if_asked();
    for (;; ++rounds) {
      size_t m = l;
      for (; m + 1 < n; ++m) {
        const double size = std::fabs(beside[m]);
        if (size <= kEpsilon * (std::fabs(diagonal[m]) + std::fabs(diagonal[m + 1])) || size <= kEpsilon / 16 * largest) break;
      }
      if (m == l) break;
      if (rounds == 60 * n) return false;
      double g = (diagonal[l + 1] - diagonal[l]) / (2 * beside[l]);
      g = diagonal[m] - diagonal[l] + beside[l] / (g + std::copysign(std::sqrt(g * g + 1), g));
      double s = 1, c = 1, p = 0;
      size_t i = m;
      bool vanished = false;
      while (i-- > l) {
        const double f = s * beside[i], b = c * beside[i];
        double r = std::sqrt(f * f + g * g);
        beside[i + 1] = r;
        if (r == 0) {
          diagonal[i + 1] -= p;
          beside[m] = 0;
          vanished = true;
          break;
        }
        const double inverse = 1 / r;
        s = f * inverse, c = g * inverse;
        g = diagonal[i + 1] - p;
        r = (diagonal[i] - g) * s + 2 * c * b;
        p = s * r;
        diagonal[i + 1] = g + p;
        g = c * r - b;
        cosines[i] = c, sines[i] = -s;
      }
      const size_t from = vanished ? i + 1 : l;
      if (vectors && m > from)
        kernels().rotate(vectors->row(from), vectors->stride, m - from, vectors->stride, cosines.data() + from, sines.data() + from, true);
      if (vanished) continue;
      diagonal[l] -= p;
      beside[l] = g;
      beside[m] = 0;
    }
  }
  return true;
}

/// The smaller singular value of ((f, g), (0, h)).
double smaller_value(double f, double g, double h) {
  f = std::fabs(f), g = std::fabs(g), h = std::fabs(h);
  const double low = std::min(f, h), high = std::max(f, h);
  if (low == 0) return 0;
  if (g < high) {
    const double s = 1 + low / high, t = (high - low) / high, u = g / high * (g / high);
    return low * (2 / (std::sqrt(s * s + u) + std::sqrt(t * t + u)));
  }
  const double u = high / g;
  if (u == 0) return low * high / g;
  const double s = (1 + low / high) * u, t = (high - low) / high * u;
  return 2 * (low * (1 / (std::sqrt(1 + s * s) + std::sqrt(1 + t * t))) * u);
}

/// Singular values of an upper bidiagonal matrix with a largest element of about 1, by implicit QR steps with shifts (Golub, Kahan 1965),
/// or without where these would change what is small (Demmel, Kahan 1990). Rotations are applied to the rows of `left` and `right`.
bool bidiagonal_qr(std::vector<double>& d, std::vector<double>& e, Matrix* left, Matrix* right) {
  const size_t n = d.size();
  std::vector<double> c1(n), s1(n), c2(n), s2(n);
  const double nothing = kEpsilon * kEpsilon;
  size_t end = n;  // the block that is left
  for (size_t steps = 0; end > 1;) {
    stop_if_asked();
    const size_t m = end - 1;
    size_t l = m;
    for (; l > 0; --l) {
      if (std::fabs(e[l - 1]) <= kEpsilon * (std::fabs(d[l - 1]) + std::fabs(d[l])) || std::fabs(e[l - 1]) <= nothing) {
        e[l - 1] = 0;
        break;
      }
    }
    if (l == m) {
      --end;
      continue;
    }
    if (++steps > 60 * n) return false;
    bool without = false;
    double largest = 0;
    for (size_t i = l; i <= m; ++i) {
      if (std::fabs(d[i]) <= nothing) d[i] = 0;
      without |= d[i] == 0;
      largest = std::max({largest, std::fabs(d[i]), i < m ? std::fabs(e[i]) : 0});
    }
    const double shift = without ? 0 : smaller_value(d[m - 1], e[m - 1], d[m]);
    without |= shift / largest <= kEpsilon;
    if (without) {
      double c = 1, old_c = 1, s = 0, old_s = 0;
      for (size_t i = l; i < m; ++i) {
        const double r = turn(d[i] * c, e[i], c, s);
        if (i > l) e[i - 1] = old_s * r;
        d[i] = turn(old_c * r, d[i + 1] * s, old_c, old_s);
        c1[i] = c, s1[i] = s, c2[i] = old_c, s2[i] = old_s;
      }
      const double h = d[m] * c;
      d[m] = h * old_c;
      e[m - 1] = h * old_s;
    } else {
      double f = (std::fabs(d[l]) - shift) * (std::copysign(1.0, d[l]) + shift / d[l]), g = e[l];
      for (size_t i = l; i < m; ++i) {
        double c, s;
        double r = turn(f, g, c, s);
        if (i > l) e[i - 1] = r;
        f = c * d[i] + s * e[i];
        e[i] = c * e[i] - s * d[i];
        g = s * d[i + 1];
        d[i + 1] *= c;
        c1[i] = c, s1[i] = s;
        r = turn(f, g, c, s);
        d[i] = r;
        f = c * e[i] + s * d[i + 1];
        d[i + 1] = c * d[i + 1] - s * e[i];
        if (i + 1 < m) {
          g = s * e[i + 1];
          e[i + 1] *= c;
        }
        c2[i] = c, s2[i] = s;
      }
      e[m - 1] = f;
    }
    const auto rotate = kernels().rotate;
    if (right) rotate(right->row(l), right->stride, m - l, right->stride, c1.data() + l, s1.data() + l, false);
    if (left) rotate(left->row(l), left->stride, m - l, left->stride, c2.data() + l, s2.data() + l, false);
  }
  return true;
}

}  // namespace

bool lu(double* a, size_t n, std::vector<size_t>& swaps) {
  swaps.resize(n);
  Matrix work(a, n, n);
  const bool regular = lu_columns(work, 0, n, swaps);
  work.store(a, n);
  return regular;
}

void lu_solve(const double* factors, size_t n, const std::vector<size_t>& swaps, double* b, size_t k) {
  if (k == 1) {
    for (size_t i = 0; i < n; ++i) std::swap(b[i], b[swaps[i]]);
    for (size_t i = 1; i < n; ++i) b[i] -= dot(i, factors + i * n, b);
    for (size_t i = n; i-- > 0;) b[i] = (b[i] - dot(n - i - 1, factors + i * n + i + 1, b + i + 1)) / factors[i * n + i];
    return;
  }
  Matrix work(b, n, k);
  for (size_t i = 0; i < n; ++i)
    if (swaps[i] != i) std::swap_ranges(work.row(i), work.row(i) + work.stride, work.row(swaps[i]));
  lower_solve(factors, n, n, work.row(0), work.stride, work.stride, true);
  upper_solve(factors, n, n, work.row(0), work.stride, work.stride);
  work.store(b, k);
}

bool cholesky(double* a, size_t n) {
  Matrix work(a, n, n), turned(n, n);
  if (!cholesky_rows(work, 0, n, turned)) return false;
  for (size_t i = 0; i < n; ++i) std::fill(work.row(i) + i + 1, work.row(i) + n, 0.0);
  work.store(a, n);
  return true;
}

void qr(double* a, size_t m, size_t n, double* tau) {
  Matrix work(a, m, n), t(kBlock, kBlock);
  std::vector<double> column(m), sums(up(kBlock));
  const size_t few = std::min(m, n);
  for (size_t first = 0; first < few; first += kBlock) {
    stop_if_asked();
    const size_t last = std::min(first + kBlock, few), wide = std::min(up(last), work.stride) - first;
    for (size_t k = first; k < last; ++k) {
      const double alpha = work.at(k, k);
      double largest = 0;
      for (size_t i = k + 1; i < m; ++i) largest = std::max(largest, std::fabs(column[i] = work.at(i, k)));
      tau[k] = 0;
      if (largest == 0) continue;
      double below = 0;
      if (largest < 1e100 && largest > 1e-100) {
        below = std::sqrt(dot(m - k - 1, column.data() + k + 1, column.data() + k + 1));
      } else {
        for (size_t i = k + 1; i < m; ++i) below = std::hypot(below, column[i]);
      }
      const double whole = std::hypot(alpha, below), beta = alpha >= 0 ? -whole : whole;
      tau[k] = (beta - alpha) / beta;
      const double scale = 1 / (alpha - beta);
      for (size_t i = k + 1; i < m; ++i) work.at(i, k) = column[i] *= scale;
      column[k] = 1;
      if (k + 1 < std::min(first + wide, n)) {
        kernels().combine(column.data() + k, work.row(k) + first, work.stride, m - k, sums.data(), wide);
        for (size_t j = 0; j < wide; ++j) sums[j] = first + j > k ? sums[j] * tau[k] : 0;
        kernels().subtract_outer(column.data() + k, 1, sums.data(), work.row(k) + first, work.stride, m - k, wide);
      }
      work.at(k, k) = beta;
    }
    // A panel at the end of a wide matrix may end within a vector: the columns behind it have been reflected with it.
    const size_t next = first + wide;
    if (next >= n) break;
    Matrix vectors(last - first, m - first);
    for (size_t k = first; k < last; ++k) {
      vectors.at(k - first, k - first) = 1;
      for (size_t i = k + 1; i < m; ++i) vectors.at(k - first, i - first) = work.at(i, k);
    }
    join_reflections(vectors.row(0), vectors.stride, last - first, vectors.stride, tau + first, t);
    reflect(vectors.row(0), vectors.stride, last - first, t, true, work.row(first) + next, work.stride, m - first, work.stride - next);
  }
  work.store(a, n);
}

void qr_q(const double* factors, size_t m, size_t n, const double* tau, double* q, size_t columns) {
  Matrix work(m, columns), t(kBlock, kBlock);
  for (size_t i = 0; i < std::min(m, columns); ++i) work.at(i, i) = 1;
  for (size_t end = std::min({m, n, columns}); end > 0;) {
    stop_if_asked();
    const size_t first = (end - 1) / kBlock * kBlock;
    Matrix vectors(end - first, m - first);
    for (size_t k = first; k < end; ++k) vectors.at(k - first, k - first) = 1;
    for (size_t i = first; i < m; ++i)
      for (size_t k = first; k < std::min(end, i); ++k) vectors.at(k - first, i - first) = factors[i * n + k];
    join_reflections(vectors.row(0), vectors.stride, end - first, vectors.stride, tau + first, t);
    reflect(vectors.row(0), vectors.stride, end - first, t, false, work.row(first) + first, work.stride, m - first, work.stride - first);
    end = first;
  }
  work.store(q, columns);
}

bool tridiagonal(std::vector<double>& diagonal, std::vector<double>& beside, double* vectors) {
  const size_t n = diagonal.size();
  double scale = 0, other = 0;
  if (!find_scale(diagonal.data(), n, scale) || !find_scale(beside.data(), n, other)) return false;
  if (scale == 0 || (other != 0 && other < scale)) scale = other;
  if (scale == 0) scale = 1;
  for (size_t i = 0; i < n; ++i) diagonal[i] *= scale, beside[i] *= scale;
  Matrix rows(vectors ? n : 0, n);
  for (size_t i = 0; vectors && i < n; ++i) rows.at(i, i) = 1;
  if (!tridiagonal_ql(diagonal, beside, vectors ? &rows : nullptr)) return false;
  for (double& value : diagonal) value /= scale;
  if (vectors) rows.store(vectors, n);
  return true;
}

bool eigh(double* a, size_t n, double* values, bool vectors) {
  if (n == 0) return true;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n; ++j) a[i * n + j] = a[j * n + i];
  double scale = 0;
  if (!find_scale(a, n * n, scale)) return false;
  // Householder's reduction to a tridiagonal matrix: A <- H A H, H = 1 - 2 v v^T, for one column after the other: A -= v q^T + q v^T, which
  // is done when the next vector is multiplied.
  Matrix work(n, n), reflections(n, n);
  for (size_t i = 0; i < n * n; ++i) work.at(i / n, i % n) = a[i] * scale;
  const size_t wide = work.stride;
  std::vector<double> diagonal(n), beside(n), v(wide), q(wide), product(wide);
  for (size_t k = 0; k < n; ++k) {
    stop_if_asked();
    double* row = work.row(k);
    for (size_t j = k; j < n; ++j) row[j] -= v[k] * q[j] + q[k] * v[j];
    diagonal[k] = row[k];
    if (k + 1 == n) break;
    if (k + 2 == n) {
      beside[k] = row[k + 1];
      work.at(k + 1, k + 1) -= 2 * v[k + 1] * q[k + 1];
      diagonal[k + 1] = work.at(k + 1, k + 1);
      break;
    }
    double* next = reflections.row(k);
    std::copy(row + k + 1, row + n, next + k + 1);
    beside[k] = reflection(next + k + 1, n - k - 1);
    const size_t from = down(k + 1);
    kernels().update_times(v.data() + k + 1, q.data() + from, q.data() + k + 1, v.data() + from, work.row(k + 1) + from, wide, n - k - 1,
                           wide - from, next + from, product.data() + k + 1);
    const double along = dot(n - k - 1, next + k + 1, product.data() + k + 1);
    v.assign(next, next + wide);
    std::fill(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(k + 1), 0.0);
    for (size_t i = k + 1; i < n; ++i) q[i] = 2 * (product[i] - along * v[i]);
  }
  if (vectors) work.clear();
  for (size_t i = 0; vectors && i < n; ++i) work.at(i, i) = 1;
  if (!tridiagonal_ql(diagonal, beside, vectors ? &work : nullptr)) return false;
  const std::vector<size_t> order = order_of(diagonal.data(), n, false);
  for (size_t i = 0; i < n; ++i) values[i] = scale == 0 ? 0 : diagonal[order[i]] / scale;
  if (!vectors) return true;
  if (n > 2) reflect_rows(reflections, n - 2, 1, work);
  for (size_t i0 = 0; i0 < n; i0 += 8)
    for (size_t j = 0; j < n; ++j)
      for (size_t i = i0; i < std::min(i0 + 8, n); ++i) a[j * n + i] = work.at(order[i], j);
  return true;
}

bool svd(double* a, size_t m, size_t n, double* values, double* v) {
  if (n == 0) return true;
  if (2 * m > 3 * n) {  // the triangle of a QR factorization
    std::vector<double> factors(a, a + m * n), tau(n), triangle(n * n);
    double scale = 0;
    if (!find_scale(a, m * n, scale)) return false;
    qr(factors.data(), m, n, tau.data());
    for (size_t i = 0; i < n; ++i) std::copy_n(factors.data() + i * n + i, n - i, triangle.data() + i * n + i);
    if (!svd(triangle.data(), n, n, values, v)) return false;
    if (!v) return true;
    std::vector<double> q(m * n);
    qr_q(factors.data(), m, n, tau.data(), q.data(), n);
    const Matrix left(triangle.data(), n, n);
    Matrix product(m, n);
    kernels().subtract(q.data(), n, left.row(0), left.stride, n, product.row(0), product.stride, m, product.stride);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) a[i * n + j] = -product.at(i, j);
    return true;
  }
  double scale = 0;
  if (!find_scale(a, m * n, scale)) return false;
  // Reduction to an upper bidiagonal matrix (Golub, Kahan 1965) by reflections from the left, of vectors y, and from the right, of z:
  // A -= y w^T + x z^T, which is done when the next vector is multiplied.
  Matrix work(m, n), lefts(n, m), rights(n, n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) work.at(i, j) = a[i * n + j] * scale;
  const size_t wide = work.stride, high = lefts.stride;
  std::vector<double> d(n), e(n), y(high), x(high), w(wide), z(wide), sums(wide);
  for (size_t k = 0; k < n; ++k) {
    stop_if_asked();
    double* left = lefts.row(k);
    for (size_t i = k; i < m; ++i) left[i] = work.at(i, k) - y[i] * w[k] - x[i] * z[k];
    d[k] = reflection(left + k, m - k);
    if (k + 1 == n) break;
    const size_t from = down(k + 1);
    kernels().update_combine(y.data() + k, w.data() + from, x.data() + k, z.data() + from, work.row(k) + from, wide, m - k, wide - from,
                             left + k, sums.data() + from);
    y.assign(left, left + high);
    for (size_t j = 0; j < n; ++j) w[j] = j > k ? 2 * sums[j] : 0;
    double* right = rights.row(k);
    for (size_t j = k + 1; j < n; ++j) right[j] = work.at(k, j) - left[k] * w[j];
    if (k + 2 == n) {
      e[k] = std::exchange(right[k + 1], 0.0);
    } else {
      e[k] = reflection(right + k + 1, n - k - 1);
      kernels().dots(work.row(k + 1) + from, wide, m - k - 1, right + from, wide - from, x.data() + k + 1);
    }
    const double along = dot(n - k - 1, w.data() + k + 1, right + k + 1);
    for (size_t i = k + 1; i < m; ++i) x[i] = k + 2 == n ? 0 : 2 * (x[i] - left[i] * along);
    z.assign(right, right + wide);
  }
  Matrix left_rows(v ? n : 0, m), right_rows(v ? n : 0, n);
  for (size_t i = 0; v && i < n; ++i) left_rows.at(i, i) = right_rows.at(i, i) = 1;
  if (!bidiagonal_qr(d, e, v ? &left_rows : nullptr, v ? &right_rows : nullptr)) return false;
  std::vector<double> sizes(n);
  for (size_t i = 0; i < n; ++i) sizes[i] = std::fabs(d[i]);
  const std::vector<size_t> order = order_of(sizes.data(), n, true);
  for (size_t i = 0; i < n; ++i) values[i] = scale == 0 ? 0 : sizes[order[i]] / scale;
  if (!v) return true;
  reflect_rows(lefts, n, 0, left_rows);
  if (n > 2) reflect_rows(rights, n - 2, 1, right_rows);
  for (size_t j = 0; j < n; ++j) {
    const size_t from = order[j];
    const double sign = std::signbit(d[from]) ? -1 : 1;
    for (size_t i = 0; i < m; ++i) a[i * n + j] = left_rows.at(from, i);
    for (size_t i = 0; i < n; ++i) v[i * n + j] = sign * right_rows.at(from, i);
  }
  return true;
}

}  // namespace minnow::numerics::real
