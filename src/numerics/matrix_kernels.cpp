// SPDX-License-Identifier: Apache-2.0
#include "numerics/matrix_kernels.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#include "base/error.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/matrix_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numerics::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_FLOAT64
constexpr hn::ScalableTag<double> d{};
using V = hn::Vec<hn::ScalableTag<double>>;
constexpr size_t kLanes = HWY_LANES(double);
HWY_INLINE V load(const double* from) { return hn::LoadU(d, from); }
HWY_INLINE void store(V v, double* to) { hn::StoreU(v, d, to); }
HWY_INLINE V set(double x) { return hn::Set(d, x); }
/// `count` elements, fewer than kLanes, and zeros behind them.
HWY_INLINE V load_some(const double* from, [[maybe_unused]] size_t count) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2  // elsewhere a masked load reads the whole vector
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  static_assert(kLanes <= 2);
  const double lanes[2] = {*from, 0};
  return hn::LoadU(d, lanes);
#endif
}
HWY_INLINE V plus(V a, V b) { return hn::Add(a, b); }
HWY_INLINE V times(V a, V b) { return hn::Mul(a, b); }
HWY_INLINE V plus_product(V sum, V a, V b) { return hn::MulAdd(a, b, sum); }
HWY_INLINE V minus_product(V sum, V a, V b) { return hn::NegMulAdd(a, b, sum); }
HWY_INLINE double sum_of(V v) { return hn::GetLane(hn::SumOfLanes(d, v)); }
#else
using V = double;  // one after the other
constexpr size_t kLanes = 1;
inline V load(const double* from) { return *from; }
inline void store(V v, double* to) { *to = v; }
inline V set(double x) { return x; }
inline V load_some(const double*, size_t) { return 0; }  // rows consist of whole vectors
inline V plus(V a, V b) { return a + b; }
inline V times(V a, V b) { return a * b; }
inline V plus_product(V sum, V a, V b) { return sum + a * b; }
inline V minus_product(V sum, V a, V b) { return sum - a * b; }
inline double sum_of(V v) { return v; }
#endif
static_assert(kMatrixStep % kLanes == 0);

template <size_t kRows, size_t kVectors>
HWY_INLINE void tile(const double* HWY_RESTRICT a, size_t a_stride, const double* HWY_RESTRICT b, size_t b_stride, size_t depth, double* c,
                     size_t c_stride) {
  V sums[kRows][kVectors];
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    MINNOW_UNROLL
    for (size_t j = 0; j < kVectors; ++j) sums[i][j] = load(c + i * c_stride + j * kLanes);
  }
  for (size_t k = 0; k < depth; ++k, b += b_stride) {
    V right[kVectors];
    MINNOW_UNROLL
    for (size_t j = 0; j < kVectors; ++j) right[j] = load(b + j * kLanes);
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      const V left = set(a[i * a_stride + k]);
      MINNOW_UNROLL
      for (size_t j = 0; j < kVectors; ++j) sums[i][j] = minus_product(sums[i][j], left, right[j]);
    }
  }
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    MINNOW_UNROLL
    for (size_t j = 0; j < kVectors; ++j) store(sums[i][j], c + i * c_stride + j * kLanes);
  }
}

template <size_t kVectors>
HWY_NOINLINE void subtract_strip(const double* a, size_t a_stride, const double* b, size_t b_stride, size_t depth, double* c,
                                 size_t c_stride, size_t rows) {
  // The sums of a tile, vectors of b and a factor are registers: of 32, or of 16.
  constexpr size_t kHigh = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64 ? 8 : 6;
  size_t row = 0;
  const auto next = [&](auto high) HWY_ATTR {
    tile<high.value, kVectors>(a + row * a_stride, a_stride, b, b_stride, depth, c + row * c_stride, c_stride);
    row += high.value;
  };
  while (row + kHigh <= rows) next(std::integral_constant<size_t, kHigh>());
  if (row + 4 <= rows) next(std::integral_constant<size_t, 4>());
  if (row + 2 <= rows) next(std::integral_constant<size_t, 2>());
  if (row < rows) next(std::integral_constant<size_t, 1>());
}

void subtract(const double* a, size_t a_stride, const double* b, size_t b_stride, size_t depth, double* c, size_t c_stride, size_t rows,
              size_t columns) {
  size_t j = 0;
  for (; j + 2 * kLanes <= columns; j += 2 * kLanes) subtract_strip<2>(a, a_stride, b + j, b_stride, depth, c + j, c_stride, rows);
  if (j < columns) subtract_strip<1>(a, a_stride, b + j, b_stride, depth, c + j, c_stride, rows);
}

size_t eliminate(double* rows, size_t stride, size_t count, size_t at, double inverse, const double* pivots) {
  V right[kMatrixStep / kLanes];
  MINNOW_UNROLL
  for (size_t j = 0; j < kMatrixStep / kLanes; ++j) right[j] = load(pivots + j * kLanes);
  const size_t next = std::min(at + 1, kMatrixStep - 1);
  size_t best = 0;
  double most = -1;
  for (size_t i = 0; i < count; ++i, rows += stride) {
    const double factor = rows[at] * inverse;
    const double later = std::fabs(rows[next] - factor * pivots[next]);
    const V left = set(factor);
    MINNOW_UNROLL
    for (size_t j = 0; j < kMatrixStep / kLanes; ++j) store(minus_product(load(rows + j * kLanes), left, right[j]), rows + j * kLanes);
    rows[at] = factor;
    if (later > most) most = later, best = i;
  }
  return best;
}

void subtract_outer(const double* left, size_t left_stride, const double* right, double* a, size_t stride, size_t rows, size_t columns) {
  for (size_t i = 0; i < rows; ++i, a += stride, left += left_stride) {
    const V factor = set(*left);
    for (size_t j = 0; j < columns; j += kLanes) store(minus_product(load(a + j), factor, load(right + j)), a + j);
  }
}

/// For kRows rows, which share the reads of the vectors.
template <size_t kRows>
HWY_INLINE void products(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                         size_t columns, const double* x, double* to) {
  V sums[kRows], f[kRows], g[kRows];
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) sums[i] = set(0), f[i] = set(left1[i]), g[i] = set(left2[i]);
  for (size_t j = 0; j < columns; j += kLanes) {
    const V factor = load(x + j), p = load(right1 + j), q = load(right2 + j);
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      const V v = minus_product(minus_product(load(a + i * stride + j), f[i], p), g[i], q);
      store(v, a + i * stride + j);
      sums[i] = plus_product(sums[i], v, factor);
    }
  }
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) to[i] = sum_of(sums[i]);
}

void update_times(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                  size_t rows, size_t columns, const double* x, double* to) {
  size_t i = 0;
  for (; i + 4 <= rows; i += 4) products<4>(left1 + i, right1, left2 + i, right2, a + i * stride, stride, columns, x, to + i);
  for (; i < rows; ++i) products<1>(left1 + i, right1, left2 + i, right2, a + i * stride, stride, columns, x, to + i);
}

template <size_t kRows>
HWY_INLINE void update_rows(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                            size_t columns, const double* factors, double* sums) {
  V f[kRows], g[kRows], h[kRows];
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) f[i] = set(left1[i]), g[i] = set(left2[i]), h[i] = set(factors[i]);
  for (size_t j = 0; j < columns; j += kLanes) {
    const V p = load(right1 + j), q = load(right2 + j);
    V sum = load(sums + j);
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      const V v = minus_product(minus_product(load(a + i * stride + j), f[i], p), g[i], q);
      store(v, a + i * stride + j);
      sum = plus_product(sum, h[i], v);
    }
    store(sum, sums + j);
  }
}

void update_combine(const double* left1, const double* right1, const double* left2, const double* right2, double* a, size_t stride,
                    size_t rows, size_t columns, const double* factors, double* sums) {
  std::fill_n(sums, columns, 0.0);
  size_t i = 0;
  for (; i + 4 <= rows; i += 4) update_rows<4>(left1 + i, right1, left2 + i, right2, a + i * stride, stride, columns, factors + i, sums);
  for (; i < rows; ++i) update_rows<1>(left1 + i, right1, left2 + i, right2, a + i * stride, stride, columns, factors + i, sums);
}

/// For a strip of columns: the row that two pairs share stays in registers.
template <size_t kVectors>
HWY_INLINE void rotate_strip(double* rows, size_t stride, size_t count, const double* c, const double* s, bool upwards) {
  V kept[kVectors];
  double* row = upwards ? rows + count * stride : rows;
  MINNOW_UNROLL
  for (size_t j = 0; j < kVectors; ++j) kept[j] = load(row + j * kLanes);
  for (size_t n = 0; n < count; ++n) {
    const size_t i = upwards ? count - 1 - n : n;
    const V cosine = set(c[i]), sine = set(upwards ? -s[i] : s[i]);  // upwards: y stays, and x is what comes
    double* next = upwards ? row - stride : row + stride;
    MINNOW_UNROLL
    for (size_t j = 0; j < kVectors; ++j) {
      const V other = load(next + j * kLanes);
      store(plus_product(times(cosine, kept[j]), sine, other), row + j * kLanes);
      kept[j] = minus_product(times(cosine, other), sine, kept[j]);
    }
    row = next;
  }
  MINNOW_UNROLL
  for (size_t j = 0; j < kVectors; ++j) store(kept[j], row + j * kLanes);
}

void rotate(double* rows, size_t stride, size_t count, size_t columns, const double* c, const double* s, bool upwards) {
  size_t j = 0;
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) rotate_strip<4>(rows + j, stride, count, c, s, upwards);
  for (; j < columns; j += kLanes) rotate_strip<1>(rows + j, stride, count, c, s, upwards);
}

/// Four rows at a time with two sums each, or one row with four.
template <size_t kRows>
HWY_INLINE void dots_of(const double* a, size_t stride, const double* x, size_t columns, double* y) {
  constexpr size_t kSets = kRows == 1 ? 4 : 2;
  V sums[kRows][kSets];
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    MINNOW_UNROLL
    for (size_t s = 0; s < kSets; ++s) sums[i][s] = set(0);
  }
  size_t k = 0;
  for (; k + kSets * kLanes <= columns; k += kSets * kLanes) {
    MINNOW_UNROLL
    for (size_t s = 0; s < kSets; ++s) {
      const V right = load(x + k + s * kLanes);
      MINNOW_UNROLL
      for (size_t i = 0; i < kRows; ++i) sums[i][s] = plus_product(sums[i][s], load(a + i * stride + k + s * kLanes), right);
    }
  }
  for (; k + kLanes <= columns; k += kLanes) {
    const V right = load(x + k);
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) sums[i][0] = plus_product(sums[i][0], load(a + i * stride + k), right);
  }
  if (k < columns) {
    const V right = load_some(x + k, columns - k);
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) sums[i][1] = plus_product(sums[i][1], load_some(a + i * stride + k, columns - k), right);
  }
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    V sum = plus(sums[i][0], sums[i][1]);
    if constexpr (kSets == 4) sum = plus(sum, plus(sums[i][2], sums[i][3]));
    y[i] = sum_of(sum);
  }
}
void dots(const double* a, size_t stride, size_t rows, const double* x, size_t columns, double* y) {
  size_t i = 0;
  for (; i + 4 <= rows; i += 4) dots_of<4>(a + i * stride, stride, x, columns, y + i);
  for (; i < rows; ++i) dots_of<1>(a + i * stride, stride, x, columns, y + i);
}

template <size_t kRows>
HWY_INLINE void add_rows(const double* x, const double* b, size_t stride, double* y, size_t columns) {
  V factors[kRows];
  MINNOW_UNROLL
  for (size_t i = 0; i < kRows; ++i) factors[i] = set(x[i]);
  for (size_t j = 0; j < columns; j += kLanes) {
    V sum = load(y + j);
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) sum = plus_product(sum, factors[i], load(b + i * stride + j));
    store(sum, y + j);
  }
}
void combine(const double* x, const double* b, size_t stride, size_t depth, double* y, size_t columns) {
  std::fill_n(y, columns, 0.0);
  size_t k = 0;
  for (; k + 8 <= depth; k += 8) add_rows<8>(x + k, b + k * stride, stride, y, columns);
  for (; k < depth; ++k) add_rows<1>(x + k, b + k * stride, stride, y, columns);
}

/// Squares of two by two, whatever the vector length.
void transpose(const double* from, size_t stride, size_t rows, size_t columns, double* to, size_t to_stride) {
  size_t i = 0;
#if HWY_HAVE_FLOAT64
  const hn::FixedTag<double, 2> pair;
  for (; i + 2 <= rows; i += 2) {
    const double *x = from + i * stride, *y = x + stride;
    size_t j = 0;
    for (; j + 2 <= columns; j += 2) {
      const auto p = hn::LoadU(pair, x + j), q = hn::LoadU(pair, y + j);
      hn::StoreU(hn::InterleaveLower(pair, p, q), pair, to + j * to_stride + i);
      hn::StoreU(hn::InterleaveUpper(pair, p, q), pair, to + (j + 1) * to_stride + i);
    }
    if (j < columns) to[j * to_stride + i] = x[j], to[j * to_stride + i + 1] = y[j];
  }
#endif
  for (; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * stride + j];
}

}  // namespace

extern const MatrixKernels kMatrixKernels;
const MatrixKernels kMatrixKernels{subtract, eliminate, subtract_outer, update_times, update_combine, rotate, dots, combine, transpose};
#endif
}  // namespace minnow::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::numerics {
using cpu::Isa;

const MatrixKernels& matrix_kernels(Isa isa) {
  switch (isa) {
#define MINNOW_CASE(target, isa) \
  case isa:                      \
    return target::kMatrixKernels;
    MINNOW_EACH_TARGET(MINNOW_CASE)
    default:
      throw InternalError("this build has no kernels for {}", cpu::name_of(isa));
  }
}

}  // namespace minnow::numerics
#endif
