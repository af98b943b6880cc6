// SPDX-License-Identifier: Apache-2.0
// Quantized tensors: to and from real numbers, and products and convolutions of bytes, whose sums are integers as on the processor.
#include <algorithm>

#include "backends/gpu/schemes/gemm.h"
#include "backends/gpu/schemes/integers.h"
#include "backends/gpu/schemes/kernel_text.h"
#include "backends/gpu/schemes/window3.h"

namespace minnow::gpu {
namespace {

bool is_small_integer(DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16 || dtype == DType::u16; }

Estimate estimate_scaled(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  const bool quantizes = node.op() == "QuantizeLinear";
  if (node.input_dtype(1) != DType::f32) return declined("the dtype of the scale is {}", node.input_dtype(1));
  const DType small = quantizes ? node.output(0).dtype : node.input_dtype(0), real = quantizes ? node.input_dtype(0) : node.output(0).dtype;
  if (!is_small_integer(small) && !(small == DType::i32 && !quantizes)) return declined("the dtype is {}", small);
  if (!is_real(real)) return declined("the dtype is {}", real);
  if (const int64_t precision = node.attribute(kPrecision); precision != 0 && precision != static_cast<int64_t>(DType::f32))
    return declined("the quotient has a precision of its own");
  return estimate_of(node, device);
}

std::unique_ptr<Kernel> prepare_scaled(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape &x = node.input_shape(0), &scale = node.input_shape(1);
  const bool quantizes = node.op() == "QuantizeLinear";
  const int64_t block = node.attribute(kBlockSize);
  const bool whole = block == 0 && scale.elements() == 1 && scale.rank() <= 1;
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.input(1, "scale");
  text.input(2, "zero");
  text.output(0, "y");
  const size_t axis = whole ? 0 : node.normalize_axis(node.attribute(kAxis), x.rank());
  text.number("inner", whole ? 1 : x.product(axis + 1, x.rank()));
  text.number("length", whole ? 1 : x[axis]);
  text.number("block", std::max<int64_t>(block, 1));
  text.number("scales", whole ? 1 : scale[block ? axis : 0]);
  text.define("PLACE", whole   ? "0"
                       : block ? "((i / inner / length * scales + i / inner % length / block) * inner + i % inner)"
                               : "(i / inner % length)");
  if (quantizes) {
    text.define("LOW", lowest_of(node.output(0).dtype));
    text.define("HIGH", highest_of(node.output(0).dtype));
  }
  text.add_items("scaled", x.elements(),
                 quantizes ? R"(
  const int place = PLACE;
  int z = 0;
#if HAS_zero
  z = GET(zero, place);
#endif
  const float q = rint(QUOTIENT(GET(x, i), GET(scale, place))) + (float)z;
  PUT(y, i, q != q ? z : q < LOW ? LOW : q > HIGH ? HIGH : (int)q);
)"
                           : R"(
  const int place = PLACE;
  i64 v = GET(x, i);
#if HAS_zero
  v -= GET(zero, place);
#endif
  PUT(y, i, (float)v * GET(scale, place));
)");
  return kernel;
}

// ---- Products and convolutions

// A scale or a zero point: one, or one for each of `count`.
bool is_along(const NodeView& node, size_t i, int64_t count) {
  return !node.has_input(i) || node.input_shape(i).elements() == 1 || (node.input_shape(i).rank() == 1 && node.input_shape(i)[0] == count);
}

Estimate estimate_sums(const NodeView& node, const Device& device, double products, int64_t rows, int64_t columns, int64_t terms) {
  const IntegerInputs places(node);
  for (const size_t i : {size_t{0}, places.b, places.a_zero, places.b_zero})
    if (node.has_input(i) && node.input_dtype(i) != DType::u8 && node.input_dtype(i) != DType::i8)
      return declined("the dtype of input {} is {}", i, node.input_dtype(i));
  if (terms > 32768) return declined("sums of {} products may not fit 32 bits", terms);
  bool fits = is_along(node, places.a_zero, rows) && is_along(node, places.b_zero, columns);
  if (const std::string reason = places.rescales ? IntegerEnds::refusal(node, columns) : std::string(); !reason.empty()) {
    if (!node.has_input(6) || IntegerEnds::has_residual(node)) return declined("{}", reason);
    if (node.op() == "minnow.QuantizedConv" && node.input_shape(1).elements() != 1)
      return declined("channels of x have scales of their own");
    if (const Activation activation = Activation::of(node); !activation.joins_rounding())
      return declined("the activation is {}", activation.name());
    if (node.has_input(8) && node.input_dtype(8) != DType::i32) return declined("the bias is {}", node.input_dtype(8));
    for (const size_t i : {size_t{1}, size_t{4}, size_t{6}})
      if (node.input_dtype(i) != DType::f32) return declined("the dtype of input {} is {}", i, node.input_dtype(i));
    if (!is_small_integer(node.output(0).dtype)) return declined("the dtype is {}", node.output(0).dtype);
    fits = fits && is_along(node, 1, rows) && is_along(node, 4, columns) && is_along(node, 6, 1) && is_along(node, 7, 1);
  }
  if (!fits) return declined("scales or zero points are neither one nor along rows and columns");
  return estimate_of(node, device, products, 0.1);
}

// The inputs, and what the sum of element `at`, of row `row` and column `column`, is stored by: FINISH(at, row, column).
void add_inputs(KernelText& text, const NodeView& node, int64_t columns) {
  const IntegerInputs places(node);
  text.input(0, "a");
  text.input(places.b, "b");
  text.input(places.a_zero, "a_zero");
  text.input(places.b_zero, "b_zero");
  text.output(0, "y");
  const auto along = [&](std::string_view name, size_t i, std::string_view place) {
    text.define(name, !node.has_input(i) ? "0" : node.input_shape(i).elements() == 1 ? "0" : place);
  };
  along("A_ZERO_AT(row)", places.a_zero, "(row)");
  along("B_ZERO_AT(column)", places.b_zero, "(column)");
  if (!places.rescales) return text.define("FINISH(at, row, column)", "PUT(y, at, sum)");
  if (IntegerEnds::refusal(node, columns).empty()) {
    text.table(IntegerEnds::table(node, columns), "ends");
    text.input(IntegerEnds::kResidual, "residual");
    text.define("FINISH(at, row, column)", "{ " + IntegerEnds::statements(node, "column", "GET(residual, at)") + "PUT(y, at, result); }");
    return;
  }
  text.input(1, "a_scale");
  text.input(4, "b_scale");
  text.input(6, "y_scale");
  text.input(7, "y_zero");
  text.input(8, "bias");
  along("A_SCALE_AT(row)", 1, "(row)");
  along("B_SCALE_AT(column)", 4, "(column)");
  along("BIAS_AT(column)", 8, "(column)");
  const DType dtype = node.output(0).dtype;
  text.define("LOW", lowest_of(dtype));
  text.define("HIGH", highest_of(dtype));
  text.define("RELU", Activation::of(node).kind == Activation::Kind::relu ? 1 : 0);
  text.define("ADD_BIAS(column)", node.has_input(8) ? "total += GET(bias, BIAS_AT(column));" : "");
  text.define(
      "FINISH(at, row, column)",
      "{ i64 total = sum; ADD_BIAS(column) const int z = GET(y_zero, 0); const int least = RELU && z > LOW ? z : LOW; "
      "const float q = rint((float)total * QUOTIENT(GET(a_scale, A_SCALE_AT(row)) * GET(b_scale, B_SCALE_AT(column)), GET(y_scale, 0))); "
      "PUT(y, at, q != q ? z : q < (float)(least - z) ? least : q > (float)(HIGH - z) ? HIGH : (int)q + z); }");
}

Estimate estimate_matmul(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (p.k == 0) return declined("there is nothing to sum");
  if ((p.m + 15) / 16 * p.batches() > 65535) return declined("there are too many rows");
  if (node.has_input(8) && node.input_shape(8).elements() != p.n) return declined("the bias is not one for each column");
  return estimate_sums(node, device, 2 * p.multiply_adds(), p.m, p.n, p.k);
}

std::unique_ptr<Kernel> prepare_matmul(PrepareContext& context) {
  const NodeView& node = context.node();
  const MatMulGeometry p = MatMulGeometry::of(node);
  std::vector<int32_t> matrices;
  for (int64_t i = 0; i < p.batches(); ++i) {
    matrices.push_back(static_cast<int32_t>(p.a_matrix(i)));
    matrices.push_back(static_cast<int32_t>(p.b_matrix(i)));
  }
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  add_inputs(text, node, p.n);
  text.table(matrices, "matrices");
  text.number("M", p.m);
  text.number("N", p.n);
  text.number("K", p.k);
  text.add_groups("integer_product", (p.n + 15) / 16, 256, R"(
  LOCAL int as[16][17];
  LOCAL int bs[16][17];
  const int tiles = (M + 15) / 16, batch = GROUP(1) / tiles, r = ITEM(0) / 16, c = ITEM(0) % 16;
  const int row = GROUP(1) % tiles * 16 + r, column = GROUP(0) * 16 + c;
  const int a_at = matrices[2 * batch] * (M * K), b_at = matrices[2 * batch + 1] * (K * N);
  int az = 0, bz = 0, sum = 0;
#if HAS_a_zero
  az = GET(a_zero, A_ZERO_AT(row < M ? row : 0));
#endif
#if HAS_b_zero
  bz = GET(b_zero, B_ZERO_AT(column < N ? column : 0));
#endif
  for (int k0 = 0; k0 < K; k0 += 16) {
    as[r][c] = row < M && k0 + c < K ? GET(a, a_at + row * K + k0 + c) - az : 0;
    bs[r][c] = column < N && k0 + r < K ? GET(b, b_at + (k0 + r) * N + column) - bz : 0;
    BARRIER();
    UNROLL for (int k = 0; k < 16; ++k) sum += as[r][k] * bs[k][c];
    BARRIER();
  }
  if (row < M && column < N) FINISH((batch * M + row) * N + column, row, column)
  ;
)",
                  {}, (p.m + 15) / 16 * p.batches());
  return kernel;
}

Estimate estimate_conv(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  const ConvGeometry conv = ConvGeometry::of(node);
  if (conv.window.rank() < 1 || conv.window.rank() > 3) return declined("there are {} spatial dimensions", conv.window.rank());
  return estimate_sums(node, device, 2 * conv.multiply_adds(), 1, conv.out_channels, conv.in_channels_per_group() * conv.window.taps());
}

std::unique_ptr<Kernel> prepare_conv(PrepareContext& context) {
  const NodeView& node = context.node();
  const ConvGeometry conv = ConvGeometry::of(node);
  const Window3 window(conv.window);
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  add_inputs(text, node, conv.out_channels);
  constexpr std::string_view kAxes = "DHW";
  for (size_t k = 0; k < 3; ++k) {
    const auto number = [&](char what, int64_t value) { text.number(format("{}{}", what, kAxes[k]), value); };
    number('I', window.input[k]), number('O', window.output[k]), number('K', window.kernel[k]), number('S', window.stride[k]),
        number('D', window.dilation[k]), number('P', window.pad[k]);
  }
  text.number("channels", conv.out_channels);
  text.number("per_group", conv.in_channels_per_group());
  text.number("out_per_group", conv.out_channels_per_group());
  text.number("inputs", conv.in_channels);
  text.add_items("integer_conv", node.output_shape(0).elements(), R"(
  const int px = i % OW, py = i / OW % OH, pz = i / (OW * OH) % OD, channel = i / (OW * OH * OD) % channels, image = i / (OW * OH * OD) / channels;
  int az = 0, bz = 0, sum = 0;
#if HAS_a_zero
  az = GET(a_zero, 0);
#endif
#if HAS_b_zero
  bz = GET(b_zero, B_ZERO_AT(channel));
#endif
  for (int c = 0; c < per_group; ++c) {
    const int plane = image * inputs + channel / out_per_group * per_group + c;
    for (int kz = 0; kz < KD; ++kz) for (int ky = 0; ky < KH; ++ky) for (int kx = 0; kx < KW; ++kx) {
      const int z = pz * SD - PD + kz * DD, yy = py * SH - PH + ky * DH, xx = px * SW - PW + kx * DW;
      if (z < 0 || z >= ID || yy < 0 || yy >= IH || xx < 0 || xx >= IW) continue;
      sum += (GET(a, ((plane * ID + z) * IH + yy) * IW + xx) - az) *
             (GET(b, (((channel * per_group + c) * KD + kz) * KH + ky) * KW + kx) - bz);
    }
  }
  FINISH(i, 0, channel)
  ;
)");
  return kernel;
}

// ---- In tiles, where zero points are constant.

// Bytes less their zero point, as floats; a table if channels have zero points of their own.
Operand operand_of(const NodeView& node, size_t input, size_t zero, std::string_view name) {
  const std::string_view dtype = dialect_name(node.input_dtype(input));
  std::string less;
  if (node.has_input(zero)) {
    const Ints zeros = node.ints(zero);
    if (std::all_of(zeros.begin(), zeros.end(), [&](int64_t z) { return z == zeros[0]; }))
      less = zeros[0] ? format(" - ({})", zeros[0]) : "";
    else
      less = format(" - {}_zeros[c]", name);
  }
  return {input, format("(float)(LOAD({}, {}, i){})", dtype, name, less)};
}
void add_zeros(Launches& kernel, Gemm& gemm, const NodeView& node, size_t zero, const Operand& operand, std::string_view name) {
  if (!operand.load.ends_with("[c])")) return;
  const Ints zeros = node.ints(zero);
  const std::vector<int32_t> table(zeros.begin(), zeros.end());
  gemm.parameters += format("READ(i32, {}_zeros), ", name);
  gemm.pointers += format("  USE_READ(i32, {}_zeros);\n", name);
  gemm.given.push_back(kernel.constant(kernel.add_table(table.data(), table.size() * sizeof(int32_t))));
}
// `channel`: the expression of the output channel.
void finish(Launches& kernel, Gemm& gemm, const NodeView& node, std::string_view channel, int64_t channels) {
  gemm.integers = true;
  const std::string_view dtype = dialect_name(node.output(0).dtype);
  if (!IntegerInputs(node).rescales) {
    gemm.finish = format("      STORE({}, y, i, sum);\n", dtype);
    return;
  }
  const std::vector<int32_t> ends = IntegerEnds::table(node, channels);
  gemm.term_parameters = ", READ(i32, ends)";
  gemm.term_given.push_back(kernel.constant(kernel.add_table(ends.data(), ends.size() * sizeof(int32_t))));
  std::string residual;
  if (IntegerEnds::has_residual(node)) {
    const std::string_view bytes = dialect_name(node.input_dtype(IntegerEnds::kResidual));
    gemm.term_parameters += format(", UPDATE(MEM({}), residual)", bytes);
    gemm.term_given.push_back(Given::input(IntegerEnds::kResidual));
    gemm.finish = format("      USE_READ(MEM({}), residual);\n", bytes);
    residual = format("LOAD({}, residual, i)", bytes);
  }
  gemm.finish +=
      format("      USE_READ(i32, ends);\n      {}STORE({}, y, i, result);\n", IntegerEnds::statements(node, channel, residual), dtype);
}

// Why tiles do not serve; empty: they do.
std::string refusal_of_tiles(const NodeView& node, int64_t columns) {
  const IntegerInputs inputs(node);
  for (const size_t i : {inputs.a_zero, inputs.b_zero})
    if (node.has_input(i) && !node.is_constant(i)) return format("input {} is not constant", i);
  if (node.has_input(inputs.a_zero) && node.input_shape(inputs.a_zero).elements() != 1) return "rows have zero points of their own";
  return inputs.rescales ? IntegerEnds::refusal(node, columns) : std::string();
}

Estimate estimate_tiled_matmul(const NodeView& node, const Device& device) {
  Estimate other = estimate_matmul(node, device);
  if (!other.declined.empty()) return other;
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (std::string reason = refusal_of_tiles(node, p.n); !reason.empty()) return declined("{}", reason);
  if (std::string reason = refusal_of_gemm(p); !reason.empty()) return declined("{}", reason);
  return estimate_of(node, device, 2 * p.multiply_adds(), 0.25);
}

std::unique_ptr<Kernel> prepare_tiled_matmul(PrepareContext& context) {
  const NodeView& node = context.node();
  const IntegerInputs inputs(node);
  const MatMulGeometry p = MatMulGeometry::of(node);
  auto kernel = std::make_unique<Launches>(context);
  const Operand a = operand_of(node, 0, inputs.a_zero, "a"), b = operand_of(node, inputs.b, inputs.b_zero, "b");
  Gemm gemm = matmul_gemm(*kernel, p, node, a, b);
  add_zeros(*kernel, gemm, node, inputs.b_zero, b, "b");
  finish(*kernel, gemm, node, "n", p.n);
  add_gemm(*kernel, context, gemm);
  return kernel;
}

Estimate estimate_tiled_conv(const NodeView& node, const Device& device) {
  Estimate other = estimate_conv(node, device);
  if (!other.declined.empty()) return other;
  const ConvGeometry conv = ConvGeometry::of(node);
  if (std::string reason = refusal_of_tiles(node, conv.out_channels); !reason.empty()) return declined("{}", reason);
  if (conv.groups > 1 && conv.out_channels_per_group() < 16)
    return declined("there are {} groups of {} channels", conv.groups, conv.out_channels_per_group());
  if (std::string reason = refusal_of_gemm(conv.out_channels_per_group(), conv.groups); !reason.empty()) return declined("{}", reason);
  return estimate_of(node, device, 2 * conv.multiply_adds(), 0.25);
}

std::unique_ptr<Kernel> prepare_tiled_conv(PrepareContext& context) {
  const NodeView& node = context.node();
  const IntegerInputs inputs(node);
  const ConvGeometry conv = ConvGeometry::of(node);
  auto kernel = std::make_unique<Launches>(context);
  const Operand x = operand_of(node, 0, inputs.a_zero, "x"), w = operand_of(node, inputs.b, inputs.b_zero, "w");
  Gemm gemm = conv_gemm(node, conv, x, w);
  add_zeros(*kernel, gemm, node, inputs.b_zero, w, "w");
  finish(*kernel, gemm, node, "(batch * M + m)", conv.out_channels);
  add_gemm(*kernel, context, gemm);
  return kernel;
}

#define MINNOW_CONV(op) \
  {op, "gpu.integer_conv.tiled", estimate_tiled_conv, prepare_tiled_conv}, { op, "gpu.integer_conv", estimate_conv, prepare_conv }
#define MINNOW_PRODUCT(op)                                                          \
  {op, "gpu.integer_product.tiled", estimate_tiled_matmul, prepare_tiled_matmul}, { \
    op, "gpu.integer_product", estimate_matmul, prepare_matmul                      \
  }
constexpr Scheme kSchemes[] = {MINNOW_CONV("ConvInteger"),          {"DequantizeLinear", "gpu.scaled", estimate_scaled, prepare_scaled},
                               MINNOW_PRODUCT("MatMulInteger"),     MINNOW_CONV("QLinearConv"),
                               MINNOW_PRODUCT("QLinearMatMul"),     {"QuantizeLinear", "gpu.scaled", estimate_scaled, prepare_scaled},
                               MINNOW_CONV("minnow.QuantizedConv"), MINNOW_PRODUCT("minnow.QuantizedMatMul")};
#undef MINNOW_CONV
#undef MINNOW_PRODUCT

}  // namespace

std::span<const Scheme> integer_schemes() { return kSchemes; }

}  // namespace minnow::gpu
