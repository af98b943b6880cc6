// SPDX-License-Identifier: Apache-2.0
// Attention in one pass over the keys (attention.cpp) on tensor cores: a warp treats 16 queries, with scores and results in registers. The
// design follows FlashAttention-2 (Dao 2023, arXiv:2307.08691), fragments are those of mma.m16n8k16 in NVIDIA's PTX ISA.
#include "backends/gpu/schemes/attention.h"
#include "backends/gpu/schemes/packed.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kKeys = 64, kMostWidth = 128, kMultiprocessors = 132;

std::string_view type_of(const NodeView& node, const Device& device) {
  const std::string_view type = packed_name(node, device);
  return type == "f16" || type == "bf16" ? type : std::string_view();
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.pack != kPack) return unavailable("the device has no tensor cores");
  if (std::string reason = refusal_of_attention(node); !reason.empty()) return declined("{}", reason);
  if (type_of(node, device).empty()) return declined("the precision does not allow 16 bits");
  const AttentionGeometry a = AttentionGeometry::of(node);
  if (a.head > kMostWidth || a.v_head > kMostWidth) return declined("heads are wider than {}", kMostWidth);
  return attention_estimate(node, device, a, 1);
}

constexpr std::string_view kFragments = R"(
INLINE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// Four matrices of 8 x 8; lane l names row l % 8 of matrix l / 8.
INLINE void load_matrices(u32* to, const u16* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(shared_address(from)) : "memory");
}
INLINE void load_transposed(u32* to, const u16* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(shared_address(from)) : "memory");
}
INLINE void multiply(float* c, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE_TEXT "." TYPE_TEXT ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
INLINE u32 pair_of(float low, float high) {
  u32 pair;
  asm("cvt.rn." TYPE_TEXT "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
INLINE float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Eight elements, as 16 bits.
INLINE uint4 taken(const u16* from) { return *(const uint4*)from; }
INLINE uint4 taken(const float* from) {
  const float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
  return make_uint4(pair_of(a.x, a.y), pair_of(a.z, a.w), pair_of(b.x, b.y), pair_of(b.z, b.w));
}
// Rows of elements into shared memory, `count` at a time, so that a thread's loads wait for memory together. POINTER(row) is where a valid
// row begins, ELEMENT(row, d) one of its elements.
#define COUNT(rows, width) ((rows) * ((width) / 8) / (32 * WARPS))
#if WHOLE
#define TAKEN(row, d, width, POINTER, ELEMENT) taken(POINTER(row) + (d))
#else
#define PAIR_AT(row, d, width, ELEMENT) pair_of((d) < (width) ? (float)(ELEMENT(row, d)) : 0.0f, (d) + 1 < (width) ? (float)(ELEMENT(row, (d) + 1)) : 0.0f)
#define TAKEN(row, d, width, POINTER, ELEMENT) \
  make_uint4(PAIR_AT(row, d, width, ELEMENT), PAIR_AT(row, (d) + 2, width, ELEMENT), PAIR_AT(row, (d) + 4, width, ELEMENT), PAIR_AT(row, (d) + 6, width, ELEMENT))
#endif
#define TAKE_ROWS(to, rows, padded, width, VALID, POINTER, ELEMENT) {                              \
    uint4 units[COUNT(rows, padded)];                                                              \
    UNROLL for (int u = 0; u < COUNT(rows, padded); ++u) {                                         \
      const int t = u * (32 * WARPS) + item, slot = t / ((padded) / 8), d = t % ((padded) / 8) * 8; \
      units[u] = VALID(slot) && d < (width) ? TAKEN(slot, d, width, POINTER, ELEMENT) : make_uint4(0, 0, 0, 0); \
    }                                                                                              \
    UNROLL for (int u = 0; u < COUNT(rows, padded); ++u) {                                         \
      const int t = u * (32 * WARPS) + item;                                                       \
      *(uint4*)&to[t / ((padded) / 8)][t % ((padded) / 8) * 8] = units[u];                         \
    }                                                                                              \
  }
#define QUERY_IS_THERE(slot) (row0 + (slot) < rows)
#define QUERY_PLACE(slot) QUERY_AT(h * group + (row0 + (slot)) / queries, (row0 + (slot)) % queries)
#define QUERY_POINTER(slot) (query + QUERY_PLACE(slot))
#define QUERY_ELEMENT(slot, d) GET(query, QUERY_PLACE(slot) + (d))
#define KEY_IS_THERE(slot) (j0 + (slot) < end)
#define KEY_ELEMENT(slot, d) KEY_AT(j0 + (slot), d)
#define VALUE_ELEMENT(slot, d) VALUE_AT(j0 + (slot), d)
#if HAS_past_key
#define KEY_POINTER(slot) (j0 + (slot) < past ? past_key + PAST_AT(HEAD, j0 + (slot)) : key + NEW_KEY_AT(j0 + (slot) - past))
#define VALUE_POINTER(slot) (j0 + (slot) < past ? past_value + PAST_AT(V_HEAD, j0 + (slot)) : value + NEW_VALUE_AT(j0 + (slot) - past))
#else
#define KEY_POINTER(slot) (key + NEW_KEY_AT(j0 + (slot)))
#define VALUE_POINTER(slot) (value + NEW_VALUE_AT(j0 + (slot)))
#endif
)";

constexpr std::string_view kBody = R"(
  // Rows are 16 bytes longer than their elements, so that the 8 rows of a matrix lie in different banks.
  __shared__ __align__(16) u16 ks[KEYS][DEPTH + 8], vs[KEYS][WIDTH + 8];
  const int item = ITEM(0), lane = item % 32, warp = item / 32, q = lane % 4;
  const int b = GROUP(1) / kv_heads, h = GROUP(1) % kv_heads, row0 = GROUP(0) * 16 * WARPS;
)";

constexpr std::string_view kSteps = R"(
  TAKE_ROWS(ks, 16 * WARPS, DEPTH, HEAD, QUERY_IS_THERE, QUERY_POINTER, QUERY_ELEMENT)
  BARRIER();
  u32 queries_of_warp[DEPTH / 16][4];
  UNROLL for (int k = 0; k < DEPTH / 16; ++k) load_matrices(queries_of_warp[k], &ks[warp * 16 + lane % 16][k * 16 + lane / 16 * 8]);
  float most[2] = {-AS_F32(0x7f800000u), -AS_F32(0x7f800000u)}, sums[2] = {0, 0}, results[WIDTH / 8][4];
  UNROLL for (int n = 0; n < WIDTH / 8; ++n) UNROLL for (int e = 0; e < 4; ++e) results[n][e] = 0;
  for (int j0 = 0; j0 < end; j0 += KEYS) {
    BARRIER();
    TAKE_ROWS(ks, KEYS, DEPTH, HEAD, KEY_IS_THERE, KEY_POINTER, KEY_ELEMENT)
    TAKE_ROWS(vs, KEYS, WIDTH, V_HEAD, KEY_IS_THERE, VALUE_POINTER, VALUE_ELEMENT)
    BARRIER();
    float scores[KEYS / 8][4];
    UNROLL for (int n = 0; n < KEYS / 8; ++n) UNROLL for (int e = 0; e < 4; ++e) scores[n][e] = 0;
    UNROLL for (int k = 0; k < DEPTH / 16; ++k) UNROLL for (int n = 0; n < KEYS / 16; ++n) {
      u32 keys_here[4];
      load_matrices(keys_here, &ks[n * 16 + lane / 16 * 8 + lane % 8][k * 16 + lane / 8 % 2 * 8]);
      multiply(scores[2 * n], queries_of_warp[k], keys_here);
      multiply(scores[2 * n + 1], queries_of_warp[k], keys_here + 2);
    }
    // From here on scores are logarithms to the base 2.
    UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + warp * 16 + lane / 4 + half * 8, i = row % queries, place = before_queries + i;
      float m = most[half];
      UNROLL for (int n = 0; n < KEYS / 8; ++n) UNROLL for (int e = half * 2; e < half * 2 + 2; ++e) {
        const int j = j0 + n * 8 + q * 2 + e % 2;
        float score = scores[n][e] * scale;
        if (softcap > 0) score = softcap * tanh(score / softcap);
        int seen = row < rows && j < end && (before < 0 || place - j <= before) && (after < 0 || j - place <= after);
        JOIN_MASK(score, seen, row, i, j)
        score *= 1.44269504f;
        if (score < -3e38f) score = -3e38f;  // a mask's lowest number is not infinite
        scores[n][e] = seen ? score : -AS_F32(0x7f800000u);
        m = MOST(m, scores[n][e]);
      }
      UNROLL for (int step = 1; step < 4; step *= 2) { const float other = __shfl_xor_sync(0xffffffffu, m, step); m = MOST(m, other); }
      const float factor = most[half] == m ? 1 : power_of_two(most[half] - m);
      most[half] = m;
      sums[half] *= factor;
      UNROLL for (int n = 0; n < WIDTH / 8; ++n) results[n][half * 2] *= factor, results[n][half * 2 + 1] *= factor;
      UNROLL for (int n = 0; n < KEYS / 8; ++n) UNROLL for (int e = half * 2; e < half * 2 + 2; ++e) {
        scores[n][e] = scores[n][e] == -AS_F32(0x7f800000u) ? 0 : power_of_two(scores[n][e] - m);
        sums[half] += scores[n][e];
      }
    }
    UNROLL for (int k = 0; k < KEYS / 16; ++k) {
      const u32 weights[4] = {pair_of(scores[2 * k][0], scores[2 * k][1]), pair_of(scores[2 * k][2], scores[2 * k][3]),
                              pair_of(scores[2 * k + 1][0], scores[2 * k + 1][1]), pair_of(scores[2 * k + 1][2], scores[2 * k + 1][3])};
      UNROLL for (int n = 0; n < WIDTH / 16; ++n) {
        u32 values[4];
        load_transposed(values, &vs[k * 16 + lane / 8 % 2 * 8 + lane % 8][n * 16 + lane / 16 * 8]);
        multiply(results[2 * n], weights, values);
        multiply(results[2 * n + 1], weights, values + 2);
      }
    }
  }
  UNROLL for (int half = 0; half < 2; ++half) {
    UNROLL for (int step = 1; step < 4; step *= 2) sums[half] += __shfl_xor_sync(0xffffffffu, sums[half], step);
    const int row = row0 + warp * 16 + lane / 4 + half * 8, i = row % queries, own = h * group + row / queries;
    const int place = RESULT_AT(own, i);
    const float factor = most[half] == -AS_F32(0x7f800000u) ? 0 : 1 / sums[half];
    if (row < rows)
      UNROLL for (int n = 0; n < WIDTH / 8; ++n) {
        const int d = n * 8 + q * 2;
        if (d < V_HEAD) PUT(y, place + d, factor == 0 ? 0 : results[n][half * 2] * factor);
        if (d + 1 < V_HEAD) PUT(y, place + d + 1, factor == 0 ? 0 : results[n][half * 2 + 1] * factor);
      }
  }
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const AttentionGeometry a = AttentionGeometry::of(node);
  const std::string_view type = type_of(node, context.device());
  auto kernel = std::make_unique<Launches>(context);
  add_present(*kernel, context, a);
  KernelText text(*kernel, node);
  add_attention_arguments(text, context, a);
  const auto up = [](int64_t width) { return (width + 15) / 16 * 16; };
  const int64_t rows = a.group() * a.queries, heads = a.batch * a.kv_heads;
  // Enough groups for all multiprocessors go before the keys that a group loads once; where one warp has all queries, the others load keys.
  const int64_t warps = rows > 16 && (rows + 63) / 64 * heads < kMultiprocessors ? 2 : 4;
  bool whole = a.head % 8 == 0 && a.v_head % 8 == 0;
  for (const size_t i : {0, 1, 2, 4, 5})
    whole = whole && context.columns(i).first % 8 == 0 && context.columns(i).row % 8 == 0 &&
            (!node.has_input(i) || node.input_dtype(i) == DType::f32 || dialect_name(node.input_dtype(i)) == type);
  text.define("TYPE_TEXT", format("\"{}\"", type));
  text.define("WHOLE", whole ? 1 : 0);
  text.define("WARPS", warps);
  text.define("KEYS", kKeys);
  text.define("DEPTH", up(a.head));
  text.define("WIDTH", up(a.v_head));
  text.add_groups("tensor_attention", (rows + 16 * warps - 1) / (16 * warps), static_cast<uint32_t>(32 * warps),
                  format("{}{}{}", kBody, attention_end("16 * WARPS"), kSteps), format("{}{}", attention_sources(), kFragments), heads);
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Attention", "gpu.attention.tensor", estimate, prepare}};

}  // namespace

std::span<const Scheme> tensor_attention_schemes() { return kSchemes; }

}  // namespace minnow::gpu
