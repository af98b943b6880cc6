// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/arithmetic.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#include "vision/loops/bytes.inc"

constexpr size_t kBlock = 512;

template <class T, class W>
void widen(const void* from, W* HWY_RESTRICT out, size_t n) {
  const T* HWY_RESTRICT in = static_cast<const T*>(from);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<W>(in[i]);
}

/// Rounded and within the range of T, as i32.
template <class T>
void integers(const float* in, int32_t* out, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  // The float next to 2^31 - 1 is 2^31: one less in the last place.
  const auto low = hn::Set(d, static_cast<float>(std::numeric_limits<T>::min()));
  const auto high = hn::Set(d, sizeof(T) == 4 ? 2147483520.0f : static_cast<float>(std::numeric_limits<T>::max()));
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto x = hn::Load(d, in + i);
    hn::Store(hn::NearestInt(hn::IfThenElseZero(hn::Eq(x, x), hn::Min(hn::Max(x, low), high))), di, out + i);
  }
}
template <class T>
void integers(const double* in, int32_t* out, size_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const auto low = hn::Set(d, static_cast<double>(std::numeric_limits<T>::min()));
  const auto high = hn::Set(d, static_cast<double>(std::numeric_limits<T>::max()));
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto x = hn::Load(d, in + i);
    hn::StoreU(hn::DemoteTo(di, hn::Round(hn::IfThenElseZero(hn::Eq(x, x), hn::Min(hn::Max(x, low), high)))), di, out + i);
  }
}

/// Floats as integers of 8 or 16 bits: beside 1.5 * 2^23, which absorbs the fraction, they are the low bits of the sum. NaN becomes 0.
template <class T>
void narrow_small(const float* in, T* out, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> words;
  const hn::Rebind<T, decltype(d)> small;
  const hn::RebindToUnsigned<decltype(small)> bits;
  const auto low = hn::Set(d, static_cast<float>(std::numeric_limits<T>::min())),
             high = hn::Set(d, static_cast<float>(std::numeric_limits<T>::max()));
  const size_t lanes = hn::Lanes(d);
  const auto made = [&](const float* from) HWY_ATTR {
    const auto x = hn::LoadU(d, from), bounded = hn::IfThenElseZero(hn::Eq(x, x), hn::Min(hn::Max(x, low), high));
    return hn::BitCast(small, hn::TruncateTo(bits, hn::BitCast(words, hn::Add(bounded, hn::Set(d, 12582912.0f)))));
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(made(in + i), small, out + i);
  if (i == n) return;
  float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  T to[HWY_MAX_BYTES / sizeof(float)];
  std::copy(in + i, in + n, rest);
  hn::StoreU(made(rest), small, to);
  std::copy(to, to + (n - i), out + i);
}

/// out[i] = step(a[i], b[i]) of floats, rounded and within bytes; NaN among a becomes 0. b == nullptr: step() gets a[i] twice.
template <class T, class Step>
HWY_INLINE void bytes_of(const T* a, const T* b, uint8_t* out, size_t n, Step step) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const hn::RebindToSigned<decltype(d)> integers;
  using V = hn::Vec<decltype(d)>;
  const auto load = [&](const T* from) HWY_ATTR {
    if constexpr (sizeof(T) == 1)
      return hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, from)));
    else
      return hn::LoadU(d, from);
  };
  const size_t part = hn::Lanes(d), lanes = 4 * part;
  const auto vector = [&](const T* x, const T* y, uint8_t* to) HWY_ATTR {
    store_bytes(to, [&](size_t k) HWY_ATTR {
      const V first = load(x + k * part);
      V value = step(first, y ? load(y + k * part) : first);
      if constexpr (sizeof(T) == 4) value = hn::IfThenElseZero(hn::Eq(value, value), value);
      return rounded(hn::Max(hn::Min(value, hn::Set(d, 255.0f)), hn::Zero(d)));
    });
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(a + i, b ? b + i : nullptr, out + i);
  if (i == n) return;
  T rest[2][HWY_MAX_BYTES] = {};
  uint8_t made[HWY_MAX_BYTES];
  std::copy(a + i, a + n, rest[0]);
  if (b) std::copy(b + i, b + n, rest[1]);
  vector(rest[0], b ? rest[1] : nullptr, made);
  std::copy(made, made + (n - i), out + i);
}

template <>
void narrow_small(const float* in, uint8_t* out, size_t n) {
  using V = hn::Vec<hn::ScalableTag<float>>;
  bytes_of(in, static_cast<const float*>(nullptr), out, n, [](V x, V) HWY_ATTR { return x; });
}

template <class T>
void scaled_bytes(const T* in, uint8_t* out, size_t n, const double* p, bool absolute) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V scale = hn::Set(d, static_cast<float>(p[0])), shift = hn::Set(d, static_cast<float>(p[1]));
  const V sign = hn::Set(d, absolute ? -0.0f : 0.0f);
  bytes_of(in, static_cast<const T*>(nullptr), out, n, [&](V x, V) HWY_ATTR { return hn::AndNot(sign, hn::MulAdd(x, scale, shift)); });
}

template <class T, class W>
void narrow(const W* in, void* to, size_t n) {
  T* HWY_RESTRICT out = static_cast<T*>(to);
  if constexpr (std::is_floating_point_v<T>) {
    const W* HWY_RESTRICT from = in;
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(from[i]);
  } else if constexpr (sizeof(W) == 4 && sizeof(T) <= 2) {
    narrow_small(in, out, n);
  } else {
    alignas(64) W block[kBlock];
    alignas(64) int32_t whole[kBlock];
    for (size_t start = 0; start < n; start += kBlock) {
      const size_t count = std::min(kBlock, n - start);
      std::memcpy(block, in + start, count * sizeof(W));
      std::fill(block + count, block + std::min(kBlock, count + 16), W(0));
      integers<T>(block, whole, count);
      const int32_t* HWY_RESTRICT from = whole;
      for (size_t i = 0; i < count; ++i) out[start + i] = static_cast<T>(from[i]);
    }
  }
}

template <class W, class Step>
HWY_INLINE void each(const W* HWY_RESTRICT a, const W* HWY_RESTRICT b, W* HWY_RESTRICT out, size_t n, Step step) {
  for (size_t i = 0; i < n; ++i) out[i] = step(a[i], b[i]);
}

template <class W>
void binary(ElementOp op, const W* a, const W* b, W* out, size_t n, const double* p) {
  const W scale = static_cast<W>(p[0]);
  switch (op) {
    case ElementOp::add:
      return each(a, b, out, n, [](W x, W y) { return x + y; });
    case ElementOp::subtract:
      return each(a, b, out, n, [](W x, W y) { return x - y; });
    case ElementOp::absdiff:
      return each(a, b, out, n, [](W x, W y) { return std::abs(x - y); });
    case ElementOp::multiply:
      if (scale == 1) return each(a, b, out, n, [](W x, W y) { return x * y; });
      return each(a, b, out, n, [scale](W x, W y) { return scale * x * y; });
    case ElementOp::divide:
      if (p[1] != 0) return each(a, b, out, n, [scale](W x, W y) { return y != 0 ? x * scale / y : W(0); });
      return each(a, b, out, n, [scale](W x, W y) { return x * scale / y; });
    case ElementOp::minimum:
      return each(a, b, out, n, [](W x, W y) { return y < x ? y : x; });
    case ElementOp::maximum:
      return each(a, b, out, n, [](W x, W y) { return x < y ? y : x; });
    default: {
      const W beta = static_cast<W>(p[1]), gamma = static_cast<W>(p[2]);
      return each(a, b, out, n, [=](W x, W y) { return x * scale + y * beta + gamma; });
    }
  }
}

template <class W>
void unary(UnaryOp op, const W* HWY_RESTRICT in, W* HWY_RESTRICT out, size_t n, const double* p) {
  const W scale = static_cast<W>(p[0]), shift = static_cast<W>(p[1]);
  switch (op) {
    case UnaryOp::scale:
      for (size_t i = 0; i < n; ++i) out[i] = in[i] * scale + shift;
      return;
    case UnaryOp::scale_abs:
      for (size_t i = 0; i < n; ++i) out[i] = std::abs(in[i] * scale + shift);
      return;
    case UnaryOp::square_root: {
      const hn::ScalableTag<W> d;
      size_t i = 0;
      for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) hn::StoreU(hn::Sqrt(hn::LoadU(d, in + i)), d, out + i);
      for (; i < n; ++i) out[i] = std::sqrt(in[i]);
      return;
    }
    default:
      if (p[0] == 2)
        for (size_t i = 0; i < n; ++i) out[i] = in[i] * in[i];
      else
        for (size_t i = 0; i < n; ++i) out[i] = std::pow(in[i], scale);
  }
}

/// step(vector) over whole vectors; the rest through a buffer.
template <class W, class Step>
HWY_INLINE void vectors(const W* a, const W* b, W* out, size_t n, Step step) {
  const hn::ScalableTag<W> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(step(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  if (i == n) return;
  W rest_a[HWY_MAX_BYTES / sizeof(W)] = {}, rest_b[HWY_MAX_BYTES / sizeof(W)] = {};
  std::copy(a + i, a + n, rest_a), std::copy(b + i, b + n, rest_b);
  hn::StoreU(step(hn::LoadU(d, rest_a), hn::LoadU(d, rest_b)), d, rest_a);
  std::copy(rest_a, rest_a + (n - i), out + i);
}

template <class W>
void magnitude(const W* x, const W* y, W* out, size_t n) {
  const hn::ScalableTag<W> d;
  using V = hn::Vec<decltype(d)>;
  vectors(x, y, out, n, [&](V a, V b) HWY_ATTR { return hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b))); });
}

/// The polynomial of degree 7 for the arc tangent whose values OpenCV gives.
template <class V, class D>
HWY_INLINE V degrees(D d, V x, V y) {
  const auto of = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  constexpr double kTurn = 57.29577951308232;
  const V ax = hn::Abs(x), ay = hn::Abs(y);
  const V c = hn::Div(hn::Min(ax, ay), hn::Add(hn::Max(ax, ay), of(2.220446049250313e-16))), c2 = hn::Mul(c, c);
  V a = hn::MulAdd(c2, of(-0.04432655554792128 * kTurn), of(0.1555786518463281 * kTurn));
  a = hn::MulAdd(a, c2, of(-0.3258083974640975 * kTurn));
  a = hn::Mul(hn::MulAdd(a, c2, of(0.9997878412794807 * kTurn)), c);
  a = hn::IfThenElse(hn::Ge(ax, ay), a, hn::Sub(of(90), a));
  a = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(of(180), a), a);
  return hn::IfThenElse(hn::Lt(y, hn::Zero(d)), hn::Sub(of(360), a), a);
}
void phase_f32(const float* x, const float* y, float* out, size_t n, double scale) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  vectors(x, y, out, n, [&](V a, V b) HWY_ATTR { return hn::Mul(degrees(d, a, b), hn::Set(d, static_cast<float>(scale))); });
}
void phase_f64(const double* x, const double* y, double* out, size_t n, double scale) {
  float a[kBlock], b[kBlock];
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t count = std::min(kBlock, n - start);
    for (size_t i = 0; i < count; ++i) a[i] = static_cast<float>(x[start + i]), b[i] = static_cast<float>(y[start + i]);
    phase_f32(a, b, a, count, scale);
    for (size_t i = 0; i < count; ++i) out[start + i] = static_cast<double>(a[i]);
  }
}

template <class T, ElementOp op>
void native(const void* from_a, const void* from_b, void* to, size_t n) {
  const hn::ScalableTag<T> d;
  const T *a = static_cast<const T*>(from_a), *b = static_cast<const T*>(from_b);
  T* out = static_cast<T*>(to);
  const auto step = [&](size_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i);
    if constexpr (op == ElementOp::minimum) {
      hn::StoreU(hn::Min(x, y), d, out + i);
    } else if constexpr (op == ElementOp::maximum) {
      hn::StoreU(hn::Max(x, y), d, out + i);
    } else if constexpr (std::is_floating_point_v<T>) {
      if constexpr (op == ElementOp::multiply)
        hn::StoreU(hn::Mul(x, y), d, out + i);
      else
        hn::StoreU(op == ElementOp::add ? hn::Add(x, y) : op == ElementOp::subtract ? hn::Sub(x, y) : hn::Abs(hn::Sub(x, y)), d, out + i);
    } else if constexpr (std::is_same_v<T, int32_t>) {  // beyond 32 bits numbers wrap, as OpenCV's do
      hn::StoreU(op == ElementOp::add        ? hn::Add(x, y)
                 : op == ElementOp::subtract ? hn::Sub(x, y)
                                             : hn::Sub(hn::Max(x, y), hn::Min(x, y)),
                 d, out + i);
    } else if constexpr (op == ElementOp::absdiff) {
      hn::StoreU(hn::SaturatedSub(hn::Max(x, y), hn::Min(x, y)), d, out + i);
    } else {
      hn::StoreU(op == ElementOp::add ? hn::SaturatedAdd(x, y) : hn::SaturatedSub(x, y), d, out + i);
    }
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) step(i);
  if (i == n) return;
  T rest_a[HWY_MAX_BYTES / sizeof(T)] = {}, rest_b[HWY_MAX_BYTES / sizeof(T)] = {}, rest[HWY_MAX_BYTES / sizeof(T)];
  std::copy(a + i, a + n, rest_a), std::copy(b + i, b + n, rest_b);
  a = rest_a, b = rest_b, out = rest;
  step(0);
  std::copy(rest, rest + (n - i), static_cast<T*>(to) + i);
}

void multiply_u8(const void* from_a, const void* from_b, void* to, size_t n) {
  const auto *HWY_RESTRICT a = static_cast<const uint8_t*>(from_a), *HWY_RESTRICT b = static_cast<const uint8_t*>(from_b);
  auto* HWY_RESTRICT out = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < n; ++i) {
    const uint16_t product = static_cast<uint16_t>(a[i] * b[i]);
    out[i] = static_cast<uint8_t>(product > 255 ? 255 : product);
  }
}

void weighted_u8(const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n, const double* p) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V alpha = hn::Set(d, static_cast<float>(p[0])), beta = hn::Set(d, static_cast<float>(p[1])),
          gamma = hn::Set(d, static_cast<float>(p[2]));
  bytes_of(a, b, out, n, [&](V x, V y) HWY_ATTR { return hn::MulAdd(y, beta, hn::MulAdd(x, alpha, gamma)); });
}

void divide_u8(const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n, const double* p) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V scale = hn::Set(d, static_cast<float>(p[0]));
  bytes_of(a, b, out, n, [&](V x, V y) HWY_ATTR { return hn::IfThenElseZero(hn::Ne(y, hn::Zero(d)), hn::Div(hn::Mul(x, scale), y)); });
}

void bits(BitOp op, const uint8_t* HWY_RESTRICT a, const uint8_t* HWY_RESTRICT b, uint8_t* HWY_RESTRICT out, size_t n) {
  switch (op) {
    case BitOp::conjunction:
      for (size_t i = 0; i < n; ++i) out[i] = a[i] & b[i];
      return;
    case BitOp::disjunction:
      for (size_t i = 0; i < n; ++i) out[i] = a[i] | b[i];
      return;
    case BitOp::exclusive:
      for (size_t i = 0; i < n; ++i) out[i] = a[i] ^ b[i];
      return;
    default:
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(~a[i]);
  }
}

template <class T, class Test>
HWY_INLINE void tested(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, uint8_t* HWY_RESTRICT out, size_t n, Test test) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(-int{test(a[i], b[i])});
}
template <class T>
void compare(Comparison op, const T* a, const T* b, uint8_t* out, size_t n) {
  switch (op) {
    case Comparison::equal:
      return tested(a, b, out, n, [](T x, T y) { return x == y; });
    case Comparison::greater:
      return tested(a, b, out, n, [](T x, T y) { return x > y; });
    case Comparison::greater_equal:
      return tested(a, b, out, n, [](T x, T y) { return x >= y; });
    case Comparison::less:
      return tested(a, b, out, n, [](T x, T y) { return x < y; });
    case Comparison::less_equal:
      return tested(a, b, out, n, [](T x, T y) { return x <= y; });
    default:
      return tested(a, b, out, n, [](T x, T y) { return x != y; });
  }
}

void compare_u8(Comparison op, const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n) {
  const hn::ScalableTag<uint8_t> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const bool turned = op == Comparison::less || op == Comparison::less_equal;
  if (turned) std::swap(a, b);
  const bool equal = op == Comparison::equal || op == Comparison::not_equal;
  // a > b is not b >= a.
  const bool inverted = op == Comparison::not_equal || op == Comparison::greater || op == Comparison::less;
  if (inverted && !equal) std::swap(a, b);
  const V flip = hn::Set(d, inverted ? uint8_t{255} : uint8_t{0});
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i);
    hn::StoreU(hn::Xor(hn::VecFromMask(d, hn::Eq(equal ? y : hn::Max(x, y), x)), flip), d, out + i);
  }
  for (; i < n; ++i) out[i] = static_cast<uint8_t>(((equal ? a[i] == b[i] : a[i] >= b[i]) != inverted) ? 255 : 0);
}

void in_range_u8(const uint8_t* in, int channels, const uint8_t* low, const uint8_t* high, uint8_t* out, size_t pixels) {
  const hn::ScalableTag<uint8_t> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d), step = static_cast<size_t>(channels);
  const auto within = [&](V x, size_t c)
                          HWY_ATTR { return hn::VecFromMask(d, hn::Eq(hn::Min(hn::Max(x, hn::Set(d, low[c])), hn::Set(d, high[c])), x)); };
  size_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    V x, y, z, w;
    if (channels == 1) {
      x = within(hn::LoadU(d, in + i), 0);
    } else if (channels == 3) {
      hn::LoadInterleaved3(d, in + 3 * i, x, y, z);
      x = hn::And(hn::And(within(x, 0), within(y, 1)), within(z, 2));
    } else {
      hn::LoadInterleaved4(d, in + 4 * i, x, y, z, w);
      x = hn::And(hn::And(within(x, 0), within(y, 1)), hn::And(within(z, 2), within(w, 3)));
    }
    hn::StoreU(x, d, out + i);
  }
  for (; i < pixels; ++i) {
    bool all = true;
    for (size_t c = 0; c < step; ++c) all = all && in[step * i + c] >= low[c] && in[step * i + c] <= high[c];
    out[i] = all ? 255 : 0;
  }
}

/// Pixels of three elements where the mask is not 0: the mask's elements stand three times side by side.
template <class T>
void masked_triples(const T* in, const uint8_t* mask, T* out, size_t pixels, bool clear) {
  const hn::CappedTag<T, 16 / sizeof(T)> d;
  const hn::Repartition<uint8_t, decltype(d)> bytes;
  const hn::Rebind<uint8_t, decltype(d)> marks;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  static constexpr auto kPlaces = [] {
    std::array<uint8_t, 3 * 16> places{};
    for (size_t k = 0; k < places.size(); ++k) places[k] = static_cast<uint8_t>(k / sizeof(T) / 3 * sizeof(T) + k % sizeof(T));
    return places;
  }();
  const auto p = hn::LoadU(bytes, &kPlaces[0]), q = hn::LoadU(bytes, &kPlaces[16]), r = hn::LoadU(bytes, &kPlaces[32]);
  size_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    V chosen;
    if constexpr (sizeof(T) == 1)
      chosen = hn::LoadU(marks, mask + i);
    else
      chosen = hn::PromoteTo(d, hn::LoadU(marks, mask + i));
    const auto blank = hn::BitCast(bytes, hn::VecFromMask(d, hn::Eq(chosen, hn::Zero(d))));
    const auto put = [&](hn::Vec<decltype(bytes)> place, size_t at) HWY_ATTR {
      const V none = hn::BitCast(d, hn::TableLookupBytes(blank, place)), x = hn::LoadU(d, in + at);
      hn::StoreU(clear ? hn::AndNot(none, x) : hn::IfVecThenElse(none, hn::LoadU(d, out + at), x), d, out + at);
    };
    put(p, 3 * i), put(q, 3 * i + lanes), put(r, 3 * i + 2 * lanes);
  }
  for (; i < pixels; ++i)
    for (size_t k = 3 * i; k < 3 * i + 3; ++k) out[k] = mask[i] ? in[k] : clear ? T(0) : out[k];
}

/// Pixels of one element each.
template <class Word>
void masked_words(const void* from, const uint8_t* mask, void* to, size_t pixels, bool clear) {
  const Word* in = static_cast<const Word*>(from);
  Word* out = static_cast<Word*>(to);
  const hn::ScalableTag<Word> d;
  const hn::Rebind<uint8_t, decltype(d)> marks;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::Vec<decltype(d)> chosen;
    if constexpr (sizeof(Word) == 1)
      chosen = hn::LoadU(marks, mask + i);
    else if constexpr (sizeof(Word) == 8)
      chosen = hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<uint32_t, decltype(d)>(), hn::LoadU(marks, mask + i)));
    else
      chosen = hn::PromoteTo(d, hn::LoadU(marks, mask + i));
    const auto none = hn::Eq(chosen, hn::Zero(d));
    const auto x = hn::LoadU(d, in + i);
    hn::StoreU(clear ? hn::IfThenZeroElse(none, x) : hn::IfThenElse(none, hn::LoadU(d, out + i), x), d, out + i);
  }
  for (; i < pixels; ++i) out[i] = mask[i] ? in[i] : clear ? Word(0) : out[i];
}
void masked(const void* in, const uint8_t* mask, void* out, size_t pixels, size_t pixel_bytes, bool clear) {
  const auto aligned = [&](uintptr_t bytes) { return (reinterpret_cast<uintptr_t>(in) | reinterpret_cast<uintptr_t>(out)) % bytes == 0; };
  if (pixel_bytes == 1) return masked_words<uint8_t>(in, mask, out, pixels, clear);
  if (pixel_bytes == 2 && aligned(2)) return masked_words<uint16_t>(in, mask, out, pixels, clear);
  if (pixel_bytes == 4 && aligned(4)) return masked_words<uint32_t>(in, mask, out, pixels, clear);
  if (pixel_bytes == 8 && aligned(8)) return masked_words<uint64_t>(in, mask, out, pixels, clear);
  const auto triples = [&](auto word) HWY_ATTR {
    using Word = decltype(word);
    masked_triples(static_cast<const Word*>(in), mask, static_cast<Word*>(out), pixels, clear);
  };
  if (pixel_bytes == 3) return triples(uint8_t());
  if (pixel_bytes == 6 && aligned(2)) return triples(uint16_t());
  if (pixel_bytes == 12 && aligned(4)) return triples(uint32_t());
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  if (clear) std::memset(to, 0, pixels * pixel_bytes);
  for (size_t i = 0; i < pixels; ++i)
    if (mask[i]) std::memcpy(to + pixel_bytes * i, from + pixel_bytes * i, pixel_bytes);
}

void row_moments_u8(const uint8_t* HWY_RESTRICT row, size_t n, int32_t sums[4]) {
  const hn::ScalableTag<int16_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const hn::Repartition<int32_t, decltype(d)> wide;
  using V = hn::Vec<decltype(d)>;
  using W = hn::Vec<decltype(wide)>;
  // Two accumulators each, because the products of a vector's lanes come in two vectors in any order.
  W total[4][2];
  for (auto& pair : total) pair[0] = pair[1] = hn::Zero(wide);
  const auto add = [&](W* to, V a, V b) HWY_ATTR { to[0] = hn::ReorderWidenMulAccumulate(wide, a, b, to[0], to[1]); };
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const V p = hn::PromoteTo(d, hn::LoadU(bytes, row + i)), x = hn::Iota(d, static_cast<int16_t>(i)), px = hn::Mul(p, x);
    add(total[0], p, hn::Set(d, int16_t{1})), add(total[1], p, x), add(total[2], px, x), add(total[3], px, hn::Mul(x, x));
  }
  for (int k = 0; k < 4; ++k) sums[k] = hn::GetLane(hn::SumOfLanes(wide, hn::Add(total[k][0], total[k][1])));
  for (; i < n; ++i) {
    const int32_t p = row[i], x = static_cast<int32_t>(i), px = p * x;
    sums[0] += p, sums[1] += px, sums[2] += px * x, sums[3] += px * x * x;
  }
}

template <class T, bool absolute, bool squared>
void sum_up(const T* HWY_RESTRICT in, size_t n, double* sums, double* squares) {
  // A sum has 2^14 elements: those of 16 bits, and squares of bytes, are within 32 bits.
  using Sum = std::conditional_t<std::is_floating_point_v<T> || sizeof(T) >= 4, double, int32_t>;
  using Square = std::conditional_t<sizeof(T) == 2, int64_t, Sum>;
  using Product = std::conditional_t<std::is_same_v<T, uint16_t>, uint32_t, Sum>;
  constexpr size_t kBefore = size_t{kSums} << 14;
  while (n > 0) {
    const size_t count = std::min(n, kBefore);
    Sum sum[kSums] = {};
    Square square[kSums] = {};
    const auto add = [&](size_t k, T element) HWY_ATTR {
      const Sum value = absolute ? std::abs(static_cast<Sum>(element)) : static_cast<Sum>(element);
      sum[k] += value;
      if constexpr (squared) square[k] += static_cast<Square>(static_cast<Product>(value) * static_cast<Product>(value));
    };
    size_t i = 0;
    for (; i + kSums <= count; i += kSums)
      for (size_t k = 0; k < kSums; ++k) add(k, in[i + k]);
    for (size_t k = 0; i < count; ++i, ++k) add(k, in[i]);
    for (size_t k = 0; k < kSums; ++k) {
      sums[k] += static_cast<double>(sum[k]);
      if constexpr (squared) squares[k] += static_cast<double>(square[k]);
    }
    in += count, n -= count;
  }
}
template <class T>
void sums(const void* from, size_t n, bool absolute, double* sums, double* squares) {
  const T* in = static_cast<const T*>(from);
  if (squares)
    sum_up<T, false, true>(in, n, sums, squares);
  else if (absolute)
    sum_up<T, true, false>(in, n, sums, squares);
  else
    sum_up<T, false, false>(in, n, sums, squares);
}

/// The sum of |a - b|, or of its square; b == nullptr: of a.
template <bool squared>
double distance_u8(const uint8_t* a, const uint8_t* b, size_t n) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  const hn::Repartition<int32_t, decltype(d)> d32;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const size_t lanes = hn::Lanes(d);
  uint64_t total = 0;
  size_t i = 0;
  const auto mask = hn::Set(hn::Repartition<uint16_t, decltype(d)>(), uint16_t{255});
  while (i + lanes <= n) {
    const size_t end = std::min(n, i + lanes * 4096);
    auto sums = hn::Zero(d64);
    auto even = hn::Zero(d32), odd = hn::Zero(d32), more_even = hn::Zero(d32), more_odd = hn::Zero(d32);
    for (; i + lanes <= end; i += lanes) {
      auto x = hn::LoadU(d, a + i);
      if (b) {
        const auto y = hn::LoadU(d, b + i);
        x = hn::Sub(hn::Max(x, y), hn::Min(x, y));
      }
      if constexpr (squared) {
        const auto wide = hn::BitCast(hn::Repartition<uint16_t, decltype(d)>(), x);
        const auto low = hn::BitCast(d16, hn::And(wide, mask)), high = hn::BitCast(d16, hn::ShiftRight<8>(wide));
        even = hn::ReorderWidenMulAccumulate(d32, low, low, even, more_even);
        odd = hn::ReorderWidenMulAccumulate(d32, high, high, odd, more_odd);
      } else {
        sums = hn::Add(sums, hn::SumsOf8(x));
      }
    }
    if constexpr (squared) {
      alignas(64) int32_t parts[HWY_MAX_BYTES / 4];
      for (const auto& part : {even, odd, more_even, more_odd}) {
        hn::Store(part, d32, parts);
        for (size_t k = 0; k < hn::Lanes(d32); ++k) total += static_cast<uint32_t>(parts[k]);
      }
    } else {
      alignas(64) uint64_t parts[HWY_MAX_BYTES / 8];
      hn::Store(sums, d64, parts);
      for (size_t k = 0; k < hn::Lanes(d64); ++k) total += parts[k];
    }
  }
  for (; i < n; ++i) {
    const int difference = b ? std::abs(a[i] - b[i]) : a[i];
    total += static_cast<uint64_t>(squared ? difference * difference : difference);
  }
  return static_cast<double>(total);
}

/// The entry of each byte: sixteen entries at a time, for those bytes whose upper half says so. Other bytes become places of 0x80 or more,
/// where TableLookupBytesOr0 gives 0.
void lookup_u8(const uint8_t* in, const uint8_t* table, uint8_t* out, size_t n) {
  const hn::ScalableTag<uint8_t> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V x = hn::LoadU(d, in + i), bound = hn::Set(d, uint8_t{0x70}), kept = hn::Set(d, uint8_t{0x8f});
    V found = hn::Zero(d);
    MINNOW_UNROLL
    for (int k = 0; k < 16; ++k) {
      const V place = hn::And(hn::SaturatedAdd(hn::Xor(x, hn::Set(d, static_cast<uint8_t>(16 * k))), bound), kept);
      found = hn::Or(found, hn::TableLookupBytesOr0(hn::LoadDup128(d, table + 16 * k), place));
    }
    hn::StoreU(found, d, out + i);
  }
  for (; i < n; ++i) out[i] = table[in[i]];
}

void add_bytes(const uint8_t* HWY_RESTRICT in, uint32_t* HWY_RESTRICT sums, size_t n) {
  for (size_t i = 0; i < n; ++i) sums[i] += in[i];
}

/// length * sin(angle) or length * cos(angle); length == nullptr: 1.
void from_polar_f32(const float* length, const float* angle, float* out, size_t n, double scale, bool sine) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  vectors(length ? length : angle, angle, out, n, [&](V m, V a) HWY_ATTR {
    const V turn = hn::Mul(a, hn::Set(d, static_cast<float>(scale))), made = sine ? hn::Sin(d, turn) : hn::Cos(d, turn);
    return length ? hn::Mul(made, m) : made;
  });
}

/// Sums of 1, 3 or 4 channels.
void channel_sums_u8(const uint8_t* in, size_t pixels, int channels, double* result) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  const size_t lanes = hn::Lanes(d), step = static_cast<size_t>(channels);
  auto a = hn::Zero(d64), b = a, c = a, e = a;
  size_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::Vec<decltype(d)> x, y, z, w;
    if (channels == 1) {
      a = hn::Add(a, hn::SumsOf8(hn::LoadU(d, in + i)));
    } else if (channels == 3) {
      hn::LoadInterleaved3(d, in + 3 * i, x, y, z);
      a = hn::Add(a, hn::SumsOf8(x)), b = hn::Add(b, hn::SumsOf8(y)), c = hn::Add(c, hn::SumsOf8(z));
    } else {
      hn::LoadInterleaved4(d, in + 4 * i, x, y, z, w);
      a = hn::Add(a, hn::SumsOf8(x)), b = hn::Add(b, hn::SumsOf8(y)), c = hn::Add(c, hn::SumsOf8(z)), e = hn::Add(e, hn::SumsOf8(w));
    }
  }
  alignas(64) uint64_t parts[4][HWY_MAX_BYTES / 8];
  hn::Store(a, d64, parts[0]), hn::Store(b, d64, parts[1]), hn::Store(c, d64, parts[2]), hn::Store(e, d64, parts[3]);
  for (size_t k = 0; k < step; ++k) {
    uint64_t total = 0;
    for (size_t lane = 0; lane < hn::Lanes(d64); ++lane) total += parts[k][lane];
    for (size_t rest = i; rest < pixels; ++rest) total += in[rest * step + k];
    result[k] += static_cast<double>(total);
  }
}

template <class T>
void least_and_most(const void* from, size_t n, double* least, double* most) {
  const T* in = static_cast<const T*>(from);
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  T low = in[0], high = in[0];
  size_t i = 0;
  if (n >= lanes) {
    auto smallest = hn::LoadU(d, in), greatest = smallest;
    if constexpr (std::is_floating_point_v<T>) {  // whose minimum takes several cycles
      auto smallest2 = smallest, greatest2 = smallest, smallest3 = smallest, greatest3 = smallest, smallest4 = smallest,
           greatest4 = smallest;
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        const auto a = hn::LoadU(d, in + i), b = hn::LoadU(d, in + i + lanes);
        const auto c = hn::LoadU(d, in + i + 2 * lanes), e = hn::LoadU(d, in + i + 3 * lanes);
        smallest = hn::Min(smallest, a), greatest = hn::Max(greatest, a), smallest2 = hn::Min(smallest2, b),
        greatest2 = hn::Max(greatest2, b);
        smallest3 = hn::Min(smallest3, c), greatest3 = hn::Max(greatest3, c);
        smallest4 = hn::Min(smallest4, e), greatest4 = hn::Max(greatest4, e);
      }
      smallest = hn::Min(hn::Min(smallest, smallest2), hn::Min(smallest3, smallest4));
      greatest = hn::Max(hn::Max(greatest, greatest2), hn::Max(greatest3, greatest4));
    }
    for (; i + lanes <= n; i += lanes) {
      const auto x = hn::LoadU(d, in + i);
      smallest = hn::Min(smallest, x), greatest = hn::Max(greatest, x);
    }
    alignas(64) T a[HWY_MAX_BYTES / sizeof(T)], b[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(smallest, d, a), hn::Store(greatest, d, b);
    low = *std::min_element(a, a + lanes), high = *std::max_element(b, b + lanes);
  }
  for (; i < n; ++i) low = std::min(low, in[i]), high = std::max(high, in[i]);
  *least = static_cast<double>(low), *most = static_cast<double>(high);
}

template <class T>
size_t nonzero(const void* from, size_t n) {
  const T* HWY_RESTRICT in = static_cast<const T*>(from);
  size_t count = 0;
  if constexpr (sizeof(T) == 1) {
    const hn::ScalableTag<uint8_t> d;
    const hn::Repartition<uint64_t, decltype(d)> d64;
    const auto* bytes = static_cast<const uint8_t*>(from);
    auto sums = hn::Zero(d64);
    size_t i = 0;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d))
      sums = hn::Add(sums, hn::SumsOf8(hn::Min(hn::LoadU(d, bytes + i), hn::Set(d, uint8_t{1}))));
    alignas(64) uint64_t parts[HWY_MAX_BYTES / 8];
    hn::Store(sums, d64, parts);
    for (size_t lane = 0; lane < hn::Lanes(d64); ++lane) count += static_cast<size_t>(parts[lane]);
    for (; i < n; ++i) count += bytes[i] != 0;
    return count;
  }
  for (size_t start = 0; start < n; start += size_t{1} << 20) {
    const size_t end = std::min(n, start + (size_t{1} << 20));
    int32_t here = 0;
    for (size_t i = start; i < end; ++i) here += in[i] != 0;
    count += static_cast<size_t>(here);
  }
  return count;
}

template <class T>
void split(const T* in, T* const* planes, int channels, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d), step = static_cast<size_t>(channels);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<decltype(d)> x, y, z, w;
    if (channels == 2) {
      hn::LoadInterleaved2(d, in + 2 * i, x, y);
    } else if (channels == 3) {
      hn::LoadInterleaved3(d, in + 3 * i, x, y, z);
      hn::StoreU(z, d, planes[2] + i);
    } else {
      hn::LoadInterleaved4(d, in + 4 * i, x, y, z, w);
      hn::StoreU(z, d, planes[2] + i), hn::StoreU(w, d, planes[3] + i);
    }
    hn::StoreU(x, d, planes[0] + i), hn::StoreU(y, d, planes[1] + i);
  }
  for (; i < n; ++i)
    for (size_t c = 0; c < step; ++c) planes[c][i] = in[step * i + c];
}

template <class T>
void merge(const T* const* planes, T* out, int channels, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d), step = static_cast<size_t>(channels);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::LoadU(d, planes[0] + i), y = hn::LoadU(d, planes[1] + i);
    if (channels == 2)
      hn::StoreInterleaved2(x, y, d, out + 2 * i);
    else if (channels == 3)
      hn::StoreInterleaved3(x, y, hn::LoadU(d, planes[2] + i), d, out + 3 * i);
    else
      hn::StoreInterleaved4(x, y, hn::LoadU(d, planes[2] + i), hn::LoadU(d, planes[3] + i), d, out + 4 * i);
  }
  for (; i < n; ++i)
    for (size_t c = 0; c < step; ++c) out[step * i + c] = planes[c][i];
}

void weighted_planes(const float* const* planes, const float* weights, float shift, int count, float* HWY_RESTRICT out, size_t n) {
  const float *HWY_RESTRICT a = planes[0], *HWY_RESTRICT b = planes[1], *HWY_RESTRICT c = planes[2], *HWY_RESTRICT e = planes[3];
  const float p = weights[0], q = weights[1], r = weights[2], s = weights[3];
  if (count == 3)
    for (size_t i = 0; i < n; ++i) out[i] = a[i] * p + b[i] * q + (c[i] * r + shift);
  else
    for (size_t i = 0; i < n; ++i) out[i] = a[i] * p + b[i] * q + (c[i] * r + (e[i] * s + shift));
}

/// Products of bytes and weights in 16 bits, `fraction` of which are behind the point. Pixels of even places and of odd ones go apart.
void transform_in_shorts(const uint8_t* in, const float* weights, uint8_t* out, size_t n, int fraction) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<int16_t, decltype(d)> shorts;
  const hn::Repartition<uint16_t, decltype(d)> unsigned_shorts;
  using V = hn::Vec<decltype(d)>;
  using S = hn::Vec<decltype(shorts)>;
  int16_t scaled[12];  // a byte times 2^7, times a weight times 2^(8 + fraction), less 15 bits
  for (size_t k = 0; k < 12; ++k)
    scaled[k] = static_cast<int16_t>(std::lrint(static_cast<double>(weights[k]) * (k % 4 == 3 ? 1 << fraction : 256 << fraction)));
  const auto even = [&](V x) HWY_ATTR { return hn::BitCast(shorts, hn::ShiftRight<1>(hn::ShiftLeft<8>(hn::BitCast(unsigned_shorts, x)))); };
  const auto odd = [&](V x) HWY_ATTR {
    return hn::BitCast(shorts, hn::ShiftRight<1>(hn::AndNot(hn::Set(unsigned_shorts, 255), hn::BitCast(unsigned_shorts, x))));
  };
  const auto pixels = [&](const uint8_t* from, uint8_t* to) HWY_ATTR {
    V x, y, z;
    hn::LoadInterleaved3(d, from, x, y, z);
    const S x0 = even(x), x1 = odd(x), y0 = even(y), y1 = odd(y), z0 = even(z), z1 = odd(z);
    const auto made = [&](const int16_t* w) HWY_ATTR {
      const S p = hn::Set(shorts, w[0]), q = hn::Set(shorts, w[1]), r = hn::Set(shorts, w[2]);
      const S start = hn::Set(shorts, static_cast<int16_t>(w[3] + (1 << fraction >> 1)));
      const auto half = [&](S a, S b, S c) HWY_ATTR {
        const S sum = hn::Add(hn::Add(hn::MulFixedPoint15(a, p), hn::MulFixedPoint15(b, q)), hn::Add(hn::MulFixedPoint15(c, r), start));
        const S whole = fraction == 6 ? hn::ShiftRight<6>(sum) : fraction == 5 ? hn::ShiftRight<5>(sum) : hn::ShiftRight<4>(sum);
        return hn::BitCast(unsigned_shorts, hn::Min(hn::Max(whole, hn::Zero(shorts)), hn::Set(shorts, 255)));
      };
      return hn::BitCast(d, hn::Or(half(x0, y0, z0), hn::ShiftLeft<8>(half(x1, y1, z1))));
    };
    hn::StoreInterleaved3(made(scaled), made(scaled + 4), made(scaled + 8), d, to);
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) pixels(in + 3 * i, out + 3 * i);
  if (i == n) return;
  uint8_t from[3 * HWY_MAX_BYTES] = {}, to[sizeof(from)];
  std::copy(in + 3 * i, in + 3 * n, from);
  pixels(from, to);
  std::copy(to, to + 3 * (n - i), out + 3 * i);
}

void transform_u8(const uint8_t* in, const float* weights, uint8_t* out, size_t n) {
  float most = 0;  // of sums, in units of 256
  for (size_t k = 0; k < 12; k += 4)
    most = std::max(most, std::abs(weights[k]) + std::abs(weights[k + 1]) + std::abs(weights[k + 2]) + std::abs(weights[k + 3]) / 256);
  for (const int fraction : {6, 5, 4})
    if (most * static_cast<float>(1 << fraction) < 127) return transform_in_shorts(in, weights, out, n, fraction);
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const hn::RebindToSigned<decltype(d)> integers;
  using V = hn::Vec<decltype(d)>;
  const auto floats = [&](hn::Vec<decltype(bytes)> x) HWY_ATTR { return hn::ConvertTo(d, hn::PromoteTo(integers, x)); };
  const auto pixels = [&](const uint8_t* from, uint8_t* to) HWY_ATTR {
    hn::Vec<decltype(bytes)> x, y, z;
    hn::LoadInterleaved3(bytes, from, x, y, z);
    const V a = floats(x), b = floats(y), c = floats(z);
    const auto made = [&](const float* w) HWY_ATTR {
      const V sum = hn::MulAdd(a, hn::Set(d, w[0]), hn::MulAdd(b, hn::Set(d, w[1]), hn::MulAdd(c, hn::Set(d, w[2]), hn::Set(d, w[3]))));
      const V bounded = hn::IfThenElseZero(hn::Eq(sum, sum), hn::Min(hn::Max(sum, hn::Zero(d)), hn::Set(d, 255.0f)));
      return hn::DemoteTo(bytes, hn::NearestInt(bounded));
    };
    hn::StoreInterleaved3(made(weights), made(weights + 4), made(weights + 8), bytes, to);
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) pixels(in + 3 * i, out + 3 * i);
  if (i == n) return;
  uint8_t from[3 * HWY_MAX_BYTES / sizeof(float)] = {}, to[sizeof(from)];
  std::copy(in + 3 * i, in + 3 * n, from);
  pixels(from, to);
  std::copy(to, to + 3 * (n - i), out + 3 * i);
}

template <class T>
void eliminate(T* a, size_t n, T* b, size_t k, size_t i) {
  const T d = -1 / a[i * n + i];
  const auto add = [](T alpha, const T* HWY_RESTRICT from, T* HWY_RESTRICT to, size_t count) HWY_ATTR {
    for (size_t c = 0; c < count; ++c) to[c] += alpha * from[c];
  };
  for (size_t j = i + 1; j < n; ++j) {
    const T alpha = a[j * n + i] * d;
    add(alpha, a + i * n + i + 1, a + j * n + i + 1, n - i - 1);
    if (b) add(alpha, b + i * k, b + j * k, k);
  }
}

}  // namespace

#define MINNOW_ELEMENTS(f) \
  { f<uint8_t>, f<int8_t>, f<uint16_t>, f<int16_t>, f<int32_t>, f<float>, f<double> }
#define MINNOW_ELEMENTS_AS(f, W) \
  { f<uint8_t, W>, f<int8_t, W>, f<uint16_t, W>, f<int16_t, W>, f<int32_t, W>, f<float, W>, f<double, W> }
#define MINNOW_NATIVE(T, multiply)                                                                               \
  {                                                                                                              \
    native<T, ElementOp::add>, native<T, ElementOp::subtract>, native<T, ElementOp::absdiff>, multiply, nullptr, \
        native<T, ElementOp::minimum>, native<T, ElementOp::maximum>, nullptr                                    \
  }

extern const ArithmeticLoops kArithmeticLoops;
const ArithmeticLoops kArithmeticLoops{
    MINNOW_ELEMENTS_AS(widen, float),
    MINNOW_ELEMENTS_AS(widen, double),
    MINNOW_ELEMENTS_AS(narrow, float),
    MINNOW_ELEMENTS_AS(narrow, double),
    binary<float>,
    binary<double>,
    unary<float>,
    unary<double>,
    magnitude<float>,
    magnitude<double>,
    phase_f32,
    phase_f64,
    {MINNOW_NATIVE(uint8_t, multiply_u8),
     {nullptr, nullptr, nullptr, nullptr, nullptr, native<int8_t, ElementOp::minimum>, native<int8_t, ElementOp::maximum>},
     MINNOW_NATIVE(uint16_t, nullptr),
     MINNOW_NATIVE(int16_t, nullptr),
     MINNOW_NATIVE(int32_t, nullptr),
     MINNOW_NATIVE(float, (native<float, ElementOp::multiply>)),
     {}},
    weighted_u8,
    divide_u8,
    scaled_bytes<uint8_t>,
    scaled_bytes<float>,
    bits,
    compare_u8,
    compare<float>,
    compare<double>,
    in_range_u8,
    masked,
    MINNOW_ELEMENTS(sums),
    distance_u8<false>,
    distance_u8<true>,
    channel_sums_u8,
    row_moments_u8,
    MINNOW_ELEMENTS(least_and_most),
    MINNOW_ELEMENTS(nonzero),
    split<uint8_t>,
    split<float>,
    merge<uint8_t>,
    merge<float>,
    weighted_planes,
    transform_u8,
    eliminate<float>,
    eliminate<double>,
    lookup_u8,
    add_bytes,
    from_polar_f32};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kArithmeticLoops
const minnow::vision::ArithmeticLoops& minnow::vision::arithmetic_loops() {
  static const ArithmeticLoops& loops = choose_loops<ArithmeticLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
