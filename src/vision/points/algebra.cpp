// SPDX-License-Identifier: Apache-2.0
#include <cfloat>
#include <complex>
#include <numbers>

#include "base/no_memory.h"
#include "vision/fft.h"
#include "vision/loops/arithmetic.h"
#include "vision/matrix.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

void check_matrix(const char* name, const ImageView& matrix) {
  check_not_empty(name, matrix);
  check_dtype(name, matrix, {DType::f32, DType::f64});
  check_channels(name, matrix, {1});
}

void check_square(const char* name, const ImageView& matrix) {
  if (matrix.height() != matrix.width()) throw InvalidArgument("{}: the matrix is square, not {}", name, to_string(matrix));
}

/// Elements in doubles, row by row.
template <class T = double>
std::vector<T> numbers_of(const ImageView& matrix) {
  std::vector<T> numbers;
  numbers.reserve(static_cast<size_t>(matrix.height() * matrix.width()));
  for (int64_t y = 0; y < matrix.height(); ++y)
    for (int64_t x = 0; x < matrix.width(); ++x)
      numbers.push_back(matrix.dtype() == DType::f32 ? static_cast<T>(matrix.row<float>(y)[x]) : static_cast<T>(matrix.row<double>(y)[x]));
  return numbers;
}

template <class T>
void put(const MutableImageView& to, const T* numbers) {
  for (int64_t y = 0; y < to.height(); ++y) {
    for (int64_t x = 0; x < to.width(); ++x, ++numbers) {
      if (to.dtype() == DType::f32)
        to.row<float>(y)[x] = static_cast<float>(*numbers);
      else
        to.row<double>(y)[x] = static_cast<double>(*numbers);
    }
  }
}

template <class T>
Tensor matrix_of(DType dtype, size_t rows, size_t columns, const std::vector<T>& numbers) {
  Tensor tensor(dtype, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)});
  put(writable(tensor), numbers.data());
  return tensor;
}

/// x = a^-1 b of a symmetric matrix, by its eigenvalues; the ratio of the least and the largest.
double by_eigenvalues(std::vector<double> a, size_t n, const std::vector<double>& b, size_t k, std::vector<double>& x) {
  std::vector<double> values(n), vectors(n * n);
  jacobi_eigen(a.data(), n, values.data(), vectors.data());
  double threshold = 0;
  for (const double value : values) threshold += value;
  threshold *= DBL_EPSILON * 2;
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(values[i]) <= threshold) continue;
    for (size_t c = 0; c < k; ++c) {
      double s = 0;
      for (size_t j = 0; j < n; ++j) s += vectors[i * n + j] * b[j * k + c];
      for (size_t j = 0; j < n; ++j) x[j * k + c] += s / values[i] * vectors[i * n + j];
    }
  }
  return values[0] >= DBL_EPSILON ? values[n - 1] / values[0] : 0;
}

}  // namespace

Solution solve(const ImageView& left, const ImageView& right, int flags) {
  try {
    const char* const name = "solve";
    check_matrix(name, left);
    check_matrix(name, right);
    if (left.dtype() != right.dtype() || left.height() != right.height())
      throw InvalidArgument("{}: both sides have the same dtype and as many rows, not {} and {}", name, to_string(left), to_string(right));
    const bool normal = flags & 16;
    const int method = flags & ~16;
    if (method < 0 || method > 4) throw InvalidArgument("{}: there is no method {}; DECOMP_LU is 0, DECOMP_QR is 4", name, method);
    size_t m = static_cast<size_t>(left.height()), n = static_cast<size_t>(left.width()), k = static_cast<size_t>(right.width());
    if (m < n) throw InvalidArgument("{}: there are fewer equations ({}) than unknowns ({})", name, m, n);
    if (m != n && !normal && method != 1 && method != 4)
      throw InvalidArgument("{}: {} equations of {} unknowns take DECOMP_SVD, DECOMP_QR or DECOMP_NORMAL", name, m, n);
    std::vector<double> a = numbers_of(left), b = numbers_of(right), x(n * k);
    if (normal) {
      std::vector<double> ata(n * n), atb(n * k);
      for (size_t r = 0; r < m; ++r) {
        for (size_t i = 0; i < n; ++i) {
          for (size_t j = 0; j < n; ++j) ata[i * n + j] += a[r * n + i] * a[r * n + j];
          for (size_t j = 0; j < k; ++j) atb[i * k + j] += a[r * n + i] * b[r * k + j];
        }
      }
      a.swap(ata), b.swap(atb), m = n;
    }
    bool solved = true;
    if (method == 0) {
      solved = lu(a.data(), n, b.data(), k) != 0;
      if (solved) x = b;
    } else if (method == 3) {
      solved = cholesky(a.data(), n, b.data(), k);
      if (solved) x = b;
    } else if (method == 2) {
      by_eigenvalues(a, n, b, k, x);
    } else {
      const double ratio = least_squares(a.data(), m, n, b.data(), k, x.data());
      if (method == 4 && ratio < DBL_EPSILON) solved = false;
    }
    if (!solved) std::fill(x.begin(), x.end(), 0.);
    return {solved ? 1. : 0., matrix_of(left.dtype(), n, k, x)};
  } catch (...) {
    throw_as_error();
  }
}

Solution invert(const ImageView& matrix, int method) {
  try {
    const char* const name = "invert";
    check_matrix(name, matrix);
    if (method < 0 || method > 3) throw InvalidArgument("{}: there is no method {}; DECOMP_LU is 0, DECOMP_CHOLESKY is 3", name, method);
    if (method != 1) check_square(name, matrix);
    const size_t m = static_cast<size_t>(matrix.height()), n = static_cast<size_t>(matrix.width());
    std::vector<double> a = numbers_of(matrix), one(m * m), x(n * m);
    for (size_t i = 0; i < m; ++i) one[i * m + i] = 1;
    double result = 1;
    if (method == 1) {
      result = least_squares(a.data(), m, n, one.data(), m, x.data());
      if (result < DBL_EPSILON) result = 0;
    } else if (method == 2) {
      result = by_eigenvalues(a, n, one, n, x);
    } else {
      result = (method == 0 ? lu(a.data(), n, one.data(), n) != 0 : cholesky(a.data(), n, one.data(), n)) ? 1 : 0;
      if (result != 0) x = one;
    }
    return {result, matrix_of(matrix.dtype(), n, m, x)};
  } catch (...) {
    throw_as_error();
  }
}

double determinant(const ImageView& matrix) {
  try {
    check_matrix("determinant", matrix);
    check_square("determinant", matrix);
    std::vector<double> a = numbers_of(matrix);
    const size_t n = static_cast<size_t>(matrix.width());
    if (n == 2) return a[0] * a[3] - a[1] * a[2];
    if (n == 3) return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]);
    double result = lu<double>(a.data(), n, nullptr, 0);
    for (size_t i = 0; i < n && result != 0; ++i) result *= a[i * n + i];
    return result;
  } catch (...) {
    throw_as_error();
  }
}

std::pair<Tensor, Tensor> eigen(const ImageView& matrix) {
  try {
    check_matrix("eigen", matrix);
    check_square("eigen", matrix);
    const size_t n = static_cast<size_t>(matrix.width());
    const auto run = [&](auto element) -> std::pair<Tensor, Tensor> {
      using T = decltype(element);
      std::vector<T> a = numbers_of<T>(matrix), values(n), vectors(n * n);
      jacobi_eigen(a.data(), n, values.data(), vectors.data());
      return {matrix_of(matrix.dtype(), n, 1, values), matrix_of(matrix.dtype(), n, n, vectors)};
    };
    return matrix.dtype() == DType::f32 ? run(float()) : run(double());
  } catch (...) {
    throw_as_error();
  }
}

Decomposition sv_decomp(const ImageView& matrix, int flags) {
  try {
    check_matrix("SVDecomp", matrix);
    const auto run = [&](auto element) {
      using T = decltype(element);
      const std::vector<T> a = numbers_of<T>(matrix);
      const size_t height = static_cast<size_t>(matrix.height()), width = static_cast<size_t>(matrix.width());
      const bool wide = height < width;
      const size_t m = std::max(height, width), n = std::min(height, width), columns = (flags & 4) ? m : n;
      const auto turned = [](const std::vector<T>& from, size_t rows, size_t across) {
        std::vector<T> to(from.size());
        for (size_t i = 0; i < rows; ++i)
          for (size_t j = 0; j < across; ++j) to[j * rows + i] = from[i * across + j];
        return to;
      };
      std::vector<T> at = wide ? a : turned(a, height, width), w(n), vt(n * n);
      at.resize(columns * m);
      const bool vectors = !(flags & 2);
      jacobi_svd(at.data(), m, n, w.data(), vectors ? vt.data() : nullptr, columns);
      Decomposition d;
      d.w = matrix_of(matrix.dtype(), n, 1, w);
      if (!vectors) return d;
      d.u = wide ? matrix_of(matrix.dtype(), n, n, turned(vt, n, n)) : matrix_of(matrix.dtype(), m, columns, turned(at, columns, m));
      d.vt = wide ? matrix_of(matrix.dtype(), columns, m, at) : matrix_of(matrix.dtype(), n, n, vt);
      return d;
    };
    return matrix.dtype() == DType::f32 ? run(float()) : run(double());
  } catch (...) {
    throw_as_error();
  }
}

Tensor gemm(const ImageView& a, const ImageView& b, double alpha, const ImageView& c, double beta, int flags, Output output) {
  try {
    const char* const name = "gemm";
    check_matrix(name, a);
    check_matrix(name, b);
    const bool turn_a = flags & 1, turn_b = flags & 2, turn_c = flags & 4;
    const size_t m = static_cast<size_t>(turn_a ? a.width() : a.height()), inner = static_cast<size_t>(turn_a ? a.height() : a.width());
    const size_t n = static_cast<size_t>(turn_b ? b.height() : b.width()), other = static_cast<size_t>(turn_b ? b.width() : b.height());
    if (inner != other || a.dtype() != b.dtype())
      throw InvalidArgument("{}: {} and {} cannot be multiplied so", name, to_string(a), to_string(b));
    const bool add = c && beta != 0;
    if (add) {
      check_matrix(name, c);
      if (c.dtype() != a.dtype() || static_cast<size_t>(turn_c ? c.width() : c.height()) != m ||
          static_cast<size_t>(turn_c ? c.height() : c.width()) != n)
        throw InvalidArgument("{}: {} cannot be added to a product {}[{}, {}]", name, to_string(c), a.dtype(), m, n);
    }
    const std::vector<double> x = numbers_of(a), z = add ? numbers_of(c) : std::vector<double>();
    std::vector<double> y = numbers_of(b);
    if (turn_b) {
      std::vector<double> turned(y.size());
      turn(y.data(), inner, n, inner, turned.data(), n);
      y.swap(turned);
    }
    check_size(name, static_cast<int64_t>(n), static_cast<int64_t>(m));
    std::vector<double> product(m * n);
    const ArithmeticLoops& loops = arithmetic_loops();
    for_rows(static_cast<int64_t>(m), static_cast<int64_t>(inner * n), [&](int64_t first, int64_t last) {
      for (size_t i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
        double* const row = product.data() + i * n;
        for (size_t k = 0; k < inner; ++k) {
          const double left[3] = {alpha * (turn_a ? x[k * m + i] : x[i * inner + k]), 1, 0};
          loops.binary_f64(ElementOp::weighted, y.data() + k * n, row, row, n, left);
        }
        if (add)
          for (size_t j = 0; j < n; ++j) row[j] += beta * (turn_c ? z[j * m + i] : z[i * n + j]);
      }
    });
    Result result(name, output, a.dtype(), static_cast<int64_t>(m), static_cast<int64_t>(n), 1, {&a, &b, &c});
    put(result.view(), product.data());
    return result.finish();
  } catch (...) {
    throw_as_error();
  }
}

std::vector<double> solve_cubic(const std::vector<double>& given) {
  try {
    if (given.size() != 3 && given.size() != 4)
      throw InvalidArgument("solveCubic: there are three or four coefficients, not {}", given.size());
    double a0 = 1;
    size_t i = 0;
    if (given.size() == 4) a0 = given[i++];
    double a1 = given[i], a2 = given[i + 1], a3 = given[i + 2];
    const double most = std::max({std::fabs(a0), std::fabs(a1), std::fabs(a2), std::fabs(a3)});
    if (!(most >= DBL_EPSILON)) throw InvalidArgument("solveCubic: all coefficients are 0; any number is a root");
    const double least = DBL_EPSILON * most;
    if (std::fabs(a0) < least) {
      if (std::fabs(a1) < least) {
        if (std::fabs(a2) < least) return {};
        return {-a3 / a2};
      }
      double d = a2 * a2 - 4 * a1 * a3;
      if (d < 0) return {};
      d = std::sqrt(d);
      const double q1 = (-a2 + d) * 0.5, q2 = (a2 + d) * -0.5, q = std::fabs(q1) > std::fabs(q2) ? q1 : q2;
      if (d == 0) return {q / a1};
      return {q / a1, a3 / q};
    }
    a1 /= a0, a2 /= a0, a3 /= a0;
    const double q = (a1 * a1 - 3 * a2) / 9, r = (a1 * (2 * a1 * a1 - 9 * a2) + 27 * a3) / 54, d = q * q * q - r * r;
    const double shift = a1 / 3;
    if (d > 0) {
      const double angle = std::acos(std::clamp(r / std::sqrt(q * q * q), -1., 1.)) / 3, size = -2 * std::sqrt(q);
      const double third = 2 * std::numbers::pi / 3;
      return {size * std::cos(angle) - shift, size * std::cos(angle + third) - shift, size * std::cos(angle + 2 * third) - shift};
    }
    if (d == 0) {
      const double c = std::cbrt(r), x0 = -2 * c - shift, x1 = c - shift;
      if (x0 == x1) return {x0};
      return {x0, x1};
    }
    double e = std::cbrt(std::sqrt(-d) + std::fabs(r));
    if (r > 0) e = -e;
    return {e + q / e - shift};
  } catch (...) {
    throw_as_error();
  }
}

std::vector<double> solve_poly(const std::vector<double>& coefficients, int steps) {
  try {
    using C = std::complex<double>;
    size_t n = coefficients.size() - 1;
    if (coefficients.size() < 2 || coefficients.size() > 4096)
      throw InvalidArgument("solvePoly: there are between 2 and 4096 coefficients, not {}", coefficients.size());
    const size_t all = n;
    while (n > 1 && !(std::fabs(coefficients[n]) > DBL_EPSILON)) --n;
    std::vector<C> roots(all);
    const double last = coefficients[n];
    if (!(std::fabs(last) > 0)) throw InvalidArgument("solvePoly: all coefficients but the first are 0");
    double radius = 0;
    for (size_t i = 0; i < n; ++i) radius = std::max(radius, std::pow(std::fabs(coefficients[i] / last), 1. / static_cast<double>(n - i)));
    for (size_t i = 0; i < n; ++i)
      roots[i] =
          std::polar(std::max(radius, 1e-300), 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n) + (i ? 0.1 : 0));
    for (int step = 0; step < (steps <= 0 ? 1000 : steps); ++step) {
      double moved = 0;
      for (size_t i = 0; i < n; ++i) {
        C value = last, below = last;
        for (size_t j = 0; j < n; ++j) {
          value = value * roots[i] + coefficients[n - j - 1];
          if (j != i && roots[i] != roots[j]) below *= roots[i] - roots[j];
        }
        const C change = value / below;
        roots[i] -= change;
        moved = std::max(moved, std::abs(change));
      }
      if (moved <= 0) break;
    }
    std::vector<double> result;
    for (const C& root : roots) {
      result.push_back(root.real());
      result.push_back(std::fabs(root.imag()) < 1e-13 * std::max(1., std::abs(root)) ? 0 : root.imag());
    }
    return result;
  } catch (...) {
    throw_as_error();
  }
}

PrincipalComponents pca(const ImageView& data, const ImageView& given_mean, int most) {
  try {
    const char* const name = "PCACompute";
    check_matrix(name, data);
    const size_t count = static_cast<size_t>(data.height()), size = static_cast<size_t>(data.width()), n = std::min(count, size);
    const auto run = [&](auto element) -> PrincipalComponents {
      using T = decltype(element);
      std::vector<double> x = numbers_of(data), mean(size);
      if (given_mean && !given_mean.empty()) {
        if (given_mean.height() != 1 || given_mean.width() != data.width())
          throw InvalidArgument("{}: the mean is [1, {}], not {}", name, size, to_string(given_mean));
        check_matrix(name, given_mean);
        mean = numbers_of(given_mean);
      } else {
        for (size_t i = 0; i < count; ++i)
          for (size_t j = 0; j < size; ++j) mean[j] += x[i * size + j] / static_cast<double>(count);
      }
      for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < size; ++j) x[i * size + j] -= mean[j];
      const bool by_size = size <= count;  // else of the samples' products
      std::vector<T> covariance(n * n), values(n), vectors(n * n);
      const double scale = 1 / static_cast<double>(by_size ? count : count);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          double sum = 0;
          for (size_t k = 0; k < std::max(count, size); ++k)
            sum += by_size ? x[k * size + i] * x[k * size + j] : x[i * size + k] * x[j * size + k];
          covariance[i * n + j] = static_cast<T>(sum * scale);
        }
      }
      jacobi_eigen(covariance.data(), n, values.data(), vectors.data());
      std::vector<T> result(n * size);
      if (by_size) {
        result = vectors;
      } else {
        for (size_t i = 0; i < n; ++i) {
          std::vector<double> row(size);
          double length = 0;
          for (size_t k = 0; k < count; ++k)
            for (size_t j = 0; j < size; ++j) row[j] += static_cast<double>(vectors[i * n + k]) * x[k * size + j];
          for (const double value : row) length += value * value;
          length = std::sqrt(length);
          for (size_t j = 0; j < size; ++j) result[i * size + j] = static_cast<T>(length > DBL_EPSILON ? row[j] / length : 0);
        }
      }
      const size_t kept = most > 0 ? std::min(n, static_cast<size_t>(most)) : n;
      result.resize(kept * size);
      values.resize(kept);
      return {matrix_of(data.dtype(), 1, size, mean), matrix_of(data.dtype(), kept, size, result),
              matrix_of(data.dtype(), kept, 1, values)};
    };
    return data.dtype() == DType::f32 ? run(float()) : run(double());
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
