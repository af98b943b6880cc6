// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/filter.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class A, class S, class D>
HWY_INLINE hn::Vec<D> load_as(D d, const S* from) {
  if constexpr (std::is_same_v<A, S>) {
    return hn::LoadU(d, from);
  } else if constexpr (std::is_same_v<A, float>) {
    return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(hn::Rebind<S, D>(), from)));
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<S, D>(), from));
  }
}

template <class V>
HWY_INLINE V multiply_add(V a, V b, V c) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>)
    return hn::MulAdd(a, b, c);
  else
    return hn::Add(hn::Mul(a, b), c);
}

/// vector(i) for each vector of n elements (the last overlaps the one before), or one(i) where there are fewer.
template <class D, class Vector, class One>
HWY_INLINE void in_vectors(D d, int64_t n, Vector&& vector, One&& one) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(i);
  if (i < n && n >= lanes) return vector(n - lanes);
  for (; i < n; ++i) one(i);
}

template <class S, class A>
HWY_INLINE void sum_rows(const S* const* rows, const A* weights, int64_t taps, A start, A* HWY_RESTRICT out, int64_t n) {
  const hn::ScalableTag<A> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto vectors = [&](auto count, int64_t i) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    V sums[kCount];
    MINNOW_UNROLL
    for (int k = 0; k < kCount; ++k) sums[k] = hn::Set(d, start);
    for (int64_t t = 0; t < taps; ++t) {
      const V weight = hn::Set(d, weights[t]);
      const S* const row = rows[t] + i;
      MINNOW_UNROLL
      for (int k = 0; k < kCount; ++k) sums[k] = multiply_add(load_as<A>(d, row + k * lanes), weight, sums[k]);
    }
    MINNOW_UNROLL
    for (int k = 0; k < kCount; ++k) hn::StoreU(sums[k], d, out + i + k * lanes);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) vectors(std::integral_constant<int, 4>(), i);
  for (; i + lanes <= n; i += lanes) vectors(std::integral_constant<int, 1>(), i);
  if (i < n && n >= lanes) return vectors(std::integral_constant<int, 1>(), n - lanes);
  for (; i < n; ++i) {
    A sum = start;
    for (int64_t t = 0; t < taps; ++t) sum = static_cast<A>(sum + static_cast<A>(weights[t] * static_cast<A>(rows[t][i])));
    out[i] = sum;
  }
}

template <class S, class A>
void sum_loop(const S* const* rows, const A* weights, int64_t taps, A start, A* out, int64_t n) {
  sum_rows(rows, weights, taps, start, out, n);
}
void sum_f64(const double* const* rows, const double* weights, int64_t taps, double start, double* HWY_RESTRICT out, int64_t n) {
  constexpr int64_t kPart = 512;
  for (int64_t first = 0; first < n; first += kPart) {
    const int64_t last = std::min(n, first + kPart);
    for (int64_t i = first; i < last; ++i) out[i] = start;
    for (int64_t t = 0; t < taps; ++t) {
      const double* const row = rows[t];
      const double weight = weights[t];
      for (int64_t i = first; i < last; ++i) out[i] += weight * row[i];
    }
  }
}

/// Whole numbers within the range of T, rounded to even, of what `load` gives for vectors of f32. NaN becomes the lowest number.
template <class T, class Load, class One>
HWY_INLINE void rounded(Load load, One one, T* HWY_RESTRICT out, int64_t n) {
  constexpr float kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const hn::ScalableTag<float> d;
  const hn::Rebind<T, decltype(d)> to;
  const auto low = hn::Set(d, kLow), high = hn::Set(d, kHigh);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = load(i);
    const auto inside = hn::IfThenElse(hn::Gt(x, low), hn::Min(x, high), low);
    hn::StoreU(hn::DemoteTo(to, hn::NearestInt(inside)), to, out + i);
  }
  for (; i < n; ++i) {
    const float x = one(i), inside = x > kLow ? std::min(x, kHigh) : kLow;
    // Adding this number leaves the integer in the last bits, rounded to even.
    out[i] = static_cast<T>(static_cast<int32_t>((inside + 12582912.0f) - 12582912.0f));
  }
}
template <class T>
void from_f32(const float* HWY_RESTRICT in, T* HWY_RESTRICT out, int64_t n) {
  rounded([&](int64_t i) HWY_ATTR { return hn::LoadU(hn::ScalableTag<float>(), in + i); }, [&](int64_t i) { return in[i]; }, out, n);
}
void scaled_u8(const int32_t* HWY_RESTRICT in, float scale, uint8_t* HWY_RESTRICT out, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const auto factor = hn::Set(d, scale);
  rounded([&](int64_t i) HWY_ATTR { return hn::Mul(hn::ConvertTo(d, hn::LoadU(whole, in + i)), factor); },
          [&](int64_t i) { return static_cast<float>(in[i]) * scale; }, out, n);
}

// Plain loops: the compiler makes vectors of them.

template <class T>
void from_f64(const double* HWY_RESTRICT in, T* HWY_RESTRICT out, int64_t n) {
  const double low = static_cast<double>(std::numeric_limits<T>::min()), high = static_cast<double>(std::numeric_limits<T>::max());
  for (int64_t i = 0; i < n; ++i) {
    const double inside = in[i] > low ? (in[i] < high ? in[i] : high) : low;
    out[i] = static_cast<T>(static_cast<int32_t>((inside + 6755399441055744.0) - 6755399441055744.0));
  }
}
void i32_i16(const int32_t* HWY_RESTRICT in, int16_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int16_t>(std::min(std::max(in[i], -32768), 32767));
}
void i16_u8(const int16_t* HWY_RESTRICT in, uint8_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(std::min<int16_t>(std::max<int16_t>(in[i], 0), 255));
}
template <class From, class To>
void converted(const From* HWY_RESTRICT in, To* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(in[i]);
}
void scaled_f32(const int32_t* HWY_RESTRICT in, float scale, float* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale;
}
void truncated_u8(const float* HWY_RESTRICT in, float scale, uint8_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(static_cast<int32_t>(in[i] * scale));
}
void add_scaled(const float* HWY_RESTRICT in, float scale, float delta, float* HWY_RESTRICT sums, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] = (sums[i] + in[i]) * scale + delta;
}

const hn::ScalableTag<uint16_t> kU16;
using U16 = hn::Vec<decltype(kU16)>;
const hn::Half<hn::ScalableTag<uint8_t>> kBytes;

HWY_INLINE U16 low_bytes(U16 v) { return hn::And(v, hn::Set(kU16, 255)); }
HWY_INLINE void store_bytes(U16 v, uint8_t* out) {  // values of up to 255
  hn::StoreU(hn::DemoteTo(kBytes, hn::BitCast(hn::RebindToSigned<decltype(kU16)>(), v)), kBytes, out);
}

/// Rows of less than one vector read what lies behind them.
template <class Body>
HWY_INLINE void bytes_of_u16(const uint16_t* mid, uint8_t* out, int64_t n, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kU16));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_bytes(body(mid + i), out + i);
  if (i == n) return;
  if (n >= lanes) return store_bytes(body(mid + n - lanes), out + n - lanes);
  uint8_t result[64];
  store_bytes(body(mid), result);
  std::copy(result, result + n, out);
}

void across_shift(const uint16_t* mid, int64_t step, const int16_t* weights, int64_t taps, uint16_t add, int shift, uint8_t* out,
                  int64_t n) {
  if (taps == 3 && weights[0] == 1) {
    bytes_of_u16(mid, out, n, [&](const uint16_t* at) HWY_ATTR {
      const U16 ends = hn::Add(hn::LoadU(kU16, at), hn::LoadU(kU16, at + 2 * step));
      const U16 middle = hn::LoadU(kU16, at + step);
      const U16 sum =
          hn::Add(hn::Add(ends, hn::Set(kU16, add)),
                  weights[1] == 2 ? hn::Add(middle, middle) : hn::Mul(middle, hn::Set(kU16, static_cast<uint16_t>(weights[1]))));
      return hn::ShiftRightSame(sum, shift);
    });
    return;
  }
  bytes_of_u16(mid, out, n, [&](const uint16_t* at) HWY_ATTR {
    U16 sum = hn::Set(kU16, add);
    for (int64_t t = 0; t < taps; ++t)
      sum = hn::Add(sum, hn::Mul(hn::LoadU(kU16, at + t * step), hn::Set(kU16, static_cast<uint16_t>(weights[t]))));
    return hn::ShiftRightSame(sum, shift);
  });
}

// The upper and the lower bytes of the values are summed apart; each sum is below 2^16. The last 8 bits of the lower sum
// cannot change the result, for which a multiple of 256 is added.
void across_gauss(const uint16_t* mid, int64_t step, const int16_t* weights, int64_t taps, uint8_t* out, int64_t n) {
  const int64_t half = taps / 2;
  bytes_of_u16(mid, out, n, [&](const uint16_t* at) HWY_ATTR {
    const U16 center = hn::LoadU(kU16, at + half * step);
    const U16 weight = hn::Set(kU16, static_cast<uint16_t>(weights[half]));
    U16 high = hn::Mul(hn::ShiftRight<8>(center), weight), low = hn::Mul(low_bytes(center), weight);
    for (int64_t t = 0; t < half; ++t) {
      const U16 a = hn::LoadU(kU16, at + t * step), b = hn::LoadU(kU16, at + (taps - 1 - t) * step);
      const U16 w = hn::Set(kU16, static_cast<uint16_t>(weights[t]));
      high = hn::Add(high, hn::Mul(hn::Add(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b)), w));
      low = hn::Add(low, hn::Mul(hn::Add(low_bytes(a), low_bytes(b)), w));
    }
    return hn::ShiftRight<8>(hn::Add(hn::Add(high, hn::ShiftRight<8>(low)), hn::Set(kU16, 128)));
  });
}

constexpr int64_t kBlock = 512;

void down_gauss_u16(const uint16_t* const* rows, const uint32_t* weights, int64_t taps, uint32_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t last = std::min(n, first + kBlock);
    std::fill(out + first, out + last, 0u);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = first; i < last; ++i) out[i] += weights[t] * rows[t][i];
  }
}
void across_gauss_u16(const uint32_t* mid, int64_t step, const uint32_t* weights, int64_t taps, uint16_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = std::min(n - first, kBlock);
    uint32_t high[kBlock] = {}, low[kBlock] = {};
    for (int64_t t = 0; t < taps; ++t) {
      const uint32_t* const from = mid + first + t * step;
      const uint32_t weight = weights[t];
      for (int64_t i = 0; i < count; ++i) high[i] += (from[i] >> 16) * weight, low[i] += (from[i] & 65535) * weight;
    }
    for (int64_t i = 0; i < count; ++i) out[first + i] = static_cast<uint16_t>((high[i] + (low[i] >> 16) + 32768) >> 16);
  }
}

HWY_INLINE U16 divided(U16 sum, const Division& division) {
  return hn::ShiftRightSame(hn::MulHigh(hn::Add(sum, hn::Set(kU16, division.add)), hn::Set(kU16, division.factor)), division.shift);
}

void across_mean(const uint16_t* mid, int64_t step, int64_t taps, Division division, uint8_t* out, int64_t n) {
  const auto sums = [&](auto count) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    bytes_of_u16(mid, out, n, [&](const uint16_t* at) HWY_ATTR {
      U16 sum = hn::LoadU(kU16, at);
      MINNOW_UNROLL
      for (int t = 1; t < kCount; ++t) sum = hn::Add(sum, hn::LoadU(kU16, at + t * step));
      return divided(sum, division);
    });
  };
  if (taps == 3) return sums(std::integral_constant<int, 3>());
  if (taps == 5) return sums(std::integral_constant<int, 5>());
  bytes_of_u16(mid, out, n, [&](const uint16_t* at) HWY_ATTR {
    U16 sum = hn::LoadU(kU16, at);
    for (int64_t t = 1; t < taps; ++t) sum = hn::Add(sum, hn::LoadU(kU16, at + t * step));
    return divided(sum, division);
  });
}

void divide(const uint16_t* sums, Division division, uint8_t* out, int64_t n) {
  bytes_of_u16(sums, out, n, [&](const uint16_t* at) HWY_ATTR { return divided(hn::LoadU(kU16, at), division); });
}

/// kCount: `count`, or 0.
template <int kCount>
HWY_INLINE void add_rows(const uint8_t* const* rows, int64_t count, uint16_t* HWY_RESTRICT sums, int64_t n) {
  const hn::Rebind<uint8_t, decltype(kU16)> bytes;
  in_vectors(
      kU16, n,
      [&](int64_t i) HWY_ATTR {
        U16 sum = hn::PromoteTo(kU16, hn::LoadU(bytes, rows[0] + i));
        if constexpr (kCount != 0) {
          MINNOW_UNROLL
          for (int t = 1; t < kCount; ++t) sum = hn::Add(sum, hn::PromoteTo(kU16, hn::LoadU(bytes, rows[t] + i)));
        } else {
          for (int64_t t = 1; t < count; ++t) sum = hn::Add(sum, hn::PromoteTo(kU16, hn::LoadU(bytes, rows[t] + i)));
        }
        hn::StoreU(sum, kU16, sums + i);
      },
      [&](int64_t i) {
        uint16_t sum = 0;
        for (int64_t t = 0; t < count; ++t) sum = static_cast<uint16_t>(sum + rows[t][i]);
        sums[i] = sum;
      });
}
void add_u8_u16(const uint8_t* const* rows, int64_t count, uint16_t* sums, int64_t n) {
  if (count == 3) return add_rows<3>(rows, count, sums, n);
  if (count == 5) return add_rows<5>(rows, count, sums, n);
  add_rows<0>(rows, count, sums, n);
}

template <class Sum>
void moved(const uint8_t* HWY_RESTRICT entering, const uint8_t* HWY_RESTRICT leaving, Sum* HWY_RESTRICT sums, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<Sum>(sums[i] + entering[i] - leaving[i]);
}

void moved_squares(const uint8_t* HWY_RESTRICT entering, const uint8_t* HWY_RESTRICT leaving, int32_t* HWY_RESTRICT sums, int64_t n) {
  if (leaving)
    for (int64_t i = 0; i < n; ++i) sums[i] += entering[i] * entering[i] - leaving[i] * leaving[i];
  else
    for (int64_t i = 0; i < n; ++i) sums[i] += entering[i] * entering[i];
}

/// By windows of powers of two: a window of 13 is one of 8, one of 4 and one of 1 side by side.
template <class Sum>
void window(Sum* HWY_RESTRICT sums, Sum* HWY_RESTRICT spare, int64_t step, int64_t taps, int64_t n) {
  const int64_t all = n + (taps - 1) * step;
  std::copy(sums, sums + all, spare);  // windows of `size`
  std::fill(sums, sums + n, Sum(0));
  int64_t done = 0;
  for (int64_t size = 1;; size *= 2) {
    if (taps & size) {
      const Sum* HWY_RESTRICT from = spare + done * step;
      for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<Sum>(sums[i] + from[i]);
      done += size;
    }
    if (size * 2 > taps) return;
    const int64_t ahead = size * step, count = all - (2 * size - 1) * step;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) spare[i] = static_cast<Sum>(spare[i] + spare[i + ahead]);
  }
}

/// By a running sum, which takes fewer operations in lanes of 32 bits.
void running(int32_t* HWY_RESTRICT sums, int64_t step, int64_t taps, int64_t n) {
  for (int64_t first = 0; first < std::min(step, n); ++first) {
    int32_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) sum += sums[first + t * step];
    int64_t i = first;
    for (; i + step < n; i += step) {
      const int32_t change = sums[i + taps * step] - sums[i];
      sums[i] = sum;
      sum += change;
    }
    sums[i] = sum;
  }
}

}  // namespace

extern const FilterLoops kFilterLoops;
const FilterLoops kFilterLoops{
    sum_loop<uint8_t, int16_t>,
    sum_loop<int16_t, int16_t>,
    sum_loop<uint8_t, float>,
    sum_loop<uint16_t, float>,
    sum_loop<int16_t, float>,
    sum_loop<float, float>,
    sum_f64,
    from_f32<uint8_t>,
    from_f32<uint16_t>,
    from_f32<int16_t>,
    from_f64<uint8_t>,
    from_f64<uint16_t>,
    from_f64<int16_t>,
    converted<double, float>,
    i32_i16,
    i16_u8,
    converted<int16_t, float>,
    converted<int16_t, double>,
    converted<uint8_t, float>,
    converted<uint16_t, float>,
    scaled_u8,
    scaled_f32,
    truncated_u8,
    add_scaled,
    across_shift,
    across_gauss,
    across_mean,
    divide,
    down_gauss_u16,
    across_gauss_u16,
    add_u8_u16,
    moved<uint16_t>,
    moved_squares,
    moved<int32_t>,
    window<uint16_t>,
    window<double>,
    running,
};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::vision {

#define MINNOW_LOOPS kFilterLoops
const FilterLoops& filter_loops() {
  static const FilterLoops& loops = choose_loops<FilterLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}

}  // namespace minnow::vision
#endif
