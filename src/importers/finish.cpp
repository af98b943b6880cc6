// SPDX-License-Identifier: Apache-2.0
#include "importers/finish.h"

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

void finish_import(Graph& graph, const OperatorSet& operators) {
  for_each_graph(graph, [](Graph& each) {
    each.remove_unused_constants();
    unname_unknown(each);
  });
  infer_types(operators, graph);
  verify(graph);
}

}  // namespace minnow
