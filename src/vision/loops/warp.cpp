// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/warp.cpp"
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kAffineBits = 10;

inline int32_t sum_of(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
inline int32_t to_i16(int32_t x) { return std::clamp(x, -32768, 32767); }

void affine(const int32_t* HWY_RESTRICT dx, const int32_t* HWY_RESTRICT dy, int32_t x0, int32_t y0, int64_t n, const Places& out) {
  int32_t* HWY_RESTRICT to_x = out.x;
  int32_t* HWY_RESTRICT to_y = out.y;
  if (!out.fraction) {
    for (int64_t i = 0; i < n; ++i) {
      to_x[i] = to_i16(sum_of(x0, dx[i]) >> kAffineBits);
      to_y[i] = to_i16(sum_of(y0, dy[i]) >> kAffineBits);
    }
    return;
  }
  uint16_t* HWY_RESTRICT fraction = out.fraction;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t x = sum_of(x0, dx[i]) >> (kAffineBits - kFractionBits), y = sum_of(y0, dy[i]) >> (kAffineBits - kFractionBits);
    to_x[i] = to_i16(x >> kFractionBits);
    to_y[i] = to_i16(y >> kFractionBits);
    fraction[i] = static_cast<uint16_t>((y & (kFractions - 1)) * kFractions + (x & (kFractions - 1)));
  }
}

/// Places in 1/32 of a pixel, or whole ones, as places [i, ...).
HWY_INLINE void store_place(int32_t x, int32_t y, int64_t i, const Places& out) {
  if (out.fraction) {
    out.x[i] = to_i16(x >> kFractionBits), out.y[i] = to_i16(y >> kFractionBits);
    out.fraction[i] = static_cast<uint16_t>((y & (kFractions - 1)) * kFractions + (x & (kFractions - 1)));
  } else {
    out.x[i] = to_i16(x), out.y[i] = to_i16(y);
  }
}
template <class D, class V>
HWY_INLINE void store_places(D d, V x, V y, int64_t i, const Places& out) {
  const auto limited = [&](V v) HWY_ATTR { return hn::Max(hn::Set(d, -32768), hn::Min(hn::Set(d, 32767), v)); };
  if (out.fraction) {
    const hn::Rebind<uint16_t, D> half;
    const auto mask = hn::Set(d, kFractions - 1);
    const auto fraction = hn::Add(hn::ShiftLeft<kFractionBits>(hn::And(y, mask)), hn::And(x, mask));
    hn::StoreU(hn::DemoteTo(half, fraction), half, out.fraction + i);
    x = hn::ShiftRight<kFractionBits>(x), y = hn::ShiftRight<kFractionBits>(y);
  }
  hn::StoreU(limited(x), d, out.x + i);
  hn::StoreU(limited(y), d, out.y + i);
}

void perspective(double x0, double y0, double w0, double mx, double my, double mw, int64_t n, const Places& out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const double scale = out.fraction ? kFractions : 1;
  const auto low = hn::Set(d, -2147483648.0), high = hn::Set(d, 2147483647.0);
  const auto step = hn::Set(d, static_cast<double>(lanes));
  auto at = hn::Iota(d, 0.0);
  HWY_ALIGN int32_t whole[2][hn::MaxLanes(di)];
  for (int64_t i = 0; i < n; i += lanes, at = hn::Add(at, step)) {
    const auto w = hn::Add(hn::Set(d, w0), hn::Mul(hn::Set(d, mw), at));
    const auto factor = hn::IfThenElseZero(hn::Ne(w, hn::Zero(d)), hn::Div(hn::Set(d, scale), w));
    const auto place = [&](double start, double slope) HWY_ATTR {
      const auto value = hn::Mul(hn::Add(hn::Set(d, start), hn::Mul(hn::Set(d, slope), at)), factor);
      return hn::DemoteTo(di, hn::Round(hn::Max(low, hn::Min(high, value))));
    };
    const auto x = place(x0, mx), y = place(y0, my);
    if (i + lanes <= n) {
      store_places(di, x, y, i, out);
      continue;
    }
    hn::Store(x, di, whole[0]);
    hn::Store(y, di, whole[1]);
    for (int64_t k = 0; i + k < n; ++k) store_place(whole[0][k], whole[1][k], i + k, out);
  }
}

void from_maps(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, int64_t n, const Places& out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float scale = out.fraction ? kFractions : 1;
  HWY_ALIGN float padded[2][hn::MaxLanes(d)] = {};
  HWY_ALIGN int32_t whole[2][hn::MaxLanes(d)];
  const auto nowhere = hn::Set(di, std::numeric_limits<int32_t>::min());  // as the processor converts what has no integer
  const auto place = [&](const float* from) HWY_ATTR {
    const auto value = hn::Mul(hn::LoadU(d, from), hn::Set(d, scale));
    const auto fits = hn::Lt(hn::Abs(value), hn::Set(d, 2147483648.0f));
    return hn::IfThenElse(hn::RebindMask(di, fits), hn::NearestInt(hn::IfThenElseZero(fits, value)), nowhere);
  };
  for (int64_t i = 0; i < n; i += lanes) {
    if (i + lanes <= n) {
      store_places(di, place(x + i), place(y + i), i, out);
      continue;
    }
    std::memcpy(padded[0], x + i, static_cast<size_t>(n - i) * sizeof(float));
    std::memcpy(padded[1], y + i, static_cast<size_t>(n - i) * sizeof(float));
    hn::Store(place(padded[0]), di, whole[0]);
    hn::Store(place(padded[1]), di, whole[1]);
    for (int64_t k = 0; i + k < n; ++k) store_place(whole[0][k], whole[1][k], i + k, out);
  }
}

void join(const int32_t* HWY_RESTRICT x, const int32_t* HWY_RESTRICT y, int64_t n, int16_t* HWY_RESTRICT out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t both = (static_cast<uint32_t>(x[i]) & 0xffff) | static_cast<uint32_t>(y[i]) << 16;
    std::memcpy(out + 2 * i, &both, 4);
  }
}

bool within(const int32_t* HWY_RESTRICT xs, const int32_t* HWY_RESTRICT ys, int64_t n, int32_t x, int32_t y, uint32_t columns,
            uint32_t rows) {
  uint32_t beyond = 0;
  for (int64_t i = 0; i < n; ++i)
    beyond |= static_cast<uint32_t>(static_cast<uint32_t>(xs[i] - x) >= columns) |
              static_cast<uint32_t>(static_cast<uint32_t>(ys[i] - y) >= rows);
  return beyond == 0;
}

template <size_t kBytes>
HWY_INLINE void pick_of(const WarpSource& source, const std::byte* color, const Places& places, int64_t n, size_t pixel,
                        std::byte* HWY_RESTRICT out) {
  const size_t bytes = kBytes ? kBytes : pixel;
  const std::byte* const data = source.data;
  const int64_t stride = source.stride;
  const uint32_t width = static_cast<uint32_t>(source.width), height = static_cast<uint32_t>(source.height);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t x = static_cast<uint32_t>(places.x[i]), y = static_cast<uint32_t>(places.y[i]);
    const std::byte* const from = data + static_cast<int64_t>(y) * stride + static_cast<int64_t>(x * bytes);
    std::memcpy(out + static_cast<size_t>(i) * bytes, x < width && y < height ? from : color, bytes);
  }
}
void pick(const WarpSource& source, const std::byte* color, const Places& places, int64_t n, size_t bytes, std::byte* out) {
  switch (bytes) {
    case 1:
      return pick_of<1>(source, color, places, n, bytes, out);
    case 2:
      return pick_of<2>(source, color, places, n, bytes, out);
    case 3:
      return pick_of<3>(source, color, places, n, bytes, out);
    case 4:
      return pick_of<4>(source, color, places, n, bytes, out);
    case 6:
      return pick_of<6>(source, color, places, n, bytes, out);
    case 8:
      return pick_of<8>(source, color, places, n, bytes, out);
    case 12:
      return pick_of<12>(source, color, places, n, bytes, out);
    default:
      return pick_of<0>(source, color, places, n, bytes, out);
  }
}

void polar(float center, float y, int64_t n, float* HWY_RESTRICT lengths, float* HWY_RESTRICT angles) {
  constexpr float kQuarter = 1.57079632679f;
  const float height = std::abs(y);
  for (int64_t i = 0; i < n; ++i) {
    const float x = static_cast<float>(static_cast<int32_t>(i)) - center, width = std::abs(x);
    lengths[i] = std::sqrt(x * x + y * y);
    // The arc tangent of at most 1, up to 1e-5 (C. Hastings, Approximations for Digital Computers, 1955, with one term more), then the
    // octant.
    const float most = std::max(std::max(width, height), 1e-30f), ratio = std::min(width, height) / most, square = ratio * ratio;
    float angle = -0.01172120f;
    angle = angle * square + 0.05265332f;
    angle = angle * square - 0.11643287f;
    angle = angle * square + 0.19354346f;
    angle = angle * square - 0.33262347f;
    angle = (angle * square + 0.99997726f) * ratio;
    angle = width < height ? kQuarter - angle : angle;
    angle = x < 0 ? 2 * kQuarter - angle : angle;
    angles[i] = y < 0 ? 4 * kQuarter - angle : angle;
  }
}

void scale(float* HWY_RESTRICT x, int64_t n, float factor, float sum) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor + sum;
}

void project(const float* HWY_RESTRICT in, int64_t n, const double* m, float* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto row = [&](int r, auto x, auto y) HWY_ATTR {
    return hn::MulAdd(x, hn::Set(d, m[3 * r]), hn::MulAdd(y, hn::Set(d, m[3 * r + 1]), hn::Set(d, m[3 * r + 2])));
  };
  const auto least = hn::Set(d, static_cast<double>(std::numeric_limits<float>::epsilon()));
  const auto some = [&](const float* from, float* to) HWY_ATTR {
    hn::Vec<decltype(df)> fx, fy;
    hn::LoadInterleaved2(df, from, fx, fy);
    const auto x = hn::PromoteTo(d, fx), y = hn::PromoteTo(d, fy), w = row(2, x, y);
    const auto factor = hn::IfThenElseZero(hn::Gt(hn::Abs(w), least), hn::Div(hn::Set(d, 1.0), w));
    hn::StoreInterleaved2(hn::DemoteTo(df, hn::Mul(row(0, x, y), factor)), hn::DemoteTo(df, hn::Mul(row(1, x, y), factor)), df, to);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) some(in + 2 * i, out + 2 * i);
  if (i < n) {
    HWY_ALIGN float padded[2 * hn::MaxLanes(d)] = {}, made[2 * hn::MaxLanes(d)];
    std::memcpy(padded, in + 2 * i, static_cast<size_t>(n - i) * 2 * sizeof(float));
    some(padded, made);
    std::memcpy(out + 2 * i, made, static_cast<size_t>(n - i) * 2 * sizeof(float));
  }
}

template <class T>
HWY_INLINE const T* pixel(const WarpSource& source, int64_t x, int64_t y, int64_t channels) {
  return reinterpret_cast<const T*>(source.data + y * source.stride) + x * channels;
}

/// ((a, b) joined by the fraction of x, (c, d) too) joined by the fraction of y, rounded half up: exact.
inline uint8_t linear_of(int a, int b, int c, int d, int fx, int fy) {
  const int top = a * kFractions + (b - a) * fx, bottom = c * kFractions + (d - c) * fx;
  return static_cast<uint8_t>((top * kFractions + (bottom - top) * fy + (1 << (2 * kFractionBits - 1))) >> (2 * kFractionBits));
}

/// One channel: neighbours are collected in 32-bit lanes.
void linear8_1(const WarpSource& source, const Places& places, int64_t n, const float*, std::byte* out) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  constexpr size_t kMost = hn::MaxLanes(d);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN uint32_t four[kMost];
  auto* const to = reinterpret_cast<uint8_t*>(out);
  const auto low = hn::Set(d, 255), mask = hn::Set(d, kFractions - 1), half = hn::Set(d, 1 << (2 * kFractionBits - 1));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int64_t k = 0; k < lanes; ++k) {
      const uint8_t* const at = pixel<uint8_t>(source, places.x[i + k], places.y[i + k], 1);
      uint16_t top, bottom;
      std::memcpy(&top, at, 2);
      std::memcpy(&bottom, at + source.stride, 2);
      four[k] = top | static_cast<uint32_t>(bottom) << 16;
    }
    const auto all = hn::Load(d, reinterpret_cast<const int32_t*>(four));
    const auto fraction = hn::PromoteTo(d, hn::LoadU(d16, places.fraction + i));
    const auto fx = hn::And(fraction, mask), fy = hn::ShiftRight<kFractionBits>(fraction);
    const auto a = hn::And(all, low), b = hn::And(hn::ShiftRight<8>(all), low);
    const auto c = hn::And(hn::ShiftRight<16>(all), low), e = hn::And(hn::ShiftRight<24>(all), low);
    const auto top = hn::Add(hn::ShiftLeft<kFractionBits>(a), hn::Mul(hn::Sub(b, a), fx));
    const auto bottom = hn::Add(hn::ShiftLeft<kFractionBits>(c), hn::Mul(hn::Sub(e, c), fx));
    const auto sum = hn::Add(hn::Add(hn::ShiftLeft<kFractionBits>(top), hn::Mul(hn::Sub(bottom, top), fy)), half);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<2 * kFractionBits>(sum)), d8, to + i);
  }
  for (; i < n; ++i) {
    const uint8_t* const at = pixel<uint8_t>(source, places.x[i], places.y[i], 1);
    to[i] =
        linear_of(at[0], at[1], at[source.stride], at[source.stride + 1], places.fraction[i] % kFractions, places.fraction[i] / kFractions);
  }
}

template <int kChannels>
void linear8(const WarpSource& source, const Places& places, int64_t n, const float*, std::byte* out) {
  auto* to = reinterpret_cast<uint8_t*>(out);
  int64_t i = 0;
#if HWY_ARCH_X86
  // The eight bytes of two pixels and those below them become four 32-bit lanes, one for each channel. warpAffine of u8[1080, 1920, 3]
  // takes 3.0 ms in place of 14 ms (one thread, EPYC with AVX-512, 2026-11-23).
  alignas(16) static constexpr auto kWeights = [] {
    struct {
      int8_t x[kFractions][16];
      int16_t y[kFractions][8];
    } weights{};
    for (int f = 0; f < kFractions; ++f) {
      for (int k = 0; k < 16; ++k) weights.x[f][k] = static_cast<int8_t>(k % 2 ? f : kFractions - f);
      for (int k = 0; k < 8; ++k) weights.y[f][k] = static_cast<int16_t>(k % 2 ? f : kFractions - f);
    }
    return weights;
  }();
  constexpr int8_t kNext = kChannels;
  const __m128i order =
      _mm_setr_epi8(0, kNext, 8, 8 + kNext, 1, 1 + kNext, 9, 9 + kNext, 2, 2 + kNext, 10, 10 + kNext, 3, 3 + kNext, 11, 11 + kNext);
  const __m128i half = _mm_set1_epi32(1 << (2 * kFractionBits - 1));
  const auto one = [&](int64_t k) HWY_ATTR {
    const uint8_t* const at = pixel<uint8_t>(source, places.x[k], places.y[k], kChannels);
    const __m128i four = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)),
                                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + source.stride)));
    const size_t fraction = places.fraction[k];
    const __m128i across = _mm_maddubs_epi16(_mm_shuffle_epi8(four, order),
                                             _mm_load_si128(reinterpret_cast<const __m128i*>(kWeights.x[fraction % kFractions])));
    const __m128i sum = _mm_madd_epi16(across, _mm_load_si128(reinterpret_cast<const __m128i*>(kWeights.y[fraction / kFractions])));
    return _mm_srli_epi32(_mm_add_epi32(sum, half), 2 * kFractionBits);
  };
  const __m128i three = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  for (; i + 4 <= n; i += 4) {
    __m128i bytes = _mm_packus_epi16(_mm_packs_epi32(one(i), one(i + 1)), _mm_packs_epi32(one(i + 2), one(i + 3)));
    if constexpr (kChannels == 4) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 4 * i), bytes);
    } else {
      bytes = _mm_shuffle_epi8(bytes, three);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 3 * i), bytes);
      const int last = _mm_extract_epi32(bytes, 2);
      std::memcpy(to + 3 * i + 8, &last, 4);
    }
  }
#endif
  for (; i < n; ++i) {
    const uint8_t* const at = pixel<uint8_t>(source, places.x[i], places.y[i], kChannels);
    const uint8_t* const below = at + source.stride;
    for (int c = 0; c < kChannels; ++c)
      to[i * kChannels + c] = linear_of(at[c], at[c + kChannels], below[c], below[c + kChannels], places.fraction[i] % kFractions,
                                        places.fraction[i] / kFractions);
  }
}

void linear32_1(const WarpSource& source, const Places& places, int64_t n, const float*, std::byte* out) {
  auto* const to = reinterpret_cast<float*>(out);
  constexpr float kStep = 1.0f / kFractions;
  for (int64_t i = 0; i < n; ++i) {
    const float* const at = pixel<float>(source, places.x[i], places.y[i], 1);
    const float* const below = reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(at) + source.stride);
    const float fx = static_cast<float>(places.fraction[i] % kFractions) * kStep,
                fy = static_cast<float>(places.fraction[i] / kFractions) * kStep;
    to[i] = (at[0] * (1 - fx) + at[1] * fx) * (1 - fy) + (below[0] * (1 - fx) + below[1] * fx) * fy;
  }
}

using D4 = hn::CappedTag<float, 4>;
using V4 = hn::Vec<D4>;

HWY_INLINE V4 load_pixel(const float* from) { return hn::LoadU(D4(), from); }
HWY_INLINE V4 load_pixel(const uint8_t* from) {
  const hn::Rebind<int32_t, D4> di;
  return hn::ConvertTo(D4(), hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint8_t, D4>(), from)));
}
template <int kCount>
HWY_INLINE void store_pixel(V4 pixel, float* to) {
  if constexpr (kCount == 4) return hn::StoreU(pixel, D4(), to);
  HWY_ALIGN float four[4];
  hn::Store(pixel, D4(), four);
  std::memcpy(to, four, kCount * sizeof(float));
}
template <int kCount>
HWY_INLINE void store_pixel(V4 pixel, uint8_t* to) {
  const hn::Rebind<uint8_t, D4> d8;
  uint8_t four[4];
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(pixel)), d8, four);
  std::memcpy(to, four, kCount);
}

template <int kChannels>
void linear32(const WarpSource& source, const Places& places, int64_t n, const float*, std::byte* out) {
  auto* const to = reinterpret_cast<float*>(out);
  const D4 d;
  constexpr float kStep = 1.0f / kFractions;
  for (int64_t i = 0; i < n; ++i) {
    const float* const at = pixel<float>(source, places.x[i], places.y[i], kChannels);
    const float* const below = reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(at) + source.stride);
    const V4 fx = hn::Set(d, static_cast<float>(places.fraction[i] % kFractions) * kStep);
    const V4 fy = hn::Set(d, static_cast<float>(places.fraction[i] / kFractions) * kStep);
    const V4 a = load_pixel(at), b = load_pixel(below);
    const V4 top = hn::MulAdd(hn::Sub(load_pixel(at + kChannels), a), fx, a),
             bottom = hn::MulAdd(hn::Sub(load_pixel(below + kChannels), b), fx, b);
    store_pixel<kChannels>(hn::MulAdd(hn::Sub(bottom, top), fy, top), to + i * kChannels);
  }
}

/// 4 or 8 neighbours on each axis; 3 or 4 channels.
template <class T, int kChannels, int kCount>
void taps(const WarpSource& source, const Places& places, int64_t n, const float* weights, std::byte* out) {
  auto* const to = reinterpret_cast<T*>(out);
  const D4 d;
  for (int64_t i = 0; i < n; ++i) {
    const float* const wx = weights + places.fraction[i] % kFractions * kCount;
    const float* const wy = weights + places.fraction[i] / kFractions * kCount;
    V4 sum = hn::Zero(d);
    if constexpr (kChannels == 1) {
      for (int r = 0; r < kCount; ++r) {
        const T* const at = pixel<T>(source, places.x[i] - (kCount / 2 - 1), places.y[i] - (kCount / 2 - 1) + r, 1);
        V4 row = hn::Mul(load_pixel(at), hn::LoadU(d, wx));
        if constexpr (kCount == 8) row = hn::MulAdd(load_pixel(at + 4), hn::LoadU(d, wx + 4), row);
        sum = hn::MulAdd(row, hn::Set(d, wy[r]), sum);
      }
      store_pixel<1>(hn::SumOfLanes(d, sum), to + i);
    } else {
      for (int r = 0; r < kCount; ++r) {
        const T* const at = pixel<T>(source, places.x[i] - (kCount / 2 - 1), places.y[i] - (kCount / 2 - 1) + r, kChannels);
        V4 row = hn::Mul(load_pixel(at), hn::Set(d, wx[0]));
        MINNOW_UNROLL
        for (int k = 1; k < kCount; ++k) row = hn::MulAdd(load_pixel(at + k * kChannels), hn::Set(d, wx[k]), row);
        sum = hn::MulAdd(row, hn::Set(d, wy[r]), sum);
      }
      store_pixel<kChannels>(sum, to + i * kChannels);
    }
  }
}

extern const WarpLoops kWarpLoops;
const WarpLoops kWarpLoops{affine,
                           perspective,
                           from_maps,
                           join,
                           within,
                           pick,
                           polar,
                           scale,
                           project,
                           {nullptr, linear8_1, nullptr, linear8<3>, linear8<4>},
                           {nullptr, linear32_1, nullptr, linear32<3>, linear32<4>},
                           {nullptr, taps<uint8_t, 1, 4>, nullptr, taps<uint8_t, 3, 4>, taps<uint8_t, 4, 4>},
                           {nullptr, taps<float, 1, 4>, nullptr, taps<float, 3, 4>, taps<float, 4, 4>},
                           {nullptr, taps<uint8_t, 1, 8>, nullptr, taps<uint8_t, 3, 8>, taps<uint8_t, 4, 8>},
                           {nullptr, taps<float, 1, 8>, nullptr, taps<float, 3, 8>, taps<float, 4, 8>}};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kWarpLoops
const minnow::vision::WarpLoops& minnow::vision::warp_loops() {
  static const WarpLoops& loops = choose_loops<WarpLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
