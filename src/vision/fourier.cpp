// SPDX-License-Identifier: Apache-2.0
#include <cfloat>
#include <numbers>

#include "base/no_memory.h"
#include "vision/elements.h"
#include "vision/fft.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

constexpr int kInverse = 1, kScale = 2, kRows = 4, kComplexOutput = 16, kRealOutput = 32;

/// A picture of complex numbers as two planes.
template <class T>
struct Spectrum {
  size_t height, width;
  std::vector<T> re, im;
  Spectrum(size_t h, size_t w) : height(h), width(w), re(h * w), im(h * w) {}
};

template <class T>
void transform(Spectrum<T>& s, bool inverse, bool rows_only) {
  const bool single_column = s.width == 1 && s.height > 1 && !rows_only;
  if (!single_column) fft_rows(Fft<T>(s.width), s.re.data(), s.im.data(), s.height, s.width, inverse);
  if (!rows_only && s.height > 1) fft_columns(Fft<T>(s.height), s.re.data(), s.im.data(), s.width, s.width, inverse);
}

/// Calls visit(y, x, y of the imaginary part, x of it, whether there is one, row, column of the spectrum) for the elements of a spectrum of
/// real numbers that was packed into as many real numbers: of a row, re 0, re 1, im 1, re 2, im 2 ..., and the columns of reals likewise.
template <class F>
void packed(size_t height, size_t width, bool rows_only, F&& visit) {
  const auto line = [](size_t n, auto&& put) {
    put(size_t{0}, size_t{0}, size_t{0}, false);
    for (size_t k = 1; 2 * k < n; ++k) put(k, 2 * k - 1, 2 * k, true);
    if (n > 1 && n % 2 == 0) put(n / 2, n - 1, n - 1, false);
  };
  if (width == 1 && !rows_only) {
    line(height, [&](size_t k, size_t at, size_t imaginary, bool both) { visit(at, size_t{0}, imaginary, size_t{0}, both, k, size_t{0}); });
    return;
  }
  if (rows_only || height == 1) {
    for (size_t y = 0; y < height; ++y)
      line(width, [&](size_t k, size_t at, size_t imaginary, bool both) { visit(y, at, y, imaginary, both, y, k); });
    return;
  }
  const auto column = [&](size_t at, size_t k) {
    line(height, [&](size_t j, size_t y, size_t imaginary, bool both) { visit(y, at, imaginary, at, both, j, k); });
  };
  column(0, 0);
  for (size_t y = 0; y < height; ++y)
    for (size_t k = 1; 2 * k < width; ++k) visit(y, 2 * k - 1, y, 2 * k, true, y, k);
  if (width > 1 && width % 2 == 0) column(width - 1, width / 2);
}

/// The first width / 2 + 1 columns of the spectrum of real numbers, of which the others are mirrored conjugates. Two rows go through a
/// transform as the parts of a complex one. `given`: rows that are not zero.
template <class T>
Spectrum<T> spectrum_of_reals(const ImageView& image, size_t given) {
  const size_t height = static_cast<size_t>(image.height()), width = static_cast<size_t>(image.width()), half = width / 2 + 1;
  Spectrum<T> pairs((height + 1) / 2, width), s(height, half);
  for (size_t y = 0; y < given; ++y)
    std::copy_n(image.row<T>(static_cast<int64_t>(y)), width, (y % 2 ? pairs.im : pairs.re).data() + y / 2 * width);
  fft_rows(Fft<T>(width), pairs.re.data(), pairs.im.data(), pairs.height, width, false);
  for (size_t y = 0; y < height; y += 2) {
    const T *const re = pairs.re.data() + y / 2 * width, *const im = pairs.im.data() + y / 2 * width;
    for (size_t k = 0; k < half; ++k) {
      const size_t at = y * half + k, mirrored = k ? width - k : 0;
      s.re[at] = (re[k] + re[mirrored]) / 2, s.im[at] = (im[k] - im[mirrored]) / 2;
      if (y + 1 < height) s.re[at + half] = (im[k] + im[mirrored]) / 2, s.im[at + half] = (re[mirrored] - re[k]) / 2;
    }
  }
  fft_columns(Fft<T>(height), s.re.data(), s.im.data(), half, half, false);
  return s;
}

template <class T>
Tensor dft_of(const ImageView& image, int flags, int rows, const Output& output) {
  const size_t height = static_cast<size_t>(image.height()), width = static_cast<size_t>(image.width());
  const bool inverse = flags & kInverse, rows_only = flags & kRows, complex = image.channels() == 2;
  const size_t given = rows > 0 && !inverse ? std::min(static_cast<size_t>(rows), height) : height;
  const bool halved = !complex && !inverse && !rows_only && height > 1 && width > 1;
  Spectrum<T> s = halved ? spectrum_of_reals<T>(image, given) : Spectrum<T>(height, width);
  if (complex) {
    for (size_t y = 0; y < given; ++y) {
      const T* const row = image.row<T>(static_cast<int64_t>(y));
      for (size_t x = 0; x < width; ++x) s.re[y * width + x] = row[2 * x], s.im[y * width + x] = row[2 * x + 1];
    }
  } else if (!inverse && !halved) {
    for (size_t y = 0; y < given; ++y) std::copy_n(image.row<T>(static_cast<int64_t>(y)), width, s.re.data() + y * width);
  }
  const bool real_result = inverse && (!complex || (flags & kRealOutput));
  if (real_result) {
    // The spectrum of real numbers: one half is the other's conjugate.
    Spectrum<T> half = s;
    packed(height, width, rows_only, [&](size_t y, size_t x, size_t iy, size_t ix, bool both, size_t row, size_t column) {
      T re, im = 0;
      if (complex) {
        re = half.re[row * width + column];
        if (both) im = half.im[row * width + column];
      } else {
        re = image.row<T>(static_cast<int64_t>(y))[x];
        if (both) im = image.row<T>(static_cast<int64_t>(iy))[ix];
      }
      const size_t other_row = rows_only || row == 0 ? row : height - row, other_column = column == 0 ? 0 : width - column;
      s.re[row * width + column] = s.re[other_row * width + other_column] = re;
      s.im[row * width + column] = im;
      if (both) s.im[other_row * width + other_column] = -im;
    });
  }
  if (!halved) transform(s, inverse, rows_only);
  if (flags & kScale) {
    const bool line = rows_only || (height == 1 || width == 1);
    const T scale = T(1) / static_cast<T>(rows_only ? width : line ? std::max(height, width) : height * width);
    for (T& value : s.re) value *= scale;
    for (T& value : s.im) value *= scale;
  }
  const bool complex_result = !real_result && (complex || (flags & kComplexOutput));
  Result result("dft", output, image.dtype(), image.height(), image.width(), complex_result ? 2 : 1, {&image});
  const MutableImageView& to = result.view();
  if (complex_result) {
    for (size_t y = 0; y < height; ++y) {
      T* const row = to.row<T>(static_cast<int64_t>(y));
      for (size_t x = 0; x < s.width; ++x) row[2 * x] = s.re[y * s.width + x], row[2 * x + 1] = s.im[y * s.width + x];
      for (size_t x = s.width; x < width; ++x) {
        const size_t mirrored = (y ? height - y : 0) * s.width + width - x;
        row[2 * x] = s.re[mirrored], row[2 * x + 1] = -s.im[mirrored];
      }
    }
  } else if (real_result) {
    for (size_t y = 0; y < height; ++y) std::copy_n(s.re.data() + y * width, width, to.row<T>(static_cast<int64_t>(y)));
  } else {
    packed(height, width, rows_only, [&](size_t y, size_t x, size_t iy, size_t ix, bool both, size_t row, size_t column) {
      to.row<T>(static_cast<int64_t>(y))[x] = s.re[row * s.width + column];
      if (both) to.row<T>(static_cast<int64_t>(iy))[ix] = s.im[row * s.width + column];
    });
  }
  return result.finish();
}

/// Cosine transforms of the columns, through the Fourier transform of the even elements and the odd ones in reverse (J. Makhoul, 1980).
template <class T>
void dct_columns(std::vector<T>& plane, size_t n, size_t width, bool inverse) {
  if (n == 1) return;
  const Fft<T> fft(n);
  const auto place = [&](size_t i) { return i % 2 == 0 ? i / 2 : n - 1 - i / 2; };
  std::vector<T> c(n), s(n);
  for (size_t k = 0; k < n; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / (2 * static_cast<double>(n));
    c[k] = static_cast<T>(std::cos(angle)), s[k] = static_cast<T>(std::sin(angle));
  }
  const T first = static_cast<T>(std::sqrt(1. / static_cast<double>(n))), rest = static_cast<T>(std::sqrt(2. / static_cast<double>(n)));
  if (!inverse) {
    // Columns of both halves of the plane as the parts of complex ones.
    const size_t half = (width + 1) / 2, others = width - half;
    std::vector<T> re(n * half), im(n * half), last(half);
    for (size_t i = 0; i < n; ++i) {
      std::copy_n(plane.data() + i * width, half, re.data() + place(i) * half);
      std::copy_n(plane.data() + i * width + half, others, im.data() + place(i) * half);
    }
    fft_columns(fft, re.data(), im.data(), half, half, false);
    for (size_t k = 0; k < n; ++k) {
      const size_t row = k * half, mirrored = (k ? n - k : 0) * half;
      const T scale = k == 0 ? first : rest;
      const auto cosines = [] {
        if constexpr (sizeof(T) == 4)
          return fft_loops().cosines32;
        else
          return fft_loops().cosines64;
      }();
      T* const to = plane.data() + k * width;
      cosines(re.data() + row, im.data() + row, re.data() + mirrored, im.data() + mirrored, scale * c[k], scale * s[k], half, to,
              last.data());
      std::copy_n(last.data(), others, to + half);
    }
    return;
  }
  std::vector<T> re(n * width), im(n * width);
  for (size_t k = 0; k < n; ++k) {
    for (size_t x = 0; x < width; ++x) {
      const T a = plane[k * width + x] / (k == 0 ? first : rest), b = k == 0 ? T(0) : plane[(n - k) * width + x] / rest;
      re[k * width + x] = a * c[k] + b * s[k];
      im[k * width + x] = a * s[k] - b * c[k];
    }
  }
  fft_columns(fft, re.data(), im.data(), width, width, true);
  const T scale = T(1) / static_cast<T>(n);
  for (size_t i = 0; i < n; ++i)
    for (size_t x = 0; x < width; ++x) plane[i * width + x] = re[place(i) * width + x] * scale;
}

template <class T>
Tensor dct_of(const ImageView& image, int flags, const Output& output) {
  const size_t height = static_cast<size_t>(image.height()), width = static_cast<size_t>(image.width());
  std::vector<T> plane(height * width), other(height * width);
  for (size_t y = 0; y < height; ++y) std::copy_n(image.row<T>(static_cast<int64_t>(y)), width, plane.data() + y * width);
  turn(plane.data(), width, height, width, other.data(), height);
  dct_columns(other, width, height, flags & kInverse);
  turn(other.data(), height, width, height, plane.data(), width);
  if (!(flags & kRows)) dct_columns(plane, height, width, flags & kInverse);
  Result result("dct", output, image.dtype(), image.height(), image.width(), 1, {&image});
  for (size_t y = 0; y < height; ++y) std::copy_n(plane.data() + y * width, width, result.view().row<T>(static_cast<int64_t>(y)));
  return result.finish();
}

void check_numbers(const char* name, const ImageView& image, std::initializer_list<int64_t> channels) {
  check_not_empty(name, image);
  check_dtype(name, image, {DType::f32, DType::f64});
  check_channels(name, image, channels);
  check_size(name, image.width(), image.height());
}

template <class T>
Tensor multiply_spectra(const ImageView& a, const ImageView& b, bool rows_only, bool conjugate, const Output& output) {
  Result result("mulSpectrums", output, a.dtype(), a.height(), a.width(), a.channels(), {&a, &b});
  const MutableImageView& to = result.view();
  const T sign = conjugate ? T(-1) : T(1);
  if (a.channels() == 2) {
    for (int64_t y = 0; y < a.height(); ++y) {
      const T *p = a.row<T>(y), *q = b.row<T>(y);
      T* const out = to.row<T>(y);
      for (int64_t x = 0; x < 2 * a.width(); x += 2) {
        const T re = p[x] * q[x] - p[x + 1] * sign * q[x + 1], im = p[x] * sign * q[x + 1] + p[x + 1] * q[x];
        out[x] = re, out[x + 1] = im;
      }
    }
    return result.finish();
  }
  packed(static_cast<size_t>(a.height()), static_cast<size_t>(a.width()), rows_only,
         [&](size_t y, size_t x, size_t iy, size_t ix, bool both, size_t, size_t) {
           const int64_t r = static_cast<int64_t>(y), i = static_cast<int64_t>(iy);
           const T p = a.row<T>(r)[x], q = b.row<T>(r)[x];
           if (!both) {
             to.row<T>(r)[x] = p * q;
             return;
           }
           const T pi = a.row<T>(i)[ix], qi = sign * b.row<T>(i)[ix];
           to.row<T>(r)[x] = p * q - pi * qi;
           to.row<T>(i)[ix] = p * qi + pi * q;
         });
  return result.finish();
}

}  // namespace

Tensor dft(const ImageView& image, int flags, int nonzero_rows, Output output) {
  try {
    check_numbers("dft", image, {1, 2});
    return image.dtype() == DType::f32 ? dft_of<float>(image, flags, nonzero_rows, output)
                                       : dft_of<double>(image, flags, nonzero_rows, output);
  } catch (...) {
    throw_as_error();
  }
}

Tensor dct(const ImageView& image, int flags, Output output) {
  try {
    check_numbers("dct", image, {1});
    return image.dtype() == DType::f32 ? dct_of<float>(image, flags, output) : dct_of<double>(image, flags, output);
  } catch (...) {
    throw_as_error();
  }
}

int optimal_dft_size(int size) { return static_cast<int>(fast_size(size)); }

Tensor mul_spectrums(const ImageView& a, const ImageView& b, int flags, bool conjugate, Output output) {
  try {
    check_numbers("mulSpectrums", a, {1, 2});
    check_same("mulSpectrums", a, b);
    const bool rows = flags & kRows;
    return a.dtype() == DType::f32 ? multiply_spectra<float>(a, b, rows, conjugate, output)
                                   : multiply_spectra<double>(a, b, rows, conjugate, output);
  } catch (...) {
    throw_as_error();
  }
}

Tensor hanning_window(Size size, DType dtype, Output output) {
  try {
    if (size.width <= 1 || size.height <= 1) throw InvalidArgument("createHanningWindow: the size is above 1 x 1");
    check_size("createHanningWindow", size.width, size.height);
    if (dtype != DType::f32 && dtype != DType::f64) throw Unsupported("createHanningWindow: windows are CV_32F or CV_64F, not {}", dtype);
    Result result("createHanningWindow", output, dtype, size.height, size.width, 1);
    const auto hann = [](int64_t i, int n) { return 0.5 * (1 - std::cos(2 * std::numbers::pi * static_cast<double>(i) / (n - 1))); };
    for (int64_t y = 0; y < size.height; ++y) {
      for (int64_t x = 0; x < size.width; ++x) {
        const double product = hann(y, size.height) * hann(x, size.width);
        if (dtype == DType::f32)
          result.view().row<float>(y)[x] = std::sqrt(static_cast<float>(product));
        else
          result.view().row<double>(y)[x] = std::sqrt(product);
      }
    }
    return result.finish();
  } catch (...) {
    throw_as_error();
  }
}

namespace {

template <class T>
Shift shift_between(const ImageView& a, const ImageView& b, const ImageView& window) {
  const size_t height = static_cast<size_t>(fast_size(a.height())), width = static_cast<size_t>(fast_size(a.width()));
  // Both pictures as the parts of complex numbers: one transform.
  Spectrum<T> s(height, width);
  for (int64_t y = 0; y < a.height(); ++y) {
    T* const re = s.re.data() + static_cast<size_t>(y) * width;
    T* const im = s.im.data() + static_cast<size_t>(y) * width;
    std::copy_n(a.row<T>(y), a.width(), re);
    std::copy_n(b.row<T>(y), a.width(), im);
    if (!window) continue;
    const T* const weights = window.row<T>(y);
    for (int64_t x = 0; x < a.width(); ++x) re[x] *= weights[x], im[x] *= weights[x];
  }
  transform(s, false, false);
  const auto correlate = [&](size_t element, size_t mirrored, size_t count) {
    T *const re = s.re.data(), *const im = s.im.data();
    if constexpr (sizeof(T) == 4)
      fft_loops().correlate_phases32(re + element, im + element, re + mirrored, im + mirrored, count);
    else
      fft_loops().correlate_phases64(re + element, im + element, re + mirrored, im + mirrored, count);
  };
  for_rows(static_cast<int64_t>(height / 2 + 1), static_cast<int64_t>(16 * width), [&](int64_t first_row, int64_t last_row) {
    for (size_t y = static_cast<size_t>(first_row); y < static_cast<size_t>(last_row); ++y) {
      const size_t row = y * width, mirrored = (y ? height - y : 0) * width;
      correlate(row, mirrored, 1);
      // A row that is its own mirror: elements of its first half, and the one in the middle.
      correlate(row + 1, mirrored + width - 1, row == mirrored ? (width - 1) / 2 : width - 1);
      if (row == mirrored && width % 2 == 0) correlate(row + width / 2, row + width / 2, 1);
    }
  });
  transform(s, true, false);
  // Around the peak, where shift 0 lies in the middle.
  const size_t my = height / 2, mx = width / 2;
  const auto source = [](size_t i, size_t middle, size_t n) { return i < middle ? i + n - middle : i - middle; };
  size_t py = 0, px = 0;
  T most = -std::numeric_limits<T>::infinity();
  for (size_t y = 0; y < height; ++y) {
    const T* const row = s.re.data() + source(y, my, height) * width;
    double least_here = 0, most_here = 0;
    arithmetic_loops().least_and_most[sizeof(T) == 4 ? kF32 : kF64](row, width, &least_here, &most_here);
    if (!(most_here > static_cast<double>(most))) continue;
    const auto scan = [&](size_t from, size_t count, size_t to) {
      for (size_t x = 0; x < count; ++x)
        if (row[from + x] > most) most = row[from + x], py = y, px = to + x;
    };
    scan(width - mx, mx, 0);
    scan(0, width - mx, mx);
  }
  double sum = 0, cx = 0, cy = 0;
  for (size_t y = py < 2 ? 0 : py - 2; y <= std::min(py + 2, height - 1); ++y) {
    for (size_t x = px < 2 ? 0 : px - 2; x <= std::min(px + 2, width - 1); ++x) {
      const double value = static_cast<double>(s.re[source(y, my, height) * width + source(x, mx, width)]);
      sum += value;
      cx += static_cast<double>(x) * value;
      cy += static_cast<double>(y) * value;
    }
  }
  Shift shift;
  shift.response = sum / static_cast<double>(height * width);
  sum += DBL_EPSILON;
  shift.offset = {static_cast<double>(width) / 2 - cx / sum, static_cast<double>(height) / 2 - cy / sum};
  return shift;
}

}  // namespace

Shift phase_correlate(const ImageView& a, const ImageView& b, const ImageView& window) {
  try {
    const char* const name = "phaseCorrelate";
    check_numbers(name, a, {1});
    check_same(name, a, b);
    if (window) check_same(name, a, window);
    return a.dtype() == DType::f32 ? shift_between<float>(a, b, window) : shift_between<double>(a, b, window);
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
