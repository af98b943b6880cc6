// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/node_order.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "importers/nesting.h"
#include "importers/onnx/wire.h"

namespace minnow::onnx {
namespace {

constexpr size_t kMostNames = 8;

/// The subgraph of an attribute; empty if it has none.
std::string_view subgraph_of(std::string_view attribute) {
  std::string_view graph;
  for (Fields fields(attribute); fields.next();)
    if (fields.number() == field::kAttributeG) graph = fields.bytes();
  return graph;
}

void add_used_names(const NodeMessage& node, int depth, Views& names);

/// Adds the names that a graph captures from the graphs around it.
void add_captured_names(std::string_view text, int depth, Views& names) {
  if (depth >= Nesting::kMostDeep) return;  // the importer refuses more
  const GraphMessage graph(text);
  std::unordered_set<std::string_view> own;
  Views used;
  for (std::string_view input : graph.inputs) own.insert(ValueMessage(input).name);
  for (std::string_view tensor : graph.initializers)
    for (Fields fields(tensor); fields.next();)
      if (fields.number() == field::kTensorName) own.insert(fields.bytes());
  for (std::string_view node_text : graph.nodes) {
    const NodeMessage node(node_text);
    own.insert(node.outputs.begin(), node.outputs.end());
    add_used_names(node, depth, used);
  }
  for (std::string_view output : graph.outputs) used.push_back(ValueMessage(output).name);
  for (std::string_view name : used)
    if (!own.contains(name)) names.push_back(name);
}

void add_used_names(const NodeMessage& node, int depth, Views& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (std::string_view attribute : node.attributes)
    if (const std::string_view graph = subgraph_of(attribute); !graph.empty()) add_captured_names(graph, depth + 1, names);
}

std::string_view label_of(const NodeMessage& node) {
  return (!node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0]).substr(0, 200);
}

class Sorter {
 public:
  Sorter(std::span<const NodeMessage> nodes, FunctionRef<bool(std::string_view)> visible, const std::string& where)
      : nodes_(nodes), visible_(visible), where_(where) {
    for (size_t i = 0; i < nodes.size(); ++i)
      for (std::string_view output : nodes[i].outputs)
        if (!output.empty()) makers_.emplace(output, i);
  }

  /// The nodes that have to come before node i.
  std::vector<size_t> needs(size_t i) const {
    Views names;
    add_used_names(nodes_[i], 0, names);
    std::vector<size_t> makers;
    for (std::string_view name : names)
      if (const auto found = makers_.find(name); found != makers_.end() && !visible_(name)) makers.push_back(found->second);
    return makers;
  }

  bool is_sorted() const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::vector<size_t> before = needs(i);
      if (std::any_of(before.begin(), before.end(), [&](size_t maker) { return maker >= i; })) return false;
    }
    return true;
  }

  /// Depth first, from each node in the file's order to its inputs.
  std::vector<size_t> sorted() const {
    enum : uint8_t { kWaiting, kOpen, kDone };
    std::vector<uint8_t> states(nodes_.size(), kWaiting);
    std::vector<size_t> order;
    std::vector<Visit> path;
    const auto enter = [&](size_t i) {
      states[i] = kOpen;
      path.push_back({i, needs(i), 0});
    };
    for (size_t root = 0; root < nodes_.size(); ++root) {
      if (states[root] == kWaiting) enter(root);
      while (!path.empty()) {
        Visit& at = path.back();
        if (at.next == at.needs.size()) {
          states[at.node] = kDone;
          order.push_back(at.node);
          path.pop_back();
          continue;
        }
        const size_t wanted = at.needs[at.next++];
        if (states[wanted] == kOpen) fail(path, wanted);
        if (states[wanted] == kWaiting) enter(wanted);
      }
    }
    return order;
  }

 private:
  struct Visit {
    size_t node;
    std::vector<size_t> needs;
    size_t next;
  };

  [[noreturn]] void fail(std::span<const Visit> path, size_t first) const {
    const auto begin = std::find_if(path.begin(), path.end(), [&](const Visit& visit) { return visit.node == first; });
    std::string names;
    size_t count = 0;
    for (auto at = begin; at != path.end(); ++at, ++count)
      if (count < kMostNames) names += format("{}\"{}\"", count ? ", " : "", label_of(nodes_[at->node]));
    if (count > kMostNames) names += format(" and {} more", count - kMostNames);
    if (count == 1) throw InvalidModel("{}: node {} uses its own result", where_, names);
    throw InvalidModel("{}: the nodes {} form a cycle, each uses the result of the next", where_, names);
  }

  std::span<const NodeMessage> nodes_;
  FunctionRef<bool(std::string_view)> visible_;
  const std::string& where_;
  std::unordered_map<std::string_view, size_t> makers_;
};

}  // namespace

std::vector<size_t> node_order(std::span<const NodeMessage> nodes, FunctionRef<bool(std::string_view name)> visible,
                               const std::string& where) {
  const Sorter sorter(nodes, visible, where);
  if (!sorter.is_sorted()) return sorter.sorted();
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

}  // namespace minnow::onnx
