// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/arrange.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/arrange.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V reversed(D d, V v) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    const hn::Repartition<uint16_t, D> wide;
    const auto pairs = hn::Reverse(wide, hn::BitCast(wide, v));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(pairs), hn::ShiftRight<8>(pairs)));
  } else {
    return hn::Reverse(d, v);
  }
}

/// Pixels of kCount elements T.
template <class T, int kCount>
void reverse_of(const T* HWY_RESTRICT in, int64_t n, T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const T* const from = in + (n - i - lanes) * kCount;
    T* const to = out + i * kCount;
    if constexpr (kCount == 1) {
      hn::StoreU(reversed(d, hn::LoadU(d, from)), d, to);
    } else {
      hn::Vec<decltype(d)> a, b, c;
      hn::LoadInterleaved3(d, from, a, b, c);
      hn::StoreInterleaved3(reversed(d, a), reversed(d, b), reversed(d, c), d, to);
    }
  }
  for (; i < n; ++i) std::memcpy(out + i * kCount, in + (n - 1 - i) * kCount, kCount * sizeof(T));
}

void reverse(const std::byte* in, int64_t n, int64_t bytes, std::byte* out) {
  const auto as = [&](auto element, auto count) {
    using T = decltype(element);
    reverse_of<T, decltype(count)::value>(reinterpret_cast<const T*>(in), n, reinterpret_cast<T*>(out));
  };
  const std::integral_constant<int, 1> one;
  const std::integral_constant<int, 3> three;
  switch (bytes) {
    case 1:
      return as(uint8_t(), one);
    case 2:
      return as(uint16_t(), one);
    case 3:
      return as(uint8_t(), three);
    case 4:
      return as(uint32_t(), one);
    case 6:
      return as(uint16_t(), three);
    case 8:
      return as(uint64_t(), one);
    case 12:
      return as(uint32_t(), three);
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * bytes, in + (n - 1 - i) * bytes, static_cast<size_t>(bytes));
  }
}

/// A square of pixels that are one element each: vectors are interleaved with those half the square away until they are columns.
template <class T>
HWY_INLINE void transpose_square(const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride) {
  constexpr int kSize = 16 / sizeof(T);
  const hn::CappedTag<T, kSize> d;
  hn::Vec<decltype(d)> rows[kSize], next[kSize];
  MINNOW_UNROLL
  for (int i = 0; i < kSize; ++i) rows[i] = hn::LoadU(d, reinterpret_cast<const T*>(in + i * in_stride));
  MINNOW_UNROLL
  for (int stage = 1; stage < kSize; stage *= 2) {
    MINNOW_UNROLL
    for (int i = 0; i < kSize / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kSize / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kSize / 2]);
    }
    MINNOW_UNROLL
    for (int i = 0; i < kSize; ++i) rows[i] = next[i];
  }
  MINNOW_UNROLL
  for (int i = 0; i < kSize; ++i) hn::StoreU(rows[i], d, reinterpret_cast<T*>(out + i * out_stride));
}

template <size_t kBytes>
HWY_INLINE void transpose_pixels(const std::byte* in, int64_t in_stride, int64_t rows, int64_t columns, size_t any_bytes, std::byte* out,
                                 int64_t out_stride) {
  const size_t bytes = kBytes ? kBytes : any_bytes;
  const int64_t step = static_cast<int64_t>(bytes);
  for (int64_t x = 0; x < columns; ++x) {
    std::byte* const to = out + x * out_stride;
    const std::byte* const from = in + x * step;
    int64_t y = 0;
    if constexpr (kBytes == 3) {  // four bytes at a time, where neither row ends
      if (x + 1 < columns)
        for (; y + 1 < rows; ++y) std::memcpy(to + y * step, from + y * in_stride, 4);
    }
    for (; y < rows; ++y) std::memcpy(to + y * step, from + y * in_stride, bytes);
  }
}

template <class T>
void transpose_of(const std::byte* in, int64_t in_stride, int64_t rows, int64_t columns, std::byte* out, int64_t out_stride) {
  constexpr int64_t kSize = 16 / sizeof(T), kBytes = sizeof(T);
  const int64_t whole_rows = rows - rows % kSize, whole_columns = columns - columns % kSize;
  for (int64_t x = 0; x < whole_columns; x += kSize)
    for (int64_t y = 0; y < whole_rows; y += kSize)
      transpose_square<T>(in + y * in_stride + x * kBytes, in_stride, out + x * out_stride + y * kBytes, out_stride);
  transpose_pixels<kBytes>(in + whole_columns * kBytes, in_stride, rows, columns - whole_columns, 0, out + whole_columns * out_stride,
                           out_stride);
  transpose_pixels<kBytes>(in + whole_rows * in_stride, in_stride, rows - whole_rows, whole_columns, 0, out + whole_rows * kBytes,
                           out_stride);
}

void transpose(const std::byte* in, int64_t in_stride, int64_t rows, int64_t columns, int64_t bytes, std::byte* out, int64_t out_stride) {
  // Tiles whose rows and columns stay in the first cache.
  constexpr int64_t kTile = 64;
  for (int64_t y = 0; y < rows; y += kTile)
    for (int64_t x = 0; x < columns; x += kTile) {
      const std::byte* const from = in + y * in_stride + x * bytes;
      std::byte* const to = out + x * out_stride + y * bytes;
      const int64_t height = std::min(kTile, rows - y), width = std::min(kTile, columns - x);
      switch (bytes) {
        case 1:
          transpose_of<uint8_t>(from, in_stride, height, width, to, out_stride);
          break;
        case 2:
          transpose_of<uint16_t>(from, in_stride, height, width, to, out_stride);
          break;
        case 3:
          transpose_pixels<3>(from, in_stride, height, width, 0, to, out_stride);
          break;
        case 4:
          transpose_of<uint32_t>(from, in_stride, height, width, to, out_stride);
          break;
        case 8:
          transpose_of<uint64_t>(from, in_stride, height, width, to, out_stride);
          break;
        case 12:
          transpose_pixels<12>(from, in_stride, height, width, 0, to, out_stride);
          break;
        default:
          transpose_pixels<0>(from, in_stride, height, width, static_cast<size_t>(bytes), to, out_stride);
      }
    }
}

extern const ArrangeLoops kArrangeLoops;
const ArrangeLoops kArrangeLoops{reverse, transpose};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kArrangeLoops
const minnow::vision::ArrangeLoops& minnow::vision::arrange_loops() {
  static const ArrangeLoops& loops = choose_loops<ArrangeLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
