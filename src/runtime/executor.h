// SPDX-License-Identifier: Apache-2.0
// Runs one graph: finds or builds the plan for its inputs, runs the steps, continues after a cut, and runs subgraphs.
#pragma once
#include <minnow/minnow.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/plan_state.h"

namespace minnow {

/// State shared by a session's executors.
struct SessionContext {
  PlanEnvironment environment;
  std::function<void()> planned;  // called when a plan is complete; may be empty
  size_t memory_limit = 0;        // bytes that a run may hold; 0: the process's limit
  bool explain = false;           // keep how schemes are chosen, for reports
  int threads = 1;
  std::atomic<bool> cancelled{false};
  bool profiling = false, stamping = false;  // stamping: a run within this session has DeviceTimes
  uint64_t run_number = 0;                   // of the session's runs, for profiles
  std::chrono::steady_clock::time_point run_start;
  NodeCallback before, after;

  /// Sets the environment of all plans; graphs inside nodes run in this context too.
  void plan_with(const OperatorSet& operators, std::vector<std::shared_ptr<Backend>> backends, WeightStore& weights, size_t memory_limit);
};

class Executor {
 public:
  /// `wanted`: the values to compute; by default the graph's outputs and the next values of its states.
  Executor(const Graph& graph, SessionContext& session);
  ~Executor();

  /// The inputs of a run, in this order: the graph's inputs, its states, the values captured from outer graphs.
  const std::vector<const Value*>& live_ins() const noexcept { return live_ins_; }
  size_t wanted_count() const noexcept { return wanted_.size(); }

  /// Returns the memory for output k, whose shape is now known; null: the executor keeps the output until the next run. Called once per
  /// output and run, and again if the run is repeated.
  using Destination = FunctionRef<void*(size_t k, DType dtype, const Shape& shape)>;
  /// If the sums of a scheme overflow (RunContext::overflowed) although its inputs are finite, new plans exclude the scheme, the log hook
  /// gets the node's name, and the run is repeated.
  void run(std::span<const Slot* const> live_ins, Destination destination);
  /// Later runs hand these outputs over as HandedOver says, instead of keeping them; their destination should be null. `receive` is called
  /// once per output and run, on the thread that runs, and may throw.
  using Receive = std::function<void(size_t output, const TensorView& value)>;
  void hand_over(std::vector<HandedOver> outputs, Receive receive);
  /// In later runs all live-ins are tensors in the memory of that device, and outputs are written to such memory: `destination` then gives
  /// an address of the device's. `fixed_addresses`: the same ones in all runs of a shape, so that work with them is recorded as well.
  void keep_on(Backend& device, bool fixed_addresses = false);
  /// The same for the live-ins that `live_ins` marks, if they are no constants, and for the outputs from number `host_outputs` on. Runs
  /// then return while the device still computes; its finish() waits, and throws the faults that it found.
  void keep_some_on(Backend& device, std::vector<bool> live_ins, size_t host_outputs);
  /// Allows later runs to compute a large batch in parts, and large images some rows at a time.
  void allow_parts() noexcept { allows_parts_ = true; }
  /// The number of parts in the last run.
  int64_t parts() const noexcept;
  /// Output k of the last run: `view` for a tensor, else `datum`.
  const Slot& output(size_t k) const noexcept { return *output_slots_[k]; }

  /// Plans ahead from shapes, without data.
  void prepare(std::span<const ValueInfo> live_ins);
  /// The plans of the last run, in order.
  std::vector<const PlanState*> last_plans() const;
  /// The size of its arenas, including the arenas of subgraphs.
  size_t arena_bytes() const noexcept;

  /// For the executor of a subgraph: makes the profiles of its nodes part of the owner's profile.
  void profile_into(NodeProfile& owner, std::string_view attribute);
  /// Later runs make new plans.
  void forget_plans() noexcept;
  /// Frees the memory kept for the next run.
  void release() noexcept;

 private:
  struct Entry;
  struct Arena {
    AlignedMemory memory;
    size_t bytes = 0;
  };
  // How a run ended.
  enum class Status : uint8_t { done, overflowed };
  struct Outcome {
    Status status = Status::done;
    const PlanState* state = nullptr;  // where sums overflowed
    const Step* step = nullptr;
  };
  Outcome run_once(std::span<const Slot* const> live_ins, Destination destination);
  void avoid(const PlanState& state, const Step& step, bool all);
  Entry& find(std::vector<std::unique_ptr<Entry>>& cache, std::span<const Slot* const> live_ins, FunctionRef<PlanRequest()> request);
  Entry& add_plan(std::vector<std::unique_ptr<Entry>>& cache, std::span<const Slot* const> live_ins, FunctionRef<PlanRequest()> request);
  void set_up_parts(Entry& entry, size_t live_ins);
  Outcome run_parts(Entry& entry, std::span<const Slot* const> live_ins, Destination destination);
  void* keep(size_t output, size_t bytes);
  Tensor contents_of(const TensorView& live_in) const;
  void copy_output(const PlanValue& value, const TensorView& from, void* to) const;
  Outcome run_plan(Entry& entry, std::span<const Slot* const> live_ins, size_t depth, Destination destination);
  Outcome run_steps(PlanState& state);
  void run_recorded(PlanState& state, size_t number, RunContext& context);
  std::unique_ptr<Recording> record(PlanState& state, const RecordedSteps& range, RunContext& context);
  void add_profiles(Entry& entry);
  static size_t arena_bytes_within(const std::vector<std::unique_ptr<Entry>>& entries) noexcept;
  static void find_single_readers(Entry& entry);
  static void forget_results(Entry& entry) noexcept;
  static void release(std::vector<std::unique_ptr<Entry>>& entries) noexcept;
  PlanRequest first_request() const;
  /// If so, memory that plans for other shapes keep for their next run is freed, because it would count too.
  bool has_own_limit() const noexcept { return session_.memory_limit != 0; }
  size_t most_bytes() const noexcept;  // that a run may hold

  const Graph& graph_;
  SessionContext& session_;
  std::vector<const Value*> live_ins_, wanted_;
  std::vector<std::unique_ptr<Entry>> plans_;
  std::vector<Arena> arenas_;        // by depth of the cut
  std::vector<Arena> kept_outputs_;  // for outputs without a destination
  std::vector<const Slot*> output_slots_;
  std::vector<void*> output_memory_;
  std::vector<Entry*> last_;
  uint64_t clock_ = 0;
  bool allows_parts_ = false;
  Backend* memory_ = nullptr;  // of live-ins and outputs; null: the host's
  bool fixed_addresses_ = false;
  std::vector<bool> kept_live_ins_;  // keep_some_on(); empty: all are in memory_
  size_t host_outputs_ = 0;
  std::vector<HandedOver> handed_over_;
  Receive receive_;
  std::vector<bool> received_;
  NodeProfile* profile_owner_ = nullptr;
  std::string profile_attribute_;
};

/// A copy that shares no memory.
Datum copy_of(const Datum& datum);

}  // namespace minnow
