// SPDX-License-Identifier: Apache-2.0
// Tensors put together along an axis, and taken apart.
#include <numeric>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kConcatAxis = required("axis", AttributeKind::integer, "axis along which the inputs follow each other");
constexpr Attribute<int64_t> kSplitAxis{"axis", 0, "axis along which the input is cut"};
constexpr AttributeSpec kNumOutputs =
    optional("num_outputs", AttributeKind::integer, "number of parts, where `split` does not give their sizes");

Shapes concat_shape(const NodeView& node) {
  // While types are inferred with symbols, an input of unknown shape leaves the sizes off the axis, which all inputs have.
  std::optional<Sizes> shape, first;
  Size length = 0;
  size_t axis = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const std::optional<Sizes> other = node.known_sizes(i);
    if (!other) {
      length = Size::unknown();
      continue;
    }
    if (!shape) {
      shape = first = other;
      axis = node.normalize_axis(node.require<int64_t>("axis"), shape->rank());
    }
    bool fits = other->rank() == shape->rank();
    for (size_t k = 0; fits && k < shape->rank(); ++k) {
      fits = k == axis || !differ((*shape)[k], (*other)[k]);
      if (k != axis) (*shape)[k] = clearer((*shape)[k], (*other)[k]);
    }
    if (!fits) node.fail("input {} (\"{}\") of shape {} cannot follow shape {} along axis {}", i, node.input_name(i), *other, *first, axis);
    length += (*other)[axis];
  }
  if (!shape) return {node.input_sizes(0)};
  (*shape)[axis] = length;
  return {*shape};
}

void concat(const NodeView& node, KernelArgs& args) {
  const MutableTensorView y = args.output(0);
  const size_t axis = node.normalize_axis(node.require<int64_t>("axis"), y.rank());
  const Ints to = row_major_strides(y.shape());
  const size_t size = size_of(y.dtype());
  char* target = y.data<char>();
  for (size_t i = 0; i < args.input_count(); ++i) {
    const TensorView& x = args.input(i);
    copy_region(size, x.shape(), x.data(), row_major_strides(x.shape()), target, to);
    target += x.dim(axis) * to[axis] * static_cast<int64_t>(size);
  }
}

// Sizes of the parts along the axis, one per output of the node.
std::vector<Size> part_sizes(const NodeView& node, Size dim) {
  const int64_t parts = static_cast<int64_t>(node.output_count());
  const int64_t* wanted = node.find<int64_t>("num_outputs");
  if (parts == 0) node.fail("has no outputs");
  if (node.has_input(1)) {
    if (wanted) node.fail("has both an input \"split\" and an attribute \"num_outputs\"");
    const std::vector<Size> sizes = node.sizes(1);
    if (sizes.size() != node.output_count()) node.fail("splits into sizes {}, it has {} outputs", sizes, parts);
    Size rest = dim;
    for (const Size size : sizes) {
      if (less(size, 0) || less(rest, size)) node.fail("an axis of {} cannot be split into sizes {}", dim, sizes);
      rest -= size;
    }
    if (differ(rest, 0)) node.fail("an axis of {} cannot be split into sizes {}", dim, sizes);
    return sizes;
  }
  if (wanted && *wanted != parts) node.fail("attribute \"num_outputs\" is {}, the node has {} outputs", *wanted, parts);
  // Equal parts, rounded up; what is left goes to the last ones.
  const Size even = divide_exactly(dim, parts), size = even.is_unknown() ? divide_up(dim, parts) : even;
  std::vector<Size> sizes;
  Size rest = dim;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(even.is_unknown() ? smaller(size, rest) : size);
    rest -= sizes.back();
  }
  return sizes;
}

Shapes split_shape(const NodeView& node) {
  const Sizes from = node.input_sizes(0);
  const size_t axis = node.normalize_axis(node.attribute(kSplitAxis), from.rank());
  Shapes shapes;
  for (const Size size : part_sizes(node, from[axis])) {
    Sizes shape = from;
    shape[axis] = size;
    shapes.emplace_back(shape);
  }
  return shapes;
}

void split(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const size_t axis = node.normalize_axis(node.attribute(kSplitAxis), x.rank());
  const Ints from = row_major_strides(x.shape());
  const std::vector<Size> sizes = part_sizes(node, x.dim(axis));
  const size_t size = size_of(x.dtype());
  const char* source = x.data<char>();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (args.has_output(i)) {
      const MutableTensorView y = args.output(i);
      copy_region(size, y.shape(), source, from, y.data(), row_major_strides(y.shape()));
    }
    source += sizes[i].number() * from[axis] * static_cast<int64_t>(size);
  }
}

#if MINNOW_GRADIENTS
Exprs concat_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  const int64_t axis = *c.node.find<int64_t>("axis");
  if (c.inputs.size() == 1) return {c.output_gradient(0)};
  Ints sizes;
  Exprs lengths;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.know_shapes()) {
      const Shape& shape = c.node.input_shape(i);
      sizes.push_back(shape[c.node.normalize_axis(axis, shape.rank())]);
    } else {
      lengths.push_back(b.op("Gather", {c.shape_of(i), b.constant({axis})}));
    }
  }
  const Expr split = c.know_shapes() ? b.constant(sizes) : b.op("Concat", lengths, {{"axis", int64_t{0}}});
  return b.ops("Split", {c.output_gradient(0), split}, c.inputs.size(), {{"axis", axis}});
}
Exprs split_gradient(const GradientContext& c) {
  Exprs parts;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.outputs[i]) continue;
    parts.push_back(c.output_gradient(i) ? c.output_gradient(i) : c.output(i) * 0.0);
  }
  return {parts.size() == 1 ? parts[0] : c.builder.op("Concat", parts, {{"axis", c.node.attribute(kSplitAxis)}}), Expr()};
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Concat",
       .since = 13,
       .doc = MINNOW_DOC("The inputs one after the other along an axis; all other dimensions are equal."),
       .inputs = {{.name = "inputs", .arity = kVariadic, .like = "inputs"}},
       .outputs = {{"concat_result", same_as("inputs")}},
       .attributes = {kConcatAxis},
       .infer_shapes = concat_shape,
       .infer_contents = move_contents,
       .reference = concat,
       .gradient = MINNOW_GRADIENT(concat_gradient),
       .batch = batch_apart_off_axis,
       .elements = Elements::permuted,
       .axes = kAxisAttribute},
      {.name = "Split",
       .since = 18,
       .doc =
           MINNOW_DOC("The input cut along an axis into parts of the sizes that `split` lists, or into equal parts of which the last may "
                      "be smaller."),
       .inputs = {{"input"}, {"split", kI64, kOptional}},
       .outputs = {{"outputs", same_as("input"), kVariadic}},
       .attributes = {kSplitAxis, kNumOutputs},
       .infer_shapes = split_shape,
       .infer_contents = move_contents,
       .reference = split,
       .gradient = MINNOW_GRADIENT(split_gradient),
       .batch = batch_apart_off_axis,
       .elements = Elements::copied,
       .axes = kAxisAttribute},
  };
}

}  // namespace

std::span<const Operator> concat_operators() { return operator_table<definitions>(); }

}  // namespace minnow
