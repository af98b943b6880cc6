// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/f16.h"

#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#include "base/os.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/f16.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_NEON && MINNOW_ARM_EXTENSIONS
HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#define MINNOW_LOW_PRECISION __attribute__((target("arch=armv8.2-a+crypto+fp16")))
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kLanes = HWY_LANES(float);
constexpr bool kTilesRound = false;
#include "backends/cpu/kernels/tile_ends.inc"

// x is divided by 16 when it is rounded: weights are mostly below 1 and x above, so that both use the middle of the format's range.
constexpr float kScale = 16;
// Vectors of pairs, 8 channels each, whose products are summed in f16. Each addition rounds: the error grows with the root of their number.
constexpr size_t kVectorsOfSum = 8;
constexpr int kRows = 14;

constexpr size_t kPixel = kLanes;

// The lower vector first.
MINNOW_LOW_PRECISION HWY_INLINE void store_pairs(V low, V high, float* to, size_t) {
  const float16x4_t lower = vcvt_f16_f32(vmulq_n_f32(low.raw, 1 / kScale));
  vst1q_f32(to, vreinterpretq_f32_f16(vcvt_high_f16_f32(lower, vmulq_n_f32(high.raw, 1 / kScale))));
}
// A vector of floats, rounded, in the lower halves of its lanes.
MINNOW_LOW_PRECISION HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded(const float* from) {
  return hn::Vec<hn::RebindToUnsigned<D>>(vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(vmulq_n_f32(vld1q_f32(from), 1 / kScale)))));
}
#include "backends/cpu/kernels/low_precision_packing.inc"

// The weights of a pair of channels, each channel's in a vector; with one vector of outputs, each vector holds them twice.
template <int N>
MINNOW_LOW_PRECISION HWY_INLINE void load_weights(const float* w, float16x8_t (&b)[2]) {
  const float16x8_t first = vreinterpretq_f16_f32(vld1q_f32(w)), second = N == 2 ? vreinterpretq_f16_f32(vld1q_f32(w + kLanes)) : first;
  b[0] = vuzp1q_f16(first, second);
  b[1] = vuzp2q_f16(first, second);
}

template <int kLane>
MINNOW_LOW_PRECISION HWY_INLINE float16x8_t add_lane(float16x8_t sum, float16x8_t b, float16x8_t a) {
#if HWY_COMPILER_CLANG
  return vfmaq_laneq_f16(sum, b, a, kLane);
#else  // gcc 12 makes a broadcast and a multiplication of that: 84 instructions more beside 96
  asm("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(b), "x"(a), "i"(kLane));
  return sum;
#endif
}
template <int R, int N, int kPair, int kSets>
MINNOW_LOW_PRECISION HWY_INLINE void add_pair(const float16x8_t* a, int first, const float16x8_t (&b)[4][2], float16x8_t (&sum)[kSets][R]) {
  MINNOW_UNROLL for (int r = first; r < (first + 4 < R ? first + 4 : R); ++r) sum[kPair % kSets][r] =
      add_lane<2 * kPair>(sum[kPair % kSets][r], b[kPair][0], a[r - first]);
  MINNOW_UNROLL for (int r = first; r < (first + 4 < R ? first + 4 : R); ++r) sum[kPair % kSets][r] =
      add_lane<2 * kPair + 1>(sum[kPair % kSets][r], b[kPair][1], a[r - first]);
}
// Two vectors of outputs: each pair's first channels, then its second ones.
MINNOW_LOW_PRECISION void arrange(float* panel, size_t pairs, size_t vectors) {
  if (vectors != 2) return;
  for (size_t pair = 0; pair < pairs; ++pair, panel += 2 * kLanes) {
    float16x8_t b[2];
    load_weights<2>(panel, b);
    vst1q_f32(panel, vreinterpretq_f32_f16(b[0]));
    vst1q_f32(panel + kLanes, vreinterpretq_f32_f16(b[1]));
  }
}
// The same as arrange leaves them.
template <int N>
MINNOW_LOW_PRECISION HWY_INLINE void load_arranged(const float* w, float16x8_t (&b)[2]) {
  if constexpr (N == 1) return load_weights<N>(w, b);
  b[0] = vreinterpretq_f16_f32(vld1q_f32(w));
  b[1] = vreinterpretq_f16_f32(vld1q_f32(w + kLanes));
}

// Eight channels. Rows in fours, so that a sum is not waited for at once.
template <int R, int N, int kSets>
MINNOW_LOW_PRECISION HWY_INLINE void eight_steps(const float* x0, const float* x1, const float* w, float16x8_t (&sum)[kSets][R]) {
  constexpr int kHalf = (R + 1) / 2;
  float16x8_t b[4][2];
  MINNOW_UNROLL for (int p = 0; p < 4; ++p) load_arranged<N>(w + p * N * kLanes, b[p]);
  MINNOW_UNROLL for (int first = 0; first < R; first += 4) {
    float16x8_t a[4];
    MINNOW_UNROLL for (int i = 0; i < 4; ++i) {
      const int r = first + i < R ? first + i : R - 1;
      a[i] = vreinterpretq_f16_f32(vld1q_f32(r < kHalf ? x0 + r * kLanes : x1 + (r - kHalf) * kLanes));
    }
    MINNOW_UNROLL for (int i = 0; i < 4; ++i) asm("" : "+x"(a[i]));  // where multiplications by a lane want it
    add_pair<R, N, 0>(a, first, b, sum);
    add_pair<R, N, 1>(a, first, b, sum);
    add_pair<R, N, 2>(a, first, b, sum);
    add_pair<R, N, 3>(a, first, b, sum);
  }
}
// One pair of channels.
template <int R, int N, int kPixel, int kSets>
MINNOW_LOW_PRECISION HWY_INLINE void two_steps(const float* x0, const float* x1, const float* w, float16x8_t (&sum)[kSets][R]) {
  constexpr int kHalf = (R + 1) / 2;
  float16x8_t b[2];
  load_weights<N>(w, b);
  MINNOW_UNROLL for (int r = 0; r < R; ++r) {
    const float16x8_t a = vreinterpretq_f16_f32(vld1q_dup_f32(r < kHalf ? x0 + r * kPixel : x1 + (r - kHalf) * kPixel));
    sum[0][r] = add_lane<1>(add_lane<0>(sum[0][r], b[0], a), b[1], a);
  }
}

template <int R, int kSets>
MINNOW_LOW_PRECISION HWY_INLINE void clear(float16x8_t (&sum)[kSets][R]) {
  MINNOW_UNROLL for (int s = 0; s < kSets; ++s) MINNOW_UNROLL for (int r = 0; r < R; ++r) sum[s][r] = vreinterpretq_f16_u16(vdupq_n_u16(0));
}
// The sums in f32 [row][vector]. They stay in memory, because the sums in f16 need the registers; gcc 12 would move both back and forth.
template <int R, int N>
struct Totals {
  float lanes[R * N * kLanes];
  float* at = lanes;

  MINNOW_LOW_PRECISION HWY_INLINE explicit Totals(const Tile& t) {
    asm("" : "+r"(at));
    V sum[R][N];
    begin<R, N>(t, sum);
    MINNOW_UNROLL for (int r = 0; r < R; ++r) MINNOW_UNROLL for (int n = 0; n < N; ++n)
        hn::StoreU(sum[r][n], D(), at + (r * N + n) * kLanes);
  }
  // total += sum; sum = 0
  template <int kSets>
  MINNOW_LOW_PRECISION HWY_INLINE void flush(float16x8_t (&sum)[kSets][R]) {
    MINNOW_UNROLL for (int s = 0; s < kSets; ++s) MINNOW_UNROLL for (int r = 0; r < R; ++r) {
      float* to = at + r * N * kLanes;
      vst1q_f32(to, vfmaq_n_f32(vld1q_f32(to), vcvt_f32_f16(vget_low_f16(sum[s][r])), kScale));
      if constexpr (N == 2) vst1q_f32(to + kLanes, vfmaq_n_f32(vld1q_f32(to + kLanes), vcvt_high_f32_f16(sum[s][r]), kScale));
    }
    clear(sum);
  }
  MINNOW_LOW_PRECISION HWY_INLINE void store(const Tile& t) const {
    V sum[R][N];
    MINNOW_UNROLL for (int r = 0; r < R; ++r) MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[r][n] =
        hn::LoadU(D(), at + (r * N + n) * kLanes);
    // Zero times infinity or NaN is NaN. Check here, because an activation may hide it.
    float32x4_t odd[4] = {};
    MINNOW_UNROLL for (int r = 0; r < R; ++r) MINNOW_UNROLL for (int n = 0; n < N; ++n) odd[(r * N + n) % 4] =
        vfmaq_n_f32(odd[(r * N + n) % 4], sum[r][n].raw, 0);
    const float32x4_t all = vaddq_f32(vaddq_f32(odd[0], odd[1]), vaddq_f32(odd[2], odd[3]));
    if (t.overflowed && vminvq_u32(vceqq_f32(all, all)) == 0) t.overflowed->store(true, std::memory_order_relaxed);
    end<R, N>(t, sum);
  }
};

template <int R, int N>
MINNOW_LOW_PRECISION HWY_NOINLINE void packed_tile(const Tile& t) {
  constexpr int kSets = R == 1 ? 4 : 1;  // a single row: several sums keep the multipliers busy
  Totals<R, N> total(t);
  float16x8_t sum[kSets][R];
  clear(sum);
  const float* w = t.w;
  const char* prefetch = t.prefetch;
  size_t room = kVectorsOfSum;
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const float* x0 = t.x[0] + t.taps[tap];
    const float* x1 = t.x[1] + t.taps[tap];
    for (size_t blocks = t.blocks; blocks;) {
      const size_t some = blocks < room ? blocks : room;
      for (size_t b = some; b; --b, x0 += t.block_stride, x1 += t.block_stride, w += kLanes * N * kLanes) {
        eight_steps<R, N>(x0, x1, w, sum);
        if (R > 1 && prefetch) {
          MINNOW_UNROLL for (int u = 0; u < N; ++u) __builtin_prefetch(prefetch + u * 64, 0, 2);
          prefetch += N * 64;
        }
      }
      blocks -= some, room -= some;
      if (room) continue;
      total.flush(sum);
      room = kVectorsOfSum;
    }
    if (!t.rest) continue;
    for (size_t k = 0; k < t.rest; ++k, w += N * kLanes) two_steps<R, N, kLanes>(x0 + k, x1 + k, w, sum);
    if (--room) continue;
    total.flush(sum);
    room = kVectorsOfSum;
  }
  total.flush(sum);
  total.store(t);
}

template <int R, int N>
MINNOW_LOW_PRECISION HWY_NOINLINE void plain_tile(const Tile& t) {
  Totals<R, N> total(t);
  float16x8_t sum[1][R];
  clear(sum);
  const float* w = t.w;
  for (size_t tap = 0; tap < t.tap_count;) {
    const size_t end = tap + 4 * kVectorsOfSum < t.tap_count ? tap + 4 * kVectorsOfSum : t.tap_count;
    for (; tap < end; ++tap, w += N * kLanes) two_steps<R, N, 1>(t.x[0] + t.taps[tap], t.x[1] + t.taps[tap], w, sum);
    total.flush(sum);
  }
  total.store(t);
}

struct Table {
  TileFunction packed[3][kMostTileRows + 1] = {}, plain[3][kMostTileRows + 1] = {};
};
template <int R>
constexpr void add(Table& table) {
  table.packed[1][R] = packed_tile<R, 1>;
  table.packed[2][R] = packed_tile<R, 2>;
  table.plain[1][R] = plain_tile<R, 1>;
  table.plain[2][R] = plain_tile<R, 2>;
  if constexpr (R > 1) add<R - 1>(table);
}
constexpr Table make_table() {
  Table table;
  add<kRows>(table);
  return table;
}
constexpr Table kTable = make_table();
constexpr F16Form make_form() {
  F16Form form{};
  form.direct.tile.rows[1] = form.direct.tile.rows[2] = kRows;
  form.direct.tile.packed = kTable.packed;
  form.direct.tile.plain = kTable.plain;
  form.direct.pack_pixels = pack_pixels;
  form.direct.pack_planes = pack_planes;
  form.direct.pack_rows = pack_rows;
  form.direct.format = LowPrecisionFormat::f16;
  form.direct.divisor = kScale;
  form.direct.arrange = arrange;
  return form;
}
}  // namespace

extern const F16Form kF16Form;
const F16Form kF16Form = make_form();
#undef MINNOW_LOW_PRECISION
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#elif MINNOW_KERNEL_TARGET
namespace minnow::cpu::HWY_NAMESPACE {
extern const F16Form kF16Form;
const F16Form kF16Form{};
}  // namespace minnow::cpu::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace minnow::cpu {

bool has_f16_products() { return os::arm_features().f16; }

}  // namespace minnow::cpu
#endif
