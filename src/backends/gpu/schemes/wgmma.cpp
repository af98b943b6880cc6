// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/schemes/wgmma.h"

#include <algorithm>

#include "backends/gpu/schemes/elementwise.h"

namespace minnow::gpu {
namespace {

// The design follows CUTLASS's persistent kernels with specialized warps, and the sections on wgmma, mbarrier and cp.async.bulk in NVIDIA's
// PTX ISA. One thread asks the copy engine for stages of 64 elements along the sums. Two warpgroups multiply them from shared memory, each
// of them 64 or 128 rows of the tile. For each stage one barrier counts arriving bytes, and another the warpgroups that are done with it.
// Two blocks make a cluster: their tiles have the same columns, and each block brings half of B to both. Blocks go from tile to tile; a
// thread keeps its sums, rounded, and stores them while the next tile is multiplied.
//
// B lies in tiles in the swizzled order of shared memory, in rows of 128 bytes, and comes by plain copies. A matrix A comes as boxes in the
// same order. Packed images come as boxes of places [images][lines][width] for 8 chunks of channels: 8 neighbouring places of a chunk are a
// core matrix of wgmma, places outside of the image are 0, and a tap of a window shifts the box.
constexpr std::string_view kSource = R"(
INLINE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
INLINE void wait_for(u32 barrier, u32 parity) {
  asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra READY;\nbra AGAIN;\nREADY:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
// Without a scope for its release: with .release.cluster, which waits for the whole device, a step took 0.8 us instead of 0.4.
INLINE void arrive_at(u32 barrier, u32 block) {
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier), "r"(block) : "memory");
}
// An operand in shared memory: steps between core matrices in units of 16 bytes, along the sums and along the rows; 1: swizzled by 128 bytes.
INLINE u64 described(u32 at, u32 along_k, u32 along_rows, u32 swizzle) {
  return (u64)((at & 0x3ffff) >> 4) | (u64)along_k << 16 | (u64)along_rows << 32 | (u64)swizzle << 62;
}
// The quad's lanes q hold words w[j] of rows; afterwards lane q has the words j = q of all four.
INLINE void transpose_quad(u32* w, int q) {
  UNROLL for (int j = 0; j < 4; j += 2) {
    const u32 got = __shfl_xor_sync(0xffffffffu, q & 1 ? w[j] : w[j + 1], 1);
    if (q & 1) w[j] = got; else w[j + 1] = got;
  }
  UNROLL for (int j = 0; j < 2; ++j) {
    const u32 got = __shfl_xor_sync(0xffffffffu, q & 2 ? w[j] : w[j + 2], 2);
    if (q & 2) w[j] = got; else w[j + 2] = got;
  }
}
INLINE u32 pair_of(float low, float high) {
  u32 pair;
  asm("cvt.rn." TYPE_TEXT "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
struct __align__(64) Map { u64 words[16]; };

// A tile of BM x BN sums: MB blocks of 64 rows for each warpgroup.
#define WARPGROUPS 2
#define BM (WARPGROUPS * MB * 64)
#define A_BYTES (BM * 128)
#define B_BYTES (BN * 128)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define NT (BN / 8)
#define KEPT (MB * NT / 2)  // fours of words that a thread keeps for its rows

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1) wgmma_gemm(
    const __grid_constant__ Map map, const char* __restrict__ w, RESULT* y, const float* __restrict__ bias, const RESULT* residual,
    const int M, const int OC, const int pairs_m, const int tiles_n, const int steps, const int OCB, const int OH, const int OW, const int boxes_x,
    const int boxes_y, const int box_w, const int box_h, const int box_n, const int KH, const int KW, const int DH, const int DW, const int PH,
    const int PW) {
  extern __shared__ unsigned char memory[];
  const u32 base = (shared_address(memory) + 1023) & ~1023u, full = base + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
  const int rank = blockIdx.x % CLUSTER, clusters = gridDim.x / CLUSTER, jobs = pairs_m * tiles_n;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + s * 8));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(empty + s * 8), "r"(WARPGROUPS * CLUSTER));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
  int stage = 0;
  u32 parity = 0;
#define NEXT_STAGE() if (++stage == STAGES) stage = 0, parity ^= 1
// Jobs go through BAND rows of tiles together, so that those at work share their operands in the second cache.
#define PLACE_OF_JOB()                                                                                                     \
  const int band = job / (BAND * tiles_n), width = min(BAND, pairs_m - band * BAND), rest = job - band * BAND * tiles_n; \
  const int tile_n = rest / width, tile_m = (band * BAND + rest - tile_n * width) * CLUSTER + rank
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
#if IMAGES
      const u32 stage_bytes = B_BYTES + BM / REGION * box_w * box_h * box_n * 128;
#else
      const u32 stage_bytes = STAGE_BYTES;
#endif
      for (int job = blockIdx.x / CLUSTER; job < jobs; job += clusters) {
        PLACE_OF_JOB();
        const char* from = w + ((long long)tile_n * steps * CLUSTER + rank) * (B_BYTES / CLUSTER);
#if IMAGES
        int x[BM / REGION], y[BM / REGION], image[BM / REGION];
        UNROLL for (int i = 0; i < BM / REGION; ++i) {
          const int box = tile_m * (BM / REGION) + i, line = box / boxes_x;
          image[i] = line / boxes_y * box_n, x[i] = (box - line * boxes_x) * box_w - PW, y[i] = line % boxes_y * box_h - PH;
        }
        int cb = 0, ky = 0, kx = 0;
#endif
        for (int s = 0; s < steps; ++s) {
          wait_for(empty + stage * 8, parity ^ 1);
          const u32 ready = full + stage * 8, to = base + stage * STAGE_BYTES;
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ready), "r"(stage_bytes) : "memory");
#if IMAGES
          UNROLL for (int i = 0; i < BM / REGION; ++i)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to + i * (REGION * 128)),
                         "l"(&map), "r"(ready), "r"((x[i] + kx) * 8), "r"(y[i] + ky), "r"(image[i]), "r"(cb) : "memory");
          kx += DW;
          if (kx == KW * DW) {
            kx = 0, ky += DH;
            if (ky == KH * DH) ky = 0, cb += 8;
          }
#else
          asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map),
                       "r"(ready), "r"(s * 64), "r"(tile_m * BM) : "memory");
#endif
#if CLUSTER > 1
          asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                           to + A_BYTES + rank * (B_BYTES / CLUSTER)), "l"(from), "r"(B_BYTES / CLUSTER), "r"(ready), "h"((u16)((1 << CLUSTER) - 1)) : "memory");
#else
          asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + A_BYTES), "l"(from),
                       "r"(B_BYTES), "r"(ready) : "memory");
#endif
          from += B_BYTES;
          NEXT_STAGE();
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int warpgroup = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, q = lane % 4, warp = threadIdx.x / 32 % 4;
    const bool elected = threadIdx.x % 128 < CLUSTER;
#if IMAGES
    const int box_rows = box_w * box_h * box_n;
#endif
    float c[MB][NT][4];
#if !WIDE
    // Sums of the last tile, rounded: they are stored between the steps of the next one. Results in the plain layout gain from more such steps,
    // for which NVRTC takes longer (16: 5 s on a slow core, 4: 2 s).
    u32 kept[KEPT][4];
    int kept_at[MB][2], kept_n = OC;
    UNROLL for (int i = 0; i < MB; ++i) kept_at[i][0] = kept_at[i][1] = -1;
    auto store = [&](int g) {
      const int i = g / 2 % MB, half = g % 2, n0 = kept_n + g / (2 * MB) * 32, row = kept_at[i][half];
      if (n0 >= OC) return;
#if NCHW
      UNROLL for (int t = 0; t < 4; ++t) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(kept[g][t]));
      const int n = n0 + q * 8 + lane / 4, place = row + n * (OH * OW / 8);
#else
      const int n = n0 + q * 8, place = row + n / 8 * (IMAGES ? OH * OW : 1);
#endif
      transpose_quad(kept[g], q);
      if (row >= 0 && n < OC) ((uint4*)y)[place] = make_uint4(kept[g][0], kept[g][1], kept[g][2], kept[g][3]);
    };
#endif
    for (int job = blockIdx.x / CLUSTER; job < jobs; job += clusters) {
      PLACE_OF_JOB();
      u32 last = 0;
      auto step = [&](bool first) {
        wait_for(full + stage * 8, parity);
        const u32 at = base + stage * STAGE_BYTES;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        UNROLL for (int k = 0; k < 4; ++k) {
          const u64 b = described(at + A_BYTES + k * 32, 1, 64, 1);
          UNROLL for (int i = 0; i < MB; ++i) {
            const int block = warpgroup * MB + i;
#if IMAGES
            const u64 a = described(at + block / (REGION / 64) * (REGION * 128) + block % (REGION / 64) * 1024 + k * 2 * box_rows * 16, box_rows, 8, 0);
#else
            const u64 a = described(at + block * 8192 + k * 32, 1, 64, 1);
#endif
            WGMMA_ASM(c[i], a, b, first && k == 0 ? 0 : 1)
          }
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (!first) {
          asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
          if (elected) arrive_at(last, threadIdx.x % 128);
        }
        last = empty + stage * 8;
        NEXT_STAGE();
      };
#if WIDE
      for (int s = 0; s < steps; ++s) step(s == 0);
#else
      UNROLL for (int s = 0; s < STORE_STEPS; ++s) {
        if (s < steps) step(s == 0);
        UNROLL for (int g = 0; g < KEPT / STORE_STEPS; ++g) store(s * (KEPT / STORE_STEPS) + g);
      }
      for (int s = STORE_STEPS; s < steps; ++s) step(false);
#endif
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (elected) arrive_at(last, threadIdx.x % 128);
      UNROLL for (int i = 0; i < MB; ++i) UNROLL for (int j = 0; j < NT; ++j) UNROLL for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(c[i][j][e])::"memory");
      // Places of the thread's rows, in elements of RESULT or in units of 16 bytes; -1: there is none.
      int at[MB][2];
      UNROLL for (int i = 0; i < MB; ++i) UNROLL for (int half = 0; half < 2; ++half) {
        const int block = warpgroup * MB + i, row = warp * 16 + half * 8 + (NCHW && !WIDE ? 0 : lane / 4);
#if IMAGES
        const int box = tile_m * (BM / REGION) + block / (REGION / 64), in_box = block % (REGION / 64) * 64 + row;
        const int line = box / boxes_x, in_line = in_box / box_w, in_image = in_line / box_h, image = line / boxes_y * box_n + in_image;
        const int ox = (box - line * boxes_x) * box_w + in_box - in_line * box_w, oy = line % boxes_y * box_h + in_line - in_image * box_h;
        const bool valid = in_image < box_n && oy < OH && ox < OW && image * OH * OW < M;
        const int place = image * (NCHW ? OC : OCB) * OH * OW + oy * OW + ox;
        at[i][half] = valid ? NCHW && !WIDE ? place / 8 : place : -1;
#else
        const int m = tile_m * BM + block * 64 + row;
        at[i][half] = m < M ? m * (WIDE ? OC : OC / 8) : -1;
#endif
      }
#if RESIDUAL && WIDE
      // All of it before the first result is stored, which might be the memory of the next load.
      UNROLL for (int j = 0; j < NT; ++j) UNROLL for (int i = 0; i < MB; ++i) UNROLL for (int half = 0; half < 2; ++half) {
        const int n = tile_n * BN + j * 8 + q * 2;
        if (tile_n * BN + j * 8 >= OC || at[i][half] < 0) continue;
        const float2 z = ((const float2*)residual)[(at[i][half] + n) / 2];
        c[i][j][half * 2] += z.x, c[i][j][half * 2 + 1] += z.y;
      }
#endif
      UNROLL for (int j = 0; j < NT; ++j) {
        const int n = tile_n * BN + j * 8 + q * 2;
        const bool inside = tile_n * BN + j * 8 < OC;
        const float2 more = inside ? ((const float2*)bias)[n / 2] : make_float2(0, 0);
        UNROLL for (int i = 0; i < MB; ++i) UNROLL for (int half = 0; half < 2; ++half) {
          const bool valid = inside && at[i][half] >= 0;
          float v0 = c[i][j][half * 2] + more.x, v1 = c[i][j][half * 2 + 1] + more.y;
#if IMAGES
          const int pair = (at[i][half] + n / 8 * (OH * OW)) * 4 + q;
#elif WIDE
          const int pair = (at[i][half] + n) / 2;
#else
          const int pair = at[i][half] * 4 + n / 2;
#endif
#if RESIDUAL && !WIDE
          if (valid) { const u32 z = ((const u32*)residual)[pair]; v0 += TO_F32((u16)z), v1 += TO_F32((u16)(z >> 16)); }
#endif
          v0 = ACT(v0), v1 = ACT(v1);
#if IMAGES
          if (n >= OC) v0 = 0;
          if (n + 1 >= OC) v1 = 0;
#endif
#if WIDE && NCHW
          if (valid && n < OC) y[at[i][half] + n * (OH * OW)] = v0;
          if (valid && n + 1 < OC) y[at[i][half] + (n + 1) * (OH * OW)] = v1;
#elif WIDE
          if (valid) ((float2*)y)[pair] = make_float2(v0, v1);
#else
          kept[j / 4 * 2 * MB + i * 2 + half][j % 4] = pair_of(v0, v1);
          kept_at[i][half] = at[i][half];
#endif
        }
      }
#if !WIDE
      kept_n = tile_n * BN;
#endif
    }
#if !WIDE
    UNROLL for (int g = 0; g < KEPT; ++g) store(g);
#endif
  }
  // A block stays until the other one has sent it all.
  __syncwarp();
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
)";

struct Form {
  int64_t blocks, columns, stages;
  double matrix_step, image_step;  // microseconds for 64 elements along the sums, on an H200 (2026-11-29)
};
constexpr Form kForms[] = {{1, 256, 4, 0.70, 0.76}, {2, 128, 4, 0.74, 0.83}, {1, 128, 6, 0.36, 0.45}, {2, 64, 5, 0.53, 0.68}};
constexpr int64_t kCluster = 2, kBand = 8, kUnits = 8;
// The other kernel's estimate is low by these factors, by the layers of ResNet-50 (batch 1, 8 and 32) and products of 128 to 65,536 rows.
// The factor of matrices was measured with a launch before the other kernel, of kBrought us, which matrices of 16 bits no longer need.
constexpr double kOtherImages = 1.1, kOtherMatrices = 1.6, kBrought = 2.5;

// Where tiles lie: over rows of a matrix, or over boxes of images. `blocks` of 64 rows for each of two warpgroups make a tile's rows.
struct Tiling {
  int64_t blocks = 0, columns = 0, stages = 0;
  // The rest is for images: the rows of a tile that one box fills, all or some of them; an image's sizes (for a 1x1 window maybe others
  // with the same product), and a box's.
  int64_t region = 64, width = 1, height = 1, box_width = 1, box_height = 1, box_images = 1;
  int64_t tiles_m = 0, tiles_n = 0;
  double microseconds = 0;
  int64_t rows() const { return kWarpgroups * 64 * blocks; }
  int64_t boxes_x() const { return up(width, box_width); }
  int64_t boxes_y() const { return up(height, box_height); }
  size_t shared_bytes() const { return static_cast<size_t>(stages * ((rows() + columns) * 128 + 16) + 1024); }
  static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }
  static constexpr int64_t kWarpgroups = 2;
};

bool is_wide(const TensorGemm& gemm) { return gemm.plain_result == "f32"; }

// Whether eight neighbouring rows of a box are eight neighbours of a plain image that one store can write.
bool writes_eight(const TensorGemm& gemm, const Tiling& t) {
  const int64_t places = gemm.output_height * gemm.output_width;
  if (places % 8) return false;
  return t.box_width == t.width ? t.box_width * t.box_height % 8 == 0 : t.box_width % 8 == 0 && t.width % 8 == 0;
}

// The boxes over images of these sizes that need the fewest tiles; among equals the widest.
void choose_boxes(const TensorGemm& gemm, int64_t width, int64_t height, Tiling& best) {
  Tiling t = best;
  t.width = width, t.height = height;
  for (t.region = 64; t.region <= std::min<int64_t>(t.rows(), 256); t.region *= 2)
    for (int64_t parts_x = Tiling::up(width, 32); parts_x <= width; ++parts_x) {
      t.box_width = Tiling::up(width, parts_x);
      if (parts_x > 1 && t.box_width < 4) break;
      if (t.box_width > t.region) continue;
      for (const int64_t wide : {t.box_width, (t.box_width + 7) / 8 * 8}) {
        if (wide > 32) continue;
        t.box_width = wide;
        t.box_height = Tiling::up(height, Tiling::up(height, std::max<int64_t>(1, t.region / wide)));
        t.box_images = t.boxes_x() == 1 && t.boxes_y() == 1 ? std::clamp<int64_t>(t.region / (wide * t.box_height), 1, gemm.images) : 1;
        if (!gemm.plain_result.empty() && !is_wide(gemm) && !writes_eight(gemm, t)) continue;
        const int64_t boxes = t.boxes_x() * t.boxes_y() * Tiling::up(gemm.images, t.box_images);
        t.tiles_m = Tiling::up(boxes * t.region, t.rows());
        if (best.tiles_m == 0 || t.tiles_m < best.tiles_m || (t.tiles_m == best.tiles_m && t.box_width > best.box_width)) best = t;
      }
    }
}

// No tiles: the windows or sizes do not suit.
Tiling choose_tiling(const TensorGemm& gemm, int units) {
  Tiling best;
  for (const Form& form : kForms) {
    Tiling t;
    t.blocks = form.blocks, t.columns = form.columns, t.stages = form.stages;
    if (gemm.a_is_matrix) {
      t.tiles_m = Tiling::up(gemm.rows, t.rows());
    } else {
      choose_boxes(gemm, gemm.output_width, gemm.output_height, t);
      const int64_t places = gemm.output_height * gemm.output_width;
      if (gemm.taps() == 1 && places == gemm.input_height * gemm.input_width)
        for (const int64_t width : {8, 16, 32})
          if (places % width == 0) choose_boxes(gemm, width, places / width, t);
      if (t.tiles_m == 0) continue;
    }
    t.tiles_n = Tiling::up(gemm.columns, t.columns);
    const int64_t pairs = Tiling::up(t.tiles_m, kCluster) * t.tiles_n, steps = gemm.taps() * Tiling::up(gemm.units, kUnits);
    const int64_t waves = Tiling::up(pairs, std::max<int64_t>(1, units / kCluster));
    const double step = gemm.a_is_matrix ? form.matrix_step : form.image_step;
    t.microseconds = 6 + static_cast<double>(waves) * (1.2 + static_cast<double>(steps) * step);
    if (best.tiles_m == 0 || t.microseconds < best.microseconds) best = t;
  }
  return best;
}

// wgmma on the accumulators c[j][e]: all of them are operands of the instruction.
std::string wgmma_definition(int64_t columns) {
  std::string registers, operands;
  const int64_t count = columns / 2;
  for (int64_t i = 0; i < count; ++i) {
    registers += format("{}%{}", i ? ", " : "", i);
    operands += format("{}\"+f\"(c[{}][{}])", i ? ", " : "", i / 4, i % 4);
  }
  return format(
      "#define WGMMA_ASM(c, a, b, add) asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{}, "
      "0;\\nwgmma.mma_async.sync.aligned.m64n{}k16.f32.\" "
      "TYPE_TEXT \".\" TYPE_TEXT \" {{{}}}, %{}, %{}, p, 1, 1, 0, 0;\\n}}\" : {} : \"l\"(a), \"l\"(b), \"r\"(add));\n",
      count + 2, columns, registers, count, count + 1, operands);
}

}  // namespace

int64_t wgmma_columns(const TensorGemm& gemm, const Device& device, std::string& reason) {
  const auto refuse = [&](std::string text) { return reason = std::move(text), 0; };
  if (device.wgmma_units == 0) return refuse("the device has no wgmma, or its driver encodes no boxes");
  if (gemm.type == "tf32") return refuse("the precision is TF32");
  if (gemm.groups > 1) return refuse("there are groups");
  if (gemm.stride_y > 1 || gemm.stride_x > 1) return refuse("windows have steps");
  if (!gemm.plain_result.empty() && !is_wide(gemm) && gemm.plain_result != gemm.type) return refuse("the result has another type");
  if (gemm.a_is_matrix && gemm.columns % 8) return refuse(format("there are {} columns", gemm.columns));
  if (static_cast<double>(gemm.input_width) * kPack > 4e9 || gemm.images > 1 << 30) return refuse("it is too large");
  const Tiling tiling = choose_tiling(gemm, device.wgmma_units);
  if (tiling.tiles_m == 0) return refuse("no boxes fit the image");
  const double tensor = tensor_microseconds(gemm, 90),
               other = gemm.a_is_matrix ? tensor * kOtherMatrices - kBrought : tensor * kOtherImages;
  if (tiling.microseconds > other) return refuse(format("tiles take {} us, and those of tensor_gemm {}", tiling.microseconds, other));
  return tiling.columns;
}

size_t wgmma_bytes(const TensorGemm& gemm, int64_t columns) {
  return static_cast<size_t>(Tiling::up(gemm.columns, columns) * columns * gemm.taps() * Tiling::up(gemm.units, kUnits) * kUnits) * 16;
}

void pack_wgmma(const TensorGemm& gemm, int64_t columns, FunctionRef<float(int64_t, int64_t, int64_t)> element, int64_t channels,
                void* out) {
  PackedWriter to(gemm.type, out);
  for (int64_t n0 = 0; n0 < gemm.columns; n0 += columns)
    for (int64_t first = 0; first < gemm.units; first += kUnits)
      for (int64_t tap = 0; tap < gemm.taps(); ++tap)
        for (int64_t n = n0; n < n0 + columns; ++n)
          for (int64_t place = 0; place < kUnits; ++place) {
            const int64_t channel = (first + (place ^ n % 8)) * kPack;
            for (int64_t k = channel; k < channel + kPack; ++k) to.append(n < gemm.columns && k < channels ? element(tap, k, n) : 0);
          }
}

void add_wgmma(Launches& kernel, PrepareContext& context, const TensorGemm& gemm, Given b) {
  const Device& device = context.device();
  const Tiling t = choose_tiling(gemm, device.wgmma_units);
  const bool image = !gemm.a_is_matrix, wide = is_wide(gemm), plain = !gemm.plain_result.empty();
  const std::string source =
      format("#define TYPE_TEXT \"{}\"\n#define MB {}\n#define BN {}\n#define STAGES {}\n#define CLUSTER {}\n#define BAND {}\n", gemm.type,
             t.blocks, t.columns, t.stages, kCluster, kBand) +
      format(
          "#define IMAGES {}\n#define NCHW {}\n#define STORE_STEPS {}\n#define REGION {}\n#define RESIDUAL {}\n#define WIDE {}\n#define "
          "RESULT {}\n#define ACT(v) ({})\n",
          image ? 1 : 0, image && plain ? 1 : 0, image && plain ? t.blocks * t.columns / 16 : 4, t.region, gemm.residual ? 1 : 0,
          wide ? 1 : 0, wide ? "float" : "u16", expression_of(gemm.activation, "(v)")) +
      wgmma_definition(t.columns) + chunk_definitions(gemm.type) + std::string(kSource);
  Boxes boxes;
  if (image) {
    // The image as it was taken for a window of one place, which sees no borders.
    const bool resized = gemm.taps() == 1 && t.width * t.height == gemm.input_width * gemm.input_height;
    const int64_t width = resized ? t.width : gemm.input_width, height = resized ? t.height : gemm.input_height;
    boxes = {4,
             {width * kPack, height, gemm.images, gemm.units},
             {t.box_width * kPack, t.box_height, t.box_images, kUnits},
             {2, width * 16, gemm.units * width * height * 16, width * height * 16},
             false};
  } else {
    boxes = {2, {gemm.units * kPack, gemm.rows}, {kUnits * kPack, t.rows()}, {2, gemm.units * 16}, true};
  }
  const int64_t pairs = Tiling::up(t.tiles_m, kCluster);
  const int64_t clusters = std::min<int64_t>(pairs * t.tiles_n, std::max(1, device.wgmma_units / static_cast<int>(kCluster)));
  kernel.add(source, "wgmma_gemm", {static_cast<uint32_t>(clusters * kCluster), 1, 1}, {128 * (1 + Tiling::kWarpgroups), 1, 1},
             {kernel.add_boxes(gemm.a, boxes),
              b,
              Given::output(0),
              gemm.bias,
              gemm.residual.value_or(gemm.bias),
              gemm.rows,
              gemm.columns,
              pairs,
              t.tiles_n,
              gemm.taps() * Tiling::up(gemm.units, kUnits),
              (gemm.columns + kPack - 1) / kPack,
              t.height,
              t.width,
              t.boxes_x(),
              t.boxes_y(),
              t.box_width,
              t.box_height,
              t.box_images,
              gemm.taps_y,
              gemm.taps_x,
              gemm.dilation_y,
              gemm.dilation_x,
              gemm.pad_y,
              gemm.pad_x},
             t.shared_bytes());
}

}  // namespace minnow::gpu
