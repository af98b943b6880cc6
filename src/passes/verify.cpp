// SPDX-License-Identifier: Apache-2.0
#include "passes/verify.h"

#include <algorithm>
#include <optional>

#include "passes/compare.h"
#include "passes/trail.h"

namespace minnow {
namespace {

// The number of roundings whose errors may add up in one element.
constexpr double kRoundings = 16;

/// True if an input has dimensions that are not fixed.
bool is_open(const Graph& graph) {
  for (const auto& input : graph.inputs()) {
    if (!input->type.dims) return true;
    for (const Dim& dim : *input->type.dims)
      if (!dim.known()) return true;
  }
  return false;
}

/// Where values are rounded to 16 bits, optimized graphs may leave that out.
double tolerance_of(const Graph& graph, double tolerance) {
  for (const Node& node : graph.nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (const Value* output = node.output(i)) tolerance = std::max(tolerance, kRoundings * rounding_error(output->type.dtype));
  return tolerance;
}

Expectation expect(const OperatorSet& operators, const Graph& before) {
  CompareOptions options;
  options.tolerance = tolerance_of(before, options.tolerance);
  for (const auto& input : before.inputs())
    if (input->type.dims && input->type.dims->size() > 1 && !input->type.dims->front().symbol.empty())
      options.symbols[input->type.dims->front().symbol] = 1;
  if (!is_open(before)) return Expectation(operators, before, random_inputs(before, options), options.tolerance);
  std::string why;
  // The first dimension may be no batch, and parts of it be taken.
  for (const auto& [size, batch_of_one] :
       {std::pair<int64_t, bool>{1, true}, {16, true}, {32, true}, {64, true}, {224, true}, {16, false}}) {
    if (!batch_of_one) options.symbols.clear();
    for (const int64_t channels : {0, 3, 1})
      for (const bool last : {false, true}) {
        if (last && channels == 0) continue;
        options.other_dims = size, options.channels = channels, options.channels_last = last;
        try {
          return Expectation(operators, before, random_inputs(before, options), options.tolerance);
        } catch (const Unsupported& error) {
          if (why.empty()) why = error.what();
        } catch (const Error& error) {
          if (batch_of_one && channels != 1) why = error.what();
        }
      }
  }
  throw InvalidModel("no sizes of the open dimensions were found to verify with, give them with --shape; with the last ones: {}", why);
}

std::string guilty_pass(const OperatorSet& operators, const Graph& before, const Expectation& expectation, OptimizeOptions options) {
  std::vector<std::string_view> passes;  // that changed something
  const auto optimized = [&](size_t changes) {
    passes.clear();
    options.report = [&](const PassReport& report) { passes.push_back(report.pass); };
    options.most_changes = changes;
    std::unique_ptr<Graph> graph = before.clone();
    optimize(*graph, operators, options);
    return graph;
  };
  optimized(~size_t{0});
  const size_t all = passes.size();
  size_t right = 0, wrong = all;  // so many passes leave it right, or make it wrong
  while (right + 1 < wrong) {
    const size_t middle = right + (wrong - right) / 2;
    try {
      expectation.check(*optimized(middle));
      right = middle;
    } catch (const Error&) {
      wrong = middle;
    }
  }
  optimized(wrong);
  return format("{} (number {} of {} that changed something)", passes.empty() ? "none" : passes.back(), wrong, all);
}

}  // namespace

void verify_optimization(const OperatorSet& operators, const Graph& before, const Graph& after, const OptimizeOptions& options) {
  const Expectation expectation = expect(operators, before);
  try {
    expectation.check(after);
  } catch (const Error& error) {
    throw InvalidModel("{}; the pass that made it so is {}", error.what(), guilty_pass(operators, before, expectation, options));
  }
}

}  // namespace minnow
