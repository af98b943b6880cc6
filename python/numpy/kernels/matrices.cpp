// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/matrices.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/matrices.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
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

/// Of kRows rows, which share what is read of the vectors.
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

/// Of a strip of columns: the row that two pairs share stays in registers.
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

}  // namespace

extern const MatrixKernels kMatrixKernels;
const MatrixKernels kMatrixKernels{subtract, eliminate, subtract_outer, update_times, update_combine, rotate};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
