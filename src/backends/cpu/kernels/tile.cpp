// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/tile.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/tile.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kLanes = HWY_LANES(float);

// Accumulators, the vectors of weights and one broadcast have to stay in registers. 14 x 2 (AVX-512) and 6 x 2 (AVX2) were within 1 % of
// the best of all shapes on every layer measured.
#if HWY_TARGET == HWY_NEON  // beside the sums, the weights of four channels lie in registers (four_steps)
constexpr int kRows1 = HWY_ARCH_ARM_A64 ? 14 : 6, kRows2 = HWY_ARCH_ARM_A64 ? 11 : 4;
#else
constexpr int kRows1 = HWY_TARGET == HWY_AVX3 ? 14 : 12, kRows2 = HWY_TARGET == HWY_AVX3 ? 14 : 6;
#endif

constexpr bool kTilesRound = !kSmall;
#include "backends/cpu/kernels/tile_ends.inc"

template <int R, int N>
HWY_INLINE void add_sums(const TileSums& s, V (&sum)[R][N]) {
  const D d;
  for (const TileSums::Level& level : s.levels) MINNOW_UNROLL for (int n = 0; n < N; ++n) {
      if (level.also) MINNOW_UNROLL for (int r = 0; r < R; ++r) {
          float* also = level.also + n * level.stride + r * kLanes;
          hn::StoreU(hn::Add(sum[r][n], hn::LoadU(d, also)), d, also);
        }
      if (level.add)
        MINNOW_UNROLL for (int r = 0; r < R; ++r) sum[r][n] = hn::Add(sum[r][n], hn::LoadU(d, level.add + n * level.stride + r * kLanes));
    }
  if (s.bias) MINNOW_UNROLL for (int n = 0; n < N; ++n) {
      const V bias = hn::LoadU(d, s.bias + n * kLanes);
      MINNOW_UNROLL for (int r = 0; r < R; ++r) sum[r][n] = hn::Add(sum[r][n], bias);
    }
}

HWY_INLINE V broadcast(const float* from) {
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_V7
  return V(vld1q_dup_f32(from));  // of Set, gcc makes a load into another kind of register and a move
#else
  return hn::Set(D(), *from);
#endif
}

// sum += a * b. From the intrinsic, gcc 12 makes forms that leave the sum in the register of a factor; with 16 registers some sums of a
// tile then wait in memory (Zen 4, 2026-11-22, 128x384 by 384x1536: 1.44 ms, so 1.39 ms).
HWY_INLINE void add_product(V a, V b, V& sum) {
#if HWY_TARGET == HWY_AVX2 && HWY_COMPILER_GCC_ACTUAL
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
#else
  sum = hn::MulAdd(a, b, sum);
#endif
}

// One input channel. x0 and x1 are at that channel of the first pixel of each run.
template <int R, int N, int kPixel>
HWY_INLINE void step(const float* x0, const float* x1, const float* w, V (&sum)[R][N]) {
  const D d;
  constexpr int kHalf = (R + 1) / 2;
  V b[N];
  MINNOW_UNROLL for (int n = 0; n < N; ++n) b[n] = hn::LoadU(d, w + n * kLanes);
  MINNOW_UNROLL for (int r = 0; r < R; ++r) {
    const V a = broadcast(r < kHalf ? x0 + r * kPixel : x1 + (r - kHalf) * kPixel);
    MINNOW_UNROLL for (int n = 0; n < N; ++n) add_product(a, b[n], sum[r][n]);
  }
}

// Four input channels.
#if HWY_TARGET == HWY_NEON
// Multiplied by lanes of a vector of x: four broadcasts, which take turns with the multiplications on many cores, are one load then
// (scripts/instruction_counts.py).
template <int N, int kLane>
HWY_INLINE void add_lane(V a, const V (&b)[4][N], V (&sum)[N]) {
  MINNOW_UNROLL for (int n = 0; n < N; ++n)
#if HWY_ARCH_ARM_A64 && HWY_COMPILER_GCC_ACTUAL  // of the intrinsic, gcc 12 moves sums about in tiles of some numbers of rows
      asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum[n].raw) : "w"(b[kLane][n].raw), "w"(a.raw), "i"(kLane));
#elif HWY_ARCH_ARM_A64
      sum[n] = V(vfmaq_laneq_f32(sum[n].raw, b[kLane][n].raw, a.raw, kLane));
#else  // has no fused multiplication by a lane
      sum[n] = V(vmlaq_lane_f32(sum[n].raw, b[kLane][n].raw, kLane < 2 ? vget_low_f32(a.raw) : vget_high_f32(a.raw), kLane % 2));
#endif
}
template <int R, int N>
HWY_INLINE void four_steps(const float* x0, const float* x1, const float* w, V (&sum)[R][N]) {
  const D d;
  constexpr int kHalf = (R + 1) / 2;
  V b[4][N];
  MINNOW_UNROLL for (int u = 0; u < 4; ++u) MINNOW_UNROLL for (int n = 0; n < N; ++n) b[u][n] = hn::LoadU(d, w + (u * N + n) * kLanes);
  const auto row = [&](int r) { return hn::LoadU(d, r < kHalf ? x0 + r * kLanes : x1 + (r - kHalf) * kLanes); };
  // Rows in pairs, to hide the latency of sums: neighbours of a run, which are one load, and finally the remaining rows of both runs.
  constexpr int kFirst = kHalf / 2, kSecond = (R - kHalf) / 2;
  MINNOW_UNROLL for (int i = 0; i < (R + 1) / 2; ++i) {
    const int r = i < kFirst ? 2 * i : i < kFirst + kSecond ? kHalf + 2 * (i - kFirst) : kHalf % 2 ? kHalf - 1 : R - 1;
    const int other = i < kFirst + kSecond ? r + 1 : kHalf % 2 && (R - kHalf) % 2 ? R - 1 : r;
    const V a0 = row(r), a1 = row(other);
    add_lane<N, 0>(a0, b, sum[r]);
    if (other != r) add_lane<N, 0>(a1, b, sum[other]);
    add_lane<N, 1>(a0, b, sum[r]);
    if (other != r) add_lane<N, 1>(a1, b, sum[other]);
    add_lane<N, 2>(a0, b, sum[r]);
    if (other != r) add_lane<N, 2>(a1, b, sum[other]);
    add_lane<N, 3>(a0, b, sum[r]);
    if (other != r) add_lane<N, 3>(a1, b, sum[other]);
  }
}
#else
template <int R, int N>
HWY_INLINE void four_steps(const float* x0, const float* x1, const float* w, V (&sum)[R][N]) {
  MINNOW_UNROLL for (int u = 0; u < 4; ++u) step<R, N, kLanes>(x0 + u, x1 + u, w + u * N * kLanes, sum);
}
#endif

// Read in place of factors that a sum does not have.
alignas(64) constexpr float kNoWeights[4 * 2 * 16] = {};

// Weights of four input channels, as sums; `at`: their offset in the panel.
template <int N>
HWY_INLINE void make_weights(const TileWeights& m, size_t at) {
  static_assert(4 * N * kLanes <= std::size(kNoWeights));
  const D d;
  const float *from = m.from + at, *less = m.less + at;
  const float *plus = m.plus ? m.plus + at : kNoWeights, *less_too = m.less_too ? m.less_too + at : kNoWeights;
  float* to = m.to + at;
  MINNOW_UNROLL for (int i = 0; i < 4 * N * kLanes; i += kLanes) {
    const V w = hn::Sub(hn::LoadU(d, from + i), hn::LoadU(d, less + i));
    hn::StoreU(hn::Sub(hn::Add(w, hn::LoadU(d, plus + i)), hn::LoadU(d, less_too + i)), d, to + i);
  }
}

// Prefetch the next weights while these are used: networks read them from memory, and this gains 15 %. Each tile prefetches one vector's
// weights, because two took as long as a tile of 6 rows computes: 966 -> 913 us (1024 channels to 1024, 7x7, AVX2, Zen 4). A single row has
// too few sums to keep the multipliers busy, so its channels are distributed over four sets of sums.
template <int R, int N, bool kSums, int kSets = R == 1 ? 4 : 1>
HWY_NOINLINE void packed_tile(const Tile& t) {
  V sum[kSets][R][N];
  begin<R, N>(t, sum[0]);
  MINNOW_UNROLL for (int s = 1; s < kSets; ++s) MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[s][0][n] = hn::Zero(D());
  const float* w = t.w;
  const char* prefetch = t.prefetch;
  const TileWeights make = kSums ? t.make : TileWeights{};                // in registers, because stores might alias the tile itself
  constexpr int kAsked = static_cast<int>(asked_bytes(kLanes)) * 4 / 64;  // lines for four channels
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const float* x0 = t.x[0] + t.taps[tap];
    const float* x1 = t.x[1] + t.taps[tap];
    for (size_t b = t.blocks; b; --b, x0 += t.block_stride, x1 += t.block_stride)
      for (int k = 0; k < kLanes; k += 4, w += 4 * N * kLanes) {
        if constexpr (kSums)
          if (make.from) make_weights<N>(make, static_cast<size_t>(w - make.to));
        if constexpr (kSets == 1)
          four_steps<R, N>(x0 + k, x1 + k, w, sum[0]);
        else
          MINNOW_UNROLL for (int u = 0; u < 4; ++u) step<R, N, kLanes>(x0 + k + u, x1 + k + u, w + u * N * kLanes, sum[u]);
        if (R > 1 && prefetch) {
          MINNOW_UNROLL for (int u = 0; u < kAsked; ++u) {
            __builtin_prefetch(prefetch + u * 64, 0, 2);
            if constexpr (N > 1) __builtin_prefetch(prefetch + t.prefetch_also + u * 64, 0, 2);
          }
          prefetch += kAsked * 64;
        }
      }
    for (size_t k = 0; k < t.rest; ++k, w += N * kLanes) {
      step<R, N, kLanes>(x0 + k, x1 + k, w, sum[0]);
      if (R > 1 && prefetch) {
        __builtin_prefetch(prefetch, 0, 2);
        if constexpr (N > 1) __builtin_prefetch(prefetch + t.prefetch_also, 0, 2);
        prefetch += asked_bytes(kLanes);
      }
    }
  }
  if constexpr (kSets == 4)
    MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[0][0][n] =
        hn::Add(hn::Add(sum[0][0][n], sum[1][0][n]), hn::Add(sum[2][0][n], sum[3][0][n]));
  if constexpr (kSums) add_sums<R, N>(t.sums, sum[0]);
  end<R, N>(t, sum[0]);
}

// A tile with sums in steps, for fewer rows than balanced parts of an image have: the factors, the tile into a buffer (sums may read what
// the tile overwrites), and the sums row by row.
[[maybe_unused]] void sum_in_steps(const Tile& tile, int rows, TileFunction packed) {
  const D d;
  const size_t weights = tile.make.from ? tile.blocks * kLanes * 2 * kLanes : 0;
  for (size_t at = 0; at < weights; at += 4 * 2 * kLanes) make_weights<2>(tile.make, at);
  const int half = (rows + 1) / 2;
  alignas(64) float products[kRows2 * 2 * kLanes];
  Tile t = tile;
  for (int r = 0; tile.accumulate && r < rows; ++r) {
    const float* y = tile.y[r < half ? 0 : 1] + (r < half ? r : r - half) * tile.pixel_stride;
    for (int n = 0; n < 2; ++n) hn::Store(hn::LoadU(d, y + n * tile.vector_stride), d, products + (2 * r + n) * kLanes);
  }
  t.finish = false, t.scale = nullptr;
  t.y[0] = products, t.y[1] = products + half * 2 * kLanes;
  t.pixel_stride = 2 * kLanes, t.vector_stride = kLanes;
  packed(t);
  t = tile;
  for (int r = 0; r < rows; ++r) {
    const int run = r < half ? 0 : 1;
    const ptrdiff_t at = (r - run * half) * tile.pixel_stride;
    t.y[0] = tile.y[run] + at;
    if (tile.add[0]) t.add[0] = tile.add[run] + at;
    V sum[1][2] = {{hn::Load(d, products + 2 * r * kLanes), hn::Load(d, products + (2 * r + 1) * kLanes)}};
    add_sums<1, 2>(t.sums, sum);
    end<1, 2>(t, sum);
    for (TileSums::Level& level : t.sums.levels) {
      if (level.also) level.also += kLanes;
      if (level.add) level.add += kLanes;
    }
  }
}
template <int R>
void summed_in_steps(const Tile& t) {
  sum_in_steps(t, R, packed_tile<R, 2, false>);
}

void strassen_sums(const float* const (&a)[4], float* const (&s)[4], size_t vectors) {
  const D d;
  for (size_t i = 0; i < vectors * kLanes; i += kLanes) {
    const V a11 = hn::LoadU(d, a[0] + i), a21 = hn::LoadU(d, a[2] + i), s1 = hn::Add(a21, hn::LoadU(d, a[3] + i)), s2 = hn::Sub(s1, a11);
    hn::StoreU(s1, d, s[0] + i);
    hn::StoreU(s2, d, s[1] + i);
    hn::StoreU(hn::Sub(a11, a21), d, s[2] + i);
    hn::StoreU(hn::Sub(hn::LoadU(d, a[1] + i), s2), d, s[3] + i);
  }
}

// Some rows at a time, so that whole runs of neighbouring cache lines are written.
template <int R, bool kBottom>
HWY_INLINE void strassen_rows_at(const StrassenRows& s, size_t first) {
  const D d;
  const size_t right = s.vectors * kLanes;
  for (size_t v = 0; v < s.vectors; ++v) MINNOW_UNROLL for (int r = 0; r < R; ++r) {
      const float* top = s.top + (first + r) * s.stride + v * kLanes;
      const float* bottom = s.bottom + (first + r) * s.stride + v * kLanes;
      float* to = s.to + v * s.vector_step + (first + r) * kLanes;
      const V a11 = hn::LoadU(d, top), a12 = hn::LoadU(d, top + right);
      const V a21 = kBottom ? hn::LoadU(d, bottom) : hn::Zero(d), a22 = kBottom ? hn::LoadU(d, bottom + right) : hn::Zero(d);
      const V s1 = hn::Add(a21, a22), s2 = hn::Sub(s1, a11);
      const V parts[8] = {a11, a12, a21, a22, s1, s2, hn::Sub(a11, a21), hn::Sub(a12, s2)};
      MINNOW_UNROLL for (int part = 0; part < 8; ++part) hn::StoreU(parts[part], d, to + part * s.part_step);
    }
}

void strassen_rows(const StrassenRows& s) {
  constexpr int kTogether = 4;
  size_t r = 0;
  for (; r + kTogether <= s.bottom_rows; r += kTogether) strassen_rows_at<kTogether, true>(s, r);
  for (; r < s.bottom_rows; ++r) strassen_rows_at<1, true>(s, r);
  for (; r < s.rows; ++r) strassen_rows_at<1, false>(s, r);
}

void strassen_factors(const StrassenFactors& f) {
  const D d;
  const V factor = hn::Set(d, f.factor);
  for (size_t r = 0; r < f.rows; ++r)
    for (size_t v = 0; v < 2; ++v) {
      const size_t at = r * f.from_row + v * kLanes;
      const auto quarter = [&](int q) HWY_ATTR { return hn::Mul(factor, hn::LoadU(d, f.from[q] + at)); };
      const V b11 = quarter(0), b12 = quarter(1), b21 = quarter(2), b22 = quarter(3), t1 = hn::Sub(b12, b11), t2 = hn::Sub(b22, t1);
      const V parts[7] = {b11, b21, t2, hn::Sub(b22, b12), t1, b22, hn::Sub(b21, t2)};
      MINNOW_UNROLL for (int p = 0; p < 7; ++p) hn::StoreU(parts[p], d, f.to + p * f.part_step + (2 * r + v) * kLanes);
    }
}

template <int R, int N>
HWY_NOINLINE void plain_tile(const Tile& t) {
  V sum[R][N];
  begin<R, N>(t, sum);
  const float* w = t.w;
  for (size_t tap = 0; tap < t.tap_count; ++tap, w += N * kLanes) step<R, N, 1>(t.x[0] + t.taps[tap], t.x[1] + t.taps[tap], w, sum);
  end<R, N>(t, sum);
}

// In a small build, only these numbers of rows have code of their own; other tiles are put together of them.
constexpr bool is_compiled(int rows, int most) { return !kSmall || rows == most || rows == 4 || rows == 2 || rows == 1; }

struct Parts {
  TileFunction of_rows[5];  // 1, 2 and 4
  ptrdiff_t pixel;          // floats from one pixel of x to the next
};
[[maybe_unused]] void in_parts(const Tile& tile, int rows, const Parts& parts) {
  const int first = (rows + 1) / 2, runs[] = {first, rows - first};
  Tile t = tile;
  for (int run = 0; run < 2; ++run)
    for (int row = 0, count; row < runs[run]; row += count) {
      count = 4;
      while (count > runs[run] - row) count /= 2;
      for (int half = 0; half < 2; ++half) {  // a part's second run follows its first
        const ptrdiff_t at = row + half * ((count + 1) / 2);
        t.x[half] = tile.x[run] + at * parts.pixel;
        t.y[half] = tile.y[run] + at * tile.pixel_stride;
        if (tile.add[run]) t.add[half] = tile.add[run] + at * tile.pixel_stride;
      }
      parts.of_rows[count](t);
      t.prefetch = nullptr;  // once
    }
}
template <int R, int N>
void packed_parts(const Tile& t) {
  static constexpr Parts kParts{{nullptr, packed_tile<1, N, false, 1>, packed_tile<2, N, false>, nullptr, packed_tile<4, N, false>},
                                kLanes};
  in_parts(t, R, kParts);
}
template <int R, int N>
void plain_parts(const Tile& t) {
  static constexpr Parts kParts{{nullptr, plain_tile<1, N>, plain_tile<2, N>, nullptr, plain_tile<4, N>}, 1};
  in_parts(t, R, kParts);
}
template <int R, int N>
constexpr TileFunction packed_of() {
  if constexpr (is_compiled(R, N == 1 ? kRows1 : kRows2))
    return packed_tile<R, N, false>;
  else
    return packed_parts<R, N>;
}
template <int R, int N>
constexpr TileFunction plain_of() {
  if constexpr (is_compiled(R, N == 1 ? kRows1 : kRows2))
    return plain_tile<R, N>;
  else
    return plain_parts<R, N>;
}

struct Table {
  TileFunction packed[3][kMostTileRows + 1] = {}, plain[3][kMostTileRows + 1] = {};
  TileFunction summed[kMostTileRows + 1] = {};
};
template <int N, int R>
constexpr void add(Table& table) {
  table.packed[N][R] = packed_of<R, N>();
  if constexpr (!kSmall && N == 2 && R >= kRows2 / 2) table.summed[R] = packed_tile<R, N, true>;
  if constexpr (!kSmall && N == 2 && R < kRows2 / 2) table.summed[R] = summed_in_steps<R>;
  table.plain[N][R] = plain_of<R, N>();
  if constexpr (R > 1) add<N, R - 1>(table);
}
constexpr Table make_table() {
  Table table;
  add<1, kRows1>(table);
  add<2, kRows2>(table);
  return table;
}
constexpr Table kTable = make_table();
}  // namespace

extern const TileKernels kTileKernels;
const TileKernels kTileKernels{{0, kRows1, kRows2},
                               kTable.packed,
                               kSmall ? nullptr : kTable.summed,
                               unless_small(strassen_sums),
                               unless_small(strassen_rows),
                               unless_small(strassen_factors),
                               kTable.plain};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
