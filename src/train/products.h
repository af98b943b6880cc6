// SPDX-License-Identifier: Apache-2.0
// Products of matrices of f32 by the processor's kernels, for optimizers that look at whole matrices.
#pragma once
#include <cstdint>
#include <utility>

#include "backends/cpu/kernels/matmul.h"

namespace minnow::train {

/// Elements up to the next beginning of a cache line.
inline size_t whole_lines(size_t elements) { return (elements + 15) / 16 * 16; }

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

/// The products of Muon's iteration over a matrix x [n, length], n <= length: g = x x^T, g g, and (a + b g + c g g) x.
enum class MuonProduct : uint8_t { gram, square, update };

/// Elements of scratch that orthogonalize() needs beside those of its products.
inline size_t muon_elements(size_t n, size_t length) { return 2 * whole_lines(n * n) + whole_lines(n * length); }
/// x [n, length] by steps of Newton and Schulz: x = a x + (b g + c g g) x. multiply(product, a, b, y) computes y = a b, or a b^T for the
/// first one. Returns the result, x or a part of scratch, which begins at a multiple of 64.
template <class T, class Multiply>
T* orthogonalize(T* x, size_t n, int steps, const double* abc, T* scratch, const Multiply& multiply) noexcept {
  const T a = static_cast<T>(abc[0]), b = static_cast<T>(abc[1]), c = static_cast<T>(abc[2]);
  T *g = scratch, *g2 = g + whole_lines(n * n), *other = g2 + whole_lines(n * n);
  for (int step = 0; step < steps; ++step) {
    multiply(MuonProduct::gram, x, x, g);
    multiply(MuonProduct::square, g, g, g2);
    for (size_t i = 0; i < n * n; ++i) g2[i] = b * g[i] + c * g2[i];
    for (size_t i = 0; i < n; ++i) g2[i * n + i] += a;
    multiply(MuonProduct::update, g2, x, other);
    std::swap(x, other);
  }
  return x;
}

/// The same of f32 by the processor's kernels, in scratch of so many floats.
float* orthogonalize(float* x, size_t n, size_t length, int steps, const double* abc, float* scratch, int threads) noexcept;
size_t orthogonalize_floats(size_t n, size_t length);

}  // namespace minnow::train
