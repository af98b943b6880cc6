// SPDX-License-Identifier: Apache-2.0
#include "ops/check_form.h"

#include <algorithm>

namespace minnow {
namespace {

std::string names_of(DTypes set) {
  std::string text;
  for (int i = 1; i < 32; ++i)
    if ((set >> i) & 1) text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<DType>(i)));
  return text;
}

const InputSpec* spec_of(std::span<const InputSpec> specs, size_t i) {
  if (i < specs.size()) return &specs[i];
  return !specs.empty() && specs.back().arity == Arity::variadic ? &specs.back() : nullptr;
}

/// The last inputs of a variadic operator are all given, and where there are no others before them, there is at least one. Inputs of any
/// kind (a Loop's) may be absent as an optional is, and a custom operator says itself what it needs.
bool must_have(const Operator& op, const InputSpec& spec, size_t i, size_t count) {
  if (spec.arity != Arity::variadic) return spec.arity == Arity::required;
  return !op.custom && spec.kinds != kAnyKind && (i < count || i == 0);
}

void check_input(const Operator& op, const NodeView& node, const InputSpec& spec, size_t i, Known known) {
  const ValueInfo& info = node.input(i);
  const bool is_tensor = info.kind == ValueInfo::Kind::tensor;
  if ((known == Known::declared || node.is_symbolic()) && is_tensor && info.dtype == DType::undefined) return;  // nothing is known yet
  const Kinds kind = is_tensor ? kTensors : info.kind == ValueInfo::Kind::sequence ? kSequences : kOptionals;
  if (!(spec.kinds & kind))
    node.fail("input {} (\"{}\") is {}, which the operator does not take", i, spec.name,
              kind == kTensors     ? "a tensor"
              : kind == kSequences ? "a sequence"
                                   : "an optional");
  if (known == Known::declared && !info.contents) return;
  if (kind == kOptionals && info.dtype == DType::undefined) return;  // an empty one that nobody gave a type
  if (!contains(spec.dtypes, info.dtype))
    node.fail("input {} (\"{}\") is {}, it should be one of {}", i, spec.name, info.dtype, names_of(spec.dtypes));
  if (known == Known::declared) return;
  if (kind == kTensors && info.extent == ValueInfo::Extent::exact) info.shape.elements();  // shape rules rely on products of dimensions
  if (spec.like.empty()) return;
  for (size_t other = 0; other < i && other < op.inputs.size(); ++other)
    if (op.inputs[other].name == spec.like && node.has_input(other) && node.input_dtype(other) != info.dtype)
      node.fail("input {} (\"{}\") is {}, it should be {} as \"{}\" is", i, spec.name, info.dtype, node.input_dtype(other), spec.like);
}

void check_attribute(const NodeView& node, const AttributeSpec& spec) {
  constexpr std::string_view kNames[] = {"an integer",         "a real number",     "a text",          "a tensor", "a graph",
                                         "a list of integers", "a list of numbers", "a list of texts", "a type"};
  const AttributeValue* value = node.node().attributes.find(spec.name);
  const Subgraph* graph = value ? std::get_if<Subgraph>(value) : nullptr;
  if (spec.required && (!value || (graph && !*graph))) node.fail("attribute \"{}\" is missing", spec.name);
  if (value && value->index() != static_cast<size_t>(spec.kind))  // kinds are in the order of AttributeValue
    node.fail("attribute \"{}\" is {}, it should be {}", spec.name, kNames[value->index()], kNames[static_cast<size_t>(spec.kind)]);
}

}  // namespace

void check_form(const Operator& op, const NodeView& node, Known known) {
  for (size_t i = 0; i < std::max(node.input_count(), op.inputs.size()); ++i) {
    const InputSpec* spec = spec_of(op.inputs, i);
    if (!spec) {
      if (node.has_input(i)) node.fail("takes at most {} inputs, it has {}", op.inputs.size(), node.input_count());
    } else if (node.has_input(i)) {
      check_input(op, node, *spec, i, known);
    } else if (must_have(op, *spec, i, node.input_count())) {
      if (spec->arity == Arity::variadic && node.input_count() == 0) node.fail("takes at least one input, it has none");
      node.fail("input {} (\"{}\") is missing", i, spec->name);
    }
  }
  for (size_t i = 0; i < std::max(node.output_count(), op.outputs.size()); ++i) {
    if (i >= op.outputs.size()) {
      const bool more = !op.outputs.empty() && op.outputs.back().arity == Arity::variadic;
      if (!more && node.has_output(i)) node.fail("has at most {} outputs, output {} is asked for", op.outputs.size(), i);
    } else if (op.outputs[i].arity == Arity::required && !node.has_output(i)) {
      node.fail("output {} (\"{}\") is missing", i, op.outputs[i].name);
    }
  }
  for (const AttributeSpec& attribute : op.attributes) check_attribute(node, attribute);
  if (op.custom) return;
  for (const auto& [name, value] : node.node().attributes) {
    const auto has_name = [&name = name](const AttributeSpec& spec) { return spec.name == name; };
    if (std::none_of(op.attributes.begin(), op.attributes.end(), has_name)) node.fail("the operator has no attribute \"{}\"", name);
  }
}

}  // namespace minnow
