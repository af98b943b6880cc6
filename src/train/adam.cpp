// SPDX-License-Identifier: Apache-2.0
// Adam and optimizers that change one thing in it.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/adam.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

/// The update of moments that most rules share. c[0] beta1, c[1] 1 - beta1, c[2] beta2, c[3] 1 - beta2; the moments are s[0] and s[1].
template <class N>
HWY_INLINE void follow(const N& g, N* s, const N* c) {
  s[0] = c[0] * s[0] + c[1] * g;
  s[1] = c[2] * s[1] + c[3] * (g * g);
}

struct Adam {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 8;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1), kPositive = 2;
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    w = w - c[4] * s[0] / (root(c[5] * s[1] + c[6]) + c[7]);
  }
};
struct AmsGrad {
  static constexpr size_t kStates = 3, kSums = 0, kCoefficients = 9;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1) | state(2);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    s[2] = larger(s[2], c[8] * s[1]);
    w = w - c[4] * s[0] / (root(c[5] * s[2] + c[6]) + c[7]);
  }
};
struct Adamax {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 5;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = c[0] * s[0] + c[1] * g;
    s[1] = larger(c[2] * s[1], size(g) + c[3]);
    w = w - c[4] * s[0] / s[1];
  }
};
struct NAdam {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 8;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    w = w - (c[4] * s[0] + c[5] * g) / (root(c[6] * s[1]) + c[7]);
  }
};
struct RAdam {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 7;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    follow(g, s, c);
    w = w - (c[4] * s[0] / (root(s[1]) + c[5]) + c[6] * s[0]);
  }
};
struct Yogi {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 7;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    const N square = c[3] * (g * g), distance = s[1] - g * g;
    s[0] = c[0] * s[0] + c[1] * g;
    s[1] = by_sign(distance, s[1] - square, s[1] + square, s[1]);
    w = w - c[4] * s[0] / (root(c[5] * s[1]) + c[6]);
  }
};
struct AdaBelief {
  static constexpr size_t kStates = 2, kSums = 0, kCoefficients = 8;
  static constexpr unsigned kWrites = kWeights | state(0) | state(1);
  template <class N>
  static HWY_INLINE void update(N& w, const N& g, N* s, const N* c, N*) {
    s[0] = c[0] * s[0] + c[1] * g;
    const N surprise = g - s[0];
    s[1] = c[2] * s[1] + c[3] * (surprise * surprise) + c[6];
    w = w - c[4] * s[0] / (root(c[5] * s[1]) + c[7]);
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

void set_betas(double* c, double beta1, double beta2) { c[0] = beta1, c[1] = 1 - beta1, c[2] = beta2, c[3] = 1 - beta2; }

}  // namespace

void adam(Step& step) {
  const auto [beta1, beta2, eps, eps_root, amsgrad, corrected_maximum] = step.own<6>();
  double* c = step.c + kOwn;
  const double correction = 1 / reached(beta2, step.t);
  set_betas(c, beta1, beta2);
  c[4] = step.lr / reached(beta1, step.t);
  c[5] = amsgrad != 0 && corrected_maximum != 0 ? 1 : correction;
  c[6] = eps_root;
  c[7] = eps;
  c[8] = corrected_maximum != 0 ? correction : 1;
}

void adamax(Step& step) {
  const auto [beta1, beta2, eps] = step.own<3>();
  double* c = step.c + kOwn;
  c[0] = beta1, c[1] = 1 - beta1, c[2] = beta2, c[3] = eps;
  c[4] = step.lr / reached(beta1, step.t);
}

void nadam(Step& step) {
  const auto [beta1, beta2, eps, momentum_decay] = step.own<4>();
  const double t = static_cast<double>(step.t), mu = beta1 * (1 - 0.5 * std::pow(0.96, t * momentum_decay)),
               next = beta1 * (1 - 0.5 * std::pow(0.96, (t + 1) * momentum_decay));
  double& product = step.scalars[0];
  product = (step.t == 1 ? 1 : product) * mu;
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[4] = step.lr * next / (1 - product * next);
  c[5] = step.lr * (1 - mu) / (1 - product);
  c[6] = 1 / reached(beta2, step.t);
  c[7] = eps;
}

void radam(Step& step) {
  const auto [beta1, beta2, eps] = step.own<3>();
  const double t = static_cast<double>(step.t), most = 2 / (1 - beta2) - 1,
               length = most - 2 * t * std::pow(beta2, t) / reached(beta2, step.t), rate = step.lr / reached(beta1, step.t);
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[4] = c[6] = 0;
  c[5] = eps;
  if (length > 5)
    c[4] = rate * std::sqrt(reached(beta2, step.t)) * std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
  else
    c[6] = rate;
}

void yogi(Step& step) {
  const auto [beta1, beta2, eps, initial] = step.own<4>();
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[4] = step.lr / reached(beta1, step.t);
  c[5] = 1 / reached(beta2, step.t);
  c[6] = eps;
}

void adabelief(Step& step) {
  const auto [beta1, beta2, eps, eps_root] = step.own<4>();
  double* c = step.c + kOwn;
  set_betas(c, beta1, beta2);
  c[4] = step.lr / reached(beta1, step.t);
  c[5] = 1 / reached(beta2, step.t);
  c[6] = eps_root;
  c[7] = eps;
}

}  // namespace minnow::train::coefficients
#endif
