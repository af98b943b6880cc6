// SPDX-License-Identifier: Apache-2.0
// Steps divided by the size of gradients so far.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/adagrad.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

struct AdaGrad {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 3;
  static constexpr unsigned kWrites = kWeights | state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + g * g;
    w = w - c[0] * g / (root(s[0] + c[1]) + c[2]);
  }
};
struct AdaDelta {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 3;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (g * g - s[0]);
    const N step = root(s[1] + c[1]) / root(s[0] + c[1]) * g;
    s[1] = s[1] + c[0] * (step * step - s[1]);
    w = w - c[2] * step;
  }
};
/// States: squares, the mean if kCentered, steps if kMomentum.
template <bool kCentered, bool kMomentum>
struct RmsProp {
  static constexpr size_t kStates = 1 + kCentered + kMomentum, kSums = 0, kCoefficients = 5, kLast = kStates - 1;
  static constexpr unsigned kWrites = kWeights | (state(kStates) - 2);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (g * g - s[0]);
    N variance = s[0];
    if constexpr (kCentered) {
      s[1] = s[1] + c[0] * (g - s[1]);
      variance = s[0] - s[1] * s[1];
    }
    N step = g / (root(variance + c[1]) + c[2]);
    if constexpr (kMomentum) step = s[kLast] = c[3] * s[kLast] + step;
    w = w - c[4] * step;
  }
};

constexpr Loop kLoops[] = {loop<AdaGrad>("adagrad"),
                           loop<AdaDelta>("adadelta"),
                           loop<RmsProp<false, false>>("rmsprop"),
                           loop<RmsProp<true, false>>("rmsprop_centered"),
                           loop<RmsProp<false, true>>("rmsprop_momentum"),
                           loop<RmsProp<true, true>>("rmsprop_centered_momentum")};
}  // namespace

extern const Family kAdagradFamily;
const Family kAdagradFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kAdagradFamily
MINNOW_FAMILY(adagrad_family)

namespace minnow::train::coefficients {

void adagrad(Step& step) {
  const auto [lr_decay, initial, eps, inside] = step.own<4>();
  double* c = step.c + kOwn;
  c[0] = step.lr / (1 + static_cast<double>(step.t - 1) * lr_decay);
  c[1] = inside != 0 ? eps : 0;
  c[2] = inside != 0 ? 0 : eps;
}

void adadelta(Step& step) {
  const auto [rho, eps] = step.own<2>();
  double* c = step.c + kOwn;
  c[0] = 1 - rho, c[1] = eps, c[2] = step.lr;
}

void rmsprop(Step& step) {
  const auto [alpha, eps, inside, centered, momentum] = step.own<5>();
  double* c = step.c + kOwn;
  c[0] = 1 - alpha;
  c[1] = inside != 0 ? eps : 0;
  c[2] = inside != 0 ? 0 : eps;
  c[3] = momentum;
  c[4] = step.lr;
}

}  // namespace minnow::train::coefficients
#endif
