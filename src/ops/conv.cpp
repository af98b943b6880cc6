// SPDX-License-Identifier: Apache-2.0
// Convolutions of floating tensors.
#include <algorithm>

#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

Shapes conv_shape(const NodeView& node) { return {ConvGeometry::output_sizes(node)}; }

void conv(const NodeView& node, KernelArgs& args) {
  const ConvGeometry conv = ConvGeometry::of(node);
  Numbers<double> y = begin_with_bias(args, 2, conv.batch, conv.out_channels, conv.window.output_positions());
  convolve<double>(conv, args.reals(0).data(), args.reals(1).data(), y.data());
  args.write(0, y);
}

Shapes transposed_shape(const NodeView& node) { return {ConvTransposeGeometry::output_sizes(node)}; }

void transposed(const NodeView& node, KernelArgs& args) {
  const ConvTransposeGeometry conv = ConvTransposeGeometry::of(node);
  Numbers<double> y = begin_with_bias(args, 2, conv.batch, conv.out_channels, conv.window.input_positions());
  convolve_transposed(conv, args.reals(0).data(), args.reals(1).data(), y.data());
  args.write(0, y);
}

#if MINNOW_GRADIENTS
Ints ints_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
Ints pads_of(const WindowGeometry& w) {
  Ints pads = ints_of(w.pad_begin);
  pads.insert(pads.end(), w.pad_end.begin(), w.pad_end.end());
  return pads;
}

/// The gradient of the filters of a convolution that reads `image` and has the gradient `g`.
Expr filter_gradient(GraphBuilder& b, const Expr& image, const Expr& g, const WindowGeometry& w, int64_t groups) {
  return b.op("minnow.ConvWeightGradient", {image, g},
              {{"strides", ints_of(w.stride)},
               {"dilations", ints_of(w.dilation)},
               {"pads", pads_of(w)},
               {"group", groups},
               {"kernel_shape", ints_of(w.kernel)}});
}

Expr bias_gradient(GraphBuilder& b, const Expr& g, size_t spatial) {
  Ints axes{0};
  for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i + 2));
  return b.op("ReduceSum", {g, b.constant(axes)}, {{"keepdims", int64_t{0}}});
}

Exprs conv_gradient(const GradientContext& c) {
  if (!c.know_shapes()) throw Unsupported("{}: the gradient of Conv needs the shapes of its inputs before the run", c.node.where());
  const ConvGeometry conv = ConvGeometry::of(c.node);
  const WindowGeometry& w = conv.window;
  const Expr& g = c.output_gradient(0);
  Exprs made(c.inputs.size());
  if (c.wants(0)) {
    Ints rest;
    for (size_t i = 0; i < w.rank(); ++i)
      rest.push_back(w.input[i] + w.pad_begin[i] + w.pad_end[i] - w.extent(i) - (w.output[i] - 1) * w.stride[i]);
    made[0] = c.builder.op("ConvTranspose", {g, c.input(1)},
                           {{"strides", ints_of(w.stride)},
                            {"dilations", ints_of(w.dilation)},
                            {"pads", pads_of(w)},
                            {"group", conv.groups},
                            {"output_padding", rest}});
  }
  if (c.wants(1)) made[1] = filter_gradient(c.builder, c.input(0), g, w, conv.groups);
  if (c.wants(2)) made[2] = bias_gradient(c.builder, g, w.rank());
  return made;
}

/// The adjoint of ConvTranspose is the convolution whose image is the result and whose output is X.
Exprs transposed_gradient(const GradientContext& c) {
  if (!c.know_shapes())
    throw Unsupported("{}: the gradient of ConvTranspose needs the shapes of its inputs before the run", c.node.where());
  const ConvTransposeGeometry conv = ConvTransposeGeometry::of(c.node);
  const WindowGeometry& w = conv.window;
  const Expr& g = c.output_gradient(0);
  Exprs made(c.inputs.size());
  if (c.wants(0)) {
    const Expr whole =
        c.builder.op("Conv", {g, c.input(1)},
                     {{"strides", ints_of(w.stride)}, {"dilations", ints_of(w.dilation)}, {"pads", pads_of(w)}, {"group", conv.groups}});
    made[0] = whole;
  }
  if (c.wants(1)) made[1] = filter_gradient(c.builder, g, c.input(0), w, conv.groups);
  if (c.wants(2)) made[2] = bias_gradient(c.builder, g, w.rank());
  return made;
}
#endif

constexpr List<Operator> definitions() {
  List<AttributeSpec> more = conv_attributes();
  more.append({optional("output_padding", AttributeKind::integers, MINNOW_DOC("positions added after each dimension of the result")),
               optional("output_shape", AttributeKind::integers,
                        MINNOW_DOC("spatial shape of the result; the pads then follow from it, the odd one as auto_pad says"))});
  return {
      {.name = "Conv",
       .since = 22,
       .doc =
           MINNOW_DOC("The convolution (in the sense of neural networks: no mirroring) of X [batch, channels, spatial...] with filters W "
                      "[filters, channels / group, kernel...], plus the bias B [filters]."),
       .inputs = {{"X", kFloats}, packed_weight("W", kFloats, "X"), like("B", kFloats, "X", kOptional)},
       .outputs = {{"Y", same_as("X")}},
       .attributes = conv_attributes(),
       .infer_shapes = conv_shape,
       .reference = conv,
       .gradient = MINNOW_GRADIENT(conv_gradient),
       .operations = [](const NodeView& node) { return 2 * ConvGeometry::of(node).multiply_adds(); },
       .batch = batch_apart,
       .quantizable = true,
       .wants_constants = true},
      {.name = "ConvTranspose",
       .since = 22,
       .doc = MINNOW_DOC("The adjoint of a convolution: each place of X [batch, channels, spatial...] adds its multiple of W [channels, "
                         "filters / group, kernel...] to the result at stride * place; then `pads` are cut off and the bias B [filters] is "
                         "added."),
       .inputs = {{"X", kFloats}, packed_weight("W", kFloats, "X"), like("B", kFloats, "X", kOptional)},
       .outputs = {{"Y", same_as("X")}},
       .attributes = more,
       .infer_shapes = transposed_shape,
       .reference = transposed,
       .gradient = MINNOW_GRADIENT(transposed_gradient),
       .operations = [](const NodeView& node) { return 2 * ConvTransposeGeometry::of(node).multiply_adds(); },
       .batch = batch_apart,
       .wants_constants = true},
  };
}

}  // namespace

std::span<const Operator> conv_operators() { return operator_table<definitions>(); }

}  // namespace minnow
