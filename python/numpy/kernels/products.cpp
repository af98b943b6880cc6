// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/products.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/products.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Loops {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;
  static constexpr size_t kLanes = HWY_LANES(T), kColumns = 2 * kLanes;
  // The sums of a tile, two vectors of b and a factor are registers: of 32, or of 16.
  static constexpr size_t kHigh = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64 ? 8 : 6;

  template <size_t kRows, size_t kVectors>
  static HWY_INLINE void tile(const T* HWY_RESTRICT a, size_t a_stride, const T* HWY_RESTRICT b, size_t b_stride, size_t depth, T* c,
                              size_t c_stride, size_t wide) {
    V sums[kRows][kVectors];
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      MINNOW_UNROLL
      for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
    }
    for (size_t k = 0; k < depth; ++k, b += b_stride) {
      V right[kVectors];
      MINNOW_UNROLL
      for (size_t j = 0; j < kVectors; ++j) right[j] = hn::LoadU(d, b + j * kLanes);
      MINNOW_UNROLL
      for (size_t i = 0; i < kRows; ++i) {
        const V left = hn::Set(d, a[i * a_stride + k]);
        MINNOW_UNROLL
        for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
      }
    }
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i, c += c_stride) {
      T values[kVectors * kLanes];
      T* to = wide == kVectors * kLanes ? c : values;
      MINNOW_UNROLL
      for (size_t j = 0; j < kVectors; ++j) hn::StoreU(sums[i][j], d, to + j * kLanes);
      if (to == values) std::copy_n(values, wide, c);
    }
  }

  template <size_t kVectors>
  static HWY_NOINLINE void columns(const T* a, size_t a_stride, const T* b, size_t b_stride, size_t depth, T* c, size_t c_stride,
                                   size_t rows, size_t wide) {
    size_t row = 0;
    const auto next = [&](auto high) HWY_ATTR {
      tile<high.value, kVectors>(a + row * a_stride, a_stride, b, b_stride, depth, c + row * c_stride, c_stride, wide);
      row += high.value;
    };
    while (row + kHigh <= rows) next(std::integral_constant<size_t, kHigh>());
    if (row + 4 <= rows) next(std::integral_constant<size_t, 4>());
    if (row + 2 <= rows) next(std::integral_constant<size_t, 2>());
    if (row < rows) next(std::integral_constant<size_t, 1>());
  }

  static void strip(const T* a, size_t a_stride, const T* b, size_t b_stride, size_t depth, T* c, size_t c_stride, size_t rows,
                    size_t wide) {
    return (wide <= kLanes ? columns<1> : columns<2>)(a, a_stride, b, b_stride, depth, c, c_stride, rows, wide);
  }

  static HWY_NOINLINE T dot(const T* a, const T* b, size_t count) {
    V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    size_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      MINNOW_UNROLL
      for (size_t k = 0; k < 4; ++k) sums[k] = hn::MulAdd(hn::LoadU(d, a + i + k * kLanes), hn::LoadU(d, b + i + k * kLanes), sums[k]);
    }
    for (; i + kLanes <= count; i += kLanes) sums[0] = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sums[0]);
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
    for (; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }
};

#if !HWY_HAVE_FLOAT64
template <>
struct Loops<double> {  // one after the other
  static constexpr size_t kColumns = 4;
  static void strip(const double* a, size_t a_stride, const double* b, size_t b_stride, size_t depth, double* c, size_t c_stride,
                    size_t rows, size_t wide) {
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < wide; ++j) {
        double sum = 0;
        for (size_t k = 0; k < depth; ++k) sum += a[i * a_stride + k] * b[k * b_stride + j];
        c[i * c_stride + j] = sum;
      }
  }
  static double dot(const double* a, const double* b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }
};
#endif

template <class T>
constexpr ProductLoops<T> loops_of() {
  return {Loops<T>::kColumns, Loops<T>::strip, Loops<T>::dot};
}
}  // namespace

extern const ProductKernels kProductKernels;
const ProductKernels kProductKernels{loops_of<float>(), loops_of<double>()};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
