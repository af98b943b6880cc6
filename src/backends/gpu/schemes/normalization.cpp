// SPDX-License-Identifier: Apache-2.0
// Normalizations of floats. Those of lines of elements: a group of items for each line.
#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

constexpr Attribute<float> kEpsilon{"epsilon", 1e-5f};

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  Estimate estimate = estimate_of(node, device);
  if (node.input_dtype(0) == node.output(0).dtype) estimate.overwrites = 0;
  return estimate;
}

constexpr std::string_view kLines = R"(
  LOCAL float shared[256];
  const int row = GROUP(0), first = row / inner * length * inner + row % inner;
  float sum = 0, mean = 0, unit = 1;
  if (CENTERED) {
    for (int k = ITEM(0); k < length; k += ITEMS(0)) sum += GET(x, first + k * inner);
    mean = group_sum(sum, shared) / (float)length;
    sum = 0;
  }
#if SCALED
  unit = 0;
  for (int k = ITEM(0); k < length; k += ITEMS(0)) { const float v = fabs(GET(x, first + k * inner)); unit = MOST(v, unit); }
  unit = group_most(unit, shared);
  if (unit == 0 || isinf(unit)) unit = 1;
#endif
  for (int k = ITEM(0); k < length; k += ITEMS(0)) { const float v = (GET(x, first + k * inner) - mean) / unit; sum += SIZE(v); }
  sum = group_sum(sum, shared);
  const float root = ROOT;
#if HAS_mean_out
  if (ITEM(0) == 0) PUT(mean_out, row, mean);
#endif
#if HAS_inverse_out
  if (ITEM(0) == 0) PUT(inverse_out, row, 1.0f / root);
#endif
  for (int k = ITEM(0); k < length; k += ITEMS(0)) {
    const int at = first + k * inner;
    float v = SCALED && root == 0 ? 0 : (GET(x, at) - mean) / unit / root;
    SCALE_AND_SHIFT
    PUT(y, at, v);
  }
)";

// Each item keeps its elements of the line: WIDE neighbours, ITEMS(0) * WIDE further the next, EACH of them.
constexpr std::string_view kHeldLines = R"(
  LOCAL float shared[256];
  const int row = GROUP(0), first = row * length;
  float held[EACH];
  float sum = 0, mean = 0;
  UNROLL for (int j = 0; j < EACH / WIDE; ++j) {
    const int k = (j * ITEMS(0) + ITEM(0)) * WIDE;
#if WIDE == 2
    const u32 word = k < length ? x[(first + k) / 2] : 0;
    held[2 * j] = WIDENED((u16)word);
    held[2 * j + 1] = WIDENED((u16)(word >> 16));
    sum += held[2 * j] + held[2 * j + 1];
#else
    held[j] = k < length ? GET(x, first + k) : 0;
    sum += held[j];
#endif
  }
  if (CENTERED) mean = group_sum(sum, shared) / (float)length;
  sum = 0;
  UNROLL for (int j = 0; j < EACH / WIDE; ++j)
    if ((j * ITEMS(0) + ITEM(0)) * WIDE < length)
      UNROLL for (int h = 0; h < WIDE; ++h) { const float v = held[j * WIDE + h] - mean; sum += v * v; }
  sum = group_sum(sum, shared);
  const float root = ROOT, inverse = 1.0f / root;
#if HAS_mean_out
  if (ITEM(0) == 0) PUT(mean_out, row, mean);
#endif
#if HAS_inverse_out
  if (ITEM(0) == 0) PUT(inverse_out, row, inverse);
#endif
  UNROLL for (int j = 0; j < EACH / WIDE; ++j) {
    const int begin = (j * ITEMS(0) + ITEM(0)) * WIDE;
    if (begin < length) {
      UNROLL for (int h = 0; h < WIDE; ++h) {
        const int k = begin + h, at = first + k;
        float v = (held[j * WIDE + h] - mean) * inverse;
        SCALE_AND_SHIFT
        held[j * WIDE + h] = v;
      }
#if WIDE == 2
      y[(first + begin) / 2] = (u32)NARROWED(held[2 * j]) | (u32)NARROWED(held[2 * j + 1]) << 16;
#else
      PUT(y, first + begin, held[j]);
#endif
    }
  }
)";

std::unique_ptr<Kernel> prepare_lines(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const std::string_view op = node.op();
  const bool by_channel = op == "InstanceNormalization" || op == "GroupNormalization", by_norm = op == "LpNormalization";
  int64_t length = 1, inner = 1;
  if (by_channel) {
    length = x.product(1, x.rank()) / (op == "GroupNormalization" ? node.require<int64_t>("num_groups") : x[1]);
  } else {
    const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -1}), x.rank());
    length = by_norm ? x[axis] : x.product(axis, x.rank());
    if (by_norm) inner = x.product(axis + 1, x.rank());
  }
  const uint32_t items = items_for(length);
  // Lines that fit into the registers of a group are read once. Compilers but CUDA's unroll no more than 8 rounds.
  const bool words = node.input_dtype(0) != DType::f32 && node.output(0).dtype == node.input_dtype(0) && length % 2 == 0;
  const int64_t wide = words ? 2 : 1, rounds = (length + items * wide - 1) / (items * wide);
  const bool held = !by_norm && rounds * wide <= (queue_of(context).tensor_cores() > 0 ? 32 : 8);
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node, node.input_dtype(0) == node.output(0).dtype ? 0 : -1);
  if (held && words) {
    const std::string_view dtype = dialect_name(node.input_dtype(0));
    text.input_words(0, "x");
    text.output_words(0, "y");
    text.define("WIDENED(v)", format("{}_to_f32(v)", dtype));
    text.define("NARROWED(v)", format("f32_to_{}(v)", dtype));
  } else {
    text.input(0, "x");
    text.output(0, "y");
  }
  text.define("WIDE", wide);
  text.define("EACH", rounds * wide);
  text.output(1, "mean_out");
  text.output(2, "inverse_out");
  text.number("length", length);
  text.number("inner", inner);
  text.real("epsilon", node.attribute(kEpsilon));
  std::string scale_and_shift;  // of the number v
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const std::string_view name = i == 1 ? "scale" : "bias";
    text.input(i, name);
    if (!node.has_input(i)) continue;
    scale_and_shift += format("{{ PLACE_{} v {}= GET({}, AT_{}0); }} ", name, i == 1 ? '*' : '+', name, name);
    if (held && !by_channel && node.input_shape(i).elements() == length) {
      text.define(format("PLACE_{}", name), "");
      text.define(format("AT_{}0", name), "k");
      continue;
    }
    Broadcast places(x, i == 1 ? "s" : "b", "at");
    if (by_channel) {
      Ints strides(x.rank(), 0);
      strides[1] = 1;
      places.add(std::move(strides));
    } else {
      places.add(node.input_shape(i));
    }
    places.finish();
    text.places(places, name);
  }
  text.define("SCALE_AND_SHIFT", scale_and_shift);
  const bool magnitudes = by_norm && node.attribute(Attribute<int64_t>{"p", 2}) == 1;
  text.define("CENTERED", by_channel || op == "LayerNormalization" ? 1 : 0);
  text.define("SCALED", by_norm ? 1 : 0);  // so that squares do not overflow
  text.define("SIZE(v)", magnitudes ? "fabs(v)" : "v * v");
  text.define("ROOT", magnitudes ? "sum" : by_norm ? "sqrt(sum)" : "sqrt(sum / (float)length + epsilon)");
  text.add_groups("standardize", x.elements() / length, items, held ? kHeldLines : kLines,
                  "REDUCE(group_sum, SUM)\nREDUCE(group_most, MOST)\n");
  return kernel;
}

std::unique_ptr<Kernel> prepare_neighbours(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  const int64_t size = node.require<int64_t>("size");
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  text.input(0, "x");
  text.output(0, "y");
  text.number("channels", x[1]);
  text.number("inner", x.product(2, x.rank()));
  text.number("before", (size - 1) / 2);
  text.number("after", size - 1 - (size - 1) / 2);
  text.real("alpha", node.attribute(Attribute<float>{"alpha", 1e-4f}) / static_cast<float>(size));
  text.real("beta", node.attribute(Attribute<float>{"beta", 0.75f}));
  text.real("bias", node.attribute(Attribute<float>{"bias", 1}));
  text.add_items("neighbours", x.elements(), R"(
  const int c = i / inner % channels;
  float sum = 0;
  for (int k = c > before ? -before : -c; k <= after && k < channels - c; ++k) { const float v = GET(x, i + k * inner); sum += v * v; }
  PUT(y, i, GET(x, i) / pow(bias + alpha * sum, beta));
)");
  return kernel;
}

Estimate estimate_neighbours(const NodeView& node, const Device& device) {
  Estimate result = estimate(node, device);
  result.overwrites = -1;
  if (result.declined.empty() && node.require<int64_t>("size") > (1 << 30))
    return declined("the size is {}", node.require<int64_t>("size"));
  return result;
}

Estimate estimate_batch(const NodeView& node, const Device& device) {
  if (node.attribute(Attribute<bool>{"training_mode", false})) return declined("the statistics are those of the batch");
  return estimate(node, device);
}

std::unique_ptr<Kernel> prepare_batch(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& x = node.input_shape(0);
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node, 0);
  const std::string_view names[] = {"x", "scale", "bias", "mean", "variance"};
  for (size_t i = 0; i < 5; ++i) text.input(i, names[i]);
  text.output(0, "y");
  text.number("channels", x.rank() == 1 ? 1 : x[1]);
  text.number("inner", x.rank() == 1 ? 1 : x.product(2, x.rank()));
  text.real("epsilon", node.attribute(kEpsilon));
  text.add_items("batch", x.elements(), R"(
  const int c = i / inner % channels;
  const float factor = GET(scale, c) / sqrt(GET(variance, c) + epsilon);
  PUT(y, i, GET(x, i) * factor + (GET(bias, c) - GET(mean, c) * factor));
)");
  return kernel;
}

constexpr Scheme kSchemes[] = {{"BatchNormalization", "gpu.batch_normalization", estimate_batch, prepare_batch},
                               {"GroupNormalization", "gpu.normalize", estimate, prepare_lines},
                               {"InstanceNormalization", "gpu.normalize", estimate, prepare_lines},
                               {"LayerNormalization", "gpu.normalize", estimate, prepare_lines},
                               {"LpNormalization", "gpu.normalize", estimate, prepare_lines},
                               {"LRN", "gpu.lrn", estimate_neighbours, prepare_neighbours},
                               {"RMSNormalization", "gpu.normalize", estimate, prepare_lines}};

}  // namespace

std::span<const Scheme> normalization_schemes() { return kSchemes; }

}  // namespace minnow::gpu
