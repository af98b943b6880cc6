// SPDX-License-Identifier: Apache-2.0
// Loops that all optimizers share. Their only own coefficients are factors.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/common.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

struct SquareSum {
  static constexpr size_t kStates = 0, kSums = 1, kCoefficients = 0;
  static constexpr unsigned kWrites = 0;
  template <class N>
  static HWY_INLINE void update(N&, const N& g, N*, const N*, N* sums) {
    sums[0] = sums[0] + g * g;
  }
};
struct Accumulate {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 1;
  static constexpr unsigned kWrites = state(0);
  template <class N>
  static HWY_INLINE void update(N&, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * g;
  }
};
struct Average {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 2;
  static constexpr unsigned kWrites = state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N&, N* s, const N* c, N*) {
    s[0] = c[0] * s[0] + c[1] * w;
  }
};
/// SAM's step uphill; the weights before it are kept.
struct Climb {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 1;
  static constexpr unsigned kWrites = kWeights | state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = w;
    w = w + c[0] * g;
  }
};

constexpr Loop kLoops[] = {loop<SquareSum>("square_sum"), loop<Accumulate>("accumulate"), loop<Average>("average"), loop<Climb>("climb")};
}  // namespace

extern const Family kCommonFamily;
const Family kCommonFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kCommonFamily
MINNOW_FAMILY(common_family)
#endif
