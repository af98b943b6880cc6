// SPDX-License-Identifier: Apache-2.0
// Elements of any dtype as i64, f64 or complex128, in which loops without kernels of their own work.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/numeric.h"
#include "numpy/numpy.h"

namespace minnow::numpy {

using Complex = std::complex<double>;

/// The dtype in which elements are worked on.
enum class WorkType : uint8_t { i64, f64, complex128 };
inline WorkType work_type_of(DType dtype) {
  return is_complex(dtype) ? WorkType::complex128 : is_float(dtype) ? WorkType::f64 : WorkType::i64;
}

/// The elements as T; those that are of that type already are not copied.
template <class T>
struct Converted {
  std::vector<T> copy;
  const T* data;
  Converted(const Tensor& x, DType own) {
    if (x.dtype() == own) {
      data = x.data<T>();
      return;
    }
    const size_t n = unsign(x.elements());
    copy.resize(n);
    if constexpr (std::is_same_v<T, Complex>) {
      for (size_t i = 0; i < n; ++i) copy[i] = x.data<std::complex<float>>()[i];
    } else {
      widen(x.dtype(), x.data(), n, copy.data());
    }
    data = copy.data();
  }
};

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
T product(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
}  // namespace minnow::numpy
