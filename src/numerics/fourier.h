// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of any length in double precision.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace minnow::numerics {

/// Transforms of one length, several at a time in the lanes of vectors: mixed radix over the prime factors of the length (Cooley, Tukey
/// 1965; Stockham's order). A long one is a matrix, whose columns are transformed, multiplied by roots of unity, and transformed along the
/// other axis (Bailey 1990, "FFTs in external or hierarchical memory"). Where a prime factor is large, a convolution (Bluestein 1970). O(n
/// log n) for every n. One plan may be used by several threads.
class Fourier {
 public:
  using Complex = std::complex<double>;
  /// e^(-2 pi i k / n) for k < n, from angles of an eighth of the circle at most, so that each is exact to the last place.
  static std::vector<Complex> roots(size_t n);
  /// The plan of a length; the last few are kept.
  static std::shared_ptr<const Fourier> plan(size_t length);

  explicit Fourier(size_t length);
  size_t length() const noexcept { return length_; }
  /// Transforms `rows` rows that begin `stride` elements apart, in place, and multiplies them by `scale`. `inverse`: the other sign in the
  /// exponent; nothing else is divided. On all cores where the work is large; without the GIL.
  void run(Complex* x, size_t rows, size_t stride, bool inverse, double scale) const;
  /// The roots of twice the length, which the transform of twice as many real numbers needs.
  const Complex* roots_of_twice() const;

 private:
  /// Passes over a length that has small factors alone.
  struct Passes {
    std::vector<uint8_t> factors;
    std::vector<Complex> roots;
    size_t length() const noexcept { return roots.size(); }
  };
  class Work;
  static Passes passes(size_t length);
  void run_together(Complex* x, size_t rows, size_t stride, bool inverse, double scale) const;
  void run_as_matrix(Complex* x, bool inverse, double scale, bool on_all_cores) const;
  void convolve(Complex* x, bool inverse, double scale) const;

  size_t length_;
  Passes whole_;              // of short ones, and of many rows
  Passes columns_, rows_;     // of long ones: a matrix [columns_.length(), rows_.length()]
  std::vector<double> turn_;  // its roots, in the order in which they are used
  mutable std::once_flag twice_made_;
  mutable std::vector<Complex> twice_;
  // Bluestein
  std::shared_ptr<const Fourier> convolution_;
  std::vector<Complex> chirp_, filter_;
};

}  // namespace minnow::numerics
