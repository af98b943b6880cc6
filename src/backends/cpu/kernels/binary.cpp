// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/binary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/binary.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/clamp.inc"
#include "backends/cpu/kernels/division.inc"

#include "backends/cpu/kernels/arithmetic.inc"
#undef MINNOW_UNARY

struct Power {
  static HWY_INLINE V of(V a, V b) {
    float base[kLanes], exponent[kLanes];
    hn::StoreU(a, D(), base);
    hn::StoreU(b, D(), exponent);
    for (size_t i = 0; i < kLanes; ++i) base[i] = std::pow(base[i], exponent[i]);
    return hn::LoadU(D(), base);
  }
};

/// For small builds, one loop for all forms: a fixed factor is a vector that is read again and again.
template <class F>
HWY_NOINLINE void apply_to(const float* a, bool fixed_a, const float* b, bool fixed_b, float* y, size_t count) {
  const D d;
  for (size_t i = 0; i < count; i += kLanes) {
    const float *from_a = fixed_a ? a : a + i, *from_b = fixed_b ? b : b + i;
    const size_t n = std::min<size_t>(count - i, kLanes);
    float rest_a[kLanes] = {}, rest_b[kLanes] = {}, rest[kLanes];
    if (n < kLanes && !fixed_a) from_a = static_cast<const float*>(std::memcpy(rest_a, from_a, n * sizeof(float)));
    if (n < kLanes && !fixed_b) from_b = static_cast<const float*>(std::memcpy(rest_b, from_b, n * sizeof(float)));
    float* to = n < kLanes ? rest : y + i;
    hn::StoreU(F::of(hn::LoadU(d, from_a), hn::LoadU(d, from_b)), d, to);
    if (n < kLanes) std::memcpy(y + i, rest, n * sizeof(float));
  }
}
template <class F, BinaryForm kForm>
void apply_small(const float* a, const float* b, float* y, size_t count) {
  float fixed[kLanes];
  constexpr bool kScalarA = kForm == BinaryForm::a_scalar, kScalarB = kForm == BinaryForm::b_scalar;
  if (kScalarA || kScalarB) hn::StoreU(hn::Set(D(), kScalarA ? *a : *b), D(), fixed);
  apply_to<F>(kScalarA ? fixed : a, kScalarA || kForm == BinaryForm::a_lanes, kScalarB ? fixed : b,
              kScalarB || kForm == BinaryForm::b_lanes, y, count);
}

template <class F, BinaryForm kForm>
void apply(const float* a, const float* b, float* y, size_t count) {
  constexpr bool kCommutes = std::is_same_v<F, Add> || std::is_same_v<F, Multiply> || std::is_same_v<F, Equal>;
  if constexpr (kCommutes && kForm == BinaryForm::a_scalar) return apply<F, BinaryForm::b_scalar>(b, a, y, count);
  if constexpr (kCommutes && kForm == BinaryForm::a_lanes) return apply<F, BinaryForm::b_lanes>(b, a, y, count);
  const D d;
  constexpr bool kFixedA = kForm == BinaryForm::a_scalar || kForm == BinaryForm::a_lanes;
  constexpr bool kFixedB = kForm == BinaryForm::b_scalar || kForm == BinaryForm::b_lanes;
  V va = hn::Zero(d), vb = hn::Zero(d);
  if constexpr (kForm == BinaryForm::a_scalar) va = hn::Set(d, *a);
  if constexpr (kForm == BinaryForm::b_scalar) vb = hn::Set(d, *b);
  if constexpr (kForm == BinaryForm::a_lanes) va = hn::LoadU(d, a);
  if constexpr (kForm == BinaryForm::b_lanes) vb = hn::LoadU(d, b);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if constexpr (!kFixedA) va = hn::LoadU(d, a + i);
    if constexpr (!kFixedB) vb = hn::LoadU(d, b + i);
    hn::StoreU(F::of(va, vb), d, y + i);
  }
  if (i == count) return;
#if !HWY_MEM_OPS_MIGHT_FAULT
  const auto rest = hn::FirstN(d, count - i);
  if constexpr (!kFixedA) va = hn::MaskedLoad(rest, d, a + i);
  if constexpr (!kFixedB) vb = hn::MaskedLoad(rest, d, b + i);
  hn::BlendedStore(F::of(va, vb), rest, d, y + i);
#else
  float rest_a[kLanes] = {}, rest_b[kLanes] = {};
  if constexpr (!kFixedA) std::memcpy(rest_a, a + i, (count - i) * sizeof(float)), va = hn::LoadU(d, rest_a);
  if constexpr (!kFixedB) std::memcpy(rest_b, b + i, (count - i) * sizeof(float)), vb = hn::LoadU(d, rest_b);
  hn::StoreU(F::of(va, vb), d, rest_a);
  std::memcpy(y + i, rest_a, (count - i) * sizeof(float));
#endif
}

template <class F, BinaryForm kForm>
constexpr BinaryFunction function() {
  if constexpr (kSmall)
    return apply_small<F, kForm>;
  else
    return apply<F, kForm>;
}

void select(const float* condition, const float* a, const float* b, float* y, size_t count) {
  const D d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto first = hn::Ne(hn::LoadU(d, condition + i), hn::Zero(d));
    hn::StoreU(hn::IfThenElse(first, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  for (; i < count; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

#define MINNOW_FORMS(F)                                                                                        \
  {                                                                                                            \
    function<F, BinaryForm::both>(), function<F, BinaryForm::b_scalar>(), function<F, BinaryForm::a_scalar>(), \
        function<F, BinaryForm::b_lanes>(), function<F, BinaryForm::a_lanes>()                                 \
  }
constexpr BinaryFunction kFunctions[static_cast<size_t>(Binary::count)][static_cast<size_t>(BinaryForm::count)] = {
    MINNOW_FORMS(Add),       MINNOW_FORMS(Subtract), MINNOW_FORMS(Multiply), MINNOW_FORMS(Divide),
    MINNOW_FORMS(Minimum),   MINNOW_FORMS(Maximum),  MINNOW_FORMS(PRelu),    MINNOW_FORMS(Less),
    MINNOW_FORMS(LessEqual), MINNOW_FORMS(Equal),    MINNOW_FORMS(Power)};
#undef MINNOW_FORMS
}  // namespace

extern const BinaryKernels kBinaryKernels;
const BinaryKernels kBinaryKernels{kFunctions, select};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
