// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile.h"

#include <algorithm>

namespace minnow {
namespace {

/// The plan's decisions for a step, without refusals and candidates.
PlanRow planned_row(const Plan& plan, const Step& step) {
  PlanRow row;
  row.node = report_name(*step.node);
  row.op = step.node->op();
  row.scheme = step.scheme->name;
  row.backend = step.backend->name();
  row.on_device = memory_of(*step.backend) != nullptr;
  row.scratch_bytes = step.scratch_bytes;
  row.operations = step.operations;
  row.estimated_seconds = step.estimate.seconds;
  for (uint32_t v : step.outputs) {
    if (v == kNone) continue;
    const PlanValue& value = plan.values()[v];
    row.output_bytes += value.bytes;
    if (!row.shape.empty()) continue;
    row.shape = value.info.extent == ValueInfo::Extent::exact ? to_string(value.info.shape) : std::string("?");
    row.layout = value.layout == Layout::packed ? format("packed{}", step.backend->device().pack) : std::string("plain");
  }
  return row;
}

void append_inner(const NodeProfile& owner, std::vector<PlanRow>& rows) {
  for (const auto& profile : owner.inner) {
    rows.push_back(profile->row);
    rows.back().best_seconds = profile->best_seconds();
    append_inner(*profile, rows);
  }
}

}  // namespace

void NodeProfile::add(uint64_t run, const Step& step, double start, double seconds, int threads) noexcept {
  if (run != run_) {
    earlier_best_ = best_seconds();
    run_ = run;
    ++row.runs;
    row.calls = 0;
    row.measured_seconds = row.operations = row.estimated_seconds = 0;
    row.start_seconds = start;
  }
  ++row.calls;
  row.measured_seconds += seconds;
  row.operations += step.operations;
  row.estimated_seconds += step.estimate.seconds;
  row.threads = threads;
}

double NodeProfile::best_seconds() const noexcept {
  return row.runs > 1 ? std::min(earlier_best_, row.measured_seconds) : row.measured_seconds;
}

NodeProfile& NodeProfile::inner_profile(const Plan& plan, const Step& step, std::string_view attribute) {
  PlanRow planned = planned_row(plan, step);
  NodeProfile*& place = by_name_[format("{}\n{}\n{}\n{}", attribute, planned.node, planned.op, planned.scheme)];
  if (place) {
    if (place->row.shape != planned.shape) place->row.shape = "?";
    place->row.output_bytes = std::max(place->row.output_bytes, planned.output_bytes);
    place->row.scratch_bytes = std::max(place->row.scratch_bytes, planned.scratch_bytes);
    return *place;
  }
  planned.owner = format("{}{}{}.{}", row.owner, row.owner.empty() ? "" : "/", row.node, attribute);
  planned.depth = row.depth + 1;
  inner.push_back(std::make_unique<NodeProfile>());
  place = inner.back().get();
  place->row = std::move(planned);
  return *place;
}

namespace {

void append_choice(const PlanState& state, const Step& step, PlanRow& row) {
  const auto found = state.choices.find(step.node);
  if (found == state.choices.end()) return;
  for (const auto& [scheme, seconds] : found->second.candidates) row.candidates.push_back({row.node, std::string(scheme->name), seconds});
  for (const SchemeChoice::Refusal& refusal : found->second.refusals)
    row.refused.push_back(format("{}: {}", refusal.scheme, refusal.reason));
}

}  // namespace

void append_rows(const PlanState& state, int session_threads, std::vector<PlanRow>& rows) {
  const Plan& plan = state.plan();
  for (size_t s = 0; s < plan.steps().size(); ++s) {
    const Step& step = plan.steps()[s];
    const StepState& own = state.steps()[s];
    for (const Step& each : step.row_tiling.empty() ? std::span(&step, 1) : std::span(step.row_tiling)) {
      PlanRow row = planned_row(plan, each);
      row.threads = session_threads == 1 ? 1 : own.trial.chosen();
      append_choice(state, each, row);
      if (!step.row_tiling.empty() && &each != &step.row_tiling.back()) row.layout = "row tiles";  // the image is nowhere whole
      if (own.profile) {
        const PlanRow& measured = own.profile->row;
        row.measured_seconds = measured.measured_seconds;
        row.best_seconds = own.profile->best_seconds();
        row.start_seconds = measured.start_seconds;
        row.runs = measured.runs;
        row.calls = measured.calls;
      }
      rows.push_back(std::move(row));
    }
    if (own.profile) append_inner(*own.profile, rows);
  }
}

}  // namespace minnow
