// SPDX-License-Identifier: Apache-2.0
// Products of matrices of every dtype, and the short way to those of few elements.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/numeric.h"
#include "express/node.h"
#include "numpy/kernels/kernels.h"
#include "numpy/numpy.h"
#include "numpy/wide.h"

namespace minnow::numpy {
namespace {

template <class T>
const ProductLoops<T>& product_loops() {
  static const ProductKernels& kKernels = *numpy_kernels(cpu::best_isa()).products;
  if constexpr (std::is_same_v<T, float>)
    return kKernels.floats;
  else
    return kKernels.doubles;
}

/// c [m] = a [m, k] b [k]
template <class T>
void times_column(const T* a, const T* b, T* c, int64_t m, int64_t k) {
  const auto dot = product_loops<T>().dot;
  in_parts(m, k, [=](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) c[row] = dot(a + row * k, b, unsign(k));
  });
}

// Other products are computed in strips of columns. Where b is small its strips are read where they lie; otherwise blocks of it are
// copied strip by strip, so that they stay in the cache.

constexpr int64_t kDepth = 192, kPanel = 512, kHeight = 32;  // of a block of b; rows that use a strip while it is in the inner cache
constexpr int64_t kFewDepth = 512, kFew = 1 << 18, kPacked = 1 << 20;

bool is_few(int64_t m, int64_t k, int64_t n) { return k <= kFewDepth && m * k * n <= (m < 16 ? kFew : kPacked); }

/// c [m, n] = a [m, k] b [k, n], k <= kFewDepth
template <class T>
void multiply_few(const T* a, const T* b, T* c, int64_t m, int64_t k, int64_t n) {
  const ProductLoops<T>& loops = product_loops<T>();
  const int64_t columns = static_cast<int64_t>(loops.columns), whole = n / columns * columns;
  std::vector<T> last;  // columns that are no whole strip, with zeros behind them
  if (whole < n) {
    last.resize(unsign(k * columns));
    for (int64_t d = 0; d < k; ++d) std::copy_n(b + d * n + whole, n - whole, last.data() + d * columns);
  }
  const auto rows = [&](int64_t first, int64_t end) {
    const size_t high = unsign(end - first), depth = unsign(k), stride = unsign(n);
    const T* from = a + first * k;
    T* to = c + first * n;
    for (int64_t j = 0; j < whole; j += columns) loops.strip(from, depth, b + j, stride, depth, to + j, stride, high, loops.columns, false);
    if (whole < n) loops.strip(from, depth, last.data(), loops.columns, depth, to + whole, stride, high, unsign(n - whole), false);
  };
  if (m * k * n <= kFew) return rows(0, m);
  const int64_t half = (m / 2 + 7) / 8 * 8;  // two threads at most
  in_parts(2, m * k * n / kHeight, [&](int64_t first, int64_t end) { rows(first == 0 ? 0 : half, end == 1 ? half : m); });
}

/// c [m, n] = a [m, k] b [k, n], k > 0
void multiply(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n) {
  const ProductLoops<double>& loops = product_loops<double>();
  const int64_t columns = static_cast<int64_t>(loops.columns);
  std::vector<double> panel(unsign((std::min(kPanel, n) + columns - 1) / columns * columns * std::min(kDepth, k)));
  for (int64_t depth = 0; depth < k; depth += kDepth) {
    const int64_t deep = std::min(kDepth, k - depth);
    for (int64_t column = 0; column < n; column += kPanel) {
      const int64_t wide = std::min(kPanel, n - column), strips = (wide + columns - 1) / columns;
      for (int64_t s = 0; s < strips; ++s)
        for (int64_t d = 0; d < deep; ++d) {
          const int64_t count = std::min(columns, wide - s * columns);
          double* to = panel.data() + (s * deep + d) * columns;
          std::copy_n(b + (depth + d) * n + column + s * columns, count, to);
          std::fill(to + count, to + columns, 0.0);
        }
      in_parts((m + kHeight - 1) / kHeight, deep * wide * 4, [&](int64_t first, int64_t last) {
        // Rows that lie powers of two apart would meet in few places of the cache.
        constexpr int64_t kStride = kDepth + 8;
        std::vector<double> rows(unsign(kHeight * kStride));
        for (int64_t row = first * kHeight; row < std::min(m, last * kHeight); row += kHeight) {
          const int64_t high = std::min(kHeight, m - row);
          for (int64_t i = 0; i < high; ++i) std::copy_n(a + (row + i) * k + depth, deep, rows.data() + i * kStride);
          for (int64_t s = 0; s < strips; ++s)
            loops.strip(rows.data(), kStride, panel.data() + s * deep * columns, loops.columns, unsign(deep),
                        c + row * n + column + s * columns, unsign(n), unsign(high), unsign(std::min(columns, wide - s * columns)),
                        depth > 0);
        }
      });
    }
  }
}

template <class T>
void multiply_plain(const T* a, const T* b, T* c, int64_t m, int64_t k, int64_t n) {
  in_parts(m, k * n, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (int64_t d = 0; d < k; ++d) {
        const T factor = a[i * k + d];
        for (int64_t j = 0; j < n; ++j) c[i * n + j] = plus(c[i * n + j], product(factor, b[d * n + j]));
      }
  });
}

/// The matrix product of one dtype over the last two axes, leading axes broadcast: [..., m, k] x [..., k, n].
Tensor matmul(const Tensor& a, const Tensor& b) {
  const DType dtype = a.dtype();
  if (b.dtype() != dtype || a.shape().rank() < 2 || b.shape().rank() < 2) throw InvalidArgument("matmul takes matrices of one dtype");
  const size_t p = a.shape().rank(), q = b.shape().rank();
  const int64_t m = a.shape()[p - 2], k = a.shape()[p - 1], n = b.shape()[q - 1];
  if (b.shape()[q - 2] != k)
    throw InvalidArgument("matmul: the inner dimensions differ, {} and {} (shapes {} and {})", k, b.shape()[q - 2], a.shape(), b.shape());
  const auto leading = [](const Shape& s) { return Shape(s.dims().subspan(0, s.rank() - 2)); };
  const Shape batch = broadcast(leading(a.shape()), leading(b.shape()));
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  const size_t count = unsign(shape.elements());
  Fresh y(dtype, shape);
  if (k == 0) std::memset(y.data(), 0, count * size_of(dtype));
  const auto each = [&](auto from_a, auto from_b, auto to) {
    const auto place = [&](const Shape& s, int64_t index) {  // of the matrix that belongs to the batch's index
      int64_t at = 0, step = 1;
      for (size_t i = 0; i < batch.rank(); ++i) {
        const int64_t position = index % batch[batch.rank() - 1 - i];
        index /= batch[batch.rank() - 1 - i];
        if (i + 2 >= s.rank()) continue;
        const int64_t dim = s[s.rank() - 3 - i];
        if (dim != 1) at += position * step;
        step *= dim;
      }
      return at;
    };
    for (int64_t i = 0; i < batch.elements(); ++i) {
      const auto *left = from_a + place(a.shape(), i) * m * k, *right = from_b + place(b.shape(), i) * k * n;
      auto* result = to + i * m * n;
      if constexpr (std::is_floating_point_v<std::remove_pointer_t<decltype(to)>>) {
        if (n == 1)
          times_column(left, right, result, m, k);
        else if (is_few(m, k, n))
          multiply_few(left, right, result, m, k, n);
        else if constexpr (std::is_same_v<decltype(to), double*>)
          multiply(left, right, result, m, k, n);
      } else {
        multiply_plain(left, right, result, m, k, n);
      }
    }
  };
  switch (width_of(dtype)) {
    case Width::complex: {
      std::vector<Complex> values(count);
      const Wide<Complex> pc(a, DType::complex128), qc(b, DType::complex128);
      each(pc.data, qc.data, values.data());
      for (size_t i = 0; i < count; ++i) {
        if (dtype == DType::complex64)
          y.data<std::complex<float>>()[i] = std::complex<float>(values[i]);
        else
          y.data<Complex>()[i] = values[i];
      }
      break;
    }
    case Width::integer: {
      std::vector<int64_t> values(count);
      const Wide<int64_t> p64(a, DType::i64), q64(b, DType::i64);
      each(p64.data, q64.data, values.data());
      narrow(dtype, values.data(), count, y.data());
      break;
    }
    default: {
      if (dtype == DType::f32 && (n == 1 || is_few(m, k, n))) {
        each(a.data<float>(), b.data<float>(), y.data<float>());
        break;
      }
      const Wide<double> p64(a, DType::f64), q64(b, DType::f64);
      if (dtype == DType::f64) {
        each(p64.data, q64.data, y.data<double>());
      } else {
        std::vector<double> values(count);
        each(p64.data, q64.data, values.data());
        narrow(dtype, values.data(), count, y.data());
      }
    }
  }
  return y;
}

}  // namespace

std::optional<Var> product_at_hand(const Var& a, const Var& b) {
  if (!at_hand(a) || !at_hand(b)) return std::nullopt;
  const Tensor x = value_of(a), y = value_of(b);
  const size_t p = x.shape().rank(), q = y.shape().rank();
  if (x.dtype() != y.dtype() || (x.dtype() != DType::f32 && x.dtype() != DType::f64) || p < 1 || p > 2 || q < 1 || q > 2)
    return std::nullopt;
  const int64_t m = p == 2 ? x.shape()[0] : 1, k = x.shape()[p - 1], n = q == 2 ? y.shape()[1] : 1;
  if (y.shape()[0] != k || m * k * n == 0) return std::nullopt;
  if (x.dtype() == DType::f32 && n > 1 && !is_few(m, k, n)) {  // worth a plan; a column needs none
    if (p == 1 || q == 1) return std::nullopt;
    const python::Guard guard;
    return expr::op("MatMul", {a, b});
  }
  Shape shape;
  if (p == 2) shape.push_back(m);
  if (q == 2) shape.push_back(n);
  return Var(matmul(p == 2 ? x : x.reshaped(Shape{1, k}), q == 2 ? y : y.reshaped(Shape{k, 1})).reshaped(shape));
}

void define_products(nb::module_& m) {
  m.def(
      "matmul", [](const Var& a, const Var& b) { return Var(matmul(value_of(a), value_of(b))); }, nb::arg("a"), nb::arg("b"));
  m.def("product_at_hand", product_at_hand, nb::arg("a"), nb::arg("b"));
}

}  // namespace minnow::numpy
