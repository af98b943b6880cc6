// SPDX-License-Identifier: Apache-2.0
// Stacks of matrices for tests: random ones, products, and how far two are apart.
#pragma once
#include <gmock/gmock.h>
#include <minnow/numerics.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

namespace minnow::numerics {

using Complex = std::complex<double>;

template <class T>
constexpr DType dtype_of() {
  return std::is_same_v<T, double> ? DType::f64 : DType::complex128;
}

/// Normal numbers.
template <class T>
Tensor random_matrices(const Shape& shape, uint64_t seed) {
  Shape numbers = shape;
  if (!std::is_same_v<T, double>) numbers.push_back(2);
  const Tensor values = Generator(seed).draw("standard_normal", numbers);
  return Tensor(TensorView(dtype_of<T>(), shape, values.data()));
}
template <class T>
Tensor matrices_of(const Shape& shape, const std::vector<T>& values) {
  return Tensor(TensorView(dtype_of<T>(), shape, values.data()));
}
template <class T>
std::vector<T> values_of(const Tensor& x) {
  EXPECT_EQ(x.dtype(), dtype_of<T>());
  return {x.data<T>(), x.data<T>() + x.elements()};
}
inline double conjugate(double x) { return x; }
inline Complex conjugate(const Complex& x) { return std::conj(x); }

inline size_t rows_of(const Tensor& x) { return static_cast<size_t>(x.shape()[x.shape().rank() - 2]); }
inline size_t columns_of(const Tensor& x) { return static_cast<size_t>(x.shape().back()); }
inline Shape with_matrices(const Tensor& x, size_t rows, size_t columns) {
  Shape shape = x.shape();
  shape[shape.rank() - 2] = static_cast<int64_t>(rows), shape[shape.rank() - 1] = static_cast<int64_t>(columns);
  return shape;
}
inline size_t count_of(const Tensor& x) { return static_cast<size_t>(x.shape().product(0, x.shape().rank() - 2)); }

template <class T>
Tensor adjoint(const Tensor& a) {
  const size_t m = rows_of(a), n = columns_of(a);
  Tensor y(dtype_of<T>(), with_matrices(a, n, m));
  for (size_t k = 0; k < count_of(a); ++k)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) y.writable().template data<T>()[k * m * n + j * m + i] = conjugate(a.data<T>()[k * m * n + i * n + j]);
  return y;
}
template <class T>
Tensor product(const Tensor& a, const Tensor& b) {
  const size_t m = rows_of(a), depth = columns_of(a), n = columns_of(b);
  Tensor y(dtype_of<T>(), with_matrices(a, m, n));
  T* to = y.writable().template data<T>();
  for (size_t k = 0; k < count_of(a); ++k)
    for (size_t i = 0; i < m; ++i)
      for (size_t l = 0; l < depth; ++l)
        for (size_t j = 0; j < n; ++j)
          to[(k * m + i) * n + j] += a.data<T>()[(k * m + i) * depth + l] * b.data<T>()[(k * depth + l) * n + j];
  return y;
}
/// The columns of a times values [.., columns].
template <class T, class Value>
Tensor scaled_columns(const Tensor& a, const Tensor& values) {
  Tensor y = a.clone();
  const size_t n = columns_of(a), m = rows_of(a);
  for (size_t i = 0; i < static_cast<size_t>(a.elements()); ++i)
    y.writable().template data<T>()[i] *= values.data<Value>()[i / (m * n) * n + i % n];
  return y;
}
template <class T>
Tensor identities(const Tensor& like, size_t n) {
  Tensor y(dtype_of<T>(), with_matrices(like, n, n));
  for (size_t k = 0; k < count_of(y); ++k)
    for (size_t i = 0; i < n; ++i) y.writable().template data<T>()[(k * n + i) * n + i] = 1;
  return y;
}
template <class T>
double largest(const Tensor& a) {
  double most = 0;
  for (const T& value : values_of<T>(a)) most = std::max(most, static_cast<double>(std::abs(value)));
  return most;
}
/// The largest difference, as a share of the largest element of b (or of 1).
template <class T>
double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double most = 0;
  const std::vector<T> p = values_of<T>(a), q = values_of<T>(b);
  for (size_t i = 0; i < p.size(); ++i) {
    const double gap = static_cast<double>(std::abs(p[i] - q[i]));
    most = std::isnan(gap) ? INFINITY : std::max(most, gap);
  }
  return most / std::max(1e-300, b.elements() ? largest<T>(b) : 1.0);
}

}  // namespace minnow::numerics
