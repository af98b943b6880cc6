// SPDX-License-Identifier: Apache-2.0
// Products with one constant matrix on tensor cores. The other side is read as it lies where its rows are whole units of the packed type;
// else it is first rounded into chunks of 8 elements.
#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/tensor_cores.h"
#include "backends/gpu/schemes/wgmma.h"
#include "graph/matmul.h"

namespace minnow::gpu {
namespace {

constexpr size_t kLeft = 0, kRight = 1, kBias = 2, kAddend = 3;

bool is_gemm(const NodeView& node) { return node.op() == "Gemm"; }
bool is_fused(const NodeView& node) { return node.op() == "minnow.FusedMatMul"; }
bool has_addend(const NodeView& node) { return is_fused(node) && node.has_input(kAddend); }

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.pack != kPack) return declined("the device has no tensor cores");
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  if (node.has_input(kScale)) return declined("sums are rounded");
  if (packed_name(node, device).empty()) return declined("the precision allows neither 16 bits nor TF32");
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (p.k == 0 || p.transpose_a || !p.shares_b()) return declined("the left side is transposed, or there are several right sides");
  if (node.is_constant(kLeft) || !node.is_constant(kRight)) return declined("the right side is not the constant one");
  if (node.has_input(kBias) && node.op() != "MatMul" &&
      (!node.is_constant(kBias) || (node.input_shape(kBias).elements() != p.n && node.input_shape(kBias).elements() != 1) ||
       (node.input_shape(kBias).rank() > 0 &&
        node.input_shape(kBias)[node.input_shape(kBias).rank() - 1] != node.input_shape(kBias).elements())))
    return declined("the bias is not a constant one for the columns");
  if (has_addend(node) && (node.is_constant(kAddend) || node.input_shape(kAddend) != node.output_shape(0)))
    return declined("the addend is broadcast");
  return Estimate(0.5 * estimate_of(node, device, 0, 1, 1).seconds + tensor_seconds(p.multiply_adds(), device));
}

bool lies_in_units(const NodeView& node, const TensorGemm& gemm, int64_t depth) {
  return dialect_name(node.input_dtype(kLeft)) == gemm.type && depth % kPack == 0;
}

// All but the operands.
TensorGemm gemm_of(const NodeView& node, const Device& device) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  TensorGemm gemm;
  gemm.type = packed_name(node, device);
  gemm.rows = gemm.input_width = gemm.output_width = p.m * p.batches();
  gemm.columns = gemm.out_channels = p.n;
  gemm.set_depth(p.k);
  gemm.plain_result = dialect_name(node.output(0).dtype);
  if (is_fused(node)) gemm.activation = Activation::of(node);
  if (has_addend(node)) gemm.residual = Given::input(kAddend);
  return gemm;
}

// The bias in f32, filled up with zeros.
Given bias_of(Launches& kernel, const NodeView& node, int64_t columns) {
  const size_t padded = static_cast<size_t>((columns + kPack - 1) / kPack * kPack);
  const float beta = is_gemm(node) ? node.attribute(Attribute<float>{"beta", 1}) : 1;
  if (node.op() == "MatMul" || !node.has_input(kBias)) {
    const std::vector<float> zeros(padded, 0.0f);
    return kernel.constant(kernel.add_table(zeros.data(), padded * sizeof(float)));
  }
  return kernel.constant(kernel.add_packed(
      kBias, "gpu f32 row", {{"beta", beta}, {"count", padded}}, padded * sizeof(float), [&](const TensorView& bias, void* out) {
        const Floats values(bias);
        for (size_t i = 0; i < padded; ++i)
          static_cast<float*>(out)[i] =
              static_cast<int64_t>(i) < columns ? beta * values[bias.elements() == 1 ? 0 : static_cast<int64_t>(i)] : 0;
      }));
}

float alpha_of(const NodeView& node) { return node.op() == "MatMul" ? 1 : node.attribute(Attribute<float>{"alpha", 1}); }

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const MatMulGeometry p = MatMulGeometry::of(node);
  const float alpha = alpha_of(node);
  TensorGemm gemm = gemm_of(node, context.device());
  auto kernel = std::make_unique<Launches>(context);
  gemm.a_is_matrix = lies_in_units(node, gemm, p.k);
  gemm.a = gemm.a_is_matrix ? Given::input(kLeft) : add_rows_in_chunks(*kernel, context, kLeft, gemm.type, gemm.rows, p.k);
  gemm.bias = bias_of(*kernel, node, p.n);
  const size_t columns = kernel->add_packed(
      kRight, "gpu tensor matrix", {{"type", packed_key(gemm.type)}, {"alpha", alpha}, {"transposed", p.transpose_b}}, packed_bytes(gemm),
      [&](const TensorView& weight, void* out) {
        const Floats values(weight);
        pack_columns(
            gemm, [&](int64_t, int64_t, int64_t k, int64_t n) { return alpha * values[p.transpose_b ? n * p.k + k : k * p.n + n]; }, p.k,
            out);
      });
  add_tensor_gemm(*kernel, context, gemm, kernel->constant(columns));
  return kernel;
}

// By wgmma.
TensorGemm wgmma_gemm_of(const NodeView& node, const Device& device) {
  TensorGemm gemm = gemm_of(node, device);
  gemm.a_is_matrix = true;
  return gemm;
}

Estimate estimate_wgmma(const NodeView& node, const Device& device) {
  if (device.wgmma_units == 0) return unavailable("the device has no wgmma");
  Estimate other = estimate(node, device);
  if (!other.declined.empty()) return other;
  std::string reason;
  if (wgmma_columns(wgmma_gemm_of(node, device), device, reason) == 0) return declined("{}", reason);
  return Estimate(0.7 * other.seconds);
}

constexpr std::string_view kRounded = R"(
KERNEL(to_rows)(READ(MEM(T), x), WRITE(CHUNK, y), const int M, const int K) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0), units = (K + 7) / 8;
  if (i >= units * M) return;
  const int m = i / units, k = i % units * 8;
  float lanes[8];
  UNROLL for (int e = 0; e < 8; ++e) lanes[e] = k + e < K ? LOAD(T, x, m * K + k + e) : 0.0f;
  store_chunk(y + i, lanes);
}
)";

std::unique_ptr<Kernel> prepare_wgmma(PrepareContext& context) {
  const NodeView& node = context.node();
  const MatMulGeometry p = MatMulGeometry::of(node);
  const float alpha = alpha_of(node);
  TensorGemm gemm = wgmma_gemm_of(node, context.device());
  auto kernel = std::make_unique<Launches>(context);
  if (lies_in_units(node, gemm, p.k)) {
    gemm.a = Given::input(kLeft);
  } else {
    const size_t rows = context.reserve_scratch(static_cast<size_t>(gemm.rows * gemm.units) * 16);
    kernel->add_1d(format("#define T {}\n{}{}", dialect_name(node.input_dtype(kLeft)), chunk_definitions(gemm.type), kRounded), "to_rows",
                   gemm.rows * gemm.units, {Given::input(kLeft), Given::scratch(rows), gemm.rows, p.k});
    gemm.a = Given::scratch(rows);
  }
  gemm.bias = bias_of(*kernel, node, p.n);
  std::string reason;
  const int64_t tile = wgmma_columns(gemm, context.device(), reason);
  const size_t columns = kernel->add_packed(
      kRight, "gpu wgmma matrix", {{"type", packed_key(gemm.type)}, {"alpha", alpha}, {"transposed", p.transpose_b}, {"tile", tile}},
      wgmma_bytes(gemm, tile), [&](const TensorView& weight, void* out) {
        const Floats values(weight);
        pack_wgmma(
            gemm, tile, [&](int64_t, int64_t k, int64_t n) { return alpha * values[p.transpose_b ? n * p.k + k : k * p.n + n]; }, p.k, out);
      });
  add_wgmma(*kernel, context, gemm, kernel->constant(columns));
  return kernel;
}

constexpr Scheme kSchemes[] = {{"MatMul", "gpu.matmul.wgmma", estimate_wgmma, prepare_wgmma},
                               {"Gemm", "gpu.matmul.wgmma", estimate_wgmma, prepare_wgmma},
                               {"minnow.FusedMatMul", "gpu.matmul.wgmma", estimate_wgmma, prepare_wgmma},
                               {"MatMul", "gpu.matmul.tensor", estimate, prepare},
                               {"Gemm", "gpu.matmul.tensor", estimate, prepare},
                               {"minnow.FusedMatMul", "gpu.matmul.tensor", estimate, prepare}};

}  // namespace

std::span<const Scheme> tensor_matmul_schemes() { return kSchemes; }

}  // namespace minnow::gpu
