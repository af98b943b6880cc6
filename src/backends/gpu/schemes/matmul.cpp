// SPDX-License-Identifier: Apache-2.0
// Products of matrices of floats, with what is fused behind them.
#include "graph/matmul.h"
#include "backends/gpu/schemes/gemm.h"

namespace minnow::gpu {
namespace {

// The batch is part of m, where all matrices have one right side.
bool joins_batch(const MatMulGeometry& p) { return p.shares_b() && !p.transpose_a; }
int64_t rows_of(const MatMulGeometry& p) { return joins_batch(p) ? p.m * p.batches() : p.m; }

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  if (node.has_input(kScale)) return declined("sums are rounded");
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (p.k == 0) return declined("there is nothing to sum");
  if (std::string reason = refusal_of_gemm(p); !reason.empty()) return declined("{}", reason);
  return estimate_of(node, device, 2 * p.multiply_adds(), 0.3 * share_of_tiles(rows_of(p)) * share_of_tiles(p.n), 2);
}

Estimate estimate_few(const NodeView& node, const Device& device) {
  const Estimate tiles = estimate(node, device);
  if (!tiles.declined.empty()) return tiles;
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (std::min(rows_of(p), p.n) > kFewRows) return declined("there are more than {} rows and columns", kFewRows);
  const bool lines = rows_of(p) <= p.n ? p.transpose_b : !p.transpose_a;
  return estimate_of(node, device, operations_of_few(static_cast<double>(node.output_shape(0).elements()), p.k, lines), 0.1);
}

// The matrices of a batch: a number to multiply its index by, or a table.
struct Matrices {
  int64_t step = 0;
  std::vector<int32_t> table;  // empty: steps serve
  template <class F>
  Matrices(int64_t count, F matrix) {
    if (count > 1) step = matrix(1);
    bool linear = true;
    for (int64_t i = 0; i < count; ++i) linear = linear && matrix(i) == i * step;
    for (int64_t i = 0; !linear && i < count; ++i) table.push_back(static_cast<int32_t>(matrix(i)));
  }
  // The parameter and the expression of the matrix of `batch`.
  std::string add(Launches& kernel, Gemm& gemm, const char* name) const {
    if (table.empty()) {
      gemm.parameters += format("const int {}_step, ", name);
      gemm.given.emplace_back(step);
      return format("(batch * {}_step)", name);
    }
    gemm.parameters += format("READ(i32, {}_table), ", name);
    gemm.pointers += format("  USE_READ(i32, {}_table);\n", name);
    gemm.given.push_back(kernel.constant(kernel.add_table(table.data(), table.size() * sizeof(int32_t))));
    return format("{}_table[batch]", name);
  }
};

}  // namespace

std::string refusal_of_gemm(const MatMulGeometry& p) {
  return joins_batch(p) ? refusal_of_gemm(p.m * p.batches(), 1) : refusal_of_gemm(p.m, p.batches());
}

Gemm matmul_gemm(Launches& kernel, const MatMulGeometry& p, const NodeView& node, const Operand& left, const Operand& right) {
  Gemm gemm;
  gemm.m = rows_of(p);
  gemm.n = p.n;
  gemm.k = p.k;
  gemm.batches = joins_batch(p) ? 1 : p.batches();
  const std::string_view a = dialect_name(node.input_dtype(left.input)), b = dialect_name(node.input_dtype(right.input));
  gemm.parameters = format("READ(MEM({}), a), READ(MEM({}), b), ", a, b);
  gemm.given = {Given::input(left.input), Given::input(right.input)};
  gemm.pointers = format("  USE_READ(MEM({}), a);\n  USE_READ(MEM({}), b);\n", a, b);
  std::string a_matrix = "0", b_matrix = "0";
  if (gemm.batches > 1) {
    a_matrix = Matrices(gemm.batches, [&](int64_t i) { return p.a_matrix(i); }).add(kernel, gemm, "a");
    b_matrix = Matrices(gemm.batches, [&](int64_t i) { return p.b_matrix(i); }).add(kernel, gemm, "b");
  }
  gemm.start = format("const int a_at = {} * (M * K), b_at = {} * (K * N);", a_matrix, b_matrix);
  gemm.definitions = format(
      "#define LOAD_A(i) {}\n#define LOAD_B(i, c) {}\n#define A_AT(m, k) LOAD_A(a_at + {})\n"
      "#define B_AT(k, n) LOAD_B(b_at + {}, n)\n",
      left.load, right.load, p.transpose_a ? "(k) * M + (m)" : "(m) * K + (k)", p.transpose_b ? "(n) * K + (k)" : "(k) * N + (n)");
  gemm.a_columns = p.transpose_a;
  gemm.b_rows = !p.transpose_b;
  gemm.result_at = "(batch * M + m) * N + n";
  return gemm;
}

namespace {

std::unique_ptr<Kernel> prepare_product(PrepareContext& context, bool few) {
  const NodeView& node = context.node();
  auto kernel = std::make_unique<Launches>(context);
  Gemm gemm = matmul_gemm(*kernel, MatMulGeometry::of(node), node, float_operand(node, 0, "a"), float_operand(node, 1, "b"));
  gemm.few = few;
  const bool is_gemm = node.op() == "Gemm";
  if (node.op() != "MatMul") gemm.alpha = node.attribute(Attribute<float>{"alpha", 1});
  if (is_gemm) {
    const Term terms[] = {{2, node.attribute(Attribute<float>{"beta", 1}), false}};
    add_terms(gemm, node, terms);
  } else if (node.op() != "MatMul") {
    gemm.activation = Activation::of(node);
    const Term terms[] = {{2, 1, false}, {3, 1, false}};
    add_terms(gemm, node, terms);
  }
  add_gemm(*kernel, context, gemm);
  return kernel;
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return prepare_product(context, false); }
std::unique_ptr<Kernel> prepare_few(PrepareContext& context) { return prepare_product(context, true); }

constexpr Scheme kSchemes[] = {{"MatMul", "gpu.matmul", estimate, prepare},
                               {"Gemm", "gpu.matmul", estimate, prepare},
                               {"minnow.FusedMatMul", "gpu.matmul", estimate, prepare},
                               {"MatMul", "gpu.matmul.few", estimate_few, prepare_few},
                               {"Gemm", "gpu.matmul.few", estimate_few, prepare_few},
                               {"minnow.FusedMatMul", "gpu.matmul.few", estimate_few, prepare_few}};

}  // namespace

std::span<const Scheme> matmul_schemes() { return kSchemes; }

}  // namespace minnow::gpu
