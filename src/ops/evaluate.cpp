// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "base/saturating.h"
#include "base/watch.h"

namespace minnow {
namespace {

using Environment = std::unordered_map<const Value*, Datum>;

ValueInfo info_of(const Datum& datum, const Value* value) {
  ValueInfo info;
  if (datum.kind == Datum::Kind::tensor) {
    info.dtype = datum.tensor.dtype();
    info.shape = datum.tensor.shape();
    info.contents = datum.tensor;
  } else if (datum.kind == Datum::Kind::sequence) {
    info.kind = ValueInfo::Kind::sequence;
    info.dtype = datum.element != DType::undefined || !value ? datum.element : value->type.element_dtype();
  } else {
    info.kind = ValueInfo::Kind::optional;
    info.dtype = value ? value->type.element_dtype() : DType::undefined;
  }
  if (value && value->type.kind == ValueType::Kind::optional) {
    info.kind = ValueInfo::Kind::optional;
    const bool sequence = value->type.element && value->type.element->kind == ValueType::Kind::sequence;
    info.element = sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::tensor;
  }
  return info;
}

class Subgraphs : public SubgraphRunner {
 public:
  using Run = std::function<std::vector<Datum>(const Graph&, std::span<const Datum>)>;
  Subgraphs(const Node& node, const Run& run) : node_(node), run_(run) {}
  std::vector<Datum> run(std::string_view attribute, std::span<const Datum> inputs) override {
    const Subgraph* graph = node_.attributes.get<Subgraph>(attribute);
    if (!graph) throw InvalidModel("{}: attribute \"{}\" should hold a graph", node_.where(), attribute);
    Watch::check();  // the graph may have no nodes
    MINNOW_CHECK(run_, "a node with subgraphs is evaluated without a way to run them");
    return run_(**graph, inputs);
  }

 private:
  const Node& node_;
  const Run& run_;
};

std::vector<Datum> run_graph(const OperatorSet& operators, const Graph& graph, std::span<const Datum> inputs, Environment& environment,
                             const Observer& observer) {
  if (inputs.size() != graph.inputs().size())
    throw InvalidArgument("{}: the graph takes {} inputs, {} are given", graph.source, graph.inputs().size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) environment[graph.inputs()[i].get()] = inputs[i];
  for (const auto& constant : graph.constants()) environment[constant.get()] = Datum(*constant->constant());
  for (const State& state : graph.states()) environment[state.current] = Datum(state.initial);
  const Subgraphs::Run run_subgraph = [&](const Graph& subgraph, std::span<const Datum> arguments) {
    return run_graph(operators, subgraph, arguments, environment, observer);
  };
  for (const Node& node : graph.nodes()) {
    std::vector<Datum> arguments;
    for (size_t i = 0; i < node.input_count(); ++i) arguments.push_back(node.input(i) ? environment.at(node.input(i)) : Datum());
    std::vector<Datum> results = evaluate(operators, node, arguments, run_subgraph);
    if (observer) observer(node, arguments, results);
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) environment[node.output(i)] = std::move(results[i]);
  }
  std::vector<Datum> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(environment.at(output));
  return outputs;
}

/// Nothing where `accept` does not like the types of the outputs.
std::optional<std::vector<Datum>> compute(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs,
                                          const Subgraphs::Run& run_subgraph, ConstantEvaluator::Accept accept) {
  Watch::check();
  const Operator* op = operators.find(node.op());
  if (!op) throw Unsupported("{}: there is no such operator; load_operators() or --operators loads a library that has it", node.where());
  std::vector<ValueInfo> in(inputs.size()), out(node.output_count());
  std::vector<const ValueInfo*> in_pointers(inputs.size()), out_pointers(out.size());
  std::vector<Slot> in_slots(inputs.size()), out_slots(out.size());
  std::vector<Slot*> in_slot_pointers(inputs.size()), out_slot_pointers(out.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!node.input(i)) continue;
    in[i] = info_of(inputs[i], node.input(i));
    in_pointers[i] = &in[i];
    if (inputs[i].kind == Datum::Kind::tensor) in_slots[i].view = inputs[i].tensor.view();
    in_slots[i].datum = inputs[i];
    in_slot_pointers[i] = &in_slots[i];
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out_pointers[i] = &out[i];
    out_slot_pointers[i] = node.output(i) ? &out_slots[i] : nullptr;
  }
  const NodeView view(node, in_pointers, out_pointers, op);
  infer_outputs(*op, view, out);
  if (!accept(out)) return {};

  if (!op->reference) {
    MINNOW_CHECK(op->decompose, "an operator needs a reference or a decomposition");
    Graph graph;
    graph.source = node.where();
    GraphBuilder builder(graph);
    Exprs arguments;
    std::vector<Datum> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!node.input(i)) {
        arguments.emplace_back();
        continue;
      }
      Value& input = graph.add_input(
          node.input(i)->name(), in[i].kind == ValueInfo::Kind::tensor ? ValueType::tensor(in[i].dtype, in[i].shape) : node.input(i)->type);
      arguments.push_back(builder.wrap(&input));
      given.push_back(inputs[i]);
    }
    const Exprs results = op->decompose(view, builder, arguments);
    if (results.empty()) throw Unsupported("{}: this form of the operator has no implementation", node.where());
    std::vector<size_t> places;
    for (size_t i = 0; i < results.size() && i < out.size(); ++i)
      if (results[i] && node.output(i)) graph.add_output(*results[i].value()), places.push_back(i);
    std::vector<Datum> made = evaluate(operators, graph, given), outputs(out.size());
    for (size_t i = 0; i < places.size(); ++i) outputs[places[i]] = std::move(made[i]);
    return outputs;
  }

  std::vector<Tensor> memory(out.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (node.output(i) && out[i].kind == ValueInfo::Kind::tensor && out[i].extent == ValueInfo::Extent::exact) {
      memory[i] = Tensor(out[i].dtype, out[i].shape);
      out_slots[i].view = memory[i].view();
    }
  Subgraphs subgraphs(node, run_subgraph);
  KernelArgs args(view, in_slot_pointers, out_slot_pointers, &subgraphs);
  try {
    run_reference(*op, view, args);
  } catch (const KernelFailure& failure) {
    throw InvalidArgument("{}", failure.sentence);
  }
  std::vector<Datum> outputs(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!node.output(i)) continue;
    if (memory[i])
      outputs[i] = Datum(std::move(memory[i]));
    else
      outputs[i] = std::move(out_slots[i].datum);
  }
  return outputs;
}

}  // namespace

std::vector<Datum> evaluate(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs,
                            const std::function<std::vector<Datum>(const Graph&, std::span<const Datum>)>& run_subgraph) {
  return *compute(operators, node, inputs, run_subgraph, [](std::span<const ValueInfo>) { return true; });
}

std::vector<Datum> evaluate(const OperatorSet& operators, const Graph& graph, std::span<const Datum> inputs, const Observer& observer) {
  Environment environment;
  return run_graph(operators, graph, inputs, environment, observer);
}

// Constants.

bool ConstantEvaluator::may_compute(const Node& node) const {
  const Operator* op = operators_.find(node.op());
  return op && op->pure && !op->custom && std::none_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
           return std::holds_alternative<Subgraph>(attribute.second);
         });
}

std::vector<Datum> ConstantEvaluator::outputs(const Node& node, std::span<const Datum> inputs) const {
  return outputs(node, inputs, [](std::span<const ValueInfo>) { return true; });
}

std::vector<Datum> ConstantEvaluator::outputs(const Node& node, std::span<const Datum> inputs, Accept accept) const {
  if (!may_compute(node)) return {};
  int64_t elements = 0;
  for (const Datum& input : inputs)
    if (input.kind == Datum::Kind::tensor && input.tensor.data()) elements = clamped_sum({elements, input.tensor.elements()});
  if (elements > most_elements_) return {};
  const auto fits = [&](std::span<const ValueInfo> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.output(i)) continue;
      if (outputs[i].kind != ValueInfo::Kind::tensor) return false;
      if (outputs[i].extent != ValueInfo::Extent::unknown) elements = clamped_sum({elements, outputs[i].shape.elements()});
    }
    return elements <= most_elements_ && accept(outputs);
  };
  try {
    return compute(operators_, node, inputs, {}, fits).value_or(std::vector<Datum>());
  } catch (const NeedsContents&) {
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled || error.kind() == ErrorKind::internal) throw;
  }
  return {};
}

namespace {

std::optional<Tensor> tensor_of(const std::vector<Datum>& outputs, const Node& node, const Value& value) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.output(i) == &value) return outputs[i].tensor;
  return {};
}

}  // namespace

struct ConstantEvaluator::Search {
  FunctionRef<bool(const Node&)> may_enter;
  std::unordered_map<const Node*, std::vector<Datum>> computed;  // empty: cannot be
};

std::optional<Tensor> ConstantEvaluator::contents(const Value& value, FunctionRef<bool(const Node&)> may_enter) const {
  Search search{may_enter, {}};
  return contents(value, search, 0);
}

std::optional<Tensor> ConstantEvaluator::contents(const Value& value, Search& search, int depth) const {
  constexpr int kDeepest = 64;
  if (const Tensor* constant = value.constant()) return constant->elements() <= most_elements_ ? std::optional(*constant) : std::nullopt;
  const Node* node = value.producer();
  if (!node || depth == kDeepest) return {};
  auto found = search.computed.find(node);
  if (found == search.computed.end()) {
    if (!search.may_enter(*node) || !may_compute(*node)) return {};
    found = search.computed.try_emplace(node).first;
    std::vector<Datum>& results = found->second;  // stays where it is while the map grows
    std::vector<Datum> inputs(node->input_count());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!node->input(i)) continue;
      auto tensor = contents(*node->input(i), search, depth + 1);
      if (!tensor) return {};
      inputs[i] = Datum(std::move(*tensor));
    }
    results = outputs(*node, inputs);
    return tensor_of(results, *node, value);
  }
  return tensor_of(found->second, *node, value);
}

Tensor ConstantEvaluator::apply(std::string_view op, std::initializer_list<Tensor> inputs, Attributes attributes) const {
  Graph graph;
  std::vector<Value*> values;
  std::vector<Datum> data;
  for (const Tensor& input : inputs) {
    values.push_back(&graph.add_input("x" + std::to_string(values.size()), ValueType::tensor(input.dtype(), input.shape())));
    data.emplace_back(input);
  }
  const std::string name = "y";
  const Node& node = graph.add_node(op, std::span<Value* const>(values), std::span<const std::string>(&name, 1), std::move(attributes));
  return evaluate(operators_, node, data)[0].tensor;
}

}  // namespace minnow
