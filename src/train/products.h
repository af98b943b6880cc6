// SPDX-License-Identifier: Apache-2.0
// Products of matrices of f32 by the processor's kernels, for optimizers that look at whole matrices.
#pragma once
#include "backends/cpu/kernels/matmul.h"

namespace minnow::train {

/// y [m, n] = a [m, k] b [k, n], or b stored as [n, k].
class Product {
 public:
  Product(size_t m, size_t k, size_t n, bool transpose_b = false);
  /// Floats that run() needs beside the matrices, from an address that is a multiple of 64 on.
  size_t scratch_floats() const noexcept;
  /// On up to that many threads of the pool, where no other job has it; the result is the same on any number.
  void run(const float* a, const float* b, float* y, float* scratch, int threads) const noexcept;

 private:
  cpu::MatMul matmul_;
};

/// Floats of scratch for the iteration of Muon over a matrix [n, length].
size_t orthogonalize_floats(size_t n, size_t length);
/// x [n, length], n <= length, by steps of Newton and Schulz: x = a x + (b g + c g g) x with g = x x^T. Returns the result, x or a part of
/// scratch, which begins at a multiple of 64.
float* orthogonalize(float* x, size_t n, size_t length, int steps, const double* abc, float* scratch, int threads) noexcept;

}  // namespace minnow::train
