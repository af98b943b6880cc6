// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/schemes/gemm.h"

#include <algorithm>

#include "backends/gpu/schemes/broadcast.h"
#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/lines.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kTileK = 16;
// Tiles in flight that keep a large device busy.
constexpr int64_t kBusy = 264;

// 16 x 16 items compute PER x PER sums each, PER = TILE / 16: rows and columns in fours, 64 apart. While a step of 16 along k is
// multiplied, the next one is on its way to registers. Parts of k go to scratch, and are added by `gemm_end`.
constexpr std::string_view kSource = R"(
#define PER (TILE / 16)
#define FETCH(from)                                                                                     \
  UNROLL for (int t = 0; t < PER; ++t) {                                                                \
    const int at = t * 256 + item, m = A_COLUMNS ? at % TILE : at / 16, k = A_COLUMNS ? at / TILE : at % 16; \
    next_a[t] = m0 + m < M && (from) + k < k_end ? A_AT(m0 + m, (from) + k) : 0;                        \
  }                                                                                                     \
  UNROLL for (int t = 0; t < PER; ++t) {                                                                \
    const int at = t * 256 + item, n = B_ROWS ? at % TILE : at / 16, k = B_ROWS ? at / TILE : at % 16;  \
    next_b[t] = n0 + n < N && (from) + k < k_end ? B_AT((from) + k, n0 + n) : 0;                        \
  }
  LOCAL_FOURS(as, 16 * (TILE + 4));
  LOCAL_FOURS(bs, 16 * (TILE + 4));
  const int item = ITEM(0);
  const int m0 = GROUP(1) * TILE, n0 = GROUP(0) * TILE;
  const int batch = GROUP(2) / splits, split = GROUP(2) % splits;
  const int k_begin = split * k_each, k_end = k_begin + k_each < K ? k_begin + k_each : K;
  const int row = item / 16 * 4, column = item % 16 * 4;
  START
  float sums[PER][PER], next_a[PER], next_b[PER];
#if INTEGERS
  int totals[PER][PER];
  UNROLL for (int i = 0; i < PER; ++i) UNROLL for (int j = 0; j < PER; ++j) totals[i][j] = 0;
#endif
  UNROLL for (int i = 0; i < PER; ++i) UNROLL for (int j = 0; j < PER; ++j) sums[i][j] = 0;
  FETCH(k_begin)
  for (int k0 = k_begin; k0 < k_end; k0 += 16) {
    UNROLL for (int t = 0; t < PER; ++t) {
      const int at = t * 256 + item;
      as[A_COLUMNS ? at / TILE * (TILE + 4) + at % TILE : at % 16 * (TILE + 4) + at / 16] = next_a[t];
      bs[B_ROWS ? at / TILE * (TILE + 4) + at % TILE : at % 16 * (TILE + 4) + at / 16] = next_b[t];
    }
    BARRIER();
    if (k0 + 16 < k_end) {
      FETCH(k0 + 16)
    }
    UNROLL for (int k = 0; k < 16; ++k) {
      float a[PER], b[PER];
      UNROLL for (int i = 0; i < PER; i += 4) {
        LOAD_FOUR(a + i, as + k * (TILE + 4) + row + i * 16);
        LOAD_FOUR(b + i, bs + k * (TILE + 4) + column + i * 16);
      }
      UNROLL for (int i = 0; i < PER; ++i) UNROLL for (int j = 0; j < PER; ++j) sums[i][j] = FMA(a[i], b[j], sums[i][j]);
    }
#if INTEGERS
    UNROLL for (int i = 0; i < PER; ++i) UNROLL for (int j = 0; j < PER; ++j) totals[i][j] += (int)sums[i][j], sums[i][j] = 0;
#endif
    BARRIER();
  }
  UNROLL for (int r = 0; r < PER; ++r) UNROLL for (int c = 0; c < PER; ++c) {
    const int m = m0 + row + r / 4 * 64 + r % 4, n = n0 + column + c / 4 * 64 + c % 4;
    if (m < M && n < N) {
)";

// Few rows (SHORT_M) or columns: FEW sums for each place l of the long side. Neighbours along k: a group for each place.
constexpr std::string_view kFewInLines = R"(
  LOCAL float shared[256];
  const int item = ITEM(0), l = GROUP(0), m0 = 0, n0 = 0;
  const int batch = GROUP(2) / splits, split = GROUP(2) % splits;
  const int k_begin = split * k_each, k_end = k_begin + k_each < K ? k_begin + k_each : K;
  START
  float sums[FEW];
  UNROLL for (int r = 0; r < FEW; ++r) sums[r] = 0;
  for (int k = k_begin + item; k < k_end; k += ITEMS(0)) {
    const float v = LONG_AT(l, k);
    UNROLL for (int r = 0; r < FEW; ++r) sums[r] = FMA(SHORT_AT(r, k), v, sums[r]);
  }
  UNROLL for (int r = 0; r < FEW; ++r) {
    const float joined = group_sum(sums[r], shared);
    const int m = SHORT_M ? r : l, n = SHORT_M ? l : r;
    if (item == 0) {
)";

// Neighbours along the long side: a group for 32 places, and 8 of its items for each, which share k.
constexpr std::string_view kFewInColumns = R"(
  LOCAL float shared[FEW * 256];
  const int item = ITEM(0), part = item / 32, l = GROUP(0) * 32 + item % 32, m0 = 0, n0 = 0;
  const int batch = GROUP(2) / splits, split = GROUP(2) % splits;
  const int k_begin = split * k_each, k_end = k_begin + k_each < K ? k_begin + k_each : K;
  START
  float sums[FEW];
  UNROLL for (int r = 0; r < FEW; ++r) sums[r] = 0;
  if (l < LONG)
    for (int k = k_begin + part; k < k_end; k += 8) {
      const float v = LONG_AT(l, k);
      UNROLL for (int r = 0; r < FEW; ++r) sums[r] = FMA(SHORT_AT(r, k), v, sums[r]);
    }
  UNROLL for (int r = 0; r < FEW; ++r) shared[r * 256 + item] = sums[r];
  BARRIER();
  UNROLL for (int r = 0; r < FEW; ++r) {
    const int m = SHORT_M ? r : l, n = SHORT_M ? l : r;
    if (part == r && l < LONG) {
      float joined = 0;
      UNROLL for (int p = 0; p < 8; ++p) joined += shared[r * 256 + p * 32 + item % 32];
)";
static_assert(kFewRows <= 8);

// How the sums are computed: the body of a kernel, and the groups of a matrix.
struct GemmForm {
  std::string source, definitions, sum;
  int64_t groups_x = 0, groups_y = 1;
  uint32_t items = 256;
};

GemmForm form_in_tiles(const Gemm& gemm) {
  const auto tiles_along = [](int64_t size, int64_t tile) { return (size + tile - 1) / tile; };
  const int64_t tile = tiles_along(gemm.m, 128) * tiles_along(gemm.n, 128) * gemm.batches * 2 > kBusy && gemm.m > 64 ? 128 : 64;
  return {std::string(kSource),
          format("#define TILE {}\n#define A_COLUMNS {}\n#define B_ROWS {}\n#define INTEGERS {}\n", tile, gemm.a_columns ? 1 : 0,
                 gemm.b_rows ? 1 : 0, gemm.integers ? 1 : 0),
          gemm.integers ? "totals[r][c]" : "sums[r][c]", tiles_along(gemm.n, tile), tiles_along(gemm.m, tile)};
}

GemmForm form_of_few(const Gemm& gemm) {
  const bool short_m = gemm.m <= gemm.n;
  const int64_t length = short_m ? gemm.n : gemm.m;
  const bool columns = short_m ? gemm.b_rows : gemm.a_columns;
  GemmForm form{std::string(columns ? kFewInColumns : kFewInLines),
                format("#define TILE 1\n#define FEW {}\n#define SHORT_M {}\n#define LONG {}\n#define LONG_AT(l, k) {}\n"
                       "#define SHORT_AT(r, k) {}\n{}REDUCE(group_sum, SUM)\n",
                       short_m ? gemm.m : gemm.n, short_m ? 1 : 0, short_m ? "N" : "M", short_m ? "B_AT(k, l)" : "A_AT(l, k)",
                       short_m ? "A_AT(r, k)" : "B_AT(k, r)", kGroupReductions),
                "joined", columns ? (length + 31) / 32 : length};
  if (!columns) form.items = gemm.k < 4096 ? 64 : 256;
  return form;
}

}  // namespace

Operand float_operand(const NodeView& node, size_t input, std::string_view name) {
  return {input, format("LOAD({}, {}, i)", dialect_name(node.input_dtype(input)), name)};
}

void add_terms(Gemm& gemm, const NodeView& node, std::span<const Term> terms) {
  for (const Term& term : terms) {
    if (!node.has_input(term.input) || term.factor == 0) continue;
    const std::string_view dtype = dialect_name(node.input_dtype(term.input));
    const std::string name = format("z{}", term.input);
    Broadcast broadcast(node.output_shape(0), name);
    if (term.per_channel) {
      Ints strides(node.output_shape(0).rank(), 0);
      strides[1] = 1;
      broadcast.add(std::move(strides));
    } else {
      broadcast.add(node.input_shape(term.input));
    }
    broadcast.finish();
    gemm.term_parameters += format(", UPDATE(MEM({}), {})", dtype, name) + broadcast.parameters();
    gemm.term_given.push_back(Given::input(term.input));
    broadcast.append_arguments(gemm.term_given);
    gemm.terms += format("      USE_READ(MEM({}), {});\n{}", dtype, name, broadcast.coordinates());
    gemm.terms += format("      v += {} * LOAD({}, {}, {});\n", literal(term.factor), dtype, name, broadcast.index(0));
  }
}

// Splits stay within the limit too: they are made only where there are fewer than kBusy tiles.
std::string refusal_of_gemm(int64_t rows, int64_t matrices) {
  constexpr int64_t kMostGroups = 65535, kLargeTile = 128;
  if (matrices > kMostGroups) return format("there are more than {} matrices", kMostGroups);
  if (rows > kMostGroups * kLargeTile) return format("there are more than {} rows", kMostGroups * kLargeTile);
  return {};
}

double operations_of_few(double results, int64_t k, bool lines) { return 2 * results * (static_cast<double>(k) + (lines ? 512 : 16)); }

double share_of_tiles(int64_t size) { return static_cast<double>(size) / static_cast<double>((size + 63) / 64 * 64); }

void add_gemm(Launches& kernel, PrepareContext& context, const Gemm& gemm) {
  const NodeView& node = context.node();
  const std::string_view dtype = gemm.result.kind == Given::Kind::output ? dialect_name(node.output(0).dtype) : "f32";
  const GemmForm form = gemm.few ? form_of_few(gemm) : form_in_tiles(gemm);
  const int64_t tiles = form.groups_x * form.groups_y * gemm.batches, blocks_k = (gemm.k + kTileK - 1) / kTileK;
  int64_t splits = tiles * 2 > kBusy ? 1 : std::clamp<int64_t>(kBusy / tiles, 1, std::max<int64_t>(1, blocks_k / 8));
  const int64_t k_each = (blocks_k + splits - 1) / splits * kTileK;
  splits = std::max<int64_t>(1, (gemm.k + k_each - 1) / k_each);
  const std::string definitions = gemm.definitions + format("#define START {}\n", gemm.start) + form.definitions;
  const std::string_view number = gemm.integers ? "int" : "float";
  const std::string ends = gemm.integers ? gemm.finish
                                         : format("      float v = {} * sum;\n{}      STORE({}, y, i, {});\n", literal(gemm.alpha),
                                                  gemm.terms, dtype, expression_of(gemm.activation, "v"));
  const Extent groups = {static_cast<uint32_t>(form.groups_x), static_cast<uint32_t>(form.groups_y),
                         static_cast<uint32_t>(gemm.batches * splits)},
               group = {form.items, 1, 1};
  const std::string head = gemm.parameters + "const int M, const int N, const int K, const int k_each, const int splits";
  std::vector<Given> given = gemm.given;
  for (const int64_t number : {gemm.m, gemm.n, gemm.k, k_each, splits}) given.emplace_back(number);
  if (splits == 1) {
    given.push_back(gemm.result);
    given.insert(given.end(), gemm.term_given.begin(), gemm.term_given.end());
    const std::string source = format(
        "{}KERNEL(gemm)({}, WRITE(MEM({}), y){}) {{\n{}  USE_WRITE(MEM({}), y);\n{}      const {} sum = {};\n"
        "      const int i = {};\n{}    }}\n  }}\n}}\n",
        definitions, head, dtype, gemm.term_parameters, gemm.pointers, dtype, form.source, number, form.sum, gemm.result_at, ends);
    kernel.add(source, "gemm", groups, group, std::move(given));
    return;
  }
  const int64_t elements = gemm.m * gemm.n * gemm.batches;
  const size_t scratch = context.reserve_scratch(static_cast<size_t>(elements * splits) * sizeof(float));
  static_assert(sizeof(float) == sizeof(int32_t));
  given.push_back(Given::scratch(scratch));
  kernel.add(format("{}KERNEL(gemm_part)({}, WRITE({}, parts)) {{\n{}  USE_WRITE({}, parts);\n{}"
                    "      parts[((split * (GROUPS(2) / splits) + batch) * M + m) * N + n] = {};\n    }}\n  }}\n}}\n",
                    definitions, head, number, gemm.pointers, number, form.source, form.sum),
             "gemm_part", groups, group, std::move(given));
  std::vector<Given> end = {Given::scratch(scratch), elements, gemm.m, gemm.n, splits, gemm.result};
  end.insert(end.end(), gemm.term_given.begin(), gemm.term_given.end());
  kernel.add_1d(
      format("{}KERNEL(gemm_end)(READ({}, parts), const int count, const int M, const int N, const int splits, WRITE(MEM({}), y){}) {{\n"
             "  USE_READ({}, parts);\n  USE_WRITE(MEM({}), y);\n  const int at = GROUP(0) * ITEMS(0) + ITEM(0);\n"
             "  if (at < count) {{\n    const int n = at % N, m = at / N % M, batch = at / (M * N);\n    {} sum = 0;\n"
             "    for (int s = 0; s < splits; ++s) sum += parts[s * count + at];\n    const int i = {};\n{}  }}\n}}\n",
             gemm.definitions, number, dtype, gemm.term_parameters, number, dtype, number, gemm.result_at, ends),
      "gemm_end", elements, std::move(end));
}

}  // namespace minnow::gpu
