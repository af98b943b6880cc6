// SPDX-License-Identifier: Apache-2.0
// Each step gets the scheme that layout.cpp chose for it, and steps that change layouts are put between.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "planner/draft.h"

namespace minnow {
namespace {

// The first so many outputs are wanted in the host's memory.
size_t outputs_on_host(const PlanParts& plan) {
  return plan.output_memory ? std::min(plan.host_outputs, plan.outputs.size()) : plan.outputs.size();
}

// The values that are read in the host's memory by something outside the plan's steps.
std::vector<bool> read_on_host(const PlanParts& plan) {
  std::vector<bool> read(plan.values.size(), false);
  for (size_t k = 0; k < outputs_on_host(plan); ++k)
    if (const uint32_t v = plan.outputs[k]; v != kNone) read[v] = true;
  for (uint32_t v : plan.exports) read[v] = true;
  for (const Step& step : plan.steps)
    for (uint32_t v : step.captured) read[v] = true;
  return read;
}

void set_layout(PlanValue& value, Layout layout, const Device& device) {
  value.layout = layout;
  if (layout == Layout::packed) value.bytes = device.bytes(value.info.dtype, value.info.shape, layout);
}

class Conversions {
 public:
  Conversions(const PlanEnvironment& environment, PlanParts& plan) : environment_(environment), plan_(plan) {}

  /// Value v, or the same, in this memory and layout; appends the steps that make it. `backend`: of the step that reads or makes v.
  uint32_t in_form(uint32_t v, Backend* memory, Layout layout, Backend& backend) {
    if (plan_.values[v].memory == memory && plan_.values[v].layout == layout) return v;
    const uint32_t key = key_of(v, memory, layout);
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    uint32_t result = v;
    if (kHasDevices && plan_.values[v].memory != memory) {
      // Copies have the plain layout, and one end of each is the host's memory.
      result = in_form(result, plan_.values[v].memory, Layout::plain, backend);
      if (Backend* from = plan_.values[v].memory; from && memory) result = in_form(result, nullptr, Layout::plain, backend);
      Backend* const device = plan_.values[result].memory ? plan_.values[result].memory : memory;
      result = add(result, kTransfer, memory ? "device" : "host", memory, Layout::plain, *device);
      if (layout != Layout::plain) result = in_form(result, memory, layout, backend);
    } else {
      result = add(result, kReorder, layout == Layout::packed ? "packed" : "plain", memory, layout, backend);
    }
    made_[key] = result;
    return result;
  }

 private:
  // A value has few other forms: one in each memory and layout.
  uint32_t key_of(uint32_t v, const Backend* memory, Layout layout) const {
    if constexpr (!kHasDevices) return v;
    uint32_t place = 0;
    for (uint32_t i = 0; memory && i < environment_.backends.size(); ++i)
      if (environment_.backends[i].get() == memory) place = i + 1;
    MINNOW_CHECK(place < 8, "a session has at most seven backends with memory of their own");
    return v * 16 + place * 2 + (layout == Layout::packed ? 1 : 0);
  }

  // Appends a step of the operator `op`, which converts v.
  uint32_t add(uint32_t v, std::string_view op, std::string_view to, Backend* memory, Layout layout, Backend& backend) {
    const PlanValue from = plan_.values[v];
    const std::string name = from.value ? from.value->name() : std::string("value");
    Graph& graph = graph_of_conversions();
    Value& input = graph.add_input(name, ValueType::tensor(from.info.dtype, from.info.shape));
    PlanValue made;
    made.info = from.info;
    made.info.contents = {};
    made.bytes = static_cast<size_t>(made.info.shape.elements()) * size_of(made.info.dtype);
    made.memory = memory;
    const uint32_t result = static_cast<uint32_t>(plan_.values.size());
    plan_.values.push_back(std::move(made));
    Step step;
    step.node = &graph.add_node(std::string(op), {&input}, 1, {{"to", std::string(to)}}, name);
    step.inputs = {v};
    step.outputs = {result};
    const StepInfos infos(step, plan_.values);
    const NodeView view(*step.node, infos.inputs, infos.outputs);
    std::string reason = "no backend has a scheme for it";
    const auto rows = environment_.rows.find(op);
    // Try the step's backend first. If it has no packed layout, the backend of the producer or the consumer converts.
    for (const bool at_hand : {true, false})
      for (const PlanEnvironment::Row& row :
           rows == environment_.rows.end() ? std::span<const PlanEnvironment::Row>() : std::span(rows->second)) {
        if ((row.backend == &backend) != at_hand) continue;
        Estimate estimate = row.scheme->estimate(view, row.backend->device());
        if (!estimate.declined.empty()) {
          reason = estimate.declined;
          continue;
        }
        set_layout(plan_.values[result], layout, row.backend->device());
        step.backend = row.backend;
        step.scheme = row.scheme;
        step.least_seconds = estimate.seconds;
        step.estimate = std::move(estimate);
        plan_.steps.push_back(std::move(step));
        return result;
      }
    throw InternalError("{}: a change of layout was planned, but {}", step.node->where(), reason);
  }

  // Where the nodes of conversions are; made when the first one is.
  Graph& graph_of_conversions() {
    if (!graph_) {
      plan_.graphs.push_back(std::make_unique<Graph>());
      graph_ = plan_.graphs.back().get();
    }
    return *graph_;
  }

  const PlanEnvironment& environment_;
  PlanParts& plan_;
  Graph* graph_ = nullptr;
  std::unordered_map<uint32_t, uint32_t> made_;  // by key_of
};

}  // namespace

void settle_schemes(const PlanEnvironment& environment, Draft& draft, SchemeChoices* choices) {
  PlanParts& plan = draft.plan;
  const std::vector<bool> on_host = read_on_host(plan);
  // Outputs that stay on a device. Those whose shape only the run tells come from the host.
  std::vector<bool> on_device(plan.values.size(), false), wants_plain = on_host;
  const size_t host_outputs = outputs_on_host(plan);
  for (size_t k = host_outputs; k < plan.outputs.size(); ++k)
    if (const uint32_t v = plan.outputs[k]; v != kNone) {
      wants_plain[v] = true;
      on_device[v] = moves_between_memories(plan.values[v]) && plan.values[v].info.extent == ValueInfo::Extent::exact;
    }
  for (PlanValue& value : plan.values)
    if (value.info.kind == ValueInfo::Kind::tensor && value.info.extent != ValueInfo::Extent::unknown)
      value.bytes = static_cast<size_t>(value.info.shape.elements()) * size_of(value.info.dtype);
  std::vector<size_t> choice = choose_candidates(draft.candidates, plan.steps, plan.values, wants_plain, plan.output_memory);
  if constexpr (kHasDevices) share_work(environment, draft, choice);

  std::vector<Step> old = std::move(plan.steps);
  plan.steps.clear();
  Conversions conversions(environment, plan);
  std::unordered_map<uint32_t, uint32_t> replaced_captures;  // value -> the same in the plain layout
  const auto give_out = [&](uint32_t v, Backend& backend) {
    const auto first_on_device = plan.outputs.begin() + static_cast<ptrdiff_t>(host_outputs);
    if (on_host[v])
      if (const uint32_t plain = conversions.in_form(v, nullptr, Layout::plain, backend); plain != v) {
        std::replace(plan.outputs.begin(), first_on_device, v, plain);
        std::replace(plan.exports.begin(), plan.exports.end(), v, plain);
        replaced_captures[v] = plain;
      }
    if (on_device[v])
      std::replace(first_on_device, plan.outputs.end(), v, conversions.in_form(v, plan.output_memory, Layout::plain, backend));
  };
  if constexpr (kHasDevices)
    for (uint32_t v = 0; v < plan.live_ins.size(); ++v)
      if (Backend* const memory = plan.values[v].memory)
        if (on_host[v]) give_out(v, *memory);
  for (size_t s = 0; s < old.size(); ++s) {
    Step& step = old[s];
    if (choices)
      for (size_t c = 0; c < draft.candidates[s].size(); ++c)
        if (const Candidate& other = draft.candidates[s][c]; c != choice[s])
          (*choices)[step.node].refusals.push_back(
              {other.scheme->name, format("estimated at {} us", std::round(other.estimate.seconds * 1e7) / 10)});
    Candidate& chosen = draft.candidates[s][choice[s]];
    Backend& backend = *chosen.backend;
    step.backend = &backend;
    step.scheme = chosen.scheme;
    step.estimate = std::move(chosen.estimate);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const uint32_t v = step.inputs[i];
      if (v == kNone || plan.values[v].info.kind != ValueInfo::Kind::tensor) continue;
      Backend* const memory = kHasDevices && moves_between_memories(plan.values[v]) ? memory_of(backend) : plan.values[v].memory;
      step.inputs[i] = conversions.in_form(v, memory, step.estimate.input_layout(i), backend);
    }
    const std::vector<uint32_t> outputs = step.outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != kNone) {
        set_layout(plan.values[outputs[i]], step.estimate.output_layout(i), backend.device());
        plan.values[outputs[i]].memory = memory_of(backend);
      }
    plan.steps.push_back(std::move(step));
    for (uint32_t v : outputs)
      if (v != kNone && wants_plain[v]) give_out(v, backend);
  }
  for (Step& step : plan.steps)
    for (uint32_t& v : step.captured)
      if (const auto found = replaced_captures.find(v); found != replaced_captures.end()) v = found->second;
  draft.candidates.clear();
}

}  // namespace minnow
