// SPDX-License-Identifier: Apache-2.0
// Means and variances along axes, in two passes over the elements; and whether elements are true.
#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "numpy/f64_i64.h"
#include "numpy/reductions.h"

namespace minnow::numpy {
namespace {

constexpr int64_t kPiece = 1 << 14;  // elements of a long row that a thread takes at a time

/// Elements of any real dtype, in loops of f32 or f64; others are widened in blocks.
class RealRows {
 public:
  explicit RealRows(const Tensor& x)
      : from_(x.data<char>()), dtype_(x.dtype()), size_(size_of(x.dtype())), lie_(dtype_ == DType::f32 || dtype_ == DType::f64) {
    const cpu::SumProductKernels& kernels = *cpu::kernels_for(cpu::best_isa()).sum_product;
    sums_ = kernels.sums + cpu::sum_row(dtype_ == DType::f32 ? dtype_ : DType::f64);
    squares_ = dtype_ == DType::f32 ? &kernels.squares_f32 : &kernels.squares_f64;
  }
  double sum(int64_t at, int64_t count) const {
    double result = 0;
    each(at, count, [&](const void* x, int64_t, size_t n) {
      double part;
      sums_->row(x, n, &part);
      result += part;
    });
    return result;
  }
  double squares(int64_t at, int64_t count, double center) const {
    double result = 0;
    each(at, count, [&](const void* x, int64_t, size_t n) { result += squares_->row(x, n, center); });
    return result;
  }
  void add(int64_t at, int64_t count, double* y) const {
    each(at, count, [&](const void* x, int64_t i, size_t n) { sums_->columns(x, 1, n, n, y + i); });
  }
  void add_squares(int64_t at, const double* center, int64_t count, double* y) const {
    each(at, count, [&](const void* x, int64_t i, size_t n) { squares_->add(x, center + i, n, y + i); });
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
  const cpu::SumProductLoops* sums_;
  const cpu::SquareLoops* squares_;
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

/// Computes means from sums, and the result from sums of squares.
struct Scale {
  bool only_mean, root;
  double count, less;  // the number of elements, and the divisor of squares
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
      y[row] = scale.spread(x.squares(at, b.count, mean));
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
      for (int64_t k = 1; k < joined; ++k) std::copy_n(centers, width, centers + k * width);
      fold([&](int64_t at, int64_t n) { x.add_squares(at, centers, n, sums); });
      for (int64_t i = 0; i < width; ++i) to[i] = scale.spread(sums[i]);
    }
  });
}

/// The bits that decide whether an element is true: all but the sign of a float.
uint64_t kept_bits(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x7FFFFFFF;
    case DType::f64:
      return 0x7FFFFFFFFFFFFFFF;
    case DType::f16:
    case DType::bf16:
      return 0x7FFF;
    case DType::complex64:
      return 0x7FFFFFFF7FFFFFFF;
    default:
      return ~uint64_t{0};
  }
}
/// any() and all() for complex128, which is wider than every vectorized loop: one element after another.
void any_all_complex(bool any, const Complex* x, const Block& b, uint8_t* y) {
  for (int64_t i = 0; i < b.outer * b.inner; ++i) {
    const Complex* from = x + i / b.inner * b.count * b.inner + i % b.inner;
    int64_t k = 0;
    while (k < b.count && (from[k * b.inner] != 0.0) != any) ++k;
    y[i] = (k < b.count) == any;
  }
}

}  // namespace

Tensor moment(const std::string& name, const Tensor& x, const Shape& shape, const Block& block, double ddof, DType result) {
  Tensor y(result, shape);
  std::vector<double> values(unsign(block.outer * block.inner));
  const double count = static_cast<double>(block.count);
  const Scale scale{name == "mean", name == "std", count, std::max(count - ddof, 0.0), result};
  if (scale.only_mean) {
    values = sums_of(x, block);
    for (double& value : values) value = scale.mean(value);
  } else if (block.inner == 1) {
    moments_of_rows(RealRows(x), block, scale, values.data());
  } else if (!values.empty()) {
    moments_of_columns(RealRows(x), block, scale, values.data());
  }
  narrow(result, values.data(), values.size(), y.writable().data());
  return y;
}

Tensor any_all(bool any, const Tensor& x, const Shape& shape, const Block& block) {
  Tensor y(DType::boolean, shape);
  uint8_t* to = y.writable().data<uint8_t>();
  if (x.dtype() == DType::complex128) {
    any_all_complex(any, x.data<Complex>(), block, to);
    return y;
  }
  const size_t size = size_of(x.dtype()), count = unsign(block.count), inner = unsign(block.inner);
  const cpu::AnyAllLoops& loops = cpu::kernels_for(cpu::best_isa()).any_all->loops[std::countr_zero(size)];
  const uint64_t keep = kept_bits(x.dtype());
  const char* from = x.data<char>();
  if (inner == 1) {
    in_parts(block.outer, block.count, [&](int64_t first, int64_t last) {
      for (size_t i = unsign(first); i < unsign(last); ++i) to[i] = loops.found(from + i * count * size, count, keep, !any) == any;
    });
    return y;
  }
  constexpr size_t kStrip = 1024;
  const size_t strips = (inner + kStrip - 1) / kStrip;
  in_parts(block.outer * static_cast<int64_t>(strips), block.count * static_cast<int64_t>(std::min(inner, kStrip)),
           [&](int64_t first, int64_t last) {
             for (size_t task = unsign(first); task < unsign(last); ++task) {
               const size_t at = task % strips * kStrip, outer = task / strips, width = std::min(kStrip, inner - at);
               uint8_t* const found = to + outer * inner + at;
               loops.found_in_columns(from + (outer * count * inner + at) * size, count, inner, width, keep, !any, found);
               if (!any)
                 for (size_t i = 0; i < width; ++i) found[i] ^= 1;
             }
           });
  return y;
}

}  // namespace minnow::numpy
