// SPDX-License-Identifier: Apache-2.0
// From a tensor to a sequence and back: SplitToSequence, ConcatFromSequence.
#include <algorithm>

#include "base/memory.h"
#include "ops/copy_region.h"
#include "ops/operator_table.h"
#include "ops/sequence.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kSplitAxis{"axis", 0, "axis along which the tensor is cut"};
constexpr Attribute<bool> kKeepDims{"keepdims", true, "keeps the axis where no `split` is given and every slice is a tensor"};
constexpr AttributeSpec kConcatAxis = required("axis", AttributeKind::integer, "axis along which the tensors follow each other");
constexpr Attribute<bool> kNewAxis{"new_axis", false, "the axis is a new one"};

void split_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  set_sequence(outputs[0], node.input_dtype(0));
  Sizes sizes = node.input_sizes(0);
  const size_t axis = node.normalize_axis(node.attribute(kSplitAxis), sizes.rank());
  if (!node.is_symbolic()) return;
  if (!node.has_input(1) && !node.attribute(kKeepDims))
    sizes.erase(axis);
  else
    sizes[axis] = node.has_input(1) ? Size::unknown() : Size(1);
  outputs[0].symbolic = std::make_shared<SymbolicValue>(SymbolicValue{sizes, {}, false});
}

Numbers<int64_t> part_sizes(KernelArgs& args, int64_t dim) {
  Numbers<int64_t> sizes = args.has_input(1) ? args.ints(1) : Numbers<int64_t>{1};
  const size_t rank = args.has_input(1) ? args.input(1).rank() : 0;
  if (rank > 1) args.fail("a split of shape {} should be a number or a list", args.input(1).shape());
  if (rank == 0) {
    const int64_t size = sizes[0];
    if (size <= 0) args.fail("parts of {} elements are asked for", size);
    check_memory(static_cast<size_t>((dim - 1) / size + 1) * sizeof(Datum), "a sequence");  // also where its tensors are empty
    sizes.clear();
    for (int64_t rest = dim; rest > 0; rest -= sizes.back()) sizes.push_back(std::min(size, rest));
    return sizes;
  }
  int64_t rest = dim;
  for (int64_t size : sizes) {
    if (size < 0 || size > rest) args.fail("an axis of {} cannot be split into sizes {}", dim, sizes);
    rest -= size;
  }
  if (rest != 0) args.fail("an axis of {} cannot be split into sizes {}", dim, sizes);
  return sizes;
}

void split(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const size_t axis = node.normalize_axis(node.attribute(kSplitAxis), x.rank()), size = size_of(x.dtype());
  const bool squeeze = !args.has_input(1) && !node.attribute(kKeepDims);
  const Ints from = row_major_strides(x.shape());
  const char* source = x.data<char>();
  std::vector<Datum> items;
  for (int64_t length : part_sizes(args, x.dim(axis))) {
    Shape shape = x.shape();
    shape[axis] = length;
    Tensor part(x.dtype(), shape);
    copy_region(size, shape, source, from, part.writable().data(), row_major_strides(shape));
    source += length * from[axis] * static_cast<int64_t>(size);
    if (squeeze) {
      shape.erase(axis);
      part = part.reshaped(shape);
    }
    items.emplace_back(std::move(part));
  }
  args.set_output(0, Datum::sequence(x.dtype(), std::move(items)));
}

void concat_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  set_unknown_tensor(outputs[0], node.input_dtype(0));
  if (!node.is_symbolic() || !node.input(0).symbolic) return;
  Sizes sizes = node.input(0).symbolic->shape;
  const bool is_new = node.attribute(kNewAxis);
  const size_t axis = node.normalize_axis(node.require<int64_t>("axis"), sizes.rank() + is_new);
  if (is_new)
    sizes.insert(axis, Size::unknown());
  else
    sizes[axis] = Size::unknown();
  outputs[0].set_sizes(sizes);
}

void concat(const NodeView& node, KernelArgs& args) {
  const Datum sequence = args.datum(0);
  const bool new_axis = node.attribute(kNewAxis);
  if (sequence.items.empty()) args.fail("there is nothing to join in an empty sequence");
  const Shape& first = sequence.items[0].tensor.shape();
  const int64_t given = node.require<int64_t>("axis"), rank = static_cast<int64_t>(first.rank()) + new_axis;
  if (given < -rank || given >= rank || rank > static_cast<int64_t>(kMaxRank))
    args.fail("axis {} is out of range for tensors of shape {}", given, first);
  const size_t axis = static_cast<size_t>(given < 0 ? given + rank : given);
  const DType dtype = sequence.items[0].tensor.dtype();
  Shape shape = first;
  if (new_axis)
    shape.insert(axis, 0);
  else
    shape[axis] = 0;
  for (const Datum& item : sequence.items) {
    const Shape& other = item.tensor.shape();
    bool fits = item.tensor.dtype() == dtype && other.rank() == first.rank();
    for (size_t i = 0; fits && i < first.rank(); ++i) fits = (!new_axis && i == axis) || other[i] == first[i];
    if (!fits) args.fail("tensors {}{} and {}{} cannot be joined along axis {}", dtype, first, item.tensor.dtype(), other, given);
    if (__builtin_add_overflow(shape[axis], new_axis ? 1 : other[axis], &shape[axis]))
      args.fail("the tensors have too many elements together");
  }
  Tensor joined(dtype, shape);
  const Ints to = row_major_strides(shape);
  const size_t size = size_of(dtype);
  char* target = joined.writable().data<char>();
  for (const Datum& item : sequence.items) {
    Shape part = item.tensor.shape();
    if (new_axis) part.insert(axis, 1);
    copy_region(size, part, item.tensor.data(), row_major_strides(part), target, to);
    target += part[axis] * to[axis] * static_cast<int64_t>(size);
  }
  args.set_output(0, Datum(std::move(joined)));
}

constexpr List<Operator> definitions() {
  return {
      {.name = "SplitToSequence",
       .since = 24,
       .doc = MINNOW_DOC("A tensor cut along an axis into parts of `split` elements (the last may be smaller), of the sizes that `split` "
                         "lists, or of one each."),
       .inputs = {{"input"}, {"split", kIndex, kOptional}},
       .outputs = {{"output_sequence", same_as("input")}},
       .attributes = {kSplitAxis, kKeepDims},
       .infer = split_infer,
       .reference = split},
      {.name = "ConcatFromSequence",
       .since = 11,
       .doc = MINNOW_DOC("The tensors of a sequence one after the other along an axis, or stacked along a new one."),
       .inputs = {sequence_input("input_sequence")},
       .outputs = {{"concat_result", same_as("input_sequence")}},
       .attributes = {kConcatAxis, kNewAxis},
       .infer = concat_infer,
       .reference = concat},
  };
}

}  // namespace

std::span<const Operator> sequence_split_operators() { return operator_table<definitions>(); }

}  // namespace minnow
