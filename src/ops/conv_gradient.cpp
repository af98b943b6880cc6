// SPDX-License-Identifier: Apache-2.0
// The gradient of the filters of a convolution.
#include <algorithm>

#include "graph/window.h"
#include "ops/conv_attributes.h"
#include "ops/operator_table.h"

namespace minnow {

#if MINNOW_GRADIENTS

namespace {

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0), g = node.input_sizes(1);
  const Ints& kernel = node.require<Ints>("kernel_shape");
  const int64_t groups = node.attribute(kGroup);
  if (x.rank() < 3 || g.rank() != x.rank()) node.fail("takes [batch, channels, spatial...] twice, the inputs have shapes {} and {}", x, g);
  if (groups < 1 || leaves_rest(x[1], groups) || leaves_rest(g[1], groups))
    node.fail("group {} does not divide {} input channels and {} filters", groups, x[1], g[1]);
  Sizes output{x[0], g[1]}, filters{g[1], divide_down(x[1], groups)};
  for (const Size size : window_output(node, x.dims().subspan(2), Sizes(Shape(kernel)).dims())) output.push_back(size);
  if (differ(g, output)) node.fail("the gradient should have shape {}, it has shape {}", output, g);
  for (const int64_t size : kernel) filters.push_back(size);
  return {filters};
}

Ints ints_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// A convolution of both whose batch is the channels, whose channels are the batch, and whose strides are the dilations.
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const ConvGeometry conv = conv_gradient_geometry(node);
  const WindowGeometry& w = conv.window;
  const int64_t batch = conv.batch, groups = conv.groups, channels = conv.in_channels_per_group();
  if (node.input_shape(0).elements() == 0 || node.input_shape(1).elements() == 0 || w.taps() == 0) {
    const Expr zeros =
        b.op("ConstantOfShape", {b.constant(ints_of(node.output_shape(0)))}, {{"value", Tensor(node.input_dtype(0), Shape{1})}});
    zeros.value()->type.dtype = node.input_dtype(0);
    return {zeros};
  }
  const size_t rank = w.rank();
  const auto with_spatial = [&](Ints dims, const Shape& spatial) {
    dims.insert(dims.end(), spatial.begin(), spatial.end());
    return b.constant(dims);
  };
  const auto permuted = [&](const Expr& x, Ints first) {
    for (size_t i = 0, from = first.size(); i < rank; ++i) first.push_back(static_cast<int64_t>(from + i));
    return b.op("Transpose", {x}, {{"perm", first}});
  };
  // [batch, groups, channels / groups, ...] -> [channels / groups, groups * batch, ...]
  const Expr grouped = b.op("Reshape", {in[0], with_spatial({batch, groups, channels}, w.input)});
  const Expr data = b.op("Reshape", {permuted(grouped, {2, 1, 0}), with_spatial({channels, groups * batch}, w.input)});
  Ints pads = ints_of(w.pad_begin);
  for (size_t i = 0; i < rank; ++i)  // so much that there is a place for each tap
    pads.push_back((w.kernel[i] - 1) * w.dilation[i] + (w.output[i] - 1) * w.stride[i] + 1 - w.input[i] - w.pad_begin[i]);
  Expr padded = data;
  if (std::any_of(pads.begin() + static_cast<ptrdiff_t>(rank), pads.end(),
                  [](int64_t pad) { return pad < 0; })) {  // a rest that no window reads
    Ints cut(2 * (rank + 2));
    for (size_t i = 0; i < rank; ++i)
      cut[rank + 2 + 2 + i] = std::min<int64_t>(pads[rank + i], 0), pads[rank + i] = std::max<int64_t>(pads[rank + i], 0);
    padded = b.op("Pad", {data, b.constant(cut)});
  }
  const Expr made = b.op("Conv", {padded, permuted(in[1], {1, 0})},
                         {{"strides", ints_of(w.dilation)}, {"dilations", ints_of(w.stride)}, {"pads", pads}, {"group", groups}});
  return {permuted(made, {1, 0})};
}

constexpr List<Operator> definitions() {
  return {{.name = "minnow.ConvWeightGradient",
           .doc = MINNOW_DOC("The gradient of the filters of a Conv of X with these attributes, whose output has this gradient."),
           .inputs = {{"X", kFloats}, {.name = "gradient", .dtypes = kFloats, .like = "X"}},
           .outputs = {{"of_W", same_as("X")}},
           .attributes = {kAutoPad, kDilations, kGroup, kPads, kStrides,
                          required("kernel_shape", AttributeKind::integers, MINNOW_DOC("shape of the kernel"))},
           .infer_shapes = infer,
           .decompose = parts,
           .operations = [](const NodeView& node) { return 2 * conv_gradient_geometry(node).multiply_adds(); }}};
}

}  // namespace

std::span<const Operator> conv_gradient_operators() { return operator_table<definitions>(); }

#endif

}  // namespace minnow
