// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of many rows at once: element i of all rows lies side by side, so that loops run over rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace minnow::vision {

/// A step of Stockham's transform (W. Cochran et al., What is the fast Fourier transform?, 1967): `outer` groups of `radix` inputs, each
/// `span` elements long. Group p begins `p * apart` elements behind the first one, its inputs are `outer * apart` apart. Twiddle (cos, sin)
/// of group p and output k: twiddles[2 * (p * radix + k)]; the same of radix-th roots of unity: roots[2 * k].
template <class T>
struct FftStep {
  const T *re, *im;
  T *out_re, *out_im;
  size_t radix, outer, span, apart;
  const T *twiddles, *roots;
};

struct FftLoops {
  void (*step32)(const FftStep<float>&);
  void (*step64)(const FftStep<double>&);
  /// a = a * b, or a * conj(b), of n complex numbers.
  void (*multiply32)(float* a_re, float* a_im, const float* b_re, const float* b_im, size_t n, bool conjugate);
  void (*multiply64)(double* a_re, double* a_im, const double* b_re, const double* b_im, size_t n, bool conjugate);
  /// The spectra of two real pictures a and b, as the parts of one complex picture, become that of their phase correlation: elements x of a
  /// row and -x of the mirrored row, for 0 <= x < n. Both may be one element.
  void (*correlate_phases32)(float* re, float* im, float* mirrored_re, float* mirrored_im, size_t n);
  void (*correlate_phases64)(double* re, double* im, double* mirrored_re, double* mirrored_im, size_t n);
  /// a = the real part of the first real column's spectrum times (c - i s), b = of the second's: both were the parts of one complex column,
  /// whose spectrum has the row `re`, `im` and the mirrored row.
  void (*cosines32)(const float* re, const float* im, const float* mirrored_re, const float* mirrored_im, float c, float s, size_t n,
                    float* a, float* b);
  void (*cosines64)(const double* re, const double* im, const double* mirrored_re, const double* mirrored_im, double c, double s, size_t n,
                    double* a, double* b);
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
  void run(T* re, T* im, size_t lanes, bool inverse, T* work) const { run_from(re, im, lanes, re, im, lanes, inverse, work); }
  /// The same of elements whose lanes begin `stride` apart.
  void run_from(const T* from_re, const T* from_im, size_t stride, T* re, T* im, size_t lanes, bool inverse, T* work) const;

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
