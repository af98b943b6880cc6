// SPDX-License-Identifier: Apache-2.0
// Elements repeated: Expand, Tile.
#include <cstring>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

Shapes expand_shape(const NodeView& node) {
  const std::vector<Size> wanted = node.sizes(1);
  if (wanted.size() > kMaxRank) node.fail("makes a tensor of rank {}", wanted.size());
  for (const Size dim : wanted)
    if (less(dim, 0)) node.fail("shape {} has a negative dimension", wanted);
  const Sizes shapes[] = {node.input_sizes(0), wanted};
  return {broadcast_sizes(node, shapes)};
}

void expand(const NodeView&, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  copy_region(size_of(x.dtype()), y.shape(), x.data(), broadcast_strides(x.shape(), y.shape()), y.data(), row_major_strides(y.shape()));
}

Shapes tile_shape(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  const std::vector<Size> repeats = node.sizes(1);
  if (repeats.size() != shape.rank()) node.fail("repeats {} should hold a number for each axis of shape {}", repeats, shape);
  for (size_t i = 0; i < repeats.size(); ++i) {
    shape[i] *= repeats[i];
    if (less(repeats[i], 0) || (shape[i].is_unknown() && !node.is_symbolic()))
      node.fail("shape {} cannot be repeated {} times", node.input_sizes(0), repeats);
  }
  return {shape};
}

void tile(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const Ints repeats = node.ints(1);
  if (y.elements() == 0) return;
  // A block is what lies behind the last axis that is repeated, that axis included: it is copied as one piece, `times` times.
  size_t rank = y.rank();
  while (rank > 0 && repeats[rank - 1] == 1) --rank;
  const int64_t times = rank ? repeats[rank - 1] : 1;
  if (rank) --rank;
  const int64_t elements = x.shape().product(rank, x.rank());
  const size_t block = static_cast<size_t>(elements) * size_of(x.dtype());
  const Ints strides = row_major_strides(x.shape());
  char* to = y.data<char>();
  for_each_index(Shape(y.shape().dims().first(rank)), [&](std::span<const int64_t> index) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i) from += index[i] % x.dim(i) * strides[i];
    fill_elements(block, x.data<char>() + static_cast<size_t>(from) * size_of(x.dtype()), static_cast<size_t>(times), to);
    to += block * static_cast<size_t>(times);
  });
}

#if MINNOW_GRADIENTS
Exprs expand_gradient(const GradientContext& c) { return {c.builder.op("minnow.SumTo", {c.output_gradient(0), c.shape_of(0)}), Expr()}; }
Exprs sum_to_gradient(const GradientContext& c) { return {c.builder.op("Expand", {c.output_gradient(0), c.shape_of(0)}), Expr()}; }

Shapes sum_to_shape(const NodeView& node) {
  const std::vector<Size> sizes = node.sizes(1);
  Sizes shape;
  for (const Size size : sizes) shape.push_back(size);
  if (const auto from = node.known_sizes(0)) {
    const Sizes both[] = {*from, shape};
    if (from->rank() < shape.rank() || differ(broadcast_sizes(node, both), *from))
      node.fail("the sum of {} cannot have shape {}", *from, shape);
  }
  return {shape};
}
void sum_to(const NodeView&, KernelArgs& args) {
  const Shape to = args.output(0).shape(), from = args.input(0).shape();
  with_wide(args.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Numbers<T> x = args.values<T>(0);
    Numbers<T> y(static_cast<size_t>(to.elements()));
    walk_broadcast(to, from, [&](size_t place, size_t at) { y[at] = static_cast<T>(y[at] + x[place]); });
    args.write(0, y);
  });
}
Exprs sum_to_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const Shape &from = node.input_shape(0), &to = node.output_shape(0);
  const size_t added = from.rank() - to.rank();
  Ints axes;
  for (size_t i = 0; i < from.rank(); ++i)
    if (i < added || (to[i - added] == 1 && from[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  const Expr sum = axes.empty() ? b.op("Identity", {in[0]}) : b.op("ReduceSum", {in[0], b.constant(axes)}, {{"keepdims", int64_t{1}}});
  return {added ? b.op("Reshape", {sum, b.constant(Ints(to.begin(), to.end()))}) : sum};
}
#endif

constexpr List<Operator> definitions() {
  return {
#if MINNOW_GRADIENTS
    {.name = "minnow.SumTo",
     .doc = MINNOW_DOC("The sums of elements that Expand would make of one: the adjoint of Expand."),
     .inputs = {{"data", kFloats}, {"shape", kI64}},
     .outputs = {{"sums", same_as("data")}},
     .infer_shapes = sum_to_shape,
     .reference = sum_to,
     .decompose = sum_to_parts,
     .gradient = MINNOW_GRADIENT(sum_to_gradient)},
#endif
        {.name = "Expand",
         .since = 13,
         .doc =
             MINNOW_DOC("The input broadcast together with `shape`: dimensions of 1 are repeated, leading ones added; a 1 in `shape` keeps "
                        "the input's dimension."),
         .inputs = {{"input"}, {"shape", kI64}},
         .outputs = {{"output", same_as("input")}},
         .infer_shapes = expand_shape,
         .infer_contents = move_contents,
         .reference = expand,
         .gradient = MINNOW_GRADIENT(expand_gradient),
         .batch = batch_reshaped,
         .elements = Elements::copied,
         .axes = axis_entries(1)},
        {.name = "Tile",
         .since = 13,
         .doc = MINNOW_DOC("The input repeats[i] times along axis i, as numpy.tile."),
         .inputs = {{"input"}, {"repeats", kI64}},
         .outputs = {{"output", same_as("input")}},
         .infer_shapes = tile_shape,
         .infer_contents = move_contents,
         .reference = tile,
         .batch = batch_apart,
         .elements = Elements::copied,
         .axes = axis_entries(1)},
  };
}

}  // namespace

std::span<const Operator> expand_operators() { return operator_table<definitions>(); }

}  // namespace minnow
