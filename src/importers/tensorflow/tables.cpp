// SPDX-License-Identifier: Apache-2.0
#include "importers/tensorflow/tables.h"

#include <algorithm>

namespace minnow::tensorflow {

bool fills_table(std::string_view op) {
  return op == "LookupTableImportV2" || op == "LookupTableImport" || op == "InitializeTableV2" || op == "InitializeTable";
}

std::map<std::string_view, TableContents> find_tables(const GraphDef& graph) {
  std::map<std::string_view, TableContents> tables;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const NodeDef& node) { return node.op.starts_with("HashTable"); }))
    return tables;
  const NodeIndex outer(graph.nodes);
  const auto add = [&](std::string_view table, const NodeDef* keys, const NodeDef* values) {
    if (const NodeDef* node = outer.find(table); node && keys && values) tables.emplace(node->name, TableContents{keys, values});
  };
  for (const NodeDef& node : graph.nodes) {
    if (fills_table(node.op) && node.inputs.size() >= 3)
      add(node.inputs[0], outer.constant(node.inputs[1]), outer.constant(node.inputs[2]));
    if (node.op != "StatefulPartitionedCall" && node.op != "PartitionedCall") continue;
    const auto found = graph.functions.find(called_function(node));
    if (found == graph.functions.end()) continue;
    const FunctionDef& function = found->second;
    if (std::none_of(function.nodes.begin(), function.nodes.end(), [](const NodeDef& inner) { return fills_table(inner.op); })) continue;
    const NodeIndex nodes(function.nodes);
    // The call's input for an argument of the function; empty for other references.
    const auto given = [&](std::string_view reference) -> std::string_view {
      const auto place = static_cast<size_t>(std::find(function.inputs.begin(), function.inputs.end(), parse_reference(reference).node) -
                                             function.inputs.begin());
      return place < function.inputs.size() && place < node.inputs.size() ? node.inputs[place] : std::string_view();
    };
    const auto constant = [&](std::string_view reference) {
      const std::string_view outside = given(reference);
      return outside.empty() ? nodes.constant(reference) : outer.constant(outside);
    };
    for (const NodeDef& inner : function.nodes)
      if (fills_table(inner.op) && inner.inputs.size() >= 3)
        add(given(inner.inputs[0]), constant(inner.inputs[1]), constant(inner.inputs[2]));
  }
  return tables;
}

}  // namespace minnow::tensorflow
