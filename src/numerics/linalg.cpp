// SPDX-License-Identifier: Apache-2.0
// The factorizations of factorizations.h for stacks of matrices.
#include <minnow/numerics.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/parallel.h"
#include "numerics/factorizations.h"

namespace minnow::numerics {
namespace {

constexpr const char *kSingular = "Singular matrix", *kNoEigenvalues = "Eigenvalues did not converge";

/// A stack of matrices over the last two axes.
struct Stack {
  TensorView tensor;
  Shape batch;
  size_t rows, columns;
  int64_t count;  // of matrices

  explicit Stack(const TensorView& x) : tensor(x) {
    const Shape& shape = x.shape();
    if (shape.rank() < 2) throw InvalidArgument("{}-dimensional array given. Array must be at least two-dimensional", shape.rank());
    if (x.dtype() != DType::f64 && x.dtype() != DType::complex128)
      throw InvalidArgument("matrices are f64 or complex128, not {}", x.dtype());
    batch = Shape(shape.dims().subspan(0, shape.rank() - 2));
    rows = static_cast<size_t>(shape[shape.rank() - 2]), columns = static_cast<size_t>(shape.back());
    count = batch.elements();
  }
  bool is_complex() const { return tensor.dtype() == DType::complex128; }
  Shape with(std::initializer_list<size_t> dims) const {
    Shape shape = batch;
    for (const size_t dim : dims) shape.push_back(static_cast<int64_t>(dim));
    return shape;
  }
  void check_square() const {
    if (rows != columns) throw InvalidArgument("Last 2 dimensions of the array must be square");
  }
  template <class T>
  const T* matrix(size_t i) const {
    return tensor.data<T>() + i * rows * columns;
  }
  template <class T>
  std::vector<T> copy(size_t i) const {
    return {matrix<T>(i), matrix<T>(i + 1)};
  }
};

template <class F>
void typed(const Stack& stack, F&& f) {
  if (stack.is_complex())
    f(Complex());
  else
    f(double());
}

/// Calls f(i) for every matrix, on several threads where `operations`, those of one matrix, are worth it. False if any f(i) was.
template <class F>
bool all_matrices(const Stack& stack, double operations, F&& f) {
  std::atomic<bool> fine{true};
  in_parts(stack.count, static_cast<int64_t>(std::min(operations, 1e12)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      if (!f(static_cast<size_t>(i))) fine = false;
  });
  return fine;
}

double cubed(size_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

/// to [columns, rows] = the conjugate transpose of from [rows, columns]
void conjugate_transpose(const double* from, size_t rows, size_t columns, double* to) {
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}
void conjugate_transpose(const Complex* from, size_t rows, size_t columns, Complex* to) {
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) to[j * rows + i] = std::conj(from[i * columns + j]);
}

Tensor solve_stack(const Stack& a, const Stack& b) {
  a.check_square();
  if (!(a.batch == b.batch) || b.rows != a.rows || a.is_complex() != b.is_complex())
    throw InvalidArgument("solve: matrices {}{} and right sides {}{} do not fit", a.tensor.dtype(), a.tensor.shape(), b.tensor.dtype(),
                          b.tensor.shape());
  Tensor x(b.tensor);
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to = x.writable().data<T>();
    const size_t n = a.rows, k = b.columns;
    const bool fine = all_matrices(a, cubed(n), [&](size_t i) {
      std::vector<T> factors = a.copy<T>(i);
      std::vector<size_t> swaps;
      if (!lu(factors.data(), n, swaps)) return false;
      lu_solve(factors.data(), n, swaps, to + i * n * k, k);
      return true;
    });
    if (!fine) throw NoSolution(kSingular);
  });
  return x;
}

Tensor invert_stack(const Stack& a) {
  a.check_square();
  Tensor x(a.tensor.dtype(), a.tensor.shape());
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    const size_t n = a.rows;
    T* to = x.writable().data<T>();
    const bool fine = all_matrices(a, cubed(n), [&](size_t i) {
      std::vector<T> factors = a.copy<T>(i);
      std::vector<size_t> swaps;
      if (!lu(factors.data(), n, swaps)) return false;
      T* own = to + i * n * n;
      for (size_t k = 0; k < n; ++k) own[k * n + k] = 1;
      lu_solve(factors.data(), n, swaps, own, n);
      return true;
    });
    if (!fine) throw NoSolution(kSingular);
  });
  return x;
}

/// The determinants in `sign`; with `logarithm` their signs, and the logarithms of their sizes.
LogDeterminant determinants(const Stack& a, bool logarithm) {
  a.check_square();
  LogDeterminant result{Tensor(a.tensor.dtype(), a.batch), Tensor(DType::f64, a.batch)};
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    const size_t n = a.rows;
    T* signs = result.sign.writable().data<T>();
    double* logs = result.log.writable().data<double>();
    all_matrices(a, cubed(n), [&](size_t i) {
      std::vector<T> factors = a.copy<T>(i);
      std::vector<size_t> swaps;
      lu(factors.data(), n, swaps);
      T product = 1;
      double log = 0;
      for (size_t k = 0; k < n; ++k) {
        const T pivot = factors[k * n + k];
        if (swaps[k] != k) product = -product;
        if (logarithm) {
          const double length = std::abs(pivot);
          product *= length == 0 ? T(0) : pivot / length;
          log += std::log(length);
        } else {
          product *= pivot;
        }
      }
      signs[i] = product, logs[i] = log;
      return true;
    });
  });
  return result;
}

Tensor cholesky_stack(const Stack& a) {
  a.check_square();
  Tensor l(a.tensor);
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to = l.writable().data<T>();
    if (!all_matrices(a, cubed(a.rows), [&](size_t i) { return cholesky(to + i * a.rows * a.rows, a.rows); }))
      throw NoSolution("Matrix is not positive definite");
  });
  return l;
}

/// Calls f(i, factors, tau) with the QR factorization of every matrix.
template <class T, class F>
void each_qr(const Stack& a, F&& f) {
  const size_t few = std::min(a.rows, a.columns);
  const double work = cubed(few) + static_cast<double>(a.rows) * static_cast<double>(a.columns) * static_cast<double>(few);
  all_matrices(a, work, [&](size_t i) {
    std::vector<T> factors = a.copy<T>(i), tau(few);
    qr(factors.data(), a.rows, a.columns, tau.data());
    f(i, factors, tau);
    return true;
  });
}

QR qr_stack(const Stack& a, bool complete) {
  const size_t m = a.rows, n = a.columns, columns = complete ? m : std::min(m, n);
  QR result{Tensor(a.tensor.dtype(), a.with({m, columns})), Tensor(a.tensor.dtype(), a.with({columns, n}))};
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to_q = result.q.writable().data<T>();
    T* to_r = result.r.writable().data<T>();
    each_qr<T>(a, [&](size_t i, const std::vector<T>& factors, const std::vector<T>& tau) {
      qr_q(factors.data(), m, n, tau.data(), to_q + i * m * columns, columns);
      for (size_t row = 0; row < columns; ++row)
        for (size_t k = row; k < n; ++k) to_r[i * columns * n + row * n + k] = row < m ? factors[row * n + k] : T(0);
    });
  });
  return result;
}

Reflections reflections_stack(const Stack& a) {
  const size_t m = a.rows, n = a.columns, few = std::min(m, n);
  Reflections result{Tensor(a.tensor.dtype(), a.with({n, m})), Tensor(a.tensor.dtype(), a.with({few}))};
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to = result.factors.writable().data<T>();
    T* to_tau = result.tau.writable().data<T>();
    each_qr<T>(a, [&](size_t i, const std::vector<T>& factors, const std::vector<T>& tau) {
      std::copy(tau.begin(), tau.end(), to_tau + i * few);
      for (size_t row = 0; row < m; ++row)
        for (size_t k = 0; k < n; ++k) to[i * m * n + k * m + row] = factors[row * n + k];
    });
  });
  return result;
}

/// A wide matrix is the conjugate transpose of a tall one: a = v s u^H.
SVD svd_stack(const Stack& a, bool vectors) {
  const bool wide = a.rows < a.columns;
  const size_t m = std::max(a.rows, a.columns), n = std::min(a.rows, a.columns);
  SVD result{Tensor(a.tensor.dtype(), a.with({m, n})), Tensor(DType::f64, a.with({n})),
             Tensor(a.tensor.dtype(), vectors ? a.with({n, n}) : Shape{0})};
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to_u = result.u.writable().data<T>();
    T* to_v = result.v.writable().data<T>();
    double* to_s = result.s.writable().data<double>();
    const bool fine = all_matrices(a, 20 * cubed(n), [&](size_t i) {
      if (wide)
        conjugate_transpose(a.matrix<T>(i), n, m, to_u + i * m * n);
      else
        std::copy_n(a.matrix<T>(i), m * n, to_u + i * m * n);
      return svd(to_u + i * m * n, m, n, to_s + i * n, vectors ? to_v + i * n * n : nullptr);
    });
    if (!fine) throw NoSolution("SVD did not converge");
  });
  if (wide) std::swap(result.u, result.v);
  return result;
}

Eigen eigh_stack(const Stack& a, bool vectors) {
  a.check_square();
  const size_t n = a.rows;
  Eigen result{Tensor(DType::f64, a.with({n})), Tensor(a.tensor)};
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to_v = result.vectors.writable().data<T>();
    double* to_w = result.values.writable().data<double>();
    if (!all_matrices(a, 5 * cubed(n), [&](size_t i) { return eigh(to_v + i * n * n, n, to_w + i * n, vectors); }))
      throw NoSolution(kNoEigenvalues);
  });
  return result;
}

Eigen eig_stack(const Stack& a, bool vectors) {
  a.check_square();
  const size_t n = a.rows;
  Eigen result{Tensor(DType::complex128, a.with({n})), Tensor(DType::complex128, vectors ? a.tensor.shape() : Shape{0})};
  Complex* to_v = result.vectors.writable().data<Complex>();
  Complex* to_w = result.values.writable().data<Complex>();
  const bool fine = all_matrices(a, 40 * cubed(n), [&](size_t i) {
    std::vector<Complex> copy(n * n);
    if (a.is_complex())
      std::copy_n(a.matrix<Complex>(i), n * n, copy.begin());
    else
      std::copy_n(a.matrix<double>(i), n * n, copy.begin());
    return eig(copy.data(), n, to_w + i * n, vectors ? to_v + i * n * n : nullptr);
  });
  if (!fine) throw NoSolution(kNoEigenvalues);
  return result;
}

}  // namespace

// Every public function turns failed allocations into OutOfMemory.
#define MINNOW_PUBLIC(Result, signature, body) \
  Result signature try body catch (...) { throw_as_error(); }
MINNOW_PUBLIC(Tensor, solve(const TensorView& a, const TensorView& b), { return solve_stack(Stack(a), Stack(b)); })
MINNOW_PUBLIC(Tensor, inverse(const TensorView& a), { return invert_stack(Stack(a)); })
MINNOW_PUBLIC(Tensor, determinant(const TensorView& a), { return determinants(Stack(a), false).sign; })
MINNOW_PUBLIC(LogDeterminant, log_determinant(const TensorView& a), { return determinants(Stack(a), true); })
MINNOW_PUBLIC(Tensor, cholesky(const TensorView& a), { return cholesky_stack(Stack(a)); })
MINNOW_PUBLIC(QR, qr(const TensorView& a, bool complete), { return qr_stack(Stack(a), complete); })
MINNOW_PUBLIC(Reflections, qr_reflections(const TensorView& a), { return reflections_stack(Stack(a)); })
MINNOW_PUBLIC(SVD, svd(const TensorView& a), { return svd_stack(Stack(a), true); })
MINNOW_PUBLIC(Tensor, singular_values(const TensorView& a), { return svd_stack(Stack(a), false).s; })
MINNOW_PUBLIC(Eigen, eigh(const TensorView& a), { return eigh_stack(Stack(a), true); })
MINNOW_PUBLIC(Tensor, eigh_values(const TensorView& a), { return eigh_stack(Stack(a), false).values; })
MINNOW_PUBLIC(Eigen, eig(const TensorView& a), { return eig_stack(Stack(a), true); })
MINNOW_PUBLIC(Tensor, eig_values(const TensorView& a), { return eig_stack(Stack(a), false).values; })
#undef MINNOW_PUBLIC

}  // namespace minnow::numerics
