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

// Other products of few elements are computed in strips of columns, whose rows of b are read where they lie. Those of many are the
// engine's.

constexpr int64_t kHeight = 32;  // rows that are worth a thread
constexpr int64_t kFewDepth = 512, kFew = 1 << 18, kPacked = 1 << 20;

bool is_few(int64_t m, int64_t k, int64_t n) { return k <= kFewDepth && m * k * n <= (m < 16 ? kFew : kPacked); }

/// c [m, n] = a [m, k] b [k, n]
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
    for (int64_t j = 0; j < whole; j += columns) loops.strip(from, depth, b + j, stride, depth, to + j, stride, high, loops.columns);
    if (whole < n) loops.strip(from, depth, last.data(), loops.columns, depth, to + whole, stride, high, unsign(n - whole));
  };
  if (m * k * n <= kFew) return rows(0, m);
  const int64_t half = (m / 2 + 7) / 8 * 8;  // two threads at most
  in_parts(2, m * k * n / kHeight, [&](int64_t first, int64_t end) { rows(first == 0 ? 0 : half, end == 1 ? half : m); });
}

template <class T>
void multiply(const T* a, const T* b, T* c, int64_t m, int64_t k, int64_t n) {
  return n == 1 ? times_column(a, b, c, m, k) : multiply_few(a, b, c, m, k, n);
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

/// The matrix product of one dtype, no float of 16 bits, over the last two axes, leading axes broadcast: [..., m, k] x [..., k, n].
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
      if constexpr (std::is_floating_point_v<std::remove_pointer_t<decltype(to)>>)
        multiply(left, right, result, m, k, n);
      else
        multiply_plain(left, right, result, m, k, n);
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
    default:
      if (dtype == DType::f32)
        each(a.data<float>(), b.data<float>(), y.data<float>());
      else if (dtype == DType::f64)
        each(a.data<double>(), b.data<double>(), y.data<double>());
      else
        throw InvalidArgument("matmul takes no {}", dtype);
  }
  return y;
}

}  // namespace

std::optional<Var> product_at_hand(const Var& a, const Var& b) {
  Tensor x, y;
  {
    const python::Guard guard;
    const auto ready = [](const Var& v) { return v.is_computed() && !express::required_value(v).node->keeps_inputs; };
    if (!ready(a) || !ready(b)) return std::nullopt;
    x = a.tensor(), y = b.tensor();
  }
  const DType dtype = x.dtype();
  const size_t p = x.shape().rank(), q = y.shape().rank();
  if (dtype != y.dtype() || (dtype != DType::f32 && dtype != DType::f64) || p < 1 || p > 2 || q < 1 || q > 2) return std::nullopt;
  const int64_t m = p == 2 ? x.shape()[0] : 1, k = x.shape()[p - 1], n = q == 2 ? y.shape()[1] : 1;
  if (y.shape()[0] != k || m * k * n == 0) return std::nullopt;
  if (n > 1 && !is_few(m, k, n)) {  // worth a plan; a column needs none
    if (p == 1 || q == 1) return std::nullopt;
    const python::Guard guard;
    return expr::op("MatMul", {a, b});
  }
  Shape shape;
  if (p == 2) shape.push_back(m);
  if (q == 2) shape.push_back(n);
  Fresh product(dtype, shape);
  if (dtype == DType::f32)
    multiply(x.data<float>(), y.data<float>(), product.data<float>(), m, k, n);
  else
    multiply(x.data<double>(), y.data<double>(), product.data<double>(), m, k, n);
  return product;
}

void define_products(nb::module_& m) {
  m.def(
      "matmul", [](const Var& a, const Var& b) { return Var(matmul(value_of(a), value_of(b))); }, nb::arg("a"), nb::arg("b"));
  m.def("product_at_hand", product_at_hand, nb::arg("a"), nb::arg("b"));
}

}  // namespace minnow::numpy
