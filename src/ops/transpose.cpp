// SPDX-License-Identifier: Apache-2.0
// Elements in another order: Transpose, ReverseSequence.
#include <cstring>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kPerm =
    optional("perm", AttributeKind::integers, "axis i of the output is axis perm[i] of the input; reversed by default");
constexpr Attribute<int64_t> kBatchAxis{"batch_axis", 1, "axis of the sequences"};
constexpr Attribute<int64_t> kTimeAxis{"time_axis", 0, "axis along which a sequence is reversed"};

Ints permutation(const NodeView& node, size_t rank) {
  Ints perm;
  const Ints* given = node.find<Ints>("perm");
  if (!given) {
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    return perm;
  }
  if (given->size() != rank) node.fail("attribute \"perm\" is {}, the input has rank {}", *given, rank);
  std::array<bool, kMaxRank> seen{};
  for (int64_t axis : *given) {
    const size_t a = node.normalize_axis(axis, rank, "\"perm\" axis");
    if (seen[a]) node.fail("attribute \"perm\" is {}, which names an axis twice", *given);
    seen[a] = true;
    perm.push_back(static_cast<int64_t>(a));
  }
  return perm;
}

Shapes transpose_shape(const NodeView& node) {
  const Sizes from = node.input_sizes(0);
  Sizes shape;
  for (int64_t axis : permutation(node, from.rank())) shape.push_back(from[static_cast<size_t>(axis)]);
  return {shape};
}

void transpose(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const Ints own = row_major_strides(x.shape());
  Ints from;
  for (int64_t axis : permutation(node, x.rank())) from.push_back(own[static_cast<size_t>(axis)]);
  copy_region(size_of(x.dtype()), y.shape(), x.data(), from, y.data(), row_major_strides(y.shape()));
}

Shapes reverse_sequence_shape(const NodeView& node) {
  const Sizes from = node.input_sizes(0);
  const size_t time = node.normalize_axis(node.attribute(kTimeAxis), from.rank(), "time_axis"),
               batch = node.normalize_axis(node.attribute(kBatchAxis), from.rank(), "batch_axis");
  if (time == batch || time > 1 || batch > 1) node.fail("time_axis and batch_axis should be 0 and 1, they are {} and {}", time, batch);
  if (const auto lengths = node.known_sizes(1); lengths && differ(*lengths, Sizes{from[batch]}))
    node.fail("lengths of shape {} are given for {} sequences", *lengths, from[batch]);
  return {from};
}

void reverse_sequence(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const size_t time = node.normalize_axis(node.attribute(kTimeAxis), x.rank()), batch = 1 - time, size = size_of(x.dtype());
  const Ints strides = row_major_strides(x.shape());
  const Numbers<int64_t> lengths = args.ints(1);
  const size_t row = static_cast<size_t>(x.shape().product(2, x.rank())) * size;
  if (row == 0) return;
  for (int64_t b = 0; b < x.dim(batch); ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > x.dim(time)) args.fail("sequence {} has length {}, the time axis has {}", b, length, x.dim(time));
    for (int64_t t = 0; t < x.dim(time); ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      std::memcpy(y.data<char>() + static_cast<size_t>(b * strides[batch] + t * strides[time]) * size,
                  x.data<char>() + static_cast<size_t>(b * strides[batch] + from * strides[time]) * size, row);
    }
  }
}

#if MINNOW_GRADIENTS
Exprs transpose_gradient(const GradientContext& c) {
  const Ints* perm = c.node.find<Ints>("perm");
  if (!perm) return {c.builder.op("Transpose", {c.output_gradient(0)})};
  Ints inverse(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) inverse[c.node.normalize_axis((*perm)[i], perm->size())] = static_cast<int64_t>(i);
  return {c.builder.op("Transpose", {c.output_gradient(0)}, {{"perm", inverse}})};
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Transpose",
       .since = 25,
       .doc = MINNOW_DOC("The axes in another order."),
       .inputs = {{"data"}},
       .outputs = {{"transposed", same_as("data")}},
       .attributes = {kPerm},
       .infer_shapes = transpose_shape,
       .infer_contents = move_contents,
       .reference = transpose,
       .gradient = MINNOW_GRADIENT(transpose_gradient),
       .batch = batch_apart,
       .elements = Elements::permuted},
      {.name = "ReverseSequence",
       .since = 10,
       .doc = MINNOW_DOC("The first sequence_lens[b] steps of each sequence b in reverse order; the steps behind them stay."),
       .inputs = {{"input"}, {"sequence_lens", kI64}},
       .outputs = {{"Y", same_as("input")}},
       .attributes = {kBatchAxis, kTimeAxis},
       .infer_shapes = reverse_sequence_shape,
       .reference = reverse_sequence,
       .elements = Elements::permuted},
  };
}

}  // namespace

std::span<const Operator> transpose_operators() { return operator_table<definitions>(); }

}  // namespace minnow
