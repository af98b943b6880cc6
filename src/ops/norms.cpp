// SPDX-License-Identifier: Apache-2.0
// Normalizations without parameters of their own: along any axes, by a norm, among neighbouring channels.
#include <cmath>

#include "ops/batch.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

constexpr Name kAxes = "axes";
constexpr Attribute<int64_t> kLpAxis{"axis", -1, MINNOW_DOC("the axis of the norm; negative counts from the last")};
constexpr Attribute<int64_t> kLpOrder{"p", 2, MINNOW_DOC("1 for the sum of magnitudes, 2 for the Euclidean norm")};
constexpr Attribute<float> kLrnAlpha{"alpha", 1e-4f, MINNOW_DOC("factor of the mean square")};
constexpr Attribute<float> kLrnBeta{"beta", 0.75f, MINNOW_DOC("exponent")};
constexpr Attribute<float> kLrnBias{"bias", 1, MINNOW_DOC("added to the mean square")};
constexpr AttributeSpec kLrnSize = required("size", AttributeKind::integer, MINNOW_DOC("number of channels that the sum goes over"));
constexpr double kMvnEpsilon = 1e-9;  // part of the operator's definition

Ints mvn_axes(const NodeView& node) {
  const Ints* given = node.find<Ints>(kAxes);
  Ints axes = given ? *given : Ints{0, 2, 3};
  std::array<bool, kMaxRank> seen{};
  for (int64_t& axis : axes) {
    const size_t a = node.normalize_axis(axis, node.input_sizes(0).rank());
    if (seen[a]) node.fail("axes {} name an axis twice", axes);
    seen[a] = true;
    axis = static_cast<int64_t>(a);
  }
  return axes;
}
Shapes mvn_shape(const NodeView& node) {
  mvn_axes(node);
  return {node.input_sizes(0)};
}
void mvn(const NodeView& node, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  Shape kept = shape;
  const Ints axes = mvn_axes(node);
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  if (axes.empty()) kept = Shape::filled(shape.rank(), 1);  // no axes: all, as in reductions
  Numbers<double> x = args.reals(0), mean(static_cast<size_t>(kept.elements())), deviation(mean.size());
  const double count = static_cast<double>(x.size()) / static_cast<double>(mean.size());
  const DType dtype = args.input(0).dtype();
  walk_broadcast(kept, shape, [&](size_t i, size_t at) { mean[at] += x[i]; });
  for (double& value : mean) value = in_range(value, dtype) / count;
  walk_broadcast(kept, shape, [&](size_t i, size_t at) { deviation[at] += (x[i] - mean[at]) * (x[i] - mean[at]); });
  for (double& value : deviation) value = std::sqrt(in_range(value, dtype) / count) + kMvnEpsilon;
  walk_broadcast(kept, shape, [&](size_t i, size_t at) { x[i] = (x[i] - mean[at]) / deviation[at]; });
  args.write(0, x);
}
Exprs mvn_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const DType dtype = node.input_dtype(0);
  const bool is_narrow = dtype == DType::f16 || dtype == DType::bf16;
  const Expr axes = b.constant(mvn_axes(node)), x = is_narrow ? cast(in[0], DType::f32) : in[0];
  const Expr centered = x - b.op("ReduceMean", {x, axes});
  const Expr y = centered / (op("Sqrt", {b.op("ReduceMean", {centered * centered, axes})}) + kMvnEpsilon);
  return {is_narrow ? cast(y, dtype) : y};
}

Shapes lp_shape(const NodeView& node) {
  const int64_t p = node.attribute(kLpOrder);
  if (p != 1 && p != 2) node.fail("p should be 1 or 2, it is {}", p);
  node.normalize_axis(node.attribute(kLpAxis), node.input_sizes(0).rank());
  return {node.input_sizes(0)};
}
void lp(const NodeView& node, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  const AxisLines lines(shape, node.normalize_axis(node.attribute(kLpAxis), shape.rank()));
  const bool euclidean = node.attribute(kLpOrder) == 2;
  Numbers<double> x = args.reals(0);
  lines.for_each([&](int64_t first, int64_t) {
    double *line = x.data() + first, norm = 0;
    const int64_t end = lines.length * lines.inner;
    for (int64_t k = 0; k < end; k += lines.inner) norm += euclidean ? line[k] * line[k] : std::fabs(line[k]);
    if (euclidean) norm = std::sqrt(norm);
    for (int64_t k = 0; k < end; k += lines.inner) line[k] = norm == 0 ? 0 : line[k] / norm;
  });
  args.write(0, x);
}

Shapes lrn_shape(const NodeView& node) {
  if (node.input_sizes(0).rank() < 2)
    node.fail("the input should have a batch and a channel dimension, its shape is {}", node.input_sizes(0));
  if (node.require<int64_t>(kLrnSize.name) < 1) node.fail("size should be positive, it is {}", node.require<int64_t>(kLrnSize.name));
  return {node.input_sizes(0)};
}
void lrn(const NodeView& node, KernelArgs& args) {
  const AxisLines lines(args.input(0).shape(), 1);
  const int64_t size = node.require<int64_t>(kLrnSize.name), before = (size - 1) / 2, after = size - 1 - before;
  const double alpha = static_cast<double>(node.attribute(kLrnAlpha)) / static_cast<double>(size), beta = node.attribute(kLrnBeta),
               bias = node.attribute(kLrnBias);
  const Numbers<double> x = args.reals(0);
  Numbers<double> y(x.size());
  Pace pace;
  lines.for_each([&](int64_t first, int64_t) {
    for (int64_t c = 0; c < lines.length; ++c) {
      double squares = 0;
      const int64_t from = c > before ? c - before : 0, to = after < lines.length - c ? c + after + 1 : lines.length;
      pace.step(static_cast<size_t>(to > from ? to - from : 1));
      for (int64_t i = from; i < to; ++i) {
        const double value = x[static_cast<size_t>(first + i * lines.inner)];
        squares += value * value;
      }
      squares = in_range(squares, args.input(0).dtype());
      const size_t at = static_cast<size_t>(first + c * lines.inner);
      y[at] = x[at] / std::pow(bias + alpha * squares, beta);
    }
  });
  args.write(0, y);
}

#if MINNOW_GRADIENTS
Exprs lp_gradient(const GradientContext& c) {
  const Expr &x = c.input(0), &y = c.output(0), &g = c.output_gradient(0), axis = c.builder.constant({c.node.attribute(kLpAxis)});
  const bool euclidean = c.node.attribute(kLpOrder) == 2;
  const Expr norm = c.builder.op(euclidean ? "ReduceL2" : "ReduceL1", {x, axis});
  const Expr along = c.builder.op("ReduceSum", {g * y, axis});
  const Expr zero = c.builder.scalar_like(0, x);
  return {select(op("Equal", {norm, zero}), zero, (g - (euclidean ? y : op("Sign", {x})) * along) / norm)};
}
/// y = x s^-beta, s = bias + alpha / size * (sums of squares over neighbours): the sums of the gradient go over the neighbours on the other
/// side.
Exprs lrn_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  const Expr &x = c.input(0), &g = c.output_gradient(0);
  const Shape& shape = c.node.input_shape(0);
  const int64_t size = c.node.require<int64_t>(kLrnSize.name), before = (size - 1) / 2, after = size - 1 - before;
  const double alpha = static_cast<double>(c.node.attribute(kLrnAlpha)) / static_cast<double>(size), beta = c.node.attribute(kLrnBeta);
  // Sums over channels c - first .. c + last, as running sums' differences.
  const auto window = [&](const Expr& of, int64_t first, int64_t last) {
    const int64_t channels = shape[1];
    Ints pads(2 * shape.rank());
    pads[1] = first + 1, pads[shape.rank() + 1] = last;
    const Expr sums = b.op("CumSum", {b.op("Pad", {of, b.constant(pads)}), b.scalar(1, DType::i64)}), axis = b.constant({int64_t{1}});
    const auto part = [&](int64_t from) { return b.op("Slice", {sums, b.constant({from}), b.constant({from + channels}), axis}); };
    return part(first + last + 1) - part(0);
  };
  const Expr s = alpha * window(x * x, before, after) + static_cast<double>(c.node.attribute(kLrnBias));
  const Expr scale = op("Pow", {s, b.scalar_like(-beta, x)});
  return {g * scale - (2 * alpha * beta) * (x * window(g * x * scale / s, after, before))};
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "MeanVarianceNormalization",
       .since = 13,
       .doc = MINNOW_DOC("y = (x - mean) / (deviation + 1e-9), with the statistics along the axes (0, 2 and 3 where none are named)."),
       .inputs = {{"X", kFloats}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {optional(kAxes, AttributeKind::integers, MINNOW_DOC("axes that the statistics are taken along"))},
       .infer_shapes = mvn_shape,
       .reference = mvn,
       .decompose = mvn_parts},
      {.name = "LpNormalization",
       .since = 22,
       .doc = MINNOW_DOC("y = x / its norm along the axis; 0 where the norm is 0."),
       .inputs = {{"input", kFloats}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kLpAxis, kLpOrder},
       .infer_shapes = lp_shape,
       .reference = lp,
       .gradient = MINNOW_GRADIENT(lp_gradient),
       .batch = batch_apart_off_axis,
       .axes = kAxisAttribute},
      {.name = "LRN",
       .since = 13,
       .doc = MINNOW_DOC("y = x / (bias + alpha / size * the sum of the squares of `size` neighbouring channels)^beta. Source: Krizhevsky, "
                         "Sutskever, Hinton 2012."),
       .inputs = {{"X", kFloats}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kLrnSize, kLrnAlpha, kLrnBeta, kLrnBias},
       .infer_shapes = lrn_shape,
       .reference = lrn,
       .gradient = MINNOW_GRADIENT(lrn_gradient),
       .batch = batch_apart},
  };
}

}  // namespace

std::span<const Operator> norms_operators() { return operator_table<definitions>(); }

}  // namespace minnow
