// SPDX-License-Identifier: Apache-2.0
// Rows are split into planes of a tile that stays in the first-level cache, converted there by plain loops, and joined again. Conversions
// that only move channels, and gray, work on vectors directly.
#include "vision/loops/color.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/color.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

#include "vision/loops/planes.inc"

#include "vision/loops/bytes.inc"  // behind planes.inc, which names hn

template <class T>
void reorder(const void* from, void* to, size_t n, const ColorRow& row) {
  const hn::ScalableTag<T> d;
  const T* HWY_RESTRICT in = static_cast<const T*>(from);
  T* HWY_RESTRICT out = static_cast<T*>(to);
  const bool swap = row.blue == 2;
  const size_t source = static_cast<size_t>(row.from), target = static_cast<size_t>(row.to);
  in_vectors(
      n, hn::Lanes(d),
      [&](size_t i) HWY_ATTR {
        hn::Vec<decltype(d)> x, y, z, w = hn::Set(d, kOpaque<T>);
        if (source == 3)
          hn::LoadInterleaved3(d, in + 3 * i, x, y, z);
        else
          hn::LoadInterleaved4(d, in + 4 * i, x, y, z, w);
        if (swap) std::swap(x, z);
        if (target == 3)
          hn::StoreInterleaved3(x, y, z, d, out + 3 * i);
        else
          hn::StoreInterleaved4(x, y, z, w, d, out + 4 * i);
      },
      [&](size_t i) HWY_ATTR {
        const T x = in[source * i], y = in[source * i + 1], z = in[source * i + 2], w = source == 4 ? in[4 * i + 3] : kOpaque<T>;
        out[target * i] = swap ? z : x, out[target * i + 1] = y, out[target * i + 2] = swap ? x : z;
        if (target == 4) out[4 * i + 3] = w;
      });
}

/// Three channels to three, with blue and red in each other's place: a byte comes from 2 before, here or 2 behind, so that a block of 16 is
/// within two loads, 2 before it and 2 behind. The places within these, for vectors that start at channel 0, and so on.
struct SwapTables {
  alignas(64) uint8_t before[3][HWY_MAX_BYTES], behind[3][HWY_MAX_BYTES];
  SwapTables() {
    const size_t lanes = hn::Lanes(hn::ScalableTag<uint8_t>());
    for (size_t phase = 0; phase < 3; ++phase)
      for (size_t i = 0; i < lanes; ++i) {
        const size_t place = i % 16, channel = (phase * lanes + i) % 3;
        uint8_t &first = before[phase][i] = 0x80, &second = behind[phase][i] = 0x80;
        if (channel == 0)
          second = static_cast<uint8_t>(place);
        else if (channel == 2)
          first = static_cast<uint8_t>(place);
        else if (place < 14)
          first = static_cast<uint8_t>(place + 2);
        else
          second = static_cast<uint8_t>(place - 2);
      }
  }
};
void swap_u8(const uint8_t* in, uint8_t* out, size_t n) {
  static const SwapTables tables;
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d), bytes = 3 * n;
  const auto a0 = hn::Load(d, tables.before[0]), a1 = hn::Load(d, tables.before[1]), a2 = hn::Load(d, tables.before[2]);
  const auto b0 = hn::Load(d, tables.behind[0]), b1 = hn::Load(d, tables.behind[1]), b2 = hn::Load(d, tables.behind[2]);
  const auto move = [&](size_t i, hn::Vec<decltype(d)> before, hn::Vec<decltype(d)> behind) HWY_ATTR {
    hn::StoreU(hn::Or(hn::TableLookupBytesOr0(hn::LoadU(d, in + i - 2), before), hn::TableLookupBytesOr0(hn::LoadU(d, in + i + 2), behind)),
               d, out + i);
  };
  size_t i = 0;
  for (; i < std::min<size_t>(3, bytes); ++i) out[i] = in[2 - i];
  for (; i + 3 * lanes + 2 <= bytes; i += 3 * lanes) move(i, a0, b0), move(i + lanes, a1, b1), move(i + 2 * lanes, a2, b2);
  // The rest in vectors that start with a pixel; the last one ends where the row does.
  for (; i + lanes + 2 <= bytes && i >= 3; i = i / 3 * 3 + lanes) move(i / 3 * 3, a0, b0);
  if (i < bytes && bytes >= lanes + 5) {
    const size_t last = (bytes - lanes - 2) / 3 * 3;
    move(last, a0, b0);
    i = last + lanes;
  }
  for (; i < bytes; ++i) out[i] = in[i % 3 == 0 ? i + 2 : i % 3 == 1 ? i : i - 2];
}

/// From or to four channels: 16 bytes are four pixels, or hold the 12 of four pixels at their beginning.
void reorder_u8(const void* from, void* to, size_t n, const ColorRow& row) {
  const auto* in = static_cast<const uint8_t*>(from);
  auto* out = static_cast<uint8_t*>(to);
  const size_t source = static_cast<size_t>(row.from), target = static_cast<size_t>(row.to);
  const auto channel = [&](size_t c) { return row.blue == 2 && c < 3 ? 2 - c : c; };
  if (source == 3 && target == 3 && row.blue == 2) return swap_u8(in, out, n);
  const hn::CappedTag<uint8_t, 64> d;
  const hn::Repartition<uint32_t, decltype(d)> words;
  const size_t size = hn::Lanes(d), count = size / 4;
  alignas(64) uint8_t places[64], opaque[64] = {};
  alignas(64) uint32_t spread[16] = {}, packed[16] = {};
  std::fill(places, places + size, uint8_t{0x80});
  for (size_t i = 0; i < count; ++i)
    for (size_t c = 0; c < target; ++c) {
      const size_t at = i / 4 * 16 + target * (i % 4) + c;
      if (c < source)
        places[at] = static_cast<uint8_t>(source * (i % 4) + channel(c));
      else
        opaque[at] = 255;
    }
  for (size_t i = 0; i < count; ++i) spread[i] = static_cast<uint32_t>(std::min(i / 4 * 3 + i % 4, count - 1));
  for (size_t i = 0; i < count / 4 * 3; ++i) packed[i] = static_cast<uint32_t>(i / 3 * 4 + i % 3);
  const auto moved = hn::Load(d, places), added = hn::Load(d, opaque);
  const auto apart = hn::SetTableIndices(words, spread), together = hn::SetTableIndices(words, packed);
  const size_t least = std::min(source, target);
  size_t i = 0;
  const auto vectors = [&](auto three_in, auto three_out) HWY_ATTR {
    for (; least * i + size <= least * n; i += count) {
      auto v = hn::LoadU(d, in + source * i);
      if constexpr (three_in()) v = hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(words, v), apart));
      v = hn::Or(hn::TableLookupBytesOr0(v, moved), added);
      if constexpr (three_out()) v = hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(words, v), together));
      hn::StoreU(v, d, out + target * i);
    }
  };
  if (source == 3 && target == 3)
    vectors(std::true_type(), std::true_type());
  else if (source == 3)
    vectors(std::true_type(), std::false_type());
  else if (target == 3)
    vectors(std::false_type(), std::true_type());
  else
    vectors(std::false_type(), std::false_type());
  for (; i < n; ++i)
    for (size_t c = 0; c < target; ++c) out[target * i + c] = c < source ? in[source * i + channel(c)] : uint8_t{255};
}

void from_gray_u8(const void* from, void* to, size_t n, const ColorRow& row) {
  const hn::CappedTag<uint8_t, 16> d;
  const auto* in = static_cast<const uint8_t*>(from);
  auto* out = static_cast<uint8_t*>(to);
  size_t i = 0;
  if (row.to == 3) {
    alignas(16) uint8_t places[48];
    for (size_t k = 0; k < 48; ++k) places[k] = static_cast<uint8_t>(k / 3);
    const auto first = hn::Load(d, places), second = hn::Load(d, places + 16), third = hn::Load(d, places + 32);
    for (; i + 16 <= n; i += 16) {
      const auto gray = hn::LoadU(d, in + i);
      hn::StoreU(hn::TableLookupBytes(gray, first), d, out + 3 * i);
      hn::StoreU(hn::TableLookupBytes(gray, second), d, out + 3 * i + 16);
      hn::StoreU(hn::TableLookupBytes(gray, third), d, out + 3 * i + 32);
    }
  }
  join(in + i, in + i, in + i, out + static_cast<size_t>(row.to) * i, row.to, n - i);
}

void to_gray_u8(const void* from, void* to, size_t n, const ColorRow& row) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint16_t, decltype(d)> d16;
  const uint8_t* HWY_RESTRICT in = static_cast<const uint8_t*>(from);
  uint8_t* HWY_RESTRICT out = static_cast<uint8_t*>(to);
  const int first = row.blue == 0 ? kBlue : kRed, third = row.blue == 0 ? kRed : kBlue;
  const size_t channels = static_cast<size_t>(row.from);
  // The upper and the lower byte of each weight apart: both sums fit in 16 bits. Even and odd pixels are the halves of 16-bit lanes.
  const auto of = [&](int x) HWY_ATTR { return hn::Set(d16, static_cast<uint16_t>(x)); };
  const auto x_high = of(first >> 8), y_high = of(kGreen >> 8), z_high = of(third >> 8);
  const auto x_low = of(first & 255), y_low = of(kGreen & 255), z_low = of(third & 255);
  const auto part = [&](hn::Vec<decltype(d16)> x, hn::Vec<decltype(d16)> y, hn::Vec<decltype(d16)> z) HWY_ATTR {
    const auto high = hn::Add(hn::Add(hn::Mul(x, x_high), hn::Mul(y, y_high)), hn::Add(hn::Mul(z, z_high), of(64)));
    const auto low = hn::Add(hn::Add(hn::Mul(x, x_low), hn::Mul(y, y_low)), hn::Mul(z, z_low));
    return hn::ShiftRight<7>(hn::Add(high, hn::ShiftRight<8>(low)));
  };
  in_vectors(
      n, hn::Lanes(d),
      [&](size_t i) HWY_ATTR {
        hn::Vec<decltype(d)> x, y, z, w;
        if (channels == 3)
          hn::LoadInterleaved3(d, in + 3 * i, x, y, z);
        else
          hn::LoadInterleaved4(d, in + 4 * i, x, y, z, w);
        const auto x16 = hn::BitCast(d16, x), y16 = hn::BitCast(d16, y), z16 = hn::BitCast(d16, z);
        const auto mask = hn::Set(d16, uint16_t{255});
        const auto even = part(hn::And(x16, mask), hn::And(y16, mask), hn::And(z16, mask));
        const auto odd = part(hn::ShiftRight<8>(x16), hn::ShiftRight<8>(y16), hn::ShiftRight<8>(z16));
        hn::StoreU(hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd))), d, out + i);
      },
      [&](size_t i) HWY_ATTR {
        const uint8_t* pixel = in + channels * i;
        out[i] = static_cast<uint8_t>((pixel[0] * first + pixel[1] * kGreen + pixel[2] * third + (1 << 14)) >> 15);
      });
}

template <class T>
void to_gray(const void* from, void* to, size_t n, const ColorRow& row) {
  alignas(64) T a[kTile], b[kTile], c[kTile];
  T* planes[3] = {a, b, c};
  for (size_t start = 0; start < n; start += kTile) {
    const size_t count = std::min(kTile, n - start);
    split(static_cast<const T*>(from) + start * static_cast<size_t>(row.from), row.from, planes[row.blue], planes[1], planes[2 - row.blue],
          count);
    T* HWY_RESTRICT out = static_cast<T*>(to) + start;
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<T>((unsigned(a[i]) * kBlue + unsigned(b[i]) * kGreen + unsigned(c[i]) * kRed + (1u << 14)) >> 15);
      else
        out[i] = c[i] * 0.299f + (b[i] * 0.587f + a[i] * 0.114f);
    }
  }
}

template <class T>
void from_gray(const void* from, void* to, size_t n, const ColorRow& row) {
  const T* in = static_cast<const T*>(from);
  join(in, in, in, static_cast<T*>(to), row.to, n);
}

// ---- Steps on planes: b, g, r to x, y, z, or back

template <class T>
struct ToLuma {
  static void run(Plane<T> b, Plane<T> g, Plane<T> r, Made<T> x, Made<T> y, Made<T> z, size_t n, const ColorRow& row) {
    if (row.order) std::swap(y, z);  // x, red difference, blue difference
    if constexpr (std::is_integral_v<T>) {
      const int* w = row.weights->i;
      const int cb = w[0], cg = w[1], cr = w[2], red = w[3], blue = w[4];
      const int middle = (int{std::numeric_limits<T>::max()} / 2 + 1) * (1 << 14) + half_of(14);
      for (size_t i = 0; i < n; ++i) {
        const int luma = (b[i] * cb + g[i] * cg + r[i] * cr + half_of(14)) >> 14;
        x[i] = static_cast<T>(luma);
        y[i] = clamped<T>(((r[i] - luma) * red + middle) >> 14);
        z[i] = clamped<T>(((b[i] - luma) * blue + middle) >> 14);
      }
    } else {
      const float* w = row.weights->f;
      const float cb = w[0], cg = w[1], cr = w[2], red = w[3], blue = w[4];
      for (size_t i = 0; i < n; ++i) {
        const float luma = b[i] * cb + g[i] * cg + r[i] * cr;
        x[i] = luma;
        y[i] = (r[i] - luma) * red + 0.5f;
        z[i] = (b[i] - luma) * blue + 0.5f;
      }
    }
  }
};

template <class T>
struct FromLuma {
  static void run(Plane<T> x, Plane<T> y, Plane<T> z, Made<T> b, Made<T> g, Made<T> r, size_t n, const ColorRow& row) {
    if (row.order) std::swap(y, z);
    if constexpr (std::is_integral_v<T>) {
      const int* w = row.weights->i;
      const int c0 = w[0], c1 = w[1], c2 = w[2], c3 = w[3];
      const int middle = int{std::numeric_limits<T>::max()} / 2 + 1;
      for (size_t i = 0; i < n; ++i) {
        const int luma = x[i], red = y[i] - middle, blue = z[i] - middle;
        b[i] = clamped<T>(luma + ((blue * c3 + half_of(14)) >> 14));
        g[i] = clamped<T>(luma + ((blue * c2 + red * c1 + half_of(14)) >> 14));
        r[i] = clamped<T>(luma + ((red * c0 + half_of(14)) >> 14));
      }
    } else {
      const float* w = row.weights->f;
      const float c0 = w[0], c1 = w[1], c2 = w[2], c3 = w[3];
      for (size_t i = 0; i < n; ++i) {
        const float luma = x[i], red = y[i] - 0.5f, blue = z[i] - 0.5f;
        b[i] = luma + blue * c3;
        g[i] = luma + blue * c2 + red * c1;
        r[i] = luma + red * c0;
      }
    }
  }
};

template <class T>
struct Matrix {
  static void run(Plane<T> a, Plane<T> b, Plane<T> c, Made<T> x, Made<T> y, Made<T> z, size_t n, const ColorRow& row) {
    if constexpr (std::is_integral_v<T>) {
      const int* w = row.weights->i;
      const int w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
      for (size_t i = 0; i < n; ++i) {
        x[i] = clamped<T>((a[i] * w0 + b[i] * w1 + c[i] * w2 + half_of(12)) >> 12);
        y[i] = clamped<T>((a[i] * w3 + b[i] * w4 + c[i] * w5 + half_of(12)) >> 12);
        z[i] = clamped<T>((a[i] * w6 + b[i] * w7 + c[i] * w8 + half_of(12)) >> 12);
      }
    } else {
      const float* w = row.weights->f;
      const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
      for (size_t i = 0; i < n; ++i) {
        x[i] = a[i] * w0 + (b[i] * w1 + c[i] * w2);
        y[i] = a[i] * w3 + (b[i] * w4 + c[i] * w5);
        z[i] = a[i] * w6 + (b[i] * w7 + c[i] * w8);
      }
    }
  }
};

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

// gcc makes branches of float selects and of several bounds in a row, so these steps are written as vectors. Planes have room for whole
// vectors.
using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

template <class Body>
HWY_INLINE void in_planes(size_t n, Body body) {
  const size_t lanes = hn::Lanes(F());
  for (size_t i = 0; i < n; i += lanes) body(i);
}
HWY_INLINE V of(float x) { return hn::Set(F(), x); }
HWY_INLINE V unit(V x) { return hn::Min(hn::Max(x, hn::Zero(F())), of(1.0f)); }

HWY_NOINLINE void to_floats(const uint8_t* in, float* out, float scale, float low, size_t n) {
  const F d;
  const hn::Rebind<uint8_t, F> bytes;
  const hn::RebindToSigned<F> integers;
  in_planes(n, [&](size_t i) HWY_ATTR {
    hn::Store(hn::MulAdd(hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, in + i))), of(scale), of(low)), d, out + i);
  });
}
/// Calls body(i) for each four vectors of the tile.
template <class Body>
HWY_INLINE void in_fours(size_t n, Body body) {
  const size_t lanes = 4 * hn::Lanes(F());
  for (size_t i = 0; i < n; i += lanes) body(i);
}
HWY_NOINLINE void to_bytes(const float* in, uint8_t* out, float scale, float low, size_t n) {
  const F d;
  in_fours(n, [&](size_t i) HWY_ATTR {
    store_bytes(out + i, [&](size_t k) HWY_ATTR {
      const auto value = hn::MulAdd(hn::Load(d, in + i + k * hn::Lanes(d)), of(scale), of(low));
      return rounded(hn::Min(hn::Max(value, hn::Zero(d)), of(255.0f)));
    });
  });
}

/// The part of the circle of hues, in degrees, for colours of which one is the most: from -60 to 300.
HWY_INLINE V hue_of(V blue, V green, V red, V most, V difference) {
  const auto is_red = hn::Eq(most, red), is_green = hn::Eq(most, green);
  const V part = hn::IfThenElse(is_red, hn::Sub(green, blue), hn::IfThenElse(is_green, hn::Sub(blue, red), hn::Sub(red, green)));
  const V start = hn::IfThenElse(is_red, hn::Zero(F()), hn::IfThenElse(is_green, of(120.0f), of(240.0f)));
  return hn::MulAdd(part, hn::Div(of(60.0f), difference), start);
}

struct ToHsvBytes {
  static void run(Plane<uint8_t> b, Plane<uint8_t> g, Plane<uint8_t> r, Made<uint8_t> h, Made<uint8_t> s, Made<uint8_t> v, size_t n,
                  const ColorRow& row) {
    const F d;
    const hn::ScalableTag<uint8_t> whole;
    const hn::Rebind<uint8_t, F> bytes;
    const hn::RebindToSigned<F> integers;
    // Half of a 4096th: what lies in the middle of two numbers goes to the larger one.
    const V more_than_half = of(1.0f / 8192);
    const auto range = hn::Set(integers, static_cast<int32_t>(row.hue));
    in_fours(n, [&](size_t first) HWY_ATTR {
      // All that bytes can say is told of four vectors at once.
      const auto blue = hn::LoadU(whole, b + first), green = hn::LoadU(whole, g + first), red = hn::LoadU(whole, r + first);
      const auto most = hn::Max(hn::Max(blue, green), red), least = hn::Min(hn::Min(blue, green), red);
      const auto is_red = hn::Eq(most, red), is_green = hn::Eq(most, green);
      alignas(64) uint8_t more[HWY_MAX_BYTES], less[HWY_MAX_BYTES], start[HWY_MAX_BYTES], difference[HWY_MAX_BYTES], highest[HWY_MAX_BYTES];
      hn::Store(hn::IfThenElse(is_red, green, hn::IfThenElse(is_green, blue, red)), whole, more);
      hn::Store(hn::IfThenElse(is_red, blue, hn::IfThenElse(is_green, red, green)), whole, less);
      hn::Store(hn::IfThenZeroElse(is_red, hn::IfThenElse(is_green, hn::Set(whole, uint8_t{2}), hn::Set(whole, uint8_t{4}))), whole, start);
      hn::Store(hn::Sub(most, least), whole, difference);
      hn::Store(most, whole, highest);
      hn::StoreU(most, whole, v + first);
      const auto load = [&](const uint8_t* from, size_t k)
                            HWY_ATTR { return hn::PromoteTo(integers, hn::LoadU(bytes, from + k * hn::Lanes(d))); };
      store_bytes(h + first, [&](size_t k) HWY_ATTR {
        const auto reach = load(difference, k);
        const V part =
            hn::MulAdd(hn::ConvertTo(d, load(start, k)), hn::ConvertTo(d, reach), hn::ConvertTo(d, hn::Sub(load(more, k), load(less, k))));
        const auto hue = rounded(hn::MulAdd(part, hn::GatherIndex(d, row.factors, reach), more_than_half));
        return hn::Add(hue, hn::And(range, hn::BroadcastSignBit(hue)));
      });
      store_bytes(s + first, [&](size_t k) HWY_ATTR {
        const V size = hn::ConvertTo(d, load(difference, k));
        return rounded(hn::MulAdd(size, hn::GatherIndex(d, row.factors + 256, load(highest, k)), more_than_half));
      });
    });
  }
};

struct ToHsv {
  static void run(Plane<float> b, Plane<float> g, Plane<float> r, Made<float> h, Made<float> s, Made<float> v, size_t n,
                  const ColorRow& row) {
    const F d;
    const V scale = of(row.hue * (1.0f / 360.0f)), epsilon = of(kEpsilon);
    in_planes(n, [&](size_t i) HWY_ATTR {
      const V blue = hn::Load(d, b + i), green = hn::Load(d, g + i), red = hn::Load(d, r + i);
      const V most = hn::Max(hn::Max(blue, green), red), least = hn::Min(hn::Min(blue, green), red), difference = hn::Sub(most, least);
      const V hue = hue_of(blue, green, red, most, hn::Add(difference, epsilon));
      const auto below = hn::And(hn::Eq(most, red), hn::Lt(green, blue));
      hn::Store(hn::Mul(hn::IfThenElse(below, hn::Add(hue, of(360.0f)), hue), scale), d, h + i);
      hn::Store(hn::Div(difference, hn::Add(hn::Abs(most), epsilon)), d, s + i);
      hn::Store(most, d, v + i);
    });
  }
};

/// Colours of a hue in units of sixths of the circle: `low` where there is none of a colour, `low` + `range` where there is all.
HWY_INLINE void store_hue(V hue, V low, V range, float* b, float* g, float* r) {
  const F d;
  const V two = of(2.0f);
  hue = hn::NegMulAdd(of(6.0f), hn::Floor(hn::Mul(hue, of(1.0f / 6.0f))), hue);
  hn::Store(hn::MulAdd(range, unit(hn::Sub(two, hn::Abs(hn::Sub(hue, of(4.0f))))), low), d, b);
  hn::Store(hn::MulAdd(range, unit(hn::Sub(two, hn::Abs(hn::Sub(hue, two)))), low), d, g);
  hn::Store(hn::MulAdd(range, unit(hn::Sub(hn::Abs(hn::Sub(hue, of(3.0f))), of(1.0f))), low), d, r);
}

struct FromHsv {
  static void run(Plane<float> h, Plane<float> s, Plane<float> v, Made<float> b, Made<float> g, Made<float> r, size_t n,
                  const ColorRow& row) {
    const F d;
    const V scale = of(6.0f / row.hue);
    in_planes(n, [&](size_t i) HWY_ATTR {
      const V value = hn::Load(d, v + i), range = hn::Mul(value, hn::Load(d, s + i));
      store_hue(hn::Mul(hn::Load(d, h + i), scale), hn::Sub(value, range), range, b + i, g + i, r + i);
    });
  }
};

struct ToHls {
  static void run(Plane<float> b, Plane<float> g, Plane<float> r, Made<float> h, Made<float> l, Made<float> s, size_t n,
                  const ColorRow& row) {
    const F d;
    const V scale = of(row.hue * (1.0f / 360.0f));
    in_planes(n, [&](size_t i) HWY_ATTR {
      const V blue = hn::Load(d, b + i), green = hn::Load(d, g + i), red = hn::Load(d, r + i);
      const V most = hn::Max(hn::Max(blue, green), red), least = hn::Min(hn::Min(blue, green), red);
      const V difference = hn::Sub(most, least), sum = hn::Add(most, least), lightness = hn::Mul(sum, of(0.5f));
      const auto colored = hn::Gt(difference, of(kEpsilon)), below = hn::And(hn::Eq(most, red), hn::Lt(green, blue));
      const V hue = hue_of(blue, green, red, most, difference);
      const V divisor = hn::IfThenElse(hn::Lt(lightness, of(0.5f)), sum, hn::Sub(of(2.0f), sum));
      hn::Store(hn::IfThenElseZero(colored, hn::Mul(hn::IfThenElse(below, hn::Add(hue, of(360.0f)), hue), scale)), d, h + i);
      hn::Store(lightness, d, l + i);
      hn::Store(hn::IfThenElseZero(colored, hn::Div(difference, divisor)), d, s + i);
    });
  }
};

struct FromHls {
  static void run(Plane<float> h, Plane<float> l, Plane<float> s, Made<float> b, Made<float> g, Made<float> r, size_t n,
                  const ColorRow& row) {
    const F d;
    const V scale = of(6.0f / row.hue);
    in_planes(n, [&](size_t i) HWY_ATTR {
      const V lightness = hn::Load(d, l + i), saturation = hn::Load(d, s + i), product = hn::Mul(lightness, saturation);
      const V reach = hn::IfThenElse(hn::Le(lightness, of(0.5f)), product, hn::Sub(saturation, product));
      store_hue(hn::Mul(hn::Load(d, h + i), scale), hn::Sub(lightness, reach), hn::Add(reach, reach), b + i, g + i, r + i);
    });
  }
};

/// A step on floats for bytes: planes times `in` plus `in_low`, the step, times `out` plus `out_low`.
struct ByteScales {
  float in[3], in_low[3], out[3], out_low[3];
};
template <class Step>
void on_bytes(Plane<uint8_t> a, Plane<uint8_t> b, Plane<uint8_t> c, Made<uint8_t> x, Made<uint8_t> y, Made<uint8_t> z, size_t n,
              const ColorRow& row, const ByteScales& scales) {
  alignas(64) float planes[6][kTile];
  const uint8_t* from[3] = {a, b, c};
  uint8_t* to[3] = {x, y, z};
  for (int k = 0; k < 3; ++k) to_floats(from[k], planes[k], scales.in[k], scales.in_low[k], n);
  Step::run(planes[0], planes[1], planes[2], planes[3], planes[4], planes[5], n, row);
  for (int k = 0; k < 3; ++k) to_bytes(planes[3 + k], to[k], scales.out[k], scales.out_low[k], n);
}

constexpr float kByte = 1.0f / 255.0f;
constexpr ByteScales kFromHue{{1, kByte, kByte}, {0, 0, 0}, {255, 255, 255}, {0, 0, 0}};
constexpr ByteScales kToHls{{kByte, kByte, kByte}, {0, 0, 0}, {1, 255, 255}, {0, 0, 0}};
constexpr ByteScales kToLuv{
    {kByte, kByte, kByte}, {0, 0, 0}, {255.0f / 100, 255.0f / 354, 255.0f / 262}, {0, 134 * 255.0f / 354, 140 * 255.0f / 262}};

template <class Step, const ByteScales& scales>
struct OnBytes {
  static void run(Plane<uint8_t> a, Plane<uint8_t> b, Plane<uint8_t> c, Made<uint8_t> x, Made<uint8_t> y, Made<uint8_t> z, size_t n,
                  const ColorRow& row) {
    on_bytes<Step>(a, b, c, x, y, z, n, row, scales);
  }
};

// ---- Lab and Luv

/// a * b + c, rounded once where the instruction set has that: OpenCV's results have the last bit of it where terms cancel out.
HWY_INLINE float fused(float a, float b, float c) {
#if HWY_ARCH_ARM || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
/// Four elements in each block of 128 bits: from + places[k], and from + places[k + 4] in the second block.
template <class D>
HWY_INLINE hn::Vec<D> four_at(D d, const float* from, const int32_t* places) {
  const hn::FixedTag<float, 4> four;
  if constexpr (hn::MaxLanes(D()) == 8)
    return hn::Combine(d, hn::LoadU(four, from + places[4]), hn::LoadU(four, from + places[0]));
  else
    return hn::LoadU(d, from + places[0]);
}

/// The splines at x, in units of their steps: four coefficients for each.
HWY_INLINE V splines(const float* table, V x) {
  const F d;
  const hn::RebindToSigned<F> integers;
  const auto last = hn::Set(integers, LabTables::kSteps - 1);
  const auto step = hn::Min(hn::Max(hn::ConvertTo(integers, x), hn::Zero(integers)), last);
  const V rest = hn::Sub(x, hn::ConvertTo(d, step));
  alignas(32) int32_t places[8];
  hn::Store(hn::ShiftLeft<2>(step), integers, places);
  const hn::Repartition<double, F> pairs;
  const auto mixed = [&](V a, V b, bool upper)
                         HWY_ATTR { return hn::BitCast(pairs, upper ? hn::InterleaveUpper(d, a, b) : hn::InterleaveLower(d, a, b)); };
  const V r0 = four_at(d, table, places), r1 = four_at(d, table, places + 1), r2 = four_at(d, table, places + 2),
          r3 = four_at(d, table, places + 3);
  const auto a = mixed(r0, r1, false), b = mixed(r2, r3, false), c = mixed(r0, r1, true), e = mixed(r2, r3, true);
  V sum = hn::BitCast(d, hn::InterleaveUpper(pairs, c, e));
  sum = hn::MulAdd(sum, rest, hn::BitCast(d, hn::InterleaveLower(pairs, c, e)));
  sum = hn::MulAdd(sum, rest, hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)));
  return hn::MulAdd(sum, rest, hn::BitCast(d, hn::InterleaveLower(pairs, a, b)));
}
/// plane = splines(table, plane * scale)
HWY_NOINLINE void through_splines(const std::vector<float>& table, float scale, Made<float> plane, size_t n) {
  in_planes(n, [&](size_t i) HWY_ATTR { hn::Store(splines(table.data(), hn::Mul(hn::Load(F(), plane + i), of(scale))), F(), plane + i); });
}

HWY_NOINLINE void bound(Plane<float> in, Made<float> out, size_t n) {
  in_planes(n, [&](size_t i) HWY_ATTR { hn::Store(unit(hn::Load(F(), in + i)), F(), out + i); });
}

void with_gamma(const std::vector<float>& table, Made<float> plane, size_t n) {
  through_splines(table, static_cast<float>(LabTables::kSteps), plane, n);
}
constexpr float kRootScale = LabTables::kSteps * 2 / 3.0f;

/// Colours within 0 and 1, without gamma, in the order of the picture.
HWY_NOINLINE void linear_colors(Plane<float> b, Plane<float> g, Plane<float> r, float (&planes)[3][kTile], size_t n, const ColorRow& row) {
  if (row.blue == 0) std::swap(b, r);
  bound(r, planes[0], n), bound(g, planes[1], n), bound(b, planes[2], n);
  if (row.linear) return;
  for (float(&plane)[kTile] : planes) with_gamma(row.tables->gamma, plane, n);
}

/// Colours become x, y and z.
HWY_NOINLINE void to_xyz(float (&planes)[3][kTile], const float* w, size_t n, const ColorRow& row) {
  const int first = row.blue == 0 ? 2 : 0, last = 2 - first;
  const float w0 = w[first], w1 = w[1], w2 = w[last], w3 = w[3 + first], w4 = w[4], w5 = w[3 + last], w6 = w[6 + first], w7 = w[7],
              w8 = w[6 + last];
  for (size_t i = 0; i < n; ++i) {
    const float p = planes[0][i], q = planes[1][i], o = planes[2][i];
    planes[0][i] = fused(p, w0, fused(q, w1, o * w2));
    planes[1][i] = fused(p, w3, fused(q, w4, o * w5));
    planes[2][i] = fused(p, w6, fused(q, w7, o * w8));
  }
}

/// Interpolates in a cube of colours; values are within 0 and 2^14.
HWY_NOINLINE void from_cube(const std::vector<int16_t>& cube, Plane<int> b, Plane<int> g, Plane<int> r, Made<int> x, Made<int> y,
                            Made<int> z, size_t n) {
  const hn::CappedTag<int16_t, 8> d;
  const hn::Repartition<int32_t, decltype(d)> wide;
  const int16_t* table = cube.data();
  const auto sum = [&](const int16_t* corners, hn::Vec<decltype(d)> w) HWY_ATTR {
    auto rest = hn::Zero(wide);
    const auto most = hn::ReorderWidenMulAccumulate(wide, hn::LoadU(d, corners), w, hn::Zero(wide), rest);
    return hn::GetLane(hn::SumOfLanes(wide, hn::Add(most, rest)));
  };
  alignas(16) int16_t weights[8];
  for (size_t i = 0; i < n; ++i) {
    const int red = r[i], green = g[i], blue = b[i];
    const int16_t* at = table + 24 * ((red >> 9) + 33 * ((green >> 9) + 33 * (blue >> 9)));
    const int p = (red >> 5) & 15, q = (green >> 5) & 15, s = (blue >> 5) & 15;
    const int qs[4] = {(16 - q) * (16 - s), (16 - q) * s, q * (16 - s), q * s};
    MINNOW_UNROLL
    for (int k = 0; k < 4; ++k) {
      weights[k] = static_cast<int16_t>((16 - p) * qs[k]);
      weights[4 + k] = static_cast<int16_t>(p * qs[k]);
    }
    const auto w = hn::Load(d, weights);
    x[i] = (sum(at, w) + half_of(12)) >> 12;
    y[i] = (sum(at + 8, w) + half_of(12)) >> 12;
    z[i] = (sum(at + 16, w) + half_of(12)) >> 12;
  }
}

struct ToLab {
  static void run(Plane<float> b, Plane<float> g, Plane<float> r, Made<float> l, Made<float> a, Made<float> bb, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    if (!row.linear) {
      alignas(64) int in[3][kTile], out[3][kTile];
      const float* colors[3] = {b, g, r};
      for (int k = 0; k < 3; ++k)
        in_planes(n, [&](size_t i) HWY_ATTR {
          const hn::RebindToSigned<F> integers;
          hn::Store(hn::NearestInt(hn::Mul(unit(hn::Load(F(), colors[k] + i)), of(16384.0f))), integers, in[k] + i);
        });
      from_cube(tables.lab, in[0], in[1], in[2], out[0], out[1], out[2], n);
      for (size_t i = 0; i < n; ++i) {
        l[i] = static_cast<float>(out[0][i]) * (100.0f / 16384);
        a[i] = static_cast<float>(out[1][i]) * (256.0f / 16384) - 128.0f;
        bb[i] = static_cast<float>(out[2][i]) * (256.0f / 16384) - 128.0f;
      }
      return;
    }
    alignas(64) float planes[3][kTile], ys[kTile];
    linear_colors(b, g, r, planes, n, row);
    to_xyz(planes, tables.lab_matrix, n, row);
    std::copy(planes[1], planes[1] + n, ys);
    for (float(&plane)[kTile] : planes) through_splines(tables.root, kRootScale, plane, n);
    for (size_t i = 0; i < n; ++i) {
      const float fx = planes[0][i], fy = planes[1][i], fz = planes[2][i];
      l[i] = ys[i] > 0.008856f ? 116.0f * fy - 16.0f : 903.3f * ys[i];
      a[i] = 500.0f * (fx - fy);
      bb[i] = 200.0f * (fy - fz);
    }
  }
};

struct FromLab {
  static void run(Plane<float> l, Plane<float> a, Plane<float> bb, Made<float> b, Made<float> g, Made<float> r, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    const float* w = tables.lab_inverse;
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
    constexpr float kStart = 16.0f / 116.0f, kBend = 6.0f / 29.0f;
    const auto cube = [](float f) { return f <= kBend ? (f - kStart) * (1.0f / 7.787f) : f * f * f; };
    for (size_t i = 0; i < n; ++i) {
      const float lightness = l[i], low = lightness * (1.0f / 903.3f), high = (lightness + 16.0f) * (1.0f / 116.0f);
      const float y = lightness <= 8.0f ? low : high * high * high, fy = lightness <= 8.0f ? 7.787f * low + kStart : high;
      const float x = cube(a[i] * (1.0f / 500) + fy), z = cube(fy - bb[i] * (1.0f / 200));
      r[i] = w0 * x + (w1 * y + w2 * z);
      g[i] = w3 * x + (w4 * y + w5 * z);
      b[i] = w6 * x + (w7 * y + w8 * z);
    }
    bound(b, b, n), bound(g, g, n), bound(r, r, n);
    if (row.linear) return;
    with_gamma(tables.inverse_gamma, b, n), with_gamma(tables.inverse_gamma, g, n), with_gamma(tables.inverse_gamma, r, n);
  }
};

struct ToLuv {
  static void run(Plane<float> b, Plane<float> g, Plane<float> r, Made<float> l, Made<float> u, Made<float> v, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    alignas(64) float planes[3][kTile], roots[kTile];
    linear_colors(b, g, r, planes, n, row);
    to_xyz(planes, tables.luv_matrix, n, row);
    std::copy(planes[1], planes[1] + n, roots);
    through_splines(tables.root, kRootScale, roots, n);
    const float un = tables.un, vn = tables.vn;
    for (size_t i = 0; i < n; ++i) {
      const float x = planes[0][i], y = planes[1][i], z = planes[2][i];
      const float lightness = fused(roots[i], 116.0f, -16.0f);
      const float scale = 52.0f / std::max(fused(y, 15.0f, fused(z, 3.0f, x)), kEpsilon);
      l[i] = lightness;
      u[i] = lightness * fused(x, scale, -un);
      v[i] = lightness * fused(2.25f * y, scale, -vn);
    }
  }
};

struct FromLuv {
  static void run(Plane<float> l, Plane<float> u, Plane<float> v, Made<float> b, Made<float> g, Made<float> r, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    const float* w = tables.luv_inverse;
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
    const float un = tables.un, vn = tables.vn;
    for (size_t i = 0; i < n; ++i) {
      const float lightness = l[i], high = (lightness + 16.0f) * (1.0f / 116.0f);
      const float y = lightness >= 8.0f ? high * high * high : lightness * (1.0f / 903.296296f);
      const float up = 3.0f * (u[i] + lightness * un);
      const float vp = std::max(-0.25f, std::min(0.25f, 0.25f / (v[i] + lightness * vn)));
      const float x = 3.0f * up * vp, z = (lightness * 156.0f - up) * vp - 5.0f;
      r[i] = (z * w2 + (x * w0 + w1)) * y;
      g[i] = (z * w5 + (x * w3 + w4)) * y;
      b[i] = (z * w8 + (x * w6 + w7)) * y;
    }
    bound(b, b, n), bound(g, g, n), bound(r, r, n);
    if (row.linear) return;
    with_gamma(tables.inverse_gamma, b, n), with_gamma(tables.inverse_gamma, g, n), with_gamma(tables.inverse_gamma, r, n);
  }
};

struct ToLabBytes {
  static void run(Plane<uint8_t> b, Plane<uint8_t> g, Plane<uint8_t> r, Made<uint8_t> l, Made<uint8_t> a, Made<uint8_t> bb, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    alignas(64) int planes[3][kTile];
    const uint8_t* from[3] = {r, g, b};
    for (int k = 0; k < 3; ++k) {
      Plane<uint8_t> in = from[k];
      Made<int> out = planes[k];
      Plane<int> gamma = tables.gamma_u8;
      if (row.linear)
        for (size_t i = 0; i < n; ++i) out[i] = in[i] << 3;
      else
        for (size_t i = 0; i < n; ++i) out[i] = gamma[in[i]];
    }
    Plane<int> root = tables.root_u8;
    const int* w = tables.lab_matrix_u8;
    const int w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
    constexpr int kScale = (116 * 255 + 50) / 100, kShift = -((16 * 255 * (1 << 15) + 50) / 100) + half_of(15);
    constexpr int kMiddle = 128 * (1 << 15) + half_of(15);
    for (size_t i = 0; i < n; ++i) {
      const int red = planes[0][i], green = planes[1][i], blue = planes[2][i];
      const int fx = root[(red * w0 + green * w1 + blue * w2 + half_of(12)) >> 12];
      const int fy = root[(red * w3 + green * w4 + blue * w5 + half_of(12)) >> 12];
      const int fz = root[(red * w6 + green * w7 + blue * w8 + half_of(12)) >> 12];
      l[i] = clamped<uint8_t>((kScale * fy + kShift) >> 15);
      a[i] = clamped<uint8_t>((500 * (fx - fy) + kMiddle) >> 15);
      bb[i] = clamped<uint8_t>((200 * (fy - fz) + kMiddle) >> 15);
    }
  }
};

/// Colours in units of 2^-12 as bytes.
HWY_NOINLINE void bytes_of_linear(const LabTables& tables, bool linear, Plane<int> in, Made<uint8_t> out, size_t n) {
  Plane<int> gamma = tables.inverse_gamma_u8;
  if (linear)
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>((in[i] * 255) >> 12);
  else
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(gamma[in[i]]);
}

/// x, y and z in units of 2^-14 to colours.
HWY_NOINLINE void from_xyz(const int* w, Plane<int> xs, Plane<int> ys, Plane<int> zs, Made<uint8_t> b, Made<uint8_t> g, Made<uint8_t> r,
                           size_t n, const ColorRow& row) {
  alignas(64) int planes[3][kTile];
  const int w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
  for (size_t i = 0; i < n; ++i) {
    const int x = xs[i], y = ys[i], z = zs[i];
    planes[0][i] = std::max(0, std::min(4095, (w0 * x + w1 * y + w2 * z + half_of(14)) >> 14));
    planes[1][i] = std::max(0, std::min(4095, (w3 * x + w4 * y + w5 * z + half_of(14)) >> 14));
    planes[2][i] = std::max(0, std::min(4095, (w6 * x + w7 * y + w8 * z + half_of(14)) >> 14));
  }
  bytes_of_linear(*row.tables, row.linear, planes[0], r, n);
  bytes_of_linear(*row.tables, row.linear, planes[1], g, n);
  bytes_of_linear(*row.tables, row.linear, planes[2], b, n);
}

struct FromLabBytes {
  static void run(Plane<uint8_t> l, Plane<uint8_t> a, Plane<uint8_t> bb, Made<uint8_t> b, Made<uint8_t> g, Made<uint8_t> r, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    alignas(64) int planes[3][kTile];
    Plane<int> y = tables.y_u8, fy = tables.fy_u8, xz = tables.xz_u8.data();
    for (size_t i = 0; i < n; ++i) {
      const int root = fy[l[i]];
      // a / 500 and b / 200 in units of 2^-14
      const int along = ((5 * a[i] * 53687 + (1 << 7)) >> 13) - 128 * 16384 / 500;
      const int across = ((bb[i] * 41943 + (1 << 4)) >> 9) - 128 * 16384 / 200 + 1;
      planes[0][i] = xz[root + along + 8145];
      planes[1][i] = y[l[i]];
      planes[2][i] = xz[root - across + 8145];
    }
    from_xyz(tables.lab_inverse_u8, planes[0], planes[1], planes[2], b, g, r, n, row);
  }
};

struct ToLuvBytes {
  static void run(Plane<uint8_t> b, Plane<uint8_t> g, Plane<uint8_t> r, Made<uint8_t> l, Made<uint8_t> u, Made<uint8_t> v, size_t n,
                  const ColorRow& row) {
    if (row.linear) return on_bytes<ToLuv>(b, g, r, l, u, v, n, row, kToLuv);
    alignas(64) int in[3][kTile], out[3][kTile];
    for (size_t i = 0; i < n; ++i) in[0][i] = b[i] * 64, in[1][i] = g[i] * 64, in[2][i] = r[i] * 64;
    from_cube(row.tables->luv, in[0], in[1], in[2], out[0], out[1], out[2], n);
    for (size_t i = 0; i < n; ++i) {
      l[i] = clamped<uint8_t>(out[0][i] / 64);
      u[i] = clamped<uint8_t>(out[1][i] / 64);
      v[i] = clamped<uint8_t>(out[2][i] / 64);
    }
  }
};

struct FromLuvBytes {
  static void run(Plane<uint8_t> l, Plane<uint8_t> u, Plane<uint8_t> v, Made<uint8_t> b, Made<uint8_t> g, Made<uint8_t> r, size_t n,
                  const ColorRow& row) {
    const LabTables& tables = *row.tables;
    alignas(64) int planes[3][kTile];
    for (size_t i = 0; i < n; ++i) {
      const int lightness = l[i], y = tables.y_u8[lightness];
      const int64_t up = tables.u_u8[static_cast<size_t>(lightness * 256 + u[i])];
      const int vp = tables.v_u8[static_cast<size_t>(lightness * 256 + v[i])];
      const int64_t product = up * vp, scaled = int64_t{12 * 13 * 100 * 16} * (vp * lightness);
      const int x = static_cast<int>(product >> 14);
      const int64_t z = ((scaled - product * 85) >> 14) - int64_t{5 * 255} * 16384;
      const int zm = static_cast<int>((y * z) >> 14);
      planes[0][i] = std::max(0, std::min(32768, static_cast<int>((int64_t{y} * x) >> 14)));
      planes[1][i] = y;
      planes[2][i] = std::max(0, std::min(32768, (zm >> 8) + (zm >> 16)));
    }
    from_xyz(tables.luv_inverse_u8, planes[0], planes[1], planes[2], b, g, r, n, row);
  }
};

// ---- Rows

/// `forward`: the colours are the source's.
template <class T, class Step, bool forward>
void through_planes(const void* from, void* to, size_t n, const ColorRow& row) {
  alignas(64) T planes[6][kTile];
  T* in[3] = {planes[0], planes[1], planes[2]};
  T* out[3] = {planes[3], planes[4], planes[5]};
  T** colors = forward ? in : out;
  if (row.blue == 2) std::swap(colors[0], colors[2]);
  for (size_t start = 0; start < n; start += kTile) {
    const size_t count = std::min(kTile, n - start);
    split(static_cast<const T*>(from) + start * static_cast<size_t>(row.from), row.from, in[0], in[1], in[2], count);
    Step::run(planes[0], planes[1], planes[2], planes[3], planes[4], planes[5], count, row);
    join(out[0], out[1], out[2], static_cast<T*>(to) + start * static_cast<size_t>(row.to), row.to, count);
  }
}

template <bool multiply>
void alpha(const void* from, void* to, size_t n, const ColorRow&) {
  const auto* HWY_RESTRICT in = static_cast<const uint8_t*>(from);
  auto* HWY_RESTRICT out = static_cast<uint8_t*>(to);
  alignas(64) uint8_t planes[4][kTile];
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t start = 0; start < n; start += kTile, in += 4 * kTile, out += 4 * kTile) {
    const size_t count = std::min(kTile, n - start);
    in_vectors(
        count, lanes,
        [&](size_t i) HWY_ATTR {
          hn::Vec<decltype(d)> x, y, z, w;
          hn::LoadInterleaved4(d, in + 4 * i, x, y, z, w);
          hn::Store(x, d, planes[0] + i), hn::Store(y, d, planes[1] + i), hn::Store(z, d, planes[2] + i), hn::Store(w, d, planes[3] + i);
        },
        [&](size_t i) HWY_ATTR {
          for (size_t k = 0; k < 4; ++k) planes[k][i] = in[4 * i + k];
        });
    for (int k = 0; k < 3; ++k) {
      uint8_t* HWY_RESTRICT plane = planes[k];
      const uint8_t* HWY_RESTRICT opacity = planes[3];
      for (size_t i = 0; i < count; ++i) {
        if constexpr (multiply) {
          const unsigned product = unsigned(plane[i]) * opacity[i] + 129;
          plane[i] = static_cast<uint8_t>((product + ((product - 1) >> 8)) >> 8);  // (product + 128) / 255
        } else {
          const int a = opacity[i];
          const float quotient = static_cast<float>(plane[i] * 255 + a / 2) / static_cast<float>(std::max(a, 1));
          plane[i] = a == 0 ? uint8_t{0} : static_cast<uint8_t>(std::min(static_cast<int>(quotient), 255));
        }
      }
    }
    in_vectors(
        count, lanes,
        [&](size_t i) HWY_ATTR {
          hn::StoreInterleaved4(hn::Load(d, planes[0] + i), hn::Load(d, planes[1] + i), hn::Load(d, planes[2] + i),
                                hn::Load(d, planes[3] + i), d, out + 4 * i);
        },
        [&](size_t i) HWY_ATTR {
          for (size_t k = 0; k < 4; ++k) out[4 * i + k] = planes[k][i];
        });
  }
}

}  // namespace

extern const ColorLoops kColorLoops;
const ColorLoops kColorLoops{
    {{reorder_u8, to_gray_u8, from_gray_u8, through_planes<uint8_t, ToLuma<uint8_t>, true>,
      through_planes<uint8_t, FromLuma<uint8_t>, false>, through_planes<uint8_t, Matrix<uint8_t>, true>,
      through_planes<uint8_t, Matrix<uint8_t>, false>, through_planes<uint8_t, ToHsvBytes, true>,
      through_planes<uint8_t, OnBytes<FromHsv, kFromHue>, false>, through_planes<uint8_t, OnBytes<ToHls, kToHls>, true>,
      through_planes<uint8_t, OnBytes<FromHls, kFromHue>, false>, through_planes<uint8_t, ToLabBytes, true>,
      through_planes<uint8_t, FromLabBytes, false>, through_planes<uint8_t, ToLuvBytes, true>, through_planes<uint8_t, FromLuvBytes, false>,
      alpha<true>, alpha<false>},
     {reorder<uint16_t>, to_gray<uint16_t>, from_gray<uint16_t>, through_planes<uint16_t, ToLuma<uint16_t>, true>,
      through_planes<uint16_t, FromLuma<uint16_t>, false>, through_planes<uint16_t, Matrix<uint16_t>, true>,
      through_planes<uint16_t, Matrix<uint16_t>, false>},
     {reorder<float>, to_gray<float>, from_gray<float>, through_planes<float, ToLuma<float>, true>,
      through_planes<float, FromLuma<float>, false>, through_planes<float, Matrix<float>, true>,
      through_planes<float, Matrix<float>, false>, through_planes<float, ToHsv, true>, through_planes<float, FromHsv, false>,
      through_planes<float, ToHls, true>, through_planes<float, FromHls, false>, through_planes<float, ToLab, true>,
      through_planes<float, FromLab, false>, through_planes<float, ToLuv, true>, through_planes<float, FromLuv, false>}}};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kColorLoops
const minnow::vision::ColorLoops& minnow::vision::color_loops() {
  static const ColorLoops& loops = choose_loops<ColorLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
