// SPDX-License-Identifier: Apache-2.0
// The types in which elements of every dtype are worked on.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/numeric.h"
#include "numpy/numpy.h"

namespace minnow::numpy {

using Complex = std::complex<double>;

// The dtype in which elements are worked on.
enum class Width : uint8_t { integer, real, complex };
inline Width width_of(DType dtype) { return is_complex(dtype) ? Width::complex : is_float(dtype) ? Width::real : Width::integer; }

/// The elements as T; those that are of that type already are not copied.
template <class T>
struct Wide {
  std::vector<T> copy;
  const T* data;
  Wide(const Tensor& x, DType own) {
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
