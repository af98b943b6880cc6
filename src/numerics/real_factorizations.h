// SPDX-License-Identifier: Apache-2.0
// The factorizations of linalg.h for real matrices that are not tiny: by blocks, whose updates are products (LAPACK's scheme: Anderson et
// al. 1999), over rows of whole vectors. linalg.h describes arguments and results.
#pragma once
#include <cstddef>
#include <vector>

namespace minnow::numerics::real {

bool lu(double* a, size_t n, std::vector<size_t>& swaps);
void lu_solve(const double* factors, size_t n, const std::vector<size_t>& swaps, double* b, size_t k);
bool cholesky(double* a, size_t n);
void qr(double* a, size_t m, size_t n, double* tau);
void qr_q(const double* factors, size_t m, size_t n, const double* tau, double* q, size_t columns);
bool eigh(double* a, size_t n, double* values, bool vectors);
bool svd(double* a, size_t m, size_t n, double* values, double* v);

/// Eigenvalues of a symmetric tridiagonal matrix in place of its diagonal, in no order; row i of `vectors` [n, n] (null: not wanted)
/// becomes the eigenvector of value i. False if the iteration does not end.
bool tridiagonal(std::vector<double>& diagonal, std::vector<double>& beside, double* vectors);

}  // namespace minnow::numerics::real
