// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/pyramid.h"

#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/pyramid.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace hn = hwy::HWY_NAMESPACE;

template <class T, class Sum>
void join(const T* const* rows, int64_t n, Sum* HWY_RESTRICT out) {
  const T* HWY_RESTRICT a = rows[0];
  const T* HWY_RESTRICT b = rows[1];
  const T* HWY_RESTRICT c = rows[2];
  const T* HWY_RESTRICT d = rows[3];
  const T* HWY_RESTRICT e = rows[4];
  for (int64_t i = 0; i < n; ++i) out[i] = Sum(a[i]) + Sum(e[i]) + (Sum(b[i]) + Sum(d[i])) * Sum(4) + Sum(c[i]) * Sum(6);
}

template <class Sum, class T>
HWY_INLINE T finished(Sum sum) {
  if constexpr (sizeof(T) == 4)
    return sum * (1.0f / 256);
  else
    return static_cast<T>((sum + 128) >> 8);
}

template <class Sum, class T, int kChannels>
HWY_INLINE void halve_of(const Sum* HWY_RESTRICT in, int64_t pixels, int64_t any, T* HWY_RESTRICT out) {
  const int64_t channels = kChannels ? kChannels : any;
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t c = 0; c < channels; ++c) {
      const Sum* const at = in + 2 * i * channels + c;
      out[i * channels + c] =
          finished<Sum, T>(at[-2 * channels] + at[2 * channels] + (at[-channels] + at[channels]) * Sum(4) + at[0] * Sum(6));
    }
}
template <class Sum, class T>
void halve(const Sum* in, int64_t pixels, int64_t channels, T* out) {
  if constexpr (sizeof(T) != 2) {
    if (channels == 1) return halve_of<Sum, T, 1>(in, pixels, 1, out);
    if (channels == 3) return halve_of<Sum, T, 3>(in, pixels, 3, out);
  }
  halve_of<Sum, T, 0>(in, pixels, channels, out);
}

template <class T, class Sum>
void twice(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const T* HWY_RESTRICT c, int64_t n, Sum* HWY_RESTRICT even,
           Sum* HWY_RESTRICT odd) {
  for (int64_t i = 0; i < n; ++i) {
    even[i] = static_cast<Sum>(a[i] + b[i] * Sum(6) + c[i]);
    odd[i] = static_cast<Sum>((b[i] + c[i]) * Sum(4));
  }
}

/// Pixels of two rows in turns.
template <class T>
HWY_INLINE void in_turns(const T* HWY_RESTRICT even, const T* HWY_RESTRICT odd, int64_t pixels, int64_t channels, T* HWY_RESTRICT out) {
  int64_t i = 0;
  if constexpr (sizeof(T) == 1) {
    const hn::CappedTag<T, 16> d;
    constexpr int64_t kLanes = hn::MaxLanes(d);
    if (channels == 1) {
      for (; i + kLanes <= pixels; i += kLanes) hn::StoreInterleaved2(hn::LoadU(d, even + i), hn::LoadU(d, odd + i), d, out + 2 * i);
    } else if (channels == 3) {
      hn::Vec<decltype(d)> a[3], b[3];
      for (; i + kLanes <= pixels; i += kLanes) {
        hn::LoadInterleaved3(d, even + 3 * i, a[0], a[1], a[2]);
        hn::LoadInterleaved3(d, odd + 3 * i, b[0], b[1], b[2]);
        hn::StoreInterleaved3(hn::InterleaveLower(d, a[0], b[0]), hn::InterleaveLower(d, a[1], b[1]), hn::InterleaveLower(d, a[2], b[2]), d,
                              out + 6 * i);
        hn::StoreInterleaved3(hn::InterleaveUpper(d, a[0], b[0]), hn::InterleaveUpper(d, a[1], b[1]), hn::InterleaveUpper(d, a[2], b[2]), d,
                              out + 6 * i + 3 * kLanes);
      }
    }
  }
  const auto rest = [&](auto fixed) {
    const int64_t count = decltype(fixed)::value ? decltype(fixed)::value : channels;
    for (; i < pixels; ++i) {
      std::memcpy(out + 2 * i * count, even + i * count, static_cast<size_t>(count) * sizeof(T));
      std::memcpy(out + (2 * i + 1) * count, odd + i * count, static_cast<size_t>(count) * sizeof(T));
    }
  };
  channels == 1   ? rest(std::integral_constant<int64_t, 1>())
  : channels == 3 ? rest(std::integral_constant<int64_t, 3>())
                  : rest(std::integral_constant<int64_t, 0>());
}

template <class Sum, class T>
void spread(const Sum* HWY_RESTRICT in, int64_t pixels, int64_t channels, T* HWY_RESTRICT room, T* HWY_RESTRICT out) {
  const int64_t n = pixels * channels;
  T* HWY_RESTRICT even = room;
  T* HWY_RESTRICT odd = room + n;
  const Sum* HWY_RESTRICT left = in - channels;
  const Sum* HWY_RESTRICT right = in + channels;
  for (int64_t i = 0; i < n; ++i) {
    const Sum a = static_cast<Sum>(left[i] + in[i] * Sum(6) + right[i]), b = static_cast<Sum>((in[i] + right[i]) * Sum(4));
    if constexpr (std::is_floating_point_v<T>)
      even[i] = a * (1.0f / 64), odd[i] = b * (1.0f / 64);
    else
      even[i] = static_cast<T>(static_cast<Sum>(a + 32) >> 6), odd[i] = static_cast<T>(static_cast<Sum>(b + 32) >> 6);
  }
  in_turns(even, odd, pixels, channels, out);
}

extern const PyramidLoops kPyramidLoops;
const PyramidLoops kPyramidLoops{join<uint8_t, int32_t>,    join<uint16_t, int32_t>,   join<int16_t, int32_t>,   join<float, float>,
                                 halve<int32_t, uint8_t>,   halve<int32_t, uint16_t>,  halve<int32_t, int16_t>,  halve<float, float>,
                                 twice<uint8_t, uint16_t>,  twice<uint16_t, int32_t>,  twice<int16_t, int32_t>,  twice<float, float>,
                                 spread<uint16_t, uint8_t>, spread<int32_t, uint16_t>, spread<int32_t, int16_t>, spread<float, float>};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kPyramidLoops
const minnow::vision::PyramidLoops& minnow::vision::pyramid_loops() {
  static const PyramidLoops& loops = choose_loops<PyramidLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
