// SPDX-License-Identifier: Apache-2.0
// The state that an executor keeps for an immutable plan: places of values, subgraphs, trials of threads, times.
#pragma once
#include <memory>
#include <vector>

#include "planner/plan.h"
#include "runtime/thread_trial.h"

namespace minnow {

struct NodeProfile;

/// Makes the runner for the subgraphs of a control-flow node.
using MakeSubgraphRunner = FunctionRef<std::unique_ptr<SubgraphRunner>(const Node& node, std::span<Slot* const> captured)>;

/// The state of one step.
struct StepState {
  std::vector<Slot*> inputs, outputs, captured;  // null: absent
  std::unique_ptr<SubgraphRunner> subgraphs;
  ThreadTrial trial;               // of the threads that the step runs on
  NodeProfile* profile = nullptr;  // where a session asks for it
};

class PlanState {
 public:
  PlanState(std::shared_ptr<const Plan> plan, MakeSubgraphRunner make_subgraph_runner);
  PlanState(const PlanState&) = delete;
  PlanState& operator=(const PlanState&) = delete;

  const Plan& plan() const noexcept { return *plan_; }
  /// One for each of plan().steps().
  std::vector<StepState>& steps() noexcept { return steps_; }
  const std::vector<StepState>& steps() const noexcept { return steps_; }
  /// One for each of plan().values(), the live-ins first.
  std::vector<Slot>& slots() noexcept { return slots_; }

  /// Points the slots at an arena of at least plan().arena_bytes(). Allocates nothing.
  void bind(std::byte* arena) noexcept;
  std::byte* bound_arena() const noexcept { return arena_; }
  /// Allocates the arenas of devices; the plan's state keeps them, and the work that is recorded on them.
  void allocate_device_arenas();
  /// Where the scratch of a step is.
  void* scratch_of(const Step& step) const noexcept;
  /// The recorded work of plan().recorded()[i]; null until it is recorded.
  std::vector<std::unique_ptr<Recording>>& recordings() noexcept { return recordings_; }
  /// Sets the memory for output i (Plan::writes_output).
  void point_output(size_t i, void* memory) noexcept;

  /// How schemes were chosen, if the session keeps reports.
  SchemeChoices choices;

 private:
  std::byte* arena_of(const Backend* memory) const noexcept;  // null: the host's
  std::shared_ptr<const Plan> plan_;
  std::vector<Slot> slots_;
  std::vector<StepState> steps_;
  std::byte* arena_ = nullptr;
  std::vector<std::shared_ptr<void>> device_arenas_;  // in the order of the plan's
  std::vector<std::unique_ptr<Recording>> recordings_;
};

}  // namespace minnow
