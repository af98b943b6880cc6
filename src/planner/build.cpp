// SPDX-License-Identifier: Apache-2.0
// Building a plan: the phases in their order.
#include "planner/custom_schemes.h"
#include "planner/draft.h"

namespace minnow {
namespace {

// All that is decided without kernels: schemes, layouts, the order of steps, lifetimes.
std::unique_ptr<Draft> make_draft(const PlanEnvironment& environment, const PlanRequest& request) {
  auto draft = std::make_unique<Draft>(environment);
  add_steps(environment, request, *draft);
  remove_unneeded_steps(*draft);
#if !MINNOW_SMALL
  take_real_chains(environment, request, draft);
#endif
  if constexpr (kHasDevices) claim_regions(environment, *draft);
  settle_schemes(environment, *draft, request.choices);
  if constexpr (kHasDevices) {
    if (!request.observed) read_columns(draft->plan);
    order_for_devices(draft->plan);
  }
  find_lifetimes(draft->plan);
  return draft;
}

// The draft of the same plan for some entries of the batch; null if the graph is made for the whole batch.
std::unique_ptr<Draft> make_draft_of_part(const PlanEnvironment& environment, const PlanRequest& whole, int64_t entries,
                                          SchemeChoices& choices) {
  PlanRequest request = whole;
  request.contents = nullptr;
  request.choices = whole.choices ? &choices : nullptr;
  for (LiveIn& live_in : request.live_ins) live_in.info.shape[0] = entries;
  try {
    auto part = make_draft(environment, request);
    place_values(part->plan);
    return part;
  } catch (const Error&) {
    return nullptr;
  }
}

// Replaces the draft by one for a part of the batch, if that keeps more of the values in the cache, or if the values of the whole batch
// exceed `memory_limit` bytes. Returns the number of entries in a part; 0: the draft is unchanged.
int64_t split_batch(const PlanEnvironment& environment, const PlanRequest& request, size_t memory_limit, std::unique_ptr<Draft>& draft) {
  if (batch_size(draft->plan) < 4 || !environment.backends.front()->uses_host_memory()) return 0;
  const Device& device = environment.backends.front()->device();
  place_values(draft->plan);
  int64_t entries = 0;
  // The size of a part is only an estimate, so a part may turn out to be too large.
  for (size_t bytes = memory_limit;; bytes /= 2) {
    const int64_t before = entries;
    entries = entries_at_once(draft->plan, device, bytes);
    if (entries == 0 || entries == before) return 0;
    SchemeChoices choices;
    std::unique_ptr<Draft> part = make_draft_of_part(environment, request, entries, choices);
    if (!part) return 0;
    if (part->plan.arena_bytes > memory_limit) continue;
    if (!splits_batch(draft->plan, part->plan, device, memory_limit)) return 0;
    part->plan.batch_parts = batch_size(draft->plan) / entries;
    draft = std::move(part);
    if (request.choices) *request.choices = std::move(choices);
    return entries;
  }
}

}  // namespace

std::string_view report_name(const Node& node) {
  if (!node.name().empty() || node.output_count() == 0 || !node.output(0)) return node.name();
  return node.output(0)->name();
}

void PlanEnvironment::index_schemes() {
  rows.clear();
  custom = custom_schemes(*operators);
  for (size_t i = 0; i < backends.size(); ++i) {
    Backend& backend = *backends[i];
    const bool spare = i >= wanted_backends;
    for (const Scheme& scheme : backend.schemes()) rows[scheme.op].push_back({&backend, &scheme, spare});
    if (backend.uses_host_memory() && !backend.is_fallback())
      for (const Scheme& scheme : custom) rows[scheme.op].push_back({&backend, &scheme, spare});
  }
}

StepInfos::StepInfos(const Step& step, const std::vector<PlanValue>& values) {
  for (uint32_t v : kHasDevices && !step.seen.empty() ? step.seen : step.inputs) inputs.push_back(v == kNone ? nullptr : &values[v].info);
  for (uint32_t v : step.outputs) outputs.push_back(v == kNone ? nullptr : &values[v].info);
}

void StepInfos::add_derived(const Step& step, const DerivedConstants& derived) {
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const uint32_t v = step.inputs[i];
    if (v == kNone || !derived.contains(v) || inputs[i]->contents) continue;
    own_.push_back(*inputs[i]);
    own_.back().contents = derived.compute(v);
    inputs[i] = &own_.back();
  }
}

void StepInfos::widen(DType half) {
  for (const ValueInfo*& input : inputs) {
    if (!input || input->dtype != half) continue;
    own_.push_back(*input);
    own_.back().dtype = DType::f32, own_.back().contents = {};
    input = &own_.back();
  }
}

void remove_unneeded_steps(Draft& draft) {
  PlanParts& plan = draft.plan;
  std::vector<bool> needed(plan.values.size(), false);
  for (uint32_t v : plan.outputs)
    if (v != kNone) needed[v] = true;
  for (uint32_t v : plan.exports) needed[v] = true;
  std::vector<bool> keep(plan.steps.size(), false);
  for (size_t s = plan.steps.size(); s-- > 0;) {
    for (uint32_t v : plan.steps[s].outputs) keep[s] = keep[s] || (v != kNone && needed[v]);
    if (!keep[s]) continue;
    for (uint32_t v : plan.steps[s].inputs)
      if (v != kNone) needed[v] = true;
    for (uint32_t v : plan.steps[s].captured) needed[v] = true;
  }
  size_t count = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (!keep[s]) continue;
    if (s != count) plan.steps[count] = std::move(plan.steps[s]), draft.candidates[count] = std::move(draft.candidates[s]);
    ++count;
  }
  plan.steps.resize(count);
  draft.candidates.resize(count);
}

std::shared_ptr<const Plan> Plan::build(const PlanEnvironment& environment, const PlanRequest& request) {
  int64_t entries = 0;
  // The values of a batch may fit into the memory limit, but not with the scratch of kernels. Then use smaller parts.
  for (size_t bytes = request.memory_limit;; bytes /= 2) {
    std::unique_ptr<Draft> draft = make_draft(environment, request);
    const int64_t before = entries;
    if (request.may_split_batch) entries = split_batch(environment, request, bytes, draft);
    prepare_kernels(environment, *draft);
    if (request.may_tile_rows && join_tiled_steps(draft->plan)) find_lifetimes(draft->plan);
    place_values(draft->plan);
    if constexpr (kHasDevices) find_recorded_steps(draft->plan);
    const bool fits = draft->plan.arena_bytes <= request.memory_limit || !request.may_split_batch;
    if (fits || (bytes != request.memory_limit && (entries == 0 || entries == before))) {
      draft->plan.values.shrink_to_fit();  // up to half of it is room to grow, megabytes in a large network
      draft->plan.steps.shrink_to_fit();
      return std::shared_ptr<const Plan>(new Plan(std::move(draft->plan)));
    }
  }
}

PlanRequest Plan::continuation(std::span<const Slot> slots) const {
  PlanRequest request;
  request.nodes = parts_.remaining;
  request.aliases = parts_.aliases;
  request.outputs = parts_.wanted;
  request.output_memory = parts_.output_memory;
  request.host_outputs = parts_.host_outputs;
  request.fixed_addresses = parts_.fixed_addresses;
  request.observed = parts_.observed;
  for (size_t k = 0; k < parts_.exports.size(); ++k) {
    const uint32_t v = parts_.exports[k];
    LiveIn live_in;
    live_in.value = parts_.export_values[k];
    live_in.info = parts_.values[v].info;
    live_in.memory = parts_.values[v].memory;
    if (live_in.info.kind == ValueInfo::Kind::tensor) {
      live_in.info.shape = slots[v].view.shape();
      live_in.info.extent = ValueInfo::Extent::exact;
    }
    if (parts_.values[v].place != PlanValue::Place::constant) live_in.info.contents = {};
    request.live_ins.push_back(std::move(live_in));
  }
  return request;
}

}  // namespace minnow
