// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/bf16.h"

#include <bit>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/targets.h"
#include "base/numeric.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/bf16.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
#if HWY_TARGET == HWY_AVX3
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kLanes = HWY_LANES(float);
#include "backends/cpu/kernels/tile_ends.inc"

// AVX512-BF16, which Highway 1.0.3 has no operation for. 540 Gop/s on a core that reaches 266 in f32 (Zen 5), 14 x 2 as in f32.
#define MINNOW_BF16 __attribute__((target(HWY_TARGET_STR ",avx512bf16")))
constexpr int kRows = 14;
using Pairs = __m512bh;

MINNOW_BF16 HWY_INLINE V add_products(V sum, Pairs a, Pairs b) { return V{_mm512_dpbf16_ps(sum.raw, a, b)}; }
MINNOW_BF16 HWY_INLINE Pairs load_pairs(const float* from) { return reinterpret_cast<Pairs>(_mm512_loadu_si512(from)); }
MINNOW_BF16 HWY_INLINE Pairs broadcast_pair(const float* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof pair);
  return reinterpret_cast<Pairs>(_mm512_set1_epi32(pair));
}
// The lower vector first.
MINNOW_BF16 HWY_INLINE void store_pairs(V low, V high, float* to) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.raw, low.raw)));
}

// One pair of input channels; as in tile.cpp.
template <int R, int N, int kPixel>
MINNOW_BF16 HWY_INLINE void step(const float* x0, const float* x1, const float* w, V (&sum)[R][N]) {
  constexpr int kHalf = (R + 1) / 2;
  Pairs b[N];
  MINNOW_UNROLL for (int n = 0; n < N; ++n) b[n] = load_pairs(w + n * kLanes);
  MINNOW_UNROLL for (int r = 0; r < R; ++r) {
    const Pairs a = broadcast_pair(r < kHalf ? x0 + r * kPixel : x1 + (r - kHalf) * kPixel);
    MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[r][n] = add_products(sum[r][n], a, b[n]);
  }
}

template <int R, int N>
MINNOW_BF16 HWY_NOINLINE void pairs_tile(const Tile& t) {
  constexpr int kSets = R == 1 ? 4 : 1;  // a single row: several sums keep the multipliers busy
  V sum[kSets][R][N];
  begin<R, N>(t, sum[0]);
  MINNOW_UNROLL for (int s = 1; s < kSets; ++s) MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[s][0][n] = hn::Zero(D());
  const float* w = t.w;
  const char* prefetch = t.prefetch;
  constexpr size_t kLines = N * kLanes * sizeof(float) / 64;  // of the weights of one pair of channels
  for (size_t tap = 0; tap < t.tap_count; ++tap) {
    const float* x0 = t.x[0] + t.taps[tap];
    const float* x1 = t.x[1] + t.taps[tap];
    for (size_t b = 0; b < t.blocks; ++b, x0 += t.block_stride, x1 += t.block_stride)
      for (int k = 0; k < kLanes; k += 4, w += 4 * N * kLanes) {
        MINNOW_UNROLL for (int u = 0; u < 4; ++u) step<R, N, kLanes>(x0 + k + u, x1 + k + u, w + u * N * kLanes, sum[u % kSets]);
        if (R > 1 && prefetch) {
          MINNOW_UNROLL for (int u = 0; u < 4; ++u) {
            __builtin_prefetch(prefetch + u * 64, 0, 2);
            if constexpr (kLines > 1) __builtin_prefetch(prefetch + t.prefetch_also + u * 64, 0, 2);
          }
          prefetch += 4 * 64;
        }
      }
    for (size_t k = 0; k < t.rest; ++k, w += N * kLanes) step<R, N, kLanes>(x0 + k, x1 + k, w, sum[0]);
  }
  if constexpr (kSets == 4)
    MINNOW_UNROLL for (int n = 0; n < N; ++n) sum[0][0][n] =
        hn::Add(hn::Add(sum[0][0][n], sum[1][0][n]), hn::Add(sum[2][0][n], sum[3][0][n]));
  end<R, N>(t, sum[0]);
}

template <int R, int N>
MINNOW_BF16 HWY_NOINLINE void plain_pairs_tile(const Tile& t) {
  V sum[R][N];
  begin<R, N>(t, sum);
  const float* w = t.w;
  for (size_t tap = 0; tap < t.tap_count; ++tap, w += N * kLanes) step<R, N, 1>(t.x[0] + t.taps[tap], t.x[1] + t.taps[tap], w, sum);
  end<R, N>(t, sum);
}

MINNOW_BF16 void pairs(const float* low, const float* high, size_t pixels, size_t channels, float* to) {
  const D d;
  const auto low_mask = hn::FirstN(d, channels);
  const auto high_mask = hn::FirstN(d, channels > size_t{kLanes} ? channels - kLanes : 0);
  for (size_t i = 0; i < pixels * kLanes; i += kLanes)
    store_pairs(hn::IfThenElseZero(low_mask, hn::LoadU(d, low + i)),
                high ? hn::IfThenElseZero(high_mask, hn::LoadU(d, high + i)) : hn::Zero(d), to + i);
}

MINNOW_BF16 void planes(const float* low, const float* high, size_t count, float* to) {
  // The rounded halves of each channel are 16 bits next to each other; widened, the second ones go above the first.
  const auto bits = [](const float* from)
                        MINNOW_BF16 { return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(from)))); };
  const auto merged = [&](const float* first, const float* second) MINNOW_BF16 {
    const __m512i lower = bits(first);
    return second ? _mm512_or_si512(lower, _mm512_slli_epi32(bits(second), 16)) : lower;
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) _mm512_storeu_si512(to + i, merged(low + i, high ? high + i : nullptr));
  if (i == count) return;
  float rest[2][kLanes] = {};
  const size_t bytes = (count - i) * sizeof(float);
  std::memcpy(rest[0], low + i, bytes);
  if (high) std::memcpy(rest[1], high + i, bytes);
  alignas(64) float result[kLanes];
  _mm512_storeu_si512(result, merged(rest[0], rest[1]));
  std::memcpy(to + i, result, bytes);
}

MINNOW_BF16 void row_pairs(const float* from, size_t stride, size_t rows, size_t count, float* to) {
  const D d;
  if (count == 2 * kLanes) {
    for (size_t r = 0; r < rows; ++r, from += stride, to += kLanes) store_pairs(hn::LoadU(d, from), hn::LoadU(d, from + kLanes), to);
    return;
  }
  for (size_t r = 0; r < rows; ++r, from += stride, to += kLanes) {
    float rest[2 * kLanes] = {};
    std::memcpy(rest, from, count * sizeof(float));
    store_pairs(hn::LoadU(d, rest), hn::LoadU(d, rest + kLanes), to);
  }
}

struct Table {
  TileFunction packed[3][kMostTileRows + 1] = {}, plain[3][kMostTileRows + 1] = {};
};
template <int R>
constexpr void add(Table& table) {
  table.packed[1][R] = pairs_tile<R, 1>;
  table.packed[2][R] = pairs_tile<R, 2>;
  table.plain[1][R] = plain_pairs_tile<R, 1>;
  table.plain[2][R] = plain_pairs_tile<R, 2>;
  if constexpr (R > 1) add<R - 1>(table);
}
constexpr Table make_table() {
  Table table;
  add<kRows>(table);
  return table;
}
constexpr Table kTable = make_table();
}  // namespace

extern const Bf16Kernels kBf16Kernels;
const Bf16Kernels kBf16Kernels{{{0, kRows, kRows}, kTable.packed, nullptr, nullptr, nullptr, kTable.plain}, pairs, planes, row_pairs};
#else
extern const Bf16Kernels kBf16Kernels;
const Bf16Kernels kBf16Kernels{};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace minnow::cpu {

std::vector<float> bf16_pairs(const float* w, size_t outer, size_t channels, size_t inner, float factor) {
  const size_t halves = (channels + 1) / 2;
  std::vector<float> pairs(outer * halves * inner);
  for (size_t o = 0; o < outer; ++o)
    for (size_t h = 0; h < halves; ++h)
      for (size_t i = 0; i < inner; ++i) {
        const float* from = w + (o * channels + 2 * h) * inner + i;
        const uint32_t low = bf16_from_f32(factor * from[0]), high = 2 * h + 1 < channels ? bf16_from_f32(factor * from[inner]) : 0;
        pairs[(o * halves + h) * inner + i] = std::bit_cast<float>(low | high << 16);
      }
  return pairs;
}

bool has_bf16_products() {
#if HWY_ARCH_X86
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

// Intel's cores have the instruction on one of the two ports that multiply f32: as many products, of half the bytes.
double bf16_speed() {
#if HWY_ARCH_X86
  return __builtin_cpu_is("amd") ? 2 : 1;
#else
  return 1;
#endif
}

}  // namespace minnow::cpu
#endif
