// SPDX-License-Identifier: Apache-2.0
// Means and variances along axes, in two passes over the elements; and whether elements are true.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "numpy/kernels/kernels.h"
#include "numpy/reductions.h"
#include "numpy/wide.h"

namespace minnow::numpy {
namespace {

constexpr int64_t kPiece = 1 << 14;  // of a long row: what a thread takes at a time

/// Elements of any real dtype, in loops of f32 or f64; others are widened in blocks.
class RealRows {
 public:
  explicit RealRows(const Tensor& x)
      : from_(x.data<char>()), dtype_(x.dtype()), size_(size_of(x.dtype())), lie_(dtype_ == DType::f32 || dtype_ == DType::f64) {
    const Sum64Kernels& kernels = *numpy_kernels(cpu::best_isa()).sums64;
    loops_ = dtype_ == DType::f32 ? &kernels.floats : &kernels.doubles;
  }
  double sum(int64_t at, int64_t count) const {
    double result = 0;
    each(at, count, [&](const void* x, int64_t, size_t n) { result += loops_->sum(x, n); });
    return result;
  }
  double squares(int64_t at, int64_t count, double center) const {
    double result = 0;
    each(at, count, [&](const void* x, int64_t, size_t n) { result += loops_->squares(x, n, center); });
    return result;
  }
  void add(int64_t at, int64_t count, double* y) const {
    each(at, count, [&](const void* x, int64_t i, size_t n) { loops_->add(x, n, y + i); });
  }
  void add_squares(int64_t at, const double* center, int64_t count, double* y) const {
    each(at, count, [&](const void* x, int64_t i, size_t n) { loops_->add_squares(x, center + i, n, y + i); });
  }

 private:
  template <class F>
  void each(int64_t at, int64_t count, F&& f) const {
    const char* from = from_ + unsign(at) * size_;
    if (lie_) return f(from, 0, unsign(count));
    constexpr int64_t kBlock = 1024;
    double block[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      const size_t n = unsign(std::min(kBlock, count - i));
      widen(dtype_, from + unsign(i) * size_, n, block);
      f(block, i, n);
    }
  }
  const char* from_;
  DType dtype_;
  size_t size_;
  bool lie_;  // as they are in memory
  const SumLoops* loops_;
};

/// part(at, count) summed over a row of `count` elements from `at` on.
template <class F>
double long_sum(int64_t at, int64_t count, F part) {
  const int64_t pieces = (count + kPiece - 1) / kPiece;
  if (pieces <= 1) return part(at, count);
  std::vector<double> sums(unsign(pieces));
  in_parts(pieces, kPiece, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) sums[unsign(i)] = part(at + i * kPiece, std::min(kPiece, count - i * kPiece));
  });
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

/// What is made of the sums: the means, and of the squares the result.
struct Scale {
  bool only_mean, root;
  double count, less;  // the number of elements, and what squares are divided by
  DType result;
  double mean(double sum) const {
    if (only_mean && result == DType::f32) return static_cast<double>(static_cast<float>(sum)) / count;  // a sum beyond f32 is infinite
    return sum / count;
  }
  double spread(double squares) const {
    double value = squares / less;
    if (result == DType::f32) value = static_cast<double>(static_cast<float>(value));
    return root ? std::sqrt(value) : value;
  }
};

void moments_of_rows(const RealRows& x, const Block& b, const Scale& scale, double* y) {
  const auto one = [&](int64_t row) {
    const int64_t at = row * b.count;
    const double mean = scale.mean(long_sum(at, b.count, [&](int64_t from, int64_t n) { return x.sum(from, n); }));
    if (scale.only_mean) return mean;
    return scale.spread(long_sum(at, b.count, [&](int64_t from, int64_t n) { return x.squares(from, n, mean); }));
  };
  if (b.outer == 1) {
    *y = one(0);
    return;
  }
  in_parts(b.outer, b.count, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t at = row * b.count;
      const double mean = scale.mean(x.sum(at, b.count));
      y[row] = scale.only_mean ? mean : scale.spread(x.squares(at, b.count, mean));
    }
  });
}

/// Strips of columns, row after row; rows that are short are taken several at a time.
void moments_of_columns(const RealRows& x, const Block& b, const Scale& scale, double* y) {
  constexpr int64_t kStrip = 256;
  const int64_t strips = (b.inner + kStrip - 1) / kStrip;
  in_parts(b.outer * strips, b.count * std::min(b.inner, kStrip), [&](int64_t first, int64_t last) {
    double sums[kStrip], centers[kStrip];
    for (int64_t task = first; task < last; ++task) {
      const int64_t begin = task % strips * kStrip, width = std::min(kStrip, b.inner - begin);
      const int64_t joined = strips == 1 ? std::clamp<int64_t>(kStrip / width, 1, std::max<int64_t>(1, b.count)) : 1;
      const int64_t from = task / strips * b.count * b.inner + begin;
      const auto fold = [&](auto&& add) {
        std::fill_n(sums, width * joined, 0.0);
        for (int64_t row = 0; row < b.count; row += joined) add(from + row * b.inner, std::min(joined, b.count - row) * width);
        for (int64_t k = 1; k < joined; ++k)
          for (int64_t i = 0; i < width; ++i) sums[i] += sums[k * width + i];
      };
      fold([&](int64_t at, int64_t n) { x.add(at, n, sums); });
      for (int64_t i = 0; i < width; ++i) centers[i] = scale.mean(sums[i]);
      double* to = y + task / strips * b.inner + begin;
      if (scale.only_mean) {
        std::copy_n(centers, width, to);
        continue;
      }
      for (int64_t k = 1; k < joined; ++k) std::copy_n(centers, width, centers + k * width);
      fold([&](int64_t at, int64_t n) { x.add_squares(at, centers, n, sums); });
      for (int64_t i = 0; i < width; ++i) to[i] = scale.spread(sums[i]);
    }
  });
}

template <class T>
bool is_true(const T& x) {
  return x != T(0);
}
/// f16 and bf16: all bits but the sign's.
struct Half {
  uint16_t bits;
};
bool is_true(Half x) { return (x.bits & 0x7FFF) != 0; }
/// Elements of 64 bits by halves, which every machine has vectors to compare.
struct Double {
  uint64_t bits;
};
bool is_true(Double x) { return (static_cast<uint32_t>(x.bits >> 32) << 1 | static_cast<uint32_t>(x.bits)) != 0; }
bool is_true(uint64_t x) { return (static_cast<uint32_t>(x >> 32) | static_cast<uint32_t>(x)) != 0; }

/// Whether one of `count` elements is true (any) or one is not; in pieces, so that the first one that is found ends it.
template <class T>
bool found(bool any, const T* x, int64_t count) {
  constexpr int64_t kStretch = 2048;
  for (int64_t i = 0; i < count; i += kStretch) {
    const T* from = x + i;
    const int64_t n = std::min(kStretch, count - i);
    // No branch for each element, and as wide as these: vectors.
    using Hits = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
    Hits hits = 0;
    if (any)
      for (int64_t k = 0; k < n; ++k) hits = static_cast<Hits>(hits | Hits{is_true(from[k])});
    else
      for (int64_t k = 0; k < n; ++k) hits = static_cast<Hits>(hits | Hits{!is_true(from[k])});
    if (hits) return true;
  }
  return false;
}

template <class T>
void truths_of(bool any, const T* x, const Block& b, uint8_t* y) {
  if (b.inner == 1) {
    for (int64_t row = 0; row < b.outer; ++row) y[row] = found(any, x + row * b.count, b.count) == any;
    return;
  }
  constexpr int64_t kRows = 16;  // after which it is asked whether all columns are decided
  for (int64_t outer = 0; outer < b.outer; ++outer, y += b.inner) {
    std::memset(y, any ? 0 : 1, unsign(b.inner));
    const T* from = x + outer * b.count * b.inner;
    for (int64_t row = 0; row < b.count; ++row, from += b.inner) {
      if (any)
        for (int64_t i = 0; i < b.inner; ++i) y[i] |= is_true(from[i]) ? 1 : 0;
      else
        for (int64_t i = 0; i < b.inner; ++i) y[i] &= is_true(from[i]) ? 1 : 0;
      if (row % kRows == kRows - 1 && !std::memchr(y, any ? 0 : 1, unsign(b.inner))) break;
    }
  }
}

}  // namespace

Tensor moment(const std::string& name, const Tensor& x, const Shape& shape, const Block& block, double ddof, DType result) {
  Tensor y(result, shape);
  std::vector<double> values(unsign(block.outer * block.inner));
  const double count = static_cast<double>(block.count);
  const Scale scale{name == "mean", name == "std", count, std::max(count - ddof, 0.0), result};
  if (block.inner == 1)
    moments_of_rows(RealRows(x), block, scale, values.data());
  else if (!values.empty())
    moments_of_columns(RealRows(x), block, scale, values.data());
  narrow(result, values.data(), values.size(), y.writable().data());
  return y;
}

Tensor truths(bool any, const Tensor& x, const Shape& shape, const Block& block) {
  Tensor y(DType::boolean, shape);
  uint8_t* to = y.writable().data<uint8_t>();
  const auto look = [&](auto zero) { truths_of(any, x.data<decltype(zero)>(), block, to); };
  switch (x.dtype()) {
    case DType::f32:
      look(float());
      break;
    case DType::f64:
      look(Double());
      break;
    case DType::f16:
    case DType::bf16:
      look(Half());
      break;
    case DType::complex64:
      look(std::complex<float>());
      break;
    case DType::complex128:
      look(Complex());
      break;
    default:
      switch (size_of(x.dtype())) {
        case 1:
          look(uint8_t());
          break;
        case 2:
          look(uint16_t());
          break;
        case 4:
          look(uint32_t());
          break;
        default:
          look(uint64_t());
      }
  }
  return y;
}

}  // namespace minnow::numpy
