// SPDX-License-Identifier: Apache-2.0
#include "importers/finish.h"

#include <unordered_set>

#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {

void add_named_outputs(Parts& parts, const std::vector<std::pair<std::string, Expr>>& outputs, UniqueNames& names) {
  Graph& graph = parts.builder().graph();
  std::unordered_set<std::string> taken;
  for (const auto& input : graph.inputs()) taken.insert(input->name());
  for (const auto& [name, x] : outputs) {
    Value& value = *parts.own(x).value();
    std::string given = name;
    if (!taken.insert(given).second) taken.insert(given = names.make(std::move(given)));
    value.rename(std::move(given));
    graph.add_output(value);
  }
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
