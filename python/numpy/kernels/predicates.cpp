// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/predicates.h"

#include <cstring>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/predicates.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// By the bits, as numbers without the sign.
template <Predicate kKind, class T>
struct Kind {
  using Bits = hwy::MakeUnsigned<T>;
  using D = hn::ScalableTag<hwy::MakeSigned<T>>;
  static constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1),
                        kInfinite = sizeof(T) == 4 ? 0x7F800000 : static_cast<Bits>(0x7FF0000000000000);

  static bool of(T x) {
    Bits bits;
    std::memcpy(&bits, &x, sizeof(T));
    const Bits size = bits & ~kSign;
    return kKind == Predicate::isnan      ? size > kInfinite
           : kKind == Predicate::isinf    ? size == kInfinite
           : kKind == Predicate::isfinite ? size < kInfinite
                                          : bits != size;
  }
  static HWY_INLINE hn::Mask<D> of(hn::Vec<D> bits) {
    const auto infinite = hn::Set(D(), static_cast<hwy::MakeSigned<T>>(kInfinite));
    const auto size = hn::And(bits, hn::Set(D(), static_cast<hwy::MakeSigned<T>>(~kSign)));
    if constexpr (kKind == Predicate::isnan) return hn::Gt(size, infinite);
    if constexpr (kKind == Predicate::isinf) return hn::Eq(size, infinite);
    if constexpr (kKind == Predicate::isfinite) return hn::Gt(infinite, size);
    return hn::Lt(bits, hn::Zero(D()));
  }

  static void map(const T* x, size_t count, bool* y) {
    size_t i = 0;
#if HWY_TARGET == HWY_AVX3  // whose masks become bytes at once
    const auto* from = reinterpret_cast<const hwy::MakeSigned<T>*>(x);
    constexpr size_t kLanes = HWY_LANES(T), kStep = 2 * kLanes;
    for (; i + kStep <= count; i += kStep) {
      // Both before a mask: gcc 12 keeps one byte of a mask across the calls that -fsanitize=thread makes of loads, and reads four.
      const auto a = hn::LoadU(D(), from + i), b = hn::LoadU(D(), from + i + kLanes);
      const uint32_t mask = static_cast<uint32_t>(of(a).raw) | static_cast<uint32_t>(of(b).raw) << kLanes;
      if constexpr (kStep == 32)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_maskz_set1_epi8(mask, 1));
      else
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm_maskz_set1_epi8(static_cast<__mmask16>(mask), 1));
    }
#endif
    for (; i < count; ++i) y[i] = of(x[i]);
  }
};
}  // namespace

extern const PredicateKernels kPredicateKernels;
#define MINNOW_KINDS(T) \
  { Kind<Predicate::isnan, T>::map, Kind<Predicate::isinf, T>::map, Kind<Predicate::isfinite, T>::map, Kind<Predicate::signbit, T>::map }
const PredicateKernels kPredicateKernels{MINNOW_KINDS(float), MINNOW_KINDS(double)};
#undef MINNOW_KINDS
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
