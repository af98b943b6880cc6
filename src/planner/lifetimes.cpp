// SPDX-License-Identifier: Apache-2.0
// Lifetimes of values, and where they are stored.
#include <algorithm>

#include "planner/draft.h"

namespace minnow {

void find_lifetimes(PlanParts& plan) {
  const uint32_t end = static_cast<uint32_t>(plan.steps.size());
  for (PlanValue& value : plan.values) value.first = value.last = 0, value.alias = kNone, value.alias_offset = 0;
  std::vector<bool> handed(plan.outputs.size());
  if (plan.remaining.empty())
    for (const HandedOver& each : plan.handed_over) handed[each.output] = true;
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    if (const uint32_t v = plan.outputs[k]; v != kNone && !handed[k] && plan.values[v].place == PlanValue::Place::arena &&
                                            plan.values[v].info.extent == ValueInfo::Extent::exact)
      plan.values[v].place = PlanValue::Place::output;
  const auto use = [&](uint32_t v, uint32_t s) {
    if (v != kNone) plan.values[v].last = std::max(plan.values[v].last, s);
  };
  for (uint32_t s = 0; s < end; ++s) {
    for (uint32_t v : plan.steps[s].outputs)
      if (v != kNone) plan.values[v].first = plan.values[v].last = s;
    for (uint32_t v : plan.steps[s].inputs) use(v, s);
    for (uint32_t v : plan.steps[s].captured) use(v, s);
  }
  for (uint32_t v : plan.exports) use(v, end);
  plan.handing.clear();
  for (const HandedOver& each : plan.handed_over) {
    if (!handed[each.output]) continue;
    const uint32_t v = plan.outputs[each.output];
    const uint32_t step = std::max(plan.values[v].first, each.after == kNone ? 0 : plan.values[each.after].last);
    plan.handing.emplace_back(step, each.output);
    use(v, step);
  }
  std::sort(plan.handing.begin(), plan.handing.end());
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    if (!handed[k]) use(plan.outputs[k], end);
  plan.shares_views = share_memory(plan.steps, plan.values, !plan.observed);
}

void place_values(PlanParts& plan) {
  std::vector<PlanValue>& values = plan.values;
  std::vector<bool> made(values.size(), false);
  for (const Step& step : plan.steps)
    for (uint32_t v : step.outputs)
      if (v != kNone) made[v] = true;
  struct Arena {
    Backend* memory;
    std::vector<MemoryItem> items;
    std::vector<size_t*> offsets;  // where the results go
  };
  std::vector<Arena> arenas(1);  // the host's, then those of devices
  const auto add = [&](Backend* memory, MemoryItem item, size_t& offset) {
    size_t a = 0;
    while (kHasDevices && a < arenas.size() && arenas[a].memory != memory) ++a;
    if (a == arenas.size()) arenas.push_back({memory, {}, {}});
    arenas[a].items.push_back(item);
    arenas[a].offsets.push_back(&offset);
  };
  for (size_t v = 0; v < values.size(); ++v) {
    PlanValue& value = values[v];
    if (!made[v] || value.place != PlanValue::Place::arena || value.alias != kNone || value.bytes == 0) continue;
    add(value.memory, {value.bytes, value.first, value.last}, value.offset);
  }
  for (uint32_t s = 0; s < plan.steps.size(); ++s)
    if (Step& step = plan.steps[s]; step.scratch_bytes) add(memory_of(*step.backend), {step.scratch_bytes, s, s}, step.scratch_offset);
  plan.device_arenas.clear();
  for (Arena& arena : arenas) {
    const size_t bytes = plan_memory(arena.items);
    if (arena.memory)
      plan.device_arenas.push_back({arena.memory, bytes});
    else
      plan.arena_bytes = bytes, plan.arena_lower_bound = memory_lower_bound(arena.items);
    for (size_t i = 0; i < arena.items.size(); ++i) *arena.offsets[i] = arena.items[i].offset;
  }
  for (PlanValue& value : values)
    if (value.alias != kNone) value.offset = values[value.alias].offset + value.alias_offset;
}

}  // namespace minnow
