// SPDX-License-Identifier: Apache-2.0
// Sorting, searching, and what is made of sorted keys. Elements become unsigned keys of the same order: NaN behind all others, -0 beside
// +0.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "numpy/kernels/kernels.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

template <class Key>
Key key_of_float(Key bits, Key infinity) {
  constexpr Key kSign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  const Key magnitude = bits & static_cast<Key>(~kSign);
  if (magnitude > infinity) return static_cast<Key>(~Key{0});
  if (magnitude == 0) return kSign;
  return bits & kSign ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign);
}

template <class Key>
void keys_of(DType dtype, const void* from, size_t n, Key* keys) {
  constexpr Key kSign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  const Key* bits = static_cast<const Key*>(from);
  if (is_float(dtype)) {
    const Key infinity = static_cast<Key>(dtype == DType::f64    ? 0x7ff0000000000000u
                                          : dtype == DType::f32  ? 0x7f800000u
                                          : dtype == DType::bf16 ? 0x7f80u
                                                                 : 0x7c00u);
    for (size_t i = 0; i < n; ++i) keys[i] = key_of_float(bits[i], infinity);
  } else if (is_signed(dtype)) {
    for (size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(bits[i] ^ kSign);
  } else {
    std::copy_n(bits, n, keys);
  }
}

template <class F>
auto with_key(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

// Stable, by counting digits of 11 bits (8 for bytes), the lowest first; digits that all keys share cost nothing. `move` puts element i at
// a place among the others, `swap` makes the others the elements.
template <class Key, class Move, class Swap>
void sort_by_digits(const std::vector<Key>& keys, Move move, Swap swap) {
  const size_t n = keys.size();
  constexpr unsigned kBits = sizeof(Key) == 1 ? 8 : 11, kDigits = (sizeof(Key) * 8 + kBits - 1) / kBits;
  constexpr size_t kBuckets = size_t{1} << kBits;
  std::vector<size_t> counts(kDigits * kBuckets);
  for (size_t i = 0; i < n; ++i)
    for (unsigned d = 0; d < kDigits; ++d) ++counts[d * kBuckets + (keys[i] >> (d * kBits) & (kBuckets - 1))];
  for (unsigned d = 0; d < kDigits; ++d) {
    size_t* count = counts.data() + d * kBuckets;
    if (count[keys[0] >> (d * kBits) & (kBuckets - 1)] == n) continue;
    size_t sum = 0;
    for (size_t b = 0; b < kBuckets; ++b) sum += std::exchange(count[b], sum);
    for (size_t i = 0; i < n; ++i) move(i, count[keys[i] >> (d * kBits) & (kBuckets - 1)]++);
    swap();
  }
}

// Short rows are merged.
template <class Key, class Place>
void sort_places(std::vector<Key>& keys, std::vector<Place>& places, std::vector<Key>& keys2, std::vector<Place>& places2) {
  const size_t n = keys.size();
  std::iota(places.begin(), places.end(), Place{0});
  if (n < 512) {
    std::stable_sort(places.begin(), places.end(), [&](Place a, Place b) { return keys[a] < keys[b]; });
    return;
  }
  sort_by_digits(
      keys, [&](size_t i, size_t to) { keys2[to] = keys[i], places2[to] = places[i]; }, [&] { keys.swap(keys2), places.swap(places2); });
}

bool before(std::complex<double> a, std::complex<double> b) {
  const auto rank = [](double x) { return std::isnan(x); };
  const bool ra = rank(a.real()), rb = rank(b.real()), ia = rank(a.imag()), ib = rank(b.imag());
  // NumPy's order: numbers, then those with a NaN in the imaginary part, in the real part, in both.
  const int ca = ra * 2 + ia, cb = rb * 2 + ib;
  if (ca != cb) return ca < cb;
  if (!ra && a.real() != b.real()) return a.real() < b.real();
  return !ia && a.imag() < b.imag();
}

template <class T>
const OrderLoops<T>& order_loops() {
  static const OrderKernels& kKernels = *numpy_kernels(cpu::best_isa()).orders;
  if constexpr (sizeof(T) == 4)
    return kKernels.of32;
  else
    return kKernels.of64;
}

/// sort_row(row, other, sort) for each of `rows` rows of n elements, where sort(numbers) brings n signed integers into rising order, not
/// stable: on all threads row by row, or one row of many on two.
template <class T, class F>
void sort_rows(size_t rows, size_t n, F sort_row) {
  const OrderLoops<T>& loops = order_loops<T>();
  const DType dtype = sizeof(T) == 4 ? DType::i32 : DType::i64;
  const Shape room{static_cast<int64_t>(n + 2 * kOrderPadding)};
  if (rows == 1 && n >= size_t{1} << 16) {
    Fresh other(dtype, room);
    sort_row(0, [&](T* x) {
      size_t low = 0;
      in_parts(1, static_cast<int64_t>(n), [&](int64_t, int64_t) { low = loops.partition(x, n, other.data<T>()); });
      in_parts(2, static_cast<int64_t>(n), [&](int64_t first, int64_t last) {
        if (first == 0) loops.sort(x, low, other.data<T>());
        if (last == 2) loops.sort(x + low, n - low, other.data<T>() + low + kOrderPadding);
      });
    });
    return;
  }
  in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(n) * 16, [&](int64_t first, int64_t last) {
    Fresh other(dtype, room);
    for (size_t row = unsign(first); row < unsign(last); ++row) sort_row(row, [&](T* x) { loops.sort(x, n, other.data<T>()); });
  });
}

/// Places of the elements in rising order along the last axis; of equals the first comes first.
Tensor places_in_order(const Tensor& x) {
  const Shape& shape = x.shape();
  const size_t n = shape.rank() ? unsign(shape.back()) : 1;
  const size_t rows = n ? unsign(x.elements()) / n : 0;
  Fresh y(DType::i64, shape);
  int64_t* to = y.data<int64_t>();
  if (is_complex(x.dtype())) {
    for (size_t r = 0; r < rows; ++r) {
      std::iota(to + r * n, to + (r + 1) * n, int64_t{0});
      const auto at = [&](int64_t i) {
        const size_t place = r * n + unsign(i);
        return x.dtype() == DType::complex64 ? std::complex<double>(x.data<std::complex<float>>()[place])
                                             : x.data<std::complex<double>>()[place];
      };
      std::stable_sort(to + r * n, to + (r + 1) * n, [&](int64_t a, int64_t b) { return before(at(a), at(b)); });
    }
    return y;
  }
  if (size_of(x.dtype()) == 4) {  // the key above the place in one number
    sort_rows<int64_t>(rows, n, [&](size_t row, auto sort) {
      std::vector<uint32_t> keys(n);
      keys_of(x.dtype(), x.data<char>() + row * n * 4, n, keys.data());
      int64_t* places = to + row * n;
      for (size_t i = 0; i < n; ++i) places[i] = static_cast<int64_t>(uint64_t{keys[i] ^ 0x80000000u} << 32 | i);
      sort(places);
      for (size_t i = 0; i < n; ++i) places[i] &= 0xffffffff;
    });
    return y;
  }
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(n) * 16, [&](int64_t first, int64_t last) {
      std::vector<Key> keys(n), keys2(n);
      std::vector<uint32_t> places(n), places2(n);
      for (size_t r = unsign(first); r < unsign(last); ++r) {
        keys_of(x.dtype(), x.data<char>() + r * n * sizeof(Key), n, keys.data());
        sort_places(keys, places, keys2, places2);
        std::copy(places.begin(), places.end(), to + r * n);
      }
    });
  });
  return y;
}

template <class Key>
Key element_of(DType dtype, Key key) {
  constexpr Key kSign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  if (is_float(dtype)) {
    if (key == static_cast<Key>(~Key{0}))
      return static_cast<Key>(dtype == DType::f64    ? 0x7ff8000000000000u
                              : dtype == DType::f32  ? 0x7fc00000u
                              : dtype == DType::bf16 ? 0x7fc0u
                                                     : 0x7e00u);
    return key & kSign ? static_cast<Key>(key ^ kSign) : static_cast<Key>(~key);
  }
  return is_signed(dtype) ? static_cast<Key>(key ^ kSign) : key;
}

template <class Key>
void sort_keys(std::vector<Key>& keys, std::vector<Key>& other) {
  if (keys.size() < 2048) return std::sort(keys.begin(), keys.end());
  sort_by_digits(
      keys, [&](size_t i, size_t to) { other[to] = keys[i]; }, [&] { keys.swap(other); });
}

/// The rows of elements of 32 or 64 bits.
template <class T>
void sort_wide(const Tensor& x, size_t rows, size_t n, T* y) {
  const DType dtype = x.dtype();
  const OrderLoops<T>& loops = order_loops<T>();
  sort_rows<T>(rows, n, [&](size_t row, auto sort) {
    const T* from = x.data<T>() + row * n;
    T* to = y + row * n;
    constexpr T kTop = std::numeric_limits<T>::min();
    if (is_float(dtype)) {
      loops.keys_of_floats(from, n, to);
      sort(to);
      loops.floats_of_keys(to, n, to);
    } else if (is_signed(dtype)) {
      std::copy_n(from, n, to);
      sort(to);
    } else {
      for (size_t i = 0; i < n; ++i) to[i] = from[i] ^ kTop;
      sort(to);
      for (size_t i = 0; i < n; ++i) to[i] ^= kTop;
    }
  });
}

Var argsort(const Var& var) {
  const Tensor x = value_of(var);
  if (x.elements() > 0 && static_cast<uint64_t>(x.shape().rank() ? x.shape().back() : 1) > 0xffffffffu)
    throw InvalidArgument("an axis of {} elements is too long to sort", x.shape().back());
  return Var(places_in_order(x));
}

Var sort(const Var& var) {
  const Tensor x = value_of(var);
  const Shape& shape = x.shape();
  const size_t n = shape.rank() ? unsign(shape.back()) : 1, size = size_of(x.dtype());
  Fresh y(x.dtype(), shape);
  if (x.elements() == 0) return y;
  char* to = y.data();
  const size_t rows = unsign(x.elements()) / n;
  if (is_complex(x.dtype())) {
    const Tensor places = places_in_order(x);
    for (size_t i = 0; i < rows * n; ++i)
      std::memcpy(to + i * size, x.data<char>() + (i / n * n + unsign(places.data<int64_t>()[i])) * size, size);
    return y;
  }
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    if constexpr (sizeof(Key) >= 4) return sort_wide(x, rows, n, reinterpret_cast<std::make_signed_t<Key>*>(to));
    in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(n) * 16, [&](int64_t first, int64_t last) {
      std::vector<Key> keys(n), other(n);
      for (size_t r = unsign(first); r < unsign(last); ++r) {
        keys_of(x.dtype(), x.data<char>() + r * n * sizeof(Key), n, keys.data());
        sort_keys(keys, other);
        Key* row = reinterpret_cast<Key*>(to) + r * n;
        for (size_t i = 0; i < n; ++i) row[i] = element_of(x.dtype(), keys[i]);
      }
    });
  });
  return y;
}

/// Where `values` belong in the rising vector `sorted`, of one dtype: before equals, or behind them.
Var searchsorted(const Var& sorted, const Var& values, bool right) {
  const Tensor a = value_of(sorted), v = value_of(values);
  if (a.dtype() != v.dtype() || a.shape().rank() != 1) throw InvalidArgument("searchsorted takes a vector and values of its dtype");
  Tensor y(DType::i64, v.shape());
  int64_t* to = y.writable().data<int64_t>();
  const size_t n = unsign(a.elements()), count = unsign(v.elements());
  if (is_complex(a.dtype())) {
    const auto wide = [](const Tensor& t) {
      std::vector<std::complex<double>> values(unsign(t.elements()));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] =
            t.dtype() == DType::complex64 ? std::complex<double>(t.data<std::complex<float>>()[i]) : t.data<std::complex<double>>()[i];
      return values;
    };
    const auto p = wide(a), q = wide(v);
    for (size_t i = 0; i < count; ++i)
      to[i] = (right ? std::upper_bound(p.begin(), p.end(), q[i], before) : std::lower_bound(p.begin(), p.end(), q[i], before)) - p.begin();
    return Var(std::move(y));
  }
  with_key(a.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    std::vector<Key> keys(n), wanted(count);
    keys_of(a.dtype(), a.data(), n, keys.data());
    keys_of(v.dtype(), v.data(), count, wanted.data());
    in_parts(static_cast<int64_t>(count), 16, [&](int64_t first, int64_t last) {
      for (size_t i = unsign(first); i < unsign(last); ++i)
        to[i] = (right ? std::upper_bound(keys.begin(), keys.end(), wanted[i]) : std::lower_bound(keys.begin(), keys.end(), wanted[i])) -
                keys.begin();
    });
  });
  return Var(std::move(y));
}

/// Puts the kth elements along the last axis where they are in rising order, smaller ones before them, larger ones behind; gives places.
Var argpartition(const Var& var, const std::vector<int64_t>& kth) {
  const Tensor x = value_of(var);
  const Shape& shape = x.shape();
  const size_t n = shape.rank() ? unsign(shape.back()) : 1;
  if (is_complex(x.dtype())) return Var(places_in_order(x));
  Tensor y(DType::i64, shape);
  if (x.elements() == 0) return Var(std::move(y));
  int64_t* to = y.writable().data<int64_t>();
  std::vector<int64_t> order = kth;
  std::sort(order.begin(), order.end());
  for (const int64_t k : order)
    if (k < 0 || unsign(k) >= n) throw InvalidArgument("kth(={}) out of bounds ({})", k, n);
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    std::vector<Key> keys(n);
    for (size_t r = 0; r < unsign(x.elements()) / n; ++r) {
      keys_of(x.dtype(), x.data<char>() + r * n * sizeof(Key), n, keys.data());
      int64_t* row = to + r * n;
      std::iota(row, row + n, int64_t{0});
      int64_t from = 0;
      for (const int64_t k : order) {
        if (k < from) continue;
        std::nth_element(row + from, row + k, row + n, [&](int64_t a, int64_t b) { return keys[unsign(a)] < keys[unsign(b)]; });
        from = k + 1;
      }
    }
  });
  return Var(std::move(y));
}

}  // namespace

void define_sorting(nb::module_& m) {
  m.def("sort", sort, nb::arg("x"), "Rising order along the last axis.");
  m.def("argsort", argsort, nb::arg("x"), "Places of the elements in rising order along the last axis; stable.");
  m.def("argpartition", argpartition, nb::arg("x"), nb::arg("kth"));
  m.def("searchsorted", searchsorted, nb::arg("sorted"), nb::arg("values"), nb::arg("right"));
}

}  // namespace minnow::numpy
