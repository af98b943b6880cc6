// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>

#include "base/log.h"
#include "base/watch.h"
#include "runtime/device_loop.h"
#include "runtime/device_times.h"
#include "runtime/node_event.h"
#include "runtime/profile.h"

namespace minnow {
namespace {

constexpr size_t kMostPlans = 16;
// A run is repeated so often for one layer each; then no layer of the plan keeps the scheme that overflowed last.
constexpr int kMostRepeats = 8;
// The number of inputs that a step multiplies: data, weights, and addends or an attention's values. Other inputs may well be infinite.
constexpr size_t kMultiplied = 3;

// False if the step was given infinite or NaN values, which no scheme could sum. Inputs that the step has overwritten are not checked.
bool has_finite_inputs(PlanState& state, size_t number) {
  const ChargeTo nobody;
  const StepEvent event(state, number, StepEvent::Moment::before);
  const StepState& step = state.steps()[number];
  const auto bytes = [](const Slot& slot) { return static_cast<const char*>(slot.view.data()); };
  for (size_t i = 0; i < std::min(kMultiplied, step.inputs.size()); ++i) {
    const Slot* const slot = step.inputs[i];
    if (!slot || slot->view.dtype() != DType::f32 || !slot->view.data()) continue;  // no data: packed beforehand
    if (std::any_of(step.outputs.begin(), step.outputs.end(), [&](const Slot* output) {
          return output && bytes(*slot) < bytes(*output) + output->view.bytes() && bytes(*output) < bytes(*slot) + slot->view.bytes();
        }))
      continue;
    const Tensor x = event.input(i);
    if (!std::all_of(x.data<float>(), x.data<float>() + x.elements(), [](float value) { return std::isfinite(value); })) return false;
  }
  return true;
}

ValueInfo info_of(const Value& value, const Slot& slot) {
  ValueInfo info;
  info.kind = value.type.kind == ValueType::Kind::sequence   ? ValueInfo::Kind::sequence
              : value.type.kind == ValueType::Kind::optional ? ValueInfo::Kind::optional
                                                             : ValueInfo::Kind::tensor;
  if (info.kind == ValueInfo::Kind::tensor) {
    info.dtype = slot.view.dtype();
    info.shape = slot.view.shape();
  } else {
    info.dtype = value.type.element_dtype();
    if (value.type.element && value.type.element->kind == ValueType::Kind::sequence) info.element = ValueInfo::Kind::sequence;
  }
  return info;
}

}  // namespace

// The cold functions here build plans and report them; hot runs only look plans up.
struct Executor::Entry {
  Entry(std::shared_ptr<const Plan> plan, MakeSubgraphRunner make_subgraph_runner) : state(std::move(plan), make_subgraph_runner) {}
  const Plan& plan() const noexcept { return state.plan(); }
  PlanState state;
  std::vector<std::unique_ptr<Entry>> continuations;
  std::vector<const Slot*> export_slots;
  std::vector<Slot*> dynamic_slots;                    // of values that the plan gave no memory
  std::vector<std::unique_ptr<NodeProfile>> profiles;  // of the steps of a model's own graph
  bool profiled = false;                               // every step has a profile
  std::vector<Slot> part_inputs, whole_outputs;        // where the plan is for a part of the batch
  std::vector<const Slot*> part_live_ins;
  uint64_t last_used = 0;
};

// The subgraphs of one control-flow step.
namespace {

class Subgraphs final : public SubgraphRunner {
 public:
  [[gnu::cold]] Subgraphs(const Node& node, std::span<Slot* const> captured, SessionContext& session) {
    if constexpr (kHasDevices) loop_ = DeviceLoop::make(node, captured, session);
    size_t next = 0;
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) {
        const size_t count = captured_values(**subgraph).size();
        parts_.push_back({name, subgraph->get(), std::make_unique<Executor>(**subgraph, session), captured.subspan(next, count)});
        next += count;
      }
  }

  std::vector<Datum> run(std::string_view attribute, std::span<const Datum> inputs) override {
    for (Part& part : parts_) {
      if (part.attribute != attribute) continue;
      if (inputs.size() != part.graph->inputs().size())
        throw InvalidModel("the graph \"{}\" takes {} inputs, {} were given", attribute, part.graph->inputs().size(), inputs.size());
      Watch::check();  // the body may have no nodes
      std::vector<Slot> slots(inputs.size());
      std::vector<const Slot*> live_ins;
      for (size_t i = 0; i < inputs.size(); ++i) {
        slots[i].datum = inputs[i];
        if (inputs[i].kind == Datum::Kind::tensor) slots[i].view = inputs[i].tensor.view();
        live_ins.push_back(&slots[i]);
      }
      for (const Slot* slot : part.captured) live_ins.push_back(slot);
      std::vector<Tensor> outputs(part.executor->wanted_count());
      part.executor->run(live_ins, [&](size_t k, DType dtype, const Shape& shape) -> void* {
        outputs[k] = Tensor(dtype, shape);
        return const_cast<void*>(outputs[k].data());
      });
      std::vector<Datum> results;
      for (size_t k = 0; k < outputs.size(); ++k)
        results.push_back(outputs[k] ? Datum(std::move(outputs[k])) : part.executor->output(k).datum);
      return results;
    }
    throw InternalError("the node has no graph \"{}\"", attribute);
  }

  /// Null: the step is no loop whose states stay on a device.
  DeviceLoop* loop() const noexcept { return loop_.get(); }

  [[gnu::cold]] void profile_into(NodeProfile& owner) {
    if (kHasDevices && loop_) loop_->executor().profile_into(owner, "body");
    for (Part& part : parts_) part.executor->profile_into(owner, part.attribute);
  }
  void release() noexcept {
    if (kHasDevices && loop_) loop_->release();
    for (Part& part : parts_) part.executor->release();
  }
  size_t arena_bytes() const noexcept {
    size_t bytes = 0;
    for (const Part& part : parts_) bytes += part.executor->arena_bytes();
    if (kHasDevices && loop_) bytes += loop_->executor().arena_bytes();
    return bytes;
  }

 private:
  struct Part {
    std::string attribute;
    const Graph* graph;
    std::unique_ptr<Executor> executor;
    std::span<Slot* const> captured;
  };
  std::vector<Part> parts_;
  std::unique_ptr<DeviceLoop> loop_;
};

void run_kernel(const Plan& plan, const Step& step, const StepState& own, RunContext& context) {
  if (kHasDevices && own.subgraphs)
    if (DeviceLoop* const loop = static_cast<Subgraphs&>(*own.subgraphs).loop(); loop && loop->run(plan, step, context)) return;
  step.kernel->run(context);
}

}  // namespace

[[gnu::cold]] void SessionContext::plan_with(const OperatorSet& operators, std::vector<std::shared_ptr<Backend>> backends,
                                             WeightStore& weights, size_t memory_limit) {
  environment.operators = &operators;
  environment.backends = std::move(backends);
  environment.weights = &weights;
  this->memory_limit = memory_limit;
  environment.index_schemes();
}

[[gnu::cold]] Datum copy_of(const Datum& datum) {
  Datum copy = datum;
  if (datum.kind == Datum::Kind::tensor) copy.tensor = datum.tensor.clone();
  for (Datum& item : copy.items) item = copy_of(item);
  return copy;
}

[[gnu::cold]] Executor::Executor(const Graph& graph, SessionContext& session) : graph_(graph), session_(session) {
  for (const auto& input : graph.inputs()) live_ins_.push_back(input.get());
  for (const State& state : graph.states()) live_ins_.push_back(state.current);
  for (const Value* value : captured_values(graph)) live_ins_.push_back(value);
  for (const Value* output : graph.outputs()) wanted_.push_back(output);
  for (const State& state : graph.states()) wanted_.push_back(state.next);
  kept_outputs_.resize(wanted_.size());
  output_slots_.resize(wanted_.size());
  output_memory_.resize(wanted_.size());
}

[[gnu::cold]] Executor::~Executor() = default;

[[gnu::cold]] PlanRequest Executor::first_request() const {
  PlanRequest request;
  for (const Node& node : graph_.nodes()) request.nodes.push_back(&node);
  for (const Value* value : live_ins_) {
    LiveIn live_in;
    live_in.value = value;
    if (const Tensor* constant = value->constant()) {  // captured: known for good, so that weights can be packed
      live_in.info.dtype = constant->dtype();
      live_in.info.shape = constant->shape();
      live_in.info.contents = *constant;
    }
    const size_t i = request.live_ins.size();
    if (kept_live_ins_.empty() || (kept_live_ins_[i] && !live_in.info.contents)) live_in.memory = memory_;
    request.live_ins.push_back(std::move(live_in));
  }
  request.outputs = wanted_;
  request.output_memory = memory_;
  request.host_outputs = host_outputs_;
  request.fixed_addresses = fixed_addresses_;
  request.handed_over = handed_over_;
  return request;
}

[[gnu::cold]] void Executor::hand_over(std::vector<HandedOver> outputs, Receive receive) {
  handed_over_ = std::move(outputs);
  receive_ = std::move(receive);
  received_.resize(wanted_.size());
  forget_plans();
}

Executor::Entry& Executor::find(std::vector<std::unique_ptr<Entry>>& cache, std::span<const Slot* const> live_ins,
                                FunctionRef<PlanRequest()> make) {
  const bool observed = session_.before || session_.after;  // callbacks see whole values
  const auto fits = [&](const Entry& entry) {
    const Plan& plan = entry.plan();
    if (((plan.batch_parts() > 1 || plan.has_real_chains() || plan.reads_columns() || plan.shares_views()) && observed) ||
        (plan.tiles_rows() && (observed || session_.profiling)))
      return false;
    for (size_t i = 0; i < live_ins.size(); ++i) {
      const LiveIn& wanted = plan.live_ins()[i];
      if (wanted.info.kind != ValueInfo::Kind::tensor) continue;
      const TensorView& view = live_ins[i]->view;
      if (view.dtype() != wanted.info.dtype || view.rank() != wanted.info.shape.rank()) return false;
      for (size_t axis = 0; axis < view.rank(); ++axis)
        if (view.dim(axis) != wanted.info.shape[axis] * (axis == 0 ? plan.batch_parts() : 1)) return false;
      if (wanted.contents_required) {
        const Tensor& contents = plan.values()[i].info.contents;
        const bool on_device = kHasDevices && wanted.memory;
        const Tensor copy = on_device ? contents_of(view) : Tensor();
        if (const size_t bytes = contents.bytes(); bytes && std::memcmp(contents.data(), on_device ? copy.data() : view.data(), bytes) != 0)
          return false;
      }
    }
    return true;
  };
  for (const auto& entry : cache)
    if (fits(*entry)) {
      entry->last_used = ++clock_;
      return *entry;
    }
  return add_plan(cache, live_ins, make);
}

[[gnu::cold]] Executor::Entry& Executor::add_plan(std::vector<std::unique_ptr<Entry>>& cache, std::span<const Slot* const> live_ins,
                                                  FunctionRef<PlanRequest()> make) {
  const bool observed = session_.before || session_.after;
  if (&cache == &plans_ && has_own_limit()) release();
  PlanRequest request = make();
  // The plans after a cut depend on shapes that data decide, so they are built often: reuse the schemes of an earlier plan.
  if (&cache != &plans_ && !cache.empty()) request.like = &cache.back()->plan();
  for (size_t i = 0; i < live_ins.size(); ++i) {
    const ValueInfo info = info_of(*request.live_ins[i].value, *live_ins[i]);
    ValueInfo& wanted = request.live_ins[i].info;
    if (!wanted.contents && wanted.kind == ValueInfo::Kind::tensor) {
      if (wanted.dtype == DType::undefined) wanted.kind = info.kind, wanted.element = info.element;
      wanted.dtype = info.dtype;
      wanted.shape = info.shape;
    }
  }
  std::vector<Tensor> copies(live_ins.size());
  request.contents = [&](size_t i) -> TensorView {
    if (!kHasDevices || !request.live_ins[i].memory) return live_ins[i]->view;
    if (!copies[i] && live_ins[i]->view.data()) copies[i] = contents_of(live_ins[i]->view);
    return copies[i] ? copies[i].view() : TensorView(live_ins[i]->view.dtype(), live_ins[i]->view.shape(), nullptr);
  };
  const Watch::Whole whole;  // packed weights are kept for all runs
  SchemeChoices choices;
  if (session_.explain) request.choices = &choices;
  request.memory_limit = most_bytes();
  request.observed = observed;
  if (allows_parts_ && &cache == &plans_ && !observed) request.may_split_batch = true, request.may_tile_rows = !session_.profiling;
  std::shared_ptr<const Plan> plan = Plan::build(session_.environment, request);
  if (plan->arena_bytes() > request.memory_limit)
    throw out_of_memory("{} bytes are needed for the values between operators, the memory limit is {}", plan->arena_bytes(),
                        request.memory_limit);
  auto entry =
      std::make_unique<Entry>(std::move(plan), [&](const Node& node, std::span<Slot* const> captured) -> std::unique_ptr<SubgraphRunner> {
        return std::make_unique<Subgraphs>(node, captured, session_);
      });
  entry->state.choices = std::move(choices);
  entry->state.allocate_device_arenas();
  if (entry->plan().batch_parts() > 1) set_up_parts(*entry, live_ins.size());
  if (session_.planned) session_.planned();
  std::vector<Slot>& slots = entry->state.slots();
  for (uint32_t v : entry->plan().exports()) entry->export_slots.push_back(&slots[v]);
  for (uint32_t v = 0; v < slots.size(); ++v)
    if (const PlanValue& value = entry->plan().values()[v];
        value.place == PlanValue::Place::dynamic || value.info.extent == ValueInfo::Extent::upper_bound)
      entry->dynamic_slots.push_back(&slots[v]);
  find_single_readers(*entry);
  entry->last_used = ++clock_;
  if (cache.size() >= kMostPlans) {
    if (kHasDevices && !kept_live_ins_.empty()) memory_->finish();  // a plan goes, with memory that kernels may use
    cache.erase(std::min_element(cache.begin(), cache.end(), [](const auto& a, const auto& b) { return a->last_used < b->last_used; }));
  }
  cache.push_back(std::move(entry));
  return *cache.back();
}

// Sequences and optionals that one step reads and nobody else: that step need not copy them.
void Executor::find_single_readers(Entry& entry) {
  const Plan& plan = entry.plan();
  std::vector<uint32_t> readers(plan.values().size());
  for (const Step& step : plan.steps()) {
    for (const std::vector<uint32_t>* values : {&step.inputs, &step.captured})
      for (const uint32_t v : *values)
        if (v != kNone) readers[v] += values == &step.captured ? 2 : 1;
  }
  for (const std::vector<uint32_t>* values : {&plan.exports(), &plan.outputs()})
    for (const uint32_t v : *values)
      if (v != kNone) readers[v] += 2;
  for (const PlanValue& value : plan.values())
    if (value.alias != kNone) readers[value.alias] += 2;
  for (uint32_t v = 0; v < readers.size(); ++v) {
    const PlanValue& value = plan.values()[v];
    if (readers[v] == 1 && value.place == PlanValue::Place::dynamic && value.info.kind != ValueInfo::Kind::tensor)
      entry.state.slots()[v].capacity = 1;
  }
}

size_t Executor::most_bytes() const noexcept { return has_own_limit() ? session_.memory_limit : memory_limit(); }

// Makes room for the slots of a plan that computes a part of the batch.
[[gnu::cold]] void Executor::set_up_parts(Entry& entry, size_t live_ins) {
  entry.part_inputs.resize(live_ins);
  for (const Slot& slot : entry.part_inputs) entry.part_live_ins.push_back(&slot);
  entry.whole_outputs.resize(wanted_.size());
}

int64_t Executor::parts() const noexcept { return last_.empty() ? 1 : last_.front()->plan().batch_parts(); }

void Executor::forget_results(Entry& entry) noexcept {
  for (Slot* slot : entry.dynamic_slots) slot->datum = {};
}

void Executor::release(std::vector<std::unique_ptr<Entry>>& entries) noexcept {
  for (const auto& entry : entries) {
    forget_results(*entry);
    for (StepState& step : entry->state.steps())
      if (step.subgraphs) static_cast<Subgraphs&>(*step.subgraphs).release();
    release(entry->continuations);
  }
}

void Executor::release() noexcept {
  release(plans_);
  for (std::vector<Arena>* arenas : {&arenas_, &kept_outputs_})
    for (Arena& arena : *arenas) arena = {};
}

void Executor::forget_plans() noexcept {
  last_.clear();
  plans_.clear();
}

void Executor::profile_into(NodeProfile& owner, std::string_view attribute) {
  profile_owner_ = &owner;
  profile_attribute_ = attribute;
}

// Connects every step of a plan to the profile that collects its times.
[[gnu::cold]] void Executor::add_profiles(Entry& entry) {
  for (size_t s = 0; s < entry.plan().steps().size(); ++s) {
    const Step& step = entry.plan().steps()[s];
    StepState& state = entry.state.steps()[s];
    if (profile_owner_) {
      state.profile = &profile_owner_->inner_profile(entry.plan(), step, profile_attribute_);
    } else {
      entry.profiles.push_back(std::make_unique<NodeProfile>());
      state.profile = entry.profiles.back().get();
      state.profile->row.node = report_name(*step.node);
    }
    if (state.subgraphs) static_cast<Subgraphs&>(*state.subgraphs).profile_into(*state.profile);
  }
  entry.profiled = true;
}

void Executor::run(std::span<const Slot* const> live_ins, Destination destination) {
  for (int repeats = 0;; ++repeats) {
    const Outcome outcome = run_once(live_ins, destination);
    if (outcome.status == Status::done) return;
    avoid(*outcome.state, *outcome.step, repeats >= kMostRepeats);
  }
}

// No plan takes the step's scheme for its node any more; with `all`, for any node that the plan has taken it for.
[[gnu::cold]] void Executor::avoid(const PlanState& state, const Step& step, bool all) {
  const ChargeTo nobody;
  size_t others = 0;
  for (const Step& each : state.plan().steps()) {
    if (&each != &step && (!all || each.scheme != step.scheme)) continue;
    others += &each != &step;
    session_.environment.times[{std::string(report_name(*each.node)), std::string(each.scheme->name)}] =
        std::numeric_limits<double>::infinity();
  }
  log("{}: its sums overflow in scheme {}: it is computed without it from now on{}", step.node->where(), step.scheme->name,
      others ? format(", and {} other nodes as well", others) : std::string());
  forget_plans();
}

Executor::Outcome Executor::run_once(std::span<const Slot* const> live_ins, Destination destination) {
  for (Entry* entry : last_) forget_results(*entry);
  const Entry* const before = last_.empty() ? nullptr : last_.front();
  last_.clear();
  std::fill(output_slots_.begin(), output_slots_.end(), nullptr);
  std::fill(output_memory_.begin(), output_memory_.end(), nullptr);
  std::fill(received_.begin(), received_.end(), false);
  Entry& entry = find(plans_, live_ins, [&] { return first_request(); });
  if (before && before != &entry && has_own_limit()) release();
  const Outcome outcome =
      entry.plan().batch_parts() > 1 ? run_parts(entry, live_ins, destination) : run_plan(entry, live_ins, 0, destination);
  if (outcome.status == Status::done)
    for (size_t k = 0; k < wanted_.size(); ++k) MINNOW_CHECK(output_slots_[k], "every output is computed");
  if (outcome.status == Status::done)
    for (const HandedOver& each : handed_over_)
      if (!received_[each.output]) receive_(each.output, output_slots_[each.output]->view);
  return outcome;
}

[[gnu::cold]] void Executor::keep_on(Backend& device, bool fixed_addresses) {
  memory_ = &device;
  fixed_addresses_ = fixed_addresses;
  forget_plans();
}

[[gnu::cold]] void Executor::keep_some_on(Backend& device, std::vector<bool> live_ins, size_t host_outputs) {
  kept_live_ins_ = std::move(live_ins);
  host_outputs_ = host_outputs;
  keep_on(device);
}

// A copy of a live-in that lies on a device.
[[gnu::cold]] Tensor Executor::contents_of(const TensorView& live_in) const {
  Tensor copy(live_in.dtype(), live_in.shape());
  memory_->copy_to_host(const_cast<void*>(copy.data()), live_in.data(), live_in.bytes());
  return copy;
}

void Executor::copy_output(const PlanValue& value, const TensorView& from, void* to) const {
  const size_t bytes = from.bytes();
  if (bytes == 0) return;
  if (!kHasDevices || !memory_) {
    std::memcpy(to, from.data(), bytes);
  } else if (!value.memory) {
    memory_->copy_from_host(to, from.data(), bytes);
  } else {
    const Tensor host = contents_of(from);  // seldom: an output that is an input, or another output
    memory_->copy_from_host(to, host.data(), bytes);
  }
}

void* Executor::keep(size_t output, size_t bytes) {
  Arena& kept = kept_outputs_[output];
  if (!kept.memory || kept.bytes < bytes) {
    kept.memory = allocate_aligned(bytes);
    kept.bytes = std::max(bytes, kAlignment);
  }
  return kept.memory.get();
}

Executor::Outcome Executor::run_parts(Entry& entry, std::span<const Slot* const> live_ins, Destination destination) {
  const Plan& plan = entry.plan();
  const int64_t parts = plan.batch_parts();
  for (size_t k = 0; k < wanted_.size(); ++k) {
    const ValueInfo& info = plan.values()[plan.outputs()[k]].info;
    Shape shape = info.shape;
    shape[0] *= parts;
    TensorView& whole = entry.whole_outputs[k].view;
    void* memory = destination(k, info.dtype, shape);
    whole = TensorView(info.dtype, shape, memory ? memory : keep(k, static_cast<size_t>(shape.elements()) * size_of(info.dtype)));
  }
  const auto part_of = [&](const TensorView& whole, int64_t part) {
    return static_cast<const std::byte*>(whole.data()) + whole.bytes() / static_cast<size_t>(parts) * static_cast<size_t>(part);
  };
  for (int64_t part = 0; part < parts; ++part) {
    for (size_t i = 0; i < live_ins.size(); ++i)
      entry.part_inputs[i].view = TensorView(live_ins[i]->view.dtype(), plan.live_ins()[i].info.shape, part_of(live_ins[i]->view, part));
    last_.clear();
    std::fill(output_slots_.begin(), output_slots_.end(), nullptr);
    const Outcome outcome = run_plan(entry, entry.part_live_ins, 0, [&](size_t k, DType, const Shape&) -> void* {
      return const_cast<std::byte*>(part_of(entry.whole_outputs[k].view, part));
    });
    if (outcome.status != Status::done) return outcome;
  }
  for (size_t k = 0; k < wanted_.size(); ++k) {
    output_slots_[k] = &entry.whole_outputs[k];
    output_memory_[k] = const_cast<void*>(entry.whole_outputs[k].view.data());
  }
  return {};
}

Executor::Outcome Executor::run_plan(Entry& entry, std::span<const Slot* const> live_ins, size_t depth, Destination destination) {
  PlanState& state = entry.state;
  const Plan& plan = state.plan();
  last_.push_back(&entry);
  if (arenas_.size() <= depth) arenas_.resize(depth + 1);
  Arena& arena = arenas_[depth];
  if (!arena.memory || arena.bytes < plan.arena_bytes()) {
    arena = {};
    arena.memory = allocate_aligned(plan.arena_bytes());
    arena.bytes = std::max(plan.arena_bytes(), kAlignment);
  }
  std::byte* base = static_cast<std::byte*>(arena.memory.get());
  if (state.bound_arena() != base) state.bind(base);
  for (size_t i = 0; i < live_ins.size(); ++i) {
    Slot& slot = state.slots()[i];
    slot.view = live_ins[i]->view;
    if (plan.values()[i].info.kind != ValueInfo::Kind::tensor) slot.datum = live_ins[i]->datum;
  }
  const auto is_new = [&](size_t k) { return plan.outputs()[k] != kNone && !output_slots_[k]; };
  for (size_t k = 0; k < wanted_.size(); ++k) {
    if (!is_new(k) || !plan.writes_output(k)) continue;
    const PlanValue& value = plan.values()[plan.outputs()[k]];
    void* memory = destination(k, value.info.dtype, value.info.shape);
    output_memory_[k] = memory ? memory : keep(k, value.bytes);
    state.point_output(k, output_memory_[k]);
  }
  if (session_.profiling && !entry.profiled) add_profiles(entry);
  if (const Outcome outcome = run_steps(state); outcome.status != Status::done) return outcome;
  for (size_t k = 0; k < wanted_.size(); ++k) {
    if (!is_new(k)) continue;
    const uint32_t v = plan.outputs()[k];
    Slot& slot = state.slots()[v];
    output_slots_[k] = &slot;
    if (plan.values()[v].info.kind != ValueInfo::Kind::tensor || (!received_.empty() && received_[k])) continue;
    if (!plan.writes_output(k)) output_memory_[k] = destination(k, slot.view.dtype(), slot.view.shape());
    // Not written in place: shared with another output, an input, a constant, or of a shape that only the run told.
    if (output_memory_[k] && output_memory_[k] != slot.view.data()) copy_output(plan.values()[v], slot.view, output_memory_[k]);
  }
  if (!plan.is_cut()) return {};
  Entry& next = find(entry.continuations, entry.export_slots, [&] { return plan.continuation(state.slots()); });
  return run_plan(next, entry.export_slots, depth + 1, destination);
}

using Clock = std::chrono::steady_clock;

namespace {

void throw_failure(const RunContext& context) {
  if (!context.has_failed()) return;
  if (context.thrown) std::rethrow_exception(context.thrown);
  throw InvalidArgument("{}", context.failure);
}

}  // namespace

Executor::Outcome Executor::run_steps(PlanState& state) {
  RunContext context;
  Watch* const watch = Watch::current();
  const Watch::Interruptible may_stop;
  const std::vector<Step>& steps = state.plan().steps();
  auto recorded = state.plan().recorded().begin();
  const auto recorded_end = state.plan().recorded().end();
  std::optional<DeviceTimes> device_times;
  if (kHasDevices && session_.profiling && !session_.stamping && !state.plan().device_arenas().empty())
    device_times.emplace(state.plan(), session_.stamping);
  auto handing = state.plan().handing().begin();
  const auto handing_end = state.plan().handing().end();
  for (size_t number = 0; number < steps.size(); ++number) {
    const Step& step = steps[number];
    StepState& own = state.steps()[number];
    if (kHasDevices && recorded != recorded_end && recorded->first == number && !session_.profiling && !session_.before &&
        !session_.after) {
      run_recorded(state, static_cast<size_t>(recorded - state.plan().recorded().begin()), context);
      number += recorded->count - 1;
      ++recorded;
      continue;
    }
    Backend* const device = memory_of(*step.backend);
    const bool trying = !device && session_.threads > 1 && own.trial.begin(number);
    context.threads = own.trial.threads(session_.threads);
    if (watch && (watch->should_stop_before_node() || session_.cancelled.load(std::memory_order_relaxed)))
      watch->stop(" before " + step.node->where());
    std::optional<StepEvent> before;  // lives until the step has run, because it holds replaced inputs
    if (session_.before) {
      const ChargeTo nobody;
      before.emplace(state, number, StepEvent::Moment::before);
      if (!session_.before(*before)) throw Cancelled("a callback stopped the run before {}", step.node->where());
    }
    context.inputs = own.inputs;
    context.outputs = own.outputs;
    context.scratch = state.scratch_of(step);
    context.subgraphs = own.subgraphs.get();
    if (kHasDevices && device_times && device_times->run(number, step, context)) {
      // its time comes from the device
    } else if (session_.profiling || trying) {
      if (device) device->finish();
      const Clock::time_point start = Clock::now();
      run_kernel(state.plan(), step, own, context);
      if (device) device->finish();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (trying) own.trial.note(seconds, session_.threads);
      if (session_.profiling)
        own.profile->add(session_.run_number, step, std::chrono::duration<double>(start - session_.run_start).count(), seconds,
                         context.threads);
    } else {
      run_kernel(state.plan(), step, own, context);
    }
    if (watch && watch->reason() != Watch::Reason::none) watch->stop(" in " + step.node->where());
    throw_failure(context);
    if (context.overflowed.load(std::memory_order_relaxed)) [[unlikely]] {
      if (has_finite_inputs(state, number)) return {Status::overflowed, &state, &step};
      context.overflowed.store(false, std::memory_order_relaxed);
    }
    if (session_.after) {
      const ChargeTo nobody;
      StepEvent event(state, number, StepEvent::Moment::after);
      if (!session_.after(event)) throw Cancelled("a callback stopped the run after {}", step.node->where());
    }
    for (; handing != handing_end && handing->first == number; ++handing) {
      const size_t output = handing->second;
      receive_(output, state.slots()[state.plan().outputs()[output]].view);
      received_[output] = true;
    }
  }
  if (kHasDevices && (kept_live_ins_.empty() || device_times)) {
    for (const DeviceArena& arena : state.plan().device_arenas()) arena.backend->finish();
    if (memory_) memory_->finish();
  }
  if (device_times)
    device_times->report([&](size_t number, Clock::time_point begin, double seconds) {
      state.steps()[number].profile->add(session_.run_number, steps[number],
                                         std::chrono::duration<double>(begin - session_.run_start).count(), seconds, 1);
    });
  return {};
}

// Runs neighbouring steps of a device as one piece of work, which the first run records.
void Executor::run_recorded(PlanState& state, size_t number, RunContext& context) {
  const RecordedSteps& range = state.plan().recorded()[number];
  std::unique_ptr<Recording>& recording = state.recordings()[number];
  if (!recording) recording = record(state, range, context);
  recording->enqueue(context);
  throw_failure(context);
}

[[gnu::cold]] std::unique_ptr<Recording> Executor::record(PlanState& state, const RecordedSteps& range, RunContext& context) {
  Backend& backend = *state.plan().steps()[range.first].backend;
  backend.begin_recording();
  for (uint32_t s = range.first; s < range.first + range.count; ++s) {
    context.inputs = state.steps()[s].inputs;
    context.outputs = state.steps()[s].outputs;
    context.scratch = state.scratch_of(state.plan().steps()[s]);
    state.plan().steps()[s].kernel->run(context);
  }
  std::unique_ptr<Recording> recording = backend.end_recording();
  throw_failure(context);
  return recording;
}

[[gnu::cold]] void Executor::prepare(std::span<const ValueInfo> live_ins) {
  std::vector<Slot> slots(live_ins.size());
  std::vector<const Slot*> pointers;
  for (size_t i = 0; i < live_ins.size(); ++i) {
    slots[i].view = TensorView(live_ins[i].dtype, live_ins[i].shape, nullptr);
    pointers.push_back(&slots[i]);
  }
  last_.clear();
  last_.push_back(&find(plans_, pointers, [&] { return first_request(); }));
}

[[gnu::cold]] std::vector<const PlanState*> Executor::last_plans() const {
  std::vector<const PlanState*> plans;
  for (const Entry* entry : last_) plans.push_back(&entry->state);
  return plans;
}

size_t Executor::arena_bytes() const noexcept {
  size_t bytes = arena_bytes_within(plans_);
  for (const Arena& arena : arenas_) bytes += arena.bytes;
  return bytes;
}

size_t Executor::arena_bytes_within(const std::vector<std::unique_ptr<Entry>>& entries) noexcept {
  size_t bytes = 0;
  for (const auto& entry : entries) {
    for (const StepState& step : entry->state.steps())
      if (step.subgraphs) bytes += static_cast<const Subgraphs&>(*step.subgraphs).arena_bytes();
    bytes += arena_bytes_within(entry->continuations);
  }
  return bytes;
}

}  // namespace minnow
