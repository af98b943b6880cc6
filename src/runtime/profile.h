// SPDX-License-Identifier: Apache-2.0
// What a profiled session measures of each node, and the rows that reports make of plans and measurements.
#pragma once
#include <minnow/minnow.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/plan_state.h"

namespace minnow {

/// Times of one node, and of those in its subgraphs. A node of a subgraph is met again and again, in plans for several shapes, which come
/// and go: it is known by name, operator and scheme.
struct NodeProfile {
  PlanRow row;  // measured sums, and (of inner nodes) what was planned
  std::vector<std::unique_ptr<NodeProfile>> inner;

  /// One call of `step` in that run of the session, begun `start` seconds after it.
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

/// The report's rows of the steps of a plan, with their times where they have any, each followed by those of the nodes within.
void append_rows(const PlanState& state, int session_threads, std::vector<PlanRow>& rows);

}  // namespace minnow
