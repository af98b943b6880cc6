// SPDX-License-Identifier: Apache-2.0
// minnow.MatMulNBits from the packed weights, of 2, 4 or 8 bits, which kernels read in words of 32 bits: blocks fill whole words. Few rows:
// a group of items for each column of the result. More: the tiles of matrix products, whose second operand is such a number.
#include "graph/nbits.h"
#include "backends/gpu/schemes/gemm.h"
#include "backends/gpu/schemes/kernel_text.h"
#include "backends/gpu/schemes/packed.h"

namespace minnow::gpu {
namespace {

constexpr size_t kA = 0, kB = 1, kScales = 2, kZeros = 3, kIndex = 4, kBias = 5;
constexpr uint32_t kItems = 64;

int64_t rows_of(const NodeView& node, const NBits& form) { return node.input_shape(kA).elements() / form.depth; }

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  const NBits form = NBits::of(node);
  if (32 % form.bits != 0) return declined("there is no kernel for {} bits", form.bits);
  if (node.has_input(kIndex)) return declined("the numbers of a block are not neighbours");
  const int64_t rows = rows_of(node, form), columns = node.output_shape(0).back();
  if (std::string reason = refusal_of_gemm(rows, 1); !reason.empty()) return declined("{}", reason);
  if (rows > kFewRows && !packed_name(node, device).empty()) return declined("tensor cores serve this precision");
  return estimate_of(node, device, 2 * static_cast<double>(rows) * static_cast<double>(form.depth) * static_cast<double>(columns), 0.3);
}

// WEIGHT(word, j, group): number j of a word of a block; ZERO(n, group): of block `group` in row n.
std::string definitions(const NodeView& node, const NBits& form) {
  std::string zero = format("{}.0f", form.middle());
  if (node.has_input(kZeros))
    zero = node.input_dtype(kZeros) != DType::u8
               ? format("LOAD({}, zeros, (n) * BLOCKS + (group))", dialect_name(node.input_dtype(kZeros)))
               : format("(float)((zeros[(n) * {} + (group) * BITS / 8] >> ((group) * BITS % 8)) & MASK)", form.zero_point_bytes());
  return format(
      "#define BITS {}\n#define EACH {}\n#define MASK {}\n#define BLOCK {}\n#define BLOCKS {}\n#define ZERO(n, group) {}\n"
      "#define NUMBER(word, j) (float)(int)((word) >> ((j) * BITS) & MASK)\n",
      form.bits, 32 / form.bits, (1 << form.bits) - 1, form.block, form.blocks(), zero);
}

constexpr std::string_view kFew = R"(
  LOCAL float shared[256];
  const int n = GROUP(0), words = BLOCKS * BLOCK / EACH;
  float sums[ROWS];
  UNROLL for (int r = 0; r < ROWS; ++r) sums[r] = 0;
  for (int w = ITEM(0); w < words; w += ITEMS(0)) {
    const int first = w * EACH, group = first / BLOCK;
    const u32 word = b[n * words + w];
    const float scale = GET(scales, n * BLOCKS + group), zero = ZERO(n, group);
    UNROLL for (int r = 0; r < ROWS; ++r) {
      float sum = 0;
      UNROLL for (int j = 0; j < EACH; ++j)
        if (!CUT || first + j < K) sum = FMA(GET(a, r * K + first + j), NUMBER(word, j) - zero, sum);
      sums[r] = FMA(sum, scale, sums[r]);
    }
  }
  UNROLL for (int r = 0; r < ROWS; ++r) {
    float v = group_sum(sums[r], shared);
#if HAS_bias
    v += GET(bias, n);
#endif
    if (ITEM(0) == 0) PUT(y, r * GROUPS(0) + n, v);
  }
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const NBits form = NBits::of(node);
  const int64_t rows = rows_of(node, form), columns = node.output_shape(0).back();
  auto kernel = std::make_unique<Launches>(context);
  if (rows <= kFewRows) {
    KernelText text(*kernel, node);
    text.input(kA, "a");
    text.input_words(kB, "b");
    text.input(kScales, "scales");
    text.input(kZeros, "zeros");
    text.input(kBias, "bias");
    text.output(0, "y");
    text.number("K", form.depth);
    text.define("ROWS", rows);
    text.define("CUT", form.depth == form.blocks() * form.block ? 0 : 1);
    text.add_groups("multiply_nbits", columns, kItems, kFew, definitions(node, form) + "REDUCE(group_sum, SUM)\n");
    return kernel;
  }
  Gemm gemm;
  gemm.m = rows, gemm.n = columns, gemm.k = form.depth;
  const std::string_view a = dialect_name(node.input_dtype(kA)), scales = dialect_name(node.input_dtype(kScales));
  gemm.parameters = format("READ(MEM({}), a), READ(u32, b), READ(MEM({}), scales), ", a, scales);
  gemm.pointers = format("  USE_READ(MEM({}), a);\n  USE_READ(u32, b);\n  USE_READ(MEM({}), scales);\n", a, scales);
  gemm.given = {Given::input(kA), Given::input(kB), Given::input(kScales)};
  if (node.has_input(kZeros)) {
    const std::string_view zeros = dialect_name(node.input_dtype(kZeros));
    gemm.parameters += format("READ(MEM({}), zeros), ", zeros);
    gemm.pointers += format("  USE_READ(MEM({}), zeros);\n", zeros);
    gemm.given.push_back(Given::input(kZeros));
  }
  gemm.definitions = definitions(node, form) +
                     format(
                         "#define A_AT(m, k) LOAD({}, a, (m) * K + (k))\n"
                         "#define B_AT(k, n) ((NUMBER(b[(n) * (BLOCKS * BLOCK / EACH) + (k) / EACH], (k) % EACH) - ZERO(n, (k) / BLOCK)) "
                         "* LOAD({}, scales, (n) * BLOCKS + (k) / BLOCK))\n",
                         a, scales);
  gemm.b_rows = false;
  gemm.result_at = "m * N + n";
  const Term terms[] = {{kBias, 1, false}};
  add_terms(gemm, node, terms);
  add_gemm(*kernel, context, gemm);
  return kernel;
}

constexpr Scheme kSchemes[] = {{"minnow.MatMulNBits", "gpu.matmul_nbits", estimate, prepare}};

}  // namespace

std::span<const Scheme> nbits_schemes() { return kSchemes; }

}  // namespace minnow::gpu
