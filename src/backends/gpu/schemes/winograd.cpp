// SPDX-License-Identifier: Apache-2.0
// Convolutions 3x3 of stride 1 and f32 by Winograd's minimal filtering F(n x n, 3x3), n = 4 or 2: each tile of n x n results takes (n +
// 2)^2 products of channels instead of 9 n^2. Tiles of the image are transformed to scratch, multiplied as (n + 2)^2 matrices by add_gemm,
// and transformed back. Filters are transformed once, in f64. Points and errors: docs/results/winograd.md.
#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/gemm.h"

namespace minnow::gpu {
namespace {

// The points of F(n x n, 3x3): 0, the pairs +-p and +-q (n = 4), infinity.
struct Form {
  int64_t outputs;
  double p, q, error;  // error: beside that of plain sums
  int64_t edge() const { return outputs + 2; }
  int64_t positions() const { return edge() * edge(); }
};
constexpr Form kF2{2, 1, 0, 0.65}, kF4{4, 5.0 / 8, 13.0 / 8, 1.72};
constexpr int64_t kTaps = 3;

// Row `position` of the matrix that takes the taps along an axis to that position.
void filter_row(const Form& form, int64_t position, double* row) {
  const double p2 = form.p * form.p, q2 = form.q * form.q;
  double point = 0, divisor = form.outputs == 2 ? -p2 : p2 * q2;
  if (position == form.edge() - 1) {
    row[0] = row[1] = 0, row[2] = 1;
    return;
  }
  if (position > 0) {
    const bool first = position <= 2;
    point = (first ? form.p : form.q) * (position % 2 ? 1 : -1);
    divisor = 2 * point * point * (form.outputs == 2 ? 1 : first ? p2 - q2 : q2 - p2);
  }
  for (int64_t k = 0; k < kTaps; ++k) row[k] = (k == 0 ? 1 : k == 1 ? point : point * point) / divisor;
}

// [position][in channel][out channel]
void transform_filters(const Form& form, const float* filters, int64_t out_channels, int64_t in_channels, float* to) {
  const int64_t edge = form.edge();
  double rows[6][kTaps];
  for (int64_t i = 0; i < edge; ++i) filter_row(form, i, rows[i]);
  for (int64_t out = 0; out < out_channels; ++out)
    for (int64_t in = 0; in < in_channels; ++in) {
      const int64_t at = (out * in_channels + in) * kTaps * kTaps;
      for (int64_t i = 0; i < edge; ++i) {
        double line[kTaps] = {};
        for (int64_t k = 0; k < kTaps; ++k)
          for (int64_t l = 0; l < kTaps; ++l) line[l] += rows[i][k] * static_cast<double>(filters[at + k * kTaps + l]);
        for (int64_t j = 0; j < edge; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < kTaps; ++l) sum += rows[j][l] * line[l];
          to[((i * edge + j) * in_channels + in) * out_channels + out] = static_cast<float>(sum);
        }
      }
    }
}

struct Tiles {
  int64_t down, across, count, channels;  // count: of all images; channels: of input and output
  Tiles(const Form& form, const ConvGeometry& conv)
      : down((conv.window.output[0] + form.outputs - 1) / form.outputs),
        across((conv.window.output[1] + form.outputs - 1) / form.outputs),
        count(conv.batch * down * across),
        channels(conv.in_channels + conv.out_channels) {}
};

template <const Form& form>
Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_float_conv(node); !reason.empty()) return declined("{}", reason);
  for (const DType dtype : {node.input_dtype(0), node.input_dtype(1), node.output(0).dtype})
    if (dtype != DType::f32) return declined("the dtype is {}", dtype);
  if (device.pack > 1 && (device.precision == Precision::tf32 || device.packed_f32 == DType::f16))
    return declined("tensor cores serve this precision");
  if (!node.is_constant(1)) return declined("the filters are not constant");
  const ConvGeometry conv = ConvGeometry::of(node);
  const WindowGeometry& window = conv.window;
  bool serves = window.rank() == 2 && conv.groups == 1;
  for (size_t i = 0; serves && i < 2; ++i) serves = window.kernel[i] == kTaps && window.stride[i] == 1 && window.dilation[i] == 1;
  if (!serves) return declined("it is not 3x3 of stride 1, dilation 1 and one group");
  // Sums of few channels round little when they are summed plainly.
  const double most = device.precision == Precision::high ? 1 : device.precision == Precision::low ? 16 : 4;
  if (const double error = form.error * (conv.in_channels < 16 ? 2.6 : 1); error > most)
    return declined("its error is up to {} times that of plain sums, and the precision allows {}", error, most);
  if (device.low_memory) return declined("its weights are several times the plain ones, and memory is to be saved");
  const Tiles tiles(form, conv);
  const double positions = static_cast<double>(form.positions()), scratch = positions * static_cast<double>(tiles.count * tiles.channels),
               filters = positions * static_cast<double>(conv.in_channels * conv.out_channels);
  if (scratch > 2147483647.0 || filters > 2147483647.0 || !device.reaches(static_cast<size_t>(4 * scratch), false) ||
      !device.reaches(static_cast<size_t>(4 * filters), true))
    return declined("its transformed tensors are larger than a kernel reaches");
  const int64_t columns = (tiles.count + 63) / 64 * 64;  // tiles of add_gemm
  Estimate estimate = estimate_of(node, device, 2 * filters * static_cast<double>(columns) + 12 * scratch, 0.25, 3);
  estimate.seconds += device.byte_time(4 * (2 * scratch + filters));
  return estimate;
}

// LINE transforms EDGE numbers of an array, ENDS takes them back to TILE.
constexpr std::string_view kTransforms = R"(
#define EDGE (TILE + 2)
#if TILE == 4
#define LINE(d, a, s) {                                                                                                      \
    const float d0 = d[a], d1 = d[a + s], d2 = d[a + 2 * s], d3 = d[a + 3 * s], d4 = d[a + 4 * s], d5 = d[a + 5 * s];        \
    const float even_p = d4 - Q * Q * d2, odd_p = P * (d3 - Q * Q * d1), even_q = d4 - P * P * d2, odd_q = Q * (d3 - P * P * d1); \
    d[a] = d4 + (P * P * Q * Q * d0 - (P * P + Q * Q) * d2);                                                                 \
    d[a + s] = even_p + odd_p; d[a + 2 * s] = even_p - odd_p; d[a + 3 * s] = even_q + odd_q; d[a + 4 * s] = even_q - odd_q;  \
    d[a + 5 * s] = d5 + (P * P * Q * Q * d1 - (P * P + Q * Q) * d3);                                                         \
  }
#define ENDS(d, a, s) {                                                                                                      \
    const float even_p = d[a + s] + d[a + 2 * s], odd_p = P * (d[a + s] - d[a + 2 * s]);                                     \
    const float even_q = d[a + 3 * s] + d[a + 4 * s], odd_q = Q * (d[a + 3 * s] - d[a + 4 * s]);                             \
    d[a] += even_p + even_q; d[a + s] = odd_p + odd_q; d[a + 2 * s] = P * P * even_p + Q * Q * even_q;                       \
    d[a + 3 * s] = P * P * odd_p + Q * Q * odd_q + d[a + 5 * s];                                                             \
  }
#else
#define LINE(d, a, s) {                                                                           \
    const float d1 = d[a + s], d2 = d[a + 2 * s];                                                 \
    d[a] = d2 - d[a]; d[a + s] = d2 + d1; d[a + 2 * s] = d2 - d1; d[a + 3 * s] = d[a + 3 * s] - d1; \
  }
#define ENDS(d, a, s) {                                                      \
    const float even = d[a + s] + d[a + 2 * s], odd = d[a + s] - d[a + 2 * s]; \
    d[a] += even; d[a + s] = odd + d[a + 3 * s];                             \
  }
#endif
)";

// One item for each channel and tile, tiles of all images side by side.
constexpr std::string_view kInput = R"(
KERNEL(winograd_input)(READ(float, x), WRITE(float, tiles), const int n, const int columns, const int C, const int IH, const int IW,
                       const int DOWN, const int ACROSS, const int PH, const int PW) {
  USE_READ(float, x);
  USE_WRITE(float, tiles);
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int c = i / columns, tile = i - c * columns, line = tile / ACROSS, b = line / DOWN;
  const int top = (line - b * DOWN) * TILE - PH, left = (tile - line * ACROSS) * TILE - PW, at = (b * C + c) * IH * IW;
  float d[EDGE * EDGE];
  UNROLL for (int r = 0; r < EDGE; ++r) UNROLL for (int s = 0; s < EDGE; ++s) {
    const int inside = (unsigned)(top + r) < (unsigned)IH && (unsigned)(left + s) < (unsigned)IW;
    d[r * EDGE + s] = inside ? x[at + (top + r) * IW + left + s] : 0.0f;
  }
  UNROLL for (int r = 0; r < EDGE; ++r) LINE(d, r * EDGE, 1)
  UNROLL for (int s = 0; s < EDGE; ++s) LINE(d, s, EDGE)
  UNROLL for (int r = 0; r < EDGE; ++r) UNROLL for (int s = 0; s < EDGE; ++s) tiles[(r * EDGE + s) * n + i] = d[r * EDGE + s];
}
)";

constexpr std::string_view kOutput = R"(
  const int at = GROUP(0) * ITEMS(0) + ITEM(0);
  if (at >= n) return;
  const int c = at / columns, tile = at - c * columns, line = tile / ACROSS, b = line / DOWN;
  const int top = (line - b * DOWN) * TILE, left = (tile - line * ACROSS) * TILE, first = ((b * OC + c) * OH + top) * OW + left;
  float d[EDGE * EDGE];
  UNROLL for (int r = 0; r < EDGE; ++r) UNROLL for (int s = 0; s < EDGE; ++s) d[r * EDGE + s] = tiles[(r * EDGE + s) * n + at];
  UNROLL for (int s = 0; s < EDGE; ++s) ENDS(d, s, EDGE)
  UNROLL for (int r = 0; r < TILE; ++r) ENDS(d, r * EDGE, 1)
  UNROLL for (int r = 0; r < TILE; ++r) UNROLL for (int s = 0; s < TILE; ++s) if (top + r < OH && left + s < OW) {
    const int i = first + r * OW + s;
    float v = d[r * EDGE + s];
)";

template <const Form& form>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const ConvGeometry conv = ConvGeometry::of(node);
  const WindowGeometry& window = conv.window;
  const Tiles tiles(form, conv);
  auto kernel = std::make_unique<Launches>(context);
  const auto floats = [&](int64_t channels) { return static_cast<size_t>(form.positions() * channels) * sizeof(float); };
  const size_t from = context.reserve_scratch(floats(conv.in_channels * tiles.count)),
               to = context.reserve_scratch(floats(conv.out_channels * tiles.count));
  const std::string definitions = format("#define TILE {}\n#define P {}\n#define Q {}\n{}", form.outputs,
                                         literal(static_cast<float>(form.p)), literal(static_cast<float>(form.q)), kTransforms);
  kernel->add_1d(definitions + std::string(kInput), "winograd_input", conv.in_channels * tiles.count,
                 {Given::input(0), Given::scratch(from), conv.in_channels * tiles.count, tiles.count, conv.in_channels, window.input[0],
                  window.input[1], tiles.down, tiles.across, window.pad_begin[0], window.pad_begin[1]});

  const size_t filters =
      kernel->add_packed(1, "gpu winograd", {{"outputs", form.outputs}}, floats(conv.in_channels * conv.out_channels),
                         [&](const TensorView& weight, void* out) {
                           transform_filters(form, weight.data<float>(), conv.out_channels, conv.in_channels, static_cast<float*>(out));
                         });
  Gemm gemm;
  gemm.m = conv.out_channels, gemm.n = tiles.count, gemm.k = conv.in_channels, gemm.batches = form.positions();
  gemm.parameters = "READ(float, a), READ(float, b), ";
  gemm.given = {kernel->constant(filters), Given::scratch(from)};
  gemm.pointers = "  USE_READ(float, a);\n  USE_READ(float, b);\n";
  gemm.definitions = "#define A_AT(m, k) a[a_at + (k) * M + (m)]\n#define B_AT(k, n) b[b_at + (k) * N + (n)]\n";
  gemm.start = "const int a_at = batch * (M * K), b_at = batch * (K * N);";
  gemm.a_columns = true;
  gemm.result = Given::scratch(to);
  gemm.result_at = "(batch * M + m) * N + n";
  add_gemm(*kernel, context, gemm);

  Gemm ends;
  add_conv_terms(ends, node);
  std::vector<Given> given = {Given::scratch(to), Given::output(0),  conv.out_channels * tiles.count,
                              tiles.count,        conv.out_channels, window.output[0],
                              window.output[1],   tiles.down,        tiles.across};
  given.insert(given.end(), ends.term_given.begin(), ends.term_given.end());
  kernel->add_1d(definitions + format("KERNEL(winograd_output)(READ(float, tiles), WRITE(float, y), const int n, const int columns, "
                                      "const int OC, const int OH, const int OW, const int DOWN, const int ACROSS{}) {{\n"
                                      "  USE_READ(float, tiles);\n  USE_WRITE(float, y);\n{}{}    y[i] = {};\n  }}\n}}\n",
                                      ends.term_parameters, kOutput, ends.terms, expression_of(ends.activation, "v")),
                 "winograd_output", conv.out_channels * tiles.count, std::move(given));
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Conv", "gpu.conv.winograd_f2", estimate<kF2>, prepare<kF2>},
                               {"Conv", "gpu.conv.winograd_f4", estimate<kF4>, prepare<kF4>},
                               {"minnow.FusedConv", "gpu.conv.winograd_f2", estimate<kF2>, prepare<kF2>},
                               {"minnow.FusedConv", "gpu.conv.winograd_f4", estimate<kF4>, prepare<kF4>}};

}  // namespace

std::span<const Scheme> winograd_schemes() { return kSchemes; }

}  // namespace minnow::gpu
