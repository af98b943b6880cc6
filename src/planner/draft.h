// SPDX-License-Identifier: Apache-2.0
// A plan in the making, and the phases that make it, each in a file of its own. build.cpp calls them in order.
#pragma once
#include <deque>
#include <optional>
#include <unordered_set>

#include "planner/derived.h"
#include "planner/plan.h"

namespace minnow {

/// A way to compute a step.
struct Candidate {
  Backend* backend;
  const Scheme* scheme;
  bool spare;                // PlanEnvironment::Row
  Estimate estimate;         // its seconds are measured if they are known
  double estimated_seconds;  // before that
};

struct Draft {
  explicit Draft(const PlanEnvironment& environment) : derived(*environment.operators, plan.values) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  PlanParts plan;
  std::vector<std::vector<Candidate>> candidates;  // of each step, until one is chosen
  DerivedConstants derived;
};

/// Pointers to the known facts of a step's inputs and outputs, for a NodeView. Valid until a value is added.
struct StepInfos {
  StepInfos(const Step& step, const std::vector<PlanValue>& values);
  /// Adds the contents of derived constants, which `this` then owns.
  void add_derived(const Step& step, const DerivedConstants& derived);
  /// Lets inputs of `half` look like f32, without contents.
  void widen(DType half);
  std::vector<const ValueInfo*> inputs, outputs;

 private:
  std::deque<ValueInfo> own_;
};

/// steps.cpp. Infers shapes, folds constants, replaces nodes that no scheme accepts by their decompositions, and finds the candidates of
/// each remaining step, the outputs, and the values needed after a cut. Fills in the draft except for layouts and places.
void add_steps(const PlanEnvironment& environment, const PlanRequest& request, Draft& draft);

/// fold.cpp. The results of a node whose inputs are known.
struct Folded {
  bool done = false;
  std::vector<std::pair<size_t, PlanValue>> constants;  // by output
  bool derived = false;                                 // output 0 is a derived constant, to be computed when it is packed
};
Folded fold(const OperatorSet& operators, const Step& step, const std::vector<ValueInfo>& outputs, const std::vector<PlanValue>& values,
            const DerivedConstants& derived);

/// candidates.cpp. The schemes that accept the step, with their estimates. `earlier`: the scheme chosen by another plan, or null. `choice`
/// gets the answers of all schemes.
std::vector<Candidate> find_candidates(const PlanEnvironment& environment, const Step& step, const std::vector<PlanValue>& values,
                                       const DerivedConstants& derived, const Scheme* earlier, SchemeChoice& choice);

/// Removes the steps that no output needs.
void remove_unneeded_steps(Draft& draft);

/// real_chains.cpp. Replaces the draft by one in which neighbouring steps between quantized tensors compute in f32, where their estimates
/// and those of the conversions at the ends of such chains add up to less. Not in small builds.
void take_real_chains(const PlanEnvironment& environment, const PlanRequest& request, std::unique_ptr<Draft>& draft);

/// regions.cpp. Replaces connected steps that a backend computes as one (Backend::regions).
void claim_regions(const PlanEnvironment& environment, Draft& draft);

/// layout.cpp. Chooses one candidate for each step so that schemes and conversions together cost least (local search over the graph).
/// `wants_plain[v]`: something outside the plan reads value v, in that memory. Result: an index into candidates[step].
std::vector<size_t> choose_candidates(const std::vector<std::vector<Candidate>>& candidates, const std::vector<Step>& steps,
                                      const std::vector<PlanValue>& values, const std::vector<bool>& wants_plain, const Backend* outside);

/// hybrid.cpp. Changes the choice where several backends that are wanted, one of them a device, then do their work at the same time and
/// are estimated to finish earlier.
void share_work(const PlanEnvironment& environment, const Draft& draft, std::vector<size_t>& choice);
/// hybrid.cpp. Orders the steps so that devices get their work early and the processor waits for it late.
void order_for_devices(PlanParts& plan);

/// conversions.cpp. Gives each step the candidate that is chosen for it, and values their layouts; inserts the steps that convert between
/// layouts. `choices` may be null.
void settle_schemes(const PlanEnvironment& environment, Draft& draft, SchemeChoices* choices);

/// devices.cpp. Whether value v must be copied to be read in another memory: kernels of devices take constants by PrepareContext::packed.
bool moves_between_memories(const PlanValue& value);
/// devices.cpp. Finds the steps to record.
void find_recorded_steps(PlanParts& plan);

/// columns.cpp. Lets steps read columns of a value where it lies, in place of slices of it, which then need no step.
void read_columns(PlanParts& plan);

/// prepare.cpp. Prepares the kernel of every step, on all threads, and computes the derived constants that runs read.
void prepare_kernels(const PlanEnvironment& environment, Draft& draft);

/// row_tiling.cpp. Joins steps with large intermediate images into one step that computes these images some rows at a time; they then need
/// no memory of their own. Requires prepared kernels. False if there are no such steps.
bool join_tiled_steps(PlanParts& plan);

/// lifetimes.cpp. Between which steps each value must stay, and which values lie in the memory of others.
void find_lifetimes(PlanParts& plan);
/// lifetimes.cpp. Gives values and scratch their places in the arena. Wants lifetimes.
void place_values(PlanParts& plan);

/// sharing.cpp. Places values in the memory of others (PlanValue::alias, alias_offset) and extends the lifetimes of the latter accordingly.
/// Requires lifetimes of all values, and estimates of all steps. may_share_views: views may lie in the memory of values that are read
/// later; returns whether some do.
bool share_memory(const std::vector<Step>& steps, std::vector<PlanValue>& values, bool may_share_views);

/// memory.cpp. An interval of steps in which some bytes must stay in place.
struct MemoryItem {
  size_t bytes = 0;
  uint32_t first = 0, last = 0;
  size_t offset = 0;  // the result
};
/// Gives every item an offset so that items that live at the same time do not overlap; returns the bytes needed.
size_t plan_memory(std::span<MemoryItem> items);
/// Largest sum of bytes live at one step.
size_t memory_lower_bound(std::span<const MemoryItem> items);

/// batch.cpp. How many entries of the batch (axis 0 of all live-ins) should be computed at a time, so that the values between operators
/// stay in the cache (with low memory: as few as possible) and within `memory_limit` bytes; 0: all. A divisor of the batch, at least 2:
/// sizes of 1 mean broadcasting. Wants the places of the values.
int64_t entries_at_once(const PlanParts& plan, const Device& device, size_t memory_limit);
/// Entries of the batch that all live-ins have on axis 0; 0 if there is no such batch.
int64_t batch_size(const PlanParts& plan);
/// True if running `part`, a plan of the same graph for fewer entries, for each part of the batch gives the results of `whole` and is
/// estimated to be no slower (with low memory: not much slower; if `whole` exceeds `memory_limit` bytes: at any speed). All outputs then
/// have the batch on axis 0.
bool splits_batch(const PlanParts& whole, const PlanParts& part, const Device& device, size_t memory_limit);

}  // namespace minnow
