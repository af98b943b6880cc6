// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Name kBody = "body";

const Graph& body_of(const NodeView& node) {
  const Graph* body = node.require<Subgraph>(kBody).get();
  if (!body) node.fail("attribute \"body\" holds no graph");
  if (body->inputs().size() != node.input_count() || body->outputs().size() != 1 || !body->states().empty())
    node.fail("the body should have {} inputs and one output, it has {} and {}", node.input_count(), body->inputs().size(),
              body->outputs().size());
  return *body;
}

/// The node with the shapes that it has: each elementwise node in the body is inferred on its own, which checks the dtypes.
void infer(const NodeView& node, std::span<ValueInfo> outputs) {
  const Graph& body = body_of(node);
  std::unordered_map<const Value*, ValueInfo> known;
  for (size_t i = 0; i < node.input_count(); ++i) known[body.inputs()[i].get()] = node.input(i);
  for (const auto& constant : body.constants()) {
    const Tensor& tensor = *constant->constant();
    // A larger constant would take part in the broadcast: it has to be an input.
    if (tensor.elements() != 1)
      node.fail("constant \"{}\" in the body should be a scalar, it has shape {}", constant->name(), tensor.shape());
    ValueInfo& info = known[constant.get()];
    info.dtype = tensor.dtype();
    info.shape = tensor.shape();
    info.contents = tensor;
  }
  for (const Node& inner : body.nodes()) {
    const Operator* op = OperatorSet::builtin().find(inner.op());
    const bool quantizes = inner.op() == "QuantizeLinear" || inner.op() == "DequantizeLinear";  // by numbers, so element by element
    if (!op || (!op->elementwise && !quantizes) || op->name == node.op() || inner.output_count() != 1 || !inner.output(0))
      node.fail("operator {} in the body is not elementwise", inner.op());
    std::vector<const ValueInfo*> inputs;
    for (size_t i = 0; i < inner.input_count(); ++i) {
      const auto found = known.find(inner.input(i));
      if (inner.input(i) && found == known.end()) node.fail("the body uses value \"{}\" of another graph", inner.input(i)->name());
      inputs.push_back(inner.input(i) ? &found->second : nullptr);
    }
    ValueInfo result;
    const NodeView view = node.is_symbolic() ? NodeView::symbolic(inner, inputs, op) : NodeView(inner, inputs, {}, op);
    try {
      infer_outputs(*op, view, {&result, 1});
    } catch (const NeedsContents&) {  // its dtype is known even so
      infer_kinds(*op, view, {&result, 1});
      result.extent = ValueInfo::Extent::unknown;
    }
    known[inner.output(0)] = std::move(result);
  }
  const auto result = known.find(body.outputs()[0]);
  if (result == known.end()) node.fail("the body's output is a value of another graph");
  outputs[0] = ValueInfo{};
  outputs[0].dtype = result->second.dtype;
  const Sizes shape = broadcast_inputs(node);
  if (result->second.extent == ValueInfo::Extent::unknown || differ(result->second.sizes(), shape))
    node.fail("the body should give {}, the shape of its inputs broadcast together", shape);
  outputs[0].set_sizes(shape);
}

Exprs decompose(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Graph& body = body_of(node);
  std::unordered_map<const Value*, Expr> made;
  for (size_t i = 0; i < inputs.size(); ++i) made[body.inputs()[i].get()] = inputs[i];
  for (const auto& constant : body.constants()) made[constant.get()] = builder.constant(*constant->constant());
  for (const Node& inner : body.nodes()) {
    Exprs arguments;
    for (size_t i = 0; i < inner.input_count(); ++i) arguments.push_back(inner.input(i) ? made.at(inner.input(i)) : Expr());
    made[inner.output(0)] = builder.op(inner.op(), arguments, inner.attributes);
  }
  return {made.at(body.outputs()[0])};
}

constexpr List<Operator> definitions() {
  return {
      {.name = "minnow.FusedElementwise",
       .doc = MINNOW_DOC("Several elementwise operators in one pass over the elements: the body is a graph of such operators, with an "
                         "input for each input of the node; its constants are scalars. DequantizeLinear and QuantizeLinear by scalars may "
                         "stand at its ends. The result has the shape of all inputs broadcast together."),
       .inputs = {{"inputs", kAny, kVariadic}},
       .outputs = {{"output", same_as("inputs")}},
       .attributes = {required(kBody, AttributeKind::graph, MINNOW_DOC("graph of elementwise operators, using nothing from outside"))},
       .infer = infer,
       .decompose = decompose,
       .elementwise = true,
       .float_width = FloatWidth::f32}};
}

}  // namespace

std::span<const Operator> fused_elementwise_operators() { return operator_table<definitions>(); }

}  // namespace minnow
