// SPDX-License-Identifier: Apache-2.0
// Bytes in the packed layout: convolutions and matrix products on tensor cores, depthwise convolutions with an item for each chunk of a
// result, and quantization from and to plain real numbers.
#include <algorithm>
#include <optional>

#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/integers.h"
#include "backends/gpu/schemes/tensor_cores.h"
#include "graph/matmul.h"

namespace minnow::gpu {
namespace {

// A zero point that all channels share; empty: there is none, or it is not constant.
std::optional<int64_t> zero_of(const NodeView& node, size_t input) {
  if (!node.has_input(input)) return 0;
  if (!node.is_constant(input)) return std::nullopt;
  const Ints zeros = node.ints(input);
  const bool one = !zeros.empty() && std::all_of(zeros.begin(), zeros.end(), [&](int64_t zero) { return zero == zeros[0]; });
  return one ? std::optional(zeros[0]) : std::nullopt;
}
int64_t weight_of(const TensorView& w, int64_t i, int64_t zero) {
  return (w.dtype() == DType::i8 ? int64_t{w.data<int8_t>()[i]} : int64_t{w.data<uint8_t>()[i]}) - zero;
}
int64_t weight_zero_of(const NodeView& node) { return zero_of(node, IntegerInputs(node).b_zero).value_or(0); }
int64_t x_zero_of(const NodeView& node) { return zero_of(node, IntegerInputs(node).a_zero).value_or(0); }

// Why convolutions and products with that many output channels are declined; empty: they are not.
std::string refusal_of_product(const NodeView& node, const Device& device, int64_t channels) {
  if (device.pack != kPack) return "the device has no packed layout";
  if (std::string reason = refusal(node); !reason.empty()) return reason;
  const IntegerInputs inputs(node);
  if (!is_byte(node.input_dtype(0)) || !is_byte(node.input_dtype(inputs.b))) return "x or w is no tensor of bytes";
  if (node.is_constant(0) || node.is_constant(IntegerEnds::kResidual)) return "the input, or the residual, is constant";
  if (!node.is_constant(inputs.b)) return "the weights are not constant";
  if (!zero_of(node, inputs.a_zero) || !zero_of(node, inputs.b_zero)) return "a zero point is not one constant for all channels";
  if (std::string reason = IntegerEnds::refusal(node, channels); !reason.empty()) return reason;
  const Tensor& w = node.contents(inputs.b);
  const int64_t zero = weight_zero_of(node);
  if (zero != (w.dtype() == DType::i8 ? 0 : 128))
    for (int64_t i = 0; i < w.elements(); ++i)
      if (const int64_t value = weight_of(w, i, zero); value < -128 || value > 127) return "the weights less their zero point are no i8";
  if (w.elements() > 32768 * channels) return "sums may not fit 32 bits";
  return {};
}
std::string refusal_of_conv(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_product(node, device, node.output_shape(0)[1]); !reason.empty()) return reason;
  const size_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 4) return format("there are {} spatial dimensions", static_cast<int64_t>(rank) - 2);
  if (node.input_shape(0).elements() == 0) return "the input is empty";
  return {};
}

Estimate packed_estimate(const NodeView& node, double seconds) {
  Estimate estimate(seconds);
  estimate.packed_inputs = 1 | (IntegerEnds::has_residual(node) ? uint64_t{1} << IntegerEnds::kResidual : 0);
  estimate.packed_outputs = is_byte(node.output(0).dtype) ? 1 : 0;  // real numbers in the plain layout
  return estimate;
}

Estimate estimate_tensor(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_conv(node, device); !reason.empty()) return declined("{}", reason);
  const ConvGeometry conv = ConvGeometry::of(node);
  if (conv.groups > 1 && (conv.in_channels_per_group() % 16 || conv.out_channels_per_group() % kPack))
    return declined("groups have {} and {} channels", conv.in_channels_per_group(), conv.out_channels_per_group());
  if (!is_byte(node.output(0).dtype) && conv.groups > 1) return declined("the result is {}", node.output(0).dtype);
  return packed_estimate(node, tensor_seconds(conv.multiply_adds(), device));
}

// The table of ends, for whole chunks of channels. `x_zero`: sums are those of x itself, so that its zero point is taken off with the bias.
Given ends_of(Launches& kernel, const NodeView& node, int64_t channels, int64_t x_zero, bool channels_last = false) {
  std::vector<int32_t> ends = IntegerEnds::table(node, channels);
  const Tensor& w = node.contents(IntegerInputs(node).b);
  const int64_t depth = w.elements() / channels, zero = weight_zero_of(node);
  for (int64_t i = 0; x_zero != 0 && i < w.elements(); ++i)
    ends[static_cast<size_t>((channels_last ? i % channels : i / depth) * 4)] -= static_cast<int32_t>(x_zero * weight_of(w, i, zero));
  ends.resize(static_cast<size_t>((channels + kPack - 1) / kPack * kPack * 4), 0);
  return kernel.constant(kernel.add_table(ends.data(), ends.size() * sizeof(int32_t)));
}

std::unique_ptr<Kernel> prepare_tensor(PrepareContext& context) {
  const NodeView& node = context.node();
  const ConvGeometry conv = ConvGeometry::of(node);
  const int64_t channels = conv.in_channels_per_group(), taps = conv.window.taps();
  TensorGemm gemm = tensor_gemm_of(conv);
  const int64_t zero = weight_zero_of(node);
  gemm.type = packed_name(node, context.device());
  gemm.set_depth(channels);
  gemm.in_chunks = (conv.in_channels + kPack - 1) / kPack;
  gemm.pairs = gemm.in_chunks == 1;
  if (!is_byte(node.output(0).dtype)) gemm.plain_result = dialect_name(node.output(0).dtype), gemm.plain_images = true;
  gemm.finish = IntegerEnds::statements(node, "channel", "more");
  if (IntegerEnds::has_residual(node)) {
    gemm.residual = Given::input(IntegerEnds::kResidual);
    gemm.residual_bytes = dialect_name(node.input_dtype(IntegerEnds::kResidual));
  }
  auto kernel = std::make_unique<Launches>(context);
  gemm.bias = ends_of(*kernel, node, conv.out_channels, x_zero_of(node));
  const std::vector<uint8_t> fill(kPack, static_cast<uint8_t>(x_zero_of(node)));
  gemm.fill = kernel->constant(kernel->add_table(fill.data(), fill.size()));
  const size_t filters = kernel->add_packed(
      IntegerInputs(node).b, "gpu tensor bytes", {{"groups", gemm.groups}, {"zero", zero}, {"pairs", gemm.pairs}}, packed_bytes(gemm),
      [&](const TensorView& weight, void* out) {
        pack_columns(
            gemm,
            [&](int64_t group, int64_t tap, int64_t channel, int64_t column) {
              return static_cast<float>(weight_of(weight, ((group * gemm.columns + column) * channels + channel) * taps + tap, zero));
            },
            channels, out);
      });
  add_tensor_gemm(*kernel, context, gemm, kernel->constant(filters));
  return kernel;
}

// ---- Matrix products

Estimate estimate_matmul(const NodeView& node, const Device& device) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  if (p.k == 0 || p.transpose_a || !p.shares_b()) return declined("there are several right sides, or nothing to sum");
  if (std::string reason = refusal_of_product(node, device, p.n); !reason.empty()) return declined("{}", reason);
  return Estimate(0.5 * estimate_of(node, device, 0, 1, 1).seconds + tensor_seconds(p.multiply_adds(), device));
}

std::unique_ptr<Kernel> prepare_matmul(PrepareContext& context) {
  const NodeView& node = context.node();
  const MatMulGeometry p = MatMulGeometry::of(node);
  const int64_t zero = weight_zero_of(node);
  TensorGemm gemm;
  gemm.type = packed_name(node, context.device());
  gemm.rows = gemm.input_width = gemm.output_width = p.m * p.batches();
  gemm.columns = gemm.out_channels = p.n;
  gemm.set_depth(p.k);
  gemm.in_chunks = (p.k + kPack - 1) / kPack;
  gemm.plain_result = dialect_name(node.output(0).dtype);
  gemm.finish = IntegerEnds::statements(node, "channel", {});
  auto kernel = std::make_unique<Launches>(context);
  gemm.a = add_rows_in_chunks(*kernel, context, 0, gemm.type, gemm.rows, p.k);
  gemm.bias = ends_of(*kernel, node, p.n, x_zero_of(node), !p.transpose_b);
  const std::vector<uint8_t> fill(kPack, 0);  // nothing lies outside but what meets weights of 0
  gemm.fill = kernel->constant(kernel->add_table(fill.data(), fill.size()));
  const size_t columns =
      kernel->add_packed(IntegerInputs(node).b, "gpu tensor byte matrix", {{"transposed", p.transpose_b}, {"zero", zero}},
                         packed_bytes(gemm), [&](const TensorView& weight, void* out) {
                           pack_columns(
                               gemm,
                               [&](int64_t, int64_t, int64_t k, int64_t n) {
                                 return static_cast<float>(weight_of(weight, p.transpose_b ? n * p.k + k : k * p.n + n, zero));
                               },
                               p.k, out);
                         });
  add_tensor_gemm(*kernel, context, gemm, kernel->constant(columns));
  return kernel;
}

// ---- Depthwise

Estimate estimate_depthwise(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_conv(node, device); !reason.empty()) return declined("{}", reason);
  const ConvGeometry conv = ConvGeometry::of(node);
  if (!conv.is_depthwise() || conv.out_channels != conv.in_channels)
    return declined("it is not depthwise with one filter for each channel");
  if (IntegerEnds::has_residual(node)) return declined("there is a residual");
  if (conv.window.taps() > 256) return declined("sums of {} taps are not exact in f32", conv.window.taps());
  if (!is_byte(node.output(0).dtype)) return declined("the result is {}", node.output(0).dtype);
  return packed_estimate(node, 0.5 * (3e-6 + estimate_of(node, device, 2 * conv.multiply_adds(), 0.25).seconds));
}

constexpr std::string_view kDepthwise = R"(
KERNEL(depthwise)(READ(CHUNK, x), READ(float4, w), READ(i32, ends), WRITE(CHUNK, y), const int n, const int C, const int CB,
                  WINDOW_PARAMETERS) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int px = i % OW, py = i / OW % OH, plane = i / (OW * OH), chunk = plane % CB;
  float sums[8];
  u32 results[8];
  UNROLL for (int e = 0; e < 8; ++e) sums[e] = 0;
  UNROLL for (int ky = 0; ky < KH; ++ky) UNROLL for (int kx = 0; kx < KW; ++kx) {
    const int yy = py * SH - PH + ky * DH, xx = px * SW - PW + kx * DW;
    if ((unsigned)yy < (unsigned)IH && (unsigned)xx < (unsigned)IW) {
      float v[8];
      load_chunk(v, x + (plane * IH + yy) * IW + xx, X_ZERO);
      const float4* const filter = w + ((ky * KW + kx) * CB + chunk) * 2;
      const float4 a = filter[0], b = filter[1];
      const float f[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
      UNROLL for (int e = 0; e < 8; ++e) sums[e] = FMA(v[e], f[e], sums[e]);
    }
  }
  UNROLL for (int e = 0; e < 8; ++e) {
    const int channel = chunk * 8 + e, sum = (int)sums[e];
    FINISH
    results[e] = channel < C ? result : 0;
  }
  y[i] = make_uint2(lowest_bytes(results[0], results[1], results[2], results[3]), lowest_bytes(results[4], results[5], results[6], results[7]));
}
)";

std::unique_ptr<Kernel> prepare_depthwise(PrepareContext& context) {
  const NodeView& node = context.node();
  const ConvGeometry conv = ConvGeometry::of(node);
  const Window3 window(conv.window);
  const Packed packed(node.output_shape(0));
  const int64_t zero = weight_zero_of(node), taps = conv.window.taps(), padded = packed.chunks * kPack;
  auto kernel = std::make_unique<Launches>(context);
  // As [tap][C / 8][8].
  const size_t filters = kernel->add_packed(IntegerInputs(node).b, "gpu depthwise bytes", {{"zero", zero}},
                                            static_cast<size_t>(taps * padded) * sizeof(float), [&](const TensorView& weight, void* out) {
                                              auto* to = static_cast<float*>(out);
                                              for (int64_t tap = 0; tap < taps; ++tap)
                                                for (int64_t c = 0; c < padded; ++c)
                                                  *to++ =
                                                      c < packed.channels ? static_cast<float>(weight_of(weight, c * taps + tap, zero)) : 0;
                                            });
  std::vector<Given> given = {Given::input(0),
                              kernel->constant(filters),
                              ends_of(*kernel, node, conv.out_channels, 0),
                              Given::output(0),
                              packed.count(),
                              packed.channels,
                              packed.chunks};
  window.append(given);
  // Chunks are loaded and stored as one type.
  kernel->add_1d(format("#define FINISH {}\n#define X_ZERO {}\n#define WINDOW_PARAMETERS {}\n",
                        IntegerEnds::statements(node, "channel", {}), literal(static_cast<float>(x_zero_of(node))), Window3::kParameters) +
                     window.definitions() + chunk_definitions(packed_name(node, context.device())) + std::string(kDepthwise),
                 "depthwise", packed.count(), std::move(given));
  return kernel;
}

// ---- QuantizeLinear and DequantizeLinear

Estimate estimate_scaled(const NodeView& node, const Device& device) {
  if (device.pack != kPack) return declined("the device has no packed layout");
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  const bool quantizes = node.op() == "QuantizeLinear";
  const DType bytes = quantizes ? node.output(0).dtype : node.input_dtype(0), real = quantizes ? node.input_dtype(0) : node.output(0).dtype;
  const Shape &x = node.input_shape(0), &scale = node.input_shape(1);
  if (!is_byte(bytes) || real != DType::f32 || node.input_dtype(1) != DType::f32) return declined("the dtypes are {} and {}", bytes, real);
  if (node.is_constant(0)) return declined("the input is constant");
  if (x.rank() < 3) return declined("there are no spatial dimensions");
  const bool of_channels = scale.rank() == 1 && scale[0] == x[1] && node.normalize_axis(node.attribute(kAxis), x.rank()) == 1;
  if (scale.elements() != 1 && !of_channels) return declined("scales are neither one nor one for each channel");
  if (node.attribute(kBlockSize) != 0) return declined("scales are those of blocks");
  if (const int64_t precision = node.attribute(kPrecision); precision != 0 && precision != static_cast<int64_t>(DType::f32))
    return declined("the quotient has a precision of its own");
  Estimate estimate(0.9 * estimate_of(node, device).seconds);
  (quantizes ? estimate.packed_outputs : estimate.packed_inputs) = 1;
  return estimate;
}

constexpr std::string_view kScaled = R"(
KERNEL(quantize)(READ(float, x), READ(float, scale), READ(BYTE, zero), WRITE(CHUNK, y), const int n, const int C, const int CB, const int P) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int position = i % P, chunk = i / P % CB, b = i / P / CB;
  float lanes[8];
  UNROLL for (int e = 0; e < 8; ++e) {
    const int channel = chunk * 8 + e;
    lanes[e] = channel < C ? QUANTIZED(rint(QUOTIENT(x[(b * C + channel) * P + position], scale[AT])), (float)ZERO, LOW, HIGH) : 0.0f;
  }
  store_chunk(y + i, lanes);
}
KERNEL(dequantize)(READ(CHUNK, x), READ(float, scale), READ(BYTE, zero), WRITE(float, y), const int n, const int C, const int CB, const int P) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int position = i % P, chunk = i / P % CB, b = i / P / CB;
  float lanes[8];
  load_chunk(lanes, x + i);
  UNROLL for (int e = 0; e < 8; ++e) {
    const int channel = chunk * 8 + e;
    if (channel < C) y[(b * C + channel) * P + position] = (lanes[e] - (float)ZERO) * scale[AT];
  }
}
)";

std::unique_ptr<Kernel> prepare_scaled(PrepareContext& context) {
  const NodeView& node = context.node();
  const bool quantizes = node.op() == "QuantizeLinear", has_zero = node.has_input(2);
  const DType bytes = quantizes ? node.output(0).dtype : node.input_dtype(0);
  const Packed packed(node.input_shape(0));
  auto kernel = std::make_unique<Launches>(context);
  const std::string definitions = format("#define AT {}\n#define ZERO {}\n#define LOW {}.0f\n#define HIGH {}.0f\n",
                                         node.input_shape(1).elements() == 1 ? "0" : "channel",
                                         !has_zero                             ? "0"
                                         : node.input_shape(2).elements() == 1 ? "zero[0]"
                                                                               : "zero[channel]",
                                         lowest_of(bytes), highest_of(bytes));
  kernel->add_1d(definitions + chunk_definitions(dialect_name(bytes)) + std::string(kScaled), quantizes ? "quantize" : "dequantize",
                 packed.count(),
                 {Given::input(0), Given::input(1), Given::input(has_zero ? 2 : 1), Given::output(0), packed.count(), packed.channels,
                  packed.chunks, packed.positions});
  return kernel;
}

#define MINNOW_CONV(op)                                                     \
  {op, "gpu.conv.tensor_bytes", estimate_tensor, prepare_tensor}, {         \
    op, "gpu.depthwise.packed_bytes", estimate_depthwise, prepare_depthwise \
  }
constexpr Scheme kSchemes[] = {MINNOW_CONV("QLinearConv"),
                               MINNOW_CONV("minnow.QuantizedConv"),
                               {"QLinearMatMul", "gpu.matmul.tensor_bytes", estimate_matmul, prepare_matmul},
                               {"minnow.QuantizedMatMul", "gpu.matmul.tensor_bytes", estimate_matmul, prepare_matmul},
                               {"QuantizeLinear", "gpu.scaled.packed", estimate_scaled, prepare_scaled},
                               {"DequantizeLinear", "gpu.scaled.packed", estimate_scaled, prepare_scaled}};
#undef MINNOW_CONV

}  // namespace

std::span<const Scheme> packed_byte_schemes() { return kSchemes; }

}  // namespace minnow::gpu
