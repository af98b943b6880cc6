// SPDX-License-Identifier: Apache-2.0
// Small dense matrices, row-major in memory of the caller's, in float or double. Vectors of singular and eigenvalues have the signs that
// OpenCV's have: the same rotations in the same order.
#pragma once
#include <cstddef>
#include <vector>

namespace minnow::vision {

/// One-sided Jacobi rotations (M. Hestenes, 1958). `at` [n, m]: the columns of a matrix of m rows as rows. They become the columns of U, of
/// which the first `columns` (at most m, at least n) are wanted: `at` has as many rows, those beyond n not set. `w` [n]: singular values,
/// which fall. `vt` [n, n], null: not wanted, as U is then.
template <class T>
void jacobi_svd(T* at, size_t m, size_t n, T* w, T* vt, size_t columns);

/// Jacobi rotations (1846) of a symmetric matrix a [n, n], which is overwritten. `values` fall; row i of `vectors` [n, n] (null: not
/// wanted) belongs to value i.
template <class T>
void jacobi_eigen(T* a, size_t n, T* values, T* vectors);

/// Gauss with the largest pivot: a [n, n] and b [n, k] (null: none) are overwritten, b by the solution. Gives the sign of the permutation,
/// 0 where a is singular.
template <class T>
int lu(T* a, size_t n, T* b, size_t k);

/// b [n, k] becomes the solution of a x = b. False where a is not positive definite.
template <class T>
bool cholesky(T* a, size_t n, T* b, size_t k);

/// x [n, k] = the shortest of the solutions of a x = b in the sense of least squares, a [m, n], b [m, k]. Gives the ratio of the least to
/// the largest singular value.
double least_squares(const double* a, size_t m, size_t n, const double* b, size_t k, double* x);
std::vector<double> least_squares(const std::vector<double>& a, size_t n, const std::vector<double>& b);

/// The inverse of a 3x3 matrix; zeros where there is none.
std::vector<double> inverse3(const double* a);
void multiply3(const double* a, const double* b, double* product);

}  // namespace minnow::vision
