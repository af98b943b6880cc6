// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/resize.h"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/resize.cpp"
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<int16_t>;
using D8 = hn::Rebind<uint8_t, D16>;
using D32 = hn::ScalableTag<float>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

/// Calls body(i) for vectors of `lanes` elements that cover [0, n); the last one overlaps the one before. Calls rest(i) for single elements
/// where there is less than one vector.
template <class Body, class Rest>
HWY_INLINE void cover(size_t n, size_t lanes, Body&& body, Rest&& rest) {
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) rest(i);
    return;
  }
  for (size_t i = 0; i + lanes <= n; i += lanes) body(i);
  if (n % lanes) body(n - lanes);
}

inline int16_t fixed15(int a, int b) { return static_cast<int16_t>((a * b + (1 << 14)) >> 15); }
inline uint8_t byte_of(int x) { return static_cast<uint8_t>(std::clamp(x, 0, 255)); }

void widen(const uint8_t* HWY_RESTRICT in, size_t n, int bits, int16_t* HWY_RESTRICT out) {
  const D16 d;
  cover(
      n, hn::Lanes(d),
      [&](size_t i) HWY_ATTR { hn::StoreU(hn::ShiftLeftSame(hn::PromoteTo(d, hn::LoadU(D8(), in + i)), bits), d, out + i); },
      [&](size_t i) { out[i] = static_cast<int16_t>(in[i] << bits); });
}

template <int kShift>
void round_to(const int16_t* HWY_RESTRICT in, size_t n, uint8_t* HWY_RESTRICT out) {
  const D16 d;
  const V16 half = hn::Set(d, int16_t{1 << (kShift - 1)});
  cover(
      n, hn::Lanes(d),
      [&](size_t i)
          HWY_ATTR { hn::StoreU(hn::DemoteTo(D8(), hn::ShiftRight<kShift>(hn::SaturatedAdd(hn::LoadU(d, in + i), half))), D8(), out + i); },
      [&](size_t i) { out[i] = byte_of((in[i] + (1 << (kShift - 1))) >> kShift); });
}
void round(const int16_t* in, size_t n, int bits, uint8_t* out) {
  bits == kLinearBits ? round_to<kLinearBits>(in, n, out) : round_to<kBits>(in, n, out);
}

template <int kCount>
void down8_of(const uint8_t* const* rows, const int16_t* weights, size_t n, int16_t* HWY_RESTRICT out) {
  const D16 d;
  if constexpr (kCount == 2) {
    const uint8_t* HWY_RESTRICT a = rows[0];
    const uint8_t* HWY_RESTRICT b = rows[1];
    const V16 w = hn::Set(d, weights[1]);
    cover(
        n, hn::Lanes(d),
        [&](size_t i) HWY_ATTR {
          const V16 first = hn::PromoteTo(d, hn::LoadU(D8(), a + i)), second = hn::PromoteTo(d, hn::LoadU(D8(), b + i));
          hn::StoreU(hn::Add(hn::ShiftLeft<kLinearBits>(first), hn::MulFixedPoint15(hn::ShiftLeft<kLinearBits>(hn::Sub(second, first)), w)),
                     d, out + i);
        },
        [&](size_t i) { out[i] = static_cast<int16_t>((a[i] << kLinearBits) + fixed15((b[i] - a[i]) * (1 << kLinearBits), weights[1])); });
  } else {
    V16 w0 = hn::Set(d, weights[0]), w1 = hn::Set(d, weights[1]), w2 = hn::Set(d, weights[2]), w3 = hn::Set(d, weights[3]);
    const auto four = [&](const uint8_t* const* from, size_t i, V16 a, V16 b, V16 c, V16 e) HWY_ATTR {
      const auto of = [&](int k) HWY_ATTR { return hn::ShiftLeft<kBits>(hn::PromoteTo(d, hn::LoadU(D8(), from[k] + i))); };
      return hn::Add(hn::Add(hn::MulFixedPoint15(of(0), a), hn::MulFixedPoint15(of(1), b)),
                     hn::Add(hn::MulFixedPoint15(of(2), c), hn::MulFixedPoint15(of(3), e)));
    };
    const auto rest = [&](size_t i) {
      int sum = 0;
      for (int k = 0; k < kCount; ++k) sum += fixed15(rows[k][i] << kBits, weights[k]);
      out[i] = static_cast<int16_t>(sum);
    };
    if constexpr (kCount == 4) {
      cover(
          n, hn::Lanes(d), [&](size_t i) HWY_ATTR { hn::StoreU(four(rows, i, w0, w1, w2, w3), d, out + i); }, rest);
    } else {
      const V16 w4 = hn::Set(d, weights[4]), w5 = hn::Set(d, weights[5]), w6 = hn::Set(d, weights[6]), w7 = hn::Set(d, weights[7]);
      cover(
          n, hn::Lanes(d),
          [&](size_t i) HWY_ATTR { hn::StoreU(hn::Add(four(rows, i, w0, w1, w2, w3), four(rows + 4, i, w4, w5, w6, w7)), d, out + i); },
          rest);
    }
  }
}
void down8(const uint8_t* const* rows, const int16_t* weights, int count, size_t n, int16_t* out) {
  count == 2 ? down8_of<2>(rows, weights, n, out) : count == 4 ? down8_of<4>(rows, weights, n, out) : down8_of<8>(rows, weights, n, out);
}

template <int kCount>
void down16_of(const int16_t* const* rows, const int16_t* weights, size_t n, uint8_t* HWY_RESTRICT out) {
  const D16 d;
  constexpr int kShift = kCount == 2 ? kLinearBits : kBits;
  const V16 half = hn::Set(d, int16_t{1 << (kShift - 1)});
  V16 w[kCount];
  MINNOW_UNROLL
  for (int k = 0; k < kCount; ++k) w[k] = hn::Set(d, weights[k]);
  cover(
      n, hn::Lanes(d),
      [&](size_t i) HWY_ATTR {
        V16 sum;
        if constexpr (kCount == 2) {
          const V16 first = hn::LoadU(d, rows[0] + i);
          sum = hn::Add(first, hn::MulFixedPoint15(hn::Sub(hn::LoadU(d, rows[1] + i), first), w[1]));
        } else {
          sum = hn::MulFixedPoint15(hn::LoadU(d, rows[0] + i), w[0]);
          MINNOW_UNROLL
          for (int k = 1; k < kCount; ++k) sum = hn::Add(sum, hn::MulFixedPoint15(hn::LoadU(d, rows[k] + i), w[k]));
        }
        hn::StoreU(hn::DemoteTo(D8(), hn::ShiftRight<kShift>(hn::SaturatedAdd(sum, half))), D8(), out + i);
      },
      [&](size_t i) {
        int sum = kCount == 2 ? rows[0][i] + fixed15(rows[1][i] - rows[0][i], weights[1]) : 0;
        if constexpr (kCount > 2)
          for (int k = 0; k < kCount; ++k) sum += fixed15(rows[k][i], weights[k]);
        out[i] = byte_of((sum + (1 << (kShift - 1))) >> kShift);
      });
}
void down16(const int16_t* const* rows, const int16_t* weights, int count, size_t n, uint8_t* out) {
  count == 2 ? down16_of<2>(rows, weights, n, out) : count == 4 ? down16_of<4>(rows, weights, n, out) : down16_of<8>(rows, weights, n, out);
}

/// Single elements: out[i] for i >= first.
HWY_INLINE void halve_rest(const uint8_t* a, const uint8_t* b, size_t channels, size_t first, size_t n, uint8_t* out) {
  for (size_t i = first; i < n; ++i) {
    const size_t left = i / channels * 2 * channels + i % channels, right = left + channels;
    out[i] = static_cast<uint8_t>((a[left] + a[right] + b[left] + b[right] + 2) >> 2);
  }
}

void halve_gray(const uint8_t* HWY_RESTRICT a, const uint8_t* HWY_RESTRICT b, size_t n, uint8_t* HWY_RESTRICT out) {
  const D16 d;
  const hn::Repartition<uint8_t, D16> bytes;
  const hn::RebindToUnsigned<D16> du;
  const V16 low = hn::Set(d, int16_t{255}), two = hn::Set(d, int16_t{2});
  const auto pairs = [&](const uint8_t* from) HWY_ATTR {
    const V16 both = hn::BitCast(d, hn::LoadU(bytes, from));
    return hn::Add(hn::And(both, low), hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(du, both))));
  };
  cover(
      n, hn::Lanes(d),
      [&](size_t i) HWY_ATTR {
        const V16 sum = hn::Add(hn::Add(pairs(a + 2 * i), pairs(b + 2 * i)), two);
        hn::StoreU(hn::DemoteTo(D8(), hn::ShiftRight<2>(sum)), D8(), out + i);
      },
      [&](size_t i) { halve_rest(a, b, 1, i, i + 1, out); });
}

/// 16 bytes hold both neighbours of 6 or 8 results, which two permutations bring to lanes of 16 bits.
template <size_t kChannels>
void halve_color(const uint8_t* HWY_RESTRICT a, const uint8_t* HWY_RESTRICT b, size_t n, uint8_t* HWY_RESTRICT out) {
  constexpr size_t kMade = 8 / kChannels * kChannels;  // of whole pixels
  const hn::CappedTag<uint8_t, 16> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const hn::Rebind<uint8_t, decltype(d16)> halves;
  static constexpr auto kPlaces = [] {
    std::array<uint8_t, 2 * 16> places{};
    for (size_t side = 0; side < 2; ++side)
      for (size_t i = 0; i < 8; ++i) {
        places[16 * side + 2 * i] = static_cast<uint8_t>(i < kMade ? (i / kChannels * 2 + side) * kChannels + i % kChannels : 0x80);
        places[16 * side + 2 * i + 1] = 0x80;
      }
    return places;
  }();
  const auto left = hn::LoadU(d, &kPlaces[0]), right = hn::LoadU(d, &kPlaces[16]);
  const auto two = hn::Set(d16, int16_t{2});
  const auto pairs = [&](const uint8_t* from) HWY_ATTR {
    const auto both = hn::LoadU(d, from);
    return hn::Add(hn::BitCast(d16, hn::TableLookupBytesOr0(both, left)), hn::BitCast(d16, hn::TableLookupBytesOr0(both, right)));
  };
  size_t i = 0;
  for (; i + 8 <= n; i += kMade) {
    const auto sum = hn::Add(hn::Add(pairs(a + 2 * i), pairs(b + 2 * i)), two);
    hn::StoreU(hn::DemoteTo(halves, hn::ShiftRight<2>(sum)), halves, out + i);
  }
  halve_rest(a, b, kChannels, i, n, out);
}

void halve8(const uint8_t* a, const uint8_t* b, size_t channels, size_t n, uint8_t* out) {
  switch (channels) {
    case 1:
      return halve_gray(a, b, n, out);
    case 2:
      return halve_color<2>(a, b, n, out);
    case 3:
      return halve_color<3>(a, b, n, out);
    default:
      return halve_color<4>(a, b, n, out);
  }
}

template <int kCount, int64_t kChannels>
void across16_pixels(const int16_t* HWY_RESTRICT in, const Across16& table, int64_t any_channels, int16_t* HWY_RESTRICT out) {
  const int64_t channels = kChannels ? kChannels : any_channels;
  const int16_t* w = table.weights.data();
  for (const int64_t first : table.first) {
    const int16_t* const from = in + first * channels;
    if constexpr (kCount > 2 && kChannels > 2) {  // a pixel is a vector; what it stores beyond its channels, the next one overwrites
      const hn::CappedTag<int16_t, 4> d;
      auto sum = hn::MulFixedPoint15(hn::LoadU(d, from), hn::Set(d, w[0]));
      MINNOW_UNROLL
      for (int k = 1; k < kCount; ++k) sum = hn::Add(sum, hn::MulFixedPoint15(hn::LoadU(d, from + k * channels), hn::Set(d, w[k])));
      hn::StoreU(sum, d, out);
      out += channels, w += kCount;
      continue;
    }
    for (int64_t c = 0; c < channels; ++c) {
      if constexpr (kCount == 2) {
        *out++ = static_cast<int16_t>(from[c] + fixed15(from[c + channels] - from[c], w[1]));
      } else {
        int sum = 0;
        for (int k = 0; k < kCount; ++k) sum += fixed15(from[c + k * channels], w[k]);
        *out++ = static_cast<int16_t>(sum);
      }
    }
    w += kCount;
  }
}

template <int kCount, int64_t kChannels>
void across32_pixels(const float* HWY_RESTRICT in, const Across32& table, int64_t any_channels, float* HWY_RESTRICT out) {
  const int64_t channels = kChannels ? kChannels : any_channels;
  const float* w = table.weights.data();
  for (const int64_t first : table.first) {
    const float* const from = in + first * channels;
    if constexpr (kChannels > 2) {
      const hn::CappedTag<float, 4> d;
      auto sum = hn::Mul(hn::LoadU(d, from), hn::Set(d, w[0]));
      MINNOW_UNROLL
      for (int k = 1; k < kCount; ++k) sum = hn::MulAdd(hn::LoadU(d, from + k * channels), hn::Set(d, w[k]), sum);
      hn::StoreU(sum, d, out);
      out += channels, w += kCount;
      continue;
    }
    for (int64_t c = 0; c < channels; ++c) {
      float sum = from[c] * w[0];
      for (int k = 1; k < kCount; ++k) sum += from[c + k * channels] * w[k];
      *out++ = sum;
    }
    w += kCount;
  }
}

// One permutation of two vectors gives a neighbour of all elements of a step: resize of u8[1080, 1920, 3] to half its size takes 0.55 ms
// in place of 2.1 ms (one thread, EPYC with AVX-512, 2026-11-23). Highway 1.0 has no such permutation of 16-bit lanes.
#if HWY_TARGET == HWY_AVX3
constexpr int64_t kLanes16 = 32, kLanes32 = 16;

template <int kCount>
void across16_steps(const int16_t* HWY_RESTRICT in, const Across16& table, int64_t channels, int16_t* HWY_RESTRICT out) {
  const __m512i next = _mm512_set1_epi16(static_cast<int16_t>(channels));
  for (size_t s = 0; s < table.base.size(); ++s) {
    const int16_t* const from = in + table.base[s];
    const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + kLanes16);
    __m512i index = _mm512_loadu_si512(table.indices.data() + s * kLanes16);
    const int16_t* const w = table.lane_weights.data() + s * kLanes16 * kCount;
    __m512i sum;
    if constexpr (kCount == 2) {
      const __m512i first = _mm512_permutex2var_epi16(low, index, high);
      const __m512i second = _mm512_permutex2var_epi16(low, _mm512_add_epi16(index, next), high);
      sum = _mm512_add_epi16(first, _mm512_mulhrs_epi16(_mm512_sub_epi16(second, first), _mm512_loadu_si512(w + kLanes16)));
    } else {
      sum = _mm512_mulhrs_epi16(_mm512_permutex2var_epi16(low, index, high), _mm512_loadu_si512(w));
      MINNOW_UNROLL
      for (int k = 1; k < kCount; ++k) {
        index = _mm512_add_epi16(index, next);
        sum = _mm512_add_epi16(sum, _mm512_mulhrs_epi16(_mm512_permutex2var_epi16(low, index, high), _mm512_loadu_si512(w + k * kLanes16)));
      }
    }
    _mm512_storeu_si512(out + table.to[s], sum);
  }
}

template <int kCount>
void across32_steps(const float* HWY_RESTRICT in, const Across32& table, int64_t channels, float* HWY_RESTRICT out) {
  const __m512i next = _mm512_set1_epi32(static_cast<int32_t>(channels));
  for (size_t s = 0; s < table.base.size(); ++s) {
    const float* const from = in + table.base[s];
    const __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + kLanes32);
    __m512i index = _mm512_loadu_si512(table.indices.data() + s * kLanes32);
    const float* const w = table.lane_weights.data() + s * kLanes32 * kCount;
    __m512 sum = _mm512_mul_ps(_mm512_permutex2var_ps(low, index, high), _mm512_loadu_ps(w));
    MINNOW_UNROLL
    for (int k = 1; k < kCount; ++k) {
      index = _mm512_add_epi32(index, next);
      sum = _mm512_fmadd_ps(_mm512_permutex2var_ps(low, index, high), _mm512_loadu_ps(w + k * kLanes32), sum);
    }
    _mm512_storeu_ps(out + table.to[s], sum);
  }
}
#else
// Elsewhere steps of i16 have 16 bytes, which are looked up in 32: u8 becomes up to six times as fast (AVX2).
using Bytes = hn::CappedTag<uint8_t, 16>;
using Lanes16 = hn::Repartition<int16_t, Bytes>;
constexpr int64_t kLanes16 = 8;

/// Elements of `low` and `high`; places[i]: of a byte, 0 to 31.
HWY_INLINE hn::Vec<Bytes> looked_up(hn::Vec<Bytes> low, hn::Vec<Bytes> high, hn::Vec<Bytes> places) {
  const Bytes d;
  // Bytes with the upper bit are zero: those of 16 and more below, those of less than 16 above.
  const auto in_high = hn::And(hn::Add(places, hn::Set(d, uint8_t{0x70})), hn::Set(d, uint8_t{0x80}));
  return hn::Or(hn::TableLookupBytesOr0(low, hn::Or(places, in_high)),
                hn::TableLookupBytesOr0(high, hn::Sub(places, hn::Set(d, uint8_t{16}))));
}

template <int kCount>
void across16_steps(const int16_t* HWY_RESTRICT in, const Across16& table, int64_t channels, int16_t* HWY_RESTRICT out) {
  const Lanes16 d;
  const Bytes bytes;
  const auto next = hn::Set(bytes, static_cast<uint8_t>(2 * channels));
  for (size_t s = 0; s < table.base.size(); ++s) {
    const int16_t* const from = in + table.base[s];
    const auto low = hn::BitCast(bytes, hn::LoadU(d, from)), high = hn::BitCast(bytes, hn::LoadU(d, from + kLanes16));
    const auto index = hn::LoadU(d, table.indices.data() + s * kLanes16);
    auto places = hn::BitCast(bytes, hn::Add(hn::Mul(index, hn::Set(d, int16_t{0x0202})), hn::Set(d, int16_t{0x0100})));
    const int16_t* const w = table.lane_weights.data() + s * kLanes16 * kCount;
    const auto first = hn::BitCast(d, looked_up(low, high, places));
    hn::Vec<Lanes16> sum;
    if constexpr (kCount == 2) {
      const auto second = hn::BitCast(d, looked_up(low, high, hn::Add(places, next)));
      sum = hn::Add(first, hn::MulFixedPoint15(hn::Sub(second, first), hn::LoadU(d, w + kLanes16)));
    } else {
      sum = hn::MulFixedPoint15(first, hn::LoadU(d, w));
      MINNOW_UNROLL
      for (int k = 1; k < kCount; ++k) {
        places = hn::Add(places, next);
        sum = hn::Add(sum, hn::MulFixedPoint15(hn::BitCast(d, looked_up(low, high, places)), hn::LoadU(d, w + k * kLanes16)));
      }
    }
    hn::StoreU(sum, d, out + table.to[s]);
  }
}

#if HWY_TARGET == HWY_AVX2
constexpr int64_t kLanes32 = 8;

template <int kCount>
void across32_steps(const float* HWY_RESTRICT in, const Across32& table, int64_t channels, float* HWY_RESTRICT out) {
  const __m256i next = _mm256_set1_epi32(static_cast<int32_t>(channels));
  for (size_t s = 0; s < table.base.size(); ++s) {
    const float* const from = in + table.base[s];
    const __m256 low = _mm256_loadu_ps(from), high = _mm256_loadu_ps(from + kLanes32);
    __m256i index = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.indices.data() + s * kLanes32));
    const float* const w = table.lane_weights.data() + s * kLanes32 * kCount;
    // The lowest three bits choose the lane, and the fourth, as a sign, the vector.
    const auto chosen = [&] {
      return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index), _mm256_permutevar8x32_ps(high, index),
                              _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
    };
    __m256 sum = _mm256_mul_ps(chosen(), _mm256_loadu_ps(w));
    MINNOW_UNROLL
    for (int k = 1; k < kCount; ++k) {
      index = _mm256_add_epi32(index, next);
      sum = _mm256_fmadd_ps(chosen(), _mm256_loadu_ps(w + k * kLanes32), sum);
    }
    _mm256_storeu_ps(out + table.to[s], sum);
  }
}
#else
constexpr int64_t kLanes32 = 0;

template <int kCount>
void across32_steps(const float*, const Across32&, int64_t, float*) {}
#endif
#endif

template <int kCount>
void across16_of(const int16_t* in, const Across16& table, int64_t channels, int16_t* out) {
  if (!table.base.empty()) return across16_steps<kCount>(in, table, channels, out);
  channels == 1   ? across16_pixels<kCount, 1>(in, table, 1, out)
  : channels == 3 ? across16_pixels<kCount, 3>(in, table, 3, out)
  : channels == 4 ? across16_pixels<kCount, 4>(in, table, 4, out)
                  : across16_pixels<kCount, 0>(in, table, channels, out);
}
void across16(const int16_t* in, const Across16& table, int64_t channels, int16_t* out) {
  table.count == 2   ? across16_of<2>(in, table, channels, out)
  : table.count == 4 ? across16_of<4>(in, table, channels, out)
                     : across16_of<8>(in, table, channels, out);
}
template <int kCount>
void across32_of(const float* in, const Across32& table, int64_t channels, float* out) {
  if (!table.base.empty()) return across32_steps<kCount>(in, table, channels, out);
  channels == 1   ? across32_pixels<kCount, 1>(in, table, 1, out)
  : channels == 3 ? across32_pixels<kCount, 3>(in, table, 3, out)
  : channels == 4 ? across32_pixels<kCount, 4>(in, table, 4, out)
                  : across32_pixels<kCount, 0>(in, table, channels, out);
}
void across32(const float* in, const Across32& table, int64_t channels, float* out) {
  table.count == 2   ? across32_of<2>(in, table, channels, out)
  : table.count == 4 ? across32_of<4>(in, table, channels, out)
                     : across32_of<8>(in, table, channels, out);
}

/// out[i] = sum of weights[k] * load(k, i)
template <class Load, class One>
HWY_INLINE void sum_rows(const float* weights, size_t count, size_t n, float* HWY_RESTRICT out, Load&& load, One&& one) {
  const D32 d;
  cover(
      n, hn::Lanes(d),
      [&](size_t i) HWY_ATTR {
        V32 sum = hn::Mul(load(size_t{0}, i), hn::Set(d, weights[0]));
        for (size_t k = 1; k < count; ++k) sum = hn::MulAdd(load(k, i), hn::Set(d, weights[k]), sum);
        hn::StoreU(sum, d, out + i);
      },
      [&](size_t i) {
        float sum = one(size_t{0}, i) * weights[0];
        for (size_t k = 1; k < count; ++k) sum += one(k, i) * weights[k];
        out[i] = sum;
      });
}

void sum8(const uint8_t* const* rows, const float* weights, size_t count, size_t n, float* out) {
  const hn::Rebind<int32_t, D32> di;
  const hn::Rebind<uint8_t, D32> d8;
  sum_rows(
      weights, count, n, out,
      [&](size_t k, size_t i) HWY_ATTR { return hn::ConvertTo(D32(), hn::PromoteTo(di, hn::LoadU(d8, rows[k] + i))); },
      [&](size_t k, size_t i) { return static_cast<float>(rows[k][i]); });
}
void sum32(const float* const* rows, const float* weights, size_t count, size_t n, float* out) {
  sum_rows(
      weights, count, n, out, [&](size_t k, size_t i) HWY_ATTR { return hn::LoadU(D32(), rows[k] + i); },
      [&](size_t k, size_t i) { return rows[k][i]; });
}
void down32(const float* const* rows, const float* weights, int count, size_t n, float* out) {
  // A constant count for the common one, whose loop is unrolled.
  sum32(rows, weights, static_cast<size_t>(count), n, out);
}

void pick(const uint8_t* in, const int32_t* begins, const uint8_t* places, size_t blocks, size_t n, uint8_t* HWY_RESTRICT out) {
  const hn::FixedTag<uint8_t, 16> d;
  for (size_t i = 0; i < n; i += 16, ++begins, places += 16) {
    const uint8_t* const from = in + *begins;
    auto found = hn::Zero(d), place = hn::LoadU(d, places);
    for (size_t k = 0; k < blocks; ++k) {
      // Places in other blocks of 16 become 0x80 or more, where the lookup gives 0.
      const auto here = hn::SaturatedAdd(place, hn::Set(d, uint8_t{0x70}));
      found = hn::Or(found, hn::TableLookupBytesOr0(hn::LoadU(d, from + 16 * k), here));
      place = hn::Sub(place, hn::Set(d, uint8_t{16}));
    }
    hn::StoreU(found, d, out + (i + 16 <= n ? i : n - 16));
  }
}

void spans(const float* HWY_RESTRICT in, const int32_t* first, const int32_t* counts, const float* weights, int64_t pixels,
           int64_t channels, float* HWY_RESTRICT out) {
  if (channels == 3 || channels == 4) {
    const hn::CappedTag<float, 4> d;
    for (int64_t i = 0; i < pixels; ++i) {
      const float* from = in + first[i] * channels;
      auto sum = hn::Mul(hn::LoadU(d, from), hn::Set(d, weights[0]));
      for (int32_t k = 1; k < counts[i]; ++k) sum = hn::MulAdd(hn::LoadU(d, from + k * channels), hn::Set(d, weights[k]), sum);
      hn::StoreU(sum, d, out + i * channels);
      weights += counts[i];
    }
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) {
    const float* from = in + first[i] * channels;
    for (int64_t c = 0; c < channels; ++c) {
      float sum = from[c] * weights[0];
      for (int32_t k = 1; k < counts[i]; ++k) sum += from[c + k * channels] * weights[k];
      out[i * channels + c] = sum;
    }
    weights += counts[i];
  }
}

template <class T>
void from_of(const T* HWY_RESTRICT in, size_t n, float* HWY_RESTRICT out) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}
template <class T>
void to_of(const float* HWY_RESTRICT in, size_t n, T* HWY_RESTRICT out) {
  const D32 d;
  const hn::Rebind<int32_t, D32> di;
  const hn::Rebind<T, D32> dt;
  cover(
      n, hn::Lanes(d), [&](size_t i) HWY_ATTR { hn::StoreU(hn::DemoteTo(dt, hn::NearestInt(hn::LoadU(d, in + i))), dt, out + i); },
      [&](size_t i) {
        out[i] = static_cast<T>(std::clamp(std::nearbyint(in[i]), static_cast<float>(std::numeric_limits<T>::min()),
                                           static_cast<float>(std::numeric_limits<T>::max())));
      });
  static_cast<void>(di);
}

extern const ResizeLoops kResizeLoops;
const ResizeLoops kResizeLoops{
    kLanes16,        kLanes32,      widen, round, down8, down16,           across16,          halve8,           down32,
    across32,        sum8,          sum32, spans, pick,  from_of<uint8_t>, from_of<uint16_t>, from_of<int16_t>, to_of<uint8_t>,
    to_of<uint16_t>, to_of<int16_t>};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kResizeLoops
const minnow::vision::ResizeLoops& minnow::vision::resize_loops() {
  static const ResizeLoops& loops = choose_loops<ResizeLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
