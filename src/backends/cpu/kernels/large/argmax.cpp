// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/argmax.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/large/argmax.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
#include "backends/cpu/kernels/find.inc"

/// Places of hits within vectors that follow each other, so that the loop over them asks but once for four.
template <class T>
size_t find_one(const void* from, size_t count, const void* value) {
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = HWY_LANES(T);
  const T *x = static_cast<const T*>(from), wanted = *static_cast<const T*>(value);
  size_t i = 0;
  if (wanted == wanted) {
    const auto v = hn::Set(d, wanted);
    const auto same = [&](size_t at) HWY_ATTR { return hn::Eq(hn::LoadU(d, x + at), v); };
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      const auto first = hn::Or(same(i), same(i + kLanes)), second = hn::Or(same(i + 2 * kLanes), same(i + 3 * kLanes));
      if (!hn::AllFalse(d, hn::Or(first, second))) break;
    }
  }
  return i + find(x + i, count - i, wanted);
}

/// Handles columns from `i` on in full vectors of D and returns the first column left over. The last vector may overlap the one before.
template <class D, class T>
HWY_INLINE size_t find_in_lanes(D d, const T* x, size_t begin, size_t rows, size_t stride, size_t i, size_t count, const T* y,
                                int64_t* at) {
  using Number = hwy::MakeSigned<T>;
  const hn::RebindToSigned<D> n;
  constexpr size_t kLanes = hn::MaxLanes(D());
  while (i < count && count >= kLanes) {
    i = std::min(i, count - kLanes);
    const auto value = hn::LoadU(d, y + i);
    auto found = hn::Set(n, Number{-1});
    for (size_t row = rows; row-- > 0;) {
      const auto hit = is_or_nan(d, hn::LoadU(d, x + (begin + row) * stride + i), value);
      found = hn::IfThenElse(hn::RebindMask(n, hit), hn::Set(n, static_cast<Number>(row)), found);
    }
    Number lanes[kLanes];
    hn::StoreU(found, n, lanes);
    for (size_t lane = 0; lane < kLanes; ++lane)
      if (lanes[lane] >= 0) at[i + lane] = static_cast<int64_t>(begin) + lanes[lane];
    i += kLanes;
  }
  return i;
}
template <class T>
void find_rows(const void* from, size_t rows, size_t stride, size_t count, const void* values, int64_t* at) {
  // Rows are numbered in lanes as wide as elements, in blocks whose numbers fit; upwards, so that the first one is written last.
  constexpr size_t kBlock = sizeof(T) == 1 ? 127 : 1 << 14;
  const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(values);
  for (size_t end = rows; end > 0;) {
    const size_t high = std::min(kBlock, end), begin = end - high;
    size_t i = find_in_lanes(hn::ScalableTag<T>(), x, begin, high, stride, 0, count, y, at);
    i = find_in_lanes(hn::CappedTag<T, 16 / sizeof(T)>(), x, begin, high, stride, i, count, y, at);
    for (; i < count; ++i)
      for (size_t row = high; row-- > 0;)
        if (const T element = x[(begin + row) * stride + i]; element == y[i] || element != element)
          at[i] = static_cast<int64_t>(begin + row);
    end = begin;
  }
}

template <class T>
constexpr ArgmaxLoops loops_of() {
  return {find_one<T>, find_rows<T>};
}
}  // namespace

extern const ArgmaxKernels kArgmaxKernels;
const ArgmaxKernels kArgmaxKernels{{loops_of<int8_t>(), loops_of<int16_t>(), loops_of<int32_t>(), loops_of<int64_t>(), loops_of<float>(),
#if HWY_HAVE_FLOAT64
                                    loops_of<double>()
#endif
}};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
