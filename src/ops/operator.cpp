// SPDX-License-Identifier: Apache-2.0
#include "ops/operator.h"

#include <algorithm>

#include "base/watch.h"
#include "ops/all.h"
#include "ops/check_form.h"

namespace minnow {
namespace {

DType output_dtype(const Operator& op, const NodeView& node, const DTypeRule& rule) {
  switch (rule.kind) {
    case DTypeRule::Kind::fixed:
      return rule.dtype;
    case DTypeRule::Kind::attribute: {
      const AttributeValue* value = node.node().attributes.find(rule.name);
      if (!value) return rule.dtype;
      if (const int64_t* number = std::get_if<int64_t>(value)) {
        if (*number < 1 || *number > 26) node.fail("attribute \"{}\" is {}, which is no dtype", rule.name, *number);
        return static_cast<DType>(*number);
      }
      if (const Tensor* tensor = std::get_if<Tensor>(value)) return tensor->dtype();
      node.fail("attribute \"{}\" has the wrong type", rule.name);
    }
    case DTypeRule::Kind::same_as:
      for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i].name == rule.name) return node.has_input(i) ? node.input_dtype(i) : rule.dtype;
  }
  throw InternalError("{}: its dtype rule names an unknown input \"{}\"", op.name, rule.name);
}

void check_type(const NodeView& node, size_t i, const ValueInfo& info) {
  if (info.kind != ValueInfo::Kind::tensor || info.extent == ValueInfo::Extent::unknown) return;
  if (node.is_symbolic() && info.dtype == DType::undefined) return;  // that of an input which nothing is known of
  if (info.extent == ValueInfo::Extent::symbolic && !node.is_symbolic()) node.fail("output {} has more elements than can be counted", i);
  if (size_of(info.dtype) == 0) throw Unsupported("{}: output {} is of dtype {}, which is not supported", node.where(), i, info.dtype);
  if (info.extent != ValueInfo::Extent::symbolic) info.shape.elements();  // throws for a shape that cannot be
}

void take_shape(const NodeView& node, const OutputShape& given, ValueInfo& info) {
  const bool is_open = node.is_symbolic() && given.extent == ValueInfo::Extent::upper_bound;
  if (!is_open && given.shape.is_static()) [[likely]] {
    info.extent = given.extent;
    info.shape = given.shape.shape();
    return;
  }
  Sizes sizes = given.shape;
  if (is_open) sizes[given.open_axis] = Size::unknown();
  info.set_sizes(sizes);
}

}  // namespace

namespace {

void infer_outputs_anywhere(const Operator& op, const NodeView& node, std::span<ValueInfo> outputs) {
  Watch::check();
  check_form(op, node, Known::inferred);
  if (op.infer) {
    op.infer(node, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.has_output(i)) outputs[i].kind = ValueInfo::Kind::absent;
      check_type(node, i, outputs[i]);
    }
    return;
  }
  MINNOW_CHECK(op.infer_shapes, "an operator needs a shape rule");
  const Shapes shapes = op.infer_shapes(node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    ValueInfo& info = outputs[i];
    if (!node.has_output(i)) {
      info.kind = ValueInfo::Kind::absent;
      continue;
    }
    if (i >= shapes.size()) node.fail("has at most {} outputs, output {} is asked for", shapes.size(), i);
    const OutputSpec& spec = op.outputs[std::min(i, op.outputs.size() - 1)];
    info.kind = ValueInfo::Kind::tensor;
    info.dtype = output_dtype(op, node, spec.dtype);
    take_shape(node, shapes[i], info);
    check_type(node, i, info);
  }
}

}  // namespace

void infer_outputs(const Operator& op, const NodeView& node, std::span<ValueInfo> outputs) {
  try {
    infer_outputs_anywhere(op, node, outputs);
  } catch (const InvalidArgument& error) {  // a shape that cannot be does not know whose it is
    node.fail("{}", error.what());
  }
}

void run_reference(const Operator& op, const NodeView& node, KernelArgs& args) {
  bool empty = false;
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!node.has_output(i)) continue;
    const ValueInfo& output = node.output(i);
    empty = output.kind == ValueInfo::Kind::tensor && output.extent == ValueInfo::Extent::exact && output.shape.elements() == 0;
    if (!empty) break;
  }
  if (!empty) op.reference(node, args);
}

void infer_kinds(const Operator& op, const NodeView& node, std::span<ValueInfo> outputs) {
  if (op.infer) {
    // A custom operator sees shapes as plain numbers: it is not asked before they are known.
    for (size_t i = 0; op.custom && i < node.input_count(); ++i)
      if (node.has_input(i) && node.input(i).extent != ValueInfo::Extent::exact) return;
    // A node that lacks outputs is refused when it is checked.
    for (size_t i = outputs.size(); i < op.outputs.size(); ++i)
      if (op.outputs[i].arity == Arity::required) return;
    try {
      op.infer(node, outputs);
    } catch (const NeedsContents&) {  // after it has set what is asked for here
    }
    return;
  }
  for (size_t i = 0; i < outputs.size() && !op.outputs.empty(); ++i)
    outputs[i].dtype = output_dtype(op, node, op.outputs[std::min(i, op.outputs.size() - 1)].dtype);
}

void OperatorSet::add(const Operator& op) {
  const auto at = std::lower_bound(list_.begin(), list_.end(), op.name,
                                   [](const Operator* a, std::string_view name) { return std::string_view(a->name) < name; });
  if (at != list_.end() && (*at)->name == op.name) throw InvalidArgument("operator \"{}\" exists already", op.name);
  list_.insert(at, &op);
}

const Operator* OperatorSet::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(list_.begin(), list_.end(), name, [](const Operator* a, std::string_view n) { return a->name < n; });
  return at != list_.end() && (*at)->name == name ? *at : nullptr;
}

const OperatorSet& OperatorSet::builtin() {
  static const OperatorSet set = [] {
    OperatorSet made;
    for (const Operator* op : all_operators()) made.add(*op);
    return made;
  }();
  return set;
}

}  // namespace minnow
