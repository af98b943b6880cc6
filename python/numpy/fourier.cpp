// SPDX-License-Identifier: Apache-2.0
#include "numpy/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace minnow::numpy {
namespace {

using Complex = Fourier::Complex;
constexpr size_t kLargestFactor = 31;  // larger ones cost more than the convolution

// e^(-2 pi i k / n), from angles of an eighth of the circle at most, so that it is exact to the last place.
Complex root(size_t k, size_t n) {
  const size_t eighth = 8 * k / n;
  const auto angle = [&](size_t over, size_t part) {  // 2 pi (over / part of the numbers)
    return 2 * std::numbers::pi * static_cast<double>(over) / static_cast<double>(part);
  };
  double c, s;
  switch (eighth) {
    case 0:
      c = std::cos(angle(k, n)), s = std::sin(angle(k, n));
      break;
    case 1:
    case 2: {  // around a quarter
      const double rest = 2 * std::numbers::pi * (static_cast<double>(4 * k) - static_cast<double>(n)) / (4 * static_cast<double>(n));
      c = -std::sin(rest), s = std::cos(rest);
      break;
    }
    case 3:
    case 4: {
      const double rest = 2 * std::numbers::pi * (static_cast<double>(2 * k) - static_cast<double>(n)) / (2 * static_cast<double>(n));
      c = -std::cos(rest), s = -std::sin(rest);
      break;
    }
    case 5:
    case 6: {
      const double rest = 2 * std::numbers::pi * (static_cast<double>(4 * k) - 3 * static_cast<double>(n)) / (4 * static_cast<double>(n));
      c = std::sin(rest), s = -std::cos(rest);
      break;
    }
    default: {
      const double rest = 2 * std::numbers::pi * (static_cast<double>(k) - static_cast<double>(n)) / static_cast<double>(n);
      c = std::cos(rest), s = std::sin(rest);
    }
  }
  return {c, -s};
}

// The plain product, without the rules for infinities.
inline Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline Complex times_minus_i(const Complex& a) { return {a.imag(), -a.real()}; }

}  // namespace

Fourier::~Fourier() = default;

Fourier::Fourier(size_t length) : length_(length) {
  size_t rest = length;
  for (const size_t factor : {size_t{4}, size_t{2}, size_t{3}, size_t{5}})
    while (rest % factor == 0 && rest > 1) factors_.push_back(factor), rest /= factor;
  for (size_t factor = 7; factor <= kLargestFactor && rest > 1; factor += 2)
    while (rest % factor == 0) factors_.push_back(factor), rest /= factor;
  if (rest == 1) {
    roots_.resize(length);
    for (size_t k = 0; k < length; ++k) roots_[k] = root(k, length);
    return;
  }
  factors_.clear();
  size_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  convolution_ = std::make_unique<Fourier>(padded);
  chirp_.resize(length);
  for (size_t k = 0, square = 0; k < length; ++k) {  // k^2 mod 2 n
    chirp_[k] = root(square, 2 * length);
    square = (square + 2 * k + 1) % (2 * length);
  }
  filter_.assign(padded, Complex(0));
  for (size_t k = 0; k < length; ++k) {
    filter_[k] = std::conj(chirp_[k]);
    if (k > 0) filter_[padded - k] = filter_[k];
  }
  std::vector<Complex> scratch(convolution_->scratch());
  convolution_->run(filter_.data(), false, scratch.data());
  for (Complex& x : filter_) x /= static_cast<double>(padded);
}

size_t Fourier::scratch() const noexcept { return convolution_ ? convolution_->length() + convolution_->scratch() : length_; }

void Fourier::run(Complex* x, bool inverse, Complex* scratch) const {
  if (length_ <= 1) return;
  if (inverse)
    for (size_t i = 0; i < length_; ++i) x[i] = std::conj(x[i]);
  if (!convolution_) {
    mixed_radix(x, scratch);
  } else {
    const size_t padded = convolution_->length();
    for (size_t i = 0; i < length_; ++i) scratch[i] = times(x[i], chirp_[i]);
    std::fill(scratch + length_, scratch + padded, Complex(0));
    convolution_->run(scratch, false, scratch + padded);
    for (size_t i = 0; i < padded; ++i) scratch[i] = times(scratch[i], filter_[i]);
    convolution_->run(scratch, true, scratch + padded);
    for (size_t i = 0; i < length_; ++i) x[i] = times(scratch[i], chirp_[i]);
  }
  if (inverse)
    for (size_t i = 0; i < length_; ++i) x[i] = std::conj(x[i]);
}

// One pass a factor. Before a pass there are length / done interleaved series, each transformed over its `done` points; element k of series
// s lies at k * (length / done) + s. The pass joins `factor` series at a time.
void Fourier::mixed_radix(Complex* x, Complex* scratch) const {
  Complex *from = x, *to = scratch;
  size_t done = 1;
  for (const size_t factor : factors_) {
    const size_t groups = length_ / (done * factor), stride = length_ / factor;
    for (size_t k = 0; k < done; ++k) {
      // Twiddles e^(-2 pi i k j / (done * factor)).
      Complex twiddles[kLargestFactor];
      for (size_t j = 0; j < factor; ++j) twiddles[j] = roots_[k * j * groups];
      for (size_t g = 0; g < groups; ++g) {
        const Complex* a = from + (k * factor) * groups + g;
        Complex* b = to + k * groups + g;
        switch (factor) {
          case 2: {
            const Complex p = a[0], q = times(a[groups], twiddles[1]);
            b[0] = p + q, b[stride] = p - q;
            break;
          }
          case 3: {
            constexpr double kHalfRoot = 0.86602540378443864676;
            const Complex p = a[0], q = times(a[groups], twiddles[1]), r = times(a[2 * groups], twiddles[2]);
            const Complex sum = q + r, turned = times_minus_i((q - r) * kHalfRoot), middle = p - sum * 0.5;
            b[0] = p + sum, b[stride] = middle + turned, b[2 * stride] = middle - turned;
            break;
          }
          case 4: {
            const Complex p = a[0], q = times(a[groups], twiddles[1]), r = times(a[2 * groups], twiddles[2]),
                          s = times(a[3 * groups], twiddles[3]);
            const Complex even = p + r, odd = p - r, sum = q + s, turned = times_minus_i(q - s);
            b[0] = even + sum, b[stride] = odd + turned, b[2 * stride] = even - sum, b[3 * stride] = odd - turned;
            break;
          }
          default: {
            Complex values[kLargestFactor];
            for (size_t j = 0; j < factor; ++j) values[j] = times(a[j * groups], twiddles[j]);
            for (size_t i = 0; i < factor; ++i) {
              Complex sum = values[0];
              for (size_t j = 1; j < factor; ++j) sum += times(values[j], roots_[i * j % factor * (length_ / factor)]);
              b[i * stride] = sum;
            }
          }
        }
      }
    }
    done *= factor;
    std::swap(from, to);
  }
  if (from != x) std::copy_n(from, length_, x);
}

}  // namespace minnow::numpy
