// SPDX-License-Identifier: Apache-2.0
// Elements whose number only the data tells: Compress, NonZero.
#include <algorithm>
#include <cstring>

#include "base/numeric.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kAxis = optional("axis", AttributeKind::integer, "axis along which slices are kept; single elements by default");

Shapes compress_shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  const auto condition = node.known_sizes(1);
  if (condition && condition->rank() != 1) node.fail("condition of shape {} should be a list", *condition);
  const Size most = condition ? (*condition)[0] : Size::unknown();
  const int64_t* axis = node.find<int64_t>("axis");
  if (!axis) return {OutputShape::upper_bound({smaller(x.elements(), most)})};
  Sizes bound = x;
  const size_t at = node.normalize_axis(*axis, x.rank());
  bound[at] = smaller(bound[at], most);
  return {OutputShape::upper_bound(bound, at)};
}

void compress(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const int64_t* axis_given = node.find<int64_t>("axis");
  Shape shape = axis_given ? x.shape() : Shape{x.elements()};
  const size_t axis = axis_given ? node.normalize_axis(*axis_given, x.rank()) : 0;
  const int64_t dim = shape[axis];
  const Numbers<int64_t> condition = args.ints(1);
  Numbers<int64_t> kept;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] == 0) continue;
    if (static_cast<int64_t>(i) >= dim) args.fail("condition {} is true, the axis has {} elements", i, dim);
    kept.push_back(static_cast<int64_t>(i));
  }
  const size_t block = static_cast<size_t>(shape.product(axis + 1, shape.rank())) * size_of(x.dtype());
  const int64_t outer = shape.product(0, axis);
  shape[axis] = static_cast<int64_t>(kept.size());
  const MutableTensorView y = args.allocate_output(0, shape);
  if (y.elements() == 0) return;
  const char* from = x.data<char>();
  char* to = y.data<char>();
  for (int64_t o = 0; o < outer; ++o, from += static_cast<size_t>(dim) * block)
    for (int64_t i : kept) {
      std::memcpy(to, from + static_cast<size_t>(i) * block, block);
      to += block;
    }
}

Shapes non_zero_shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  return {OutputShape::upper_bound({static_cast<int64_t>(x.rank()), x.elements()}, 1)};
}

/// For each element whether it is not zero.
Numbers<uint8_t> booleans(const TensorView& x) {
  constexpr size_t kChunk = 512;
  const size_t count = static_cast<size_t>(x.elements());
  Numbers<uint8_t> booleans(count);
  const auto fill = [&](auto zero) {
    decltype(zero) wide[kChunk];
    for (size_t start = 0; start < count; start += kChunk) {
      const size_t n = std::min(kChunk, count - start);
      widen(x.dtype(), x.data<char>() + start * size_of(x.dtype()), n, wide);
      narrow(DType::boolean, wide, n, booleans.data() + start);
    }
  };
  is_float(x.dtype()) ? fill(double()) : fill(int64_t());
  return booleans;
}

void non_zero(const NodeView&, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const Numbers<uint8_t> found = booleans(x);
  const size_t rank = x.rank(), count = static_cast<size_t>(std::count(found.begin(), found.end(), uint8_t{1}));
  const MutableTensorView y = args.allocate_output(0, {static_cast<int64_t>(rank), static_cast<int64_t>(count)});
  if (rank == 0 || count == 0) return;
  // Row by row: the last coordinates without a branch, which may write one too many, the others in runs.
  Numbers<int64_t> columns(count + 1);
  const size_t length = static_cast<size_t>(x.shape().back());
  const uint8_t* row = found.data();
  size_t to = 0;
  for_each_index(Shape(x.shape().dims().first(rank - 1)), [&](std::span<const int64_t> index) {
    const size_t first = to;
    for (size_t k = 0; k < length; ++k) {
      columns[to] = static_cast<int64_t>(k);
      to += row[k];
    }
    row += length;
    for (size_t axis = 0; axis + 1 < rank; ++axis) std::fill_n(y.data<int64_t>() + axis * count + first, to - first, index[axis]);
  });
  std::copy_n(columns.begin(), count, y.data<int64_t>() + (rank - 1) * count);
}

constexpr List<Operator> definitions() {
  return {
      {.name = "Compress",
       .since = 11,
       .doc = MINNOW_DOC(
           "The slices along `axis`, or the single elements, for which `condition` is true; a short condition leaves out what is "
           "behind its end."),
       .inputs = {{"input"}, {"condition", kBool}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kAxis},
       .infer_shapes = compress_shape,
       .reference = compress,
       .elements = Elements::copied},
      {.name = "NonZero",
       .since = 13,
       .doc = MINNOW_DOC("The places of the elements that are not zero, in row-major order: a row of coordinates for each axis."),
       .inputs = {{"X"}},
       .outputs = {{"Y", fixed(DType::i64)}},
       .infer_shapes = non_zero_shape,
       .reference = non_zero},
  };
}

}  // namespace

std::span<const Operator> compress_operators() { return operator_table<definitions>(); }

}  // namespace minnow
