// SPDX-License-Identifier: Apache-2.0
// Pre-inference: from a graph and the shapes of its inputs to a Plan, the list of prepared kernels with the place of every value.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "ops/operator.h"
#include "planner/thread_trial.h"

namespace minnow {

class Plan;
struct NodeProfile;

inline constexpr uint32_t kNone = ~uint32_t{0};
inline constexpr size_t kNowhere = ~size_t{0};

/// Makes what runs the subgraphs of a control-flow node; given by the runtime, which the planner does not know.
using MakeSubgraphRunner = std::function<std::unique_ptr<SubgraphRunner>(const Node& node, std::span<Slot* const> captured)>;

/// Values that stand for others: inputs and results of decompositions.
using ValueAliases = std::unordered_map<const Value*, const Value*>;

/// What all plans of a session share.
struct PlanEnvironment {
  const OperatorSet* operators = nullptr;
  std::vector<std::shared_ptr<Backend>> backends;  // in order of preference; the last one serves every operator (reference)
  WeightStore* weights = nullptr;
  MakeSubgraphRunner make_subgraph_runner;
  std::function<void()> planned;                                // called when a plan is complete; may be empty
  size_t memory_limit = 0;                                      // bytes of what a run holds; 0: the process's limit
  bool explain = false;                                         // keep candidates and the reasons of refusals, for reports
  std::map<std::pair<std::string, std::string>, double> times;  // by node and scheme: in an estimate's place; infinite: not taken

  struct Row {
    Backend* backend;
    const Scheme* scheme;
  };
  std::unordered_map<std::string_view, std::vector<Row>> rows;  // by operator; filled by index_schemes
  std::vector<Scheme> custom;                                   // schemes of custom operators, which stand beside the cpu backend's
  /// Call once the operators and the backends are known.
  void index_schemes();
};

/// A value that a plan finds ready when it starts: an input, a state, a captured value, or a result of the plan before a cut.
struct LiveIn {
  const Value* value = nullptr;
  ValueInfo info;                  // without contents, unless they are known for good
  bool contents_required = false;  // shapes depend on what it holds: part of the plan's key
};

/// One value of a plan.
struct PlanValue {
  enum class Place : uint8_t { live_in, constant, arena, output, dynamic };
  const Value* value = nullptr;  // null for what the planner made
  ValueInfo info;
  Place place = Place::arena;
  Layout layout = Layout::plain;
  size_t bytes = 0;              // in memory, in its layout
  size_t offset = kNowhere;      // in the arena
  uint32_t alias = kNone;        // shares the memory of that value: written in place, or a part of it
  size_t alias_offset = 0;       // where it begins there
  uint32_t first = 0, last = 0;  // steps between which it must stay
};

/// Why a scheme was not taken, for reports.
struct Refusal {
  std::string_view scheme;
  std::string reason;  // the scheme's own, or its estimate
};

struct Step {
  const Node* node = nullptr;
  const Operator* definition = nullptr;
  Backend* backend = nullptr;
  const Scheme* scheme = nullptr;
  Estimate estimate;
  double least_seconds = 0;  // the least of all schemes' estimates, whatever was chosen
  std::unique_ptr<Kernel> kernel;
  std::vector<uint32_t> inputs, outputs, captured;  // indices of values; kNone: absent
  std::vector<Slot*> input_slots, output_slots, captured_slots;
  std::unique_ptr<SubgraphRunner> subgraphs;
  size_t scratch_bytes = 0, scratch_offset = 0;
  std::vector<Step> bands;  // not empty: these are computed at once, by bands of rows, and `kernel` runs theirs
  std::vector<Refusal> refusals;
  std::vector<std::pair<const Scheme*, double>> candidates;  // with their estimates
  double operations = 0;                                     // arithmetic operations of one run
  ThreadTrial trial;                                         // of the threads that it runs on: the executor's own
  NodeProfile* profile = nullptr;                            // where a session asks for it: the executor's own
};

/// A name to report a node by: its own, or that of its first output.
std::string_view report_name(const Node& node);

struct PlanRequest {
  std::vector<const Node*> nodes;  // in order
  std::vector<LiveIn> live_ins;
  std::vector<const Value*> outputs;      // what is wanted in the end
  std::shared_ptr<ValueAliases> aliases;  // of earlier segments; may be null
  /// A plan of the same nodes for other shapes: its schemes are taken again where they accept, without comparing; may be null.
  const Plan* like = nullptr;
  /// Large images between steps may be computed by bands of rows: they are then nowhere whole.
  bool by_bands = false;
  /// Contents of a live-in where they can be read now (while a run waits for its plan), else null data.
  std::function<TensorView(size_t live_in)> contents;
};

class Plan {
 public:
  /// Throws InvalidModel, Unsupported. Whether the arena fits into the memory limit is for the caller to see.
  static std::unique_ptr<Plan> build(const PlanEnvironment& environment, PlanRequest request);

  /// Points the slots at this arena of at least arena_bytes(). Allocates nothing.
  void bind(std::byte* arena) noexcept;
  std::byte* bound_arena() const noexcept { return arena_; }

  size_t arena_bytes() const noexcept { return arena_bytes_; }
  /// The largest sum of bytes that are live at one step: no arrangement can be smaller.
  size_t arena_lower_bound() const noexcept { return lower_bound_; }
  std::vector<Step>& steps() noexcept { return steps_; }
  const std::vector<Step>& steps() const noexcept { return steps_; }
  const std::vector<PlanValue>& values() const noexcept { return values_; }
  const std::vector<LiveIn>& live_ins() const noexcept { return live_ins_; }
  Slot& slot(uint32_t value) noexcept { return slots_[value]; }
  const Slot& slot(uint32_t value) const noexcept { return slots_[value]; }
  Slot& live_in_slot(size_t i) noexcept { return slots_[i]; }  // live-ins are the first values

  /// For each wanted output the value that is it, or kNone where it comes after the cut.
  const std::vector<uint32_t>& outputs() const noexcept { return outputs_; }
  /// True where outputs()[i] should be written to memory that the caller points the slot at (with point_output) before the run.
  bool writes_output(size_t i) const noexcept { return outputs_[i] != kNone && values_[outputs_[i]].place == PlanValue::Place::output; }
  void point_output(size_t i, void* memory) noexcept;

  /// After the cut: what is left to plan once this plan has run. Empty: nothing.
  bool is_cut() const noexcept { return !remaining_.empty(); }
  /// A request for what is left; live-ins take their shapes from the slots as the run left them.
  PlanRequest continuation() const;
  /// The value of this plan behind live-in i of a continuation.
  const std::vector<uint32_t>& exports() const noexcept { return exports_; }

 private:
  friend class PlanBuilder;
  Plan() = default;
  std::vector<PlanValue> values_;
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<LiveIn> live_ins_;
  std::vector<const Value*> wanted_, export_values_;
  std::vector<uint32_t> outputs_, exports_;
  std::vector<const Node*> remaining_;
  std::shared_ptr<ValueAliases> aliases_;
  std::vector<std::unique_ptr<Graph>> graphs_;  // decompositions, and the nodes of conversions
  std::byte* arena_ = nullptr;
  size_t arena_bytes_ = 0, lower_bound_ = 0;
};

/// How many entries of the batch (axis 0 of all live-ins) should be computed at a time, so that the values between operators stay in the
/// cache (with low memory: as few as possible) and within `memory_limit` bytes; 0: all. A divisor of the batch, at least 2: sizes of 1 mean
/// broadcasting.
int64_t entries_at_once(const Plan& plan, const Device& device, size_t memory_limit);
/// Entries of the batch that all live-ins have on axis 0; 0 where there is none.
int64_t batch_size(const Plan& plan);
/// True where `part`, a plan of the same graph for fewer entries, run for one part of the batch after the other gives what `whole` gives,
/// and is estimated to take no longer (with low memory: not much; where `whole` is over `memory_limit` bytes: whatever it takes). All
/// outputs then have the batch on axis 0.
bool splits_batch(const Plan& whole, const Plan& part, const Device& device, size_t memory_limit);

/// Whether a plan made with PlanRequest::by_bands would be another one.
bool has_bands(const Plan& plan);

// Parts of building, each in its own file.

/// A step's alternatives while layouts are chosen.
struct Candidate {
  Backend* backend;
  const Scheme* scheme;
  Estimate estimate;
};

/// Chooses one candidate for each step so that schemes and conversions together cost least (local search over the graph).
/// `wants_plain[v]`: something outside the plan reads value v. Result: an index into candidates[step].
std::vector<size_t> choose_candidates(const std::vector<std::vector<Candidate>>& candidates, const std::vector<Step>& steps,
                                      const std::vector<PlanValue>& values, const std::vector<bool>& wants_plain);

/// Decides which values lie in another one's memory (PlanValue::alias, alias_offset); the lifetimes of values that others lie in are
/// extended to theirs. Wants lifetimes of all values, and estimates of all steps.
void share_memory(const std::vector<Step>& steps, std::vector<PlanValue>& values);

/// Puts steps whose images between them are large in one, which computes them by bands of rows (Step::bands); those images then have no
/// memory of their own. Wants prepared kernels, and that no value has its place yet.
void join_bands(Plan& plan);

/// An interval of steps in which some bytes must stay in place.
struct MemoryItem {
  size_t bytes = 0;
  uint32_t first = 0, last = 0;
  size_t offset = 0;  // the result
};
/// Gives every item an offset so that items that live at the same time do not overlap; returns the bytes needed.
size_t plan_memory(std::span<MemoryItem> items);
/// Largest sum of bytes live at one step.
size_t memory_lower_bound(std::span<const MemoryItem> items);

}  // namespace minnow
