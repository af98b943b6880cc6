// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<float> kEpsilon{"epsilon", 1e-5f, MINNOW_DOC("added to the variance, against division by zero")};
constexpr Attribute<float> kMomentum{"momentum", 0.9f, MINNOW_DOC("what the running statistics keep of their old values")};
constexpr Attribute<bool> kTrainingMode{"training_mode", false, MINNOW_DOC("the statistics are those of the batch")};

/// The input cut along its channels; a vector is a batch of one channel.
AxisLines channels_of(const Shape& x) { return x.rank() >= 2 ? AxisLines(x, 1) : AxisLines(Shape{x.elements(), 1}, 1); }

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() == 0) node.fail("the input should have a batch and a channel dimension, it is a scalar");
  const Sizes expected{x.rank() == 1 ? Size(1) : x[1]};
  for (size_t i = 1; i < 5; ++i)
    if (const auto shape = node.known_sizes(i); shape && differ(*shape, expected))
      node.fail("input {} (\"{}\") should have shape {}, it has shape {}", i, node.input_name(i), expected, *shape);
  if (!node.attribute(kTrainingMode) && (node.has_output(1) || node.has_output(2)))
    node.fail("running statistics are asked for, but training_mode is 0");
  return {x, expected, expected};
}

void reference(const NodeView& node, KernelArgs& args) {
  const AxisLines lines = channels_of(args.input(0).shape());
  Numbers<double> x = args.reals(0), mean = args.reals(3), variance = args.reals(4);
  const Numbers<double> scale = args.reals(1), bias = args.reals(2);
  const auto each = [&](auto body) {
    lines.for_each([&](int64_t first, int64_t) {
      for (int64_t c = 0; c < lines.length; ++c) body(x[static_cast<size_t>(first + c * lines.inner)], static_cast<size_t>(c));
    });
  };
  if (node.attribute(kTrainingMode)) {
    const double count = static_cast<double>(lines.outer * lines.inner), momentum = node.attribute(kMomentum);
    Numbers<double> batch_mean(mean.size()), batch_variance(mean.size());
    each([&](double value, size_t c) { batch_mean[c] += value; });
    for (double& value : batch_mean) value /= count;
    each([&](double value, size_t c) { batch_variance[c] += (value - batch_mean[c]) * (value - batch_mean[c]); });
    for (double& value : batch_variance) value /= count;
    for (size_t c = 0; c < mean.size(); ++c) {
      mean[c] = mean[c] * momentum + batch_mean[c] * (1 - momentum);
      variance[c] = variance[c] * momentum + batch_variance[c] * (1 - momentum);
    }
    if (args.has_output(1)) args.write(1, mean);
    if (args.has_output(2)) args.write(2, variance);
    mean = batch_mean, variance = batch_variance;
  }
  // Channels are folded first, as passes and kernels do it: with variance and epsilon 0 that is NaN, where (x - mean) / 0 would be
  // infinite.
  Numbers<double> factor(scale.size()), offset(scale.size());
  for (size_t c = 0; c < factor.size(); ++c) {
    factor[c] = scale[c] / std::sqrt(variance[c] + static_cast<double>(node.attribute(kEpsilon)));
    offset[c] = bias[c] - mean[c] * factor[c];
  }
  each([&](double& value, size_t c) { value = value * factor[c] + offset[c]; });
  if (args.has_output(0)) args.write(0, x);
}

/// One multiplication and one addition for each element: what concerns channels alone is folded before the run.
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  if (node.attribute(kTrainingMode)) return {};
  const DType dtype = node.input_dtype(0), work = dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto as = [](const Expr& x, DType to) { return x.value()->type.dtype == to ? x : cast(x, to); };
  const Expr factor = as(in[1], work) / op("Sqrt", {as(in[4], work) + node.attribute(kEpsilon)});
  const Expr offset = as(in[2], work) - as(in[3], work) * factor;
  Ints along(std::max<size_t>(node.input_shape(0).rank(), 2) - 1, 1);
  along[0] = -1;
  const auto per_channel = [&](const Expr& x) { return b.op("Reshape", {x, b.constant(along)}); };
  return {as(as(in[0], work) * per_channel(factor) + per_channel(offset), dtype)};
}

#if MINNOW_GRADIENTS
Exprs gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  if (!c.knows_shape(0)) throw Unsupported("{}: the gradient of BatchNormalization needs the rank of its input", c.node.where());
  const size_t rank = c.node.input_shape(0).rank();
  const Expr &x = c.input(0), &g = c.output_gradient(0);
  if (c.node.attribute(kTrainingMode)) {
    const Expr columns = rank == 1 ? b.constant({int64_t{1}}) : Expr();  // a vector is a batch of one channel
    const auto with_channel = [&](const Expr& of) { return columns ? b.op("Unsqueeze", {of, columns}) : of; };
    Exprs made = b.ops("minnow.BatchNormalizationGradient", {with_channel(x), c.input(1), with_channel(g)}, 3,
                       {{"epsilon", c.node.attribute(kEpsilon)}});
    if (columns) made[0] = b.op("Squeeze", {made[0], columns});
    return made;
  }
  Ints along(std::max<size_t>(rank, 2) - 1, 1), axes{0};
  along[0] = -1;
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  const auto per_channel = [&](const Expr& of) { return b.op("Reshape", {of, b.constant(along)}); };
  const auto sum_of = [&](const Expr& of) { return b.op("ReduceSum", {of, b.constant(axes)}, {{"keepdims", int64_t{0}}}); };
  const Expr inverse = 1.0 / op("Sqrt", {per_channel(c.input(4)) + static_cast<double>(c.node.attribute(kEpsilon))});
  const Expr normal = (x - per_channel(c.input(3))) * inverse, factor = per_channel(c.input(1)) * inverse;
  Exprs made(5);
  if (c.wants(0)) made[0] = factor * g;
  if (c.wants(1)) made[1] = sum_of(g * normal);
  if (c.wants(2)) made[2] = sum_of(g);
  if (c.wants(3)) made[3] = -sum_of(g * factor);
  if (c.wants(4)) made[4] = -0.5 * sum_of(g * factor * normal * inverse);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "BatchNormalization",
       .since = 15,
       .doc = MINNOW_DOC("y = (x - mean) / sqrt(variance + epsilon) * scale + B for each channel (dimension 1), with the statistics that "
                         "are given, or in training mode with those of the batch (the variance that of a population), which the running "
                         "statistics then follow. Source: Ioffe, Szegedy 2015."),
       .inputs = {{"X", kFloats},
                  {"scale", kFloats},
                  {.name = "B", .dtypes = kFloats, .like = "scale"},
                  {"input_mean", kFloats},
                  {.name = "input_var", .dtypes = kFloats, .like = "input_mean"}},
       .outputs = {{"Y", same_as("X")},
                   {"running_mean", same_as("input_mean"), kOptional},
                   {"running_var", same_as("input_mean"), kOptional}},
       .attributes = {kEpsilon, kMomentum, kTrainingMode},
       .infer_shapes = infer,
       .reference = reference,
       .decompose = parts,
       .gradient = MINNOW_GRADIENT(gradient),
       .batch = [](const NodeView& node) { return node.attribute(kTrainingMode) ? Batch::mixed : Batch::apart; },
       .wants_constants = true}};
}

}  // namespace

std::span<const Operator> batch_normalization_operators() { return operator_table<definitions>(); }

}  // namespace minnow
