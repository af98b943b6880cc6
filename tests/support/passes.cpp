// SPDX-License-Identifier: Apache-2.0
#include "support/passes.h"

#include <random>
#include <regex>
#include <sstream>

#include "base/numeric.h"
#include "passes/compare.h"
#include "passes/pipeline.h"

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
