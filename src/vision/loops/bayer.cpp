// SPDX-License-Identifier: Apache-2.0
// Bayer mosaics.
#include "vision/loops/color.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/bayer.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

#include "vision/loops/planes.inc"

template <class T>
void bayer(const BayerRow& row, BayerStep step, size_t n) {
  alignas(64) T own[kTile], green[kTile], other[kTile];
  const int own_weight = row.blue ? 1868 : 4899, other_weight = row.blue ? 4899 : 1868;
  for (size_t start = 0; start < n; start += kTile) {
    const size_t count = std::min(kTile, n - start);
    const size_t at = static_cast<size_t>(row.first) + start;
    Plane<T> up = static_cast<const T*>(row.above) + at;
    Plane<T> here = static_cast<const T*>(row.here) + at;
    Plane<T> down = static_cast<const T*>(row.below) + at;
    const unsigned odd = row.green_first ? 1 : 0;  // pixels of this parity have the row's own colour; start is even
    if (step == BayerStep::gray) {
      Made<T> out = static_cast<T*>(row.out) + start;
      for (size_t i = 0; i < count; ++i) {
        const int center = here[i], beside = here[i - 1] + here[i + 1], above = up[i] + down[i];
        const int corners = up[i - 1] + up[i + 1] + down[i - 1] + down[i + 1];
        const unsigned colored =
            (unsigned(corners * other_weight) + unsigned((beside + above) * 9617) + unsigned(center * 4 * own_weight) + (1u << 15)) >> 16;
        const unsigned plain =
            (unsigned(above * other_weight) + unsigned(beside * own_weight) + unsigned(center * 2 * 9617) + (1u << 14)) >> 15;
        out[i] = static_cast<T>((i & 1) == odd ? colored : plain);
      }
      continue;
    }
    if (step == BayerStep::edges) {
      for (size_t i = 0; i < count; ++i) {
        const int center = here[i], left = here[i - 1], right = here[i + 1], above = up[i], below = down[i];
        const int corners = up[i - 1] + up[i + 1] + down[i - 1] + down[i + 1];
        const int across = std::abs(left - right), along = std::abs(above - below);
        const int horizontal = (left + right) >> 1, vertical = (above + below) >> 1;
        const bool colored = (i & 1) == odd;
        own[i] = static_cast<T>(colored ? center : horizontal);
        green[i] = static_cast<T>(!colored ? center : across > along ? vertical : horizontal);
        other[i] = static_cast<T>(colored ? corners >> 2 : vertical);
      }
    } else {
      for (size_t i = 0; i < count; ++i) {
        const int center = here[i], beside = here[i - 1] + here[i + 1], above = up[i] + down[i];
        const int corners = up[i - 1] + up[i + 1] + down[i - 1] + down[i + 1];
        const bool colored = (i & 1) == odd;
        own[i] = static_cast<T>(colored ? center : (beside + 1) >> 1);
        green[i] = static_cast<T>(colored ? (beside + above + 2) >> 2 : center);
        other[i] = static_cast<T>(colored ? (corners + 2) >> 2 : (above + 1) >> 1);
      }
    }
    T* out = static_cast<T*>(row.out) + start * static_cast<size_t>(row.to);
    join(row.blue ? own : other, green, row.blue ? other : own, out, row.to, count);
  }
}

}  // namespace

extern const BayerLoops kBayerLoops;
const BayerLoops kBayerLoops{bayer<uint8_t>, bayer<uint16_t>};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kBayerLoops
const minnow::vision::BayerLoops& minnow::vision::bayer_loops() {
  static const BayerLoops& loops = choose_loops<BayerLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
