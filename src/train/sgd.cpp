// SPDX-License-Identifier: Apache-2.0
// Gradient descent, with momentum or averages.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/sgd.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

struct Sgd {
  static constexpr size_t kStates = 0, kSums = 0, kCoefficients = 1;
  static constexpr unsigned kWrites = kWeights;
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N*, const N* c, N*) {
    w = w - c[0] * g;
  }
};
struct Momentum {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 4;
  static constexpr unsigned kWrites = kWeights | state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = c[2] * s[0] + c[3] * g;
    w = w - (c[0] * g + c[1] * s[0]);
  }
};
struct Asgd {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 3;
  static constexpr unsigned kWrites = kWeights | state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    w = c[0] * w - c[1] * g;
    s[0] = s[0] + c[2] * (w - s[0]);
  }
};
/// c: decay, lr, share of z in the average, b1, 1 - b1; Adam's: 1 - b2, correction, eps.
template <bool kAdam>
struct ScheduleFree {
  static constexpr size_t kStates = kAdam ? 2 : 1, kSums = 0, kCoefficients = kAdam ? 8 : 5;
  static constexpr unsigned kWrites = kWeights | state(0) | (kAdam ? state(1) : 0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    N step = g;
    if constexpr (kAdam) {
      s[1] = s[1] + c[5] * (g * g - s[1]);
      step = g / (root(c[6] * s[1]) + c[7]);
    }
    step = c[1] * (step + c[0] * w);
    // b1 x + (1 - b1) z of the new average x and the new z, as changes of what they were.
    const N part = w - c[4] * s[0];
    s[0] = s[0] - step;
    w = w - (c[4] * step + c[2] * (part - c[3] * s[0]));
  }
};

constexpr Loop kLoops[] = {loop<Sgd>("sgd"), loop<Momentum>("momentum"), loop<Asgd>("asgd"), loop<ScheduleFree<false>>("schedule_free_sgd"),
                           loop<ScheduleFree<true>>("schedule_free_adam")};
}  // namespace

extern const Family kDescentFamily;
const Family kDescentFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kDescentFamily
MINNOW_FAMILY(descent_family)

namespace minnow::train::coefficients {

void sgd(Step& step) {
  const auto [momentum, dampening, nesterov] = step.own<3>();
  double* c = step.c + kOwn;
  c[0] = nesterov != 0 || momentum == 0 ? step.lr : 0;
  c[1] = nesterov != 0 ? step.lr * momentum : step.lr;
  c[2] = momentum;
  c[3] = step.t == 1 ? 1 : 1 - dampening;  // the first gradient counts fully
}

void asgd(Step& step) {
  const auto [lambda, alpha, t0] = step.own<3>();
  double &eta = step.scalars[0], &mu = step.scalars[1];
  if (step.t == 1) eta = step.lr, mu = 1;
  double* c = step.c + kOwn;
  c[0] = 1 - lambda * eta;
  c[1] = eta;
  c[2] = mu;
  eta = step.lr / std::pow(1 + lambda * step.lr * static_cast<double>(step.t), alpha);
  mu = 1 / std::max(1.0, static_cast<double>(step.t) - t0);
}

void schedule_free(Step& step) {
  const auto [adam, beta1, beta2, eps, power] = step.own<5>();
  double &largest = step.scalars[0], &sum = step.scalars[1];
  largest = std::max(largest, step.lr);
  const double weight = std::pow(largest, power);
  sum += weight;
  double* c = step.c + kOwn;
  c[0] = step.weight_decay;
  c[1] = step.lr;
  c[2] = sum > 0 ? weight / sum : 0;
  c[3] = beta1;
  c[4] = 1 - beta1;
  c[5] = 1 - beta2;
  c[6] = 1 / (1 - std::pow(beta2, static_cast<double>(step.t)));
  c[7] = eps;
}

}  // namespace minnow::train::coefficients
#endif
