// SPDX-License-Identifier: Apache-2.0
// L-BFGS, whose vectors are all tensors together.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/lbfgs.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "train/targets.h"

namespace minnow::train {
#ifndef MINNOW_LBFGS_LOOPS
#define MINNOW_LBFGS_LOOPS
/// Loops over a part of such a vector, for f32 and f64.
template <class T>
struct VectorLoops {
  double (*dot)(const T* x, const T* y, size_t count);
  void (*add)(T factor, const T* x, T* y, size_t count);  // y += factor x
  /// to = the gradient that the coefficients say.
  void (*gradient)(const Step& step, const T* w, const T* g, T* to, size_t count);
};
struct LbfgsLoops {
  VectorLoops<float> f32;
  VectorLoops<double> f64;
};
#endif
}  // namespace minnow::train

HWY_BEFORE_NAMESPACE();
namespace minnow::train::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
#include "train/loops.inc"

template <class T>
double dot(const T* x, const T* y, size_t count) {
  return sum_of<T>(count, [&]<class N>(N, size_t i) HWY_ATTR { return N::load(x + i) * N::load(y + i); });
}
template <class T>
void add(T factor, const T* x, T* y, size_t count) {
  each<T>(count, [&]<class N>(N, size_t i) HWY_ATTR { (N::load(y + i) + N::of(factor) * N::load(x + i)).store(y + i); });
}
template <class T>
void gradient(const Step& step, const T* w, const T* g, T* to, size_t count) {
  each<T>(count, [&]<class N>(N, size_t i) HWY_ATTR { gradient_of<N>(step, w, g, i).store(to + i); });
}
}  // namespace

extern const LbfgsLoops kLbfgsLoops;
const LbfgsLoops kLbfgsLoops{{dot<float>, add<float>, gradient<float>}, {dot<double>, add<double>, gradient<double>}};
#endif
}  // namespace minnow::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::train {
namespace {

const LbfgsLoops& loops() {
  switch (cpu::best_isa()) {
#define MINNOW_CASE(target, isa) \
  case isa:                      \
    return target::kLbfgsLoops;
    MINNOW_EACH_TARGET(MINNOW_CASE)
    default:
      throw InternalError("this build has no loops for {}", cpu::name_of(cpu::best_isa()));
  }
}

/// States of a tensor: pairs y and s in rings, their 1 / (y s), the gradient before, the direction before.
enum : size_t { kY, kS, kRho, kBefore, kDirection };
/// Scalars, of the first tensor: pairs that are there, where the next one goes, the scale of the first Hessian, the length of the step
/// before.
enum : size_t { kPairs, kNext, kScaleOfHessian, kLength };

/// Calls f(loops, T(), tensor, pointer) for each tensor, the pointer at element 0 of a state.
template <class F>
void each_tensor(std::span<const Member> tensors, F f) {
  static const LbfgsLoops& all = loops();
  for (const Member& tensor : tensors) {
    if (tensor.dtype == DType::f32)
      f(all.f32, float(), tensor);
    else
      f(all.f64, double(), tensor);
  }
}
template <class T>
T* at(const Member& tensor, size_t state, size_t ring = 0) {
  return static_cast<T*>(tensor.s[state]) + ring * tensor.count;
}
double dot(std::span<const Member> tensors, size_t state, size_t ring, size_t other) {
  double sum = 0;
  each_tensor(tensors, [&]<class T>(const VectorLoops<T>& loops, T, const Member& tensor) {
    sum += loops.dot(at<T>(tensor, state, ring), at<T>(tensor, other), tensor.count);
  });
  return sum;
}
/// direction += factor state
void add(std::span<const Member> tensors, double factor, size_t state, size_t ring) {
  each_tensor(tensors, [&]<class T>(const VectorLoops<T>& loops, T, const Member& tensor) {
    loops.add(static_cast<T>(factor), at<T>(tensor, state, ring), at<T>(tensor, kDirection), tensor.count);
  });
}

}  // namespace

void lbfgs(std::span<const Member> tensors) {
  const Step& step = *tensors[0].step;
  const auto [history, least_gradient, least_slope] = step.own<3>();
  const size_t most = static_cast<size_t>(history), ring = most + 1;  // one place is for a pair that may not be kept
  double* scalars = step.scalars;
  const size_t next = static_cast<size_t>(scalars[kNext]);
  const bool first = step.t == 1;

  // The new pair, and the gradient.
  double largest = 0, size = 0, squares = 0, ys = 0;
  each_tensor(tensors, [&]<class T>(const VectorLoops<T>& loops, T, const Member& tensor) {
    T *y = at<T>(tensor, kY, next), *s = at<T>(tensor, kS, next), *before = at<T>(tensor, kBefore), *direction = at<T>(tensor, kDirection);
    loops.gradient(*tensor.step, static_cast<const T*>(tensor.w), static_cast<const T*>(tensor.g), y, tensor.count);
    for (size_t i = 0; i < tensor.count; ++i) {
      const T g = y[i];
      largest = std::max(largest, static_cast<double>(std::fabs(g)));
      size += static_cast<double>(std::fabs(g));
      y[i] = g - before[i];
      s[i] = direction[i] * static_cast<T>(scalars[kLength]);
      before[i] = g;
      direction[i] = -g;
    }
    ys += loops.dot(y, s, tensor.count);
    squares += loops.dot(y, y, tensor.count);
  });
  if (first) scalars[kScaleOfHessian] = 1;
  if (!first && ys > 1e-10) {
    for (const Member& tensor : tensors)
      if (tensor.dtype == DType::f32)
        static_cast<float*>(tensor.s[kRho])[next] = static_cast<float>(1 / ys);
      else
        static_cast<double*>(tensor.s[kRho])[next] = 1 / ys;
    scalars[kPairs] = std::min(scalars[kPairs] + 1, history);
    scalars[kNext] = static_cast<double>((next + 1) % ring);
    scalars[kScaleOfHessian] = ys / squares;
  }

  // Nocedal 1980: the direction by two loops over the pairs.
  const size_t pairs = static_cast<size_t>(scalars[kPairs]), end = static_cast<size_t>(scalars[kNext]);
  const auto place = [&](size_t age) { return (end + ring - 1 - age) % ring; };
  const auto rho = [&](size_t i) {
    return tensors[0].dtype == DType::f32 ? static_cast<double>(static_cast<float*>(tensors[0].s[kRho])[i])
                                          : static_cast<double*>(tensors[0].s[kRho])[i];
  };
  double alphas[kMostHistory];
  for (size_t age = 0; age < pairs; ++age) {
    alphas[age] = dot(tensors, kS, place(age), kDirection) * rho(place(age));
    add(tensors, -alphas[age], kY, place(age));
  }
  add(tensors, scalars[kScaleOfHessian] - 1, kDirection, 0);
  for (size_t age = pairs; age-- > 0;) {
    const double beta = dot(tensors, kY, place(age), kDirection) * rho(place(age));
    add(tensors, alphas[age] - beta, kS, place(age));
  }
  const double slope = dot(tensors, kBefore, 0, kDirection);
  scalars[kLength] = first ? std::min(1.0, 1 / size) * step.lr : step.lr;
  if (largest <= least_gradient || slope > -least_slope) return;  // there is nowhere to go
  each_tensor(tensors, [&]<class T>(const VectorLoops<T>& loops, T, const Member& tensor) {
    loops.add(static_cast<T>(scalars[kLength]), at<T>(tensor, kDirection), static_cast<T*>(tensor.w), tensor.count);
  });
}

}  // namespace minnow::train
#endif
