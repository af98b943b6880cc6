// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul_f64_i32.h"

#include <type_traits>

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/matmul_f64_i32.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
constexpr size_t kRows = HWY_TARGET == HWY_AVX3 ? 8 : 6;
constexpr size_t kVectors = 2;

// sum + a b; integers have no such instruction.
template <class V>
HWY_INLINE V added(V a, V b, V sum) {
  if constexpr (std::is_integral_v<hn::TFromV<V>>)
    return hn::Add(hn::Mul(a, b), sum);
  else
    return hn::MulAdd(a, b, sum);
}

template <class T>
void tile(const T* a, size_t a_stride, const T* b, size_t k, T* y, size_t stride) {
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = HWY_LANES(T);
  using V = hn::Vec<decltype(d)>;
  V sum[kRows][kVectors];
  MINNOW_UNROLL for (size_t r = 0; r < kRows; ++r) MINNOW_UNROLL for (size_t n = 0; n < kVectors; ++n) sum[r][n] = hn::Zero(d);
  for (size_t i = 0; i < k; ++i, ++a, b += kVectors * kLanes) {
    V column[kVectors];
    MINNOW_UNROLL for (size_t n = 0; n < kVectors; ++n) column[n] = hn::LoadU(d, b + n * kLanes);
    MINNOW_UNROLL for (size_t r = 0; r < kRows; ++r) {
      const V row = hn::Set(d, a[r * a_stride]);
      MINNOW_UNROLL for (size_t n = 0; n < kVectors; ++n) sum[r][n] = added(row, column[n], sum[r][n]);
    }
  }
  MINNOW_UNROLL for (size_t r = 0; r < kRows; ++r) MINNOW_UNROLL for (size_t n = 0; n < kVectors; ++n) {
    T* to = y + r * stride + n * kLanes;
    hn::StoreU(hn::Add(hn::LoadU(d, to), sum[r][n]), d, to);
  }
}

/// Null in a small build, and where the machine has no such vectors.
template <class T>
constexpr MatMulTile<T> tile_of() {
  if constexpr (kSmall || (std::is_same_v<T, double> && !HWY_HAVE_FLOAT64))
    return nullptr;
  else
    return tile<T>;
}
}  // namespace

extern const F64I32Kernels kF64I32Kernels;
const F64I32Kernels kF64I32Kernels{kRows, tile_of<double>(), tile_of<int32_t>()};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
