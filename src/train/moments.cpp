// SPDX-License-Identifier: Apache-2.0
// Optimizers with other averages than Adam's.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/moments.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

struct Adan {
  static constexpr size_t kStates = 4, kSums = 0, kCoefficients = 9;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1) | state(2) | state(3);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    const N change = c[3] * (g - s[3]), look = g + c[1] * change;
    s[0] = s[0] + c[0] * (g - s[0]);
    s[1] = s[1] + c[1] * (change - s[1]);
    s[2] = s[2] + c[2] * (look * look - s[2]);
    s[3] = g;
    w = w - (c[4] * s[0] + c[5] * s[1]) / (root(c[6] * s[2] + c[7]) + c[8]);
  }
};
struct AdEmaMix {
  static constexpr size_t kStates = 3, kSums = 0, kCoefficients = 8;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1) | state(2);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (g - s[0]);
    s[1] = s[1] + c[1] * (g - s[1]);
    s[2] = s[2] + c[2] * (g * g - s[2]);
    w = w - (c[3] * s[0] + c[4] * s[1]) / (root(c[5] * s[2] + c[6]) + c[7]);
  }
};
/// The average of squares is that before this gradient.
struct Adopt {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 6;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (clamped(c[3], c[4], g / larger(root(s[1]), c[2])) - s[0]);
    s[1] = s[1] + c[1] * (g * g - s[1]);
    w = w - c[5] * s[0];
  }
};
/// s[2]: the estimate of the curvature.
struct Sophia {
  static constexpr size_t kStates = 3, kSums = 0, kCoefficients = 8;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (g - s[0]);
    w = w - c[1] * clamped(c[2], c[3], c[4] * s[0] / larger(c[5] * s[1], c[6]));
    s[1] = s[1] + c[7] * (s[2] - s[1]);
  }
};

constexpr Loop kLoops[] = {loop<Adan>("adan"), loop<AdEmaMix>("ademamix"), loop<Adopt>("adopt"), loop<Sophia>("sophia")};
}  // namespace

extern const Family kMomentsFamily;
const Family kMomentsFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kMomentsFamily
MINNOW_FAMILY(moments_family)

namespace minnow::train::coefficients {
namespace {
double reached(double beta, int64_t t) { return 1 - std::pow(beta, static_cast<double>(t)); }
}  // namespace

void adan(Step& step) {
  const auto [beta1, beta2, beta3, eps, eps_root] = step.own<5>();
  double* c = step.c + kOwn;
  c[0] = 1 - beta1, c[1] = 1 - beta2, c[2] = 1 - beta3;
  c[3] = step.t == 1 ? 0 : 1;  // there is no gradient before the first
  c[4] = step.lr / reached(beta1, step.t);
  c[5] = step.lr * (1 - beta2) / reached(beta2, step.t);
  c[6] = 1 / reached(beta3, step.t);
  c[7] = eps_root;
  c[8] = eps;
}

void ademamix(Step& step) {
  const auto [beta1, beta2, beta3, alpha, eps, eps_root] = step.own<6>();
  double* c = step.c + kOwn;
  c[0] = 1 - beta1, c[1] = 1 - beta3, c[2] = 1 - beta2;
  c[3] = step.lr / reached(beta1, step.t);
  c[4] = step.lr * alpha;
  c[5] = 1 / reached(beta2, step.t);
  c[6] = eps_root;
  c[7] = eps;
}

void adopt(Step& step) {
  const auto [beta1, beta2, eps, clip] = step.own<4>();
  const bool first = step.t == 1;  // which only begins the average of squares
  double* c = step.c + kOwn;
  c[0] = first ? 0 : 1 - beta1;
  c[1] = first ? 1 : 1 - beta2;
  c[2] = eps;
  c[4] = clip != 0 ? std::pow(static_cast<double>(step.t - 1), 0.25) : std::numeric_limits<double>::infinity();
  c[3] = -c[4];
  c[5] = step.lr;
}

void sophia(Step& step) {
  const auto [beta1, beta2, eps, gamma, clip] = step.own<5>();
  double* c = step.c + kOwn;
  c[0] = 1 - beta1;
  c[1] = step.lr;
  c[2] = -clip, c[3] = clip;
  c[4] = 1 / reached(beta1, step.t);
  c[5] = gamma, c[6] = eps;
  c[7] = step.has_curvature ? 1 - beta2 : 0;
}

}  // namespace minnow::train::coefficients
#endif
