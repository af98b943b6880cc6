// SPDX-License-Identifier: Apache-2.0
// Normalizations of groups of elements that lie side by side: whole trailing dimensions (layers), channels, groups of channels. All is
// computed in double and rounded once, which is at least what `stash_type` asks for.
#include <cmath>

#include "ops/batch.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

constexpr Attribute<float> kEpsilon{"epsilon", 1e-5f, MINNOW_DOC("added to the variance (the mean square), against division by zero")};
constexpr Attribute<int64_t> kAxis{"axis", -1, MINNOW_DOC("the first of the dimensions that are normalized together")};
constexpr Attribute<int64_t> kStashType{"stash_type", 1, MINNOW_DOC("number of the dtype of the saved statistics, f32 or bf16")};
constexpr AttributeSpec kNumGroups =
    required("num_groups", AttributeKind::integer, MINNOW_DOC("groups that the channels are divided into"));

/// Consecutive elements that are normalized together.
struct Rows {
  int64_t count, length;
};

size_t axis_of(const NodeView& node) { return node.normalize_axis(node.attribute(kAxis), node.input_sizes(0).rank()); }

Rows trailing_rows(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const size_t axis = axis_of(node);
  return {x.product(0, axis), x.product(axis, x.rank())};
}

Size groups_of(const NodeView& node, Size channels) {
  return node.op() == "GroupNormalization" ? Size(node.require<int64_t>(kNumGroups.name)) : channels;
}
int64_t groups_of(const NodeView& node) { return groups_of(node, node.input_shape(0)[1]).number(); }

Rows channel_rows(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  if (x.elements() == 0) return {0, 0};
  return {x[0] * groups_of(node), x.product(1, x.rank()) / groups_of(node)};
}

DType stash_dtype(const NodeView& node) {
  const int64_t number = node.attribute(kStashType);
  if (number < 1 || number > static_cast<int64_t>(DType::i2) || !contains(kFloats, static_cast<DType>(number)))
    node.fail("stash_type {} is not the number of a floating dtype", number);
  return static_cast<DType>(number);
}

/// Scale and bias have to fit the input without making it larger.
void check_broadcast(const NodeView& node, size_t input) {
  const auto given = node.known_sizes(input);
  if (!given) return;
  const Sizes shapes[] = {node.input_sizes(0), *given};
  if (differ(broadcast_sizes(node, shapes), shapes[0]))
    node.fail("input {} (\"{}\") of shape {} cannot be broadcast to {}", input, node.input_name(input), shapes[1], shapes[0]);
}

Shapes trailing_shapes(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  check_broadcast(node, 1), check_broadcast(node, 2);
  stash_dtype(node);
  Sizes statistics = x;
  for (size_t i = axis_of(node); i < x.rank(); ++i) statistics[i] = 1;
  return {x, statistics, statistics};
}

Shapes channel_shapes(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() < 2) node.fail("the input should have a batch and a channel dimension, its shape is {}", x);
  const Size groups = groups_of(node, x[1]);
  if (less(groups, 0) || (groups.is(0) ? less(0, x[1]) : leaves_rest(x[1], groups)))
    node.fail("{} channels cannot be divided into {} groups", x[1], groups);
  for (size_t i : {1, 2})
    if (const auto shape = node.known_sizes(i); shape && differ(*shape, Sizes{x[1]}))
      node.fail("input {} (\"{}\") should have shape [{}], it has shape {}", i, node.input_name(i), x[1], *shape);
  return {x};
}

/// Rows less their mean and divided by their deviation; what was taken goes to `mean` and `inverse`, one element for each row.
void standardize(Numbers<double>& x, DType dtype, Rows rows, double epsilon, double* mean, double* inverse) {
  const double length = static_cast<double>(rows.length);
  Pace pace;
  for (int64_t r = 0; r < rows.count; ++r) {
    pace.step(static_cast<size_t>(4 * rows.length));
    double *row = x.data() + r * rows.length, sum = 0, squares = 0;
    for (int64_t i = 0; i < rows.length; ++i) sum += row[i];
    mean[r] = in_range(sum, dtype) / length;
    for (int64_t i = 0; i < rows.length; ++i) squares += (row[i] - mean[r]) * (row[i] - mean[r]);
    inverse[r] = 1 / std::sqrt(in_range(squares, dtype) / length + epsilon);
    for (int64_t i = 0; i < rows.length; ++i) row[i] = (row[i] - mean[r]) * inverse[r];
  }
}

void scale_and_shift(const KernelArgs& args, Numbers<double>& x) {
  const Shape& shape = args.input(0).shape();
  const Numbers<double> scale = args.reals(1);
  walk_broadcast(args.input(1).shape(), shape, [&](size_t i, size_t at) { x[i] *= scale[at]; });
  if (!args.has_input(2)) return;
  const Numbers<double> bias = args.reals(2);
  walk_broadcast(args.input(2).shape(), shape, [&](size_t i, size_t at) { x[i] += bias[at]; });
}

void layer(const NodeView& node, KernelArgs& args) {
  const Rows rows = trailing_rows(node);
  Numbers<double> x = args.reals(0), mean(static_cast<size_t>(rows.count)), inverse(mean.size());
  standardize(x, args.input(0).dtype(), rows, node.attribute(kEpsilon), mean.data(), inverse.data());
  if (args.has_output(1)) args.write(1, mean);
  if (args.has_output(2)) args.write(2, inverse);
  if (!args.has_output(0)) return;
  scale_and_shift(args, x);
  args.write(0, x);
}

void root_mean_square(const NodeView& node, KernelArgs& args) {
  const Rows rows = trailing_rows(node);
  const double epsilon = node.attribute(kEpsilon);
  Numbers<double> x = args.reals(0);
  Pace pace;
  for (int64_t r = 0; r < rows.count; ++r) {
    pace.step(static_cast<size_t>(4 * rows.length));
    double *row = x.data() + r * rows.length, squares = 0;
    for (int64_t i = 0; i < rows.length; ++i) squares += row[i] * row[i];
    const double root = std::sqrt(in_range(squares, args.input(0).dtype()) / static_cast<double>(rows.length) + epsilon);
    for (int64_t i = 0; i < rows.length; ++i) row[i] /= root;
  }
  scale_and_shift(args, x);
  args.write(0, x);
}

void channels(const NodeView& node, KernelArgs& args) {
  const Rows rows = channel_rows(node);
  Numbers<double> x = args.reals(0), mean(static_cast<size_t>(rows.count)), inverse(mean.size());
  standardize(x, args.input(0).dtype(), rows, node.attribute(kEpsilon), mean.data(), inverse.data());
  const Numbers<double> scale = args.reals(1), bias = args.reals(2);
  const AxisLines lines(args.input(0).shape(), 1);
  lines.for_each([&](int64_t first, int64_t) {
    for (int64_t c = 0; c < lines.length; ++c) {
      double& at = x[static_cast<size_t>(first + c * lines.inner)];
      at = at * scale[static_cast<size_t>(c)] + bias[static_cast<size_t>(c)];
    }
  });
  args.write(0, x);
}

// The composed forms, in f32 or f64 throughout.

DType work_dtype(const NodeView& node) { return node.input_dtype(0) == DType::f64 ? DType::f64 : DType::f32; }
Expr as(const Expr& x, DType dtype) { return x.value()->type.dtype == dtype ? x : cast(x, dtype); }

struct Standardized {
  Expr y, mean, inverse;
};
Standardized standardized(const Expr& x, const Expr& axes, double epsilon) {
  const Expr mean = op("ReduceMean", {x, axes}), centered = x - mean;
  const Expr inverse = op("Reciprocal", {op("Sqrt", {op("ReduceMean", {centered * centered, axes}) + epsilon})});
  return {centered * inverse, mean, inverse};
}

Expr trailing_axes(const NodeView& node, GraphBuilder& b) {
  Ints axes;
  for (size_t i = axis_of(node); i < node.input_shape(0).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return b.constant(axes);
}

Exprs layer_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const DType work = work_dtype(node), stash = stash_dtype(node);
  const Standardized s = standardized(as(in[0], work), trailing_axes(node, b), node.attribute(kEpsilon));
  Expr y = s.y * as(in[1], work);
  if (node.has_input(2)) y = y + as(in[2], work);
  Exprs results{as(y, node.input_dtype(0))};
  if (node.has_output(1) || node.has_output(2)) results.push_back(as(s.mean, stash)), results.push_back(as(s.inverse, stash));
  return results;
}

Exprs root_mean_square_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const DType work = work_dtype(node);
  const Expr x = as(in[0], work);
  const Expr root = op("Sqrt", {op("ReduceMean", {x * x, trailing_axes(node, b)}) + node.attribute(kEpsilon)});
  return {as(x / root * as(in[1], work), node.input_dtype(1))};
}

Exprs channels_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Shape& shape = node.input_shape(0);
  if (shape.elements() == 0) return {};
  const DType work = work_dtype(node);
  const Expr grouped = b.op("Reshape", {as(in[0], work), b.constant({shape[0], groups_of(node), -1})});
  const Expr y =
      b.op("Reshape", {standardized(grouped, b.constant({2}), node.attribute(kEpsilon)).y, b.constant(Ints(shape.begin(), shape.end()))});
  Ints along(shape.rank() - 1, 1);
  along[0] = shape[1];
  const auto per_channel = [&](const Expr& x) { return as(b.op("Reshape", {x, b.constant(along)}), work); };
  return {as(y * per_channel(in[1]) + per_channel(in[2]), node.input_dtype(0))};
}

#if MINNOW_GRADIENTS
/// In one node where the scale has an element for each one of a row and only y is used.
Exprs trailing_gradient(const GradientContext& c, bool centered, Decompose parts) {
  const NodeView& node = c.node;
  bool alike = c.know_shapes() && work_dtype(node) == node.input_dtype(0) && node.input_dtype(1) == node.input_dtype(0);
  for (size_t i = 1; i < c.output_gradients.size(); ++i) alike = alike && !c.output_gradient(i);
  for (size_t i = 1; alike && i < c.inputs.size(); ++i)
    alike = !c.has_input(i) || node.input_shape(i) == Shape(node.input_shape(0).dims().subspan(axis_of(node)));
  if (!alike) return gradient_through(c, parts);
  return gradient_node(c, "minnow.LayerNormalizationGradient", {c.input(0), c.input(1), c.output_gradient(0)},
                       {{"axis", node.attribute(kAxis)}, {"epsilon", node.attribute(kEpsilon)}, {"centered", int64_t{centered}}});
}
Exprs layer_gradient(const GradientContext& c) { return trailing_gradient(c, true, layer_parts); }
Exprs root_mean_square_gradient(const GradientContext& c) { return trailing_gradient(c, false, root_mean_square_parts); }
#endif

constexpr List<Operator> definitions() {
  const auto like_first = [](Name name, Name first, Arity arity = Arity::required) {
    return InputSpec{.name = name, .dtypes = kFloats, .arity = arity, .like = first};
  };
  return {
      {.name = "LayerNormalization",
       .since = 17,
       .doc =
           MINNOW_DOC("y = (x - mean) / sqrt(variance + epsilon) * Scale + B, with the statistics of the dimensions from `axis` on; these "
                      "are the other outputs. Source: Ba, Kiros, Hinton 2016."),
       .inputs = {{"X", kFloats}, like_first("Scale", "X"), like_first("B", "X", kOptional)},
       .outputs = {{"Y", same_as("X")},
                   {"Mean", from_attribute("stash_type", DType::f32), kOptional},
                   {"InvStdDev", from_attribute("stash_type", DType::f32), kOptional}},
       .attributes = {kAxis, kEpsilon, kStashType},
       .infer_shapes = trailing_shapes,
       .reference = layer,
       .decompose = layer_parts,
       .gradient = MINNOW_GRADIENT(layer_gradient),
       .batch = batch_apart_off_axis},
      {.name = "RMSNormalization",
       .since = 23,
       .doc = MINNOW_DOC("y = x / sqrt(mean of the squares + epsilon) * scale, over the dimensions from `axis` on. Source: Zhang, Sennrich "
                         "2019."),
       .inputs = {{"X", kFloats}, {"scale", kFloats}},
       .outputs = {{"Y", same_as("scale")}},
       .attributes = {kAxis, kEpsilon, kStashType},
       .infer_shapes = trailing_shapes,
       .reference = root_mean_square,
       .decompose = root_mean_square_parts,
       .gradient = MINNOW_GRADIENT(root_mean_square_gradient),
       .batch = batch_apart_off_axis},
      {.name = "InstanceNormalization",
       .since = 22,
       .doc =
           MINNOW_DOC("y = (x - mean) / sqrt(variance + epsilon) * scale + B, with the statistics of each channel of each image. Source: "
                      "Ulyanov, Vedaldi, Lempitsky 2016."),
       .inputs = {{"input", kFloats}, like_first("scale", "input"), like_first("B", "input")},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kEpsilon},
       .infer_shapes = channel_shapes,
       .reference = channels,
       .decompose = channels_parts,
       .batch = batch_apart},
      {.name = "GroupNormalization",
       .since = 21,
       .doc = MINNOW_DOC("y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the statistics of each group of channels of each "
                         "image and a scale for each channel. Source: Wu, He 2018."),
       .inputs = {{"X", kFloats}, like_first("scale", "X"), like_first("bias", "X")},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kNumGroups, kEpsilon, kStashType},
       .infer_shapes = channel_shapes,
       .reference = channels,
       .decompose = channels_parts,
       .batch = batch_apart},
  };
}

}  // namespace

std::span<const Operator> normalization_operators() { return operator_table<definitions>(); }

}  // namespace minnow
