// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of one and of two tensors, the two broadcast together. A loop is given blocks of elements of its own type: others
// are converted on the way, in and out.
#pragma once
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "base/numeric.h"
#include "numpy/numpy.h"

namespace minnow::numpy {

using Complex = std::complex<double>;

inline constexpr size_t kBlock = 512;

/// The dtype whose elements are Ws.
template <class W>
inline constexpr DType kOwn = std::is_same_v<W, double>    ? DType::f64
                              : std::is_same_v<W, float>   ? DType::f32
                              : std::is_same_v<W, bool>    ? DType::boolean
                              : std::is_same_v<W, int64_t> ? DType::i64
                                                           : DType::complex128;
/// Whether loops of Ws are only given tensors of that dtype.
template <class W>
inline constexpr bool kNeverConverted = std::is_same_v<W, float> || std::is_same_v<W, bool>;

template <class W>
void load(DType dtype, const char* from, size_t count, W* to) {
  if (dtype == kOwn<W>) {
    std::memcpy(static_cast<void*>(to), from, count * sizeof(W));
  } else if constexpr (std::is_same_v<W, Complex>) {
    if (dtype == DType::complex64) {
      for (size_t i = 0; i < count; ++i) to[i] = reinterpret_cast<const std::complex<float>*>(from)[i];
    } else {
      double parts[kBlock];
      widen(dtype, from, count, parts);
      for (size_t i = 0; i < count; ++i) to[i] = parts[i];
    }
  } else if constexpr (!kNeverConverted<W>) {
    if constexpr (std::is_same_v<W, double>)
      if (dtype == DType::f32) {  // here, where loops become vectors
        for (size_t i = 0; i < count; ++i) to[i] = reinterpret_cast<const float*>(from)[i];
        return;
      }
    widen(dtype, from, count, to);
  }
}

template <class W>
void store(DType dtype, const W* from, size_t count, char* to) {
  if (dtype == kOwn<W>) {
    std::memcpy(to, static_cast<const void*>(from), count * sizeof(W));
  } else if constexpr (std::is_same_v<W, Complex>) {
    if (dtype == DType::complex64) {
      for (size_t i = 0; i < count; ++i) reinterpret_cast<std::complex<float>*>(to)[i] = std::complex<float>(from[i]);
    } else {
      double parts[kBlock];
      for (size_t i = 0; i < count; ++i) parts[i] = from[i].real();
      narrow(dtype, parts, count, to);
    }
  } else if constexpr (!kNeverConverted<W>) {
    if constexpr (std::is_same_v<W, double>)
      if (dtype == DType::f32) {
        for (size_t i = 0; i < count; ++i) reinterpret_cast<float*>(to)[i] = static_cast<float>(from[i]);
        return;
      }
    narrow(dtype, from, count, to);
  }
}

// A loop over a block: `loop<F>` for a function object without state.
template <class From, class To>
using Loop1 = void (*)(const From*, size_t, To*);
template <class From, class To>
using Loop2 = void (*)(const From*, const From*, size_t, To*);

/// Elements as W: in place if they have that type, else converted into `block`.
template <class W>
const W* loaded(DType dtype, const char* from, size_t count, W* block) {
  if (dtype == kOwn<W>) return reinterpret_cast<const W*>(from);
  load(dtype, from, count, block);
  return block;
}

template <class From, class To>
Tensor run1(Loop1<From, To> loop, const Tensor& x, DType result) {
  Fresh y(result, x.shape());
  const size_t from_size = size_of(x.dtype()), to_size = size_of(result);
  const char* from = x.data<char>();
  char* to = y.data();
  in_parts(x.elements(), 8, [&](int64_t first, int64_t last) {
    From in[kBlock];
    To out[kBlock];
    for (size_t i = unsign(first); i < unsign(last); i += kBlock) {
      const size_t n = std::min(kBlock, unsign(last) - i);
      const From* elements = loaded(x.dtype(), from + i * from_size, n, in);
      if (result == kOwn<To>) {
        loop(elements, n, reinterpret_cast<To*>(to + i * to_size));
        continue;
      }
      loop(elements, n, out);
      store(result, out, n, to + i * to_size);
    }
  });
  return y;
}

// How an input is read while the result is walked through row by row.
struct Walk {
  Shape shape;                // of the result, neighbouring axes joined where both inputs allow it
  std::vector<int64_t> a, b;  // strides in elements
};

inline Walk walk_of(const Shape& a, const Shape& b, const Shape& result) {
  const auto strides = [&](const Shape& x) {
    std::vector<int64_t> steps(result.rank(), 0);
    int64_t step = 1;
    for (size_t i = 0; i < x.rank(); ++i) {
      const size_t axis = x.rank() - 1 - i;
      if (x[axis] != 1) steps[result.rank() - 1 - i] = step;
      step *= x[axis];
    }
    return steps;
  };
  const std::vector<int64_t> p = strides(a), q = strides(b);
  Walk walk;
  for (size_t i = 0; i < result.rank(); ++i) {
    if (result[i] == 1) continue;
    if (walk.shape.rank() > 0) {
      const size_t last = walk.shape.rank() - 1;
      if (walk.a[last] == p[i] * result[i] && walk.b[last] == q[i] * result[i]) {
        walk.shape[last] *= result[i];
        walk.a[last] = p[i], walk.b[last] = q[i];
        continue;
      }
    }
    walk.shape.push_back(result[i]);
    walk.a.push_back(p[i]), walk.b.push_back(q[i]);
  }
  if (walk.shape.rank() == 0) walk.shape.push_back(1), walk.a.push_back(0), walk.b.push_back(0);
  return walk;
}

template <class From, class To>
Tensor run2(Loop2<From, To> loop, const Tensor& a, const Tensor& b, DType result) {
  const Shape shape = broadcast(a.shape(), b.shape());
  Fresh y(result, shape);
  if (y.tensor().elements() == 0) return y;
  const Walk walk = walk_of(a.shape(), b.shape(), shape);
  const size_t inner = walk.shape.rank() - 1;
  const int64_t width = walk.shape[inner], rows = walk.shape.product(0, inner),
                blocks = (width + static_cast<int64_t>(kBlock) - 1) / static_cast<int64_t>(kBlock);
  char* to = y.data();
  const auto fill = [](const Tensor& x, int64_t at, int64_t step, size_t n, From* block) -> const From* {
    const char* from = x.data<char>() + at * static_cast<int64_t>(size_of(x.dtype()));
    if (step == 1) return loaded(x.dtype(), from, n, block);
    load(x.dtype(), from, 1, block);
    std::fill(block + 1, block + n, block[0]);
    return block;
  };
  in_parts(rows * blocks, 8 * std::min<int64_t>(width, kBlock), [&](int64_t first, int64_t last) {
    From in[2][kBlock];
    To out[kBlock];
    for (int64_t task = first; task < last; ++task) {
      const int64_t row = task / blocks, begin = task % blocks * static_cast<int64_t>(kBlock);
      const size_t n = std::min(kBlock, unsign(width - begin));
      int64_t rest = row, at_a = begin * walk.a[inner], at_b = begin * walk.b[inner];
      for (size_t axis = inner; axis-- > 0;) {
        at_a += rest % walk.shape[axis] * walk.a[axis], at_b += rest % walk.shape[axis] * walk.b[axis];
        rest /= walk.shape[axis];
      }
      const From* p = fill(a, at_a, walk.a[inner], n, in[0]);
      const From* q = fill(b, at_b, walk.b[inner], n, in[1]);
      char* place = to + (row * width + begin) * static_cast<int64_t>(size_of(result));
      if (result == kOwn<To>) {
        loop(p, q, n, reinterpret_cast<To*>(place));
        continue;
      }
      loop(p, q, n, out);
      store(result, out, n, place);
    }
  });
  return y;
}

}  // namespace minnow::numpy
