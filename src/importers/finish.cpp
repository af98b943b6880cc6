// SPDX-License-Identifier: Apache-2.0
#include "importers/finish.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/text.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {

void add_named_outputs(TypedBuilder& builder, const std::vector<std::pair<std::string, Expr>>& outputs, UniqueNames& names) {
  Graph& graph = builder.graph();
  std::unordered_set<std::string> taken;
  for (const auto& input : graph.inputs()) taken.insert(input->name());
  for (const auto& [name, x] : outputs) {
    Value& value = *builder.own(x).value();
    std::string given = name;
    if (!taken.insert(given).second) taken.insert(given = names.make(std::move(given)));
    value.rename(std::move(given));
    graph.add_output(value);
  }
}

void make_names_printable(Graph& graph) {
  const auto clean = [](std::string& text) {
    if (!is_printable(text)) text = printable(text);
  };
  const auto clean_type = [&](auto& self, ValueType& type) -> void {
    if (type.dims)
      for (Dim& dim : *type.dims) clean(dim.symbol);
    if (!type.element) return;
    ValueType element = *type.element;
    self(self, element);
    type.element = std::make_shared<const ValueType>(std::move(element));
  };
  const auto clean_value = [&](Value& value) {
    if (!is_printable(value.name())) value.rename(printable(value.name()));
    clean_type(clean_type, value.type);
  };
  const auto clean_keys = [](Attributes& attributes) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : attributes)
      if (!is_printable(key)) keys.push_back(key);
    for (const std::string& key : keys) {
      AttributeValue value = std::move(*attributes.find(key));
      attributes.remove(key);
      attributes.set(printable(key), std::move(value));
    }
  };
  for_each_graph(graph, [&](Graph& each) {
    clean(each.name);
    for (const auto& input : each.inputs()) clean_value(*input);
    for (const auto& constant : each.constants()) clean_value(*constant);
    for (const State& state : each.states()) clean_value(*state.current);
    for (Node& node : each.nodes()) {
      if (!is_printable(node.name())) node.rename(printable(node.name()));
      clean_keys(node.attributes);
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i)) clean_value(*node.output(i));
    }
  });
  Metadata& metadata = graph.metadata;
  clean(metadata.producer);
  for (std::string& label : metadata.labels) clean(label);
  std::map<std::string, std::string> properties;
  for (const auto& [key, value] : metadata.properties) properties[printable(key)] = printable(value, true);
  metadata.properties = std::move(properties);
}

namespace {

/// The part that an input plays in its layer, by torch's names.
std::string part_of(const Operator& op, const Use& use) {
  if (op.name == "Add" || op.name == "Sub") {
    const Value* other = use.node->input(1 - use.input);
    return other && other->constant() ? "constant" : "bias";  // such as a variance and what is added to it
  }
  if (op.name == "Mul" || op.name == "Div" || op.name == "PRelu") return "weight";
  const InputSpec& spec = op.inputs[std::min<size_t>(use.input, op.inputs.size() - 1)];
  if (spec.name == "R") return "recurrent_weight";
  if (spec.weight != Weight::no || spec.name == "scale" || spec.name == "Scale") return "weight";
  if (spec.name == "B" || spec.name == "C") return "bias";
  if (spec.name == "input_mean") return "running_mean";
  if (spec.name == "input_var") return "running_var";
  return std::string(spec.name);
}

/// The use that tells what a constant is for: not that of a node that only brings it into another form.
const Use* main_use(const Value& constant) {
  constexpr int kMostForms = 8;
  static constexpr std::string_view kForms[] = {"Cast",    "Concat", "DequantizeLinear", "Expand",   "Identity", "Reshape", "Slice",
                                                "Squeeze", "Split",  "Transpose",        "Unsqueeze"};
  const Use* use = constant.uses().empty() ? nullptr : &constant.uses()[0];
  for (int i = 0; use && i < kMostForms; ++i) {
    const Value* output = use->node->output(0);
    if (std::find(std::begin(kForms), std::end(kForms), use->node->op()) == std::end(kForms) || !output || output->uses().empty()) break;
    use = &output->uses()[0];
  }
  return use;
}

/// Constants of floats that the file has no names for get those of their layers: "conv1.weight", "conv1.bias". Patterns of names choose
/// them, for training and quantization.
void name_weights(Graph& graph, const OperatorSet& operators) {
  UniqueNames names;
  const auto take = [&](const Value& value) { names.take(value.name()); };
  for_each_graph(graph, [&](Graph& each) {
    for (const auto& input : each.inputs()) take(*input);
    for (const auto& constant : each.constants()) take(*constant);
    for (const State& state : each.states()) take(*state.current);
    for (Node& node : each.nodes())
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i)) take(*node.output(i));
  });
  for_each_graph(graph, [&](Graph& each) {
    for (const auto& constant : each.constants()) {
      if (!constant->name().starts_with("constant#") || !is_float(constant->type.dtype) || constant->is_graph_output() ||
          constant->constant()->shape().rank() == 0)  // numbers of rules, such as what is added below a root
        continue;
      const Use* use = main_use(*constant);
      const Operator* op = use ? operators.find(use->node->op()) : nullptr;
      if (!op || op->inputs.empty() || use->node->name().empty()) continue;
      const Use& first = constant->uses()[0];
      const bool is_scale = first.node->op() == "DequantizeLinear" && first.input == 1;
      constant->rename(names.make(use->node->name() + "." + part_of(*op, *use) + (is_scale ? "_scale" : "")));
    }
  });
}

}  // namespace

void finish_import(Graph& graph, const OperatorSet& operators) {
  for_each_graph(graph, [](Graph& each) {
    each.remove_unused_constants();
    unname_unknown(each);
  });
  name_weights(graph, operators);
  infer_types(operators, graph);
  verify(graph);
}

}  // namespace minnow
