// SPDX-License-Identifier: Apache-2.0
// Factorizations and transforms of stacks of matrices and rows, f64 or complex128.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>

#include "base/numeric.h"
#include "numpy/fourier.h"
#include "numpy/linalg.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

/// A stack of matrices over the last two axes.
struct Stack {
  Tensor tensor;
  Shape batch;
  size_t rows, columns;
  int64_t count;  // of matrices

  explicit Stack(const Var& x) : tensor(value_of(x)) {
    const Shape& shape = tensor.shape();
    if (shape.rank() < 2) throw InvalidArgument("{}-dimensional array given. Array must be at least two-dimensional", shape.rank());
    if (tensor.dtype() != DType::f64 && tensor.dtype() != DType::complex128)
      throw InvalidArgument("matrices are f64 or complex128, not {}", tensor.dtype());
    batch = Shape(shape.dims().subspan(0, shape.rank() - 2));
    rows = unsign(shape[shape.rank() - 2]), columns = unsign(shape.back());
    count = batch.elements();
  }
  bool is_complex() const { return tensor.dtype() == DType::complex128; }
  Shape with(std::initializer_list<size_t> dims) const {
    Shape shape = batch;
    for (const size_t dim : dims) shape.push_back(static_cast<int64_t>(dim));
    return shape;
  }
  void check_square() const {
    if (rows != columns) throw InvalidArgument("Last 2 dimensions of the array must be square");
  }
};

/// What linalg raises as LinAlgError: the Python side turns this into it.
[[noreturn]] void give_up(const char* sentence) { throw nb::value_error(sentence); }

template <class F>
void typed(const Stack& stack, F&& f) {
  if (stack.is_complex())
    f(Complex());
  else
    f(double());
}

/// Calls f(i) for every matrix, on several threads where they are worth it; `operations` of one matrix. False where any f(i) was.
template <class F>
bool all_matrices(const Stack& stack, double operations, F&& f) {
  std::atomic<bool> fine{true};
  in_parts(stack.count, static_cast<int64_t>(std::min(operations, 1e12)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      if (!f(unsign(i))) fine = false;
  });
  return fine;
}

double cubed(size_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

/// Solves a x = b for stacks of one batch shape; b [.., n, k].
Var solve(const Var& left, const Var& right) {
  const Stack a(left), b(right);
  a.check_square();
  if (!(a.batch == b.batch) || b.rows != a.rows || a.is_complex() != b.is_complex())
    throw InvalidArgument("solve: matrices {} and right sides {} do not fit", a.tensor.shape(), b.tensor.shape());
  Tensor x = b.tensor.clone();
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to = x.writable().data<T>();
    const size_t n = a.rows, k = b.columns;
    const bool fine = all_matrices(a, cubed(n), [&](size_t i) {
      std::vector<T> factors(a.tensor.data<T>() + i * n * n, a.tensor.data<T>() + (i + 1) * n * n);
      std::vector<size_t> swaps;
      if (!lu(factors.data(), n, swaps)) return false;
      lu_solve(factors.data(), n, swaps, to + i * n * k, k);
      return true;
    });
    if (!fine) give_up("Singular matrix");
  });
  return Var(std::move(x));
}

Var inverse(const Var& matrices) {
  const Stack a(matrices);
  a.check_square();
  Tensor x(a.tensor.dtype(), a.tensor.shape());
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    const size_t n = a.rows;
    T* to = x.writable().data<T>();
    const bool fine = all_matrices(a, cubed(n), [&](size_t i) {
      std::vector<T> factors(a.tensor.data<T>() + i * n * n, a.tensor.data<T>() + (i + 1) * n * n);
      std::vector<size_t> swaps;
      if (!lu(factors.data(), n, swaps)) return false;
      T* own = to + i * n * n;
      std::fill_n(own, n * n, T(0));
      for (size_t k = 0; k < n; ++k) own[k * n + k] = 1;
      lu_solve(factors.data(), n, swaps, own, n);
      return true;
    });
    if (!fine) give_up("Singular matrix");
  });
  return Var(std::move(x));
}

/// Sign (of length 1 if complex) and logarithm of the size of determinants; or the determinants themselves.
nb::object determinant(const Var& matrices, bool logarithm) {
  const Stack a(matrices);
  a.check_square();
  Tensor sign(a.tensor.dtype(), a.batch), size(DType::f64, a.batch);
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    const size_t n = a.rows;
    T* signs = sign.writable().data<T>();
    double* sizes = size.writable().data<double>();
    all_matrices(a, cubed(n), [&](size_t i) {
      std::vector<T> factors(a.tensor.data<T>() + i * n * n, a.tensor.data<T>() + (i + 1) * n * n);
      std::vector<size_t> swaps;
      lu(factors.data(), n, swaps);
      T product = 1;
      double log_size = 0;
      for (size_t k = 0; k < n; ++k) {
        const T pivot = factors[k * n + k];
        if (swaps[k] != k) product = -product;
        if (logarithm) {
          const double length = std::abs(pivot);
          product *= length == 0 ? T(0) : pivot / length;
          log_size += std::log(length);
        } else {
          product *= pivot;
        }
      }
      signs[i] = product, sizes[i] = log_size;
      return true;
    });
  });
  if (!logarithm) return nb::cast(Var(std::move(sign)));
  return nb::make_tuple(Var(std::move(sign)), Var(std::move(size)));
}

Var cholesky_of(const Var& matrices) {
  const Stack a(matrices);
  a.check_square();
  Tensor l = a.tensor.clone();
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to = l.writable().data<T>();
    if (!all_matrices(a, cubed(a.rows), [&](size_t i) { return cholesky(to + i * a.rows * a.rows, a.rows); }))
      give_up("Matrix is not positive definite");
  });
  return Var(std::move(l));
}

/// q [.., m, columns], r [.., columns or m, n]; with `raw` the transposed factors and tau as LAPACK leaves them.
nb::object qr_of(const Var& matrices, bool complete, bool raw) {
  const Stack a(matrices);
  const size_t m = a.rows, n = a.columns, few = std::min(m, n), columns = complete ? m : few;
  Tensor q(a.tensor.dtype(), raw ? a.with({few}) : a.with({m, columns})), r(a.tensor.dtype(), raw ? a.with({n, m}) : a.with({columns, n}));
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to_q = q.writable().data<T>();
    T* to_r = r.writable().data<T>();
    all_matrices(a, cubed(few) + static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(few), [&](size_t i) {
      std::vector<T> factors(a.tensor.data<T>() + i * m * n, a.tensor.data<T>() + (i + 1) * m * n), tau(few);
      qr(factors.data(), m, n, tau.data());
      if (raw) {
        std::copy(tau.begin(), tau.end(), to_q + i * few);
        for (size_t row = 0; row < m; ++row)
          for (size_t k = 0; k < n; ++k) to_r[i * m * n + k * m + row] = factors[row * n + k];
        return true;
      }
      qr_q(factors.data(), m, n, tau.data(), to_q + i * m * columns, columns);
      for (size_t row = 0; row < columns; ++row)
        for (size_t k = row; k < n; ++k) to_r[i * columns * n + row * n + k] = row < m ? factors[row * n + k] : T(0);
      return true;
    });
  });
  return raw ? nb::make_tuple(Var(std::move(r)), Var(std::move(q))) : nb::make_tuple(Var(std::move(q)), Var(std::move(r)));
}

/// u [.., m, n], s [.., n], v [.., n, n] of matrices with m >= n: a = u s v^H; without `vectors` s alone.
nb::object svd_of(const Var& matrices, bool vectors) {
  const Stack a(matrices);
  const size_t m = a.rows, n = a.columns;
  if (m < n) throw InvalidArgument("svd takes matrices of at least as many rows as columns");
  Tensor u = a.tensor.clone(), s(DType::f64, a.with({n})), v(a.tensor.dtype(), vectors ? a.with({n, n}) : Shape{0});
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to_u = u.writable().data<T>();
    T* to_v = v.writable().data<T>();
    double* to_s = s.writable().data<double>();
    if (!all_matrices(a, 20 * cubed(n),
                      [&](size_t i) { return svd(to_u + i * m * n, m, n, to_s + i * n, vectors ? to_v + i * n * n : nullptr); }))
      give_up("SVD did not converge");
  });
  if (!vectors) return nb::cast(Var(std::move(s)));
  return nb::make_tuple(Var(std::move(u)), Var(std::move(s)), Var(std::move(v)));
}

nb::object eigh_of(const Var& matrices, bool vectors) {
  const Stack a(matrices);
  a.check_square();
  const size_t n = a.rows;
  Tensor v = a.tensor.clone(), w(DType::f64, a.with({n}));
  typed(a, [&](auto zero) {
    using T = decltype(zero);
    T* to_v = v.writable().data<T>();
    double* to_w = w.writable().data<double>();
    if (!all_matrices(a, 5 * cubed(n), [&](size_t i) { return eigh(to_v + i * n * n, n, to_w + i * n, vectors); }))
      give_up("Eigenvalues did not converge");
  });
  if (!vectors) return nb::cast(Var(std::move(w)));
  return nb::make_tuple(Var(std::move(w)), Var(std::move(v)));
}

/// complex128 eigenvalues and eigenvectors of complex128 matrices.
nb::object eig_of(const Var& matrices, bool vectors) {
  const Stack a(matrices);
  a.check_square();
  const size_t n = a.rows;
  if (!a.is_complex()) throw InvalidArgument("eig takes complex128");
  Tensor v(DType::complex128, a.tensor.shape()), w(DType::complex128, a.with({n}));
  Complex* to_v = v.writable().data<Complex>();
  Complex* to_w = w.writable().data<Complex>();
  if (!all_matrices(a, 40 * cubed(n), [&](size_t i) {
        std::vector<Complex> copy(a.tensor.data<Complex>() + i * n * n, a.tensor.data<Complex>() + (i + 1) * n * n);
        return eig(copy.data(), n, to_w + i * n, vectors ? to_v + i * n * n : nullptr);
      }))
    give_up("Eigenvalues did not converge");
  if (!vectors) return nb::cast(Var(std::move(w)));
  return nb::make_tuple(Var(std::move(w)), Var(std::move(v)));
}

/// One row of any dtype as complex numbers.
void load_row(const Tensor& x, size_t row, size_t count, Complex* to) {
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

/// The first half of the transform of 2 h real numbers out of that of h complex ones, x[h + 1] (Cooley, Lewis, Welch 1970). And the other
/// way round, where `back`.
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
    // gap times the root and -i, or i.
    const double re = gap.real() * root.real() - gap.imag() * root.imag(), im = gap.real() * root.imag() + gap.imag() * root.real();
    const Complex odd = back ? Complex(-im, re) : Complex(im, -re);
    x[k] = even + odd, x[h - k] = std::conj(even - odd);
  }
}

/// Transforms of the rows (last axis) of numbers of any dtype, multiplied by `scale`, in complex128. kind: "whole", of n numbers;
/// "to_half", of n real ones the first n / 2 + 1; "from_half", of these the n real ones, in f64.
Var fft(const Var& var, const std::string& kind, int64_t length, bool inverse, double scale) {
  const Tensor x = value_of(var);
  const bool to_half = kind == "to_half", from_half = kind == "from_half";
  const int64_t in = from_half ? length / 2 + 1 : length, out = to_half ? length / 2 + 1 : length;
  if (length < 1) throw InvalidArgument("Invalid number of FFT data points ({}) specified.", length);
  if (x.shape().rank() == 0 || x.shape().back() != in) throw InvalidArgument("fft takes rows of {} elements, not {}", in, x.shape());
  Shape shape = x.shape();
  shape[shape.rank() - 1] = out;
  Fresh y(from_half ? DType::f64 : DType::complex128, shape);
  const size_t n = unsign(length), rows = unsign(x.elements() / in), wide = unsign(in), h = n / 2;
  if (rows == 0) return y;
  const auto each_row = [&](const std::function<void(size_t)>& task) {
    in_parts(static_cast<int64_t>(rows), length, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) task(unsign(row));
    });
  };
  Complex* to = y.data<Complex>();
  if (!to_half && !from_half) {
    const auto plan = Fourier::plan(n);
    each_row([&](size_t row) { load_row(x, row, wide, to + row * n); });
    plan->run(to, rows, n, inverse, scale);
  } else if (n % 2 != 0) {
    const auto plan = Fourier::plan(n);
    std::vector<Complex> all(rows * n);
    each_row([&](size_t row) {
      Complex* line = all.data() + row * n;
      load_row(x, row, wide, line);
      if (!from_half) return;
      line[0] = line[0].real();
      for (size_t k = 1; k <= h; ++k) line[n - k] = std::conj(line[k]);
    });
    plan->run(all.data(), rows, n, inverse, scale);
    each_row([&](size_t row) {
      if (to_half)
        std::copy_n(all.data() + row * n, h + 1, to + row * (h + 1));
      else
        for (size_t i = 0; i < n; ++i) y.data<double>()[row * n + i] = all[row * n + i].real();
    });
  } else {  // of half as many complex numbers, each of two real ones
    const auto plan = Fourier::plan(h);
    const Complex* roots = plan->roots_of_twice();
    if (to_half) {
      each_row([&](size_t row) {
        widen(x.dtype(), x.data<char>() + row * n * size_of(x.dtype()), n, reinterpret_cast<double*>(to + row * (h + 1)));
      });
      plan->run(to, rows, h + 1, false, 1);
      each_row([&](size_t row) { exchange_halves(to + row * (h + 1), h, roots, scale, false); });
    } else {
      each_row([&](size_t row) {
        std::vector<Complex> line(h + 1);
        load_row(x, row, wide, line.data());
        exchange_halves(line.data(), h, roots, 1, true);
        std::copy_n(line.data(), h, to + row * h);
      });
      plan->run(to, rows, h, true, scale);
    }
  }
  return y;
}

}  // namespace

void define_linalg(nb::module_& m) {
  m.def("solve", solve, nb::arg("a"), nb::arg("b"));
  m.def("inverse", inverse, nb::arg("a"));
  m.def("determinant", determinant, nb::arg("a"), nb::arg("logarithm"));
  m.def("cholesky", cholesky_of, nb::arg("a"));
  m.def("qr", qr_of, nb::arg("a"), nb::arg("complete"), nb::arg("raw"));
  m.def("svd", svd_of, nb::arg("a"), nb::arg("vectors"));
  m.def("eigh", eigh_of, nb::arg("a"), nb::arg("vectors"));
  m.def("eig", eig_of, nb::arg("a"), nb::arg("vectors"));
}

void define_fourier(nb::module_& m) {
  m.def("fft", fft, nb::arg("x"), nb::arg("kind"), nb::arg("length"), nb::arg("inverse"), nb::arg("scale"));
}

void define_numpy(nb::module_& m) {
  nb::module_ numpy = m.def_submodule("numpy", "What minnow.numpy has beside the engine's operators.");
  define_elements(numpy);
  define_few(numpy);
  define_reductions(numpy);
  define_products(numpy);
  define_sorting(numpy);
  define_indexing(numpy);
  define_movement(numpy);
  define_linalg(numpy);
  define_fourier(numpy);
  define_random(numpy);
}

}  // namespace minnow::numpy
