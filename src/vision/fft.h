// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of many rows at once: element i of all rows lies side by side, so that loops run over rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace minnow::vision {

/// A step of Stockham's transform (W. Cochran et al., What is the fast Fourier transform?, 1967): `outer` groups of `radix` inputs, each
/// `span` elements long and `outer * span` apart. Twiddle (cos, sin) of group p and output k: twiddles[2 * (p * radix + k)]; the same of
/// radix-th roots of unity: roots[2 * k].
template <class T>
struct FftStep {
  const T *re, *im;
  T *out_re, *out_im;
  size_t radix, outer, span;
  const T *twiddles, *roots;
};

struct FftLoops {
  void (*step32)(const FftStep<float>&);
  void (*step64)(const FftStep<double>&);
  /// a = a * b, or a * conj(b), of n complex numbers.
  void (*multiply32)(float* a_re, float* a_im, const float* b_re, const float* b_im, size_t n, bool conjugate);
  void (*multiply64)(double* a_re, double* a_im, const double* b_re, const double* b_im, size_t n, bool conjugate);
  /// to[x * to_stride + y] = from[y * from_stride + x] of rows y and columns x.
  void (*turn32)(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride);
  void (*turn64)(const double* from, size_t from_stride, size_t rows, size_t columns, double* to, size_t to_stride);
};
const FftLoops& fft_loops();

template <class T>
void turn(const T* from, size_t from_stride, size_t rows, size_t columns, T* to, size_t to_stride) {
  if constexpr (sizeof(T) == 4)
    fft_loops().turn32(from, from_stride, rows, columns, to, to_stride);
  else
    fft_loops().turn64(from, from_stride, rows, columns, to, to_stride);
}

/// The transform of one length. Sizes of small primes are fast; others go through a transform of twice the size (L. Bluestein, 1968).
template <class T>
class Fft {
 public:
  explicit Fft(size_t length);
  size_t length() const noexcept { return length_; }
  /// Elements of `work` for each lane.
  size_t work() const noexcept { return work_; }
  /// In place; not scaled. re, im: [length, lanes].
  void run(T* re, T* im, size_t lanes, bool inverse, T* work) const;

 private:
  struct Step {
    size_t radix, outer, span;
    std::vector<T> twiddles, roots;
  };
  size_t length_, work_;
  std::vector<Step> steps_;
  std::unique_ptr<Fft> inner_;     // Bluestein's
  std::vector<T> chirp_, kernel_;  // (re, im) pairs; re and im apart, of the inner transform
};

/// Transforms of the columns, and of the rows, of a picture of complex numbers whose parts are two planes, in place. Threads share the
/// work.
template <class T>
void fft_columns(const Fft<T>& fft, T* re, T* im, size_t width, size_t stride, bool inverse);
template <class T>
void fft_rows(const Fft<T>& fft, T* re, T* im, size_t height, size_t stride, bool inverse);

/// The least size of factors 2, 3 and 5 that is not below n; -1 where there is none within 31 bits.
int64_t fast_size(int64_t n);

}  // namespace minnow::vision
