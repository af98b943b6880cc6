// SPDX-License-Identifier: Apache-2.0
// Finds the steps whose kernels may compute large images some rows at a time (backends/row_tiling.h), and joins them.
#include "backends/row_tiling.h"

#include <algorithm>

#include "planner/draft.h"

namespace minnow {
#if MINNOW_SMALL  // no kernel computes rows
bool join_tiled_steps(PlanParts&) { return false; }
#else
namespace {

RowStage stage_of(const Step& step, const std::vector<PlanValue>& values) {
  const PlanValue& y = values[step.outputs[0]];
  return {step.kernel->by_rows(), static_cast<size_t>(y.info.shape[2]), y.bytes / static_cast<size_t>(y.info.shape[0]),
          values[step.inputs[1]].bytes};
}

bool computes_rows(const Step& step, const std::vector<PlanValue>& values, bool from_ring) {
  const auto is_ready = [&](size_t i) {
    return i >= step.inputs.size() || step.inputs[i] == kNone || values[step.inputs[i]].place == PlanValue::Place::constant;
  };
  RowKernel* const kernel = step.kernel ? step.kernel->by_rows() : nullptr;
  const PlanValue& y = values[step.outputs[0]];
  if (!kernel || !is_ready(1) || !is_ready(2) || y.bytes == 0 || y.info.shape.rank() != 4 || y.info.extent != ValueInfo::Extent::exact)
    return false;
  return kernel->reading().by_rows && (!from_ring || kernel->reading().from_ring);
}

bool adds(const Step& step) { return step.inputs.size() > 3 && step.inputs[3] != kNone; }

// Whether the second step is the only reader of the first one's output.
bool may_follow(const Step& first, const Step& second, const std::vector<PlanValue>& values, const std::vector<uint32_t>& uses) {
  const uint32_t v = first.outputs[0];
  const PlanValue& y = values[v];
  return second.inputs[0] == v && uses[v] == 1 && !adds(first) && first.backend == second.backend && y.layout == Layout::packed &&
         computes_rows(second, values, true) &&
         y.bytes / static_cast<size_t>(y.info.shape[0]) >= least_tiled_bytes(first.backend->device());
}

// How many read each value; a reader outside the plan counts two.
std::vector<uint32_t> count_uses(const PlanParts& plan) {
  std::vector<uint32_t> uses(plan.values.size() + 1, 0);
  const auto add = [&](const std::vector<uint32_t>& read, uint32_t count) {
    for (uint32_t v : read) uses[v == kNone ? uses.size() - 1 : v] += count;
  };
  for (const Step& step : plan.steps) add(step.inputs, 1), add(step.captured, 2);
  add(plan.outputs, 2);
  add(plan.exports, 2);
  return uses;
}

// The longest chain of steps that begins there; empty: it is one step.
std::vector<RowStage> chain_at(const PlanParts& plan, size_t first, const std::vector<uint32_t>& uses) {
  const std::vector<Step>& steps = plan.steps;
  if (!computes_rows(steps[first], plan.values, false)) return {};
  const Device& device = steps[first].backend->device();
  std::vector<RowStage> chain = {stage_of(steps[first], plan.values)};
  size_t longest = 0;
  for (size_t s = first + 1; s < steps.size() && may_follow(steps[s - 1], steps[s], plan.values, uses); ++s) {
    chain.push_back(stage_of(steps[s], plan.values));
    if (fits_row_tiling(chain, device)) longest = chain.size();
  }
  chain.resize(longest);
  return chain;
}

// One step in place of `steps`, which it takes.
Step join(std::span<Step> steps, std::span<const RowStage> chain, const std::vector<PlanValue>& values) {
  const Step& last = steps.back();
  Step step;
  step.node = last.node, step.definition = last.definition, step.backend = last.backend, step.scheme = last.scheme;
  step.inputs = {steps.front().inputs[0]};
  if (adds(last)) step.inputs.push_back(last.inputs[3]);
  step.outputs = last.outputs;
  RowTilingInputs inputs{static_cast<size_t>(values[step.outputs[0]].info.shape[0]), values[step.inputs[0]].bytes, 0, adds(last)};
  for (const Step& each : steps) {
    inputs.scratch_bytes = std::max(inputs.scratch_bytes, each.scratch_bytes);
    step.operations += each.operations;
  }
  RowTiling tiling = make_row_tiling(chain, step.backend->device(), inputs);
  step.scratch_bytes = tiling.scratch_bytes;
  step.kernel = std::move(tiling.kernel);
  step.row_tiling.assign(std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end()));
  return step;
}

}  // namespace

bool join_tiled_steps(PlanParts& plan) {
  const std::vector<uint32_t> uses = count_uses(plan);
  std::vector<Step>& steps = plan.steps;
  std::vector<Step> joined;
  for (size_t first = 0, end; first < steps.size(); first = end) {
    const std::vector<RowStage> chain = chain_at(plan, first, uses);
    end = first + std::max<size_t>(1, chain.size());
    if (chain.empty())
      joined.push_back(std::move(steps[first]));
    else
      joined.push_back(join(std::span(steps).subspan(first, chain.size()), chain, plan.values));
    plan.tiles_rows |= !chain.empty();
  }
  steps = std::move(joined);
  return plan.tiles_rows;
}
#endif

}  // namespace minnow
