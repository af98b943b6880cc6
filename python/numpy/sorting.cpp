// SPDX-License-Identifier: Apache-2.0
// Sorting, searching, and functions of sorted keys. Elements become unsigned keys of the same order: NaN after all others, -0 equal to
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

template <class Key, class Place>
void sort_places(std::vector<Key>& keys, std::vector<Place>& places, std::vector<Key>& keys2, std::vector<Place>& places2) {
  std::iota(places.begin(), places.end(), Place{0});
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
const SortLoops<T>& sort_loops() {
  static const SortKernels& kKernels = *numpy_kernels(cpu::best_isa()).sort;
  if constexpr (sizeof(T) == 4)
    return kKernels.of32;
  else
    return kKernels.of64;
}

/// sort_row(row, sort) for each of `rows` rows of n elements, where sort(numbers) brings n signed integers into rising order, not stable:
/// on all threads row by row, or one row of many on two.
template <class T, class F>
void sort_rows(size_t rows, size_t n, F sort_row) {
  const SortLoops<T>& loops = sort_loops<T>();
  const DType dtype = sizeof(T) == 4 ? DType::i32 : DType::i64;
  const Shape room{static_cast<int64_t>(n + kSortPadding)};
  if (rows == 1 && n >= size_t{1} << 16) {
    Fresh other(dtype, room);
    sort_row(0, [&](T* x) {
      size_t low = 0;
      in_parts(1, static_cast<int64_t>(n), [&](int64_t, int64_t) { low = loops.partition(x, n, other.data<T>()); });
      in_parts(2, static_cast<int64_t>(n), [&](int64_t first, int64_t last) {
        if (first == 0) loops.sort(x, low, other.data<T>(), false);
        if (last == 2) loops.sort(x + low, n - low, other.data<T>() + low, true);
      });
    });
    return;
  }
  in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(n) * 16, [&](int64_t first, int64_t last) {
    Fresh other(dtype, room);
    for (size_t row = unsign(first); row < unsign(last); ++row) sort_row(row, [&](T* x) { loops.sort(x, n, other.data<T>(), false); });
  });
}

/// Indices that sort n 64-bit keys. One number holds the index and, above it, as many high bits of the key's difference from the smallest
/// key as fit. Keys that differ only in lower bits are sorted afterwards.
template <class F>
void sort_places_of_wide_keys(const uint64_t* keys, size_t n, int64_t* places, F sort) {
  const auto [least, most] = std::minmax_element(keys, keys + n);
  const uint64_t base = *least;
  const int place_bits = static_cast<int>(std::bit_width(n - 1)),
            cut = std::max(0, static_cast<int>(std::bit_width(*most - base)) + place_bits - 64);
  const uint64_t place_mask = (uint64_t{1} << place_bits) - 1, top = uint64_t{1} << 63;
  for (size_t i = 0; i < n; ++i) places[i] = static_cast<int64_t>(((keys[i] - base) >> cut << place_bits | i) ^ top);
  sort(places);
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    if (cut > 0)
      while (end < n && static_cast<uint64_t>(places[i] ^ places[end]) >> place_bits == 0) ++end;
    for (size_t k = i; k < end; ++k) places[k] &= static_cast<int64_t>(place_mask);
    const auto before = [=](int64_t a, int64_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; };
    if (end - i > 1 && !std::is_sorted(places + i, places + end, before)) std::sort(places + i, places + end, before);
    i = end;
  }
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
      std::sort(to + r * n, to + (r + 1) * n,
                [&](int64_t a, int64_t b) { return before(at(a), at(b)) || (a < b && !before(at(b), at(a))); });
    }
    return y;
  }
  if (size_of(x.dtype()) == 4) {  // the key above the place in one number
    sort_rows<int64_t>(rows, n, [&](size_t row, auto sort) {
      Fresh memory(DType::u32, Shape{static_cast<int64_t>(n)});
      uint32_t* keys = memory.data<uint32_t>();
      keys_of(x.dtype(), x.data<char>() + row * n * 4, n, keys);
      int64_t* places = to + row * n;
      for (size_t i = 0; i < n; ++i) places[i] = static_cast<int64_t>(uint64_t{keys[i] ^ 0x80000000u} << 32 | i);
      sort(places);
      for (size_t i = 0; i < n; ++i) places[i] &= 0xffffffff;
    });
    return y;
  }
  if (size_of(x.dtype()) == 8) {
    sort_rows<int64_t>(rows, n, [&](size_t row, auto sort) {
      Fresh memory(DType::u64, Shape{static_cast<int64_t>(n)});
      uint64_t* keys = memory.data<uint64_t>();
      keys_of(x.dtype(), x.data<char>() + row * n * 8, n, keys);
      sort_places_of_wide_keys(keys, n, to + row * n, sort);
    });
    return y;
  }
  if (n <= size_t{1} << 16) {
    sort_rows<int32_t>(rows, n, [&](size_t row, auto sort) {
      std::vector<uint16_t> keys(n);
      std::vector<int32_t> places(n);
      if (size_of(x.dtype()) == 1) {
        std::vector<uint8_t> bytes(n);
        keys_of(x.dtype(), x.data<char>() + row * n, n, bytes.data());
        std::copy(bytes.begin(), bytes.end(), keys.begin());
      } else {
        keys_of(x.dtype(), x.data<char>() + row * n * 2, n, keys.data());
      }
      for (size_t i = 0; i < n; ++i) places[i] = static_cast<int32_t>((uint32_t{keys[i]} << 16 | static_cast<uint32_t>(i)) ^ 0x80000000u);
      sort(places.data());
      for (size_t i = 0; i < n; ++i) to[row * n + i] = places[i] & 0xffff;
    });
    return y;
  }
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    if constexpr (sizeof(Key) > 2) return;
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

/// The inverse of keys_of(), in place.
template <class Key>
void elements_of(DType dtype, Key* keys, size_t n) {
  constexpr Key kSign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  if (is_float(dtype)) {
    const Key nan = static_cast<Key>(dtype == DType::bf16 ? 0x7fc0u : 0x7e00u);
    for (size_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      keys[i] = key == static_cast<Key>(~Key{0}) ? nan : key & kSign ? static_cast<Key>(key ^ kSign) : static_cast<Key>(~key);
    }
  } else if (is_signed(dtype)) {
    for (size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(keys[i] ^ kSign);
  }
}

/// Sorts in place by counting: keys of 8 bits, and of 16 bits if there are many.
template <class Key>
void sort_by_counts(Key* keys, size_t n) {
  constexpr size_t kBuckets = size_t{1} << (8 * sizeof(Key)), kTables = sizeof(Key) == 1 ? 4 : 1;
  std::vector<uint32_t> memory(kTables * kBuckets);
  uint32_t* const counts = memory.data();
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const size_t a = keys[i], b = keys[i + 1], c = keys[i + 2], e = keys[i + 3];
    ++counts[a];  // tables of their own: equals in a row do not wait for each other
    ++counts[1 % kTables * kBuckets + b];
    ++counts[2 % kTables * kBuckets + c];
    ++counts[3 % kTables * kBuckets + e];
  }
  for (; i < n; ++i) ++counts[keys[i]];
  for (size_t key = 0; key < kBuckets; ++key) {
    size_t count = 0;
    for (size_t k = 0; k < kTables; ++k) count += counts[k * kBuckets + key];
    if (count > 0) keys = std::fill_n(keys, count, static_cast<Key>(key));
  }
}
bool is_counted(size_t size, size_t n) { return size == 1 ? n >= 64 : size == 2 && n >= size_t{1} << 16; }

/// f(keys, scratch) on 32-bit keys of each row of elements of 8 or 16 bits, which brings n of them into order; rows that are counted
/// instead come out sorted.
template <class Key, class F>
void each_narrow_row(const Tensor& x, size_t rows, size_t n, Key* y, F f) {
  const DType dtype = x.dtype();
  in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(n) * 16, [&](int64_t first, int64_t last) {
    std::vector<int32_t> wide(n), other(n + kSortPadding);
    for (size_t r = unsign(first); r < unsign(last); ++r) {
      Key* row = y + r * n;
      keys_of(dtype, x.data<char>() + r * n * sizeof(Key), n, row);
      if (is_counted(sizeof(Key), n)) {
        sort_by_counts(row, n);
      } else {
        std::copy_n(row, n, wide.begin());
        f(wide.data(), other.data());
        for (size_t i = 0; i < n; ++i) row[i] = static_cast<Key>(wide[i]);
      }
      elements_of(dtype, row, n);
    }
  });
}

/// f(integers of the order of x's elements) for each row of elements of 32 or 64 bits, in the result, whose elements they become again.
template <class T, class F>
void each_wide_row(const Tensor& x, size_t row, size_t n, T* y, F f) {
  const DType dtype = x.dtype();
  const SortLoops<T>& loops = sort_loops<T>();
  const T* from = x.data<T>() + row * n;
  T* to = y + row * n;
  constexpr T kTop = std::numeric_limits<T>::min();
  if (is_float(dtype)) {
    loops.keys_of_floats(from, n, to);
    f(to);
    loops.floats_of_keys(to, n, to);
  } else if (is_signed(dtype)) {
    std::copy_n(from, n, to);
    f(to);
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = from[i] ^ kTop;
    f(to);
    for (size_t i = 0; i < n; ++i) to[i] ^= kTop;
  }
}

/// Calls select(from, k) for the rising places k in `kth`: the element of place k is to be found from place `from` on.
template <class F>
void each_place(const std::vector<int64_t>& kth, F select) {
  size_t from = 0;
  for (const int64_t k : kth) {
    if (unsign(k) < from) continue;
    select(from, unsign(k));
    from = unsign(k) + 1;
  }
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
    using Number = std::make_signed_t<Key>;
    if constexpr (sizeof(Key) >= 4) {
      Number* numbers = reinterpret_cast<Number*>(to);
      sort_rows<Number>(rows, n, [&](size_t row, auto sort) { each_wide_row(x, row, n, numbers, sort); });
    } else {
      const auto sort = sort_loops<int32_t>().sort;
      each_narrow_row(x, rows, n, reinterpret_cast<Key*>(to), [=](int32_t* keys, int32_t* other) { sort(keys, n, other, false); });
    }
  });
  return y;
}

/// The different elements of a vector of real numbers in rising order, and how often each occurs; every NaN is one of its own unless
/// `equal_nan`.
nb::object distinct(const Var& var, bool equal_nan) {
  const Tensor x = value_of(sort(var));
  const size_t n = unsign(x.elements());
  Fresh found(x.dtype(), x.shape()), starts(DType::i64, Shape{static_cast<int64_t>(n + 1)});
  int64_t* from = starts.data<int64_t>();
  size_t count = 0;
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    const Key* elements = x.data<Key>();
    Key* values = found.data<Key>();
    size_t numbers = n;  // sort() has made zeros and NaNs alike
    if (is_float(x.dtype()) && !equal_nan && n > 0) {
      Key last[1];
      keys_of(x.dtype(), elements + n - 1, 1, last);
      while (last[0] == static_cast<Key>(~Key{0}) && numbers > 0 && elements[numbers - 1] == elements[n - 1]) --numbers;
    }
    for (size_t i = 0; i < n; ++i) {
      values[count] = elements[i], from[count] = static_cast<int64_t>(i);
      count += i + 1 >= n || i + 1 > numbers || elements[i] != elements[i + 1];
    }
    // The last of equal elements was kept, with its index.
  });
  Fresh values(x.dtype(), Shape{static_cast<int64_t>(count)}), counts(DType::i64, Shape{static_cast<int64_t>(count)});
  std::memcpy(values.data(), found.data(), count * size_of(x.dtype()));
  for (size_t i = 0; i < count; ++i) counts.data<int64_t>()[i] = from[i] - (i ? from[i - 1] : -1);
  return nb::make_tuple(Var(values), Var(counts));
}

/// Which keys are among some: a bit for each number in their range, or where that is wide a table with open addressing.
template <class Key>
struct KeySet {
  static constexpr Key kNone = static_cast<Key>(~Key{0});  // a free place; NaN's key, too
  std::vector<Key> slots;
  std::vector<uint64_t> bits;  // of keys that are close to each other
  Key base = 0, range = 0;
  int shift = 0;
  bool has_none = false;

  KeySet(const Key* keys, size_t n, size_t lookups, bool floats) {
    if (n == 0) return;
    Key least = kNone, most = 0;
    for (size_t i = 0; i < n; ++i) {
      if (keys[i] == kNone) {
        has_none = !floats;
        continue;
      }
      least = std::min(least, keys[i]), most = std::max(most, keys[i]);
    }
    if (least > most) return;
    if (static_cast<uint64_t>(most - least) / 64 <= n + lookups) {
      base = least, range = static_cast<Key>(most - least);
      bits.resize(static_cast<size_t>(range) / 64 + 1);
      for (size_t i = 0; i < n; ++i)
        if (keys[i] != kNone) bits[static_cast<Key>(keys[i] - base) / 64] |= uint64_t{1} << (static_cast<Key>(keys[i] - base) % 64);
      return;
    }
    const int size_bits = static_cast<int>(std::bit_width(2 * n));
    shift = 64 - size_bits;
    slots.assign(size_t{1} << size_bits, kNone);
    for (size_t i = 0; i < n; ++i)
      if (keys[i] != kNone) slots[place(keys[i])] = keys[i];
  }
  /// The place of a key, or the place for it (multiplicative hashing, Knuth 1973, with linear probing).
  size_t place(Key key) const {
    size_t at = static_cast<size_t>(uint64_t{key} * 0x9e3779b97f4a7c15u >> shift);
    while (slots[at] != key && slots[at] != kNone) at = (at + 1) & (slots.size() - 1);
    return at;
  }
  bool has(Key key) const {
    if (key == kNone) return has_none;
    if (!slots.empty()) return slots[place(key)] == key;
    const Key away = static_cast<Key>(key - base);
    return !bits.empty() && away <= range && (bits[away / 64] >> (away % 64) & 1);
  }
};

/// True for elements of x that are in `others` (or, with `invert`, are not); both have the same real dtype.
Var contained(const Var& var, const Var& others, bool invert) {
  const Tensor x = value_of(var), tests = value_of(others);
  if (x.dtype() != tests.dtype() || is_complex(x.dtype())) throw InvalidArgument("contained takes real numbers of one dtype");
  const size_t n = unsign(tests.elements()), count = unsign(x.elements());
  Fresh y(DType::boolean, x.shape());
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    Fresh wanted(tests.dtype(), tests.shape()), keys(x.dtype(), x.shape());
    keys_of(tests.dtype(), tests.data(), n, wanted.data<Key>());
    const KeySet<Key> set(wanted.data<Key>(), n, count, is_float(x.dtype()));
    in_parts(static_cast<int64_t>(count), 8, [&](int64_t first, int64_t last) {
      Key* own = keys.data<Key>() + first;
      const size_t part = unsign(last - first);
      keys_of(x.dtype(), x.data<Key>() + first, part, own);
      bool* to = y.data<bool>() + first;
      for (size_t i = 0; i < part; ++i) to[i] = set.has(own[i]) != invert;
    });
  });
  return y;
}

std::vector<int64_t> places_of(const std::vector<int64_t>& kth, size_t n) {
  std::vector<int64_t> order = kth;
  std::sort(order.begin(), order.end());
  for (const int64_t k : order)
    if (k < 0 || unsign(k) >= n) throw InvalidArgument("kth(={}) out of bounds ({})", k, n);
  return order;
}

/// Moves the kth elements along the last axis to their places in rising order, smaller ones before them, larger ones after them.
Var partition(const Var& var, const std::vector<int64_t>& kth) {
  const Tensor x = value_of(var);
  const Shape& shape = x.shape();
  const size_t n = shape.rank() ? unsign(shape.back()) : 1;
  if (is_complex(x.dtype())) return sort(var);
  Fresh y(x.dtype(), shape);
  if (x.elements() == 0) return y;
  const std::vector<int64_t> order = places_of(kth, n);
  const size_t rows = unsign(x.elements()) / n;
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    using Number = std::make_signed_t<Key>;
    if constexpr (sizeof(Key) >= 4) {
      const auto select = sort_loops<Number>().select;
      in_parts(static_cast<int64_t>(rows), static_cast<int64_t>(n) * 4, [&](int64_t first, int64_t last) {
        Fresh other(sizeof(Key) == 4 ? DType::i32 : DType::i64, Shape{static_cast<int64_t>(n + kSortPadding)});
        Number* scratch = other.data<Number>();
        for (size_t row = unsign(first); row < unsign(last); ++row)
          each_wide_row(x, row, n, y.data<Number>(), [&](Number* keys) {
            each_place(order, [&](size_t from, size_t k) { select(keys + from, n - from, k - from, scratch); });
          });
      });
    } else {
      const auto select = sort_loops<int32_t>().select;
      each_narrow_row(x, rows, n, y.data<Key>(), [&](int32_t* keys, int32_t* other) {
        each_place(order, [&](size_t from, size_t k) { select(keys + from, n - from, k - from, other); });
      });
    }
  });
  return y;
}

/// The indices at which `values` belong in the sorted vector `sorted`, of the same dtype: before equal elements, or after them.
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

/// Indices of n integers: first those of elements below the k-th smallest, then of its equals, then of the others.
template <class T>
void part_places(const T* keys, size_t n, size_t k, T* copy, T* other, int64_t* places, int64_t* others) {
  std::copy_n(keys, n, copy);
  sort_loops<T>().select(copy, n, k, other);
  const T pivot = copy[k];
  size_t low = 0, rest = 0, more = 0;
  for (size_t i = 0; i < n; ++i) {  // both are written, one counts
    const bool below = keys[i] < pivot;
    places[low] = others[rest] = static_cast<int64_t>(i);
    low += below, rest += !below;
  }
  for (size_t i = 0; i < rest; ++i) {
    const int64_t place = others[i];
    const bool equal = keys[place] == pivot;
    places[low] = others[more] = place;
    low += equal, more += !equal;
  }
  std::copy_n(others, more, places + low);
}

/// The indices of partition()'s result.
Var argpartition(const Var& var, const std::vector<int64_t>& kth) {
  const Tensor x = value_of(var);
  const Shape& shape = x.shape();
  const size_t n = shape.rank() ? unsign(shape.back()) : 1;
  if (is_complex(x.dtype())) return Var(places_in_order(x));
  const std::vector<int64_t> order = x.elements() ? places_of(kth, n) : kth;
  if (x.elements() == 0 || order.size() != 1) return Var(places_in_order(x));
  Fresh y(DType::i64, shape);
  with_key(x.dtype(), [&](auto zero) {
    using Key = decltype(zero);
    using Number = std::conditional_t<sizeof(Key) == 8, int64_t, int32_t>;
    in_parts(x.elements() / static_cast<int64_t>(n), static_cast<int64_t>(n) * 4, [&](int64_t first, int64_t last) {
      const Shape room{static_cast<int64_t>(n + kSortPadding)};
      const DType number = sizeof(Number) == 8 ? DType::i64 : DType::i32;
      Fresh bits(x.dtype(), room), keys(number, room), copy(number, room), other(number, room), others(DType::i64, room);
      for (size_t r = unsign(first); r < unsign(last); ++r) {
        keys_of(x.dtype(), x.data<char>() + r * n * sizeof(Key), n, bits.data<Key>());
        constexpr Key kTop = sizeof(Key) < 4 ? 0 : static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
        for (size_t i = 0; i < n; ++i) keys.data<Number>()[i] = static_cast<Number>(bits.data<Key>()[i] ^ kTop);
        part_places(keys.data<Number>(), n, unsign(order[0]), copy.data<Number>(), other.data<Number>(), y.data<int64_t>() + r * n,
                    others.data<int64_t>());
      }
    });
  });
  return y;
}

}  // namespace

void define_sorting(nb::module_& m) {
  m.def("sort", sort, nb::arg("x"), "Rising order along the last axis.");
  m.def("argsort", argsort, nb::arg("x"), "Places of the elements in rising order along the last axis; stable.");
  m.def("distinct", distinct, nb::arg("x"), nb::arg("equal_nan"));
  m.def("contained", contained, nb::arg("x"), nb::arg("tests"), nb::arg("invert"));
  m.def("partition", partition, nb::arg("x"), nb::arg("kth"));
  m.def("argpartition", argpartition, nb::arg("x"), nb::arg("kth"));
  m.def("searchsorted", searchsorted, nb::arg("sorted"), nb::arg("values"), nb::arg("right"));
}

}  // namespace minnow::numpy
