// SPDX-License-Identifier: Apache-2.0
// Elements picked by indices: Gather, GatherElements, GatherND.
#include <algorithm>
#include <cstring>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/indices.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kAxis{"axis", 0, "axis that the indices count along"};
constexpr Attribute<int64_t> kBatchDims{"batch_dims", 0, "leading axes that data and indices share"};

Shapes gather_shape(const NodeView& node) {
  const Sizes data = node.input_sizes(0), indices = node.input_sizes(1);
  const size_t axis = node.normalize_axis(node.attribute(kAxis), data.rank());
  if (data.rank() + indices.rank() - 1 > kMaxRank) node.fail("shapes {} and {} make a tensor of too high a rank", data, indices);
  Sizes shape = data.first(axis);
  for (const Size dim : indices) shape.push_back(dim);
  for (size_t i = axis + 1; i < data.rank(); ++i) shape.push_back(data[i]);
  return {shape};
}

void gather(const NodeView& node, KernelArgs& args) {
  const TensorView& data = args.input(0);
  const size_t axis = node.normalize_axis(node.attribute(kAxis), data.rank());
  Numbers<int64_t> indices = args.ints(1);
  for (int64_t& index : indices) index = checked_index(args, index, data.dim(axis));
  const int64_t outer = data.shape().product(0, axis);
  const size_t block = static_cast<size_t>(data.shape().product(axis + 1, data.rank())) * size_of(data.dtype());
  const char* from = data.data<char>();
  char* to = args.output(0).data<char>();
  if (block == 0 || indices.empty()) return;
  for (int64_t o = 0; o < outer; ++o, from += static_cast<size_t>(data.dim(axis)) * block)
    for (int64_t index : indices) {
      std::memcpy(to, from + static_cast<size_t>(index) * block, block);
      to += block;
    }
}

Shapes gather_elements_shape(const NodeView& node) {
  if (const auto data = node.known_sizes(0)) check_elementwise_indices(node, node.normalize_axis(node.attribute(kAxis), data->rank()));
  return {node.input_sizes(1)};
}

/// Single elements of data.
void pick(KernelArgs& args, const Numbers<int64_t>& offsets) {
  with_bits(size_of(args.input(0).dtype()), [&](auto zero) {
    using T = decltype(zero);
    const T* from = args.input(0).data<T>();
    T* to = args.output(0).data<T>();
    for (int64_t offset : offsets) *to++ = from[offset];
  });
}

void gather_elements(const NodeView& node, KernelArgs& args) {
  const TensorView& data = args.input(0);
  pick(args, elementwise_offsets(args, node.normalize_axis(node.attribute(kAxis), data.rank())));
}

size_t batch_dims_of(const NodeView& node) {
  const int64_t batch = node.attribute(kBatchDims);
  const Sizes data = node.input_sizes(0), indices = node.input_sizes(1);
  if (indices.empty()) node.fail("indices should have at least one axis");
  if (batch < 0 || batch >= static_cast<int64_t>(std::min(data.rank(), indices.rank())))
    node.fail("batch_dims is {} for data of shape {} and indices of shape {}", batch, data, indices);
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i)
    if (differ(data[i], indices[i]))
      node.fail("data of shape {} and indices of shape {} differ in the first {} axes", data, indices, batch);
  return static_cast<size_t>(batch);
}

Shapes gather_nd_shape(const NodeView& node) {
  const Sizes data = node.input_sizes(0), indices = node.input_sizes(1);
  const size_t batch = batch_dims_of(node);
  if (!indices.back().is_number()) return {OutputShape::unknown()};  // the rank depends on it
  const int64_t depth = indices.back().number();
  if (depth > static_cast<int64_t>(data.rank() - batch))
    node.fail("indices of shape {} count along {} axes, data of shape {} has {} beside batches", indices, depth, data, data.rank() - batch);
  const size_t rest = batch + static_cast<size_t>(depth);
  if (indices.rank() - 1 + data.rank() - rest > kMaxRank) node.fail("shapes {} and {} make a tensor of too high a rank", data, indices);
  Sizes shape = indices.first(indices.rank() - 1);
  for (size_t i = rest; i < data.rank(); ++i) shape.push_back(data[i]);
  return {shape};
}

void gather_nd(const NodeView& node, KernelArgs& args) {
  const TensorView& data = args.input(0);
  const size_t batch = batch_dims_of(node), depth = static_cast<size_t>(args.input(1).shape().back());
  const size_t block = static_cast<size_t>(data.shape().product(batch + depth, data.rank())) * size_of(data.dtype());
  char* to = args.output(0).data<char>();
  if (args.output(0).elements() == 0) return;
  const Numbers<int64_t> offsets = tuple_offsets(args, batch);
  if (block == size_of(data.dtype())) return pick(args, offsets);
  for (int64_t offset : offsets) {
    std::memcpy(to, data.data<char>() + static_cast<size_t>(offset) * size_of(data.dtype()), block);
    to += block;
  }
}

/// Along axis 0 of what is the same for all entries, as a table of embeddings is, each index picks for itself.
Batch gather_batch(const NodeView& node) { return node.is_constant(0) ? Batch::apart : batch_apart_off_axis(node); }

#if MINNOW_GRADIENTS
Exprs gather_gradient(const GradientContext& c) {
  if (c.node.attribute(kAxis) != 0) return moved_gradient(c);
  const Expr places = c.builder.op("Unsqueeze", {cast(c.input(1), DType::i64), c.builder.constant({int64_t{-1}})});
  return {c.builder.op("ScatterND", {c.zeros_like(0), places, c.output_gradient(0)}, {{"reduction", std::string("add")}}), Expr()};
}
Exprs gather_elements_gradient(const GradientContext& c) {
  return {c.builder.op("ScatterElements", {c.zeros_like(0), c.input(1), c.output_gradient(0)},
                       {{"axis", c.node.attribute(kAxis)}, {"reduction", std::string("add")}}),
          Expr()};
}
Exprs gather_nd_gradient(const GradientContext& c) {
  if (c.node.attribute(kBatchDims) != 0) return moved_gradient(c);
  return {c.builder.op("ScatterND", {c.zeros_like(0), c.input(1), c.output_gradient(0)}, {{"reduction", std::string("add")}}), Expr()};
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Gather",
       .since = 13,
       .doc = MINNOW_DOC("For each index the slice of `data` at that place of `axis`; negative indices count from the end. The axis gives "
                         "way to the axes of `indices`."),
       .inputs = {{.name = "data", .weight = Weight::stored}, {"indices", kIndex}},
       .outputs = {{"output", same_as("data")}},
       .attributes = {kAxis},
       .infer_shapes = gather_shape,
       .infer_contents = move_contents,
       .reference = gather,
       .gradient = MINNOW_GRADIENT(gather_gradient),
       .batch = gather_batch,
       .elements = Elements::copied},
      {.name = "GatherElements",
       .since = 13,
       .doc = MINNOW_DOC("y[p] = data[p with its place along `axis` replaced by indices[p]]."),
       .inputs = {{"data"}, {"indices", kIndex}},
       .outputs = {{"output", same_as("data")}},
       .attributes = {kAxis},
       .infer_shapes = gather_elements_shape,
       .infer_contents = move_contents,
       .reference = gather_elements,
       .gradient = MINNOW_GRADIENT(gather_elements_gradient),
       .elements = Elements::copied},
      {.name = "GatherND",
       .since = 13,
       .doc = MINNOW_DOC("For each tuple along the last axis of `indices` the slice of `data` at that place, behind `batch_dims` axes that "
                         "both share."),
       .inputs = {{"data"}, {"indices", kI64}},
       .outputs = {{"output", same_as("data")}},
       .attributes = {kBatchDims},
       .infer_shapes = gather_nd_shape,
       .infer_contents = move_contents,
       .reference = gather_nd,
       .gradient = MINNOW_GRADIENT(gather_nd_gradient),
       .elements = Elements::copied},
  };
}

}  // namespace

std::span<const Operator> gather_operators() { return operator_table<definitions>(); }

}  // namespace minnow
