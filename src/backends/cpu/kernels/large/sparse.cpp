// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/sparse.h"

#include <cmath>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/large/sparse.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/clamp.inc"

// The sums, the pixels of an input and one weight have to stay in registers.
#if HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
constexpr size_t kVectors1 = 8, kVectors4 = 6;
#elif HWY_TARGET == HWY_AVX2
constexpr size_t kVectors1 = 8, kVectors4 = 3;
#else
constexpr size_t kVectors1 = 8, kVectors4 = 2;
#endif

// As in tile.cpp: from the intrinsic, gcc 12 makes forms that leave sums in other registers.
HWY_INLINE void add_product(V a, V b, V& sum) {
#if HWY_TARGET == HWY_AVX2 && HWY_COMPILER_GCC_ACTUAL
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
#else
  sum = hn::MulAdd(a, b, sum);
#endif
}

template <size_t R, size_t P>
HWY_NOINLINE void tile(const SparseTile& t) {
  const D d;
  const uint32_t* offset = t.offsets;
  const float* w = t.w;
  float* y = t.y;
  for (size_t block = 0; block < t.blocks; ++block, y += R * t.row_step) {
    V sum[R][P];
    MINNOW_UNROLL for (size_t r = 0; r < R; ++r) MINNOW_UNROLL for (size_t p = 0; p < P; ++p) sum[r][p] = hn::Zero(d);
    for (uint32_t n = t.counts[block]; n; --n, ++offset, w += R) {
      const float* x = t.x + *offset;
      V pixels[P];
      MINNOW_UNROLL for (size_t p = 0; p < P; ++p) pixels[p] = hn::LoadU(d, x + p * kLanes);
      MINNOW_UNROLL for (size_t r = 0; r < R; ++r) {
        const V weight = hn::Set(d, w[r]);
        MINNOW_UNROLL for (size_t p = 0; p < P; ++p) add_product(weight, pixels[p], sum[r][p]);
      }
    }
    MINNOW_UNROLL for (size_t r = 0; r < R; ++r) MINNOW_UNROLL for (size_t p = 0; p < P; ++p)
        hn::StoreU(sum[r][p], d, y + r * t.row_step + p * kLanes);
  }
}

// One pixel: lanes are the outputs of a block. Two sums, or four, hide the latency of additions.
void row_of_fours(const SparseTile& t) {
  const hn::FixedTag<float, 4> d;
  const uint32_t* offset = t.offsets;
  const float* w = t.w;
  for (size_t block = 0; block < t.blocks; ++block) {
    auto even = hn::Zero(d), odd = hn::Zero(d);
    uint32_t n = t.counts[block];
    for (; n >= 2; n -= 2, offset += 2, w += 8) {
      even = hn::MulAdd(hn::Set(d, t.x[offset[0]]), hn::LoadU(d, w), even);
      odd = hn::MulAdd(hn::Set(d, t.x[offset[1]]), hn::LoadU(d, w + 4), odd);
    }
    if (n) even = hn::MulAdd(hn::Set(d, t.x[*offset++]), hn::LoadU(d, w), even), w += 4;
    hn::StoreU(hn::Add(even, odd), d, t.y + 4 * block);
  }
}
void row_of_ones(const SparseTile& t) {
  const uint32_t* offset = t.offsets;
  const float* w = t.w;
  for (size_t block = 0; block < t.blocks; ++block) {
    float sum[4] = {};
    uint32_t n = t.counts[block];
    for (; n >= 4; n -= 4, offset += 4, w += 4) MINNOW_UNROLL for (size_t i = 0; i < 4; ++i) sum[i] += w[i] * t.x[offset[i]];
    for (; n; --n) sum[0] += *w++ * t.x[*offset++];
    t.y[block] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

using Four = hn::FixedTag<float, 4>;
using Wide = hn::Repartition<std::conditional_t<HWY_HAVE_FLOAT64, double, uint64_t>, D>;

// Four neighbours of each row of a vector's worth of rows: those of row 4 i + j are block i of vector j.
template <size_t kRows>
HWY_INLINE auto load_blocks(const float* from, size_t step) {
  if constexpr (kRows == 4) {
    return hn::LoadU(Four(), from);
  } else {
    constexpr size_t kHalf = kRows / 2;
    return hn::Combine(hn::FixedTag<float, kRows>(), load_blocks<kHalf>(from + kHalf * step, step), load_blocks<kHalf>(from, step));
  }
}
template <class DV, class VV>
HWY_INLINE void store_blocks(DV d, VV v, float* to, size_t step) {
  if constexpr (hn::MaxLanes(d) == 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<DV> half;
    store_blocks(half, hn::LowerHalf(half, v), to, step);
    store_blocks(half, hn::UpperHalf(half, v), to + hn::MaxLanes(half) * step, step);
  }
}

// Turns the squares of 4 x 4 within the blocks of 128 bits.
HWY_INLINE void turn_squares(const V (&x)[4], V (&y)[4]) {
  const D d;
  const Wide wide;
  const auto low0 = hn::BitCast(wide, hn::InterleaveLower(d, x[0], x[1])), high0 = hn::BitCast(wide, hn::InterleaveUpper(d, x[0], x[1]));
  const auto low1 = hn::BitCast(wide, hn::InterleaveLower(d, x[2], x[3])), high1 = hn::BitCast(wide, hn::InterleaveUpper(d, x[2], x[3]));
  y[0] = hn::BitCast(d, hn::InterleaveLower(wide, low0, low1));
  y[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low0, low1));
  y[2] = hn::BitCast(d, hn::InterleaveLower(wide, high0, high1));
  y[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high0, high1));
}

void turn(const float* from, size_t from_step, size_t pixels, float* to, size_t to_step) {
  const D d;
  size_t p = 0;
  for (; p + 4 <= pixels; p += 4) {
    V x[4], y[4];
    MINNOW_UNROLL for (size_t i = 0; i < 4; ++i) x[i] = hn::LoadU(d, from + (p + i) * from_step);
    turn_squares(x, y);
    MINNOW_UNROLL for (size_t i = 0; i < 4; ++i) store_blocks(d, y[i], to + i * to_step + p, to_step);
  }
  for (; p < pixels; ++p)
    for (size_t lane = 0; lane < kLanes; ++lane) to[lane * to_step + p] = from[p * from_step + lane];
}

void finish(const SparseResult& s) {
  const D d;
  if (s.lanes == kLanes) {
    const V low = hn::Set(d, s.low), high = hn::Set(d, s.high), bias = s.bias ? hn::LoadU(d, s.bias) : hn::Zero(d);
    const V scale = s.scale ? hn::LoadU(d, s.scale) : hn::Zero(d);
    for (size_t p = 0; p < s.pixels; p += 4) {
      V x[4], y[4];
      MINNOW_UNROLL for (size_t i = 0; i < 4; ++i) x[i] = load_blocks<kLanes>(s.sums + i * s.row_step + p, s.row_step);
      turn_squares(x, y);
      const auto put = [&](size_t i) HWY_ATTR {
        const size_t at = (p + i) * s.to_step;
        V value = hn::Add(y[i], bias);
        if (s.add) value = hn::Add(value, hn::LoadU(d, s.add + at));
        if (s.scale) value = hn::Round(hn::Mul(value, scale));
        hn::StoreU(at_most(high, at_least(low, value)), d, s.to + at);
      };
      if (p + 4 <= s.pixels)
        MINNOW_UNROLL for (size_t i = 0; i < 4; ++i) put(i);
      else
        for (size_t i = 0; p + i < s.pixels; ++i) put(i);
    }
    return;
  }
  for (size_t lane = 0; lane < s.lanes; ++lane)
    for (size_t p = 0; p < s.pixels; ++p) {
      float value = s.sums[lane * s.row_step + p];
      if (s.bias) value += s.bias[lane];
      if (s.add) value += s.add[p * s.to_step + lane];
      if (s.scale) value = std::nearbyint(value * s.scale[lane]);
      value = value < s.low ? s.low : value;
      s.to[p * s.to_step + lane] = value > s.high ? s.high : value;
    }
}

struct Table {
  SparseFunction of[2][kMostSparseVectors + 1] = {};
};
template <size_t P>
constexpr void add(Table& table) {
  if constexpr (P <= kVectors1) table.of[0][P] = tile<1, P>;
  if constexpr (P <= kVectors4) table.of[1][P] = tile<4, P>;
  if constexpr (P > 1) add<P - 1>(table);
}
constexpr Table make_table() {
  Table table;
  add<kMostSparseVectors>(table);
  return table;
}
constexpr Table kTable = make_table();
}  // namespace

extern const SparseKernels kSparseKernels;
const SparseKernels kSparseKernels{{kVectors1, kVectors4}, kTable.of, {row_of_ones, row_of_fours}, turn, finish};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
