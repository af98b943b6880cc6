// SPDX-License-Identifier: Apache-2.0
// Kernels are prepared on the threads that will run them: most of that is the packing of weights.
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "backends/region.h"
#include "base/sort.h"
#include "planner/draft.h"

namespace minnow {
namespace {

// The steps with the largest constants first: while a weight is packed it is in memory twice, and that should not come on top of all the
// others.
std::vector<size_t> by_weight(const PlanParts& plan) {
  std::vector<size_t> bytes(plan.steps.size(), 0), order(bytes.size());
  for (size_t s = 0; s < bytes.size(); ++s) {
    order[s] = s;
    for (uint32_t v : plan.steps[s].inputs)
      if (v != kNone && plan.values[v].place == PlanValue::Place::constant) bytes[s] += plan.values[v].info.contents.bytes();
  }
  sort_indices(order, [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  return order;
}

double operations_of(const Step& step, const NodeView& view) {
  if (step.definition && step.definition->operations) return step.definition->operations(view);
  if (!step.definition || !view.has_output(0) || view.output(0).extent != ValueInfo::Extent::exact) return 0;
  return static_cast<double>(view.output_shape(0).elements());
}

// Returns the derived constants that the kernel reads when it runs.
std::vector<uint32_t> prepare_kernel(const PlanEnvironment& environment, const std::vector<PlanValue>& values,
                                     const DerivedConstants& derived, Step& step) {
  if (kHasDevices && step.region) {
    step.kernel = step.backend->regions()->compile(*step.region);
    return {};
  }
  StepInfos infos(step, values);
  infos.add_derived(step, derived);
  DerivedConstants::Store store(derived, *environment.weights);
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (step.inputs[i] != kNone && derived.contains(step.inputs[i])) store.add(step.inputs[i], infos.inputs[i]->contents);
  const NodeView view(*step.node, infos.inputs, infos.outputs, step.definition);
  PrepareContext context(view, *step.backend, step.estimate, store);
  if constexpr (kHasDevices) context.set_columns(step.columns);
  step.kernel = step.scheme->prepare(context);
  MINNOW_CHECK(step.kernel, "a scheme that accepted must prepare a kernel");
  step.scratch_bytes = context.scratch_bytes();
  step.operations = operations_of(step, view);
  std::vector<uint32_t> read;
  for (uint32_t v : step.inputs)
    if (v != kNone && derived.contains(v) && !store.is_packed(v)) read.push_back(v);
  return read;
}

// Prepares all kernels. Returns, for each step, the derived constants that its kernel reads when it runs.
std::vector<std::vector<uint32_t>> prepare_all(const PlanEnvironment& environment, Draft& draft) {
  std::vector<Step>& steps = draft.plan.steps;
  int threads = 1;
  for (const Step& step : steps) threads = std::max(threads, step.backend->device().threads);
  const std::vector<size_t> order = by_weight(draft.plan);
  std::vector<std::vector<uint32_t>> read(steps.size());
  std::vector<std::exception_ptr> errors(steps.size());
  std::atomic<size_t> next{0};
  const std::shared_ptr<MemoryAccount> account = current_account();
  const auto prepare = [&](size_t s) { read[s] = prepare_kernel(environment, draft.plan.values, draft.derived, steps[s]); };
  ThreadPool::process().run(static_cast<size_t>(threads), threads, [&](size_t) {
    const ChargeTo charge(account);
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < order.size();) try {
        if (steps[order[i]].backend->device().threads > 1) prepare(order[i]);
      } catch (...) {
        errors[order[i]] = std::current_exception();
      }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  for (size_t s : order)
    if (!steps[s].kernel) prepare(s);
  return read;
}

}  // namespace

void prepare_kernels(const PlanEnvironment& environment, Draft& draft) {
  PlanParts& plan = draft.plan;
  std::unordered_set<uint32_t> read;
  const auto add = [&](const std::vector<uint32_t>& values) { read.insert(values.begin(), values.end()); };
  for (const std::vector<uint32_t>& of_step : prepare_all(environment, draft)) add(of_step);
  if constexpr (kHasDevices)
    for (const auto& backend : environment.backends) backend->prepared();
  add(plan.outputs);
  add(plan.exports);
  for (const Step& step : plan.steps) add(step.captured);
  // The derived constants that runs read are kept; those that kernels packed are not.
  for (uint32_t v = 0; v < plan.values.size(); ++v) {
    if (!draft.derived.contains(v)) continue;
    Tensor& contents = plan.values[v].info.contents;
    if (!read.contains(v))
      contents = {};
    else if (!contents)
      contents = draft.derived.compute(v);
  }
}

}  // namespace minnow
