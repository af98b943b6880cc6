// SPDX-License-Identifier: Apache-2.0
#include "vision/pyramid_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/pyramid_loops.cpp"
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET

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
  channels == 1   ? halve_of<Sum, T, 1>(in, pixels, 1, out)
  : channels == 3 ? halve_of<Sum, T, 3>(in, pixels, 3, out)
  : channels == 4 ? halve_of<Sum, T, 4>(in, pixels, 4, out)
                  : halve_of<Sum, T, 0>(in, pixels, channels, out);
}

extern const PyramidLoops kPyramidLoops;
const PyramidLoops kPyramidLoops{join<uint8_t, int32_t>,  join<uint16_t, int32_t>,  join<int16_t, int32_t>,  join<float, float>,
                                 halve<int32_t, uint8_t>, halve<int32_t, uint16_t>, halve<int32_t, int16_t>, halve<float, float>};
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
