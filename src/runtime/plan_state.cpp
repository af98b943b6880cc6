// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan_state.h"

#include <algorithm>

namespace minnow {

PlanState::PlanState(std::shared_ptr<const Plan> plan, MakeSubgraphRunner make_subgraph_runner)
    : plan_(std::move(plan)), slots_(plan_->values().size()), steps_(plan_->steps().size()) {
  for (size_t v = 0; v < slots_.size(); ++v) {
    const PlanValue& value = plan_->values()[v];
    const void* data = value.place == PlanValue::Place::constant ? value.info.contents.data() : nullptr;
    if (value.info.kind == ValueInfo::Kind::tensor) slots_[v].view = TensorView(value.info.dtype, value.info.shape, data);
  }
  const auto slots_of = [&](const std::vector<uint32_t>& indices) {
    std::vector<Slot*> slots;
    for (uint32_t v : indices) slots.push_back(v == kNone ? nullptr : &slots_[v]);
    return slots;
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = plan_->steps()[s];
    StepState& state = steps_[s];
    state.inputs = slots_of(step.inputs);
    state.outputs = slots_of(step.outputs);
    state.captured = slots_of(step.captured);
    const auto is_subgraph = [](const auto& attribute) { return std::holds_alternative<Subgraph>(attribute.second); };
    if (std::any_of(step.node->attributes.begin(), step.node->attributes.end(), is_subgraph))
      state.subgraphs = make_subgraph_runner(*step.node, state.captured);
  }
}

void PlanState::allocate_device_arenas() {
  if constexpr (!kHasDevices) return;
  for (const DeviceArena& arena : plan_->device_arenas())
    device_arenas_.push_back(arena.backend->allocate(std::max<size_t>(arena.bytes, 1)));
  recordings_.resize(plan_->recorded().size());
}

std::byte* PlanState::arena_of(const Backend* memory) const noexcept {
  if (!kHasDevices || !memory) return arena_;
  for (size_t i = 0; i < device_arenas_.size(); ++i)
    if (plan_->device_arenas()[i].backend == memory) return static_cast<std::byte*>(device_arenas_[i].get());
  return nullptr;
}

void* PlanState::scratch_of(const Step& step) const noexcept { return arena_of(memory_of(*step.backend)) + step.scratch_offset; }

void PlanState::bind(std::byte* arena) noexcept {
  arena_ = arena;
  for (size_t v = 0; v < slots_.size(); ++v) {
    const PlanValue& value = plan_->values()[v];
    if (value.place != PlanValue::Place::arena) continue;
    std::byte* const base = arena_of(value.memory);
    void* memory = value.offset == kNowhere ? base : base + value.offset;
    if (value.info.extent == ValueInfo::Extent::exact) {
      slots_[v].view = TensorView(value.info.dtype, value.info.shape, memory);
    } else {
      slots_[v].buffer = memory;
      slots_[v].capacity = value.bytes;
    }
  }
}

void PlanState::point_output(size_t i, void* memory) noexcept {
  const uint32_t v = plan_->outputs()[i];
  const ValueInfo& info = plan_->values()[v].info;
  slots_[v].view = TensorView(info.dtype, info.shape, memory);
}

}  // namespace minnow
