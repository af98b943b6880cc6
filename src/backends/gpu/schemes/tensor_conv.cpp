// SPDX-License-Identifier: Apache-2.0
// Convolutions of packed tensors with one or two spatial dimensions: on tensor cores where groups fill chunks, and depthwise ones with an
// item for each chunk of a result.
#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/tensor_cores.h"
#include "backends/gpu/schemes/wgmma.h"
#include "base/numeric.h"

namespace minnow::gpu {
namespace {

constexpr size_t kImage = 0, kFilters = 1, kBias = 2, kAddend = 3;

bool has_addend(const NodeView& node) { return node.op() == "minnow.FusedConv" && node.has_input(kAddend); }

std::string refusal_of_packed_conv(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_pack(node, device); !reason.empty()) return reason;
  const size_t rank = node.input_shape(kImage).rank();
  if (rank > 4) return format("there are {} spatial dimensions", static_cast<int64_t>(rank) - 2);
  if (has_channels_last(node)) return "channels are last";
  if (node.has_input(kScale)) return "sums are rounded";
  if (!node.is_constant(kFilters)) return "the filters are not constant";
  if (node.has_input(kBias) && !node.is_constant(kBias)) return "the bias is not constant";
  if (has_addend(node) && (node.is_constant(kAddend) || node.input_shape(kAddend) != node.output_shape(0)))
    return "the addend is broadcast";
  return {};
}

Estimate packed_conv_estimate(const NodeView& node, double seconds) {
  Estimate estimate(seconds);
  estimate.packed_inputs = 1 | (has_addend(node) ? uint64_t{1} << kAddend : 0);
  estimate.packed_outputs = 1;
  if (has_addend(node)) estimate.overwrites = kAddend;
  return estimate;
}

Estimate estimate_tensor(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_packed_conv(node, device); !reason.empty()) return declined("{}", reason);
  const ConvGeometry conv = ConvGeometry::of(node);
  if (conv.groups > 1 && (conv.in_channels_per_group() % kPack || conv.out_channels_per_group() % kPack))
    return declined("groups have {} and {} channels", conv.in_channels_per_group(), conv.out_channels_per_group());
  return packed_conv_estimate(node, tensor_seconds(conv.multiply_adds(), device));
}

// The bias in f32, filled up with zeros.
Given bias_of(Launches& kernel, const NodeView& node, int64_t channels) {
  const size_t count = static_cast<size_t>((channels + kPack - 1) / kPack * kPack);
  if (!node.has_input(kBias)) {
    const std::vector<float> zeros(count, 0.0f);
    return kernel.constant(kernel.add_table(zeros.data(), count * sizeof(float)));
  }
  return kernel.constant(kernel.add_packed(kBias, "gpu f32 bias", {}, count * sizeof(float), [&](const TensorView& bias, void* out) {
    const Floats values(bias);
    for (size_t i = 0; i < count; ++i)
      static_cast<float*>(out)[i] = static_cast<int64_t>(i) < channels ? values[static_cast<int64_t>(i)] : 0;
  }));
}

Activation activation_of(const NodeView& node) { return node.op() == "minnow.FusedConv" ? Activation::of(node) : Activation{}; }

TensorGemm gemm_of(const NodeView& node, const Device& device) {
  const ConvGeometry conv = ConvGeometry::of(node);
  TensorGemm gemm = tensor_gemm_of(conv);
  gemm.type = packed_name(node, device);
  gemm.set_depth(conv.in_channels_per_group());
  gemm.activation = activation_of(node);
  gemm.a = Given::input(kImage);
  if (has_addend(node)) gemm.residual = Given::input(kAddend);
  return gemm;
}

std::unique_ptr<Kernel> prepare_tensor(PrepareContext& context) {
  const NodeView& node = context.node();
  TensorGemm gemm = gemm_of(node, context.device());
  auto kernel = std::make_unique<Launches>(context);
  gemm.bias = bias_of(*kernel, node, gemm.out_channels);
  const int64_t channels = ConvGeometry::of(node).in_channels_per_group(), taps = gemm.taps();
  const size_t filters = kernel->add_packed(kFilters, "gpu tensor columns", {{"type", packed_key(gemm.type)}, {"groups", gemm.groups}},
                                            packed_bytes(gemm), [&](const TensorView& weight, void* out) {
                                              const Floats values(weight);
                                              pack_columns(
                                                  gemm,
                                                  [&](int64_t group, int64_t tap, int64_t channel, int64_t column) {
                                                    return values[((group * gemm.columns + column) * channels + channel) * taps + tap];
                                                  },
                                                  channels, out);
                                            });
  add_tensor_gemm(*kernel, context, gemm, kernel->constant(filters));
  return kernel;
}

// By wgmma. The result is packed, or in the plain layout: then the kernel that reads it, or a copy to the host, needs no reordering before.
TensorGemm wgmma_gemm_of(const NodeView& node, const Device& device, bool plain) {
  TensorGemm gemm = gemm_of(node, device);
  if (plain) gemm.plain_result = dialect_name(node.output(0).dtype);
  return gemm;
}

template <bool kPlain>
Estimate estimate_wgmma(const NodeView& node, const Device& device) {
  if (device.wgmma_units == 0) return unavailable("the device has no wgmma");
  if (std::string reason = refusal_of_packed_conv(node, device); !reason.empty()) return declined("{}", reason);
  if (kPlain && has_addend(node)) return declined("there is an addend");
  std::string reason;
  const TensorGemm gemm = wgmma_gemm_of(node, device, kPlain);
  if (wgmma_columns(gemm, device, reason) == 0) return declined("{}", reason);
  const double seconds = 0.7 * tensor_seconds(ConvGeometry::of(node).multiply_adds(), device);
  Estimate estimate = packed_conv_estimate(node, kPlain ? 2e-6 + 1.02 * seconds : seconds);
  if (kPlain) estimate.packed_outputs = 0;
  return estimate;
}

std::unique_ptr<Kernel> prepare_wgmma(PrepareContext& context) {
  const NodeView& node = context.node();
  TensorGemm gemm = wgmma_gemm_of(node, context.device(), context.output_layout(0) == Layout::plain);
  auto kernel = std::make_unique<Launches>(context);
  gemm.bias = bias_of(*kernel, node, gemm.out_channels);
  std::string reason;
  const int64_t channels = ConvGeometry::of(node).in_channels, taps = gemm.taps(), tile = wgmma_columns(gemm, context.device(), reason);
  const size_t filters = kernel->add_packed(
      kFilters, "gpu wgmma filters", {{"type", packed_key(gemm.type)}, {"tile", tile}}, wgmma_bytes(gemm, tile),
      [&](const TensorView& weight, void* out) {
        const Floats values(weight);
        pack_wgmma(
            gemm, tile, [&](int64_t tap, int64_t channel, int64_t column) { return values[(column * channels + channel) * taps + tap]; },
            channels, out);
      });
  add_wgmma(*kernel, context, gemm, kernel->constant(filters));
  return kernel;
}

Estimate estimate_depthwise(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_packed_conv(node, device); !reason.empty()) return declined("{}", reason);
  const ConvGeometry conv = ConvGeometry::of(node);
  if (!conv.is_depthwise() || conv.out_channels != conv.in_channels)
    return declined("it is not depthwise with one filter for each channel");
  return packed_conv_estimate(node, 0.5 * (3e-6 + estimate_of(node, device, 2 * conv.multiply_adds(), 0.25).seconds));
}

constexpr std::string_view kDepthwise = R"(
KERNEL(depthwise)(READ(CHUNK, x), READ(CHUNK, w), READ(float, bias), UPDATE(CHUNK, z), WRITE(CHUNK, y), const int n, const int C, const int CB,
                  WINDOW_PARAMETERS) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int px = i % OW, py = i / OW % OH, plane = i / (OW * OH), chunk = plane % CB;
  float sums[8];
  UNROLL for (int e = 0; e < 8; ++e) sums[e] = bias[chunk * 8 + e];
  UNROLL for (int ky = 0; ky < KH; ++ky) UNROLL for (int kx = 0; kx < KW; ++kx) {
    const int yy = py * SH - PH + ky * DH, xx = px * SW - PW + kx * DW;
    if ((unsigned)yy < (unsigned)IH && (unsigned)xx < (unsigned)IW) {
      float v[8], f[8];
      load_chunk(v, x + (plane * IH + yy) * IW + xx);
      load_chunk(f, w + (ky * KW + kx) * CB + chunk);
      UNROLL for (int e = 0; e < 8; ++e) sums[e] = FMA(v[e], f[e], sums[e]);
    }
  }
  if (RESIDUAL) {
    float v[8];
    load_chunk(v, z + i);
    UNROLL for (int e = 0; e < 8; ++e) sums[e] += v[e];
  }
  UNROLL for (int e = 0; e < 8; ++e) sums[e] = chunk * 8 + e < C ? ACT(sums[e]) : 0.0f;
  store_chunk(y + i, sums);
}
)";

std::unique_ptr<Kernel> prepare_depthwise(PrepareContext& context) {
  const NodeView& node = context.node();
  const ConvGeometry conv = ConvGeometry::of(node);
  const Window3 window(conv.window);
  const Packed packed(node.output_shape(0));
  const std::string_view type = packed_name(node, context.device());
  const int64_t taps = conv.window.taps();
  auto kernel = std::make_unique<Launches>(context);
  const size_t bytes = static_cast<size_t>(taps * packed.chunks * kPack) * packed_size(type);  // as [tap][C / 8][8]
  const size_t filters =
      kernel->add_packed(kFilters, "gpu depthwise", {{"type", packed_key(type)}}, bytes, [&](const TensorView& weight, void* out) {
        const Floats values(weight);
        PackedWriter to(type, out);
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < packed.chunks * kPack; ++c) to.append(c < packed.channels ? values[c * taps + tap] : 0);
      });
  std::vector<Given> given = {Given::input(kImage),
                              kernel->constant(filters),
                              bias_of(*kernel, node, conv.out_channels),
                              has_addend(node) ? Given::input(kAddend) : Given::input(kImage),
                              Given::output(0),
                              packed.count(),
                              packed.channels,
                              packed.chunks};
  window.append(given);
  kernel->add_1d(format("#define RESIDUAL {}\n#define ACT(v) ({})\n#define WINDOW_PARAMETERS {}\n", has_addend(node) ? 1 : 0,
                        expression_of(activation_of(node), "(v)"), Window3::kParameters) +
                     window.definitions() + chunk_definitions(type) + std::string(kDepthwise),
                 "depthwise", packed.count(), std::move(given));
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Conv", "gpu.conv.wgmma", estimate_wgmma<false>, prepare_wgmma},
                               {"minnow.FusedConv", "gpu.conv.wgmma", estimate_wgmma<false>, prepare_wgmma},
                               {"Conv", "gpu.conv.wgmma.plain", estimate_wgmma<true>, prepare_wgmma},
                               {"minnow.FusedConv", "gpu.conv.wgmma.plain", estimate_wgmma<true>, prepare_wgmma},
                               {"Conv", "gpu.conv.tensor", estimate_tensor, prepare_tensor},
                               {"minnow.FusedConv", "gpu.conv.tensor", estimate_tensor, prepare_tensor},
                               {"Conv", "gpu.depthwise.packed", estimate_depthwise, prepare_depthwise},
                               {"minnow.FusedConv", "gpu.depthwise.packed", estimate_depthwise, prepare_depthwise}};

}  // namespace

std::span<const Scheme> tensor_conv_schemes() { return kSchemes; }

}  // namespace minnow::gpu
