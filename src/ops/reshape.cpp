// SPDX-License-Identifier: Apache-2.0
// Operators that keep the elements in order and change the shape alone.
#include <algorithm>
#include <cstring>

#include "ops/batch.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kAllowZero{"allowzero", false, "a 0 in `shape` is a dimension of size 0, not a copy of the input's"};
constexpr Attribute<int64_t> kFlattenAxis{"axis", 1, "dimensions before it make the rows"};

Shapes reshape_shape(const NodeView& node) {
  const Shape& from = node.input_shape(0);
  const Ints wanted = node.ints(1);
  Shape shape;
  int inferred = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t dim = wanted[i];
    if (dim == 0 && !node.attribute(kAllowZero)) {
      if (i >= from.rank()) node.fail("shape {} copies dimension {} of an input of shape {}", wanted, i, from);
      dim = from[i];
    }
    if (dim == -1) {
      if (inferred >= 0) node.fail("shape {} has more than one -1", wanted);
      inferred = static_cast<int>(i);
      dim = 1;
    }
    if (dim < 0) node.fail("shape {} has a negative dimension", wanted);
    shape.push_back(dim);
  }
  const int64_t count = from.elements();
  if (inferred >= 0) {
    const int64_t rest = shape.elements();
    if (rest == 0 || count % rest != 0) node.fail("an input of shape {} cannot take shape {}", from, wanted);
    shape[static_cast<size_t>(inferred)] = count / rest;
  }
  if (shape.elements() != count) node.fail("an input of shape {} ({} elements) cannot take shape {}", from, count, wanted);
  return {shape};
}

Shapes flatten_shape(const NodeView& node) {
  const Shape& from = node.input_shape(0);
  int64_t axis = node.attribute(kFlattenAxis);
  const int64_t rank = static_cast<int64_t>(from.rank());
  if (axis < -rank || axis > rank) node.fail("axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  return {Shape{from.product(0, static_cast<size_t>(axis)), from.product(static_cast<size_t>(axis), from.rank())}};
}

Shapes squeeze_shape(const NodeView& node) {
  const Shape& from = node.input_shape(0);
  std::array<bool, kMaxRank> drop{};
  if (node.has_input(1)) {
    for (int64_t axis : node.ints(1)) {
      const size_t a = node.normalize_axis(axis, from.rank());
      if (from[a] != 1) node.fail("axis {} of shape {} is not 1", axis, from);
      drop[a] = true;
    }
  } else {
    for (size_t i = 0; i < from.rank(); ++i) drop[i] = from[i] == 1;
  }
  Shape shape;
  for (size_t i = 0; i < from.rank(); ++i)
    if (!drop[i]) shape.push_back(from[i]);
  return {shape};
}

Shapes unsqueeze_shape(const NodeView& node) {
  const Shape& from = node.input_shape(0);
  const Ints axes = node.ints(1);
  const size_t rank = from.rank() + axes.size();
  if (rank > kMaxRank) node.fail("makes a tensor of rank {}", rank);
  std::array<bool, kMaxRank> added{};
  for (int64_t axis : axes) {
    const size_t a = node.normalize_axis(axis, rank);
    if (added[a]) node.fail("axes {} name an axis twice", axes);
    added[a] = true;
  }
  Shape shape;
  for (size_t i = 0, k = 0; i < rank; ++i) shape.push_back(added[i] ? 1 : from[k++]);
  return {shape};
}

void copy(const NodeView&, KernelArgs& args) {
  if (const size_t bytes = args.input(0).bytes()) std::memcpy(args.output(0).data(), args.input(0).data(), bytes);
}

constexpr List<Operator> definitions() {
  return {
      {.name = "Reshape",
       .since = 25,
       .doc = MINNOW_DOC("The elements of `data` in row-major order under the shape that `shape` holds; 0 copies a dimension, one -1 takes "
                         "what is left."),
       .inputs = {{"data"}, {"shape", kI64}},
       .outputs = {{"reshaped", same_as("data")}},
       .attributes = {kAllowZero},
       .infer_shapes = reshape_shape,
       .reference = copy,
       .batch = batch_reshaped,
       .elements = Elements::kept},
      {.name = "Flatten",
       .since = 25,
       .doc = MINNOW_DOC("A matrix: dimensions before `axis` make the rows, the others the columns."),
       .inputs = {{"input"}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kFlattenAxis},
       .infer_shapes = flatten_shape,
       .reference = copy,
       .batch = batch_apart,
       .elements = Elements::kept},
      {.name = "Squeeze",
       .since = 25,
       .doc = MINNOW_DOC("Drops dimensions of size 1: those that `axes` names, or all."),
       .inputs = {{"data"}, {"axes", kI64, kOptional}},
       .outputs = {{"squeezed", same_as("data")}},
       .infer_shapes = squeeze_shape,
       .reference = copy,
       .batch = batch_apart,
       .elements = Elements::kept},
      {.name = "Unsqueeze",
       .since = 25,
       .doc = MINNOW_DOC("Inserts dimensions of size 1 so that they stand at `axes` of the result."),
       .inputs = {{"data"}, {"axes", kI64}},
       .outputs = {{"expanded", same_as("data")}},
       .infer_shapes = unsqueeze_shape,
       .reference = copy,
       .batch = batch_apart,
       .elements = Elements::kept},
  };
}

}  // namespace

std::span<const Operator> reshape_operators() { return operator_table<definitions>(); }

}  // namespace minnow
