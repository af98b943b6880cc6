// SPDX-License-Identifier: Apache-2.0
// Backends with memory of their own.
#include <algorithm>

#include "planner/draft.h"

namespace minnow {

bool moves_between_memories(const PlanValue& value) {
  // An input with known contents is as a constant, unless it lies on a device: steps of the host then read a copy.
  return value.place != PlanValue::Place::constant && (!value.info.contents || value.memory) && value.info.kind == ValueInfo::Kind::tensor;
}

void find_recorded_steps(PlanParts& plan) {
  plan.recorded.clear();
  // Recorded work has its addresses in it; those of inputs and outputs may change from run to run.
  const auto moves = [&](uint32_t v) {
    if (v == kNone || plan.fixed_addresses) return false;
    while (plan.values[v].alias != kNone) v = plan.values[v].alias;
    const PlanValue::Place place = plan.values[v].place;
    return plan.values[v].memory && (place == PlanValue::Place::live_in || place == PlanValue::Place::output);
  };
  const auto recordable = [&](uint32_t s) {
    const Step& step = plan.steps[s];
    return step.backend->can_record() && step.node->op() != kTransfer && std::none_of(step.inputs.begin(), step.inputs.end(), moves) &&
           std::none_of(step.outputs.begin(), step.outputs.end(), moves);
  };
  for (uint32_t s = 0; s < plan.steps.size();) {
    uint32_t end = s;
    while (end < plan.steps.size() && recordable(end) && plan.steps[end].backend == plan.steps[s].backend) ++end;
    if (end > s + 1) plan.recorded.push_back({s, end - s});
    s = std::max(end, s + 1);
  }
}

}  // namespace minnow
