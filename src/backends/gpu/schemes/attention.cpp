// SPDX-License-Identifier: Apache-2.0
// Attention in one pass over the keys, without a matrix of scores (Dao et al. 2022, arXiv:2205.14135): a group of 16 x 16 items treats 16
// or 32 queries, which may be of several heads that share keys.
#include "backends/gpu/schemes/attention.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kMostWidth = 256, kWide = 128;

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_attention(node); !reason.empty()) return declined("{}", reason);
  const AttentionGeometry a = AttentionGeometry::of(node);
  if (a.head > kMostWidth || a.v_head > kMostWidth) return declined("heads are wider than {}", kMostWidth);
  return attention_estimate(node, device, a, 0.15);
}

// Where key or value j of head h of batch entry b begins, among those of the cache and among the new ones.
constexpr std::string_view kSources = R"(
#define NEW_KEY_AT(j) (PACKED ? (b * added + (j)) * KEY_ROW + KEY_FIRST + h * HEAD : ((b * kv_heads + h) * added + (j)) * HEAD)
#define NEW_VALUE_AT(j) (PACKED ? (b * added + (j)) * VALUE_ROW + VALUE_FIRST + h * V_HEAD : ((b * kv_heads + h) * added + (j)) * V_HEAD)
#define PAST_AT(width, j) (((b * kv_heads + h) * past + (j)) * (width))
#if HAS_past_key
#define KEY_AT(j, d) ((j) < past ? GET(past_key, PAST_AT(HEAD, j) + (d)) : GET(key, NEW_KEY_AT((j) - past) + (d)))
#define VALUE_AT(j, d) ((j) < past ? GET(past_value, PAST_AT(V_HEAD, j) + (d)) : GET(value, NEW_VALUE_AT((j) - past) + (d)))
#else
#define KEY_AT(j, d) GET(key, NEW_KEY_AT(j) + (d))
#define VALUE_AT(j, d) GET(value, NEW_VALUE_AT(j) + (d))
#endif
// Where query i of head `own` begins, and its result.
#define QUERY_AT(own, i) (PACKED ? (b * queries + (i)) * QUERY_ROW + QUERY_FIRST + (own) * HEAD : ((b * q_heads + (own)) * queries + (i)) * HEAD)
#define RESULT_AT(own, i) ((PACKED ? (b * queries + (i)) * q_heads + (own) : (b * q_heads + (own)) * queries + (i)) * V_HEAD)
// A mask's number for key j and query i joins the score, or hides the key.
#if HAS_mask
#define JOIN_MASK(score, seen, row, i, j)                                                                                    \
  if (j >= columns) seen = 0;                                                                                                \
  if (seen) {                                                                                                                \
    const C_mask own_mask = GET(mask, b * mask_batch + (h * group + row / queries) * mask_head + i * mask_query + j);        \
    if (MASK_IS_BOOLEAN) seen = own_mask != 0;                                                                               \
    else if ((float)own_mask == -AS_F32(0x7f800000u)) seen = 0;                                                              \
    else score += (float)own_mask;                                                                                           \
  }
#else
#define JOIN_MASK(score, seen, row, i, j)
#endif
)";

constexpr std::string_view kBody = R"(
  LOCAL float qs[16 * ROWS][HEAD + 1];
  LOCAL float kv[KEYS][WIDTH + 1];
  LOCAL float ps[16 * ROWS][KEYS + 1];
  const int item = ITEM(0), lane = item % 16, slot = item / 16 * ROWS;
  const int b = GROUP(1) / kv_heads, h = GROUP(1) % kv_heads, row0 = GROUP(0) * 16 * ROWS;
)";

constexpr std::string_view kSteps = R"(
  for (int t = item; t < 16 * ROWS * HEAD; t += 256) {
    const int row = row0 + t / HEAD, i = row % queries, own = h * group + row / queries;
    qs[t / HEAD][t % HEAD] = row < rows ? GET(query, QUERY_AT(own, i) + t % HEAD) : 0;
  }
  float most[ROWS], sums[ROWS], results[ROWS][PARTS];
  UNROLL for (int r = 0; r < ROWS; ++r) {
    most[r] = -AS_F32(0x7f800000u);
    sums[r] = 0;
    UNROLL for (int t = 0; t < PARTS; ++t) results[r][t] = 0;
  }
  for (int j0 = 0; j0 < end; j0 += KEYS) {
    BARRIER();
    for (int t = item; t < KEYS * HEAD; t += 256) kv[t / HEAD][t % HEAD] = j0 + t / HEAD < end ? KEY_AT(j0 + t / HEAD, t % HEAD) : 0;
    BARRIER();
    float scores[ROWS][KEYS / 16];
    UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int c = 0; c < KEYS / 16; ++c) scores[r][c] = 0;
    for (int d = 0; d < HEAD; ++d)
      UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int c = 0; c < KEYS / 16; ++c)
        scores[r][c] = FMA(qs[slot + r][d], kv[lane + 16 * c][d], scores[r][c]);
    UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int c = 0; c < KEYS / 16; ++c) {
      const int row = row0 + slot + r, i = row % queries, j = j0 + lane + 16 * c, place = before_queries + i;
      float score = scores[r][c] * scale;
      if (softcap > 0) score = softcap * tanh(score / softcap);
      int seen = row < rows && j < end && (before < 0 || place - j <= before) && (after < 0 || j - place <= after);
      JOIN_MASK(score, seen, row, i, j)
      ps[slot + r][lane + 16 * c] = seen ? score : -AS_F32(0x7f800000u);
    }
    BARRIER();
    for (int t = item; t < KEYS * V_HEAD; t += 256) {
      const int j = t / V_HEAD, d = t - j * V_HEAD;
      kv[j][d] = j0 + j < end ? VALUE_AT(j0 + j, d) : 0;
    }
    BARRIER();  // without this one PoCL 3.1 leaves out some of these loads
    float factors[ROWS];
    UNROLL for (int r = 0; r < ROWS; ++r) {
      float m = most[r];
      for (int j = 0; j < KEYS; ++j) { const float p = ps[slot + r][j]; m = MOST(p, m); }
      factors[r] = most[r] == m ? 1 : exp(most[r] - m);
      most[r] = m;
    }
    BARRIER();
    UNROLL for (int r = 0; r < ROWS; ++r) UNROLL for (int c = 0; c < KEYS / 16; ++c) {
      const float p = ps[slot + r][lane + 16 * c];
      ps[slot + r][lane + 16 * c] = p == -AS_F32(0x7f800000u) ? 0 : exp(p - most[r]);
    }
    BARRIER();
    UNROLL for (int r = 0; r < ROWS; ++r) {
      sums[r] *= factors[r];
      UNROLL for (int t = 0; t < PARTS; ++t) results[r][t] *= factors[r];
    }
    for (int j = 0; j < KEYS; ++j)
      UNROLL for (int r = 0; r < ROWS; ++r) {
        const float p = ps[slot + r][j];
        sums[r] += p;
        UNROLL for (int t = 0; t < PARTS; ++t)
          if (lane + 16 * t < V_HEAD) results[r][t] = FMA(p, kv[j][lane + 16 * t], results[r][t]);
      }
  }
  UNROLL for (int r = 0; r < ROWS; ++r) {
    const int row = row0 + slot + r, i = row % queries, own = h * group + row / queries;
    if (row < rows)
      UNROLL for (int t = 0; t < PARTS; ++t)
        if (lane + 16 * t < V_HEAD)
          PUT(y, RESULT_AT(own, i) + lane + 16 * t, most[r] == -AS_F32(0x7f800000u) ? 0 : results[r][t] / sums[r]);
  }
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const AttentionGeometry a = AttentionGeometry::of(node);
  auto kernel = std::make_unique<Launches>(context);
  add_present(*kernel, context, a);
  KernelText text(*kernel, node);
  add_attention_arguments(text, context, a);
  const int64_t rows = a.group() * a.queries, width = std::max(a.head, a.v_head);
  const int64_t each = rows > 16 && width <= kWide ? 2 : 1;
  text.define("WIDTH", width);
  text.define("ROWS", each);
  text.define("KEYS", width <= kWide ? 32 : 16);
  text.define("PARTS", (a.v_head + 15) / 16);
  text.add_groups("attention", (rows + 16 * each - 1) / (16 * each), 256, format("{}{}{}", kBody, attention_end("16 * ROWS"), kSteps),
                  kSources, a.batch * a.kv_heads);
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Attention", "gpu.attention", estimate, prepare}};

}  // namespace

std::string refusal_of_attention(const NodeView& node) {
  if (std::string reason = refusal(node); !reason.empty()) return reason;
  if (!is_real(node.input_dtype(0))) return format("the dtype is {}", node.input_dtype(0));
  const AttentionGeometry a = AttentionGeometry::of(node);
  if (node.output_count() > 3 && node.has_output(3)) return "the scores are wanted";
  if (a.batch * a.kv_heads > 65535) return "there are more than 65535 heads";
  if (a.scores_shape().elements() == 0 || a.head == 0 || a.v_head == 0) return "there are no scores";
  return {};
}

Estimate attention_estimate(const NodeView& node, const Device& device, const AttentionGeometry& a, double efficiency) {
  const double operations =
      2.0 * static_cast<double>(a.batch * a.q_heads * a.queries) * static_cast<double>(a.keys() * (a.head + a.v_head));
  Estimate estimate = estimate_of(node, device, operations, efficiency);
  if (a.packed) estimate.column_inputs = 7;
  return estimate;
}

std::string_view attention_sources() { return kSources; }

std::string attention_end(std::string_view rows) {
  return format("#define GROUP_ROWS ({})", rows) + R"(
  int used = keys, before_queries = past;
#if HAS_used_keys
  const i64 given = GET(used_keys, b);
  if (given < 0 || given > keys) { FAULT(given, keys) } else used = (int)given;
  before_queries = used - queries;
#endif
  int end = used;
  if (after >= 0) {
    const int last = row0 + GROUP_ROWS - 1, last_query = row0 / queries == last / queries ? last % queries : queries - 1;
    if (before_queries + last_query + after + 1 < end) end = before_queries + last_query + after + 1;
  }
)";
}

namespace {

// The places of rows of an input that is packed.
void define_rows(KernelText& text, const PrepareContext& context, size_t input, std::string_view name, int64_t width) {
  const InputColumns columns = context.columns(input);
  text.define(format("{}_FIRST", name), columns.first);
  text.define(format("{}_ROW", name), columns.row ? columns.row : width);
}

void add_sources(KernelText& text, const PrepareContext& context, const AttentionGeometry& a) {
  text.input(1, "key");
  text.input(2, "value");
  text.input(4, "past_key");
  text.input(5, "past_value");
  text.number("kv_heads", a.kv_heads);
  text.number("past", a.past);
  text.number("added", a.added);
  text.define("PACKED", a.packed ? 1 : 0);
  text.define("HEAD", a.head);
  text.define("V_HEAD", a.v_head);
  define_rows(text, context, 1, "KEY", a.kv_heads * a.head);
  define_rows(text, context, 2, "VALUE", a.kv_heads * a.v_head);
}

}  // namespace

void add_present(Launches& kernel, const PrepareContext& context, const AttentionGeometry& a) {
  const NodeView& node = context.node();
  for (const size_t output : {size_t{1}, size_t{2}}) {
    if (output >= node.output_count() || !node.has_output(output)) continue;
    KernelText text(kernel, node);
    add_sources(text, context, a);
    text.output(output, "present");
    text.number("keys", a.keys());
    text.define("DEPTH", output == 1 ? a.head : a.v_head);
    text.define("SOURCE(j, d)", output == 1 ? "KEY_AT(j, d)" : "VALUE_AT(j, d)");
    text.add_items("present", node.output_shape(output).elements(), R"(
  const int d = i % DEPTH, j = i / DEPTH % keys, head = i / DEPTH / keys, b = head / kv_heads, h = head % kv_heads;
  PUT(present, i, SOURCE(j, d));
)",
                   kSources);
  }
}

void add_attention_arguments(KernelText& text, const PrepareContext& context, const AttentionGeometry& a) {
  const NodeView& node = context.node();
  text.input(0, "query");
  add_sources(text, context, a);
  define_rows(text, context, 0, "QUERY", a.q_heads * a.head);
  text.input(3, "mask");
  text.input(6, "used_keys");
  text.output(0, "y");
  text.number("q_heads", a.q_heads);
  text.number("group", a.group());
  text.number("queries", a.queries);
  text.number("rows", a.group() * a.queries);
  text.number("keys", a.keys());
  text.number("before", a.before);
  text.number("after", a.after);
  text.real("scale", static_cast<float>(a.scale));
  text.real("softcap", static_cast<float>(a.softcap));
  if (node.has_input(3)) {
    const Shape& mask = node.input_shape(3);
    const auto step = [&](size_t from_last) {
      const size_t rank = mask.rank();
      return from_last < rank && mask[rank - 1 - from_last] != 1 ? mask.product(rank - from_last, rank) : 0;
    };
    text.define("MASK_IS_BOOLEAN", node.input_dtype(3) == DType::boolean ? 1 : 0);
    text.number("columns", mask.back());
    text.number("mask_query", step(1));
    text.number("mask_head", step(2));
    text.number("mask_batch", step(3));
  }
  if (node.has_input(6)) text.faults("nonpad_kv_seqlen names {} keys, there are {}");
}

std::span<const Scheme> attention_schemes() { return kSchemes; }

}  // namespace minnow::gpu
