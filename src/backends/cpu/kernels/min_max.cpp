// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/min_max.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/min_max.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "backends/cpu/kernels/find.inc"

template <class T>
struct Loops {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Unsigned = hwy::MakeUnsigned<T>;
  static constexpr size_t kLanes = HWY_LANES(T);
  static constexpr bool kFloat = std::is_floating_point_v<T>;

  static HWY_INLINE V flip_of(uint64_t flip) { return hn::BitCast(D(), hn::Set(hn::RebindToUnsigned<D>(), static_cast<Unsigned>(flip))); }
  static HWY_INLINE T turned(T x, uint64_t flip) {
    Unsigned bits;
    std::memcpy(&bits, &x, sizeof(T));
    bits = static_cast<Unsigned>(bits ^ static_cast<Unsigned>(flip));
    std::memcpy(&x, &bits, sizeof(T));
    return x;
  }
  /// The larger one, NaN if `a` or `b` is.
  static HWY_INLINE V larger(V a, V b) {
    const V y = hn::Max(a, b);  // if one is NaN: b on x86, the number on NEON
    if constexpr (!kFloat) return y;
    return hn::IfThenElse(hn::Eq(a, a), HWY_TARGET == HWY_NEON ? hn::IfThenElse(hn::Eq(b, b), y, b) : y, a);
  }

  static void reduce(const void* from, size_t count, uint64_t flip, void* to) {
    constexpr size_t kChains = 4;
    const D d;
    const T* x = static_cast<const T*>(from);
    if (count < kLanes) {  // fill the vector with copies of the first element
      T lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = x[i < count ? i : 0];
      return reduce(lanes, kLanes, flip, to);
    }
    const V turn = flip_of(flip);
    // A NaN is detected by the sum of all elements instead of by comparing each with itself. (The sum is also NaN for infinities of both
    // signs; then find() decides.)
    V best[kChains], sum[kChains];
    const auto join = [&](size_t j, const T* at) HWY_ATTR {
      const V v = hn::Xor(hn::LoadU(d, at), turn);
      best[j] = hn::Max(v, best[j]);
      if constexpr (kFloat) sum[j] = hn::Add(sum[j], v);
    };
    MINNOW_UNROLL for (size_t j = 0; j < kChains; ++j) best[j] = hn::Xor(hn::LoadU(d, x), turn), sum[j] = hn::Zero(d);
    size_t i = 0;
    // Read two pages at a time, so that both are prefetched, if little is left after them.
    constexpr size_t kPage = 4096 / sizeof(T);
    const size_t apart = HWY_ARCH_X86 && kFloat && count >= 2 * kPage && count % (2 * kPage) < 8 * kLanes ? kPage : 2 * kLanes;
    for (; i + 2 * apart <= count; i += apart)
      for (const size_t end = i + apart; i < end; i += 2 * kLanes)
        MINNOW_UNROLL for (size_t j = 0; j < kChains; ++j) join(j, x + i + j / 2 * apart + j % 2 * kLanes);
    for (; i + kLanes <= count; i += kLanes) join(0, x + i);
    join(1, x + count - kLanes);
    if constexpr (kFloat) {
      const V all = hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]));
      if (!hn::AllTrue(d, hn::Eq(all, all))) {
        const T nan = std::numeric_limits<T>::quiet_NaN();
        if (const size_t at = find(x, count, nan); at < count) {
          std::memcpy(to, x + at, sizeof(T));
          return;
        }
      }
    }
    *static_cast<T*>(to) = turned(across(d, hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3]))), flip);
  }
  /// The largest of the lanes.
  template <class Tag>
  static HWY_INLINE T across(Tag d, hn::Vec<Tag> v) {
    if constexpr (sizeof(T) * hn::MaxLanes(Tag()) > 16) {
      const hn::Half<Tag> half;
      return across(half, hn::Max(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    } else {
      T lanes[16 / sizeof(T)];
      hn::StoreU(v, d, lanes);
      for (const T lane : lanes) lanes[0] = std::max(lanes[0], lane);
      return lanes[0];
    }
  }

  static void reduce_columns(const void* from, size_t rows, size_t stride, size_t count, uint64_t flip, void* to) {
    const D d;
    const V turn = flip_of(flip);
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    std::copy_n(x, count, y);
    const size_t whole = count - count % kLanes;
    for (size_t row = 1; row < rows;) {
      const size_t high = rows - row >= 4 ? 4 : 1;
      const T* at = x + row * stride;
      for (size_t i = 0; i < whole; i += kLanes) {
        V v = hn::Xor(hn::LoadU(d, y + i), turn);
        if (high == 4) {
          const auto pair = [&](size_t k) HWY_ATTR {
            return larger(hn::Xor(hn::LoadU(d, at + k * stride + i), turn), hn::Xor(hn::LoadU(d, at + (k + 1) * stride + i), turn));
          };
          v = larger(v, larger(pair(0), pair(2)));
        } else {
          v = larger(v, hn::Xor(hn::LoadU(d, at + i), turn));
        }
        hn::StoreU(hn::Xor(v, turn), d, y + i);
      }
      for (size_t k = 0; k < high; ++k)
        for (size_t i = whole; i < count; ++i) {
          const T next = at[k * stride + i];
          if (y[i] == y[i] && !(turned(next, flip) <= turned(y[i], flip))) y[i] = next;
        }
      row += high;
    }
  }
};

/// Nothing for dtypes without vectors and, in a small build, for all but the dtype of networks.
template <class T>
constexpr MinMaxLoops loops_of() {
  if constexpr ((kSmall && !std::is_same_v<T, float>) || (std::is_same_v<T, double> && !HWY_HAVE_FLOAT64))
    return {};
  else
    return {Loops<T>::reduce, Loops<T>::reduce_columns};
}
}  // namespace

extern const MinMaxKernels kMinMaxKernels;
const MinMaxKernels kMinMaxKernels{
    {loops_of<int8_t>(), loops_of<int16_t>(), loops_of<int32_t>(), loops_of<int64_t>(), loops_of<float>(), loops_of<double>()}};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::cpu {

size_t number_row(DType dtype) noexcept {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 0;
    case DType::i16:
    case DType::u16:
      return 1;
    case DType::i32:
    case DType::u32:
      return 2;
    case DType::i64:
    case DType::u64:
      return 3;
    case DType::f32:
      return 4;
    case DType::f64:
      return 5;
    default:
      return kNumberRows;
  }
}

MinMax MinMaxKernels::of(DType dtype, bool largest) const noexcept {
  const size_t row = number_row(dtype);
  if (row == kNumberRows || !loops[row].reduce) return {};
  constexpr uint64_t kTops[kNumberRows] = {uint64_t{1} << 7,  uint64_t{1} << 15, uint64_t{1} << 31,
                                           uint64_t{1} << 63, uint64_t{1} << 31, uint64_t{1} << 63};
  const bool is_unsigned =
      dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64 || dtype == DType::boolean;
  const uint64_t top = kTops[row], order = is_unsigned ? top : 0;
  return {loops + row, largest ? order : row >= 4 ? top : ~order};
}

}  // namespace minnow::cpu
#endif
