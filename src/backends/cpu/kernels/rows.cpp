// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/rows.cpp"
#include "base/saturating.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/math.inc"

HWY_INLINE V keep_nan(V a, V y) { return hn::IfThenElse(hn::Eq(a, a), y, a); }

struct Sum {
  static constexpr bool kAdds = true;
  static constexpr float kStart = 0;
  static HWY_INLINE V of(V x) { return x; }
  static HWY_INLINE V join(V a, V b) { return hn::Add(a, b); }
};
struct SumAbs : Sum {
  static HWY_INLINE V of(V x) { return hn::Abs(x); }
};
struct SumSquare : Sum {
  static HWY_INLINE V of(V x) { return hn::Mul(x, x); }
};
struct Max {
  static constexpr bool kAdds = false;
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static HWY_INLINE V of(V x) { return x; }
  static HWY_INLINE V join(V a, V b) { return keep_nan(a, at_least(a, b)); }
};
struct Largest : Max {  // a NaN may be lost
  static HWY_INLINE V join(V a, V b) { return at_least(a, b); }
};
struct Min {
  static constexpr bool kAdds = false;
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  static HWY_INLINE V of(V x) { return x; }
  static HWY_INLINE V join(V a, V b) { return keep_nan(a, at_most(a, b)); }
};
struct Product {
  static constexpr bool kAdds = false;
  static constexpr float kStart = 1;
  static HWY_INLINE V of(V x) { return x; }
  static HWY_INLINE V join(V a, V b) { return hn::Mul(a, b); }
};

// The last floats of a row in a vector, the lanes beyond being `fill`.
HWY_INLINE V load_rest(const float* x, size_t count, float fill) {
#if HWY_MEM_OPS_MIGHT_FAULT
  float rest[kLanes];
  for (size_t i = 0; i < kLanes; ++i) rest[i] = i < count ? x[i] : fill;
  return hn::LoadU(D(), rest);
#else
  const D d;
  const auto first = hn::FirstN(d, count);
  return hn::IfThenElse(first, hn::MaskedLoad(first, d, x), hn::Set(d, fill));
#endif
}
// For reduce_columns, which has many of them: inlined they were more than half of its code.
HWY_NOINLINE V load_zero_rest(const float* x, size_t count) { return load_rest(x, count, 0); }
HWY_INLINE void store_rest(V v, size_t count, float* y) {
#if HWY_MEM_OPS_MIGHT_FAULT
  float rest[kLanes];
  hn::StoreU(v, D(), rest);
  std::memcpy(y, rest, count * sizeof(float));
#else
  const D d;
  hn::BlendedStore(v, hn::FirstN(d, count), d, y);
#endif
}

// Joins the lanes of a vector. (Through memory it took a third of a softmax of 128, because a load waits for the stores of both of its
// parts.)
template <class F>
HWY_INLINE float across(V v) {
  v = F::join(v, hn::Shuffle1032(v));
  v = F::join(v, hn::Shuffle2301(v));
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  v = F::join(v, hn::SwapAdjacentBlocks(v));
#if HWY_TARGET == HWY_AVX3
  v = F::join(v, hn::ReverseBlocks(D(), v));
#endif
#endif
  return hn::GetLane(v);
}

// Sums of more floats, or of more rows, are made of parts: one after the other, millions of numbers that are alike would lose most digits.
constexpr size_t kPart = size_t{1} << 14, kPartRows = 4096;

// `map` is applied to each element first. Four running results, so that additions need not wait for each other.
template <class F, class Map>
HWY_INLINE float reduce_part(const float* x, size_t count, Map map) {
  const D d;
  const V start = hn::Set(d, F::kStart);
  V total[4] = {start, start, start, start};
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) total[j] = F::join(total[j], map(hn::LoadU(d, x + i + j * kLanes)));
  for (; i + kLanes <= count; i += kLanes) total[0] = F::join(total[0], map(hn::LoadU(d, x + i)));
  if (i < count) {
    const V last = map(load_rest(x + i, count - i, 0));
    float rest[kLanes];
    hn::StoreU(last, d, rest);
    total[1] = F::join(total[1], load_rest(rest, count - i, F::kStart));
  }
  return across<F>(F::join(F::join(total[0], total[1]), F::join(total[2], total[3])));
}
template <class F, class Map>
HWY_INLINE float reduce_with(const float* x, size_t count, Map map) {
  if constexpr (!F::kAdds) return reduce_part<F>(x, count, map);
  double total = 0;
  for (size_t part;; x += part, count -= part) {
    part = std::min(count, kPart);
    total += static_cast<double>(reduce_part<F>(x, part, map));
    if (part == count) return static_cast<float>(total);
  }
}
template <class F>
float reduce(const float* x, size_t count) {
  return reduce_with<F>(x, count, [](V v) HWY_ATTR { return F::of(v); });
}

template <class F>
void reduce_columns(const float* x, size_t rows, size_t stride, size_t count, bool first, float* total) {
  const D d;
  if constexpr (F::kAdds)
    if (rows > kPartRows) {
      float part[256];
      for (size_t row = 0; row < rows; row += kPartRows)
        for (size_t i = 0; i < count; i += std::size(part)) {
          const size_t columns = std::min(std::size(part), count - i);
          reduce_columns<F>(x + row * stride + i, std::min(kPartRows, rows - row), stride, columns, true, part);
          for (size_t k = 0; k < columns; ++k) total[i + k] = first && row == 0 ? part[k] : total[i + k] + part[k];
        }
      return;
    }
  for (size_t row = 0; row < rows; x += stride, ++row) {
    // Four rows at a time, so that totals come from memory a fourth as often.
    const bool four = !first && rows - row >= 4;
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      V v = F::of(hn::LoadU(d, x + i));
      if (four)
        v = F::join(F::join(v, F::of(hn::LoadU(d, x + stride + i))),
                    F::join(F::of(hn::LoadU(d, x + 2 * stride + i)), F::of(hn::LoadU(d, x + 3 * stride + i))));
      hn::StoreU(first ? v : F::join(hn::LoadU(d, total + i), v), d, total + i);
    }
    if (i < count) {
      V v = F::of(load_zero_rest(x + i, count - i));
      if (four)
        for (size_t k = 1; k < 4; ++k) v = F::join(v, F::of(load_zero_rest(x + k * stride + i, count - i)));
      store_rest(first ? v : F::join(load_zero_rest(total + i, count - i), v), count - i, total + i);
    }
    if (four) row += 3, x += 3 * stride;
    first = false;
  }
}

template <class Map>
HWY_INLINE void map_row(const float* x, size_t count, float* y, Map map) {
  const D d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(map(hn::LoadU(d, x + i)), d, y + i);
  if (i < count) store_rest(map(load_rest(x + i, count - i, 0)), count - i, y + i);
}

// The largest of a row, and the sum of e^(x - largest), which are written to y if there is one. A NaN may be lost for the largest, but the
// sum has it.
HWY_NOINLINE float exponentials(const float* x, size_t count, float* y, float* largest) {
  const D d;
  const float most = *largest = reduce_with<Largest>(x, count, [](V v) HWY_ATTR { return v; });
  const V vm = hn::Set(d, most);
  double sum = 0;
  for (size_t i = 0; i < count;) {
    const size_t end = std::min(count, i + kPart);
    V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      V e[4];
      MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) { __builtin_prefetch(x + count + i + j * kLanes, 0, 2); }
      MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) e[j] = exp_down(hn::Sub(hn::LoadU(d, x + i + j * kLanes), vm));
      MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) total[j] = hn::Add(total[j], e[j]);
      if (y) MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) hn::StoreU(e[j], d, y + i + j * kLanes);
    }
    for (; i < end; i += kLanes) {
      const size_t rest = std::min(kLanes, end - i);
      const V e = exp_down(hn::Sub(load_rest(x + i, rest, -std::numeric_limits<float>::infinity()), vm));
      total[0] = hn::Add(total[0], hn::IfThenElseZero(hn::FirstN(d, rest), e));
      if (y) store_rest(e, rest, y + i);
    }
    sum += static_cast<double>(across<Sum>(hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3]))));
  }
  return static_cast<float>(sum);
}

// The sum of the products of two rows.
float dot(const float* a, const float* b, size_t count) {
  const D d;
  double sum = 0;
  for (size_t i = 0; i < count;) {
    const size_t end = std::min(count, i + kPart);
    V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (; i + 4 * kLanes <= end; i += 4 * kLanes)
      MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) total[j] =
          hn::MulAdd(hn::LoadU(d, a + i + j * kLanes), hn::LoadU(d, b + i + j * kLanes), total[j]);
    for (; i + kLanes <= end; i += kLanes) total[0] = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), total[0]);
    if (i < end) total[1] = hn::MulAdd(load_rest(a + i, end - i, 0), load_rest(b + i, end - i, 0), total[1]);
    sum += static_cast<double>(across<Sum>(hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3]))));
    i = end;
  }
  return static_cast<float>(sum);
}

void softmax(const float* x, size_t count, float* y) {
  float most;
  const V share = hn::Set(D(), 1 / exponentials(x, count, y, &most));
  map_row(y, count, y, [&](V v) HWY_ATTR { return hn::Mul(v, share); });
}

void log_softmax(const float* x, size_t count, float* y) {
  const D d;
  float most;
  const V log = hn::Set(d, std::log(exponentials(x, count, nullptr, &most))), vm = hn::Set(d, most);
  map_row(x, count, y, [&](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, vm), log); });
}

void moments(const float* x, size_t count, float epsilon, float* mean, float* inverse) {
  const float n = static_cast<float>(count);
  *mean = reduce<Sum>(x, count) / n;
  const V vm = hn::Set(D(), *mean);
  const float squares = reduce_with<Sum>(x, count, [&](V v) HWY_ATTR {
    const V centered = hn::Sub(v, vm);
    return hn::Mul(centered, centered);
  });
  *inverse = 1 / std::sqrt(squares / n + epsilon);
}

void standardize(const float* x, size_t count, float mean, float inverse, const float* scale, const float* bias, float* y) {
  const D d;
  const V vm = hn::Set(d, mean), vi = hn::Set(d, inverse), zero = hn::Zero(d);
  size_t i = 0;
  const auto of = [&](V v, V s, V b) HWY_ATTR { return hn::MulAdd(hn::Mul(hn::Sub(v, vm), vi), s, b); };
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(of(hn::LoadU(d, x + i), hn::LoadU(d, scale + i), bias ? hn::LoadU(d, bias + i) : zero), d, y + i);
  if (i < count) {
    const size_t rest = count - i;
    store_rest(of(load_rest(x + i, rest, 0), load_rest(scale + i, rest, 0), bias ? load_rest(bias + i, rest, 0) : zero), rest, y + i);
  }
}

void layer_gradient(const LayerGradient& a) {
  const D d;
  const V mean = hn::Set(d, a.mean), inverse = hn::Set(d, a.inverse);
  // Calls f(place, loads, stores) for each vector of the row.
  const auto each = [&](size_t from, size_t to, auto f) HWY_ATTR {
    size_t i = from;
    for (; i + kLanes <= to; i += kLanes)
      f(
          i, [&](const float* x) HWY_ATTR { return hn::LoadU(d, x + i); }, [&](V v, float* y) HWY_ATTR { hn::StoreU(v, d, y + i); });
    const size_t rest = to - i;
    if (rest)
      f(
          i, [&](const float* x) HWY_ATTR { return load_zero_rest(x + i, rest); },
          [&](V v, float* y) HWY_ATTR { store_rest(v, rest, y + i); });
  };
  double sum = 0, sum_of_products = 0;
  for (size_t from = 0; from < a.count; from += kPart) {
    V sums = hn::Zero(d), products = hn::Zero(d);
    each(from, std::min(a.count, from + kPart), [&](size_t, auto load, auto store) HWY_ATTR {
      const V g = load(a.gradient), normal = hn::Mul(hn::Sub(load(a.x), mean), inverse), scaled = hn::Mul(g, load(a.scale));
      sums = hn::Add(sums, scaled);
      products = hn::MulAdd(scaled, normal, products);
      if (!a.of_scale) return;
      store(hn::MulAdd(g, normal, load(a.of_scale)), a.of_scale);
      store(hn::Add(load(a.of_bias), g), a.of_bias);
    });
    sum += static_cast<double>(across<Sum>(sums)), sum_of_products += static_cast<double>(across<Sum>(products));
  }
  if (!a.y) return;
  const double n = static_cast<double>(a.count);
  const V less = hn::Set(d, a.centered ? static_cast<float>(sum / n) : 0.0f), factor = hn::Set(d, static_cast<float>(sum_of_products / n));
  each(0, a.count, [&](size_t, auto load, auto store) HWY_ATTR {
    const V normal = hn::Mul(hn::Sub(load(a.x), mean), inverse), scaled = hn::Mul(load(a.gradient), load(a.scale));
    store(hn::Mul(inverse, hn::NegMulAdd(normal, factor, hn::Sub(scaled, less))), a.y);
  });
}

void lane_moments(const float* x, size_t pixels, float epsilon, float* mean, float* inverse) {
  const D d;
  const V n = hn::Set(d, static_cast<float>(pixels));
  const auto sum_of = [&](V less, bool square) HWY_ATTR {
    const auto at = [&](size_t i) HWY_ATTR {
      const V v = hn::Sub(hn::LoadU(d, x + i * kLanes), less);
      return square ? hn::Mul(v, v) : v;
    };
    V whole = hn::Zero(d);
    for (size_t i = 0; i < pixels;) {
      const size_t end = std::min(pixels, i + kPartRows);
      V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      for (; i + 4 <= end; i += 4) MINNOW_UNROLL for (size_t j = 0; j < 4; ++j) total[j] = hn::Add(total[j], at(i + j));
      for (; i < end; ++i) total[0] = hn::Add(total[0], at(i));
      whole = hn::Add(whole, hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3])));
    }
    return whole;
  };
  const V m = divide(sum_of(hn::Zero(d), false), n);
  const V variance = divide(sum_of(m, true), n);
  hn::StoreU(m, d, mean);
  hn::StoreU(divide(hn::Set(d, 1.0f), square_root(hn::Add(variance, hn::Set(d, epsilon)))), d, inverse);
}

void lane_affine(const float* x, size_t pixels, const float* scale, const float* shift, float* y) {
  const D d;
  const V s = hn::LoadU(d, scale), t = hn::LoadU(d, shift);
  for (size_t i = 0; i < pixels; ++i) hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i * kLanes), s, t), d, y + i * kLanes);
}
}  // namespace

extern const RowKernels kRowKernels;
const RowKernels kRowKernels{{reduce<Sum>, reduce<SumAbs>, reduce<SumSquare>, reduce<Max>, reduce<Min>, reduce<Product>},
                             {reduce_columns<Sum>, reduce_columns<SumAbs>, reduce_columns<SumSquare>, reduce_columns<Max>,
                              reduce_columns<Min>, reduce_columns<Product>},
                             softmax,
                             log_softmax,
                             moments,
                             standardize,
                             lane_moments,
                             lane_affine,
                             dot,
                             with_gradients(layer_gradient)};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
