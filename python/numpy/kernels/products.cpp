// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/products.h"

#include <algorithm>
#include <utility>

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

// The sums of a tile, its vectors of b and a factor are registers: of 32, or of 16.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64;
template <size_t kVectors>
constexpr size_t kHigh = kManyRegisters ? (kVectors == 4 ? 6 : 14)
                                        : (kVectors == 4   ? 2
                                           : kVectors == 2 ? 6
                                                           : 12);
constexpr bool kMasks = HWY_TARGET == HWY_AVX3;

template <class T>
struct Loops {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;
  static constexpr size_t kLanes = HWY_LANES(T);
  using Tile = ProductTile<T>;

  template <size_t kVectors, size_t kRows>
  static HWY_NOINLINE void tile(const Tile& t) {
    V sums[kRows][kVectors];
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      MINNOW_UNROLL
      for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
    }
    const size_t second = t.second;
    const auto place = [=](size_t j) HWY_ATTR { return kVectors == 2 ? j * second : j * kLanes; };
    [[maybe_unused]] const auto mask = hn::FirstN(d, kVectors == 1 ? t.wide : kLanes);
    const auto load = [&](const T* from) HWY_ATTR {
      if constexpr (kVectors == 1 && kMasks)
        return hn::MaskedLoad(mask, d, from);
      else
        return hn::LoadU(d, from);
    };
    const size_t stride = t.a_row, a_step = t.a_step, b_stride = t.b_stride, ahead = t.ahead;
    const T* b = t.b;
    // Rows in fives, so that few registers hold where they are.
    constexpr size_t kGroups = (kRows + 4) / 5;
    const T* rows[kGroups];
    MINNOW_UNROLL
    for (size_t i = 0; i < kGroups; ++i) rows[i] = t.a + 5 * i * stride;
    // Results of deep products come from far away. They are asked for row by row: all at once would keep the factors waiting.
    const size_t step = t.depth < 128 ? t.depth : t.depth / (kRows + 4);
    const T* asked = t.c;
    size_t row = t.depth < 128 ? kRows : 0;
    for (size_t k = 0, end; k < t.depth;) {
      end = row < kRows ? k + step : t.depth;
      if (row++ < kRows) {
        __builtin_prefetch(asked, 1);
        if constexpr (kVectors > 1) __builtin_prefetch(asked + place(kVectors - 1) + kLanes - 1, 1);
        asked += t.c_stride;
      }
      for (; k < end; ++k, b += b_stride) {
        V right[kVectors];
        MINNOW_UNROLL
        for (size_t j = 0; j < kVectors; ++j) right[j] = load(b + place(j));
        if constexpr (kVectors > 1) {
          MINNOW_UNROLL
          for (size_t j = 0; j < kVectors; ++j) __builtin_prefetch(b + ahead + j * kLanes);
        }
        MINNOW_UNROLL
        for (size_t i = 0; i < kRows; ++i) {
          const V left = hn::Set(d, rows[i / 5][i % 5 * stride]);
          MINNOW_UNROLL
          for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
        }
        MINNOW_UNROLL
        for (size_t i = 0; i < kGroups; ++i) rows[i] += a_step;
      }
    }
    T* const c = t.c;
    const size_t c_stride = t.c_stride;
    if (t.add) {
      MINNOW_UNROLL
      for (size_t i = 0; i < kRows; ++i) {
        MINNOW_UNROLL
        for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::Add(sums[i][j], load(c + i * c_stride + place(j)));
      }
    }
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      MINNOW_UNROLL
      for (size_t j = 0; j < kVectors; ++j) {
        if constexpr (kVectors == 1 && kMasks)
          hn::BlendedStore(sums[i][j], mask, d, c + i * c_stride);
        else
          hn::StoreU(sums[i][j], d, c + i * c_stride + place(j));
      }
    }
  }

  template <size_t kRows>
  static void dots_of(const T* a, size_t stride, const T* x, size_t count, T* y) {
    constexpr size_t kSets = kRows == 1 ? 4 : 2;
    V sums[kRows][kSets];
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      MINNOW_UNROLL
      for (size_t s = 0; s < kSets; ++s) sums[i][s] = hn::Zero(d);
    }
    size_t k = 0;
    for (; k + kSets * kLanes <= count; k += kSets * kLanes) {
      MINNOW_UNROLL
      for (size_t s = 0; s < kSets; ++s) {
        const V right = hn::LoadU(d, x + k + s * kLanes);
        MINNOW_UNROLL
        for (size_t i = 0; i < kRows; ++i) sums[i][s] = hn::MulAdd(hn::LoadU(d, a + i * stride + k + s * kLanes), right, sums[i][s]);
      }
    }
    for (; k + kLanes <= count; k += kLanes) {
      const V right = hn::LoadU(d, x + k);
      MINNOW_UNROLL
      for (size_t i = 0; i < kRows; ++i) sums[i][0] = hn::MulAdd(hn::LoadU(d, a + i * stride + k), right, sums[i][0]);
    }
    [[maybe_unused]] const auto mask = hn::FirstN(d, count - k);
    if constexpr (kMasks) {
      const V right = hn::MaskedLoad(mask, d, x + k);
      MINNOW_UNROLL
      for (size_t i = 0; i < kRows; ++i)
        sums[i][kSets - 1] = hn::MulAdd(hn::MaskedLoad(mask, d, a + i * stride + k), right, sums[i][kSets - 1]);
    }
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
      V sum = hn::Add(sums[i][0], sums[i][1]);
      if constexpr (kSets == 4) sum = hn::Add(sum, hn::Add(sums[i][2], sums[i][3]));
      T total = hn::GetLane(hn::SumOfLanes(d, sum));
      if constexpr (!kMasks)
        for (size_t r = k; r < count; ++r) total += a[i * stride + r] * x[r];
      y[i] = total;
    }
  }
  static void dots(const T* a, size_t stride, size_t rows, const T* x, size_t count, T* y) {
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) dots_of<4>(a + i * stride, stride, x, count, y + i);
    for (; i < rows; ++i) dots_of<1>(a + i * stride, stride, x, count, y + i);
  }

  // Some rows of b at a time, whose elements are read in their order; y stays in the nearest cache.
  template <size_t kRows>
  static void add_rows(const T* x, size_t x_stride, const T* b, size_t b_stride, T* y, size_t columns, bool first) {
    V factors[kRows];
    MINNOW_UNROLL
    for (size_t i = 0; i < kRows; ++i) factors[i] = hn::Set(d, x[i * x_stride]);
    size_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      V sum = hn::Mul(factors[0], hn::LoadU(d, b + j));
      V other = first ? hn::Zero(d) : hn::LoadU(d, y + j);
      MINNOW_UNROLL
      for (size_t i = 1; i < kRows; ++i) {
        V& to = i % 2 ? other : sum;
        to = hn::MulAdd(factors[i], hn::LoadU(d, b + i * b_stride + j), to);
      }
      hn::StoreU(hn::Add(sum, other), d, y + j);
    }
    if (j == columns) return;
    if constexpr (kMasks) {
      const auto mask = hn::FirstN(d, columns - j);
      V sum = first ? hn::Zero(d) : hn::MaskedLoad(mask, d, y + j);
      MINNOW_UNROLL
      for (size_t i = 0; i < kRows; ++i) sum = hn::MulAdd(factors[i], hn::MaskedLoad(mask, d, b + i * b_stride + j), sum);
      hn::BlendedStore(sum, mask, d, y + j);
    } else {
      for (; j < columns; ++j) {
        T sum = first ? T{} : y[j];
        for (size_t i = 0; i < kRows; ++i) sum += x[i * x_stride] * b[i * b_stride + j];
        y[j] = sum;
      }
    }
  }
  static void combine(const T* x, size_t x_stride, const T* b, size_t b_stride, size_t depth, T* y, size_t columns) {
    constexpr size_t kRows = 8, kColumns = (size_t{8} << 10) / sizeof(T);
    for (size_t from = 0; from < columns; from += kColumns) {
      const size_t wide = std::min(kColumns, columns - from);
      size_t k = 0;
      for (; k + kRows <= depth; k += kRows)
        add_rows<kRows>(x + k * x_stride, x_stride, b + k * b_stride + from, b_stride, y + from, wide, k == 0);
      for (; k < depth; ++k) add_rows<1>(x + k * x_stride, x_stride, b + k * b_stride + from, b_stride, y + from, wide, k == 0);
    }
  }

  // Squares of 128 bits, whatever the vector length.
  static void transpose(const T* from, size_t stride, size_t rows, size_t columns, T* to, size_t to_stride) {
    constexpr size_t kSquare = 16 / sizeof(T);
    const hn::FixedTag<T, kSquare> s;
    size_t i = 0;
    for (; i + kSquare <= rows; i += kSquare) {
      const T* x = from + i * stride;
      T* y = to + i;
      size_t j = 0;
      for (; j + kSquare <= columns; j += kSquare) {
        if constexpr (kSquare == 2) {
          const auto p = hn::LoadU(s, x + j), q = hn::LoadU(s, x + stride + j);
          hn::StoreU(hn::InterleaveLower(s, p, q), s, y + j * to_stride);
          hn::StoreU(hn::InterleaveUpper(s, p, q), s, y + (j + 1) * to_stride);
        } else {
          const auto p = hn::LoadU(s, x + j), q = hn::LoadU(s, x + stride + j);
          const auto u = hn::LoadU(s, x + 2 * stride + j), v = hn::LoadU(s, x + 3 * stride + j);
          const auto pu0 = hn::InterleaveLower(s, p, u), pu1 = hn::InterleaveUpper(s, p, u);
          const auto qv0 = hn::InterleaveLower(s, q, v), qv1 = hn::InterleaveUpper(s, q, v);
          hn::StoreU(hn::InterleaveLower(s, pu0, qv0), s, y + j * to_stride);
          hn::StoreU(hn::InterleaveUpper(s, pu0, qv0), s, y + (j + 1) * to_stride);
          hn::StoreU(hn::InterleaveLower(s, pu1, qv1), s, y + (j + 2) * to_stride);
          hn::StoreU(hn::InterleaveUpper(s, pu1, qv1), s, y + (j + 3) * to_stride);
        }
      }
      for (; j < columns; ++j)
        for (size_t r = 0; r < kSquare; ++r) y[j * to_stride + r] = x[r * stride + j];
    }
    for (; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * stride + j];
  }
  static constexpr size_t kRows[kMostProductVectors + 1] = {0, kHigh<1>, kHigh<2>, 0, kHigh<4>};
};

#if !HWY_HAVE_FLOAT64
template <>
struct Loops<double> {  // one after the other
  static constexpr size_t kLanes = 1, kRows[kMostProductVectors + 1] = {0, 1, 1, 0, 1};
  template <size_t kVectors, size_t kRows>
  static void tile(const ProductTile<double>& t) {
    for (size_t j = 0; j < kVectors; ++j) {
      double sum = 0;
      for (size_t k = 0; k < t.depth; ++k) sum += t.a[k * t.a_step] * t.b[k * t.b_stride + j];
      t.c[j] = t.add ? t.c[j] + sum : sum;
    }
  }
  static void dots(const double* a, size_t stride, size_t rows, const double* x, size_t count, double* y) {
    for (size_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (size_t k = 0; k < count; ++k) sum += a[i * stride + k] * x[k];
      y[i] = sum;
    }
  }
  static void combine(const double* x, size_t x_stride, const double* b, size_t b_stride, size_t depth, double* y, size_t columns) {
    std::fill_n(y, columns, 0.0);
    for (size_t k = 0; k < depth; ++k)
      for (size_t j = 0; j < columns; ++j) y[j] += x[k * x_stride] * b[k * b_stride + j];
  }
  static void transpose(const double* from, size_t stride, size_t rows, size_t columns, double* to, size_t to_stride) {
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * stride + j];
  }
};
#endif

template <class T, size_t kVectors, size_t... kRows>
constexpr void add_tiles(ProductLoops<T>& loops, std::index_sequence<kRows...>) {
  ((loops.tiles[kVectors][kRows + 1] = Loops<T>::template tile<kVectors, kRows + 1>), ...);
}
template <class T>
constexpr ProductLoops<T> loops_of() {
  using L = Loops<T>;
  ProductLoops<T> loops{L::kLanes,   {0, L::kRows[1], L::kRows[2], 0, L::kRows[4]}, kMasks && L::kLanes > 1, {}, L::dots, L::combine,
                        L::transpose};
  add_tiles<T, 1>(loops, std::make_index_sequence<L::kRows[1]>());
  add_tiles<T, 2>(loops, std::make_index_sequence<L::kRows[2]>());
  add_tiles<T, 4>(loops, std::make_index_sequence<L::kRows[4]>());
  return loops;
}
constexpr ProductLoops<float> kFloats = loops_of<float>();
constexpr ProductLoops<double> kDoubles = loops_of<double>();
}  // namespace

extern const ProductKernels kProductKernels;
const ProductKernels kProductKernels{&kFloats, &kDoubles};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
