// SPDX-License-Identifier: Apache-2.0
#include "graph/resize.h"

#include <cmath>

#include "base/numeric.h"
#include "ops/batch.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<Name> kMode{"mode", "nearest", MINNOW_DOC("nearest, linear or cubic interpolation")};
constexpr Attribute<Name> kTransformation{
    "coordinate_transformation_mode", "half_pixel",
    MINNOW_DOC("what place of the input a place of the output is: half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, "
               "asymmetric, tf_crop_and_resize or tf_half_pixel_for_nn")};
constexpr Attribute<Name> kNearestMode{"nearest_mode", "round_prefer_floor",
                                       MINNOW_DOC("how mode nearest rounds: round_prefer_floor, round_prefer_ceil, floor or ceil")};
constexpr Attribute<Name> kPolicy{
    "keep_aspect_ratio_policy", "stretch",
    MINNOW_DOC(
        "what sizes mean: stretch: just these; not_larger, not_smaller: the axes keep their ratio, and none gets larger, or smaller, "
        "than its size")};
constexpr Attribute<bool> kAntialias{"antialias", false, MINNOW_DOC("where the image shrinks, the filter widens accordingly")};
constexpr Attribute<bool> kExcludeOutside{"exclude_outside", false,
                                          MINNOW_DOC("places outside the input get weight 0 instead of the edge's value")};
constexpr Attribute<float> kCubicA{"cubic_coeff_a", -0.75f, MINNOW_DOC("parameter a of the cubic filter")};
constexpr Attribute<float> kExtrapolation{"extrapolation_value", 0, MINNOW_DOC("what tf_crop_and_resize gives outside the input")};

Shapes infer_shapes(const NodeView& node) { return {ResizeGeometry::output_sizes(node)}; }

std::vector<ResizeAxis> axes_of(const ResizeGeometry& resize, const KernelArgs& args) {
  const Numbers<double> region = resize.needs_region() && resize.roi_axes ? args.reals(1) : Numbers<double>();
  std::vector<ResizeAxis> axes;
  for (size_t i = 0; i < resize.input.rank(); ++i) axes.push_back(resize.axis(i, region));
  return axes;
}

/// body(place in the output) for every output place that some axis has outside the input.
template <class F>
void for_each_outside(const Shape& output, const std::vector<ResizeAxis>& axes, F body) {
  bool any = false;
  for (const ResizeAxis& axis : axes)
    for (const bool outside : axis.outside) any = any || outside;
  if (!any) return;
  size_t place = 0;
  for_each_index(output, [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i)
      if (!axes[i].outside.empty() && axes[i].outside[static_cast<size_t>(index[i])]) {
        body(place);
        break;
      }
    ++place;
  });
}

/// Mode nearest moves elements and looks at their size alone.
template <class Bits>
void pick(const ResizeGeometry& resize, const std::vector<ResizeAxis>& axes, KernelArgs& args) {
  const Bits* x = args.input(0).data<Bits>();
  Bits* y = args.output(0).data<Bits>();
  const Ints step = row_major_strides(resize.input);
  Bits* to = y;
  for_each_index(resize.output, [&](std::span<const int64_t> index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += axes[i].index[static_cast<size_t>(index[i])] * step[i];
    *to++ = x[at];
  });
  Bits outside{};
  const double value = resize.extrapolation;
  narrow(args.input(0).dtype(), &value, 1, &outside);
  for_each_outside(resize.output, axes, [&](size_t place) { y[place] = outside; });
}

/// One axis of a tensor [outer, axis.input, inner].
Numbers<double> interpolated(const Numbers<double>& x, const ResizeAxis& axis, int64_t outer, int64_t inner) {
  Numbers<double> y(static_cast<size_t>(outer * axis.output * inner));
  double* to = y.data();
  Pace pace;
  for (int64_t i = 0; i < outer; ++i) {
    const double* from = x.data() + i * axis.input * inner;
    for (int64_t o = 0; o < axis.output; ++o, to += inner)
      for (int64_t t = o * axis.taps; t < (o + 1) * axis.taps; ++t) {
        pace.step(static_cast<size_t>(inner));
        const double weight = axis.weight.empty() ? 1 : axis.weight[static_cast<size_t>(t)];
        if (weight == 0) continue;
        const double* row = from + axis.index[static_cast<size_t>(t)] * inner;
        for (int64_t k = 0; k < inner; ++k) to[k] += weight * row[k];
      }
  }
  return y;
}

void reference(const NodeView& node, KernelArgs& args) {
  const ResizeGeometry resize = ResizeGeometry::of(node);
  const std::vector<ResizeAxis> axes = axes_of(resize, args);
  const DType dtype = args.input(0).dtype();
  if (resize.mode == ResizeGeometry::Mode::nearest) {
    switch (size_of(dtype)) {
      case 1:
        return pick<uint8_t>(resize, axes, args);
      case 2:
        return pick<uint16_t>(resize, axes, args);
      case 4:
        return pick<uint32_t>(resize, axes, args);
      default:
        return pick<uint64_t>(resize, axes, args);
    }
  }
  Numbers<double> y = args.reals(0);
  Shape shape = resize.input;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].is_identity()) continue;
    y = interpolated(y, axes[i], shape.product(0, i), shape.product(i + 1, shape.rank()));
    shape[i] = axes[i].output;
  }
  for_each_outside(resize.output, axes, [&](size_t place) { y[place] = resize.extrapolation; });
  if (is_float(dtype)) return args.write(0, y);
  // Integers: the nearest, within the dtype's range.
  const bool boolean = dtype == DType::boolean;
  const int64_t lowest = boolean ? 0 : lowest_of(dtype), highest = boolean ? 1 : highest_of(dtype);
  Numbers<int64_t> rounded(y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const double value = std::nearbyint(y[i]);
    rounded[i] = value <= static_cast<double>(lowest)    ? lowest
                 : value >= static_cast<double>(highest) ? highest
                                                         : static_cast<int64_t>(value);
  }
  args.write(0, rounded);
}

Batch resize_batch(const NodeView& node) {
  const ResizeGeometry resize = ResizeGeometry::of(node);
  return resize.scale[0] != 1 || resize.needs_region() ? Batch::mixed : Batch::reshaped;
}

#if MINNOW_GRADIENTS
/// Along each axis the product with the transposed matrix of weights.
Exprs resize_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  if (!c.knows_shape(0)) throw Unsupported("{}: the gradient of Resize needs the shape of its input before the run", c.node.where());
  const ResizeGeometry resize = ResizeGeometry::of(c.node);
  if (resize.needs_region()) throw Unsupported("{}: there is no gradient with tf_crop_and_resize", c.node.where());
  const size_t rank = resize.input.rank();
  const DType dtype = c.node.input_dtype(0);
  Expr g = c.output_gradient(0);
  for (size_t i = 0; i < rank; ++i) {
    const ResizeAxis axis = resize.axis(i);
    if (axis.is_identity()) continue;
    Numbers<double> weights(static_cast<size_t>(axis.output * axis.input));
    for (int64_t o = 0; o < axis.output; ++o)
      for (int64_t t = o * axis.taps; t < (o + 1) * axis.taps; ++t)
        weights[static_cast<size_t>(o * axis.input + axis.index[static_cast<size_t>(t)])] +=
            axis.weight.empty() ? 1 : axis.weight[static_cast<size_t>(t)];
    Tensor matrix(dtype, Shape{axis.output, axis.input});
    narrow(dtype, weights.data(), weights.size(), matrix.writable().data());
    Ints perm;
    for (size_t k = 0; k < rank; ++k) perm.push_back(static_cast<int64_t>(k));
    std::swap(perm[i], perm[rank - 1]);
    const auto turned = [&](const Expr& x) { return i + 1 == rank ? x : b.op("Transpose", {x}, {{"perm", perm}}); };
    g = turned(b.op("MatMul", {turned(g), b.constant(std::move(matrix))}));
  }
  Exprs made(c.inputs.size());
  made[0] = g;
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Resize",
       .since = 19,
       .doc =
           MINNOW_DOC("X with other sizes along some axes, interpolated axis by axis. Sizes are given, or floor(size * scale). Beyond the "
                      "edge, the edge repeats. Cubic interpolation: Keys 1981, \"Cubic convolution interpolation for digital image "
                      "processing\"."),
       .inputs = {{"X", kNumeric | kBool},
                  {"roi", one_of({DType::f16, DType::f32, DType::f64}), kOptional},
                  {"scales", one_of({DType::f32}), kOptional},
                  {"sizes", kI64, kOptional}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kAntialias,
                      optional("axes", AttributeKind::integers, MINNOW_DOC("axes that roi, scales and sizes speak of; all where absent")),
                      kTransformation, kCubicA, kExcludeOutside, kExtrapolation, kPolicy, kMode, kNearestMode},
       .infer_shapes = infer_shapes,
       .reference = reference,
       .gradient = MINNOW_GRADIENT(resize_gradient),
       .batch = resize_batch}};
}

}  // namespace

std::span<const Operator> resize_operators() { return operator_table<definitions>(); }

}  // namespace minnow
