// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/sort.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/sort.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// For each set of at most 8 lanes: these lanes, and then the others.
template <class T, size_t kLanes>
struct LanesInFront {
  T lanes[size_t{1} << kLanes][kLanes] = {};
  constexpr LanesInFront() {
    for (size_t set = 0; set < size_t{1} << kLanes; ++set) {
      size_t front = 0, behind = static_cast<size_t>(std::popcount(set));
      for (size_t lane = 0; lane < kLanes; ++lane) lanes[set][set >> lane & 1 ? front++ : behind++] = static_cast<T>(lane);
    }
  }
};

template <class T>
struct Order {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr D d{};
  static constexpr size_t kLanes = HWY_LANES(T), kLog = kLanes == 16 ? 4 : kLanes == 8 ? 3 : kLanes == 4 ? 2 : 1;
  static_assert(kLanes <= kSortPadding && size_t{1} << kLog == kLanes);
  static constexpr size_t kRows = 16, kBlock = kRows * kLanes;  // most elements of a network: the vectors of all its rows are registers

  /// Compares each lane with the one whose number differs in the bits `x`: the smaller element goes to the lane without the bit `upper`.
  struct Exchange {
    decltype(hn::SetTableIndices(D(), static_cast<const T*>(nullptr))) partners;
    hn::Mask<D> upper;
    HWY_INLINE explicit Exchange(size_t x) {
      T lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<T>(i ^ x);
      partners = hn::SetTableIndices(d, lanes);
      upper = hn::Gt(hn::Iota(d, 0), hn::LoadU(d, lanes));
    }
    HWY_INLINE V partner(V v) const { return hn::TableLookupLanes(v, partners); }
    HWY_INLINE V operator()(V v) const {
      const V other = partner(v);
      return hn::IfThenElse(upper, hn::Max(v, other), hn::Min(v, other));
    }
    /// Two rows, lanes of each against lanes of the other.
    HWY_INLINE void operator()(V& a, V& b) const {
      const V other = partner(b), low = hn::Min(a, other), high = hn::Max(a, other);
      a = hn::IfThenElse(upper, high, low);
      b = partner(hn::IfThenElse(upper, low, high));
    }
  };

  static HWY_INLINE void lower_first(V& a, V& b) {
    const V low = hn::Min(a, b);
    b = hn::Max(a, b);
    a = low;
  }

  /// Which rows Batcher's odd-even network (1968) compares, one pair after the other.
  struct Pairs {
    uint8_t first[64] = {}, second[64] = {};
    size_t count = 0;
    explicit constexpr Pairs(size_t rows) {
      for (size_t p = 1; p < rows; p *= 2)
        for (size_t k = p; k > 0; k /= 2)
          for (size_t j = k % p; j + k < rows; j += 2 * k)
            for (size_t i = j; i < std::min(j + k, rows - k); ++i)
              if (i / (2 * p) == (i + k) / (2 * p)) first[count] = static_cast<uint8_t>(i), second[count++] = static_cast<uint8_t>(i + k);
    }
  };
  template <size_t rows, size_t... i>
  static HWY_INLINE void sort_lanes(V (&v)[rows], std::index_sequence<i...>) {
    static constexpr Pairs kPairs(rows);
    (lower_first(v[kPairs.first[i]], v[kPairs.second[i]]), ...);
  }

  /// The first, and the second, halves of two vectors, alternately.
  static HWY_INLINE void interleave(V a, V b, V& first, V& second) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (sizeof(T) == 4) {
      const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      first = V{_mm512_permutex2var_epi32(a.raw, low, b.raw)};
      second = V{_mm512_permutex2var_epi32(a.raw, _mm512_add_epi32(low, _mm512_set1_epi32(8)), b.raw)};
    } else {
      const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
      first = V{_mm512_permutex2var_epi64(a.raw, low, b.raw)};
      second = V{_mm512_permutex2var_epi64(a.raw, _mm512_add_epi64(low, _mm512_set1_epi64(4)), b.raw)};
    }
#else
    const V low = hn::InterleaveLower(d, a, b), high = hn::InterleaveUpper(d, a, b);
    if constexpr (kLanes * sizeof(T) > 16)
      first = hn::ConcatLowerLower(d, high, low), second = hn::ConcatUpperUpper(d, high, low);
    else
      first = low, second = high;
#endif
  }

  /// First, the lanes are sorted in parallel across all rows. Then lanes are merged in groups of two, four ...: the first element is
  /// compared with the last, the second with the last but one, and then at half the distance, a quarter ... (Batcher's bitonic network in
  /// the form that always sorts in one direction). In the end the elements are in order lane by lane.
  template <size_t rows>
  static HWY_NOINLINE void sort_rows(const T* from, size_t count, T* to) {
    T block[rows * kLanes];
    const bool whole = count == rows * kLanes;
    if (!whole) {
      std::memcpy(block, from, count * sizeof(T));
      std::fill(block + count, block + rows * kLanes, std::numeric_limits<T>::max());
      from = block;
    }
    V v[rows];
    MINNOW_UNROLL
    for (size_t i = 0; i < rows; ++i) v[i] = hn::LoadU(d, from + i * kLanes);
    sort_lanes(v, std::make_index_sequence<Pairs(rows).count>());
    const Exchange e1(1), e2(kLog > 1 ? 2 : 0), e4(kLog > 2 ? 4 : 0);
    const auto merge = [&](const Exchange& reversed, size_t log) HWY_ATTR {  // 2^log lanes
      MINNOW_UNROLL
      for (size_t i = 0; i < rows / 2; ++i) reversed(v[i], v[rows - 1 - i]);
      if (rows == 1) v[0] = reversed(v[0]);
      MINNOW_UNROLL
      for (size_t i = 0; i < rows; ++i) {
        if (kLog > 3 && log > 3) v[i] = e4(v[i]);
        if (kLog > 2 && log > 2) v[i] = e2(v[i]);
        if (kLog > 1 && log > 1) v[i] = e1(v[i]);
      }
      MINNOW_UNROLL
      for (size_t distance = 8; distance > 0; distance /= 2) {
        MINNOW_UNROLL
        for (size_t i = 0; i < rows; ++i)
          if (distance < rows && (i & distance) == 0) lower_first(v[i], v[i + distance]);
      }
    };
    merge(e1, 1);
    if (kLog > 1) merge(Exchange(kLog > 1 ? 3 : 0), 2);
    if (kLog > 2) merge(Exchange(kLog > 2 ? 7 : 0), 3);
    if (kLog > 3) merge(Exchange(kLog > 3 ? 15 : 0), 4);
    MINNOW_UNROLL
    for (size_t step = 1; step < rows; step *= 2) {  // row by row
      V w[rows];
      MINNOW_UNROLL
      for (size_t i = 0; i < rows / 2; ++i) interleave(v[i], v[i + rows / 2], w[2 * i], w[2 * i + 1]);
      MINNOW_UNROLL
      for (size_t i = 0; i < rows; ++i) v[i] = w[i];
    }
    T* sorted = whole ? to : block;
    MINNOW_UNROLL
    for (size_t i = 0; i < rows; ++i) hn::StoreU(v[i], d, sorted + i * kLanes);
    if (!whole) std::memcpy(to, block, count * sizeof(T));
  }

  static void sort_block(const T* from, size_t count, T* to) {
    const size_t rows = (count + kLanes - 1) / kLanes;
    return (rows <= 1   ? sort_rows<1>
            : rows <= 2 ? sort_rows<2>
            : rows <= 4 ? sort_rows<4>
            : rows <= 8 ? sort_rows<8>
                        : sort_rows<16>)(from, count, to);
  }

  static T pivot_of(const T* x, size_t count) {
    T samples[64];
    const size_t n = count > 4096 ? std::min(kBlock, size_t{64}) - 1 : 15;
    for (size_t i = 0; i < n; ++i) samples[i] = x[count / n * i + count / n / 2];
    sort_block(samples, n, samples);
    return samples[n / 2];
  }

#if HWY_TARGET == HWY_AVX3
  // The instruction itself: Highway 1.0.3 has a table for 64 bits.
  static HWY_INLINE V in_front(V v, hn::Mask<D> set) {
    if constexpr (sizeof(T) == 4)
      return V{_mm512_maskz_compress_epi32(set.raw, v.raw)};
    else
      return V{_mm512_maskz_compress_epi64(set.raw, v.raw)};
  }
#else
  // Highway 1.0.3's Compress has its tables on the stack, and gcc writes them there for each vector: 1e6 elements took 72 ms, not 14.
  static HWY_INLINE V in_front(V v, hn::Mask<D> set) {
    static constexpr LanesInFront<T, kLanes> kTable;
    uint8_t bits[8];
    hn::StoreMaskBits(d, set, bits);
    return hn::TableLookupLanes(v, hn::SetTableIndices(d, kTable.lanes[bits[0]]));
  }
#endif

  /// Elements below the pivot, and with `equals` those that equal it, become the first of x, the others the last of `other`; returns how
  /// many the first are.
  template <bool equals>
  static HWY_NOINLINE size_t split(T* x, size_t count, T pivot, T* other) {
    const V middle = hn::Set(d, pivot);
    T* end = other + count;
    size_t low = 0, i = 0;
    const auto is_low = [&](V v) HWY_ATTR { return equals ? hn::Not(hn::Gt(v, middle)) : hn::Lt(v, middle); };
    const auto move = [&](V v) HWY_ATTR {  // i counts v already; writing whole vectors is safe, as the next elements of x have been read
      const auto below = is_low(v);
      const size_t few = hn::CountTrue(d, below);
#if HWY_TARGET == HWY_AVX3
      hn::StoreU(in_front(v, below), d, x + low);
      low += few;
      T* to = other + count - (i - low);
      const V above = in_front(v, hn::Not(below));
      if constexpr (sizeof(T) == 4)
        _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << (kLanes - few)) - 1), above.raw);
      else
        _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << (kLanes - few)) - 1), above.raw);
#else
      const V parted = in_front(v, below);
      hn::StoreU(parted, d, x + low);
      hn::StoreU(parted, d, end - kLanes);
      low += few;
      end -= kLanes - few;
#endif
    };
#if HWY_TARGET == HWY_AVX3
    for (; i + 4 * kLanes <= count;) {
      const V v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + kLanes), v2 = hn::LoadU(d, x + i + 2 * kLanes),
              v3 = hn::LoadU(d, x + i + 3 * kLanes);
      i += kLanes, move(v0);
      i += kLanes, move(v1);
      i += kLanes, move(v2);
      i += kLanes, move(v3);
    }
    while (i + kLanes <= count) {
      const V v = hn::LoadU(d, x + i);
      i += kLanes, move(v);
    }
    end = other + count - (i - low);
#else
    for (; i + kLanes <= count && end >= other + kLanes; i += kLanes) move(hn::LoadU(d, x + i));
#endif
    for (; i < count; ++i) {
      const T v = x[i];
      const bool below = equals ? v <= pivot : v < pivot;
      x[low] = v;
      end[-1] = v;
      low += below;
      end -= !below;
    }
    return low;
  }

  static size_t partition(T* x, size_t count, T* other) { return split<false>(x, count, pivot_of(x, count), other); }

  /// The elements are in `from` and go to `to`, one of the two buffers of their places.
  static void sort_deep(T* from, size_t count, T* other, T* to, int depth) {
    while (count > kBlock) {
      if (depth-- == 0) {
        if (from != to) std::memcpy(to, from, count * sizeof(T));
        return std::sort(to, to + count);
      }
      const T pivot = pivot_of(from, count);
      size_t low = split<false>(from, count, pivot, other);
      if (low == 0) {  // the pivot is the smallest
        std::swap(from, other);
        low = split<true>(from, count, pivot, other);
        std::fill_n(to, low, pivot);
      } else {
        sort_deep(from, low, other, to, depth);
      }
      from += low, other += low, to += low;
      count -= low;
      std::swap(from, other);
    }
    if (count > 0) sort_block(from, count, to);
  }
  static void sort(T* x, size_t count, T* other, bool moved) {
    sort_deep(moved ? other : x, count, moved ? x : other, x, 2 * static_cast<int>(std::bit_width(count)));
  }

  static void select(T* x, size_t count, size_t k, T* other) {
    for (int depth = 2 * static_cast<int>(std::bit_width(count)); count > kBlock && depth > 0; --depth) {
      const T pivot = pivot_of(x, count);
      size_t low = split<false>(x, count, pivot, other);
      const bool smallest = low == 0;
      if (smallest) {
        low = split<true>(other, count, pivot, x);
        std::memcpy(x, other, low * sizeof(T));
      } else {
        std::memcpy(x + low, other + low, (count - low) * sizeof(T));
      }
      if (k < low) {
        if (smallest) return;
        count = low;
      } else {
        x += low, count -= low, k -= low;
      }
    }
    if (count <= kBlock)
      sort_block(x, count, x);
    else
      std::nth_element(x, x + k, x + count);
  }

  template <bool to_keys>
  static void converted(const T* from, size_t count, T* to) {
    constexpr T kInfinity = sizeof(T) == 4 ? T{0x7f800000} : static_cast<T>(0x7ff0000000000000);
    constexpr T kNan = sizeof(T) == 4 ? T{0x7fc00000} : static_cast<T>(0x7ff8000000000000);
    const V low_bits = hn::Set(d, std::numeric_limits<T>::max());
    const auto convert = [&](V v) HWY_ATTR {
      const V turned = hn::Xor(v, hn::And(hn::BroadcastSignBit(v), low_bits));
      if (!to_keys) return turned;
      const V magnitude = hn::And(v, low_bits);
      const V number = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), magnitude, turned);
      return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, kInfinity)), hn::Set(d, kNan), number);
    };
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(convert(hn::LoadU(d, from + i)), d, to + i);
    if (i == count) return;
    T rest[kLanes] = {};
    std::copy(from + i, from + count, rest);
    hn::StoreU(convert(hn::LoadU(d, rest)), d, rest);
    std::copy(rest, rest + (count - i), to + i);
  }
};

template <class T>
constexpr SortLoops<T> loops_of() {
  return {Order<T>::sort, Order<T>::partition, Order<T>::select, Order<T>::template converted<true>, Order<T>::template converted<false>};
}
}  // namespace

extern const SortKernels kSortKernels;
const SortKernels kSortKernels{loops_of<int32_t>(), loops_of<int64_t>()};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
