// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/numeric.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sampling_parts.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kOffsetGroup{"offset_group", 1, MINNOW_DOC("groups of input channels that share offsets and mask")};
constexpr size_t kMostDims = 4;

Shapes infer_shapes(const NodeView& node) {
  const Sizes x = node.input_sizes(0), w = node.input_sizes(1), result = ConvGeometry::output_sizes(node);
  const int64_t groups = node.attribute(kOffsetGroup);
  const size_t rank = x.rank() - 2;
  if (rank > kMostDims) node.fail("has {} spatial dimensions, at most {} are supported", rank, kMostDims);
  if (groups < 1 || leaves_rest(x[1], groups)) node.fail("offset_group {} does not divide {} channels", groups, x[1]);
  if (groups > int64_t{1} << 20) node.fail("offset_group {} is too large", groups);
  const Size taps = w.product(2, w.rank());
  const auto check = [&](size_t input, Size channels) {
    Sizes expected = result;
    expected[1] = channels;
    if (const auto shape = node.known_sizes(input); shape && differ(*shape, expected))
      node.fail("input {} (\"{}\") should have shape {}, it has shape {}", input, node.input_name(input), expected, *shape);
  };
  check(2, taps * (groups * static_cast<int64_t>(rank)));
  check(4, taps * groups);
  return {result};
}

/// Linear interpolation in one channel; what lies outside is zero.
double sample(const double* plane, const Shape& size, const double* place) {
  const size_t rank = size.rank();
  double sum = 0;
  for (unsigned corner = 0; corner < 1u << rank; ++corner) {
    double weight = 1;
    int64_t at = 0;
    for (size_t i = 0; i < rank; ++i) {
      // A place that is no number, or too far away to be counted in, reads nothing.
      if (!(place[i] > -1 && place[i] < static_cast<double>(size[i]))) return 0;
      const double base = std::floor(place[i]), rest = place[i] - base;
      const bool upper = corner >> i & 1;
      const int64_t along = static_cast<int64_t>(base) + upper;
      if (along < 0 || along >= size[i]) weight = 0;
      weight *= upper ? rest : 1 - rest;
      at = at * size[i] + along;
    }
    if (weight != 0) sum += weight * plane[at];
  }
  return sum;
}

void reference(const NodeView& node, KernelArgs& args) {
  const ConvGeometry conv = ConvGeometry::of(node);
  const WindowGeometry& window = conv.window;
  const size_t rank = window.rank();
  const int64_t taps = window.taps(), inputs = window.input_positions(), outputs = window.output_positions();
  const int64_t channels = conv.in_channels_per_group(), filters = conv.out_channels_per_group(), rows = channels * taps;
  const int64_t offset_groups = node.attribute(kOffsetGroup);
  const Numbers<double> x = args.reals(0), w = args.reals(1), offset = args.reals(2);
  const Numbers<double> mask = args.has_input(4) ? args.reals(4) : Numbers<double>();
  Numbers<double> y = begin_with_bias(args, 3, conv.batch, conv.out_channels, outputs);
  const int64_t block = windows_at_once(rows);
  Pace pace;
  Numbers<double> columns(static_cast<size_t>(rows * std::min(block, outputs)));
  for (int64_t image = 0; image < conv.batch * conv.groups; ++image)
    for (int64_t first = 0; first < outputs; first += block) {
      const int64_t count = std::min(block, outputs - first), batch = image / conv.groups;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = image % conv.groups * channels + c;
        const int64_t group = batch * offset_groups + channel / (conv.in_channels / offset_groups);
        for (int64_t t = 0; t < taps; ++t, pace.step(static_cast<size_t>(16 * count)))
          for (int64_t i = 0; i < count; ++i) {
            double place[kMostDims];
            int64_t o = first + i, k = t;
            for (size_t d = rank; d-- > 0; o /= window.output[d], k /= window.kernel[d]) {
              const int64_t regular =
                  o % window.output[d] * window.stride[d] + k % window.kernel[d] * window.dilation[d] - window.pad_begin[d];
              const int64_t row = (group * taps + t) * static_cast<int64_t>(rank) + static_cast<int64_t>(d);
              place[d] = static_cast<double>(regular) + offset[static_cast<size_t>(row * outputs + first + i)];
            }
            double value = sample(x.data() + (batch * conv.in_channels + channel) * inputs, window.input, place);
            if (!mask.empty()) value *= mask[static_cast<size_t>((group * taps + t) * outputs + first + i)];
            columns[static_cast<size_t>((c * taps + t) * count + i)] = value;
          }
      }
      multiply_add<double>(filters, count, rows, {w.data() + image % conv.groups * filters * rows, rows}, {columns.data(), count},
                           {y.data() + image * filters * outputs + first, outputs});
    }
  args.write(0, y);
}

#if MINNOW_GRADIENTS

/// Samples as columns of a matrix, which the filters multiply.
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const ConvGeometry conv = ConvGeometry::of(node);
  const WindowGeometry& window = conv.window;
  const Shape& y = node.output_shape(0);
  const DType dtype = node.input_dtype(0), places = dtype == DType::f64 ? dtype : DType::f32;
  const int64_t groups = node.attribute(kOffsetGroup), taps = window.taps(), outputs = window.output_positions();
  const int64_t images = conv.batch * groups, positions = taps * outputs, rank = static_cast<int64_t>(window.rank());
  const auto reshaped = [&](const Expr& e, const Ints& shape) {
    return b.op("Reshape", {e, b.constant(shape)}, {{"allowzero", int64_t{1}}});
  };
  const Expr offset = reshaped(cast(in[2], places), {images, taps, rank, outputs});
  std::vector<TapExprs> read;
  for (size_t d = 0; d < window.rank(); ++d) {
    Numbers<double> regular;
    for_each_index(window.kernel, [&](std::span<const int64_t> tap) {
      for_each_index(window.output, [&](std::span<const int64_t> at) {
        regular.push_back(static_cast<double>(at[d] * window.stride[d] + tap[d] * window.dilation[d] - window.pad_begin[d]));
      });
    });
    Tensor table(places, {1, positions});
    narrow(places, regular.data(), regular.size(), table.writable().data());
    const Expr moved = b.op("Gather", {offset, b.scalar(static_cast<double>(d), DType::i64)}, {{"axis", int64_t{2}}});
    constexpr GridSampling kSampling{GridSampling::Mode::linear, GridSampling::Padding::zeros, true, 1};
    read.push_back(taps_at(kSampling, reshaped(moved, {images, positions}) + b.constant(std::move(table)), window.input[d]));
  }
  const Shape& x = node.input_shape(0);
  Ints grouped{images, x[1] / groups};
  grouped.insert(grouped.end(), x.begin() + 2, x.end());
  Expr columns = sampled_sum(in[0], Shape(grouped), dtype, read, positions);
  if (node.has_input(4)) columns = columns * reshaped(in[4], {images, 1, positions});
  const int64_t rows = conv.in_channels_per_group() * taps, filters = conv.out_channels_per_group();
  const Expr sums =
      b.op("MatMul", {reshaped(in[1], {1, conv.groups, filters, rows}), reshaped(columns, {conv.batch, conv.groups, rows, outputs})});
  const Expr result = reshaped(sums, Ints(y.begin(), y.end()));
  Ints of_bias(y.rank() - 1, 1);
  of_bias[0] = y[1];
  return {node.has_input(3) ? result + reshaped(in[3], of_bias) : result};
}

#endif

constexpr List<Operator> definitions() {
  List<AttributeSpec> attributes = {kDilations, kGroup, kKernelShape, kOffsetGroup, kPads, kStrides};
  return {{.name = "DeformConv",
           .since = 22,
           .doc = MINNOW_DOC(
               "A convolution whose taps are moved by `offset` [batch, offset_group * taps * dimensions, positions...], read by linear "
               "interpolation, and weighted by `mask` [batch, offset_group * taps, positions...]. Source: Dai et al. 2017, "
               "\"Deformable Convolutional Networks\"; Zhu et al. 2018."),
           .inputs = {{"X", kFloats},
                      {.name = "W", .dtypes = kFloats, .weight = Weight::stored, .like = "X"},
                      like("offset", kFloats, "X"),
                      like("B", kFloats, "X", kOptional),
                      like("mask", kFloats, "X", kOptional)},
           .outputs = {{"Y", same_as("X")}},
           .attributes = attributes,
           .infer_shapes = infer_shapes,
           .reference = reference,
           .gradient = MINNOW_GRADIENT(parts_gradient<parts>),
           .operations = [](const NodeView& node) { return 2 * ConvGeometry::of(node).multiply_adds(); }}};
}

}  // namespace

std::span<const Operator> deform_conv_operators() { return operator_table<definitions>(); }

}  // namespace minnow
