// SPDX-License-Identifier: Apache-2.0
// Measurements of a profiled session for each node, and the rows of reports made from plans and measurements.
#pragma once
#include <minnow/minnow.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/plan_state.h"

namespace minnow {

/// Times of one node and of the nodes in its subgraphs. A subgraph may be planned many times for different shapes, and these plans come and
/// go; so its nodes are identified by name, operator and scheme.
struct NodeProfile {
  PlanRow row;  // measured sums, and (for inner nodes) the plan's decisions
  std::vector<std::unique_ptr<NodeProfile>> inner;

  /// Adds one call of `step` in run number `run` of the session; it began `start` seconds after the run.
  void add(uint64_t run, const Step& step, double start, double seconds, int threads) noexcept;
  /// The profile of a step of the subgraph `attribute`; `plan` holds the step.
  NodeProfile& inner_profile(const Plan& plan, const Step& step, std::string_view attribute);
  /// The least time of all runs.
  double best_seconds() const noexcept;

 private:
  uint64_t run_ = 0;         // that the sums belong to
  double earlier_best_ = 0;  // of the runs before
  std::unordered_map<std::string, NodeProfile*> by_name_;
};

/// Appends a row for each step of a plan, with times if there are any. The rows of a step's subgraphs follow the step.
void append_rows(const PlanState& state, int session_threads, std::vector<PlanRow>& rows);

}  // namespace minnow
