// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/orders.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/orders.cpp"
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
  static_assert(kLanes <= kOrderPadding && size_t{1} << kLog == kLanes);
  static constexpr size_t kBlock = 256;  // most elements of a network: its memory stays in L1

  /// Each lane beside the one whose number differs in the bits `x`: the smaller element goes to the lower lane.
  struct Exchange {
    decltype(hn::SetTableIndices(D(), static_cast<const T*>(nullptr))) partners;
    hn::Mask<D> upper;
    HWY_INLINE explicit Exchange(size_t x) {
      T lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<T>(i ^ x);
      partners = hn::SetTableIndices(d, lanes);
      upper = hn::Gt(hn::Iota(d, 0), hn::LoadU(d, lanes));
    }
    HWY_INLINE V operator()(V v) const {
      const V other = hn::TableLookupLanes(v, partners);
      return hn::IfThenElse(upper, hn::Max(v, other), hn::Min(v, other));
    }
  };

  static HWY_INLINE void lower_first(T* a, T* b) {
    const V x = hn::LoadU(d, a), y = hn::LoadU(d, b);
    hn::StoreU(hn::Min(x, y), d, a);
    hn::StoreU(hn::Max(x, y), d, b);
  }

  /// Batcher's bitonic network (1968) in the form that sorts one way throughout: halves are merged by comparing the first with the last
  /// element, the second with the last but one, and then at half the distance, a quarter ...
  static HWY_NOINLINE void sort_block(T* x, size_t count) {
    size_t vectors = 1;
    while (vectors * kLanes < count) vectors *= 2;
    T block[kBlock];
    std::memcpy(block, x, count * sizeof(T));
    std::fill(block + count, block + vectors * kLanes, std::numeric_limits<T>::max());
    const Exchange e1(1), e2(kLog > 1 ? 2 : 0), e4(kLog > 2 ? 4 : 0), e8(kLog > 3 ? 8 : 0);
    const auto merge = [&](V v, size_t log) HWY_ATTR {  // at distances of 2^(log - 1) lanes down to 1
      if (kLog > 3 && log > 3) v = e8(v);
      if (kLog > 2 && log > 2) v = e4(v);
      if (kLog > 1 && log > 1) v = e2(v);
      return e1(v);
    };
    {
      const Exchange e3(kLog > 1 ? 3 : 0), e7(kLog > 2 ? 7 : 0), e15(kLog > 3 ? 15 : 0);
      for (size_t i = 0; i < vectors; ++i) {
        V v = e1(hn::LoadU(d, block + i * kLanes));
        if (kLog > 1) v = merge(e3(v), 1);
        if (kLog > 2) v = merge(e7(v), 2);
        if (kLog > 3) v = merge(e15(v), 3);
        hn::StoreU(v, d, block + i * kLanes);
      }
    }
    for (size_t half = 1; half < vectors; half *= 2) {
      for (T* two = block; two < block + vectors * kLanes; two += 2 * half * kLanes) {
        for (size_t i = 0; i < half; ++i) {
          T *a = two + i * kLanes, *b = two + (2 * half - 1 - i) * kLanes;
          const V low = hn::LoadU(d, a), high = hn::Reverse(d, hn::LoadU(d, b));
          hn::StoreU(hn::Min(low, high), d, a);
          hn::StoreU(hn::Reverse(d, hn::Max(low, high)), d, b);
        }
        for (size_t distance = half / 2; distance > 0; distance /= 2)
          for (size_t i = 0; i < 2 * half; ++i)
            if ((i & distance) == 0) lower_first(two + i * kLanes, two + (i + distance) * kLanes);
      }
      for (size_t i = 0; i < vectors; ++i) hn::StoreU(merge(hn::LoadU(d, block + i * kLanes), kLog), d, block + i * kLanes);
    }
    std::memcpy(x, block, count * sizeof(T));
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

  static T pivot_of(const T* x, size_t count) {
    T samples[64];
    const size_t n = count > 4096 ? 63 : 15;
    for (size_t i = 0; i < n; ++i) samples[i] = x[count / n * i + count / n / 2];
    sort_block(samples, n);
    return samples[n / 2];
  }

  /// Elements below the pivot first, and with `equals` those that equal it; returns how many.
  template <bool equals>
  static HWY_NOINLINE size_t split(T* x, size_t count, T pivot, T* other) {
    const V middle = hn::Set(d, pivot);
    size_t low = 0, high = 0, i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const V v = hn::LoadU(d, x + i);
      const auto above = equals ? hn::Gt(v, middle) : hn::Not(hn::Lt(v, middle));
      const size_t more = hn::CountTrue(d, above);
      hn::StoreU(in_front(v, hn::Not(above)), d, x + low);  // whole vectors: what lies behind has been read
      hn::StoreU(in_front(v, above), d, other + high);
      low += kLanes - more;
      high += more;
    }
    for (; i < count; ++i) {
      const T v = x[i];
      if (equals ? v > pivot : v >= pivot)
        other[high++] = v;
      else
        x[low++] = v;
    }
    std::memcpy(x + low, other, high * sizeof(T));
    return low;
  }

  static size_t partition(T* x, size_t count, T* other) { return split<false>(x, count, pivot_of(x, count), other); }

  static void sort_deep(T* x, size_t count, T* other, int depth) {
    while (count > kBlock) {
      if (depth-- == 0) return std::sort(x, x + count);
      const T pivot = pivot_of(x, count);
      size_t low = split<false>(x, count, pivot, other);
      if (low == 0)
        low = split<true>(x, count, pivot, other);  // all equal, so in order
      else
        sort_deep(x, low, other, depth);
      x += low;
      count -= low;
    }
    if (count > 1) sort_block(x, count);
  }
  static void sort(T* x, size_t count, T* other) { sort_deep(x, count, other, 2 * static_cast<int>(std::bit_width(count))); }

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
constexpr OrderLoops<T> loops_of() {
  return {Order<T>::sort, Order<T>::partition, Order<T>::template converted<true>, Order<T>::template converted<false>};
}
}  // namespace

extern const OrderKernels kOrderKernels;
const OrderKernels kOrderKernels{loops_of<int32_t>(), loops_of<int64_t>()};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
