// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/sums64.h"

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numpy/kernels/sums64.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::numpy::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_FLOAT64
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(double);

HWY_INLINE V load(const double* x) { return hn::LoadU(D(), x); }
HWY_INLINE V load(const float* x) { return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), x)); }
HWY_INLINE V zero() { return hn::Zero(D()); }
HWY_INLINE V splat(double x) { return hn::Set(D(), x); }
HWY_INLINE double total(V x) { return hn::GetLane(hn::SumOfLanes(D(), x)); }
HWY_INLINE V plus(V a, V b) { return hn::Add(a, b); }
HWY_INLINE V plus_square(V sum, V x, V center) {
  const V away = hn::Sub(x, center);
  return hn::MulAdd(away, away, sum);
}
HWY_INLINE void store(V x, double* y) { hn::StoreU(x, D(), y); }
#else  // one after the other
using V = double;
constexpr size_t kLanes = 1;

template <class T>
V load(const T* x) {
  return *x;
}
V zero() { return 0; }
V splat(double x) { return x; }
double total(V x) { return x; }
V plus(V a, V b) { return a + b; }
V plus_square(V sum, V x, V center) { return sum + (x - center) * (x - center); }
void store(V x, double* y) { *y = x; }
#endif

/// step(sum, place of a vector) over all whole vectors, in four sums that hide the adder's latency.
template <class F>
HWY_INLINE V accumulated(size_t vectors, F step) {
  V a = zero(), b = zero(), c = zero(), d = zero();
  size_t i = 0;
  for (; i + 4 <= vectors; i += 4) {
    a = step(a, i * kLanes), b = step(b, (i + 1) * kLanes);
    c = step(c, (i + 2) * kLanes), d = step(d, (i + 3) * kLanes);
  }
  for (; i < vectors; ++i) a = step(a, i * kLanes);
  return plus(plus(a, b), plus(c, d));
}

template <class T>
double sum(const void* from, size_t count) {
  const T* x = static_cast<const T*>(from);
  double result = total(accumulated(count / kLanes, [x](V so_far, size_t i) HWY_ATTR { return plus(so_far, load(x + i)); }));
  for (size_t i = count / kLanes * kLanes; i < count; ++i) result += static_cast<double>(x[i]);
  return result;
}

template <class T>
double squares(const void* from, size_t count, double center) {
  const T* x = static_cast<const T*>(from);
  const V middle = splat(center);
  double result =
      total(accumulated(count / kLanes, [x, middle](V so_far, size_t i) HWY_ATTR { return plus_square(so_far, load(x + i), middle); }));
  for (size_t i = count / kLanes * kLanes; i < count; ++i) {
    const double away = static_cast<double>(x[i]) - center;
    result += away * away;
  }
  return result;
}

template <class T>
void add(const void* from, size_t count, double* y) {
  const T* x = static_cast<const T*>(from);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(plus(load(y + i), load(x + i)), y + i);
  for (; i < count; ++i) y[i] += static_cast<double>(x[i]);
}

template <class T>
void add_squares(const void* from, const double* center, size_t count, double* y) {
  const T* x = static_cast<const T*>(from);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(plus_square(load(y + i), load(x + i), load(center + i)), y + i);
  for (; i < count; ++i) {
    const double away = static_cast<double>(x[i]) - center[i];
    y[i] += away * away;
  }
}

template <class T>
constexpr SumLoops loops_of() {
  return {sum<T>, squares<T>, add<T>, add_squares<T>};
}
}  // namespace

extern const Sum64Kernels kSum64Kernels;
const Sum64Kernels kSum64Kernels{loops_of<float>(), loops_of<double>()};
#endif
}  // namespace minnow::numpy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
