// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/median.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/median.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// a <= b afterwards. Results that nobody reads cost nothing: the compiler leaves them out.
template <class V>
HWY_INLINE void sort2(V& a, V& b) {
  const V low = hn::Min(a, b);
  b = hn::Max(a, b);
  a = low;
}
template <class V>
HWY_INLINE void sort3(V& a, V& b, V& c) {
  sort2(a, b);
  sort2(b, c);
  sort2(a, b);
}
template <class V>
HWY_INLINE void sort5(V& a, V& b, V& c, V& d, V& e) {
  sort2(a, b);
  sort2(d, e);
  sort2(c, e);
  sort2(c, d);
  sort2(a, d);
  sort2(a, c);
  sort2(b, e);
  sort2(b, d);
  sort2(b, c);
}

/// body(i) for vectors over n elements, at least one vector.
template <class D, class Body>
HWY_INLINE void vectors(D d, int64_t n, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) body(std::min(i, n - lanes));
}

/// Where a buffer's rows of n elements begin, with `step` or twice as many elements before them; and how far they are apart.
template <class T>
struct Rows {
  T* first;
  int64_t pitch;
  Rows(T* spare, int64_t step, int64_t n) {
    const uintptr_t before = reinterpret_cast<uintptr_t>(spare + 2 * step);
    first = reinterpret_cast<T*>((before + 63) / 64 * 64);
    pitch = (n + 4 * step + 64 + 63) / 64 * 64;
  }
  void repeat_ends(int rows, int64_t step, int64_t n, int times) const {
    for (int y = 0; y < rows; ++y) {
      T* const row = first + y * pitch;
      for (int k = 1; k <= times; ++k) {
        std::copy(row, row + step, row - k * step);
        std::copy(row + n - step, row + n, row + n + (k - 1) * step);
      }
    }
  }
};

/// The median of three columns, each sorted: the largest of the lowest, the middle of the middle, the least of the highest, and of these
/// the middle. `at`: the lowest of the middle column.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V median_of_sorted_3(D d, const T* at, int64_t pitch, int64_t step) {
  V low = hn::Max(hn::Max(hn::LoadU(d, at - step), hn::LoadU(d, at)), hn::LoadU(d, at + step));
  at += pitch;
  V a = hn::LoadU(d, at - step), b = hn::LoadU(d, at), c = hn::LoadU(d, at + step);
  at += pitch;
  V high = hn::Min(hn::Min(hn::LoadU(d, at - step), hn::LoadU(d, at)), hn::LoadU(d, at + step));
  sort3(a, b, c);
  sort3(low, b, high);
  return b;
}

/// median(i) for vectors over n elements.
template <class D, class T, class Median>
HWY_INLINE void write_medians(D d, T* HWY_RESTRICT out, int64_t n, Median&& median) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  while (true) {
    if (i + lanes <= n) {
      hn::StoreU(median(i), d, out + i);
      i += lanes;
      continue;
    }
    if (i == n) return;
    if (n < lanes) break;
    i = n - lanes;
  }
  T result[64];
  hn::StoreU(median(0), d, result);
  std::copy(result, result + n, out);
}

template <class T>
void of_3(const T* const* rows, int64_t step, T* HWY_RESTRICT spare, T* HWY_RESTRICT out, int64_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Rows<T> sorted(spare, step, n);
  T* const first = sorted.first;
  const int64_t pitch = sorted.pitch;
  if (n < static_cast<int64_t>(hn::Lanes(d))) {
    for (int64_t i = 0; i < n; ++i) {
      T v[3] = {rows[0][i], rows[1][i], rows[2][i]};
      std::sort(v, v + 3);
      for (int y = 0; y < 3; ++y) first[y * pitch + i] = v[y];
    }
  } else {
    vectors(d, n, [&](int64_t i) HWY_ATTR {
      V a = hn::LoadU(d, rows[0] + i), b = hn::LoadU(d, rows[1] + i), c = hn::LoadU(d, rows[2] + i);
      sort3(a, b, c);
      hn::StoreU(a, d, first + i);
      hn::StoreU(b, d, first + pitch + i);
      hn::StoreU(c, d, first + 2 * pitch + i);
    });
  }
  sorted.repeat_ends(3, step, n, 1);
  write_medians(d, out, n, [&](int64_t i) HWY_ATTR { return median_of_sorted_3(d, first + i, pitch, step); });
}

/// Puts the least of v[0 .. n) first and the largest last.
template <int n, class V>
HWY_INLINE void ends(V* v) {
  MINNOW_UNROLL
  for (int i = 0; i < n / 2; ++i) sort2(v[i], v[n - 1 - i]);
  MINNOW_UNROLL
  for (int i = 1; i < (n + 1) / 2; ++i) sort2(v[0], v[i]);
  MINNOW_UNROLL
  for (int i = n / 2; i < n - 1; ++i) sort2(v[i], v[n - 1]);
}

template <class D, class T, class V>
HWY_INLINE void sorted_row(D d, const T* at, int64_t step, V* v) {
  v[0] = hn::LoadU(d, at - 2 * step), v[1] = hn::LoadU(d, at - step), v[2] = hn::LoadU(d, at), v[3] = hn::LoadU(d, at + step);
  v[4] = hn::LoadU(d, at + 2 * step);
  sort5(v[0], v[1], v[2], v[3], v[4]);
}

/// The median of five columns, each sorted. With the rows sorted, too, element (y, x) is the largest of (y + 1) * (x + 1) elements at
/// least. Thirteen can be the thirteenth of all: six are always less, six are always more.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE V median_of_sorted_5(D d, const T* at, int64_t pitch, int64_t step) {
  V rest[13], v[5];
  sorted_row(d, at, step, v);
  rest[0] = v[3], rest[1] = v[4];
  sorted_row(d, at + pitch, step, v);
  rest[2] = v[2], rest[3] = v[3], rest[4] = v[4];
  sorted_row(d, at + 2 * pitch, step, v);
  rest[5] = v[1], rest[6] = v[2], rest[7] = v[3];
  sorted_row(d, at + 3 * pitch, step, v);
  rest[8] = v[0], rest[9] = v[1], rest[10] = v[2];
  sorted_row(d, at + 4 * pitch, step, v);
  rest[11] = v[0], rest[12] = v[1];
  // The least and the largest of eight are not the median of thirteen: the next one takes their places.
  ends<8>(rest);
  rest[7] = rest[8];
  ends<7>(rest + 1);
  rest[7] = rest[9];
  ends<6>(rest + 2);
  rest[7] = rest[10];
  ends<5>(rest + 3);
  rest[7] = rest[11];
  ends<4>(rest + 4);
  rest[7] = rest[12];
  ends<3>(rest + 5);
  return rest[6];
}

template <class T>
void of_5(const T* const* rows, int64_t step, T* HWY_RESTRICT spare, T* HWY_RESTRICT out, int64_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Rows<T> sorted(spare, step, n);
  T* const first = sorted.first;
  const int64_t pitch = sorted.pitch;
  if (n < static_cast<int64_t>(hn::Lanes(d))) {
    for (int64_t i = 0; i < n; ++i) {
      T v[5];
      for (int y = 0; y < 5; ++y) v[y] = rows[y][i];
      std::sort(v, v + 5);
      for (int y = 0; y < 5; ++y) first[y * pitch + i] = v[y];
    }
  } else {
    vectors(d, n, [&](int64_t i) HWY_ATTR {
      V v[5];
      MINNOW_UNROLL
      for (int y = 0; y < 5; ++y) v[y] = hn::LoadU(d, rows[y] + i);
      sort5(v[0], v[1], v[2], v[3], v[4]);
      MINNOW_UNROLL
      for (int y = 0; y < 5; ++y) hn::StoreU(v[y], d, first + y * pitch + i);
    });
  }
  sorted.repeat_ends(5, step, n, 2);
  write_medians(d, out, n, [&](int64_t i) HWY_ATTR { return median_of_sorted_5(d, first + i, pitch, step); });
}

HWY_INLINE void add16(uint16_t* HWY_RESTRICT sums, const uint16_t* HWY_RESTRICT values) {
  for (int i = 0; i < 16; ++i) sums[i] = static_cast<uint16_t>(sums[i] + values[i]);
}
HWY_INLINE void move16(uint16_t* HWY_RESTRICT sums, const uint16_t* HWY_RESTRICT entering, const uint16_t* HWY_RESTRICT leaving) {
  for (int i = 0; i < 16; ++i) sums[i] = static_cast<uint16_t>(sums[i] + entering[i] - leaving[i]);
}

// Source: Perreault and Hebert, Median filtering in constant time, 2007. The fine counts of a segment follow the window only when a median
// falls into it.
void of_columns(const ColumnCounts* columns, int64_t radius, int64_t half, int64_t step, uint8_t* out, int64_t n) {
  alignas(64) uint16_t coarse[16] = {};
  alignas(64) uint16_t fine[16][16];
  int64_t counted[16];  // the window's first column for which fine[] is right
  std::fill(counted, counted + 16, int64_t{-1} << 40);
  const int64_t size = 2 * radius + 1;
  for (int64_t x = 0; x < size; ++x) add16(coarse, columns[x].coarse);
  for (int64_t x = 0; x < n; ++x) {
    if (x) move16(coarse, columns[x + size - 1].coarse, columns[x - 1].coarse);
    int64_t below = 0;
    int k = 0;
    while (below + coarse[k] <= half) below += coarse[k++];
    if (x - counted[k] >= size) {
      std::memset(fine[k], 0, sizeof fine[k]);
      for (int64_t u = x; u < x + size; ++u) add16(fine[k], columns[u].fine[k]);
    } else {
      for (int64_t u = counted[k] + 1; u <= x; ++u) move16(fine[k], columns[u + size - 1].fine[k], columns[u - 1].fine[k]);
    }
    counted[k] = x;
    int b = 0;
    while (below + fine[k][b] <= half) below += fine[k][b++];
    out[x * step] = static_cast<uint8_t>(16 * k + b);
  }
}

void magnitudes(const int16_t* HWY_RESTRICT dx, const int16_t* HWY_RESTRICT dy, bool squares, int32_t* HWY_RESTRICT out, int64_t n) {
  if (squares)
    for (int64_t i = 0; i < n; ++i)  // up to 2^31: as unsigned numbers would be
      out[i] = static_cast<int32_t>(static_cast<uint32_t>(dx[i] * dx[i]) + static_cast<uint32_t>(dy[i] * dy[i]));
  else
    for (int64_t i = 0; i < n; ++i) out[i] = std::abs(int{dx[i]}) + std::abs(int{dy[i]});
}

// Directions are told by the tangents of 22.5 and 67.5 degrees, with 15 bits after the point: tan 67.5 is 2 + tan 22.5.
void crests(const EdgeRow& row, int32_t low, int32_t high, uint8_t* HWY_RESTRICT out, int64_t n) {
  const hn::ScalableTag<int32_t> d;
  const hn::RebindToUnsigned<decltype(d)> words;
  const hn::Rebind<int16_t, decltype(d)> narrow;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  constexpr int32_t kTangent = 13573;  // of 22.5 degrees, times 2^15; that of 67.5 degrees is 2 more
  constexpr int32_t kSteep = 1 << 14;  // from here on, no gradient of 16 bits is steeper
  const auto vector = [&](int64_t i) HWY_ATTR {
    const int32_t *const above = row.above + i, *const here = row.magnitude + i, *const below = row.below + i;
    const auto m = hn::LoadU(d, here), one = hn::Set(d, 1);
    const auto strong = hn::Gt(m, hn::Set(d, low));
    if (hn::AllFalse(d, strong)) return hn::StoreU(hn::Set(bytes, uint8_t{1}), bytes, out + i);
    const auto dx = hn::PromoteTo(d, hn::LoadU(narrow, row.dx + i)), dy = hn::PromoteTo(d, hn::LoadU(narrow, row.dy + i));
    const auto x = hn::Abs(dx), y = hn::ShiftLeft<15>(hn::Abs(dy));
    const auto across = hn::Lt(y, hn::Mul(x, hn::Set(d, kTangent)));
    const auto upright = hn::Gt(y, hn::Mul(hn::Min(x, hn::Set(d, kSteep)), hn::Set(d, kTangent + (1 << 16))));
    const auto falling = hn::Lt(hn::Xor(dx, dy), hn::Zero(d));
    // Both neighbours in the gradient's direction; a crest of several equal pixels is the first one, or none.
    const auto diagonal_before = hn::IfThenElse(falling, hn::LoadU(d, above + 1), hn::LoadU(d, above - 1));
    const auto diagonal_after = hn::IfThenElse(falling, hn::LoadU(d, below - 1), hn::LoadU(d, below + 1));
    const auto before = hn::IfThenElse(across, hn::LoadU(d, here - 1), hn::IfThenElse(upright, hn::LoadU(d, above), diagonal_before));
    const auto after = hn::IfThenElse(across, hn::LoadU(d, here + 1), hn::IfThenElse(upright, hn::LoadU(d, below), diagonal_after));
    const auto may_equal = hn::Or(across, upright);
    const auto crest = hn::And(hn::And(strong, hn::Gt(m, before)), hn::Or(hn::Gt(m, after), hn::And(may_equal, hn::Eq(m, after))));
    const auto kind = hn::IfThenElse(crest, hn::IfThenElseZero(hn::Gt(m, hn::Set(d, high)), hn::Set(d, 2)), one);
    hn::StoreU(hn::TruncateTo(bytes, hn::BitCast(words, kind)), bytes, out + i);
  };
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i + lanes <= n; i += lanes) vector(i);
  if (n % lanes == 0) return;
  if (n > lanes) return vector(n - lanes);
  // Rows of less than a vector, in memory of a vector's size with a pixel more at both ends.
  constexpr size_t kMost = HWY_MAX_BYTES / sizeof(int32_t);
  int16_t dx[kMost] = {}, dy[kMost] = {};
  int32_t rows[3][kMost + 2] = {};
  uint8_t made[kMost];
  std::copy(row.dx, row.dx + n, dx), std::copy(row.dy, row.dy + n, dy);
  std::copy(row.above - 1, row.above + n + 1, rows[0]), std::copy(row.magnitude - 1, row.magnitude + n + 1, rows[1]);
  std::copy(row.below - 1, row.below + n + 1, rows[2]);
  crests({dx, dy, rows[0] + 1, rows[1] + 1, rows[2] + 1}, low, high, made, lanes);
  std::copy(made, made + n, out);
}

void edges(const uint8_t* HWY_RESTRICT map, uint8_t* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = map[i] == 2 ? 255 : 0;
}

void near_row(const uint32_t* HWY_RESTRICT one, const uint32_t* HWY_RESTRICT two, uint32_t side, uint32_t corner, uint32_t knight,
              bool wide, uint32_t* HWY_RESTRICT out, int64_t n) {
  if (!wide) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::min(std::min(out[i], one[i] + side), std::min(one[i - 1], one[i + 1]) + corner);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t far = std::min(std::min(one[i - 2], one[i + 2]), std::min(two[i - 1], two[i + 1])) + knight;
    out[i] = std::min(std::min(std::min(out[i], one[i] + side), std::min(one[i - 1], one[i + 1]) + corner), far);
  }
}

/// In blocks of four, of which only the last step waits for the block before. Numbers are far enough below 2^32.
template <bool kBackwards>
HWY_INLINE void along(uint32_t* row, uint32_t side, int64_t n) {
  const hn::FixedTag<uint32_t, 4> d;
  using V = hn::Vec<decltype(d)>;
  constexpr uint32_t kFar = 0xC0000000u;
  alignas(16) const uint32_t first[4] = {kFar, 0, 0, 0}, two[4] = {kFar, kFar, 0, 0}, back_first[4] = {0, 0, 0, kFar},
                             back_two[4] = {0, 0, kFar, kFar};
  alignas(16) const uint32_t steps[4] = {side, 2 * side, 3 * side, 4 * side}, back_steps[4] = {4 * side, 3 * side, 2 * side, side};
  const V fill_1 = hn::Load(d, kBackwards ? back_first : first), fill_2 = hn::Load(d, kBackwards ? back_two : two);
  const V ramp = hn::Load(d, kBackwards ? back_steps : steps), one = hn::Set(d, side), twice = hn::Set(d, 2 * side);
  V carried = hn::Set(d, kFar);
  const int64_t blocks = n / 4;
  const auto scalar = [&](int64_t begin, int64_t end, uint32_t best) {
    if constexpr (kBackwards) {
      for (int64_t i = end - 1; i >= begin; --i) row[i] = best = std::min(row[i], best + side);
    } else {
      for (int64_t i = begin; i < end; ++i) row[i] = best = std::min(row[i], best + side);
    }
    return best;
  };
  if constexpr (kBackwards) carried = hn::Set(d, scalar(4 * blocks, n, kFar));
  for (int64_t block = 0; block < blocks; ++block) {
    uint32_t* const at = row + 4 * (kBackwards ? blocks - 1 - block : block);
    V v = hn::LoadU(d, at);
    if constexpr (kBackwards) {
      v = hn::Min(v, hn::Add(hn::Or(hn::ShiftRightLanes<1>(d, v), fill_1), one));
      v = hn::Min(v, hn::Add(hn::Or(hn::ShiftRightLanes<2>(d, v), fill_2), twice));
      v = hn::Min(v, hn::Add(carried, ramp));
      carried = hn::Broadcast<0>(v);
    } else {
      v = hn::Min(v, hn::Add(hn::Or(hn::ShiftLeftLanes<1>(d, v), fill_1), one));
      v = hn::Min(v, hn::Add(hn::Or(hn::ShiftLeftLanes<2>(d, v), fill_2), twice));
      v = hn::Min(v, hn::Add(carried, ramp));
      carried = hn::Broadcast<3>(v);
    }
    hn::StoreU(v, d, at);
  }
  if constexpr (!kBackwards) scalar(4 * blocks, n, hn::GetLane(carried));
}
void along_row(uint32_t* row, uint32_t side, bool backwards, int64_t n) {
  if (backwards)
    along<true>(row, side, n);
  else
    along<false>(row, side, n);
}

bool alike(const uint8_t* a, const uint8_t* b, const uint8_t* low, const uint8_t* high, int64_t n) {
  const hn::CappedTag<uint8_t, 32> d;
  auto beyond = hn::Zero(d);
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i);
    const auto above = hn::SaturatedSub(hn::SaturatedSub(x, y), hn::LoadU(d, high + i));
    const auto below = hn::SaturatedSub(hn::SaturatedSub(y, x), hn::LoadU(d, low + i));
    beyond = hn::Or(beyond, hn::Or(above, below));
  }
  return hn::AllTrue(d, hn::Eq(beyond, hn::Zero(d)));
}

void fixed_f32(const uint32_t* HWY_RESTRICT in, float scale, float* HWY_RESTRICT out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale;
}

/// 2^x for x <= 0, to some 3e-6; no less than 2^-125.
template <class D, class V>
HWY_INLINE V power_of_two(D d, V x) {
  const hn::RebindToSigned<D> whole;
  x = hn::Max(x, hn::Set(d, -125.0f));
  // Adding this number leaves the nearest integer in the last bits.
  const V magic = hn::Set(d, 12582912.0f), rounded = hn::Add(x, magic), f = hn::Sub(x, hn::Sub(rounded, magic));
  V p = hn::Set(d, 0.0095828529f);
  p = hn::MulAdd(p, f, hn::Set(d, 0.05590643f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.240240991f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.693124175f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(whole, p), hn::ShiftLeft<23>(hn::BitCast(whole, rounded))));
}

template <int kChannels>
HWY_INLINE void bilateral_of(const BilateralTap* taps, int64_t count, const float* const* center, float color, float* const* out,
                             int64_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V factor = hn::Set(d, color);
  // Rows have 64 elements behind them.
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    V middle[kChannels], sums[kChannels], weights = hn::Zero(d);
    MINNOW_UNROLL
    for (int c = 0; c < kChannels; ++c) middle[c] = hn::LoadU(d, center[c] + i), sums[c] = hn::Zero(d);
    for (int64_t t = 0; t < count; ++t) {
      V values[kChannels];
      MINNOW_UNROLL
      for (int c = 0; c < kChannels; ++c) values[c] = hn::LoadU(d, taps[t].from[c] + i);
      V apart = hn::Sub(values[0], middle[0]);  // one channel's need not be positive: its square is taken
      if constexpr (kChannels == 3)
        apart = hn::Add(hn::Add(hn::Abs(apart), hn::AbsDiff(values[1], middle[1])), hn::AbsDiff(values[2], middle[2]));
      const V weight = power_of_two(d, hn::MulAdd(hn::Mul(apart, apart), factor, hn::Set(d, taps[t].exponent)));
      weights = hn::Add(weights, weight);
      MINNOW_UNROLL
      for (int c = 0; c < kChannels; ++c) sums[c] = hn::MulAdd(values[c], weight, sums[c]);
    }
    MINNOW_UNROLL
    for (int c = 0; c < kChannels; ++c) hn::StoreU(hn::Div(sums[c], weights), d, out[c] + i);
  }
}

void bilateral(const BilateralTap* taps, int64_t count, const float* const* center, int64_t channels, float color, float* const* out,
               int64_t n) {
  if (channels == 1)
    bilateral_of<1>(taps, count, center, color, out, n);
  else
    bilateral_of<3>(taps, count, center, color, out, n);
}

}  // namespace

extern const MiscLoops kMiscLoops;
const MiscLoops kMiscLoops{
    {of_3<uint8_t>, of_5<uint8_t>},
    {of_3<uint16_t>, of_5<uint16_t>},
    {of_3<int16_t>, of_5<int16_t>},
    {of_3<float>, of_5<float>},
    of_columns,
    magnitudes,
    crests,
    edges,
    near_row,
    along_row,
    fixed_f32,
    bilateral,
    alike,
};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::vision {

#define MINNOW_LOOPS kMiscLoops
const MiscLoops& misc_loops() {
  static const MiscLoops& loops = choose_loops<MiscLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}

}  // namespace minnow::vision
#endif
