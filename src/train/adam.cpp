// SPDX-License-Identifier: Apache-2.0
// Adam and optimizers that change one thing in it.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/adam.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

/// Both averages: c[0] is 1 - beta1, c[1] 1 - beta2; the moments are s[0] and s[1]. A factor beta near 1 would lose digits, the
/// same ones in each step.
template <class N>
HWY_INLINE void follow(const N& g, N* s, const N* c) {
  s[0] = s[0] + c[0] * (g - s[0]);
  s[1] = s[1] + c[1] * (g * g - s[1]);
}

struct Adam {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 6;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1), kPositive = 2;
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    w = w - c[2] * s[0] / (root(c[3] * s[1] + c[4]) + c[5]);
  }
};
struct AmsGrad {
  static constexpr size_t kStates = 3, kSums = 0, kCoefficients = 7;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1) | state(2);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    s[2] = larger(s[2], c[6] * s[1]);
    w = w - c[2] * s[0] / (root(c[3] * s[2] + c[4]) + c[5]);
  }
};
struct Adamax {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 4;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (g - s[0]);
    s[1] = larger(c[1] * s[1], size(g) + c[2]);
    w = w - c[3] * s[0] / s[1];
  }
};
struct NAdam {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 6;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    w = w - (c[2] * s[0] + c[3] * g) / (root(c[4] * s[1]) + c[5]);
  }
};
struct RAdam {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 5;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    w = w - (c[2] * s[0] / (root(s[1]) + c[3]) + c[4] * s[0]);
  }
};
struct Yogi {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 5;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    const N square = c[1] * (g * g), distance = s[1] - g * g;
    s[0] = s[0] + c[0] * (g - s[0]);
    s[1] = by_sign(distance, s[1] - square, s[1] + square, s[1]);
    w = w - c[2] * s[0] / (root(c[3] * s[1]) + c[4]);
  }
};
struct AdaBelief {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 6;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = s[0] + c[0] * (g - s[0]);
    const N surprise = g - s[0];
    s[1] = s[1] + c[1] * (surprise * surprise - s[1]) + c[4];
    w = w - c[2] * s[0] / (root(c[3] * s[1]) + c[5]);
  }
};

constexpr Loop kLoops[] = {loop<Adam>("adam"),   byte_loop<Adam>("adam_bytes"), loop<AmsGrad>("amsgrad"), loop<Adamax>("adamax"),
                           loop<NAdam>("nadam"), loop<RAdam>("radam"),          loop<Yogi>("yogi"),       loop<AdaBelief>("adabelief")};
}  // namespace

extern const Family kAdamFamily;
const Family kAdamFamily{kLoops};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_FAMILY_TABLE kAdamFamily
MINNOW_FAMILY(adam_family)

namespace minnow::train::coefficients {
namespace {

/// 1 - beta^t, by which an average that began at 0 is short.
double reached(double beta, int64_t t) { return 1 - std::pow(beta, static_cast<double>(t)); }

void set_betas(double* c, double beta1, double beta2) { c[0] = 1 - beta1, c[1] = 1 - beta2; }

}  // namespace

void adam(Step& step) {
  const auto [beta1, beta2, eps, eps_root, amsgrad, corrected_maximum] = step.own<6>();
  double* c = step.c + kOwn;
  const double correction = 1 / reached(beta2, step.t);
  set_betas(c, beta1, beta2);
  c[2] = step.lr / reached(beta1, step.t);
  c[3] = amsgrad != 0 && corrected_maximum != 0 ? 1 : correction;
  c[4] = eps_root;
  c[5] = eps;
  c[6] = corrected_maximum != 0 ? correction : 1;
}

void adamax(Step& step) {
  const auto [beta1, beta2, eps] = step.own<3>();
  double* c = step.c + kOwn;
  c[0] = 1 - beta1, c[1] = beta2, c[2] = eps;
  c[3] = step.lr / reached(beta1, step.t);
}

void nadam(Step& step) {
  const auto [beta1, beta2, eps, momentum_decay] = step.own<4>();
  const double t = static_cast<double>(step.t), mu = beta1 * (1 - 0.5 * std::pow(0.96, t * momentum_decay)),
               next = beta1 * (1 - 0.5 * std::pow(0.96, (t + 1) * momentum_decay));
  double& product = step.scalars[0];
  product = (step.t == 1 ? 1 : product) * mu;
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[2] = step.lr * next / (1 - product * next);
  c[3] = step.lr * (1 - mu) / (1 - product);
  c[4] = 1 / reached(beta2, step.t);
  c[5] = eps;
}

void radam(Step& step) {
  const auto [beta1, beta2, eps] = step.own<3>();
  const double t = static_cast<double>(step.t), most = 2 / (1 - beta2) - 1,
               length = most - 2 * t * std::pow(beta2, t) / reached(beta2, step.t), rate = step.lr / reached(beta1, step.t);
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[2] = c[4] = 0;
  c[3] = eps;
  if (length > 5)
    c[2] = rate * std::sqrt(reached(beta2, step.t)) * std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
  else
    c[4] = rate;
}

void yogi(Step& step) {
  const auto [beta1, beta2, eps, initial] = step.own<4>();
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[2] = step.lr / reached(beta1, step.t);
  c[3] = 1 / reached(beta2, step.t);
  c[4] = eps;
}

void adabelief(Step& step) {
  const auto [beta1, beta2, eps, eps_root] = step.own<4>();
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[2] = step.lr / reached(beta1, step.t);
  c[3] = 1 / reached(beta2, step.t);
  c[4] = eps_root;
  c[5] = eps;
}

}  // namespace minnow::train::coefficients
#endif
