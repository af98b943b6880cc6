// SPDX-License-Identifier: Apache-2.0
#include "support/passes.h"

#include <algorithm>
#include <functional>
#include <random>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "base/numeric.h"
#include "ops/infer.h"
#include "passes/compare.h"
#include "passes/pipeline.h"
#include "passes/rewrite.h"

namespace minnow::test {
namespace {

std::unique_ptr<Graph> parse(std::string_view text) {
  std::unique_ptr<Graph> graph = parse_graph(text);
  std::mt19937 engine(7);
  for (const auto& constant : graph->constants()) {
    if (!constant->name().starts_with("random")) continue;
    const Tensor& old = *constant->constant();
    Tensor made(old.dtype(), old.shape());
    const size_t count = static_cast<size_t>(made.elements());
    std::vector<double> values(count);
    for (double& value : values)
      value = is_float(old.dtype()) ? std::uniform_real_distribution<double>(0.25, 1.75)(engine) * (engine() % 2 ? 1 : -1)
                                    : static_cast<double>(static_cast<int>(engine() % 100) - (is_signed(old.dtype()) ? 50 : 0));
    if (constant->name().find("positive") != std::string::npos)
      for (double& value : values) value = std::fabs(value);
    narrow(made.dtype(), values.data(), count, made.writable().data());
    constant->set_constant(made);
  }
  return graph;
}

/// Whether input i of the node may be absent.
bool is_optional(const Node& node, size_t i) {
  const Operator* op = OperatorSet::builtin().find(node.op());
  if (!op || op->inputs.empty()) return true;
  const InputSpec& spec = op->inputs[std::min(i, op->inputs.size() - 1)];
  if (spec.arity != Arity::variadic) return spec.arity == Arity::optional;
  return spec.kinds == kAnyKind || (i > 0 && i + 1 == node.input_count());  // the last one is cut off
}

/// Returns the fault after `change` was made to `before`; empty if there is none, or if the graph is invalid.
std::string fault_of(const Graph& before, const std::function<void(Graph&)>& change, bool must_fail, bool may_run) {
  const std::unique_ptr<Graph> after = before.clone();
  try {
    change(*after);
    if (must_fail) return "a missing input was not refused";
    verify(*after);
    infer_types(OperatorSet::builtin(), *after);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::internal || (must_fail && std::string_view(error.what()).find("node \"") == std::string_view::npos)
               ? error.what()
               : std::string();
  }
  if (!may_run) return {};
  CompareOptions options;
  options.tolerance = 1e-3;
  options.other_dims = 2;
  try {
    const Expectation expectation(OperatorSet::builtin(), before, random_inputs(before, options), options.tolerance);
    try {
      expectation.check(*after);
    } catch (const Error& error) {
      return error.what();
    }
  } catch (const Error&) {  // without the input it computes nothing
  }
  return {};
}

/// The same change to the graph without one input of one node, for each in turn: where the input is optional, numbers stay as ever; where
/// it is required, an error names the node.
void expect_the_same_without_inputs(const Graph& whole, const std::function<void(Graph&)>& change) {
  for (size_t n = 0, count = 1; n < count; ++n)
    for (size_t i = 0;; ++i) {
      const std::unique_ptr<Graph> before = whole.clone();
      std::vector<Node*> nodes;
      for_each_graph(*before, [&](Graph& graph) {
        for (Node& each : graph.nodes()) nodes.push_back(&each);
      });
      count = nodes.size();
      if (count == 0 || i >= nodes[n]->input_count()) break;
      Node* const node = nodes[n];
      if (!node->input(i)) continue;
      const bool optional = is_optional(*node, i);
      const std::string where = node->where();
      node->set_input(i, nullptr);
      const bool ends = node->op() != "Loop" || i > 1;  // without its count or its condition
      const std::string fault = fault_of(*before, change, !optional, ends);
      EXPECT_EQ(fault, "") << where << " without input " << i << "\n" << to_text(*before);
    }
}

}  // namespace

std::string Rewrite::nodes() const {
  std::istringstream lines(to_text(*after));
  std::string list;
  const std::regex other("^  (input|output|const|state|metadata|source) .*"), types(": \\??[a-z0-9]*(\\[[^\\]]*\\])?");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && !std::regex_match(line, other)) list += std::regex_replace(line.substr(2), types, "") + "\n";
  return list;
}

std::string Rewrite::ops() const {
  std::string list;
  for (const Node& node : after->nodes()) list += (list.empty() ? "" : " ") + node.op();
  return list;
}

const Node& Rewrite::node(std::string_view op) const {
  for (const Node& node : after->nodes())
    if (node.op() == op) return node;
  throw std::out_of_range("no node " + std::string(op) + " among: " + ops());
}

Rewrite rewrite(std::string_view text, const std::vector<std::string_view>& passes, Optimize level) {
  Rewrite result;
  result.before = parse(text);
  result.after = parse(text);
  for (std::string_view pass : passes) result.changes += run_pass(pass, *result.after, OperatorSet::builtin(), level, &result.details);
  expect_the_same_without_inputs(*result.before, [&](Graph& graph) {
    for (std::string_view pass : passes) run_pass(pass, graph, OperatorSet::builtin(), level, nullptr);
  });
  return result;
}

Rewrite optimized(std::string_view text, Optimize level) {
  Rewrite result;
  result.before = parse(text);
  result.after = parse(text);
  OptimizeOptions options;
  options.level = level;
  options.report = [&](const PassReport& report) {
    result.changes += report.changes;
    for (const std::string& line : report.details) result.details.push_back(std::string(report.pass) + ": " + line);
  };
  optimize(*result.after, OperatorSet::builtin(), options);
  expect_the_same_without_inputs(*result.before, [&](Graph& graph) {
    OptimizeOptions plain;
    plain.level = level;
    optimize(graph, OperatorSet::builtin(), plain);
    if (level == Optimize::none) infer_types(OperatorSet::builtin(), graph);
  });
  return result;
}

testing::AssertionResult numbers_stay(const Rewrite& rewrite, double tolerance) {
  CompareOptions options;
  options.tolerance = tolerance;
  options.other_dims = 2;
  try {
    compare_graphs(OperatorSet::builtin(), *rewrite.before, *rewrite.after, options);
  } catch (const Error& error) {
    return testing::AssertionFailure() << error.what() << "\n" << to_text(*rewrite.after);
  }
  return testing::AssertionSuccess();
}

}  // namespace minnow::test
