// SPDX-License-Identifier: Apache-2.0
// Convolutions of floating tensors.
#include "ops/batch.h"
#include "ops/conv_attributes.h"
#include "ops/dense.h"
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
       .operations = [](const NodeView& node) { return 2 * ConvTransposeGeometry::of(node).multiply_adds(); },
       .batch = batch_apart,
       .wants_constants = true},
  };
}

}  // namespace

std::span<const Operator> conv_operators() { return operator_table<definitions>(); }

}  // namespace minnow
