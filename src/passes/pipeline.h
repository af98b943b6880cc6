// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>

#include "passes/pass.h"

namespace minnow {

/// All passes, in the order in which they run.
std::span<const Pass> all_passes();

/// The changes that one pass made to a graph and its subgraphs.
struct PassReport {
  std::string_view pass;
  size_t changes = 0;
  size_t nodes = 0;  // after it
  double seconds = 0;
  std::vector<std::string> details;  // a line for each change
};

struct OptimizeOptions {
  Optimize level = Optimize::standard;
  std::function<void(const PassReport&)> report;  // called for every pass that changed something
  std::function<void(double)> progress;           // called before every pass with the part of the work that is done: an estimate, rising
  std::span<const Pass> passes = all_passes();
  size_t most_changes = ~size_t{0};  // stops when so many passes changed something, to find the one that did wrong
};

/// Rewrites the graph and its subgraphs; names of inputs, outputs and states stay. Every value's type is inferred afterwards.
void optimize(Graph& graph, const OperatorSet& operators, const OptimizeOptions& options = {});

/// Runs one pass over the graph and its subgraphs once; returns the number of changes. For tests.
size_t run_pass(std::string_view name, Graph& graph, const OperatorSet& operators, Optimize level = Optimize::standard,
                std::vector<std::string>* details = nullptr);

}  // namespace minnow
