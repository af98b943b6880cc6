// SPDX-License-Identifier: Apache-2.0
// Steps whose length depends on norms of whole tensors: two passes, the first of which adds up.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/layers.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

/// c: 1 - beta1, 1 - beta2, corrections, eps, decay, eps_root; kMoves: the length of the step.
template <bool kMoves>
struct Lamb {
  static constexpr size_t kStates = 2, kSums = kMoves ? 0 : 2, kCoefficients = kMoves ? 8 : 7;
  static constexpr unsigned kWrites = kMoves ? kWeights : state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, [[maybe_unused]] const N& g, N* s, const N* c, [[maybe_unused]] N* sums) {
    if constexpr (!kMoves) {
      s[0] = s[0] + c[0] * (g - s[0]);
      s[1] = s[1] + c[1] * (g * g - s[1]);
    }
    const N direction = c[2] * s[0] / (root(c[3] * s[1] + c[6]) + c[4]) + c[5] * w;
    if constexpr (kMoves) {
      w = w - c[7] * direction;
    } else {
      sums[0] = sums[0] + w * w;
      sums[1] = sums[1] + direction * direction;
    }
  }
};
struct LarsNorms {
  static constexpr size_t kStates = 0, kSums = 3, kCoefficients = 1;
  static constexpr unsigned kWrites = 0;
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N*, const N* c, N* sums) {
    const N decayed = g + c[0] * w;
    sums[0] = sums[0] + w * w;
    sums[1] = sums[1] + decayed * decayed;
    sums[2] = sums[2] + g * g;
  }
};
struct Lars {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 5;
  static constexpr unsigned kWrites = kWeights | state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    const N step = c[2] * (g + c[0] * w);
    s[0] = c[1] * s[0] + step;
    w = w - (c[3] * step + c[4] * s[0]);
  }
};
struct NovoGrad {
  static constexpr size_t kStates = 1, kSums = 0, kCoefficients = 4;
  static constexpr unsigned kWrites = kWeights | state(0);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = c[0] * s[0] + (c[1] * g + c[2] * w);
    w = w - c[3] * s[0];
  }
};
/// States: m, v, the sum of gradients, the first weights.
struct ProdigyEstimate {
  static constexpr size_t kStates = 4, kSums = 2, kCoefficients = 6;
  static constexpr unsigned kWrites = state(0) | state(1) | state(2);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N* sums) {
    s[0] = c[0] * s[0] + c[1] * g;
    s[1] = c[2] * s[1] + c[3] * (g * g);
    s[2] = c[4] * s[2] + c[5] * g;
    sums[0] = sums[0] + g * (s[3] - w);
    sums[1] = sums[1] + size(s[2]);
  }
};
struct Prodigy {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 3;
  static constexpr unsigned kWrites = kWeights;
  template <class N>
  static HWY_INLINE void update(N& w, const N&, N* s, const N* c, N*) {
    w = w - (c[0] * w + c[1] * s[0] / (root(s[1]) + c[2]));
  }
};

constexpr Loop kLoops[] = {loop<Lamb<false>>("lamb_norms"), loop<Lamb<true>>("lamb"),
                           loop<LarsNorms>("lars_norms"),   loop<Lars>("lars"),
                           loop<NovoGrad>("novograd"),      loop<ProdigyEstimate>("prodigy_estimate"),
                           loop<Prodigy>("prodigy")};
}  // namespace

extern const Family kLayerFamily;
const Family kLayerFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kLayerFamily
MINNOW_FAMILY(layer_family)

namespace minnow::train::coefficients {
namespace {
double reached(double beta, int64_t t) { return 1 - std::pow(beta, static_cast<double>(t)); }

/// By which a step is longer or shorter, so that its norm is that of the weights; 1 where one of them is 0.
double trust(double weights, double step) { return weights > 0 && step > 0 ? std::sqrt(weights) / std::sqrt(step) : 1; }
}  // namespace

void lamb_norms(Step& step) {
  const auto [beta1, beta2, eps, eps_root] = step.own<4>();
  double* c = step.c + kOwn;
  c[0] = 1 - beta1, c[1] = 1 - beta2;
  c[2] = 1 / reached(beta1, step.t);
  c[3] = 1 / reached(beta2, step.t);
  c[4] = eps;
  c[5] = step.weight_decay;
  c[6] = eps_root;
}
void lamb(Step& step) {
  lamb_norms(step);
  step.c[kOwn + 7] = step.lr * trust(step.sums[0], step.sums[1]);
}

void lars_norms(Step& step) { step.c[kOwn] = step.weight_decay; }
void lars(Step& step) {
  const auto [momentum, coefficient, eps, nesterov, separate_norms] = step.own<5>();
  const double weights = std::sqrt(step.sums[0]),
               gradient = separate_norms != 0 ? std::sqrt(step.sums[2]) + step.weight_decay * weights : std::sqrt(step.sums[1]);
  double* c = step.c + kOwn;
  c[0] = step.weight_decay;
  c[1] = momentum;
  c[2] = step.lr * (weights > 0 && gradient > 0 ? coefficient * weights / (gradient + eps) : 1);
  c[3] = nesterov != 0 ? 1 : 0;
  c[4] = nesterov != 0 ? momentum : 1;
}

void novograd_norm(Step&) {}
void novograd(Step& step) {
  const auto [beta1, beta2, eps, eps_root] = step.own<4>();
  double& v = step.scalars[0];
  v = step.t == 1 ? step.sums[0] : beta2 * v + (1 - beta2) * step.sums[0];
  double* c = step.c + kOwn;
  c[0] = beta1;
  c[1] = 1 / (std::sqrt(v + eps_root) + eps);
  c[2] = step.weight_decay;
  c[3] = step.lr;
}

/// Scalars: d, the numerator of its estimate, the learning rate with d of before.
void prodigy_estimate(Step& step) {
  const auto [beta1, beta2, beta3, eps, d0, growth, safeguard] = step.own<7>();
  if (step.t == 1) step.scalars[0] = d0;
  const double d = step.scalars[0], sum_decay = beta3 > 0 ? beta3 : std::sqrt(beta2);
  const double rate = step.scalars[2] = d * step.lr * std::sqrt(reached(beta2, step.t)) / reached(beta1, step.t);
  double* c = step.c + kOwn;
  c[0] = beta1, c[1] = (1 - beta1) * d, c[2] = beta2, c[3] = (1 - beta2) * d * d;
  c[4] = sum_decay, c[5] = (safeguard != 0 ? d : rate) * d / d0;
}
/// d is one for all tensors: each has the same sums.
void prodigy(Step& step) {
  const auto [beta1, beta2, beta3, eps, d0, growth, safeguard] = step.own<7>();
  double &d = step.scalars[0], &numerator = step.scalars[1];
  const double rate = step.scalars[2];
  numerator = (beta3 > 0 ? beta3 : std::sqrt(beta2)) * numerator + d / d0 * rate * step.all_sums[0];
  if (step.all_sums[1] > 0) d = std::max(d, growth * numerator / step.all_sums[1]);
  double* c = step.c + kOwn;
  c[0] = step.weight_decay * rate;
  c[1] = rate;
  c[2] = d * eps;
}

}  // namespace minnow::train::coefficients
#endif
