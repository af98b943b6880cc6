// SPDX-License-Identifier: Apache-2.0
// Pixels read at places that data name: GridSample, RoiAlign, and MaxUnpool, which writes them. One item for each result. Coordinates are
// computed as in graph/sampling.cpp.
#include "graph/sampling.h"
#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_shape(i).elements() == 0) return declined("input {} is empty", i);
  if (!is_real(node.input_dtype(0))) return declined("the dtype is {}", node.input_dtype(0));
  return estimate_of(node, device, 64.0 * static_cast<double>(node.output_shape(0).elements()));
}

constexpr std::string_view kTaps = R"(
INLINE float mirrored(float place, float low, float high) {
  const float span = high - low;
  if (span <= 0) return low;
  const float away = fmod(fabs(place - low), 2 * span);
  return low + (away > span ? 2 * span - away : away);
}
INLINE int pixel(float at, float last, float low, float high) {
  if (at >= 0 && at <= last) return (int)at;
  if (ZEROS) return -1;
  if (MIRRORS) at = mirrored(at, low, high);
  return (int)fmin(fmax(at, 0.0f), last);
}
)";

std::unique_ptr<Kernel> prepare_grid(PrepareContext& context) {
  const NodeView& node = context.node();
  const GridSampling s = GridSampling::of(node);
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.input(1, "grid");
  text.output(0, "y");
  std::vector<int32_t> sizes;  // the last dimension's first, as in the grid
  for (size_t d = s.dims; d-- > 0;) sizes.push_back(static_cast<int32_t>(x[d + 2]));
  text.table(sizes, "sizes");
  text.number("positions", y.product(2, y.rank()));
  text.number("channels", y[1]);
  text.number("plane", x.product(2, x.rank()));
  text.define("ZEROS", s.padding == GridSampling::Padding::zeros ? 1 : 0);
  text.define("MIRRORS", s.padding == GridSampling::Padding::reflection ? 1 : 0);
  text.define("ALIGNS", s.align_corners ? 1 : 0);
  text.define("DIMS", static_cast<int64_t>(s.dims));
  text.define("ALONG", static_cast<int64_t>(s.along()));
  text.add_items("grid_sample", y.elements(), R"(
  const int position = i % positions, channel = i / positions % channels, image = i / positions / channels;
  int at[DIMS][ALONG], all = 1;
  float weights[DIMS][ALONG];
  for (int d = 0; d < DIMS; ++d) {
    const float n = (float)sizes[d], last = n - 1, low = ALIGNS ? 0.0f : -0.5f, high = ALIGNS ? last : n - 0.5f;
    const float coordinate = GET(grid, (image * positions + position) * DIMS + d);
    float place = ALIGNS ? (coordinate + 1) / 2 * last : ((coordinate + 1) * n - 1) / 2;
    if (ALONG == 2 && MIRRORS) place = mirrored(place, low, high);
    if (ALONG == 2 && !ZEROS) place = fmin(fmax(place, 0.0f), last);
    if (isnan(place) || isinf(place)) place = ZEROS ? -4.0f : place > 0 ? last : 0.0f;
    if (!MIRRORS) place = fmin(fmax(place, -4.0f), n + 3);
    const float base = ALONG == 1 ? rint(place) : floor(place), t = place - base;
    for (int k = 0; k < ALONG; ++k) {
      const int step = ALONG == 4 ? k - 1 : k;
      const float away = fabs(t - (float)step);
      at[d][k] = pixel(base + (float)step, last, low, high);
      weights[d][k] = ALONG == 1   ? 1.0f
                      : ALONG == 2 ? (k ? t : 1 - t)
                      : away <= 1  ? (1.25f * away - 2.25f) * away * away + 1
                                   : ((away - 5) * away + 8) * away * -0.75f + 3;
    }
    all *= ALONG;
  }
  float sum = 0;
  for (int k = 0; k < all; ++k) {
    int rest = k, from = 0, step = 1, inside = 1;
    float weight = 1;
    for (int d = 0; d < DIMS; ++d) {
      const int tap = rest % ALONG;
      rest /= ALONG;
      if (at[d][tap] < 0) inside = 0;
      from += at[d][tap] * step;
      step *= sizes[d];
      weight *= weights[d][tap];
    }
    if (inside) sum += weight * GET(x, (image * channels + channel) * plane + from);
  }
  PUT(y, i, sum);
)",
                 kTaps);
  return kernel;
}

std::unique_ptr<Kernel> prepare_roi_align(PrepareContext& context) {
  const NodeView& node = context.node();
  const RoiAlignment roi = RoiAlignment::of(node);
  const Shape& x = node.input_shape(0);
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.input(1, "rois");
  text.input(2, "images");
  text.output(0, "y");
  text.number("channels", x[1]);
  text.number("image_count", x[0]);
  text.number("height", x[2]);
  text.number("width", x[3]);
  text.number("rows", roi.bins[0]);
  text.number("columns", roi.bins[1]);
  text.number("samples", roi.samples);
  text.real("factor", roi.scale);
  text.define("HALF_PIXEL", roi.half_pixel ? 1 : 0);
  text.define("AVERAGES", roi.average ? 1 : 0);
  text.define("MOST_SAMPLES", RoiAlignment::kMostSamples);
  text.faults("a region is of image {}, or its bins are too large; there are {} images");
  text.add_items("roi_align", node.output_shape(0).elements(), R"(
  const int bins[2] = {i / columns % rows, i % columns}, sizes[2] = {height, width};
  const int channel = i / columns / rows % channels, region = i / columns / rows / channels;
  i64 image = GET(images, region);
  if (image < 0 || image >= image_count) { FAULT(image, image_count) image = 0; }
  float start[2], bin[2];
  int along[2];
  for (int k = 0; k < 2; ++k) {
    const float offset = HALF_PIXEL ? 0.5f : 0.0f;
    start[k] = GET(rois, region * 4 + 1 - k) * factor - offset;
    float extent = (GET(rois, region * 4 + 3 - k) * factor - offset) - start[k];
    if (!HALF_PIXEL) extent = extent < 1 ? 1.0f : extent;
    bin[k] = extent / (float)(k ? columns : rows);
    if (!(bin[k] <= MOST_SAMPLES)) { FAULT(image, image_count) bin[k] = 0; }
    along[k] = samples ? samples : (int)fmax(ceil(bin[k]), 0.0f);
  }
  float sum = 0, most = 0;
  for (int s = 0; s < along[0] * along[1]; ++s) {
    int at[2][2], inside = 1;
    float weights[2][2];
    for (int k = 0; k < 2; ++k) {
      float place = start[k] + (float)bins[k] * bin[k] + ((float)(k ? s % along[1] : s / along[1]) + 0.5f) * bin[k] / (float)along[k];
      if (!(place >= -1 && place <= (float)sizes[k])) { inside = 0; place = 0; }
      if (place < 0) place = 0;
      at[k][0] = (int)place;
      weights[k][1] = 0;
      if (at[k][0] < sizes[k] - 1) { weights[k][1] = place - (float)at[k][0]; at[k][1] = at[k][0] + 1; }
      else at[k][0] = at[k][1] = sizes[k] - 1;
      weights[k][0] = 1 - weights[k][1];
    }
    for (int c = 0; c < 4; ++c) {
      const int place = inside ? at[0][c / 2] * width + at[1][c % 2] : 0;
      const float v = (inside ? weights[0][c / 2] * weights[1][c % 2] : 0.0f) * GET(x, ((int)image * channels + channel) * height * width + place);
      sum += v;
      most = s == 0 && c == 0 ? v : fmax(most, v);
    }
  }
  const int count = along[0] * along[1];
  PUT(y, i, AVERAGES ? sum / (float)(count < 1 ? 1 : count) : most);
)");
  return kernel;
}

Estimate estimate_unpool(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_move(node); !reason.empty()) return declined("{}", reason);
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (node.has_input(2)) return declined("the shape of the result is given");
  return estimate_of(node, device, 0, 1, 2);
}

std::unique_ptr<Kernel> prepare_unpool(PrepareContext& context) {
  const NodeView& node = context.node();
  auto kernel = std::make_unique<Launches>(context);
  const int64_t count = node.output_shape(0).elements();
  KernelText zeros(*kernel, node);
  zeros.output(0, "y", true);
  zeros.add_items("zeros", count, "  PUT(y, i, 0);\n");
  KernelText text(*kernel, node);
  text.input(0, "x", true);
  text.input(1, "indices");
  text.output(0, "y", true);
  text.number("count", count);
  text.faults("index {} is out of range for an image of {} elements");
  text.add_items("unpool", node.input_shape(0).elements(), R"(
  const i64 at = GET(indices, i);
  if (at < 0 || at >= count) { FAULT(at, count) } else PUT(y, (int)at, GET(x, i));
)");
  return kernel;
}

constexpr Scheme kSchemes[] = {{"GridSample", "gpu.grid_sample", estimate, prepare_grid},
                               {"MaxUnpool", "gpu.unpool", estimate_unpool, prepare_unpool},
                               {"RoiAlign", "gpu.roi_align", estimate, prepare_roi_align}};

}  // namespace

std::span<const Scheme> sampling_schemes() { return kSchemes; }

}  // namespace minnow::gpu
