// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/places.h"

#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/places.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "backends/cpu/kernels/find.inc"

template <class T>
size_t find_one(const void* x, size_t count, const void* value) {
  return find(static_cast<const T*>(x), count, *static_cast<const T*>(value));
}

template <class T>
void find_rows(const void* from, size_t rows, size_t stride, size_t count, const void* values, int64_t* at) {
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = HWY_LANES(T);
  const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(values);
  for (size_t row = rows; row-- > 0;) {
    const T* line = x + row * stride;
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const auto found = is_or_nan(d, hn::LoadU(d, line + i), hn::LoadU(d, y + i));
      if (hn::AllFalse(d, found)) continue;
      uint8_t bits[8] = {};  // of at most 64 lanes
      hn::StoreMaskBits(d, found, bits);
      for (size_t lane = 0; lane < kLanes; ++lane)
        if (bits[lane / 8] >> lane % 8 & 1) at[i + lane] = static_cast<int64_t>(row);
    }
    for (; i < count; ++i)
      if (line[i] == y[i] || line[i] != line[i]) at[i] = static_cast<int64_t>(row);
  }
}

template <class T>
constexpr PlaceLoops loops_of() {
  return {find_one<T>, find_rows<T>};
}
}  // namespace

extern const PlaceKernels kPlaceKernels;
const PlaceKernels kPlaceKernels{{loops_of<int8_t>(), loops_of<int16_t>(), loops_of<int32_t>(), loops_of<int64_t>(), loops_of<float>(),
#if HWY_HAVE_FLOAT64
                                  loops_of<double>()
#endif
}};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
