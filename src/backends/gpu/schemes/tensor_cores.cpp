// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/schemes/tensor_cores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/gpu/schemes/elementwise.h"
#include "base/numeric.h"

namespace minnow::gpu {
namespace {

// Tiles of BM x BN sums, by warps of WM x WN; steps of 8 units along the sums, STAGES of them on their way. A unit is 16 bytes: a chunk of
// the packed layout, or half of one of TF32. In shared memory a tile is [unit][row][16 bytes], as operands are in the device's memory: rows
// are neighbours there and here, without conflicts between banks, and the core matrices of wgmma lie as it wants them. wgmma (compute
// capability 9.0) multiplies from there while the next step is prepared, so that one stage fewer is on its way; mma.sync multiplies from
// registers. Where sums are split, the last group of a tile to arrive adds the parts,
// in their order.
constexpr std::string_view kSource = R"(
#define CH 8
#define WARPS_N (BN / WN)
#define THREADS ((BM / WM) * (BN / WN) * 32)
#define MT (WM / 16)
#define NT (WN / 8)
#define AHEAD (STAGES - 1 - WGMMA)
INLINE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
INLINE void copy_16(u32 to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0));
}
// The same, kept in the first cache: the taps of a window read a place again.
INLINE void copy_16_near(u32 to, const void* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0));
}
#if WGMMA
INLINE u64 described(u32 at, int rows) { return (u64)((at & 0x3ffff) >> 4) | (u64)rows << 16 | (u64)8 << 32; }
#else
INLINE void load_matrices(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
#if BYTES
INLINE void multiply(int* c, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." TYPE_TEXT ".s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
INLINE void copy_8(u32 to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from));
}
// Half a unit is a chunk. There may be an odd number of them.
INLINE void copy_unit(u32 to, const uint2* from, int step, bool first, bool second, const uint2* fill) {
  copy_8(to, first ? from : fill);
  copy_8(to + 8, second ? from + step : fill);
}
// Transposes four pairs of bytes in each of four neighbouring lanes: lane l gives pair k to lane k, which has it in place l.
INLINE uint2 transposed(const u32 first, const u32 second) {
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
  const u32 far = __shfl_xor_sync(~0u, upper ? first : second, 2), near = upper ? second : first;
  const u32 even_pairs = __byte_perm(near, far, 0x5410), odd_pairs = __byte_perm(near, far, 0x7632);
  const u32 other = __shfl_xor_sync(~0u, odd ? even_pairs : odd_pairs, 1), mine = odd ? odd_pairs : even_pairs;
  const u32 low = odd ? __byte_perm(other, mine, 0x5410) : __byte_perm(mine, other, 0x5410);
  const u32 high = odd ? __byte_perm(other, mine, 0x7632) : __byte_perm(mine, other, 0x7632);
  return upper ? make_uint2(high, low) : make_uint2(low, high);
}
INLINE FINISHED finished(const int4 end_of, const int sum, const int more) {
  const int ends[4] = {end_of.x, end_of.y, end_of.z, end_of.w}, channel = 0;
  FINISH
  return result;
}
#else
INLINE void multiply(float* c, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k" DEPTH_TEXT ".row.col.f32." TYPE_TEXT "." TYPE_TEXT ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
#endif
#if BYTES
#define UNIT_PAIR uint2
#define NUMBER int
#define NUMBER4 int4
#define MAKE_NUMBER4 make_int4
#else
#define UNIT_PAIR uint4
#define NUMBER float
#define NUMBER4 float4
#define MAKE_NUMBER4 make_float4
#endif
extern "C" __global__ void __launch_bounds__(THREADS) tensor_gemm(
    const UNIT_PAIR* __restrict__ x, const uint4* __restrict__ w, RESULT* y, const float* __restrict__ bias, const RESULT* residual, float* parts,
    int* counters, const int CB, const int XB, const int OC, const int OCB, const int M, const int Q, const int q_each, const int splits,
    const int IH, const int IW, const int OH, const int OW, const int KH, const int KW, const int SH, const int SW, const int DH, const int DW,
    const int PH, const int PW, const uint2* __restrict__ fill) {
  extern __shared__ uint4 tiles[];
  const int item = threadIdx.x, lane = item % 32, warp = item / 32;
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  const int group = blockIdx.z / splits, split = blockIdx.z % splits;
  const int q_begin = split * q_each, q_end = min(q_begin + q_each, Q);
  constexpr int kStepA = THREADS / BM, kStepB = THREADS / BN, kPerA = CH / kStepA, kPerB = CH / kStepB;
  const bool loads_b = THREADS % BN == 0 || item < THREADS / BN * BN;
  static_assert(!TF32 || kStepA % 2 == 0, "steps of whole chunks");
  // Each item copies chunks of one row of A and of B. Rows and columns behind the end repeat the last ones, and are not stored.
#if ROWS
  static_assert(kStepA % 2 == 0, "two neighbouring items bring 32 neighbouring bytes of a row");
  const int a_row = item / 2 % BM, a_chunk = item / (2 * BM) * 2 + item % 2;
#else
  const int a_row = item % BM, a_chunk = item / BM;
#endif
  const int b_row = item % BN, b_chunk = item / BN;
  const int OHW = OH * OW, IHW = IH * IW;
  const int a_m = min(m0 + a_row, M - 1), image = a_m / OHW, place = a_m - image * OHW, oy = place / OW, ox = place - oy * OW;
  const int iy = oy * SH - PH, ix = ox * SW - PW, row_end = KW * DW + ix;
#define UNIT_STEP IHW
#if TF32
#define UNIT_AT(unit, place) (((unit) / 2 * IHW + (place)) * 2 + (unit) % 2)
#elif ROWS
#undef UNIT_STEP
#define UNIT_STEP 1
#define UNIT_AT(unit, place) ((place) * CB + (unit))
#else
#define UNIT_AT(unit, place) ((unit) * IHW + (place))
#endif
#if BYTES
  const uint2* const xa = x + (long long)(image * XB + group * 2 * CB) * IHW;
#define HAS_SECOND(unit) (2 * (unit) + 1 < XB)
#else
  const uint4* const xa = x + (long long)(image * XB + group * CB) * IHW;
#endif
  const uint4* wb = w + (long long)(group * Q + q_begin + b_chunk) * OC + min(n0 + b_row, OC - 1);
#if BLOCKED
  const int first = q_begin / CH, block = first / (KH * KW), tap = first - block * (KH * KW), tap_y = tap / KW;
  int cb = block * CH + a_chunk, ky = tap_y * DH + iy, kx = (tap - tap_y * KW) * DW + ix;
  const int column_end = KH * DH + iy;
#else
  int cb[kPerA], ky[kPerA], kx[kPerA];
  UNROLL for (int t = 0; t < kPerA; ++t) {
    const int q = q_begin + a_chunk + t * kStepA, tap = q / CB, tap_y = tap / KW;
    cb[t] = q - tap * CB, ky[t] = tap_y * DH + iy, kx[t] = (tap - tap_y * KW) * DW + ix;
  }
#endif
  int q_load = q_begin;
  const u32 base = shared_address(tiles), a_to = base + (a_chunk * BM + a_row) * 16, b_to = base + (BM * CH + b_chunk * BN + b_row) * 16;
  constexpr int kStage = (BM + BN) * CH * 16;
#define STAGE_AT(stage) (base + (stage) * kStage)
  auto load_stage = [&](int stage) {
#if BLOCKED
    const bool inside = (unsigned)ky < (unsigned)IH && (unsigned)kx < (unsigned)IW;
#if BYTES
    const uint2* from = xa + (2 * cb * IHW + ky * IW + kx);
    UNROLL for (int t = 0; t < kPerA; ++t)
      copy_unit(a_to + stage * kStage + t * kStepA * BM * 16, from + t * kStepA * 2 * IHW, IHW, inside, inside, fill);
#else
    const uint4* from = xa + (inside ? UNIT_AT(cb, ky * IW + kx) : 0);
    UNROLL for (int t = 0; t < kPerA; ++t) copy_16_near(a_to + stage * kStage + t * kStepA * BM * 16, from + (inside ? t * kStepA * UNIT_STEP : 0), inside);
#endif
    kx += DW;
    if (kx == row_end) {
      kx = ix, ky += DH;
      if (ky == column_end) ky = iy, cb += CH;
    }
    if (loads_b) UNROLL for (int t = 0; t < kPerB; ++t) copy_16(b_to + stage * kStage + t * kStepB * BN * 16, wb + t * kStepB * OC, true);
#else
#if PAIRS
    UNROLL for (int t = 0; t < kPerA; ++t) {
      const int q = q_load + a_chunk + t * kStepA, y0 = 2 * q / KW, x0 = 2 * q - y0 * KW;
      const int y1 = x0 + 1 < KW ? y0 : y0 + 1, x1 = x0 + 1 < KW ? x0 + 1 : 0;
      const int at_y0 = y0 * DH + iy, at_x0 = x0 * DW + ix, at_y1 = y1 * DH + iy, at_x1 = x1 * DW + ix;
      const bool first = q < q_end && (unsigned)at_y0 < (unsigned)IH && (unsigned)at_x0 < (unsigned)IW;
      const bool second = q < q_end && y1 < KH && (unsigned)at_y1 < (unsigned)IH && (unsigned)at_x1 < (unsigned)IW;
      const u32 to = a_to + stage * kStage + t * kStepA * BM * 16;
      copy_8(to, first ? xa + (at_y0 * IW + at_x0) : fill);
      copy_8(to + 8, second ? xa + (at_y1 * IW + at_x1) : fill);
    }
#else
    UNROLL for (int t = 0; t < kPerA; ++t) {
      const bool inside = q_load + a_chunk + t * kStepA < q_end && (unsigned)ky[t] < (unsigned)IH && (unsigned)kx[t] < (unsigned)IW;
#if BYTES
      copy_unit(a_to + stage * kStage + t * kStepA * BM * 16, xa + (2 * cb[t] * IHW + ky[t] * IW + kx[t]), IHW, inside,
                inside && HAS_SECOND(cb[t]), fill);
#else
      copy_16_near(a_to + stage * kStage + t * kStepA * BM * 16, xa + (inside ? UNIT_AT(cb[t], ky[t] * IW + kx[t]) : 0), inside);
#endif
      cb[t] += CH;
      while (cb[t] >= CB) {
        cb[t] -= CB;
        kx[t] += DW;
        if (kx[t] == row_end) kx[t] = ix, ky[t] += DH;
      }
    }
#endif
    if (loads_b) UNROLL for (int t = 0; t < kPerB; ++t) {
      const bool inside = q_load + b_chunk + t * kStepB < q_end;
      copy_16(b_to + stage * kStage + t * kStepB * BN * 16, inside ? wb + t * kStepB * OC : w, inside);
    }
#endif
    q_load += CH;
    wb += CH * OC;
  };
  const int steps = (q_end - q_begin + CH - 1) / CH;
  _Pragma("unroll 1") for (int s = 0; s < AHEAD; ++s) {
    if (s < steps) load_stage(s);
    asm volatile("cp.async.commit_group;");
  }
  NUMBER c[MT][NT][4];
  UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int j = 0; j < NT; ++j) UNROLL for (int e = 0; e < 4; ++e) c[i][j][e] = 0;
  const int wm = warp / WARPS_N * WM, wn = warp % WARPS_N * WN;
#if !WGMMA
  const int matrix = lane / 8, line = lane % 8;
  const u32 a_at = ((matrix / 2) * BM + wm + matrix % 2 * 8 + line) * 16;
  const u32 b_at = (BM * CH + (matrix % 2) * BN + wn + matrix / 2 * 8 + line) * 16;
#endif
  int stage = 0, next = AHEAD;
  _Pragma("unroll 1") for (int s = 0; s < steps; ++s) {
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1));
#if WGMMA
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("wgmma.wait_group.sync.aligned 1;");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;");
    UNROLL for (int k = 0; k < CH / 2; ++k) {
      const u64 a = described(STAGE_AT(stage) + (k * 2 * BM + warp / 4 * 64) * 16, BM), b = described(STAGE_AT(stage) + (BM * CH + k * 2 * BN) * 16, BN);
      WGMMA_ASM(c, a, b)
    }
    asm volatile("wgmma.commit_group.sync.aligned;");
    if (s + AHEAD < steps) load_stage(next);
    asm volatile("cp.async.commit_group;");
#else
    __syncthreads();
    if (s + AHEAD < steps) load_stage(next);
    asm volatile("cp.async.commit_group;");
    UNROLL for (int k = 0; k < CH / 2; ++k) {
      u32 a[MT][4], b[NT / 2][4];
      UNROLL for (int i = 0; i < MT; ++i) load_matrices(a[i], STAGE_AT(stage) + a_at + (k * 2 * BM + i * 16) * 16);
      UNROLL for (int j = 0; j < NT / 2; ++j) load_matrices(b[j], STAGE_AT(stage) + b_at + (k * 2 * BN + j * 16) * 16);
      UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int j = 0; j < NT; ++j) multiply(c[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
#endif
    next = next + 1 == STAGES ? 0 : next + 1;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
#if WGMMA
  asm volatile("wgmma.wait_group.sync.aligned 0;");
#endif
  if (splits > 1) {
    const int tile = (group * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    NUMBER4* const mine = (NUMBER4*)parts + ((long long)tile * splits) * (BM * BN / 4) + item;
    UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int j = 0; j < NT; ++j)
      mine[split * (BM * BN / 4) + (i * NT + j) * THREADS] = MAKE_NUMBER4(c[i][j][0], c[i][j][1], c[i][j][2], c[i][j][3]);
    __shared__ int arrived;
    __threadfence();
    __syncthreads();
    if (item == 0) arrived = atomicAdd(counters + tile, 1);
    __syncthreads();
    if (arrived != splits - 1) return;
    __threadfence();
    if (item == 0) counters[tile] = 0;
    UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int j = 0; j < NT; ++j) UNROLL for (int e = 0; e < 4; ++e) c[i][j][e] = 0;
    _Pragma("unroll 1") for (int s = 0; s < splits; ++s)
      UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int j = 0; j < NT; ++j) {
        const NUMBER4 part = mine[s * (BM * BN / 4) + (i * NT + j) * THREADS];
        c[i][j][0] += part.x, c[i][j][1] += part.y, c[i][j][2] += part.z, c[i][j][3] += part.w;
      }
  }
  // The places of the rows in the result; -1: no row.
  int at[MT][2];
  const int chunk = (group * OC + n0 + wn) / 8;
  UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int half = 0; half < 2; ++half) {
    const int m = m0 + wm + i * 16 + half * 8 + lane / 4, b = m / OHW;
#if PLAIN_IMAGES
    at[i][half] = m < M ? b * (OC - 1) * OHW + m : -1;
#elif PLAIN
    at[i][half] = m < M ? m * OC + n0 + wn + lane % 4 * 2 : -1;
#else
    at[i][half] = m < M ? (b * (OCB - 1) * OHW + m + chunk * OHW) * 4 + lane % 4 : -1;
#endif
  }
#if BYTES && !PLAIN && !PLAIN_IMAGES
  // The pairs of bytes of a chunk are with four lanes. Each lane reads and writes whole chunks: of four columns of tiles of one row, or of
  // two of both rows.
  u32 pairs[MT][2][NT / 2];
  constexpr int kColumns = NT < 4 ? NT : 4;
  const int own_half = NT < 4 ? lane % 4 / 2 : 0, own_column = lane % kColumns;
#define FOR_CHUNKS(i, half, j) UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int half = 0; half < (NT < 4 ? 1 : 2); ++half) UNROLL for (int j = 0; j < NT; j += kColumns)
#define FIRST_PAIRS(i, half, j) pairs[i][NT < 4 ? 0 : half][j / 2]
#define SECOND_PAIRS(i, half, j) pairs[i][NT < 4 ? 1 : half][NT < 4 ? 0 : j / 2 + 1]
#define ROW_AT(i, half) (NT < 4 ? (own_half ? at[i][1] : at[i][0]) : at[i][half])
#if RESIDUAL
  FOR_CHUNKS(i, half, j) {
    const int row = ROW_AT(i, half), column = j + own_column;
    const bool valid = row >= 0 && n0 + wn + column * 8 < OC;
    uint2 z = valid ? ((const uint2*)residual)[(row >> 2) + column * OHW] : make_uint2(0, 0);
    z = transposed(z.x, z.y);
    FIRST_PAIRS(i, half, j) = z.x, SECOND_PAIRS(i, half, j) = z.y;
  }
#endif
  UNROLL for (int j = 0; j < NT; ++j) {
    const int n = n0 + wn + j * 8 + lane % 4 * 2;
    const int4* const ends = (const int4*)bias + group * OC + (n0 + wn + j * 8 < OC ? n : 0);
    const int4 end0 = ends[0], end1 = ends[1];
    UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int half = 0; half < 2; ++half) {
#if RESIDUAL
      const u32 z = pairs[i][half][j / 2] >> j % 2 * 16;
#else
      const u32 z = 0;
#endif
      const int v0 = WHOLE || n < OC ? finished(end0, c[i][j][half * 2], (RESIDUAL_BYTES)z) : 0;
      const int v1 = WHOLE || n + 1 < OC ? finished(end1, c[i][j][half * 2 + 1], (RESIDUAL_BYTES)(z >> 8)) : 0;
      c[i][j][half * 2] = __byte_perm(v0, v1, 0x0040);
    }
  }
  UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int half = 0; half < 2; ++half) UNROLL for (int j = 0; j < NT; j += 2)
    pairs[i][half][j / 2] = __byte_perm(c[i][j][half * 2], c[i][j + 1][half * 2], 0x5410);
  FOR_CHUNKS(i, half, j) {
    const int row = ROW_AT(i, half), column = j + own_column;
    const uint2 made = transposed(FIRST_PAIRS(i, half, j), SECOND_PAIRS(i, half, j));
    if (row >= 0 && n0 + wn + column * 8 < OC) ((uint2*)y)[(row >> 2) + column * OHW] = made;
  }
#else
  UNROLL for (int j = 0; j < NT; ++j) {
    const int n = n0 + wn + j * 8 + lane % 4 * 2;
    if (n0 + wn + j * 8 >= OC) return;
#if BYTES
    const int4* const ends = (const int4*)bias + group * OC + n;
    const int4 end0 = ends[0], end1 = ends[1];
    UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int half = 0; half < 2; ++half) {
      if (at[i][half] < 0) continue;
      const FINISHED v0 = n < OC ? finished(end0, c[i][j][half * 2], 0) : 0, v1 = n + 1 < OC ? finished(end1, c[i][j][half * 2 + 1], 0) : 0;
#if PLAIN_IMAGES
      if (n < OC) STORE(PLAIN_TYPE, y, at[i][half] + n * OHW, v0);
      if (n + 1 < OC) STORE(PLAIN_TYPE, y, at[i][half] + (n + 1) * OHW, v1);
#elif PLAIN
      if (n < OC) STORE(PLAIN_TYPE, y, at[i][half] + j * 8, v0);
      if (n + 1 < OC) STORE(PLAIN_TYPE, y, at[i][half] + j * 8 + 1, v1);
#endif
    }
#else
    const float2 more = ((const float2*)bias)[(chunk + j) * 4 + lane % 4];
    UNROLL for (int i = 0; i < MT; ++i) UNROLL for (int half = 0; half < 2; ++half) {
      const bool valid = at[i][half] >= 0;
      float v0 = c[i][j][half * 2] + more.x, v1 = c[i][j][half * 2 + 1] + more.y;
#if PLAIN
      const int place = at[i][half] + j * 8;
      const bool both = n + 1 < OC;
#if RESIDUAL
      if (valid && n < OC) v0 += LOAD(PLAIN_TYPE, residual, place);
      if (valid && both) v1 += LOAD(PLAIN_TYPE, residual, place + 1);
#endif
#if WORDS
      if (valid && both) ((u32*)y)[place / 2] = (u32)FROM_F32(ACT(v0)) | (u32)FROM_F32(ACT(v1)) << 16;
#else
      if (valid && n < OC) STORE(PLAIN_TYPE, y, place, ACT(v0));
      if (valid && both) STORE(PLAIN_TYPE, y, place + 1, ACT(v1));
#endif
#else
      const int place = at[i][half] + j * OHW * 4;
#if RESIDUAL && TF32
      const float2 z = valid ? ((const float2*)residual)[place] : make_float2(0, 0);
      v0 += z.x, v1 += z.y;
#elif RESIDUAL
      const u32 z = valid ? ((const u32*)residual)[place] : 0;
      v0 += TO_F32((u16)z), v1 += TO_F32((u16)(z >> 16));
#endif
      v0 = n < OC ? ACT(v0) : 0.0f, v1 = n + 1 < OC ? ACT(v1) : 0.0f;
#if TF32
      if (valid) ((float2*)y)[place] = make_float2(to_tf32(v0), to_tf32(v1));
#else
      if (valid) ((u32*)y)[place] = (u32)FROM_F32(v0) | (u32)FROM_F32(v1) << 16;
#endif
#endif
    }
#endif
  }
#endif
}
)";

struct Tile {
  int64_t rows, columns, warp_rows, warp_columns, stages;
  bool wgmma;
  int64_t threads() const { return rows / warp_rows * (columns / warp_columns) * 32; }
  size_t shared_bytes() const { return static_cast<size_t>((rows + columns) * kStepUnits * stages * 16); }
  static constexpr int64_t kStepUnits = 8;
};
constexpr Tile kTiles[] = {{64, 32, 32, 16, 4, false},
                           {128, 64, 32, 32, 3, false},
                           {128, 128, 64, 32, 3, false},
                           {256, 128, 16, 128, 4, true},
                           {192, 256, 16, 256, 4, true}};

constexpr int64_t kGroupsAtOnce = 132;          // multiprocessors of an H200
constexpr int64_t kLeastMostShared = 99 << 10;  // bytes of shared memory that a group may have on every device with tensor cores

struct Choice {
  Tile tile;
  int64_t splits, each;  // units of each split
  double microseconds = 0;
};

// Microseconds by a model of what was measured: a launch, and for each step the traffic from the second cache, which limits it.
Choice choose(const TensorGemm& gemm, int capability, int64_t all_units) {
  constexpr double kBytesPerMicrosecond = 29000, kLeastStep = 0.3;
  Choice best{kTiles[0], 1, 0};
  for (const Tile& tile : kTiles) {
    if (tile.wgmma && (capability != 90 || gemm.of_bytes())) continue;
    const int64_t steps = (all_units + Tile::kStepUnits - 1) / Tile::kStepUnits;
    const int64_t tiles = ((gemm.rows + tile.rows - 1) / tile.rows) * ((gemm.columns + tile.columns - 1) / tile.columns) * gemm.groups;
    for (int64_t splits = 1; splits <= 16 && splits <= steps && (splits == 1 || tiles * splits <= 600); splits *= 2) {
      const double waves = std::ceil(static_cast<double>(tiles * splits) / static_cast<double>(kGroupsAtOnce));
      const int64_t each = (steps + splits - 1) / splits;
      const double step =
          std::max(kLeastStep, waves * static_cast<double>((tile.rows + tile.columns) * Tile::kStepUnits * 16) / kBytesPerMicrosecond);
      const double time = 4 + (splits > 1 ? 2 + 0.15 * static_cast<double>(splits) : 0) + static_cast<double>(each) * step;
      if (best.microseconds == 0 || time < best.microseconds) best = {tile, (steps + each - 1) / each, each * Tile::kStepUnits, time};
    }
  }
  return best;
}

// wgmma on the accumulators c[0][j][e]: all of them are operands of the instruction.
std::string wgmma_definition(int64_t columns, bool tf32) {
  std::string registers, operands;
  const int64_t count = columns / 2;
  for (int64_t i = 0; i < count; ++i) {
    registers += format("{}%{}", i ? ", " : "", i);
    operands += format("{}\"+f\"(c[0][{}][{}])", i ? ", " : "", i / 4, i % 4);
  }
  return format(
      "#define WGMMA_ASM(c, a, b) asm volatile(\"wgmma.mma_async.sync.aligned.m64n{}k\" DEPTH_TEXT \".f32.\" TYPE_TEXT \".\" TYPE_TEXT \" "
      "{{{}}}, %{}, %{}, 1, 1, 1{};\" : {} : \"l\"(a), \"l\"(b));\n",
      columns, registers, count, count + 1, tf32 ? "" : ", 0, 0", operands);
}

}  // namespace

TensorGemm tensor_gemm_of(const ConvGeometry& conv) {
  const Window3 window(conv.window);
  TensorGemm gemm;
  gemm.images = conv.batch;
  gemm.rows = conv.batch * conv.window.output_positions();
  gemm.columns = conv.out_channels_per_group();
  gemm.groups = conv.groups;
  gemm.out_channels = conv.out_channels;
  gemm.input_height = window.input[1], gemm.input_width = window.input[2];
  gemm.output_height = window.output[1], gemm.output_width = window.output[2];
  gemm.taps_y = window.kernel[1], gemm.taps_x = window.kernel[2];
  gemm.stride_y = window.stride[1], gemm.stride_x = window.stride[2];
  gemm.dilation_y = window.dilation[1], gemm.dilation_x = window.dilation[2];
  gemm.pad_y = window.pad[1], gemm.pad_x = window.pad[2];
  return gemm;
}

Floats::Floats(const TensorView& tensor) {
  const size_t count = static_cast<size_t>(tensor.elements());
  if (tensor.dtype() != DType::f32) {
    made_.resize(count);
    const auto to_float = tensor.dtype() == DType::f16 ? f32_from_f16 : f32_from_bf16;
    for (size_t i = 0; i < count; ++i) made_[i] = to_float(tensor.data<uint16_t>()[i]);
  }
  data_ = tensor.dtype() == DType::f32 ? tensor.data<float>() : made_.data();
}

void PackedWriter::append(float x) {
  if (type_ == "tf32") {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    if (std::isfinite(x)) bits += 0x1000;  // to nearest, ties away from 0, as cvt.rna does
    bits &= ~uint32_t{0x1fff};
    std::memcpy(to_, &bits, sizeof bits);
  } else if (packed_size(type_) == 1) {
    *to_ = static_cast<std::byte>(static_cast<int>(x));
  } else {
    const uint16_t bits = type_ == "bf16" ? bf16_from_f32(x) : f16_from_f32(x);
    std::memcpy(to_, &bits, sizeof bits);
  }
  to_ += packed_size(type_);
}

int64_t packed_key(std::string_view type) { return type == "f16" ? 0 : type == "bf16" ? 1 : type == "tf32" ? 2 : 3; }

bool is_blocked(const TensorGemm& gemm) { return gemm.units % Tile::kStepUnits == 0; }

size_t packed_bytes(const TensorGemm& gemm) { return static_cast<size_t>(gemm.groups * gemm.all_units() * gemm.columns) * 16; }

void pack_columns(const TensorGemm& gemm, FunctionRef<float(int64_t, int64_t, int64_t, int64_t)> element, int64_t channels, void* out) {
  PackedWriter to(gemm.type, out);
  for (int64_t unit = 0; gemm.pairs && unit < gemm.all_units(); ++unit)
    for (int64_t column = 0; column < gemm.columns; ++column)
      for (int64_t tap = 2 * unit; tap < 2 * unit + 2; ++tap)
        for (int64_t channel = 0; channel < kPack; ++channel)
          to.append(channel < channels && tap < gemm.taps() ? element(0, tap, channel, column) : 0);
  if (gemm.pairs) return;
  const int64_t block = is_blocked(gemm) ? Tile::kStepUnits : gemm.units, lanes = gemm.unit_lanes();
  for (int64_t group = 0; group < gemm.groups; ++group)
    for (int64_t first = 0; first < gemm.units; first += block)
      for (int64_t tap = 0; tap < gemm.taps(); ++tap)
        for (int64_t unit = first; unit < first + block; ++unit)
          for (int64_t column = 0; column < gemm.columns; ++column)
            for (int64_t channel = unit * lanes; channel < (unit + 1) * lanes; ++channel)
              to.append(channel < channels ? element(group, tap, channel, column) : 0);
}

namespace {

constexpr std::string_view kRows = R"(
KERNEL(to_chunks)(READ(MEM(T), x), WRITE(CHUNK, y), const int M, const int K) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= (K + 7) / 8 * M) return;
  const int m = i % M, k = i / M * 8;
  float lanes[8];
  UNROLL for (int e = 0; e < 8; ++e) lanes[e] = k + e < K ? LOAD(T, x, m * K + k + e) : 0.0f;
  store_chunk(y + i, lanes);
}
)";

// The same where rows are whole units of 16 bits. A group brings 32 rows of 8 units through shared memory, so that neighbouring
// items read neighbouring units and write neighbouring rows.
constexpr std::string_view kUnits = R"(
KERNEL(to_chunks)(READ(uint4, x), WRITE(uint4, y), const int M, const int units) {
  __shared__ uint4 tile[8][33];
  const int m = GROUP(0) * 32, unit = GROUP(1) * 8, item = ITEM(0);
  if (m + item / 8 < M && unit + item % 8 < units) tile[item % 8][item / 8] = x[(m + item / 8) * units + unit + item % 8];
  BARRIER();
  if (m + item % 32 < M && unit + item / 32 < units) y[(unit + item / 32) * M + m + item % 32] = tile[item / 32][item % 32];
}
)";

}  // namespace

Given add_rows_in_chunks(Launches& kernel, PrepareContext& context, size_t input, std::string_view type, int64_t rows, int64_t depth) {
  const int64_t count = rows * ((depth + kPack - 1) / kPack);
  const Given chunks = Given::scratch(context.reserve_scratch(static_cast<size_t>(count * kPack) * packed_size(type)));
  const std::string_view dtype = dialect_name(context.node().input_dtype(input));
  if (dtype == type && packed_size(type) == 2 && depth % kPack == 0)
    kernel.add(std::string(kUnits), "to_chunks",
               {static_cast<uint32_t>((rows + 31) / 32), static_cast<uint32_t>((depth / kPack + 7) / 8), 1}, {256, 1, 1},
               {Given::input(input), chunks, rows, depth / kPack});
  else
    kernel.add_1d(format("#define T {}\n{}{}", dtype, chunk_definitions(type), kRows), "to_chunks", count,
                  {Given::input(input), chunks, rows, depth});
  return chunks;
}

void add_tensor_gemm(Launches& kernel, PrepareContext& context, const TensorGemm& gemm, Given b) {
  const int64_t all_units = gemm.all_units();
  const Choice choice = choose(gemm, queue_of(context).tensor_cores(), all_units);
  Tile tile = choice.tile;
  const int64_t tiles_m = (gemm.rows + tile.rows - 1) / tile.rows, tiles_n = (gemm.columns + tile.columns - 1) / tile.columns;
  if (!tile.wgmma) {
    // Few steps need few stages; then more groups share a multiprocessor. A group that has one to itself waits for memory as seldom as its
    // shared memory allows.
    const int64_t steps = (choice.each + Tile::kStepUnits - 1) / Tile::kStepUnits;
    const bool is_alone = tiles_m * tiles_n * gemm.groups * choice.splits <= kGroupsAtOnce;
    const int64_t most =
        is_alone ? kLeastMostShared / static_cast<int64_t>(tile.shared_bytes() / static_cast<size_t>(tile.stages)) : tile.stages;
    tile.stages = std::clamp<int64_t>(steps + 1, 2, most);
  }
  const bool plain = !gemm.plain_result.empty();
  const std::string source =
      format(
          "#define TYPE_TEXT \"{}\"\n#define DEPTH_TEXT \"{}\"\n#define BM {}\n#define BN {}\n#define WM {}\n#define WN {}\n#define STAGES "
          "{}\n#define "
          "WGMMA {}\n",
          gemm.type == "i8" ? "s8" : gemm.type, 2 * gemm.unit_lanes(), tile.rows, tile.columns, tile.warp_rows, tile.warp_columns,
          tile.stages, tile.wgmma ? 1 : 0) +
      format(
          "#define BLOCKED {}\n#define RESIDUAL {}\n#define PLAIN {}\n#define WORDS {}\n#define PLAIN_TYPE {}\n#define RESULT {}\n#define "
          "ACT(v) ({})\n#define PAIRS {}\n#define PLAIN_IMAGES {}\n#define BYTES {}\n#define FINISH {}\n#define FINISHED {}\n#define "
          "RESIDUAL_BYTES {}\n#define WHOLE {}\n#define ROWS {}\n",
          is_blocked(gemm) ? 1 : 0, gemm.residual ? 1 : 0, plain ? 1 : 0, gemm.plain_result == gemm.type && gemm.columns % 2 == 0 ? 1 : 0,
          plain ? gemm.plain_result : gemm.type,
          plain ? format("MEM({})", gemm.plain_result) : std::string(gemm.type == "tf32" ? "float" : "u16"),
          expression_of(gemm.activation, "(v)"), gemm.pairs ? 1 : 0, gemm.plain_images ? 1 : 0, gemm.of_bytes() ? 1 : 0, gemm.finish,
          gemm.plain_result == "f32" ? "float" : "int", gemm.residual_bytes, gemm.columns % kPack == 0 ? 1 : 0, gemm.a_is_matrix ? 1 : 0) +
      (tile.wgmma ? wgmma_definition(tile.columns, gemm.type == "tf32") : std::string()) + chunk_definitions(gemm.type) +
      std::string(kSource);
  Given parts = gemm.bias, counters = gemm.bias;  // not read
  if (choice.splits > 1) {
    const size_t tiles = static_cast<size_t>(tiles_m * tiles_n * gemm.groups);
    parts = Given::scratch(context.reserve_scratch(tiles * static_cast<size_t>(choice.splits * tile.rows * tile.columns) * sizeof(float)));
    const std::vector<int32_t> zeros(tiles, 0);
    counters = kernel.constant(kernel.add_table(zeros.data(), tiles * sizeof(int32_t)));
  }
  kernel.add(source, "tensor_gemm",
             {static_cast<uint32_t>(tiles_n), static_cast<uint32_t>(tiles_m), static_cast<uint32_t>(gemm.groups * choice.splits)},
             {static_cast<uint32_t>(tile.threads()), 1, 1},
             {gemm.a,
              b,
              Given::output(0),
              gemm.bias,
              gemm.residual.value_or(gemm.bias),
              parts,
              counters,
              gemm.units,
              gemm.of_bytes() ? gemm.in_chunks : gemm.units * gemm.groups,
              gemm.columns,
              (gemm.out_channels + kPack - 1) / kPack,
              gemm.rows,
              all_units,
              choice.each,
              choice.splits,
              gemm.input_height,
              gemm.input_width,
              gemm.output_height,
              gemm.output_width,
              gemm.taps_y,
              gemm.taps_x,
              gemm.stride_y,
              gemm.stride_x,
              gemm.dilation_y,
              gemm.dilation_x,
              gemm.pad_y,
              gemm.pad_x,
              gemm.fill.value_or(gemm.bias)},
             tile.shared_bytes());
}

double tensor_microseconds(const TensorGemm& gemm, int capability) { return choose(gemm, capability, gemm.all_units()).microseconds; }

double tensor_seconds(double multiply_adds, const Device& device) { return 3e-6 + device.flop_time(2 * multiply_adds, 4); }

}  // namespace minnow::gpu
