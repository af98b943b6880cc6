// SPDX-License-Identifier: Apache-2.0
// Pre-inference turns a graph and the shapes of its inputs into a Plan: the list of prepared kernels with the place of every value. A plan
// is immutable; the executor keeps the state of runs (runtime/plan_state.h).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "ops/operator.h"

namespace minnow {

class Plan;

inline constexpr uint32_t kNone = ~uint32_t{0};
inline constexpr size_t kNowhere = ~size_t{0};

/// Values that stand for others: inputs and results of decompositions.
using ValueAliases = std::unordered_map<const Value*, const Value*>;

/// The environment shared by all plans of a session.
struct PlanEnvironment {
  const OperatorSet* operators = nullptr;
  std::vector<std::shared_ptr<Backend>> backends;  // in order of preference; the last one serves every operator (reference)
  size_t wanted_backends = SIZE_MAX;               // the others, behind them, compute only what these cannot
  WeightStore* weights = nullptr;
  std::map<std::pair<std::string, std::string>, double> times;  // by node and scheme: in an estimate's place; infinite: not taken

  struct Row {
    Backend* backend;
    const Scheme* scheme;
    bool spare;  // of a backend that is not wanted
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
  bool contents_required = false;  // shapes depend on its contents, which are part of the plan's key
  Backend* memory = nullptr;       // in whose memory it lies; null: the host's
};

/// An output that is handed over during the run, as soon as it is computed and no later step reads live-in `after`, whose memory may change
/// then. It lies in the arena, where other values follow it.
struct HandedOver {
  size_t output;
  uint32_t after = kNone;
};

/// One value of a plan.
struct PlanValue {
  enum class Place : uint8_t { live_in, constant, arena, output, dynamic };
  const Value* value = nullptr;  // null for values made by the planner
  ValueInfo info;
  Place place = Place::arena;
  Layout layout = Layout::plain;
  Backend* memory = nullptr;     // in whose memory it lies; null: the host's
  size_t bytes = 0;              // in memory, in its layout
  size_t offset = kNowhere;      // in the arena
  uint32_t alias = kNone;        // shares the memory of that value: written in place, or a part of it
  size_t alias_offset = 0;       // where it begins there
  uint32_t first = 0, last = 0;  // steps between which it must stay
};

/// One kernel of a plan with its inputs and outputs.
struct Step {
  const Node* node = nullptr;
  const Operator* definition = nullptr;
  Backend* backend = nullptr;
  const Scheme* scheme = nullptr;
  Estimate estimate;
  double least_seconds = 0;  // the least of all schemes' estimates, whatever was chosen
  std::unique_ptr<Kernel> kernel;
  std::vector<uint32_t> inputs, outputs, captured;  // indices of values; kNone: absent
  // Not empty: for each input, how it lies in its value, and the value whose place it took (columns.cpp), which is what the node sees.
  std::vector<InputColumns> columns;
  std::vector<uint32_t> seen;
  size_t scratch_bytes = 0, scratch_offset = 0;
  double operations = 0;                // arithmetic operations of one run
  std::shared_ptr<const Graph> region;  // not null: the nodes that the kernel computes as one (backends/region.h)
  std::vector<Step> row_tiling;         // not empty: `kernel` runs the kernels of these steps, some rows at a time
};

/// Neighbouring steps of a backend that can record them.
struct RecordedSteps {
  uint32_t first, count;
};

/// The arena of a backend with memory of its own.
struct DeviceArena {
  Backend* backend;
  size_t bytes;
};

/// A name to report a node by: its own, or that of its first output.
std::string_view report_name(const Node& node);

/// How the scheme of a node was chosen, for reports.
struct SchemeChoice {
  struct Refusal {
    std::string_view scheme;
    std::string reason;  // the scheme's own, or its estimate
  };
  std::vector<Refusal> refusals;
  std::vector<std::pair<const Scheme*, double>> candidates;  // with their estimates
};
using SchemeChoices = std::unordered_map<const Node*, SchemeChoice>;

struct PlanRequest {
  std::vector<const Node*> nodes;  // in order
  std::vector<LiveIn> live_ins;
  std::vector<const Value*> outputs;      // the values to compute
  Backend* output_memory = nullptr;       // where they are wanted, if their shapes are known beforehand; null: in the host's memory
  size_t host_outputs = 0;                // the first so many are wanted in the host's memory all the same
  bool fixed_addresses = false;           // live-ins and outputs on a device lie at the same place in all runs
  std::shared_ptr<ValueAliases> aliases;  // of earlier segments; may be null
  /// A plan of the same nodes for other shapes: its schemes are taken again where they accept, without comparing; may be null.
  const Plan* like = nullptr;
  /// A large batch may be computed in parts (batch.cpp); row tiling may be used (row_tiling.cpp). Some values are then nowhere whole.
  bool may_split_batch = false, may_tile_rows = false;
  /// Callbacks see the values of the model's nodes: no others take their place (real_chains.cpp, columns.cpp, sharing.cpp).
  bool observed = false;
  std::vector<HandedOver> handed_over;  // outputs
  size_t memory_limit = SIZE_MAX;       // bytes of the arena, by which a batch is split; the plan may need more
  /// Contents of a live-in if they can be read now (while a run waits for its plan), else null data.
  std::function<TensorView(size_t live_in)> contents;
  /// Where not null: how the scheme of every node was chosen.
  SchemeChoices* choices = nullptr;
};

/// The parts of a plan, which the phases of planning fill in (draft.h).
struct PlanParts {
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<LiveIn> live_ins;  // the first values
  std::vector<const Value*> wanted, export_values;
  std::vector<uint32_t> outputs, exports;
  Backend* output_memory = nullptr;
  size_t host_outputs = 0;
  bool fixed_addresses = false;
  std::vector<const Node*> remaining;
  std::shared_ptr<ValueAliases> aliases;
  std::vector<std::unique_ptr<Graph>> graphs;        // decompositions, and the nodes of conversions
  std::vector<HandedOver> handed_over;               // as the request says
  std::vector<std::pair<uint32_t, size_t>> handing;  // steps, in order, and the outputs that are handed over behind them
  size_t arena_bytes = 0, arena_lower_bound = 0;     // of the host's memory
  std::vector<DeviceArena> device_arenas;
  std::vector<RecordedSteps> recorded;  // in order
  int64_t batch_parts = 1;
  bool observed = false;  // as the request says
  bool tiles_rows = false, has_real_chains = false, reads_columns = false, shares_views = false;
};

class Plan {
 public:
  /// Throws InvalidModel, Unsupported. The caller checks whether the arena fits into the memory limit.
  static std::shared_ptr<const Plan> build(const PlanEnvironment& environment, const PlanRequest& request);

  size_t arena_bytes() const noexcept { return parts_.arena_bytes; }
  /// The arenas of backends that have memory of their own.
  const std::vector<DeviceArena>& device_arenas() const noexcept { return parts_.device_arenas; }
  const std::vector<RecordedSteps>& recorded() const noexcept { return parts_.recorded; }
  /// The largest sum of bytes that are live at one step: no arrangement can be smaller.
  size_t arena_lower_bound() const noexcept { return parts_.arena_lower_bound; }
  const std::vector<Step>& steps() const noexcept { return parts_.steps; }
  const std::vector<PlanValue>& values() const noexcept { return parts_.values; }
  const std::vector<LiveIn>& live_ins() const noexcept { return parts_.live_ins; }
  /// The plan computes one of this many parts of the batch.
  int64_t batch_parts() const noexcept { return parts_.batch_parts; }
  /// Whether some images are computed in tiles and never exist as a whole.
  bool tiles_rows() const noexcept { return parts_.tiles_rows; }
  bool has_real_chains() const noexcept { return parts_.has_real_chains; }
  /// Whether steps read columns of values where the graph has slices.
  bool reads_columns() const noexcept { return parts_.reads_columns; }
  /// Whether views lie in the memory of values that are read later.
  bool shares_views() const noexcept { return parts_.shares_views; }

  /// The value of each wanted output; kNone if it is computed after the cut.
  const std::vector<uint32_t>& outputs() const noexcept { return parts_.outputs; }
  /// True if outputs()[i] should be written to memory that the caller chooses before the run.
  bool writes_output(size_t i) const noexcept {
    const uint32_t v = outputs()[i];
    return v != kNone && values()[v].place == PlanValue::Place::output;
  }

  /// Steps, in order, and the outputs that are handed over behind them. None in a plan with a cut.
  const std::vector<std::pair<uint32_t, size_t>>& handing() const noexcept { return parts_.handing; }

  /// Whether nodes remain to be planned after this plan has run.
  bool is_cut() const noexcept { return !parts_.remaining.empty(); }
  /// A request for the remaining nodes; the shapes of live-ins come from the slots after the run.
  PlanRequest continuation(std::span<const Slot> slots) const;
  /// The value of this plan behind live-in i of a continuation.
  const std::vector<uint32_t>& exports() const noexcept { return parts_.exports; }

 private:
  explicit Plan(PlanParts parts) : parts_(std::move(parts)) {}
  const PlanParts parts_;
};

}  // namespace minnow
