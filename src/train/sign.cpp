// SPDX-License-Identifier: Apache-2.0
// Steps that look at the signs of gradients.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/sign.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

struct Lion {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 7;
  static constexpr unsigned kWrites = kWeights | state(0), kPositive = 0;
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    w = w - by_sign(c[0] * s[0] + c[1] * g, c[4], c[5], c[6]);
    s[0] = c[2] * s[0] + c[3] * g;
  }
};
/// States: the gradient before, and the size of the step.
struct RProp {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 6;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    const N same = g * s[0];
    s[1] = clamped(c[3], c[4], s[1] * by_sign(same, c[0], c[1], c[2]));
    s[0] = by_sign(same, g, c[5], g);  // the step after a change of sign looks at this gradient as at the first
    w = w - by_sign(s[0], s[1], c[5] - s[1], c[5]);
  }
};

constexpr Loop kLoops[] = {loop<Lion>("lion"), byte_loop<Lion>("lion_bytes"), loop<RProp>("rprop")};
}  // namespace

extern const Family kSignFamily;
const Family kSignFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kSignFamily
MINNOW_FAMILY(sign_family)

namespace minnow::train::coefficients {

void lion(Step& step) {
  const auto [beta1, beta2] = step.own<2>();
  double* c = step.c + kOwn;
  c[0] = beta1, c[1] = 1 - beta1, c[2] = beta2, c[3] = 1 - beta2;
  c[4] = step.lr, c[5] = -step.lr, c[6] = 0;
}

void rprop(Step& step) {
  const auto [eta_minus, eta_plus, least, most] = step.own<4>();
  double* c = step.c + kOwn;
  c[0] = eta_plus, c[1] = eta_minus, c[2] = 1, c[3] = least, c[4] = most, c[5] = 0;
}

}  // namespace minnow::train::coefficients
#endif
