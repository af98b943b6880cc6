// SPDX-License-Identifier: Apache-2.0
// Operators that keep the elements in order and change the shape alone.
#include <algorithm>
#include <cstring>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kAllowZero{"allowzero", false, "a 0 in `shape` is a dimension of size 0, not a copy of the input's"};
constexpr Attribute<int64_t> kFlattenAxis{"axis", 1, "dimensions before it make the rows"};

// The size left for a -1: equal sizes cancel first, so that no product is divided that is too long to write down.
Size rest_of(const Sizes& from, const Sizes& taken) {
  if (from.is_static() && taken.is_static()) {
    const Size count = from.elements(), divisor = taken.elements();
    return leaves_rest(count, divisor) ? Size(-1) : divide_exactly(count, divisor);
  }
  Sizes above = from, below;
  for (const Size size : taken) {
    const auto same = std::find_if(above.begin(), above.end(), [&](Size other) { return equal(other, size); });
    if (same != above.end())
      above.erase(static_cast<size_t>(same - above.begin()));
    else
      below.push_back(size);
  }
  return divide_exactly(above.elements(), below.elements());
}

Shapes reshape_shape(const NodeView& node) {
  const std::vector<Size> wanted = node.sizes(1);
  const bool knows_input = node.has_sizes(0) || !node.is_symbolic();
  const Sizes from = knows_input ? node.input_sizes(0) : Sizes();
  Sizes shape, taken;
  size_t inferred = kMaxRank;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Size dim = wanted[i];
    if (dim.is(0) && !node.attribute(kAllowZero)) {
      if (knows_input && i >= from.rank()) node.fail("shape {} copies dimension {} of an input of shape {}", wanted, i, from);
      dim = knows_input ? from[i] : Size::unknown();
    }
    if (dim.is(-1)) {
      if (inferred < kMaxRank) node.fail("shape {} has more than one -1", wanted);
      inferred = i;
      shape.push_back(Size::unknown());
      continue;
    }
    if (less(dim, 0)) node.fail("shape {} has a negative dimension", wanted);
    shape.push_back(dim);
    taken.push_back(dim);
  }
  if (!knows_input) return {shape};
  if (inferred < kMaxRank) {
    shape[inferred] = rest_of(from, taken);
    if (shape[inferred].is(-1)) node.fail("an input of shape {} cannot take shape {}", from, wanted);
  }
  const Size count = from.elements();
  if (differ(shape.elements(), count)) node.fail("an input of shape {} ({} elements) cannot take shape {}", from, count, wanted);
  return {shape};
}

Shapes flatten_shape(const NodeView& node) {
  if (node.is_symbolic() && !node.has_sizes(0)) return {Sizes::filled(2, Size::unknown())};
  const Sizes from = node.input_sizes(0);
  int64_t axis = node.attribute(kFlattenAxis);
  const int64_t rank = static_cast<int64_t>(from.rank());
  if (axis < -rank || axis > rank) node.fail("axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  return {Sizes{from.product(0, static_cast<size_t>(axis)), from.product(static_cast<size_t>(axis), from.rank())}};
}

Shapes squeeze_shape(const NodeView& node) {
  const Sizes from = node.input_sizes(0);
  std::array<bool, kMaxRank> drop{};
  if (node.has_input(1)) {
    for (int64_t axis : node.ints(1)) {
      const size_t a = node.normalize_axis(axis, from.rank());
      if (differ(from[a], 1)) node.fail("axis {} of shape {} is not 1", axis, from);
      drop[a] = true;
    }
  } else {
    for (size_t i = 0; i < from.rank(); ++i) {
      if (!from[i].is_number()) return {OutputShape::unknown()};  // the rank depends on it
      drop[i] = from[i].is(1);
    }
  }
  Sizes shape;
  for (size_t i = 0; i < from.rank(); ++i)
    if (!drop[i]) shape.push_back(from[i]);
  return {shape};
}

Shapes unsqueeze_shape(const NodeView& node) {
  const Sizes from = node.input_sizes(0);
  const Ints axes = node.ints(1);
  const size_t rank = from.rank() + axes.size();
  if (rank > kMaxRank) node.fail("makes a tensor of rank {}", rank);
  std::array<bool, kMaxRank> added{};
  for (int64_t axis : axes) {
    const size_t a = node.normalize_axis(axis, rank);
    if (added[a]) node.fail("axes {} name an axis twice", axes);
    added[a] = true;
  }
  Sizes shape;
  for (size_t i = 0, k = 0; i < rank; ++i) shape.push_back(added[i] ? Size(1) : from[k++]);
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
       .infer_contents = move_contents,
       .reference = copy,
       .gradient = MINNOW_GRADIENT(reshape_gradient),
       .batch = batch_reshaped,
       .elements = Elements::kept},
      {.name = "Flatten",
       .since = 25,
       .doc = MINNOW_DOC("A matrix: dimensions before `axis` make the rows, the others the columns."),
       .inputs = {{"input"}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kFlattenAxis},
       .infer_shapes = flatten_shape,
       .infer_contents = move_contents,
       .reference = copy,
       .gradient = MINNOW_GRADIENT(reshape_gradient),
       .batch = batch_apart,
       .elements = Elements::kept},
      {.name = "Squeeze",
       .since = 25,
       .doc = MINNOW_DOC("Drops dimensions of size 1: those that `axes` names, or all."),
       .inputs = {{"data"}, {"axes", kI64, kOptional}},
       .outputs = {{"squeezed", same_as("data")}},
       .infer_shapes = squeeze_shape,
       .infer_contents = move_contents,
       .reference = copy,
       .gradient = MINNOW_GRADIENT(reshape_gradient),
       .batch = batch_apart,
       .elements = Elements::kept},
      {.name = "Unsqueeze",
       .since = 25,
       .doc = MINNOW_DOC("Inserts dimensions of size 1 so that they stand at `axes` of the result."),
       .inputs = {{"data"}, {"axes", kI64}},
       .outputs = {{"expanded", same_as("data")}},
       .infer_shapes = unsqueeze_shape,
       .infer_contents = move_contents,
       .reference = copy,
       .gradient = MINNOW_GRADIENT(reshape_gradient),
       .batch = batch_apart,
       .elements = Elements::kept},
  };
}

}  // namespace

std::span<const Operator> reshape_operators() { return operator_table<definitions>(); }

}  // namespace minnow
