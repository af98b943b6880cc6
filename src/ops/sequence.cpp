// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors: made, read and changed.
#include "ops/sequence.h"
#include "ops/operator_table.h"

namespace minnow {

Datum owned(Datum value) {
  if (value.kind == Datum::Kind::tensor && !value.tensor.owner()) value.tensor = value.tensor.clone();
  for (Datum& item : value.items) item = owned(std::move(item));
  return value;
}

ValueInfo info_of(const ValueType& type) {
  ValueInfo info;
  info.dtype = type.element_dtype();
  info.extent = ValueInfo::Extent::unknown;
  if (type.kind == ValueType::Kind::tensor) return info;
  info.extent = ValueInfo::Extent::exact;
  info.kind = type.kind == ValueType::Kind::sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::optional;
  if (type.element && type.element->kind == ValueType::Kind::sequence) info.element = ValueInfo::Kind::sequence;
  return info;
}

namespace {

constexpr AttributeSpec kDType = optional("dtype", AttributeKind::integer, "dtype of the tensors to come; f32 by default");

void set_elements(ValueInfo& info, const Sizes& sizes) { info.symbolic = std::make_shared<SymbolicValue>(SymbolicValue{sizes, {}, false}); }

/// SequenceConstruct, SequenceInsert, SequenceErase. While types are inferred with symbols: the sizes that all tensors within have.
void same_sequence(const NodeView& node, std::span<ValueInfo> outputs) {
  set_sequence(outputs[0], node.input_dtype(0));
  if (!node.is_symbolic()) return;
  std::optional<Sizes> all;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const bool is_position = (i == 1 && node.op() == "SequenceErase") || (i == 2 && node.op() == "SequenceInsert");
    if (!node.has_input(i) || is_position) continue;
    const ValueInfo& info = node.input(i);
    const bool is_empty = i == 0 && node.node().input(0)->producer() && node.node().input(0)->producer()->op() == "SequenceEmpty";
    if (is_empty) continue;
    const std::optional<Sizes> sizes = info.kind == ValueInfo::Kind::tensor ? node.known_sizes(i)
                                       : info.symbolic                      ? std::optional(info.symbolic->shape)
                                                                            : std::nullopt;
    if (!sizes || (all && all->rank() != sizes->rank())) return;
    if (!all) all = sizes;
    for (size_t axis = 0; axis < all->rank(); ++axis)
      if (!equal((*all)[axis], (*sizes)[axis])) (*all)[axis] = Size::unknown();
  }
  if (all) set_elements(outputs[0], *all);
}

DType empty_dtype(const NodeView& node) {
  const int64_t* dtype = node.find<int64_t>("dtype");
  if (!dtype) return DType::f32;
  if (*dtype < 1 || *dtype > 26 || !contains(kAny, static_cast<DType>(*dtype)))
    throw Unsupported("{}: attribute \"dtype\" is {}, which is no dtype that is supported", node.where(), *dtype);
  return static_cast<DType>(*dtype);
}

void empty_infer(const NodeView& node, std::span<ValueInfo> outputs) { set_sequence(outputs[0], empty_dtype(node)); }

void empty(const NodeView& node, KernelArgs& args) { args.set_output(0, Datum::sequence(empty_dtype(node), {})); }

void construct(const NodeView& node, KernelArgs& args) {
  std::vector<Datum> items;
  for (size_t i = 0; i < args.input_count(); ++i)
    if (args.has_input(i)) items.push_back(owned(args.datum(i)));
  args.set_output(0, Datum::sequence(node.input_dtype(0), std::move(items)));
}

// The place that input i names in a sequence of `count` tensors; `limit` is one more than the last place allowed.
size_t position(KernelArgs& args, size_t i, size_t count, size_t limit) {
  if (args.input(i).elements() != 1) args.fail("a position of shape {} should be a scalar", args.input(i).shape());
  const int64_t given = args.ints(i)[0], n = static_cast<int64_t>(count);
  const int64_t place = given < 0 ? given + n : given;
  if (place < 0 || place >= static_cast<int64_t>(limit))
    args.fail("position {} is out of range for a sequence of {} tensors", given, count);
  return static_cast<size_t>(place);
}

void at_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  set_unknown_tensor(outputs[0], node.input_dtype(0));
  if (node.is_symbolic() && node.input(0).symbolic) outputs[0].set_sizes(node.input(0).symbolic->shape);
}

void at(const NodeView&, KernelArgs& args) {
  Datum sequence = args.datum(0);
  args.set_output(0, std::move(sequence.items[position(args, 1, sequence.items.size(), sequence.items.size())]));
}

void erase(const NodeView&, KernelArgs& args) {
  Datum sequence = args.datum(0);
  const size_t count = sequence.items.size();
  if (!args.has_input(1) && count == 0) args.fail("there is nothing to take from an empty sequence");
  const size_t place = args.has_input(1) ? position(args, 1, count, count) : count - 1;
  sequence.items.erase(sequence.items.begin() + static_cast<ptrdiff_t>(place));
  args.set_output(0, std::move(sequence));
}

void insert(const NodeView&, KernelArgs& args) {
  Datum sequence = args.datum(0);
  const size_t count = sequence.items.size(), place = args.has_input(2) ? position(args, 2, count, count + 1) : count;
  sequence.items.insert(sequence.items.begin() + static_cast<ptrdiff_t>(place), owned(args.datum(1)));
  args.set_output(0, std::move(sequence));
}

Shapes scalar(const NodeView&) { return {Shape{}}; }

void length(const NodeView&, KernelArgs& args) { *args.output(0).data<int64_t>() = static_cast<int64_t>(args.datum(0).items.size()); }

constexpr List<Operator> definitions() {
  const OutputSpec sequence{"output_sequence", same_as("input_sequence")};
  return {
      {.name = "SequenceEmpty",
       .since = 11,
       .doc = MINNOW_DOC("A sequence without tensors."),
       .outputs = {{"output", from_attribute("dtype", DType::f32)}},
       .attributes = {kDType},
       .infer = empty_infer,
       .reference = empty},
      {.name = "SequenceConstruct",
       .since = 11,
       .doc = MINNOW_DOC("The sequence of the inputs, which are of one dtype."),
       .inputs = {{.name = "inputs", .arity = kVariadic, .like = "inputs"}},
       .outputs = {{"output_sequence", same_as("inputs")}},
       .infer = same_sequence,
       .reference = construct},
      {.name = "SequenceAt",
       .since = 11,
       .doc = MINNOW_DOC("The tensor at a place of a sequence; negative places count from the end."),
       .inputs = {sequence_input("input_sequence"), {"position", kIndex}},
       .outputs = {{"tensor", same_as("input_sequence")}},
       .infer = at_infer,
       .reference = at},
      {.name = "SequenceErase",
       .since = 11,
       .doc = MINNOW_DOC("The sequence without the tensor at a place, or without the last one."),
       .inputs = {sequence_input("input_sequence"), {"position", kIndex, kOptional}},
       .outputs = {sequence},
       .infer = same_sequence,
       .reference = erase},
      {.name = "SequenceInsert",
       .since = 11,
       .doc = MINNOW_DOC("The sequence with a tensor put before a place, or at the end."),
       .inputs = {sequence_input("input_sequence"), {.name = "tensor", .like = "input_sequence"}, {"position", kIndex, kOptional}},
       .outputs = {sequence},
       .infer = same_sequence,
       .reference = insert},
      {.name = "SequenceLength",
       .since = 11,
       .doc = MINNOW_DOC("The number of tensors in a sequence."),
       .inputs = {sequence_input("input_sequence")},
       .outputs = {{"length", fixed(DType::i64)}},
       .infer_shapes = scalar,
       .reference = length},
  };
}

}  // namespace

std::span<const Operator> sequence_operators() { return operator_table<definitions>(); }

}  // namespace minnow
