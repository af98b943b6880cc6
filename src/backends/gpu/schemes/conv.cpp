// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats with up to three spatial dimensions: as products of matrices whose second operand is read from the image, and one
// item for each result where groups are small. Transposed ones: each result gathers its taps.
#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/gemm.h"
#include "backends/gpu/schemes/window3.h"

namespace minnow::gpu {
namespace {

bool is_fused(const NodeView& node) { return node.op() == "minnow.FusedConv"; }

}  // namespace

std::string refusal_of_float_conv(const NodeView& node) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return reason;
  const size_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 5) return format("there are {} spatial dimensions", static_cast<int64_t>(rank) - 2);
  if (has_channels_last(node)) return "channels are last";
  if (is_fused(node) && node.has_input(kScale)) return "sums are rounded";
  if (node.input_shape(0).elements() == 0) return "the input is empty";
  return {};
}

void add_conv_terms(Gemm& gemm, const NodeView& node) {
  if (is_fused(node)) gemm.activation = Activation::of(node);
  const Term terms[] = {{2, 1, true}, {3, 1, false}};
  add_terms(gemm, node, std::span(terms).first(is_fused(node) ? 2 : 1));
}

namespace {

// As a product of matrices for each group, else one item for each result.
bool is_product(const ConvGeometry& conv) { return conv.groups == 1 || conv.out_channels_per_group() >= 16; }
int64_t columns_of(const ConvGeometry& conv) { return conv.batch * conv.window.output_positions(); }

Estimate estimate_conv(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_float_conv(node); !reason.empty()) return declined("{}", reason);
  const ConvGeometry conv = ConvGeometry::of(node);
  if (std::string reason = refusal_of_gemm(conv.out_channels_per_group(), conv.groups); is_product(conv) && !reason.empty())
    return declined("{}", reason);
  return estimate_of(node, device, 2 * conv.multiply_adds(), is_product(conv) ? 0.25 * share_of_tiles(columns_of(conv)) : 0.25);
}

// One place of one image, as behind a global pool.
Estimate estimate_place(const NodeView& node, const Device& device) {
  const Estimate tiles = estimate_conv(node, device);
  if (!tiles.declined.empty()) return tiles;
  const ConvGeometry conv = ConvGeometry::of(node);
  if (!is_product(conv) || columns_of(conv) != 1) return declined("the result has several places");
  const int64_t k = conv.in_channels_per_group() * conv.window.taps();
  return estimate_of(node, device, operations_of_few(static_cast<double>(conv.out_channels), k, true), 0.1);
}

}  // namespace

Gemm conv_gemm(const NodeView& node, const ConvGeometry& conv, const Operand& image, const Operand& filters) {
  const Window3 window(conv.window);
  const std::string_view x = dialect_name(node.input_dtype(image.input)), w = dialect_name(node.input_dtype(filters.input));
  Gemm gemm;
  gemm.m = conv.out_channels_per_group();
  gemm.n = columns_of(conv);
  gemm.k = conv.in_channels_per_group() * conv.window.taps();
  gemm.batches = conv.groups;
  gemm.parameters = format("READ(MEM({}), w), READ(MEM({}), x), const int C, ", w, x) + std::string(Window3::kParameters) + ", ";
  gemm.given = {Given::input(filters.input), Given::input(image.input), conv.in_channels_per_group()};
  window.append(gemm.given);
  gemm.pointers = format("  USE_READ(MEM({}), w);\n  USE_READ(MEM({}), x);\n", w, x);
  gemm.definitions =
      window.definitions() +
      format("#define LOAD_X(i) {}\n#define LOAD_W(i, c) {}\n#define A_AT(m, k) LOAD_W((batch * M + (m)) * K + (k), batch * M + (m))\n",
             image.load, filters.load);
  // An item reads one column of B: its place in the image is found once.
  gemm.start =
      "const int my_n = n0 + item % TILE, my_b = my_n / (OD * OH * OW), my_p = my_n - my_b * (OD * OH * OW); \\\n"
      "  const int my_z = my_p / (OH * OW) * SD - PD, my_y = my_p / OW % OH * SH - PH, my_x = my_p % OW * SW - PW; \\\n"
      "  const int my_at = (my_b * GROUP_COUNT + batch) * C * ID * IH * IW;";
  gemm.definitions += format("#define GROUP_COUNT {}\n", conv.groups);
  if (conv.window.taps() == 1 && !conv.window.is_padded()) {
    gemm.definitions += "#define B_AT(k, n) LOAD_X(my_at + (k) * ID * IH * IW + (my_z * IH + my_y) * IW + my_x)\n";
  } else {
    gemm.definitions +=
        "#define KX(k) ((k) % KW * DW + my_x)\n#define KY(k) ((k) / KW % KH * DH + my_y)\n#define KZ(k) ((k) / (KW * KH) % KD * DD + "
        "my_z)\n"
        "#define INSIDE(k) ((unsigned)KX(k) < (unsigned)IW && (unsigned)KY(k) < (unsigned)IH && (unsigned)KZ(k) < (unsigned)ID)\n"
        "#define B_AT(k, n) (INSIDE(k) ? LOAD_X(my_at + (((k) / (KW * KH * KD) * ID + KZ(k)) * IH + KY(k)) * IW + KX(k)) : 0.0f)\n";
  }
  const int64_t positions = conv.window.output_positions();
  gemm.result_at = format("((n / {}) * {} + batch * M + m) * {} + n % {}", positions, conv.out_channels, positions, positions);
  return gemm;
}

namespace {

std::unique_ptr<Kernel> prepare_gemm(PrepareContext& context, const ConvGeometry& conv, bool few) {
  const NodeView& node = context.node();
  Gemm gemm = conv_gemm(node, conv, float_operand(node, 0, "x"), float_operand(node, 1, "w"));
  add_conv_terms(gemm, node);
  gemm.few = few;
  auto kernel = std::make_unique<Launches>(context);
  add_gemm(*kernel, context, gemm);
  return kernel;
}

constexpr std::string_view kDirect = R"(
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int px = i % OW, py = i / OW % OH, pz = i / (OW * OH) % OD, channel = i / (OW * OH * OD) % OC, b = i / (OW * OH * OD * OC);
  const int first = channel / GROUP_OUT * C;
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int kz = 0; kz < KD; ++kz) {
      const int z = pz * SD - PD + kz * DD;
      if ((unsigned)z >= (unsigned)ID) continue;
      for (int ky = 0; ky < KH; ++ky) {
        const int yy = py * SH - PH + ky * DH;
        if ((unsigned)yy >= (unsigned)IH) continue;
        const int at = (((b * IC + first + c) * ID + z) * IH + yy) * IW, w_at = ((channel * C + c) * KD + kz) * KH * KW + ky * KW;
        UNROLL for (int kx = 0; kx < KW; ++kx) {
          const int xx = px * SW - PW + kx * DW;
          if ((unsigned)xx < (unsigned)IW) sum = FMA(LOAD_X(at + xx), LOAD_W(w_at + kx), sum);
        }
      }
    }
)";

// A convolution as a kernel of its own: `loops` compute `sum` of output element i. Ends as add_gemm does.
std::unique_ptr<Kernel> prepare_direct(PrepareContext& context, const Window3& window, std::string definitions, std::string_view loops,
                                       int64_t in_channels, int64_t out_channels, int64_t channels) {
  const NodeView& node = context.node();
  const std::string_view x = dialect_name(node.input_dtype(0)), w = dialect_name(node.input_dtype(1)),
                         y = dialect_name(node.output(0).dtype);
  Gemm ends;
  add_conv_terms(ends, node);
  std::vector<Given> given = {Given::input(0), Given::input(1), Given::output(0), node.output_shape(0).elements(),
                              in_channels,     out_channels,    channels};
  window.append(given);
  given.insert(given.end(), ends.term_given.begin(), ends.term_given.end());
  const std::string source = format(
      "{}#define LOAD_X(i) LOAD({}, x, i)\n#define LOAD_W(i) LOAD({}, w, i)\n"
      "KERNEL(conv)(READ(MEM({}), x), READ(MEM({}), w), WRITE(MEM({}), y), const int n, const int IC, const int OC, const int C, {}{}) {{\n"
      "  USE_READ(MEM({}), x);\n  USE_READ(MEM({}), w);\n  USE_WRITE(MEM({}), y);\n{}  float v = sum;\n{}  STORE({}, y, i, {});\n}}\n",
      window.definitions() + definitions, x, w, x, w, y, Window3::kParameters, ends.term_parameters, x, w, y, loops, ends.terms, y,
      expression_of(ends.activation, "v"));
  auto kernel = std::make_unique<Launches>(context);
  kernel->add_1d(source, "conv", node.output_shape(0).elements(), std::move(given));
  return kernel;
}

std::unique_ptr<Kernel> prepare_conv(PrepareContext& context) {
  const ConvGeometry conv = ConvGeometry::of(context.node());
  if (is_product(conv)) return prepare_gemm(context, conv, false);
  return prepare_direct(context, Window3(conv.window), format("#define GROUP_OUT {}\n", conv.out_channels_per_group()), kDirect,
                        conv.in_channels, conv.out_channels, conv.in_channels_per_group());
}

std::unique_ptr<Kernel> prepare_place(PrepareContext& context) { return prepare_gemm(context, ConvGeometry::of(context.node()), true); }

// Result place r reads input place o through tap k where o * stride + k * dilation - pad = r.
constexpr std::string_view kTransposed = R"(
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int px = i % IW, py = i / IW % IH, pz = i / (IW * IH) % ID, channel = i / (IW * IH * ID) % OC, b = i / (IW * IH * ID * OC);
  const int group = channel / GROUP_OUT, first = group * C;
  float sum = 0;
  for (int kz = 0; kz < KD; ++kz) {
    const int z = pz + PD - kz * DD;
    if (z < 0 || z % SD || z / SD >= OD) continue;
    for (int ky = 0; ky < KH; ++ky) {
      const int yy = py + PH - ky * DH;
      if (yy < 0 || yy % SH || yy / SH >= OH) continue;
      for (int kx = 0; kx < KW; ++kx) {
        const int xx = px + PW - kx * DW;
        if (xx < 0 || xx % SW || xx / SW >= OW) continue;
        for (int c = 0; c < C; ++c)
          sum = FMA(LOAD_X((((b * IC + first + c) * OD + z / SD) * OH + yy / SH) * OW + xx / SW),
                    LOAD_W((((first + c) * GROUP_OUT + channel % GROUP_OUT) * KD + kz) * KH * KW + ky * KW + kx), sum);
      }
    }
  }
)";

Estimate estimate_transposed(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_float_conv(node); !reason.empty()) return declined("{}", reason);
  return estimate_of(node, device, 2 * ConvTransposeGeometry::of(node).multiply_adds(), 0.05);
}

std::unique_ptr<Kernel> prepare_transposed(PrepareContext& context) {
  const ConvTransposeGeometry conv = ConvTransposeGeometry::of(context.node());
  return prepare_direct(context, Window3(conv.window), format("#define GROUP_OUT {}\n", conv.out_channels_per_group()), kTransposed,
                        conv.in_channels, conv.out_channels, conv.in_channels_per_group());
}

constexpr Scheme kSchemes[] = {{"Conv", "gpu.conv", estimate_conv, prepare_conv},
                               {"minnow.FusedConv", "gpu.conv", estimate_conv, prepare_conv},
                               {"Conv", "gpu.conv.few", estimate_place, prepare_place},
                               {"minnow.FusedConv", "gpu.conv.few", estimate_place, prepare_place},
                               {"ConvTranspose", "gpu.conv_transpose", estimate_transposed, prepare_transposed}};

}  // namespace

std::span<const Scheme> conv_schemes() { return kSchemes; }

}  // namespace minnow::gpu
