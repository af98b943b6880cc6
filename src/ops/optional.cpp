// SPDX-License-Identifier: Apache-2.0
// Optionals: a tensor or a sequence, or nothing.
#include "ops/operator_table.h"
#include "ops/sequence.h"

namespace minnow {
namespace {

constexpr AttributeSpec kType = optional("type", AttributeKind::type, "what the optional may hold, where it is made empty");

void make_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].kind = ValueInfo::Kind::optional;
  if (node.has_input(0)) {
    outputs[0].element = node.input(0).kind;
    outputs[0].dtype = node.input_dtype(0);
    return;
  }
  const ValueType& type = node.require<ValueType>("type");
  outputs[0].element = type.kind == ValueType::Kind::sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor;
  outputs[0].dtype = type.element_dtype();
}

void make(const NodeView&, KernelArgs& args) { args.set_output(0, args.has_input(0) ? owned(args.datum(0)) : Datum()); }

void get_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0] = node.input(0);
  outputs[0].contents = {};
  if (outputs[0].kind != ValueInfo::Kind::optional) return;
  outputs[0].kind = outputs[0].element;
  if (outputs[0].kind == ValueInfo::Kind::tensor) outputs[0].extent = ValueInfo::Extent::unknown;
}

void get(const NodeView&, KernelArgs& args) {
  Datum value = args.datum(0);
  if (value.kind == Datum::Kind::none) args.fail("the optional is empty");
  args.set_output(0, std::move(value));
}

Shapes scalar(const NodeView&) { return {Shape{}}; }

void has(const NodeView&, KernelArgs& args) { *args.output(0).data<bool>() = args.has_input(0) && args.datum(0).kind != Datum::Kind::none; }

constexpr List<Operator> definitions() {
  return {
      {.name = "Optional",
       .since = 15,
       .doc = MINNOW_DOC("An optional that holds the input, or an empty one of the type that the attribute says."),
       .inputs = {{"input", kAny, Arity::optional, kTensors | kSequences}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kType},
       .infer = make_infer,
       .reference = make},
      {.name = "OptionalGetElement",
       .since = 18,
       .doc = MINNOW_DOC("The content of an optional; an empty one is an error. A tensor or a sequence is passed on."),
       .inputs = {{"input", kAny, Arity::required, kAnyKind}},
       .outputs = {{"output", same_as("input")}},
       .infer = get_infer,
       .reference = get},
      {.name = "OptionalHasElement",
       .since = 18,
       .doc = MINNOW_DOC("Whether an optional holds something; an absent input does not, a tensor or a sequence does."),
       .inputs = {{"input", kAny, Arity::optional, kAnyKind}},
       .outputs = {{"output", fixed(DType::boolean)}},
       .infer_shapes = scalar,
       .reference = has},
  };
}

}  // namespace

std::span<const Operator> optional_operators() { return operator_table<definitions>(); }

}  // namespace minnow
