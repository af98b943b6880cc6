// SPDX-License-Identifier: Apache-2.0
// Factorizations of dense matrices in double precision, real and complex. Matrices are row-major in memory of the caller.
//
// Cost: about the operations of the textbook algorithm, memory of a few matrices. Any thread may call.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/watch.h"

namespace minnow::numerics {

using Complex = std::complex<double>;

/// Between the steps of what may take long: throws if Ctrl-C was pressed. Small matrices are done before, and within tasks of the pool
/// nothing may be thrown.
inline void stop_if_asked(size_t n = SIZE_MAX) {
  if (n > 64 && !Watch::interruptible()) Watch::check();
}

/// P A = L U with the largest pivot of each column, in place: U on and above the diagonal, L below. `swaps`[i] is the row that row i was
/// swapped with. Returns false if a pivot is 0 (the rest is still factored).
template <class T>
bool lu(T* a, size_t n, std::vector<size_t>& swaps);
/// Solves with what lu() left; b [n, k] becomes the solution.
template <class T>
void lu_solve(const T* factors, size_t n, const std::vector<size_t>& swaps, T* b, size_t k);

/// A = L L^H in place of the lower triangle; the upper one becomes 0. False if A is not positive definite.
template <class T>
bool cholesky(T* a, size_t n);

/// Householder QR of a [m, n] in place, as LAPACK leaves it: R on and above the diagonal, the vectors (first element 1) below, and
/// min(m, n) factors `tau`: Q is the product of 1 - tau v v^H.
template <class T>
void qr(T* a, size_t m, size_t n, T* tau);
/// The first `columns` columns of Q, [m, columns], from what qr() left.
template <class T>
void qr_q(const T* factors, size_t m, size_t n, const T* tau, T* q, size_t columns);

/// Eigenvalues in rising order, and eigenvectors as the columns of `a`, of a symmetric or Hermitian matrix, of which the lower triangle is
/// read. False if the iteration does not end.
template <class T>
bool eigh(T* a, size_t n, double* values, bool vectors);

/// a [m, n], m >= n: a = U S V^H. `a` becomes U (its first n columns, [m, n]), `v` [n, n] is V; values fall. Where v is null `a` means
/// nothing afterwards. False if the iteration does not end.
template <class T>
bool svd(T* a, size_t m, size_t n, double* values, T* v);

/// Eigenvalues, and normalized right eigenvectors as the columns of `vectors` (null: not wanted), of any square matrix, which is
/// overwritten.
bool eig(Complex* a, size_t n, Complex* values, Complex* vectors);

}  // namespace minnow::numerics
