// SPDX-License-Identifier: Apache-2.0
// Products of matrices of every dtype, and the short way to those of few elements.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/numeric.h"
#include "express/node.h"
#include "numpy/numpy.h"
#include "numpy/wide.h"

// What a function is compiled for beside the build's own instruction set, where the compiler can choose at run time. The level has AVX2 and
// FMA: of a list of both each would make a clone of its own.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MINNOW_FOR_AVX2 __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MINNOW_FOR_AVX2
#endif

namespace minnow::numpy {
namespace {

// Products of f64 are computed in blocks that stay in the cache.

using Vector = double __attribute__((vector_size(32), aligned(8)));
constexpr int64_t kRows = 6, kColumns = 8, kDepth = 256, kPanel = 512;

MINNOW_FOR_AVX2 void tile(int64_t depth, const double* a, const double* b, double* c, int64_t stride, int64_t rows, int64_t columns) {
  Vector sums[kRows][2] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const Vector left = *reinterpret_cast<const Vector*>(b + k * kColumns), right = *reinterpret_cast<const Vector*>(b + k * kColumns + 4);
    for (int64_t i = 0; i < kRows; ++i) {
      const double factor = a[k * kRows + i];
      sums[i][0] += factor * left, sums[i][1] += factor * right;
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) c[i * stride + j] += sums[i][j / 4][j % 4];
}

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  using Values = float __attribute__((vector_size(32), aligned(4)));
};
template <>
struct Lanes<double> {
  using Values = Vector;
};

/// The sum of products in four vectors of partial sums.
template <class T>
__attribute__((always_inline)) inline T dot_by_vectors(const T* a, const T* b, int64_t count) {
  using Values = typename Lanes<T>::Values;
  constexpr int64_t kLanes = 32 / sizeof(T);
  Values sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    for (int64_t k = 0; k < 4; ++k)
      sums[k] += *reinterpret_cast<const Values*>(a + i + k * kLanes) * *reinterpret_cast<const Values*>(b + i + k * kLanes);
  T rest = 0;
  for (; i < count; ++i) rest += a[i] * b[i];
  const Values sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (int64_t lane = 0; lane < kLanes; ++lane) rest += sum[lane];
  return rest;
}
MINNOW_FOR_AVX2 float dot(const float* a, const float* b, int64_t count) { return dot_by_vectors(a, b, count); }
MINNOW_FOR_AVX2 double dot(const double* a, const double* b, int64_t count) { return dot_by_vectors(a, b, count); }

/// c [m] = a [m, k] b [k]
template <class T>
void times_column(const T* a, const T* b, T* c, int64_t m, int64_t k) {
  in_parts(m, k, [=](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) c[row] = dot(a + row * k, b, k);
  });
}

/// c [m, n] += a [m, k] b [k, n]
void multiply(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n) {
  for (int64_t depth = 0; depth < k; depth += kDepth) {
    const int64_t deep = std::min(kDepth, k - depth);
    for (int64_t column = 0; column < n; column += kPanel) {
      const int64_t wide = std::min(kPanel, n - column), strips = (wide + kColumns - 1) / kColumns;
      std::vector<double> panel(unsign(strips * kColumns * deep), 0.0);
      for (int64_t s = 0; s < strips; ++s)
        for (int64_t d = 0; d < deep; ++d)
          std::copy_n(b + (depth + d) * n + column + s * kColumns, std::min(kColumns, wide - s * kColumns),
                      panel.data() + (s * deep + d) * kColumns);
      in_parts((m + kRows - 1) / kRows, deep * wide, [&](int64_t first, int64_t last) {
        std::vector<double> packed(unsign(kRows * deep), 0.0);
        for (int64_t group = first; group < last; ++group) {
          const int64_t row = group * kRows, high = std::min(kRows, m - row);
          for (int64_t i = 0; i < high; ++i)
            for (int64_t d = 0; d < deep; ++d) packed[unsign(d * kRows + i)] = a[(row + i) * k + depth + d];
          for (int64_t s = 0; s < strips; ++s)
            tile(deep, packed.data(), panel.data() + s * deep * kColumns, c + row * n + column + s * kColumns, n, high,
                 std::min(kColumns, wide - s * kColumns));
        }
      });
    }
  }
}

// Products of few elements are computed where the matrices lie.

constexpr int64_t kFewDepth = 512;

bool is_few(int64_t m, int64_t k, int64_t n) { return k <= kFewDepth && m * k * n <= 1 << 18; }

/// kHigh rows of c, `wide` of at most two vectors of columns: b has two whole vectors in each of its rows.
template <class T, int64_t kHigh>
__attribute__((always_inline)) inline void few_rows(const T* a, int64_t k, const T* b, int64_t stride, T* c, int64_t n, int64_t wide) {
  using Values = typename Lanes<T>::Values;
  constexpr int64_t kLanes = 32 / sizeof(T);
  Values sums[kHigh][2] = {};
  for (int64_t d = 0; d < k; ++d, b += stride) {
    const Values left = *reinterpret_cast<const Values*>(b), right = *reinterpret_cast<const Values*>(b + kLanes);
    for (int64_t i = 0; i < kHigh; ++i) {
      const T factor = a[i * k + d];
      sums[i][0] += factor * left, sums[i][1] += factor * right;
    }
  }
  for (int64_t i = 0; i < kHigh; ++i) {
    if (wide == 2 * kLanes) {
      *reinterpret_cast<Values*>(c + i * n) = sums[i][0];
      *reinterpret_cast<Values*>(c + i * n + kLanes) = sums[i][1];
    } else {
      std::memcpy(c + i * n, sums[i], static_cast<size_t>(wide) * sizeof(T));
    }
  }
}

/// c [m, n] = a [m, k] b [k, n], k <= kFewDepth
template <class T>
__attribute__((always_inline)) inline void multiply_few_of(const T* a, const T* b, T* c, int64_t m, int64_t k, int64_t n) {
  constexpr int64_t kWide = 64 / sizeof(T);
  T last[kFewDepth * kWide];  // columns that are no whole strip, with zeros behind them
  for (int64_t column = 0; column < n; column += kWide) {
    const int64_t wide = std::min(kWide, n - column);
    const T* from = b + column;
    int64_t stride = n;
    if (wide < kWide) {
      for (int64_t d = 0; d < k; ++d)
        for (int64_t j = 0; j < kWide; ++j) last[d * kWide + j] = j < wide ? from[d * n + j] : T(0);
      from = last, stride = kWide;
    }
    int64_t row = 0;
    for (; row + 6 <= m; row += 6) few_rows<T, 6>(a + row * k, k, from, stride, c + row * n + column, n, wide);
    if (row + 4 <= m) few_rows<T, 4>(a + row * k, k, from, stride, c + row * n + column, n, wide), row += 4;
    if (row + 2 <= m) few_rows<T, 2>(a + row * k, k, from, stride, c + row * n + column, n, wide), row += 2;
    if (row < m) few_rows<T, 1>(a + row * k, k, from, stride, c + row * n + column, n, wide);
  }
}
MINNOW_FOR_AVX2 void multiply_few(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  multiply_few_of(a, b, c, m, k, n);
}
MINNOW_FOR_AVX2 void multiply_few(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n) {
  multiply_few_of(a, b, c, m, k, n);
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
  Tensor y(dtype, shape);
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
  const size_t count = unsign(y.elements());
  switch (width_of(dtype)) {
    case Width::complex: {
      std::vector<Complex> values(count);
      const Wide<Complex> pc(a, DType::complex128), qc(b, DType::complex128);
      each(pc.data, qc.data, values.data());
      for (size_t i = 0; i < count; ++i) {
        if (dtype == DType::complex64)
          y.writable().data<std::complex<float>>()[i] = std::complex<float>(values[i]);
        else
          y.writable().data<Complex>()[i] = values[i];
      }
      break;
    }
    case Width::integer: {
      std::vector<int64_t> values(count);
      const Wide<int64_t> p64(a, DType::i64), q64(b, DType::i64);
      each(p64.data, q64.data, values.data());
      narrow(dtype, values.data(), count, y.writable().data());
      break;
    }
    default: {
      if (dtype == DType::f32 && (n == 1 || is_few(m, k, n))) {
        each(a.data<float>(), b.data<float>(), y.writable().data<float>());
        break;
      }
      const Wide<double> p64(a, DType::f64), q64(b, DType::f64);
      if (dtype == DType::f64) {
        each(p64.data, q64.data, y.writable().data<double>());
      } else {
        std::vector<double> values(count);
        each(p64.data, q64.data, values.data());
        narrow(dtype, values.data(), count, y.writable().data());
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
