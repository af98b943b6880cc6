// SPDX-License-Identifier: Apache-2.0
// L-BFGS, whose vectors are all tensors together.
#include "train/families.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/lbfgs.cpp"
#include "hwy/cache_control.h"
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

/// Sets the pair of the step before and the direction; false where there is nowhere to go. `slope`: along the direction.
bool find_direction(std::span<const Member> tensors, double& slope) {
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
  slope = dot(tensors, kBefore, 0, kDirection);
  scalars[kLength] = first ? std::min(1.0, 1 / size) * step.lr : step.lr;
  return largest > least_gradient && slope <= -least_slope;
}

/// w += length direction
void move(std::span<const Member> tensors, double length) {
  each_tensor(tensors, [&]<class T>(const VectorLoops<T>& loops, T, const Member& tensor) {
    loops.add(static_cast<T>(length), at<T>(tensor, kDirection), static_cast<T*>(tensor.w), tensor.count);
  });
}

/// The loss at a distance along the direction.
struct Trial {
  double length, loss, slope;
};

/// The least value between two trials of the cubic that fits both, within the limits.
double least_of_cubic(const Trial& a, const Trial& b, double low, double high) {
  const Trial &left = a.length <= b.length ? a : b, &right = a.length <= b.length ? b : a;
  const double bend = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.length - right.length);
  const double square = bend * bend - left.slope * right.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double root = std::sqrt(square);
  const double place = right.length - (right.length - left.length) * ((right.slope + root - bend) / (right.slope - left.slope + 2 * root));
  return std::min(std::max(place, low), high);
}

/// A length that fulfills the strong Wolfe conditions, or the best of those tried: Nocedal, Wright 2006, algorithms 3.5 and 3.6, with the
/// limits of torch. `largest`: the largest element of the direction.
template <class Try>
double strong_wolfe(const Trial& start, double length, double largest, Try attempt) {
  constexpr double kDecrease = 1e-4, kCurvature = 0.9, kLeastBracket = 1e-9, kMostOfStep = 0.1;
  constexpr int kMostTrials = 25;
  const auto too_high = [&](const Trial& trial) { return trial.loss > start.loss + kDecrease * trial.length * start.slope; };
  const auto is_flat = [&](const Trial& trial) { return std::fabs(trial.slope) <= -kCurvature * start.slope; };
  Trial before = start, now = attempt(length);
  int trials = 0;
  for (;; ++trials) {
    if (trials == kMostTrials) return start.loss <= now.loss ? start.length : now.length;
    if (too_high(now) || (trials > 1 && now.loss >= before.loss)) break;
    if (is_flat(now)) return now.length;
    if (now.slope >= 0) break;
    const double next = least_of_cubic(before, now, now.length + 0.01 * (now.length - before.length), 10 * now.length);
    before = now;
    now = attempt(next);
  }
  // The length lies between two trials.
  Trial pair[2] = {before, now};
  size_t low = pair[0].loss <= pair[1].loss ? 0 : 1;
  bool slow = false;
  for (; trials < kMostTrials; ++trials) {
    const double left = std::min(pair[0].length, pair[1].length), right = std::max(pair[0].length, pair[1].length);
    if ((right - left) * largest < kLeastBracket) break;
    double next = least_of_cubic(pair[0], pair[1], left, right);
    const double margin = kMostOfStep * (right - left);
    const bool near = std::min(right - next, next - left) < margin;
    if (near && (slow || next >= right || next <= left)) {
      next = std::fabs(next - right) < std::fabs(next - left) ? right - margin : left + margin;
      slow = false;
    } else {
      slow = near;
    }
    now = attempt(next);
    if (too_high(now) || now.loss >= pair[low].loss) {
      pair[1 - low] = now;
      low = pair[0].loss <= pair[1].loss ? 0 : 1;
      continue;
    }
    const bool done = is_flat(now);
    if (!done && now.slope * (pair[1 - low].length - pair[low].length) >= 0) pair[1 - low] = pair[low];
    pair[low] = now;
    if (done) break;
  }
  return pair[low].length;
}

}  // namespace

void lbfgs(std::span<const Member> tensors) {
  double slope = 0;
  if (find_direction(tensors, slope)) move(tensors, tensors[0].step->scalars[kLength]);
}

void lbfgs_search(std::span<const Member> tensors, double loss, const std::function<double()>& again) {
  Trial start{0, loss, 0};
  if (!find_direction(tensors, start.slope)) return;
  double* scalars = tensors[0].step->scalars;
  const size_t free = static_cast<size_t>(scalars[kNext]);  // the place of the next pair keeps the weights until then
  double largest = 0;
  each_tensor(tensors, [&]<class T>(const VectorLoops<T>&, T, const Member& tensor) {
    std::copy_n(static_cast<const T*>(tensor.w), tensor.count, at<T>(tensor, kS, free));
    for (size_t i = 0; i < tensor.count; ++i) largest = std::max(largest, static_cast<double>(std::fabs(at<T>(tensor, kDirection)[i])));
  });
  const auto go = [&](double length) {
    each_tensor(tensors, [&]<class T>(const VectorLoops<T>&, T, const Member& tensor) {
      std::copy_n(at<T>(tensor, kS, free), tensor.count, static_cast<T*>(tensor.w));
    });
    move(tensors, length);
  };
  const double first = std::exchange(scalars[kLength], 0.0);  // of the step, if a loss fails
  const double found = strong_wolfe(start, first, largest, [&](double length) {
    go(length);
    Trial trial{length, 0, 0};
    try {
      trial.loss = again();
    } catch (...) {
      go(0);
      throw;
    }
    each_tensor(tensors, [&]<class T>(const VectorLoops<T>& loops, T, const Member& tensor) {
      trial.slope += loops.dot(static_cast<const T*>(tensor.g), at<T>(tensor, kDirection), tensor.count);
    });
    return trial;
  });
  go(found);
  scalars[kLength] = found;
}

}  // namespace minnow::train
#endif
