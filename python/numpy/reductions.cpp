// SPDX-License-Identifier: Apache-2.0
// Reductions and running sums along axes, of every dtype.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "base/numeric.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

using Complex = std::complex<double>;

// x as [outer, count, inner], reduced along the middle.
struct Block {
  int64_t outer = 1, count = 1, inner = 1;
};
Block block_of(const Shape& shape, int64_t first, int64_t last) {
  Block block;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    (axis < first ? block.outer : axis < last ? block.count : block.inner) *= shape[i];
  }
  return block;
}

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
bool before(double a, double b) { return a < b; }
bool before(float a, float b) { return a < b; }
bool before(int64_t a, int64_t b) { return a < b; }
bool before(Complex a, Complex b) { return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag()); }
template <class T>
bool is_nan(T x) {
  if constexpr (std::is_same_v<T, Complex>)
    return std::isnan(x.real()) || std::isnan(x.imag());
  else
    return x != x;
}

struct Sum {
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  T operator()(T a, T b) const {
    return plus(a, b);
  }
};
struct Product {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  T operator()(T a, T b) const {
    return product(a, b);
  }
};
struct Most {
  template <class T>
  T operator()(T a, T b) const {
    return before(b, a) || is_nan(a) ? a : b;
  }
};
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return before(a, b) || is_nan(a) ? a : b;
  }
};

/// The largest or smallest of n elements; false where some are infinite or NaN, and somebody else has to look.
template <class T, class F>
bool finite_extreme(const T* x, int64_t n, F, T& y) {
  constexpr int64_t kLanes = sizeof(T) == 8 ? 8 : 32;
  constexpr bool kLargest = std::is_same_v<F, Most>;
  T best[kLanes], odd[kLanes] = {};  // the differences are 0, or NaN
  std::copy_n(x, kLanes, best);
  const auto better = [](T a, T b) { return kLargest ? (a > b ? a : b) : (a < b ? a : b); };
  for (int64_t i = 0; i + kLanes <= n; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) {
      const T value = x[i + k];
      best[k] = better(value, best[k]);
      odd[k] += value - value;
    }
  for (int64_t i = n / kLanes * kLanes; i < n; ++i) best[0] = better(x[i], best[0]), odd[0] += x[i] - x[i];
  for (int64_t k = 1; k < kLanes; ++k) best[0] = better(best[k], best[0]), odd[0] += odd[k];
  y = best[0];
  return odd[0] == 0;
}

// A long sum is cut in halves, so that its error grows with the logarithm of its length; eight partial results hide the adder's latency.
template <class T, class F>
T fold(const T* x, int64_t n, F f) {
  if constexpr (std::is_floating_point_v<T> && (std::is_same_v<F, Most> || std::is_same_v<F, Least>))
    if (T result; n >= 64 && finite_extreme(x, n, f, result)) return result;
  if (n > 4096) {
    const int64_t half = n / 2 / 8 * 8;
    return f(fold(x, half, f), fold(x + half, n - half, f));
  }
  if (n < 16) {
    T result = x[0];
    for (int64_t i = 1; i < n; ++i) result = f(result, x[i]);
    return result;
  }
  T parts[8];
  for (int64_t k = 0; k < 8; ++k) parts[k] = x[k];
  int64_t i = 8;
  for (; i + 8 <= n; i += 8)
    for (int64_t k = 0; k < 8; ++k) parts[k] = f(parts[k], x[i + k]);
  for (; i < n; ++i) parts[0] = f(parts[0], x[i]);
  return f(f(f(parts[0], parts[1]), f(parts[2], parts[3])), f(f(parts[4], parts[5]), f(parts[6], parts[7])));
}

template <class T, class F>
void reduce_into(const T* x, const Block& b, F f, T* y) {
  if (b.inner == 1) {
    if (b.outer == 1) {  // one long row
      constexpr int64_t kPiece = 1 << 15;
      const int64_t pieces = (b.count + kPiece - 1) / kPiece;
      std::vector<T> parts(unsign(pieces));
      in_parts(pieces, kPiece, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) parts[unsign(i)] = fold(x + i * kPiece, std::min(kPiece, b.count - i * kPiece), f);
      });
      *y = fold(parts.data(), pieces, f);
      return;
    }
    in_parts(b.outer, b.count, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) y[i] = fold(x + i * b.count, b.count, f);
    });
    return;
  }
  // Columns: strips of the inner axis, row after row.
  constexpr int64_t kStrip = 2048;
  const int64_t strips = (b.inner + kStrip - 1) / kStrip;
  in_parts(b.outer * strips, b.count * std::min(kStrip, b.inner), [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t at = task % strips * kStrip, width = std::min(kStrip, b.inner - at);
      const T* from = x + task / strips * b.count * b.inner + at;
      T* __restrict to = y + task / strips * b.inner + at;
      std::copy_n(from, width, to);
      for (int64_t row = 1; row < b.count; ++row) {
        const T* next = from + row * b.inner;
        for (int64_t i = 0; i < width; ++i) to[i] = f(to[i], next[i]);
      }
    }
  });
}

template <class T>
void reduce_by(const std::string& name, const T* x, const Block& b, T* y) {
  const int64_t results = b.outer * b.inner;
  if (results == 0) return;
  if (b.count == 0) {
    if (name != "sum" && name != "prod") throw InvalidArgument("zero-size array to reduction operation {} which has no identity", name);
    std::fill_n(y, results, name == "sum" ? T(0) : T(1));
    return;
  }
  if (name == "sum")
    reduce_into(x, b, Sum(), y);
  else if (name == "prod")
    reduce_into(x, b, Product(), y);
  else if (name == "max")
    reduce_into(x, b, Most(), y);
  else
    reduce_into(x, b, Least(), y);
}

constexpr int64_t kTopBit = std::numeric_limits<int64_t>::min();

// The dtype in which elements are worked on.
enum class Width : uint8_t { integer, real, single, complex };
Width width_of(DType dtype) { return is_complex(dtype) ? Width::complex : is_float(dtype) ? Width::real : Width::integer; }

Tensor reduced(const std::string& name, const Tensor& x, const Shape& shape, const Block& b, DType result) {
  Tensor y(result, shape);
  const size_t n = unsign(y.elements());
  void* to = y.writable().data();
  const bool extreme = name == "max" || name == "min";
  switch (width_of(x.dtype())) {
    case Width::complex: {
      const Wide<Complex> wide(x, DType::complex128);
      std::vector<Complex> values(n);
      reduce_by(name, wide.data, b, values.data());
      for (size_t i = 0; i < n; ++i) {
        if (result == DType::complex64)
          static_cast<std::complex<float>*>(to)[i] = std::complex<float>(values[i]);
        else
          static_cast<Complex*>(to)[i] = values[i];
      }
      break;
    }
    case Width::single:
    case Width::real: {
      if (x.dtype() == DType::f32 && extreme) {
        reduce_by(name, x.data<float>(), b, static_cast<float*>(to));
        break;
      }
      const Wide<double> wide(x, DType::f64);
      std::vector<double> values(n);
      reduce_by(name, wide.data, b, values.data());
      narrow(result, values.data(), n, to);
      break;
    }
    case Width::integer: {
      const Wide<int64_t> wide(x, DType::i64);
      std::vector<int64_t> values(n);
      if (x.dtype() == DType::u64 && extreme) {  // in the order of signed numbers
        std::vector<int64_t> moved(unsign(x.elements()));
        for (size_t i = 0; i < moved.size(); ++i) moved[i] = wide.data[i] ^ kTopBit;
        reduce_by(name, moved.data(), b, values.data());
        for (int64_t& value : values) value ^= kTopBit;
      } else {
        reduce_by(name, wide.data, b, values.data());
      }
      narrow(result, values.data(), n, to);
    }
  }
  return y;
}

/// `x` along the axes [first, last): they are gone in the result, or 1.
Var reduce(const std::string& name, const Var& var, int64_t first, int64_t last, bool keepdims, nb::handle dtype) {
  const DType result = python::dtype_from(dtype);
  const Tensor x = value_of(var);
  Shape shape;
  for (size_t i = 0; i < x.shape().rank(); ++i) {
    const bool inside = static_cast<int64_t>(i) >= first && static_cast<int64_t>(i) < last;
    if (!inside)
      shape.push_back(x.shape()[i]);
    else if (keepdims)
      shape.push_back(1);
  }
  return Var(reduced(name, x, shape, block_of(x.shape(), first, last), result));
}

template <class T>
void extreme_places(bool largest, const T* x, const Block& b, int64_t flip, int64_t* y) {
  const auto value = [&](const T& element) {
    if constexpr (std::is_same_v<T, int64_t>)
      return element ^ flip;
    else
      return element;
  };
  in_parts(b.outer * b.inner, b.count, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const T* from = x + i / b.inner * b.count * b.inner + i % b.inner;
      T best = value(from[0]);
      int64_t at = 0, begin = 1;
      if constexpr (std::is_floating_point_v<T>) {
        if (b.inner == 1) {  // the extreme of one block after the other; then its place in the first block that has it
          constexpr int64_t kBlock = 1024;
          int64_t found = 0;
          for (int64_t k = 0; k < b.count && !is_nan(best); k += kBlock) {
            const int64_t n = std::min(kBlock, b.count - k);
            const T candidate = largest ? fold(from + k, n, Most()) : fold(from + k, n, Least());
            if (is_nan(candidate) || (largest ? before(best, candidate) : before(candidate, best))) best = candidate, found = k;
          }
          for (at = found; is_nan(best) ? !is_nan(from[at]) : from[at] != best;) ++at;
          begin = b.count;
        }
      }
      for (int64_t k = begin; k < b.count && !is_nan(best); ++k) {
        const T candidate = value(from[k * b.inner]);
        if (is_nan(candidate) || (largest ? before(best, candidate) : before(candidate, best))) best = candidate, at = k;
      }
      y[i] = at;
    }
  });
}

/// Places of the first largest or smallest elements along an axis; NaN counts as the most extreme.
Var arg_extreme(bool largest, const Var& var, int64_t axis) {
  const Tensor x = value_of(var);
  const Block b = block_of(x.shape(), axis, axis + 1);
  Shape shape = x.shape();
  Shape kept;
  for (size_t i = 0; i < shape.rank(); ++i)
    if (static_cast<int64_t>(i) != axis) kept.push_back(shape[i]);
  Tensor y(DType::i64, kept);
  if (b.count == 0) throw InvalidArgument("attempt to get {} of an empty sequence", largest ? "argmax" : "argmin");
  int64_t* to = y.writable().data<int64_t>();
  switch (width_of(x.dtype())) {
    case Width::complex: {
      const Wide<Complex> wide(x, DType::complex128);
      extreme_places(largest, wide.data, b, 0, to);
      break;
    }
    case Width::integer: {
      const Wide<int64_t> wide(x, DType::i64);
      extreme_places(largest, wide.data, b, x.dtype() == DType::u64 ? kTopBit : 0, to);
      break;
    }
    default:
      if (x.dtype() == DType::f32) {
        extreme_places(largest, x.data<float>(), b, 0, to);
      } else {
        const Wide<double> wide(x, DType::f64);
        extreme_places(largest, wide.data, b, 0, to);
      }
  }
  return Var(std::move(y));
}

template <class T, class F>
void run_along(T* x, const Block& b, F f) {
  for (int64_t o = 0; o < b.outer; ++o)
    for (int64_t k = 1; k < b.count; ++k) {
      T* row = x + (o * b.count + k) * b.inner;
      for (int64_t i = 0; i < b.inner; ++i) row[i] = f(row[i - b.inner], row[i]);
    }
}
/// Each sum and product rounded to f16.
template <class F>
struct Rounded {
  double operator()(double a, double b) const { return static_cast<double>(f32_from_f16(f16_from_f32(static_cast<float>(F()(a, b))))); }
};
template <class F>
struct Exact : F {};
template <class T, template <class> class Rounding = Exact>
void accumulate_by(const std::string& name, T* x, const Block& b) {
  if (name == "add")
    run_along(x, b, Rounding<Sum>());
  else if (name == "multiply")
    run_along(x, b, Rounding<Product>());
  else if (name == "maximum")
    run_along(x, b, Most());
  else
    run_along(x, b, Least());
}

/// Results so far along an axis, in the dtype of `x`.
Var accumulate(const std::string& name, const Var& var, int64_t axis) {
  const Tensor x = value_of(var);
  const Block b = block_of(x.shape(), axis, axis + 1);
  const size_t n = unsign(x.elements());
  Tensor y(x.dtype(), x.shape());
  void* to = y.writable().data();
  const nb::gil_scoped_release release;
  switch (width_of(x.dtype())) {
    case Width::complex: {
      const Wide<Complex> wide(x, DType::complex128);
      std::vector<Complex> values(wide.data, wide.data + n);
      accumulate_by(name, values.data(), b);
      for (size_t i = 0; i < n; ++i) {
        if (x.dtype() == DType::complex64)
          static_cast<std::complex<float>*>(to)[i] = std::complex<float>(values[i]);
        else
          static_cast<Complex*>(to)[i] = values[i];
      }
      break;
    }
    case Width::integer: {
      const Wide<int64_t> wide(x, DType::i64);
      std::vector<int64_t> values(wide.data, wide.data + n);
      const int64_t flip = x.dtype() == DType::u64 && (name == "maximum" || name == "minimum") ? kTopBit : 0;
      for (int64_t& value : values) value ^= flip;
      accumulate_by(name, values.data(), b);
      for (int64_t& value : values) value ^= flip;
      narrow(x.dtype(), values.data(), n, to);
      break;
    }
    default: {
      if (x.dtype() == DType::f64) {
        std::memcpy(to, x.data(), x.bytes());
        accumulate_by(name, static_cast<double*>(to), b);
        break;
      }
      const Wide<double> wide(x, DType::f64);
      std::vector<double> values(wide.data, wide.data + n);
      if (x.dtype() == DType::f16)  // what overflows stays infinite
        accumulate_by<double, Rounded>(name, values.data(), b);
      else
        accumulate_by(name, values.data(), b);
      narrow(x.dtype(), values.data(), n, to);
    }
  }
  return Var(std::move(y));
}

// ---- Matrix products of f64, in blocks that stay in the cache.

using Vector = double __attribute__((vector_size(32), aligned(8)));
constexpr int64_t kRows = 4, kColumns = 8, kDepth = 256, kPanel = 512;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx2,fma", "default")))
#endif
void tile(int64_t depth, const double* a, const double* b, double* c, int64_t stride, int64_t rows, int64_t columns) {
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

/// c [m] = a [m, k] b [k]
void times_column(const double* a, const double* b, double* c, int64_t m, int64_t k) {
  in_parts(m, k, [=](int64_t first, int64_t last) {
    constexpr int64_t kLanes = 16;
    for (int64_t row = first; row < last; ++row) {
      const double* from = a + row * k;
      double sums[kLanes] = {}, rest = 0;
      int64_t i = 0;
      for (; i + kLanes <= k; i += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += from[i + lane] * b[i + lane];
      for (; i < k; ++i) rest += from[i] * b[i];
      for (const double sum : sums) rest += sum;
      c[row] = rest;
    }
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
Var matmul(const Var& left, const Var& right) {
  const Tensor a = value_of(left), b = value_of(right);
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
      if constexpr (std::is_same_v<decltype(to), double*>) {
        if (m * n * k > 4096) {
          if (n == 1)
            times_column(from_a + place(a.shape(), i) * m * k, from_b + place(b.shape(), i) * k, to + i * m, m, k);
          else
            multiply(from_a + place(a.shape(), i) * m * k, from_b + place(b.shape(), i) * k * n, to + i * m * n, m, k, n);
          continue;
        }
      }
      multiply_plain(from_a + place(a.shape(), i) * m * k, from_b + place(b.shape(), i) * k * n, to + i * m * n, m, k, n);
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
  return Var(std::move(y));
}

}  // namespace

void define_reductions(nb::module_& m) {
  m.def("reduce", reduce, nb::arg("name"), nb::arg("x"), nb::arg("first"), nb::arg("last"), nb::arg("keepdims"), nb::arg("dtype"),
        "sum, prod, max or min along the axes first ... last - 1, worked on in f64, 64-bit integers or complex128.");
  m.def("arg_extreme", arg_extreme, nb::arg("largest"), nb::arg("x"), nb::arg("axis"));
  m.def("accumulate", accumulate, nb::arg("name"), nb::arg("x"), nb::arg("axis"), "add, multiply, maximum or minimum so far.");
  m.def("matmul", matmul, nb::arg("a"), nb::arg("b"));
}

}  // namespace minnow::numpy
