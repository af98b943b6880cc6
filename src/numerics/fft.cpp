// SPDX-License-Identifier: Apache-2.0
#include "numerics/fft.h"

#include <minnow/numerics.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/numeric.h"
#include "base/parallel.h"
#include "numerics/fourier.h"

namespace minnow::numerics {
namespace {

using Complex = std::complex<double>;

bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }

/// One row of any dtype as complex numbers.
void load_row(const TensorView& x, size_t row, size_t count, Complex* to) {
  const char* from = x.data<char>() + row * count * size_of(x.dtype());
  if (x.dtype() == DType::complex128) {
    std::memcpy(static_cast<void*>(to), from, count * sizeof(Complex));
  } else if (x.dtype() == DType::complex64) {
    std::copy_n(reinterpret_cast<const std::complex<float>*>(from), count, to);
  } else {
    double* parts = reinterpret_cast<double*>(to);
    widen(x.dtype(), from, count, parts);
    for (size_t i = count; i-- > 0;) to[i] = {parts[i], 0};
  }
}

/// From the transform of h complex numbers to the first half, x[h + 1], of the transform of 2 h real ones (Cooley, Lewis, Welch 1970), or
/// `back`.
void exchange_halves(Complex* x, size_t h, const Complex* roots, double scale, bool back) {
  const Complex first = x[0];
  if (back)
    x[0] = {first.real() + x[h].real(), first.real() - x[h].real()};
  else
    x[0] = (first.real() + first.imag()) * scale, x[h] = (first.real() - first.imag()) * scale;
  if (!back) scale *= 0.5;
  for (size_t k = 1; 2 * k <= h; ++k) {
    const Complex a = x[k], b = std::conj(x[h - k]), even = (a + b) * scale, gap = (a - b) * scale;
    const Complex root = back ? std::conj(roots[k]) : roots[k];
    // gap times the root and -i, or i
    const double re = gap.real() * root.real() - gap.imag() * root.imag(), im = gap.real() * root.imag() + gap.imag() * root.real();
    const Complex odd = back ? Complex(-im, re) : Complex(im, -re);
    x[k] = even + odd, x[h - k] = std::conj(even - odd);
  }
}

template <class F>
void each_row(size_t rows, size_t length, const F& task) {
  in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(length), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) task(static_cast<size_t>(row));
  });
}

/// Real rows of odd length: the transform of all n complex numbers.
void transform_odd(const TensorView& x, bool to_half, size_t rows, size_t n, bool inverse, double scale, void* y) {
  const size_t h = n / 2;
  std::vector<Complex> all(rows * n);
  each_row(rows, n, [&](size_t row) {
    Complex* line = all.data() + row * n;
    load_row(x, row, to_half ? n : h + 1, line);
    if (to_half) return;
    line[0] = line[0].real();
    for (size_t k = 1; k <= h; ++k) line[n - k] = std::conj(line[k]);
  });
  Fourier::plan(n)->run(all.data(), rows, n, inverse, scale);
  each_row(rows, n, [&](size_t row) {
    if (to_half)
      std::copy_n(all.data() + row * n, h + 1, static_cast<Complex*>(y) + row * (h + 1));
    else
      for (size_t i = 0; i < n; ++i) static_cast<double*>(y)[row * n + i] = all[row * n + i].real();
  });
}

/// Real rows of even length: the transform of h = n / 2 complex numbers, each made of two real ones.
void transform_even(const TensorView& x, bool to_half, size_t rows, size_t n, double scale, void* y) {
  const size_t h = n / 2;
  const auto plan = Fourier::plan(h);
  const Complex* roots = plan->roots_of_twice();
  Complex* to = static_cast<Complex*>(y);
  if (to_half) {
    each_row(rows, n, [&](size_t row) {
      widen(x.dtype(), x.data<char>() + row * n * size_of(x.dtype()), n, reinterpret_cast<double*>(to + row * (h + 1)));
    });
    plan->run(to, rows, h + 1, false, 1);
    each_row(rows, n, [&](size_t row) { exchange_halves(to + row * (h + 1), h, roots, scale, false); });
  } else {
    each_row(rows, n, [&](size_t row) {
      std::vector<Complex> line(h + 1);
      load_row(x, row, h + 1, line.data());
      exchange_halves(line.data(), h, roots, 1, true);
      std::copy_n(line.data(), h, to + row * h);
    });
    plan->run(to, rows, h, true, scale);
  }
}

Tensor transformed(const TensorView& x, RowTransform kind, int64_t length, bool inverse, double scale) {
  const TensorView result = transformed_rows(x, kind, length);
  Tensor y(result.dtype(), result.shape());
  transform_rows(x, kind, length, inverse, scale, y.writable().data());
  return y;
}

int64_t row_length(const TensorView& x) { return x.rank() == 0 ? 0 : x.shape().back(); }

}  // namespace

TensorView transformed_rows(const TensorView& x, RowTransform kind, int64_t length) {
  if (length < 1) throw InvalidArgument("Invalid number of FFT data points ({}) specified.", length);
  const int64_t in = kind == RowTransform::from_half ? length / 2 + 1 : length;
  if (row_length(x) != in) throw InvalidArgument("fft takes rows of {} elements, not {}", in, x.shape());
  if (size_of(x.dtype()) == 0) throw InvalidArgument("fft takes numbers, not {}", x.dtype());
  if (kind == RowTransform::to_half && is_complex(x.dtype())) throw InvalidArgument("this transform takes real numbers, not {}", x.dtype());
  Shape shape = x.shape();
  shape[shape.rank() - 1] = kind == RowTransform::to_half ? length / 2 + 1 : length;
  return {kind == RowTransform::from_half ? DType::f64 : DType::complex128, shape, nullptr};
}

void transform_rows(const TensorView& x, RowTransform kind, int64_t length, bool inverse, double scale, void* y) {
  const size_t n = static_cast<size_t>(length), rows = static_cast<size_t>(x.elements() / row_length(x));
  if (rows == 0) return;
  const bool to_half = kind == RowTransform::to_half;
  if (kind == RowTransform::whole) {
    Complex* to = static_cast<Complex*>(y);
    each_row(rows, n, [&](size_t row) { load_row(x, row, n, to + row * n); });
    Fourier::plan(n)->run(to, rows, n, inverse, scale);
  } else if (n % 2 != 0) {
    transform_odd(x, to_half, rows, n, !to_half, scale, y);
  } else {
    transform_even(x, to_half, rows, n, scale, y);
  }
}

Tensor fft(const TensorView& x) try { return transformed(x, RowTransform::whole, row_length(x), false, 1); } catch (...) {
  throw_as_error();
}
Tensor inverse_fft(const TensorView& x) try {
  return transformed(x, RowTransform::whole, row_length(x), true, 1 / static_cast<double>(row_length(x)));
} catch (...) {
  throw_as_error();
}
Tensor real_fft(const TensorView& x) try { return transformed(x, RowTransform::to_half, row_length(x), false, 1); } catch (...) {
  throw_as_error();
}
Tensor inverse_real_fft(const TensorView& x, int64_t length) try {
  return transformed(x, RowTransform::from_half, length, true, 1 / static_cast<double>(length));
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::numerics
