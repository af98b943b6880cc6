// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/any_all.h"

#include <algorithm>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/any_all.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
#if !MINNOW_SMALL
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Loops {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kLanes = HWY_LANES(T);

  /// Non-zero bits where x is a hit: its own bits or, to find zeros, all bits of a zero.
  template <bool kZero, class L>
  static HWY_INLINE hn::Vec<L> hit(L d, const T* x, hn::Vec<L> keep) {
    const auto kept = hn::And(hn::LoadU(d, x), keep);
    if constexpr (kZero) return hn::VecFromMask(d, hn::Eq(kept, hn::Zero(d)));
    return kept;
  }
  template <bool kZero>
  static HWY_INLINE V hit(const T* x, V keep) {
    return hit<kZero>(D(), x, keep);
  }
  static HWY_INLINE bool none(V hits) { return hn::AllTrue(D(), hn::Eq(hits, hn::Zero(D()))); }
  static bool is_hit(T x, T keep, bool zero) { return ((x & keep) == 0) == zero; }

  template <bool kZero>
  static HWY_NOINLINE bool found_one(const T* x, size_t count, T keep_bits) {
    const V keep = hn::Set(D(), keep_bits);
    constexpr size_t kPage = 4096 / sizeof(T);
    size_t i = 0;
    for (; i + 2 * kPage <= count; i += 2 * kPage) {  // which memory is prefetched for both of
      V a = hn::Zero(D()), b = a;
      for (size_t k = i; k < i + kPage; k += 2 * kLanes) {
        a = hn::Or(a, hn::Or(hit<kZero>(x + k, keep), hit<kZero>(x + k + kLanes, keep)));
        b = hn::Or(b, hn::Or(hit<kZero>(x + k + kPage, keep), hit<kZero>(x + k + kPage + kLanes, keep)));
      }
      if (!none(hn::Or(a, b))) return true;
    }
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      const V a = hn::Or(hit<kZero>(x + i, keep), hit<kZero>(x + i + kLanes, keep));
      const V b = hn::Or(hit<kZero>(x + i + 2 * kLanes, keep), hit<kZero>(x + i + 3 * kLanes, keep));
      if (!none(hn::Or(a, b))) return true;
    }
    if (count < kLanes) {
      for (; i < count; ++i)
        if (is_hit(x[i], keep_bits, kZero)) return true;
      return false;
    }
    V last = hit<kZero>(x + count - kLanes, keep);
    for (; i + kLanes <= count; i += kLanes) last = hn::Or(last, hit<kZero>(x + i, keep));
    return !none(last);
  }
  static bool found(const void* from, size_t count, uint64_t keep, bool zero) {
    const T* x = static_cast<const T*>(from);
    if (count > 0 && is_hit(x[0], static_cast<T>(keep), zero)) return true;
    return zero ? found_one<true>(x, count, static_cast<T>(keep)) : found_one<false>(x, count, static_cast<T>(keep));
  }

  /// Handles columns from `i` on in full vectors of L and returns the first column left over. The last vector may overlap the one before.
  template <bool kZero, size_t kRows, class L>
  static HWY_INLINE size_t join_in_lanes(L d, const T* x, size_t stride, size_t i, size_t count, T keep_bits, T* hits) {
    constexpr size_t kWidth = hn::MaxLanes(L());
    const auto keep = hn::Set(d, keep_bits);
    while (i < count && count >= kWidth) {
      i = std::min(i, count - kWidth);
      auto v = hn::LoadU(d, hits + i);
      MINNOW_UNROLL for (size_t k = 0; k < kRows; ++k) v = hn::Or(v, hit<kZero>(d, x + k * stride + i, keep));
      hn::StoreU(v, d, hits + i);
      i += kWidth;
    }
    return i;
  }
  template <bool kZero, size_t kRows>
  static HWY_INLINE void join_rows(const T* x, size_t stride, size_t count, T keep, T* hits) {
    size_t i = join_in_lanes<kZero, kRows>(D(), x, stride, 0, count, keep, hits);
    i = join_in_lanes<kZero, kRows>(hn::CappedTag<T, 16 / sizeof(T)>(), x, stride, i, count, keep, hits);
    for (; i < count; ++i)
      for (size_t k = 0; k < kRows; ++k)
        if (is_hit(x[k * stride + i], keep, kZero)) hits[i] = 1;
  }
  template <bool kZero>
  static void strip(const T* x, size_t rows, size_t stride, size_t count, T keep, uint8_t* y) {
    constexpr size_t kPause = 64;  // rows after which it is asked whether all columns are decided
    T hits[kStrip] = {};
    size_t row = 0;
    for (; row + 8 <= rows; row += 8) {
      join_rows<kZero, 8>(x + row * stride, stride, count, keep, hits);
      if (row % kPause == 0 && !found_one<true>(hits, count, static_cast<T>(~T{0}))) row = rows;
    }
    for (; row < rows; ++row) join_rows<kZero, 1>(x + row * stride, stride, count, keep, hits);
    for (size_t i = 0; i < count; ++i) y[i] = hits[i] != 0;
  }
  static constexpr size_t kStrip = 8192 / sizeof(T);
  static void found_in_columns(const void* from, size_t rows, size_t stride, size_t count, uint64_t keep, bool zero, uint8_t* y) {
    const T* x = static_cast<const T*>(from);
    for (size_t i = 0; i < count; i += kStrip) {
      const size_t width = std::min(kStrip, count - i);
      if (zero)
        strip<true>(x + i, rows, stride, width, static_cast<T>(keep), y + i);
      else
        strip<false>(x + i, rows, stride, width, static_cast<T>(keep), y + i);
    }
  }
};

template <class T>
constexpr AnyAllLoops loops_of() {
  return {Loops<T>::found, Loops<T>::found_in_columns};
}
}  // namespace

extern const AnyAllKernels kAnyAllKernels;
const AnyAllKernels kAnyAllKernels{{loops_of<uint8_t>(), loops_of<uint16_t>(), loops_of<uint32_t>(), loops_of<uint64_t>()}};
#else
extern const AnyAllKernels kAnyAllKernels;
const AnyAllKernels kAnyAllKernels{};  // its schemes are left out
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
