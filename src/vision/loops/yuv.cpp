// SPDX-License-Identifier: Apache-2.0
// YUV with chroma that pixels share.
#include "vision/loops/color.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/yuv.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

#include "vision/loops/planes.inc"

using U8 = hn::ScalableTag<uint8_t>;
using U16 = hn::Repartition<uint16_t, U8>;
using I16 = hn::RebindToSigned<U16>;

/// Two bytes a 16-bit lane (even pixels low) of the colours, from luma and from chroma in 16-bit lanes. ITU-R BT.601, video range, in
/// units of 2^-6; products keep their upper 16 bits.
HWY_INLINE void colors_of(hn::Vec<U16> luma, hn::Vec<U16> u, hn::Vec<U16> v, hn::Vec<U8>& b, hn::Vec<U8>& g, hn::Vec<U8>& r) {
  const U8 d;
  const U16 d16;
  const I16 s16;
  const auto u_lifted = hn::ShiftLeft<8>(u), v_lifted = hn::ShiftLeft<8>(v);
  const auto product = [&](hn::Vec<U16> x, int weight)
                           HWY_ATTR { return hn::BitCast(s16, hn::MulHigh(x, hn::Set(d16, static_cast<uint16_t>(weight)))); };
  const auto of = [&](int x) HWY_ATTR { return hn::Set(s16, static_cast<int16_t>(x)); };
  // 1.5960 x 2^14 and so on; the offsets are 128 of chroma, 16 of luma (in the luma), and a half.
  const auto red = hn::Sub(product(v_lifted, 26149), of(128 * 26149 / 256 - 32));
  const auto green = hn::Sub(of(128 * (6406 + 13320) / 256 + 32), hn::Add(product(u_lifted, 6406), product(v_lifted, 13320)));
  const auto blue = hn::Sub(hn::BitCast(s16, hn::Add(hn::MulHigh(u_lifted, hn::Set(d16, uint16_t{33063 - 32768})), hn::ShiftLeft<7>(u))),
                            of(128 * 33063 / 256 - 32));
  const auto low = hn::Set(d16, uint16_t{16});
  const auto even16 = hn::And(luma, hn::Set(d16, uint16_t{255})), odd16 = hn::ShiftRight<8>(luma);
  const auto lifted = [&](hn::Vec<U16> y) HWY_ATTR { return product(hn::ShiftLeft<8>(hn::Sub(hn::Max(y, low), low)), 19071); };
  const auto even = lifted(even16), odd = lifted(odd16);
  const auto zero = hn::Zero(s16), most = hn::Set(s16, int16_t{255});
  const auto byte = [&](hn::Vec<I16> x) HWY_ATTR { return hn::BitCast(d16, hn::Min(hn::Max(hn::ShiftRight<6>(x), zero), most)); };
  const auto both = [&](hn::Vec<I16> chroma) HWY_ATTR {
    return hn::BitCast(d, hn::Or(byte(hn::SaturatedAdd(even, chroma)), hn::ShiftLeft<8>(byte(hn::SaturatedAdd(odd, chroma)))));
  };
  b = both(blue), g = both(green), r = both(red);
}

void from_yuv(const YuvRow& row, size_t n) {
  const U8 d;
  const U16 d16;
  const hn::Half<U8> half;
  const size_t lanes = hn::Lanes(d);
  const auto vectors = [&](const uint8_t* y, const uint8_t* u, const uint8_t* v, uint8_t* out) HWY_ATTR {
    hn::Vec<U16> luma, first, second;
    const auto mask = hn::Set(d16, uint16_t{255});
    if (row.layout == ChromaLayout::planes) {
      luma = hn::BitCast(d16, hn::LoadU(d, y));
      first = hn::PromoteTo(d16, hn::LoadU(half, u)), second = hn::PromoteTo(d16, hn::LoadU(half, v));
    } else {
      hn::Vec<U16> chroma;
      if (row.layout == ChromaLayout::interleaved) {
        luma = hn::BitCast(d16, hn::LoadU(d, y)), chroma = hn::BitCast(d16, hn::LoadU(d, u));
      } else {
        hn::Vec<U8> a, b;
        hn::LoadInterleaved2(d, y, a, b);
        luma = hn::BitCast(d16, row.layout == ChromaLayout::yuyv ? a : b),
        chroma = hn::BitCast(d16, row.layout == ChromaLayout::yuyv ? b : a);
      }
      first = hn::And(chroma, mask), second = hn::ShiftRight<8>(chroma);
    }
    if (row.swapped) std::swap(first, second);
    hn::Vec<U8> b, g, r;
    colors_of(luma, first, second, b, g, r);
    if (row.blue == 2) std::swap(b, r);
    if (row.to == 3)
      hn::StoreInterleaved3(b, g, r, d, out);
    else
      hn::StoreInterleaved4(b, g, r, hn::Set(d, uint8_t{255}), d, out);
  };
  const bool packed = row.layout == ChromaLayout::yuyv || row.layout == ChromaLayout::uyvy;
  const size_t per_y = packed ? 2 : 1, chroma_shift = row.layout == ChromaLayout::planes ? 1 : 0, to = static_cast<size_t>(row.to);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    vectors(row.y + per_y * i, packed ? nullptr : row.u + (i >> chroma_shift), packed ? nullptr : row.v + (i >> chroma_shift),
            row.out + to * i);
  if (i == n) return;
  uint8_t y[2 * HWY_MAX_BYTES] = {}, u[HWY_MAX_BYTES] = {}, v[HWY_MAX_BYTES] = {}, out[4 * HWY_MAX_BYTES];
  std::memcpy(y, row.y + per_y * i, per_y * (n - i));
  if (!packed) {
    std::memcpy(u, row.u + (i >> chroma_shift), (n - i) >> chroma_shift);
    std::memcpy(v, row.v + (i >> chroma_shift), (n - i) >> chroma_shift);
  }
  vectors(y, u, v, out);
  std::memcpy(row.out + to * i, out, to * (n - i));
}

void to_yuv420(const uint8_t* in, int channels, int blue, uint8_t* y, uint8_t* u, uint8_t* v, size_t n) {
  alignas(64) uint8_t planes[3][kTile];
  for (size_t start = 0; start < n; start += kTile) {
    const size_t count = std::min(kTile, n - start);
    split(in + start * static_cast<size_t>(channels), channels, planes[blue], planes[1], planes[2 - blue], count);
    Plane<uint8_t> b = planes[0], g = planes[1], r = planes[2];
    Made<uint8_t> luma = y + start;
    for (size_t i = 0; i < count; ++i)
      luma[i] = static_cast<uint8_t>((r[i] * 269484 + g[i] * 528482 + b[i] * 102760 + (1 << 19) + (16 << 20)) >> 20);
    if (!u) continue;
    Made<uint8_t> first = u + start / 2;
    Made<uint8_t> second = v + start / 2;
    for (size_t i = 0; i < count / 2; ++i) {
      const int red = r[2 * i], green = g[2 * i], blueness = b[2 * i];
      first[i] = static_cast<uint8_t>((red * -155188 + green * -305135 + blueness * 460324 + (1 << 19) + (128 << 20)) >> 20);
      second[i] = static_cast<uint8_t>((red * 460324 + green * -385875 + blueness * -74448 + (1 << 19) + (128 << 20)) >> 20);
    }
  }
}

void to_yuv422(const uint8_t* in, int channels, int blue, uint8_t* out, int y, int u, int v, size_t n) {
  alignas(64) uint8_t planes[3][kTile], luma[kTile], first[kTile / 2], second[kTile / 2];
  for (size_t start = 0; start < n; start += kTile) {
    const size_t count = std::min(kTile, n - start);
    split(in + start * static_cast<size_t>(channels), channels, planes[blue], planes[1], planes[2 - blue], count);
    Plane<uint8_t> b = planes[0], g = planes[1], r = planes[2];
    for (size_t i = 0; i < count; ++i)
      luma[i] = clamped<uint8_t>((r[i] * 4211 + g[i] * 8258 + b[i] * 1606 + 16 * (1 << 14) + half_of(14)) >> 14);
    for (size_t i = 0; i < count / 2; ++i) {
      const int red = r[2 * i] + r[2 * i + 1], green = g[2 * i] + g[2 * i + 1], blueness = b[2 * i] + b[2 * i + 1];
      first[i] = clamped<uint8_t>((red * -1212 + green * -2384 + blueness * 3596 + 256 * half_of(14) + half_of(14)) >> 14);
      second[i] = clamped<uint8_t>((red * 3596 + green * -3015 + blueness * -582 + 256 * half_of(14) + half_of(14)) >> 14);
    }
    uint8_t* HWY_RESTRICT to = out + 2 * start;
    for (size_t i = 0; i < count / 2; ++i)
      to[4 * i + size_t(y)] = luma[2 * i], to[4 * i + size_t(y) + 2] = luma[2 * i + 1], to[4 * i + size_t(u)] = first[i],
                 to[4 * i + size_t(v)] = second[i];
  }
}

}  // namespace

extern const YuvLoops kYuvLoops;
const YuvLoops kYuvLoops{from_yuv, to_yuv420, to_yuv422};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kYuvLoops
const minnow::vision::YuvLoops& minnow::vision::yuv_loops() {
  static const YuvLoops& loops = choose_loops<YuvLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
