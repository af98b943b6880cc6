// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/any_all.h"

#include <algorithm>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/large/any_all.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Loops {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kLanes = HWY_LANES(T);

  /// Looks for numbers whose `keep` bits are all zero or, where `flip` has all bits set, are not.
  template <class L>
  struct Wanted {
    hn::Vec<L> keep, flip;
    HWY_INLINE Wanted(T keep_bits, bool zero) : keep(hn::Set(L(), keep_bits)), flip(hn::Set(L(), zero ? T{0} : static_cast<T>(~T{0}))) {}
    /// All bits where x is a hit, else none.
    HWY_INLINE hn::Vec<L> hit(const T* x) const {
      const L d;
      return hn::Xor(hn::VecFromMask(d, hn::Eq(hn::And(hn::LoadU(d, x), keep), hn::Zero(d))), flip);
    }
  };
  static HWY_INLINE bool none(V hits) { return hn::AllTrue(D(), hn::Eq(hits, hn::Zero(D()))); }
  static bool is_hit(T x, T keep, bool zero) { return ((x & keep) == 0) == zero; }

  static HWY_NOINLINE bool found_one(const T* x, size_t count, T keep, bool zero) {
    const Wanted<D> wanted(keep, zero);
    constexpr size_t kPage = 4096 / sizeof(T);
    size_t i = 0;
    for (; i + 2 * kPage <= count; i += 2 * kPage) {  // which memory is prefetched for both of
      V a = hn::Zero(D()), b = a;
      for (size_t k = i; k < i + kPage; k += 2 * kLanes) {
        a = hn::Or(a, hn::Or(wanted.hit(x + k), wanted.hit(x + k + kLanes)));
        b = hn::Or(b, hn::Or(wanted.hit(x + k + kPage), wanted.hit(x + k + kPage + kLanes)));
      }
      if (!none(hn::Or(a, b))) return true;
    }
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      const V a = hn::Or(wanted.hit(x + i), wanted.hit(x + i + kLanes));
      const V b = hn::Or(wanted.hit(x + i + 2 * kLanes), wanted.hit(x + i + 3 * kLanes));
      if (!none(hn::Or(a, b))) return true;
    }
    if (count < kLanes) {
      for (; i < count; ++i)
        if (is_hit(x[i], keep, zero)) return true;
      return false;
    }
    V last = wanted.hit(x + count - kLanes);
    for (; i + kLanes <= count; i += kLanes) last = hn::Or(last, wanted.hit(x + i));
    return !none(last);
  }
  static bool found(const void* from, size_t count, uint64_t keep, bool zero) {
    const T* x = static_cast<const T*>(from);
    const T kept = static_cast<T>(keep);
    return (count > 0 && is_hit(x[0], kept, zero)) || found_one(x, count, kept, zero);
  }

  /// Handles columns from `i` on in full vectors of L and returns the first column left over. The last vector may overlap the one before.
  template <size_t kRows, class L>
  static HWY_INLINE size_t join_in_lanes(const Wanted<L>& wanted, const T* x, size_t stride, size_t i, size_t count, T* hits) {
    constexpr L d;
    constexpr size_t kWidth = hn::MaxLanes(d);
    while (i < count && count >= kWidth) {
      i = std::min(i, count - kWidth);
      auto v = hn::LoadU(d, hits + i);
      MINNOW_UNROLL for (size_t k = 0; k < kRows; ++k) v = hn::Or(v, wanted.hit(x + k * stride + i));
      hn::StoreU(v, d, hits + i);
      i += kWidth;
    }
    return i;
  }
  template <size_t kRows>
  static HWY_INLINE void join_rows(const T* x, size_t stride, size_t count, T keep, bool zero, T* hits) {
    size_t i = join_in_lanes<kRows>(Wanted<D>(keep, zero), x, stride, 0, count, hits);
    i = join_in_lanes<kRows>(Wanted<hn::CappedTag<T, 16 / sizeof(T)>>(keep, zero), x, stride, i, count, hits);
    for (; i < count; ++i)
      for (size_t k = 0; k < kRows; ++k)
        if (is_hit(x[k * stride + i], keep, zero)) hits[i] = 1;
  }
  static void strip(const T* x, size_t rows, size_t stride, size_t count, T keep, bool zero, uint8_t* y) {
    constexpr size_t kPause = 64;  // rows after which it is asked whether all columns are decided
    T hits[kStrip] = {};
    size_t row = 0;
    for (; row + 8 <= rows; row += 8) {
      join_rows<8>(x + row * stride, stride, count, keep, zero, hits);
      if (row % kPause == 0 && !found_one(hits, count, static_cast<T>(~T{0}), true)) row = rows;
    }
    for (; row < rows; ++row) join_rows<1>(x + row * stride, stride, count, keep, zero, hits);
    for (size_t i = 0; i < count; ++i) y[i] = hits[i] != 0;
  }
  static constexpr size_t kStrip = 8192 / sizeof(T);
  static void found_in_columns(const void* from, size_t rows, size_t stride, size_t count, uint64_t keep, bool zero, uint8_t* y) {
    const T* x = static_cast<const T*>(from);
    for (size_t i = 0; i < count; i += kStrip) strip(x + i, rows, stride, std::min(kStrip, count - i), static_cast<T>(keep), zero, y + i);
  }
};

template <class T>
constexpr AnyAllLoops loops_of() {
  return {Loops<T>::found, Loops<T>::found_in_columns};
}
}  // namespace

extern const AnyAllKernels kAnyAllKernels;
const AnyAllKernels kAnyAllKernels{{loops_of<uint8_t>(), loops_of<uint16_t>(), loops_of<uint32_t>(), loops_of<uint64_t>()}};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
