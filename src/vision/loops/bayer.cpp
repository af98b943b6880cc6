// SPDX-License-Identifier: Apache-2.0
// Bayer mosaics.
#include "vision/loops/color.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <type_traits>

#define MINNOW_UP_TO_AVX2
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

using Shorts = hn::ScalableTag<int16_t>;

/// Bytes of a tile of at least one vector; the last vector overlaps the one before. odd: the parity of pixels that have the row's own
/// colour.
void bayer_bytes(const uint8_t* up, const uint8_t* here, const uint8_t* down, unsigned odd, bool edges, size_t n, uint8_t* own,
                 uint8_t* green, uint8_t* other) {
  const Shorts d;
  const hn::Rebind<uint8_t, Shorts> bytes;
  using V = hn::Vec<Shorts>;
  const size_t lanes = hn::Lanes(d);
  const V one = hn::Set(d, 1), two = hn::Set(d, 2);
  const auto at = [&](const uint8_t* from) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, from)); };
  const auto vector = [&](size_t i) HWY_ATTR {
    const V center = at(here + i), left = at(here + i - 1), right = at(here + i + 1), above = at(up + i), below = at(down + i);
    const V corners = hn::Add(hn::Add(at(up + i - 1), at(up + i + 1)), hn::Add(at(down + i - 1), at(down + i + 1)));
    const V beside = hn::Add(left, right), along = hn::Add(above, below);
    const V round = edges ? hn::Zero(d) : one, across = hn::ShiftRight<1>(hn::Add(beside, round)),
            down_up = hn::ShiftRight<1>(hn::Add(along, round));
    V between = hn::ShiftRight<2>(hn::Add(hn::Add(beside, along), two));
    if (edges) between = hn::IfThenElse(hn::Gt(hn::Abs(hn::Sub(left, right)), hn::Abs(hn::Sub(above, below))), down_up, across);
    const V diagonal = hn::ShiftRight<2>(edges ? corners : hn::Add(corners, two));
    const auto colored = hn::Eq(hn::And(hn::Iota(d, static_cast<int16_t>(i & 1)), one), hn::Set(d, static_cast<int16_t>(odd)));
    hn::StoreU(hn::DemoteTo(bytes, hn::IfThenElse(colored, center, across)), bytes, own + i);
    hn::StoreU(hn::DemoteTo(bytes, hn::IfThenElse(colored, between, center)), bytes, green + i);
    hn::StoreU(hn::DemoteTo(bytes, hn::IfThenElse(colored, diagonal, down_up)), bytes, other + i);
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(i);
  if (i < n) vector(n - lanes);
}

/// The weighted sums of pixels' colours in whole vectors, with neighbours of one colour added first. Returns the number of pixels made.
size_t gray_bytes(Plane<uint8_t> up, Plane<uint8_t> here, Plane<uint8_t> down, unsigned odd, int own_weight, int other_weight, size_t n,
                  Made<uint8_t> out) {
  constexpr int kGreen = 9617;
  const Shorts d;
  const hn::Repartition<int32_t, Shorts> wide;
  const hn::Rebind<uint8_t, Shorts> bytes;
  using V = hn::Vec<Shorts>;
  using W = hn::Vec<decltype(wide)>;
  const W own = hn::Set(wide, own_weight), other = hn::Set(wide, other_weight), green = hn::Set(wide, kGreen);
  const auto at = [&](const uint8_t* from) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, from)); };
  // Every second pixel.
  const auto half = [&](V x, bool upper) HWY_ATTR {
    const W lanes = hn::BitCast(wide, x);
    return upper ? hn::ShiftRight<16>(lanes) : hn::And(lanes, hn::Set(wide, 0xffff));
  };
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const V center = at(here + i), beside = hn::Add(at(here + i - 1), at(here + i + 1)), along = hn::Add(at(up + i), at(down + i));
    const V corners = hn::Add(hn::Add(at(up + i - 1), at(up + i + 1)), hn::Add(at(down + i - 1), at(down + i + 1)));
    const auto colored = [&](bool upper) HWY_ATTR {
      const W sum = hn::Add(hn::Add(hn::Mul(half(corners, upper), other), hn::Mul(half(hn::Add(beside, along), upper), green)),
                            hn::Mul(half(hn::ShiftLeft<2>(center), upper), own));
      return hn::ShiftRight<16>(hn::Add(sum, hn::Set(wide, 1 << 15)));
    };
    const auto plain = [&](bool upper) HWY_ATTR {
      const W sum = hn::Add(hn::Add(hn::Mul(half(along, upper), other), hn::Mul(half(beside, upper), own)),
                            hn::Mul(half(hn::Add(center, center), upper), green));
      return hn::ShiftRight<15>(hn::Add(sum, hn::Set(wide, 1 << 14)));
    };
    const W even = odd ? plain(false) : colored(false), uneven = odd ? colored(true) : plain(true);
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(d, hn::Or(even, hn::ShiftLeft<16>(uneven)))), bytes, out + i);
  }
  return i;
}

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
      ptrdiff_t i = 0;
      if constexpr (sizeof(T) == 1) i = static_cast<ptrdiff_t>(gray_bytes(up, here, down, odd, own_weight, other_weight, count, out));
      for (; i < static_cast<ptrdiff_t>(count); ++i) {
        // Within 32 bits, the highest of which is no sign.
        const unsigned center = here[i], beside = unsigned(here[i - 1]) + here[i + 1], above = unsigned(up[i]) + down[i];
        const unsigned corners = unsigned(up[i - 1]) + up[i + 1] + down[i - 1] + down[i + 1];
        const unsigned of_own = unsigned(own_weight), of_other = unsigned(other_weight);
        const unsigned colored = (corners * of_other + (beside + above) * 9617 + center * 4 * of_own + (1u << 15)) >> 16;
        const unsigned plain = (above * of_other + beside * of_own + center * 2 * 9617 + (1u << 14)) >> 15;
        out[i] = static_cast<T>(static_cast<size_t>(i & 1) == odd ? colored : plain);
      }
      continue;
    }
    if (sizeof(T) == 1 && count >= hn::Lanes(Shorts())) {
      const auto bytes = [](const auto* from) { return reinterpret_cast<const uint8_t*>(from); };
      const auto made = [](T* to) { return reinterpret_cast<uint8_t*>(to); };
      bayer_bytes(bytes(up), bytes(here), bytes(down), odd, step == BayerStep::edges, count, made(own), made(green), made(other));
    } else if (step == BayerStep::edges) {
      for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(count); ++i) {
        const int center = here[i], left = here[i - 1], right = here[i + 1], above = up[i], below = down[i];
        const int corners = up[i - 1] + up[i + 1] + down[i - 1] + down[i + 1];
        const int across = std::abs(left - right), along = std::abs(above - below);
        const int horizontal = (left + right) >> 1, vertical = (above + below) >> 1;
        const bool colored = static_cast<size_t>(i & 1) == odd;
        own[i] = static_cast<T>(colored ? center : horizontal);
        green[i] = static_cast<T>(!colored ? center : across > along ? vertical : horizontal);
        other[i] = static_cast<T>(colored ? corners >> 2 : vertical);
      }
    } else {
      for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(count); ++i) {
        const int center = here[i], beside = here[i - 1] + here[i + 1], above = up[i] + down[i];
        const int corners = up[i - 1] + up[i + 1] + down[i - 1] + down[i + 1];
        const bool colored = static_cast<size_t>(i & 1) == odd;
        own[i] = static_cast<T>(colored ? center : (beside + 1) >> 1);
        green[i] = static_cast<T>(colored ? (beside + above + 2) >> 2 : center);
        other[i] = static_cast<T>(colored ? (corners + 2) >> 2 : (above + 1) >> 1);
      }
    }
    T* out = static_cast<T*>(row.out) + start * static_cast<size_t>(row.to);
    join(row.blue ? own : other, green, row.blue ? other : own, out, row.to, count);
  }
}

// Variable gradients: Chang, Cheung and Pang, "Color filter array recovery using a threshold-based variable number of gradients" (1999).
// Up to eight neighbours stand in directions along which the mosaic changes little; the colours that a pixel lacks are its own plus the
// mean difference between colours there.

struct Direction {
  int down, right;
};
constexpr Direction kDirections[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, 1}, {1, -1}, {-1, -1}, {1, 1}};

/// The differences along one direction around a pixel, for each row of a tile; from the pixel left of the tile to the one right of it.
struct Differences {
  static constexpr size_t kRow = kTile + 2 * HWY_MAX_BYTES;
  alignas(64) int16_t along[kRow], across[kRow], rising[kRow], falling[kRow], near_rising[kRow], near_falling[kRow], greens[kRow];
};

HWY_INLINE hn::Vec<Shorts> apart(const int16_t* a, const int16_t* b) {
  const Shorts d;
  return hn::Abs(hn::Sub(hn::LoadU(d, a), hn::LoadU(d, b)));
}

/// `at`: the row before the first pixel's left neighbour; rows lie `stride` apart.
HWY_NOINLINE void differences(const int16_t* at, size_t stride, size_t n, Differences& to) {
  const Shorts d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const int16_t *a = at + i, *b = a + stride, *c = b + stride;
    const auto twice = [](hn::Vec<Shorts> x) HWY_ATTR { return hn::Add(x, x); };
    hn::StoreU(hn::Add(hn::Add(apart(a - 1, c - 1), apart(a + 1, c + 1)), twice(apart(a, c))), d, to.along + i);
    hn::StoreU(hn::Add(hn::Add(apart(a - 1, a + 1), apart(c - 1, c + 1)), twice(apart(b - 1, b + 1))), d, to.across + i);
    const auto rising = twice(apart(a + 1, c - 1)), falling = twice(apart(a - 1, c + 1));
    hn::StoreU(rising, d, to.rising + i);
    hn::StoreU(falling, d, to.falling + i);
    hn::StoreU(hn::Add(rising, hn::Add(apart(a, b - 1), apart(c, b + 1))), d, to.near_rising + i);
    hn::StoreU(hn::Add(falling, hn::Add(apart(a, b + 1), apart(c, b - 1))), d, to.near_falling + i);
    const auto greens = hn::Add(hn::Add(hn::LoadU(d, a), hn::LoadU(d, c)), hn::Add(hn::LoadU(d, b - 1), hn::LoadU(d, b + 1)));
    hn::StoreU(hn::ShiftRight<1>(greens), d, to.greens + i);
  }
}

void gradients(const GradientRow& row, size_t n) {
  constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(int16_t), kStride = kTile + 4 * kLanes;
  const Shorts d;
  using V = hn::Vec<Shorts>;
  const hn::Repartition<float, Shorts> wide;
  alignas(64) int16_t pixels[5 * kStride];
  Differences rows[3];
  alignas(64) uint8_t own[kTile + kLanes], green[kTile + kLanes], other[kTile + kLanes];
  const hn::Rebind<uint8_t, Shorts> bytes;
  for (size_t start = 0; start < n; start += kTile) {
    const size_t count = std::min(kTile, n - start);
    for (size_t y = 0; y < 5; ++y) {
      int16_t* to = pixels + y * kStride;
      for (size_t x = 0; x < count + 4; ++x) to[x] = row.rows[y][start + x];
      std::fill(to + count + 4, to + count + 4 + 3 * kLanes, int16_t(0));
    }
    for (size_t y = 0; y < 3; ++y) differences(pixels + y * kStride + 1, kStride, count + 2, rows[y]);
    const auto is_green = hn::Eq(hn::And(hn::Iota(d, row.green_first ? 0 : 1), hn::Set(d, 1)), hn::Zero(d));
    const auto from = [&](size_t i, int down, int right) HWY_ATTR {
      return hn::LoadU(d, pixels + static_cast<size_t>(2 + down) * kStride + i + static_cast<size_t>(2 + right));
    };
    const auto either = [&](V for_green, V for_others) HWY_ATTR { return hn::IfThenElse(is_green, for_green, for_others); };
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      alignas(64) int16_t gradient[8 * kLanes];
      V least = hn::Set(d, 32767), most = hn::Zero(d);
      for (size_t k = 0; k < 8; ++k) {
        const int down = kDirections[k].down, right = kDirections[k].right;
        const Differences &here = rows[1], &there = rows[static_cast<size_t>(1 + down)];
        const size_t x = i + 1, u = x + static_cast<size_t>(right);
        V change;
        if (!right) {
          change = hn::Add(hn::LoadU(d, here.along + x), hn::LoadU(d, there.along + x));
        } else if (!down) {
          change = hn::Add(hn::LoadU(d, here.across + x), hn::LoadU(d, here.across + u));
        } else {
          const bool falling = down == right;
          const int16_t *diagonal = falling ? here.falling : here.rising, *beyond = falling ? there.falling : there.rising;
          const V sum = hn::Add(hn::Add(hn::LoadU(d, diagonal + x), hn::LoadU(d, diagonal + u)),
                                hn::Add(hn::LoadU(d, beyond + x), hn::LoadU(d, beyond + u)));
          const V close = hn::Add(hn::LoadU(d, (falling ? here.near_falling : here.near_rising) + x),
                                  hn::LoadU(d, (falling ? there.near_falling : there.near_rising) + u));
          change = either(sum, close);
        }
        hn::StoreU(change, d, gradient + k * kLanes);
        least = hn::Min(least, change), most = hn::Max(most, change);
      }
      const V limit = hn::Add(least, hn::Max(hn::ShiftRight<1>(most), hn::Set(d, 1)));
      const V center = from(i, 0, 0);
      V directions = hn::Zero(d), same = directions, first = directions, second = directions;
      for (size_t k = 0; k < 8; ++k) {
        const int down = kDirections[k].down, right = kDirections[k].right;
        const V near = from(i, down, right), twice = hn::Add(near, near), far = hn::Add(from(i, 2 * down, 2 * right), center);
        V mine, a, b;  // of the pixel's own colour; green, or the row's colour around green; the third colour
        if (!right) {
          mine = far;
          a = either(hn::Add(from(i, 2 * down, -1), from(i, 2 * down, 1)), twice);
          b = either(twice, hn::Add(from(i, down, -1), from(i, down, 1)));
        } else if (!down) {
          mine = far;
          a = twice;
          b = either(hn::Add(from(i, -1, 2 * right), from(i, 1, 2 * right)), hn::Add(from(i, -1, right), from(i, 1, right)));
        } else {
          mine = either(twice, far);
          a = either(hn::Add(from(i, 2 * down, right), from(i, 0, right)),
                     hn::LoadU(d, rows[static_cast<size_t>(1 + down)].greens + i + 1 + right));
          b = either(hn::Add(from(i, down, 0), from(i, down, 2 * right)), twice);
        }
        const V chosen = hn::VecFromMask(d, hn::Lt(hn::LoadU(d, gradient + k * kLanes), limit));
        directions = hn::Sub(directions, chosen);
        same = hn::Add(same, hn::And(chosen, mine)), first = hn::Add(first, hn::And(chosen, a)),
        second = hn::Add(second, hn::And(chosen, b));
      }
      // Half the sum's mean over the directions.
      const auto half_of_mean = [&](V sum) HWY_ATTR {
        alignas(64) int16_t sums[kLanes], counts[kLanes];
        hn::Store(sum, d, sums), hn::Store(directions, d, counts);
        const hn::Rebind<int16_t, decltype(wide)> part;
        const hn::RebindToSigned<decltype(wide)> whole;
        const auto floats = [&](const int16_t* from) HWY_ATTR { return hn::ConvertTo(wide, hn::PromoteTo(whole, hn::Load(part, from))); };
        for (size_t k = 0; k < hn::Lanes(d); k += hn::Lanes(wide)) {
          const auto mean = hn::Mul(floats(sums + k), hn::Div(hn::Set(wide, 0.5f), floats(counts + k)));
          hn::Store(hn::DemoteTo(part, hn::NearestInt(mean)), part, sums + k);
        }
        return hn::Load(d, sums);
      };
      const V a = hn::Add(center, half_of_mean(hn::Sub(first, same))), b = hn::Add(center, half_of_mean(hn::Sub(second, same)));
      hn::StoreU(hn::DemoteTo(bytes, either(a, center)), bytes, own + i);
      hn::StoreU(hn::DemoteTo(bytes, either(center, a)), bytes, green + i);
      hn::StoreU(hn::DemoteTo(bytes, b), bytes, other + i);
    }
    join(row.blue ? own : other, green, row.blue ? other : own, row.out + start * static_cast<size_t>(row.to), row.to, count);
  }
}

}  // namespace

extern const BayerLoops kBayerLoops;
const BayerLoops kBayerLoops{bayer<uint8_t>, bayer<uint16_t>, gradients};

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
