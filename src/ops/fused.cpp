// SPDX-License-Identifier: Apache-2.0
// A convolution or a matrix product with what follows it: bias, a tensor that is added (the other arm of a residual block), an activation.
#include <cmath>

#include "graph/activation.h"
#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<float> kAlpha{"alpha", 1, MINNOW_DOC("factor of the product, before bias and Z")};
constexpr Attribute<bool> kTransA{"transA", false, MINNOW_DOC("the last two dimensions of A are swapped before it is multiplied")};
constexpr Attribute<bool> kTransB{"transB", false, MINNOW_DOC("the last two dimensions of B are swapped before it is multiplied")};

Sizes checked(const NodeView& node, const Sizes& result, const Size& channels) {
  Activation::of(node);
  if (const auto scale = node.known_sizes(kScale); scale && differ(*scale, Sizes{channels}))
    node.fail("the scale should have shape [{}], it has shape {}", channels, *scale);
  if (const auto z = node.known_sizes(3); z && differ(*z, result)) node.fail("Z should have shape {}, it has shape {}", result, *z);
  return result;
}

/// Adds Z, multiplies by the scales of channels, `inner` elements apart, and rounds to integers, applies the activation and writes the
/// result.
void finish(const NodeView& node, KernelArgs& args, Numbers<double>& y, [[maybe_unused]] size_t inner) {
  if (args.has_input(3)) {
    const Numbers<double> z = args.reals(3);
    for (size_t i = 0; i < y.size(); ++i) y[i] += z[i];
  }
#if !MINNOW_SMALL
  if (args.has_input(kScale)) {
    const Numbers<double> scale = args.reals(kScale);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = std::nearbyint(static_cast<float>(y[i]) * static_cast<float>(scale[i / inner % scale.size()]));
  }
#endif
  const Activation activation = Activation::of(node);
  if (activation.kind != Activation::Kind::none)
    for (double& value : y) value = activation(value);
  args.write(0, y);
}

Expr with_residual_and_activation(const NodeView& node, Expr y, const Exprs& inputs) {
  if (inputs.size() > 3 && inputs[3]) y = y + inputs[3];
  return Activation::of(node).apply(y);
}

Expr input_or_none(const Exprs& inputs, size_t i) { return i < inputs.size() ? inputs[i] : Expr(); }

/// The image with its channels first.
Numbers<double> channels_first(const ConvGeometry& conv, const Numbers<double>& x) {
  Numbers<double> y(x.size());
  const size_t channels = static_cast<size_t>(conv.in_channels), positions = static_cast<size_t>(conv.window.input_positions());
  for (size_t image = 0; image < static_cast<size_t>(conv.batch); ++image)
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < positions; ++i) y[(image * channels + c) * positions + i] = x[(image * positions + i) * channels + c];
  return y;
}

Shapes conv_shape(const NodeView& node) {
  const Sizes result = ConvGeometry::output_sizes(node);
  return {checked(node, result, result[1])};
}

void conv(const NodeView& node, KernelArgs& args) {
  const ConvGeometry conv = ConvGeometry::of(node);
  Numbers<double> y = begin_with_bias(args, 2, conv.batch, conv.out_channels, conv.window.output_positions());
  Numbers<double> x = args.reals(0);
  if (has_channels_last(node)) x = channels_first(conv, x);
  convolve<double>(conv, x.data(), args.reals(1).data(), y.data());
  finish(node, args, y, static_cast<size_t>(conv.window.output_positions()));
}

Exprs decompose_conv(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  if (node.has_input(kScale)) return {};
  Attributes attributes = node.node().attributes;
  for (std::string_view name : {kActivation.name, kActivationAlpha.name, kActivationBeta.name, kChannelsLast.name}) attributes.remove(name);
  Expr x = inputs[0];
  if (has_channels_last(node)) {
    Ints perm = {0, static_cast<int64_t>(node.input_shape(0).rank()) - 1};
    for (int64_t axis = 1; axis < perm[1]; ++axis) perm.push_back(axis);
    x = op("Transpose", {x}, {{"perm", perm}});
  }
  const Expr y = builder.op("Conv", {x, inputs[1], input_or_none(inputs, 2)}, std::move(attributes));
  return {with_residual_and_activation(node, y, inputs)};
}

Shapes matmul_shape(const NodeView& node) {
  const MatMulSizes p = MatMulSizes::of(node);
  if (const auto bias = node.known_sizes(2)) {
    const Sizes shapes[] = {p.result, *bias};
    if (differ(broadcast_sizes(node, shapes), p.result)) node.fail("the bias of shape {} cannot be broadcast to {}", *bias, p.result);
  }
  return {checked(node, p.result, p.n)};
}

void matmul(const NodeView& node, KernelArgs& args) {
  const MatMulGeometry p = MatMulGeometry::of(node);
  const double alpha = node.attribute(kAlpha);
  Numbers<double> y(static_cast<size_t>(p.result.elements()));
  multiply<double>(p, args.reals(0).data(), args.reals(1).data(), y.data());
  if (alpha != 1)
    for (double& value : y) value *= alpha;
  if (args.has_input(2)) {
    const Numbers<double> bias = args.reals(2);
    const Ints step = broadcast_strides(args.input(2).shape(), p.result);
    double* to = y.data();
    for_each_index(p.result, [&](std::span<const int64_t> index) {
      int64_t at = 0;
      for (size_t i = 0; i < index.size(); ++i) at += index[i] * step[i];
      *to++ += bias[static_cast<size_t>(at)];
    });
  }
  finish(node, args, y, 1);
}

Expr transposed(const NodeView& node, const Expr& x, size_t input) {
  const size_t rank = node.input_shape(input).rank();
  Ints order;
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  std::swap(order[rank - 1], order[rank - 2]);
  return op("Transpose", {x}, {{"perm", order}});
}

Exprs decompose_matmul(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  if (node.has_input(kScale)) return {};
  const bool trans_a = node.attribute(kTransA), trans_b = node.attribute(kTransB);
  const Expr bias = input_or_none(inputs, 2);
  Expr y;
  if (node.input_shape(0).rank() == 2 && node.input_shape(1).rank() == 2 && (!bias || node.input_shape(2).rank() <= 2)) {
    y = builder.op("Gemm", {inputs[0], inputs[1], bias},
                   {{"alpha", node.attribute(kAlpha)}, {"transA", int64_t{trans_a}}, {"transB", int64_t{trans_b}}});
  } else {
    const Expr a = trans_a ? transposed(node, inputs[0], 0) : inputs[0], b = trans_b ? transposed(node, inputs[1], 1) : inputs[1];
    y = builder.op("MatMul", {a, b});
    if (node.attribute(kAlpha) != 1) y = y * builder.scalar(node.attribute(kAlpha), node.input_dtype(0));
    if (bias) y = y + bias;
  }
  return {with_residual_and_activation(node, y, inputs)};
}

constexpr List<Operator> definitions() {
  List<AttributeSpec> conv_specs = conv_attributes();
  conv_specs.append({kActivation, kActivationAlpha, kActivationBeta, kChannelsLast});
  return {
      {.name = "minnow.FusedConv",
       .doc = MINNOW_DOC(
           "activation(Conv(X, W, B) + Z). Z has the shape of the result; X may have its channels last. Where there is a scale, one "
           "for each channel, the sum is multiplied by it and rounded to an integer before the activation."),
       .inputs = {{"X", kFloats},
                  packed_weight("W", kFloats, "X"),
                  like("B", kFloats, "X", kOptional),
                  like("Z", kFloats, "X", kOptional),
                  like("scale", kFloats, "X", kOptional)},
       .outputs = {{"Y", same_as("X")}},
       .attributes = conv_specs,
       .infer_shapes = conv_shape,
       .reference = conv,
       .decompose = decompose_conv,
       .operations = [](const NodeView& node) { return 2 * ConvGeometry::of(node).multiply_adds(); },
       .batch = batch_apart,
       .wants_constants = true},
      {.name = "minnow.FusedMatMul",
       .doc = MINNOW_DOC(
           "activation(alpha * A B + bias + Z). A and B as MatMul takes them, or with their last two dimensions swapped; the "
           "bias is broadcast to the result, Z has its shape. Where there is a scale, one for each column, the sum is multiplied by it "
           "and rounded to an integer before the activation."),
       .inputs = {{.name = "A", .dtypes = kFloats, .weight = Weight::stored},
                  packed_weight("B", kFloats, "A"),
                  like("bias", kFloats, "A", kOptional),
                  like("Z", kFloats, "A", kOptional),
                  like("scale", kFloats, "A", kOptional)},
       .outputs = {{"Y", same_as("A")}},
       .attributes = {kAlpha, kTransA, kTransB, kActivation, kActivationAlpha, kActivationBeta},
       .infer_shapes = matmul_shape,
       .reference = matmul,
       .decompose = decompose_matmul,
       .operations = [](const NodeView& node) { return 2 * MatMulGeometry::of(node).multiply_adds(); },
       .batch = batch_apart},
  };
}

}  // namespace

std::span<const Operator> fused_operators() { return operator_table<definitions>(); }

}  // namespace minnow
