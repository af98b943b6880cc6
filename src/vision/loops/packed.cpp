// SPDX-License-Identifier: Apache-2.0
// Colours of 5 or 6 bits, three in 16 bits.
#include "vision/loops/color.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/packed.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

#include "vision/loops/planes.inc"

void from_packed(const uint16_t* in, uint8_t* out, int to, int blue, int green_bits, size_t n) {
  alignas(64) uint8_t planes[4][kTile];
  for (size_t start = 0; start < n; start += kTile, in += kTile, out += kTile * static_cast<size_t>(to)) {
    const size_t count = std::min(kTile, n - start);
    const bool six = green_bits == 6;
    const int green_shift = six ? 3 : 2, green_mask = six ? 0xfc : 0xf8, red_shift = six ? 8 : 7;
    Plane<uint16_t> from = in;
    Made<uint8_t> b = planes[0], g = planes[1], r = planes[2], a = planes[3];
    for (size_t i = 0; i < count; ++i) {
      const int t = from[i];
      b[i] = static_cast<uint8_t>((t << 3) & 0xf8);
      g[i] = static_cast<uint8_t>((t >> green_shift) & green_mask);
      r[i] = static_cast<uint8_t>((t >> red_shift) & 0xf8);
    }
    if (to == 4 && !six)
      for (size_t i = 0; i < count; ++i) a[i] = from[i] & 0x8000 ? uint8_t{255} : uint8_t{0};
    if (to == 1) {
      Made<uint8_t> gray = out;
      for (size_t i = 0; i < count; ++i) gray[i] = static_cast<uint8_t>((b[i] * kBlue + g[i] * kGreen + r[i] * kRed + (1 << 14)) >> 15);
      continue;
    }
    join(planes[blue], planes[1], planes[2 - blue], out, to, count);
    if (to == 4 && !six)
      for (size_t i = 0; i < count; ++i) out[4 * i + 3] = a[i];
  }
}

void to_packed(const uint8_t* in, int from, int blue, int green_bits, uint16_t* out, size_t n) {
  alignas(64) uint8_t planes[3][kTile];
  const bool six = green_bits == 6;
  for (size_t start = 0; start < n; start += kTile, in += kTile * static_cast<size_t>(from), out += kTile) {
    const size_t count = std::min(kTile, n - start);
    const uint8_t *b = planes[0], *g = planes[1], *r = planes[2];
    if (from == 1) {
      b = g = r = in;
    } else {
      split(in, from, planes[blue], planes[1], planes[2 - blue], count);
    }
    Made<uint16_t> to = out;
    const int green_mask = six ? 0xfc : 0xf8, green_shift = six ? 3 : 2, red_shift = six ? 8 : 7;
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<uint16_t>((b[i] >> 3) | ((g[i] & green_mask) << green_shift) | ((r[i] & 0xf8) << red_shift));
    if (from == 4 && !six)
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint16_t>(to[i] | (in[4 * i + 3] ? 0x8000 : 0));
  }
}

}  // namespace

extern const PackedLoops kPackedLoops;
const PackedLoops kPackedLoops{from_packed, to_packed};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kPackedLoops
const minnow::vision::PackedLoops& minnow::vision::packed_loops() {
  static const PackedLoops& loops = choose_loops<PackedLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
