// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of any length in double precision.
#pragma once
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace minnow::numpy {

/// Transforms of one length: mixed radix over the prime factors of the length (Cooley, Tukey 1965; Stockham's order), and by a convolution
/// (Bluestein 1970) where a prime factor is large. O(n log n) for every n. One plan may be used by several threads.
class Fourier {
 public:
  using Complex = std::complex<double>;
  explicit Fourier(size_t length);
  ~Fourier();
  size_t length() const noexcept { return length_; }
  /// Elements that `scratch` must have.
  size_t scratch() const noexcept;
  /// In place. `inverse`: the other sign in the exponent; nothing is divided.
  void run(Complex* x, bool inverse, Complex* scratch) const;

 private:
  void mixed_radix(Complex* x, Complex* scratch) const;
  size_t length_;
  std::vector<size_t> factors_;
  std::vector<Complex> roots_;  // e^(-2 pi i k / length)
  // Bluestein
  std::unique_ptr<Fourier> convolution_;
  std::vector<Complex> chirp_, filter_;
};

}  // namespace minnow::numpy
