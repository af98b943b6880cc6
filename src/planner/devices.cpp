// SPDX-License-Identifier: Apache-2.0
// Backends with memory of their own.
#include "planner/draft.h"

namespace minnow {

bool moves_between_memories(const PlanValue& value) {
  return value.place != PlanValue::Place::constant && !value.info.contents && value.info.kind == ValueInfo::Kind::tensor;
}

void find_recorded_steps(PlanParts& plan) {
  plan.recorded.clear();
  const auto recordable = [&](uint32_t s) {
    const Step& step = plan.steps[s];
    return step.backend->can_record() && step.node->op() != kTransfer;
  };
  for (uint32_t s = 0; s < plan.steps.size();) {
    uint32_t end = s;
    while (end < plan.steps.size() && recordable(end) && plan.steps[end].backend == plan.steps[s].backend) ++end;
    if (end > s + 1) plan.recorded.push_back({s, end - s});
    s = std::max(end, s + 1);
  }
}

}  // namespace minnow
