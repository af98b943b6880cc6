// SPDX-License-Identifier: Apache-2.0
// The one table of what becomes of ONNX's operators. Operators that are not here are copied as they are.
#include <algorithm>
#include <unordered_map>

#include "importers/onnx/onnx_node.h"

namespace minnow::onnx {
namespace {

Exprs copy(OnnxNode& node, GraphBuilder&) { return node.copy(); }

constexpr ImportRule kRules[] = {
    {"Identity", 1, copy},
};

}  // namespace

std::vector<ImportRule> all_rules() { return {std::begin(kRules), std::end(kRules)}; }

Build find_rule(std::string_view op, int64_t version) {
  static const std::unordered_multimap<std::string_view, const ImportRule*> index = [] {
    std::unordered_multimap<std::string_view, const ImportRule*> rows;
    for (const ImportRule& rule : kRules) rows.emplace(rule.op, &rule);
    return rows;
  }();
  const ImportRule* best = nullptr;
  const auto [from, to] = index.equal_range(op);
  for (auto row = from; row != to; ++row)
    if (row->second->since <= version && (!best || row->second->since > best->since)) best = row->second;
  return best ? best->build : copy;
}

}  // namespace minnow::onnx
