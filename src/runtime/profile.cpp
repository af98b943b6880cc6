// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile.h"

#include <algorithm>

namespace minnow {
namespace {

/// What was planned for a step; of refusals and candidates nothing.
PlanRow planned_row(const Plan& plan, const Step& step) {
  PlanRow row;
  row.node = report_name(*step.node);
  row.op = step.node->op();
  row.scheme = step.scheme->name;
  row.backend = step.backend->name();
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

void append_rows(const Plan& plan, const Step& step, int session_threads, std::vector<PlanRow>& rows) {
  PlanRow row = planned_row(plan, step);
  row.threads = session_threads == 1 ? 1 : step.trial.chosen();
  for (const auto& [scheme, seconds] : step.candidates) row.candidates.push_back({row.node, std::string(scheme->name), seconds});
  for (const Refusal& refusal : step.refusals) row.refused.push_back(format("{}: {}", refusal.scheme, refusal.reason));
  if (step.profile) {
    const PlanRow& measured = step.profile->row;
    row.measured_seconds = measured.measured_seconds;
    row.best_seconds = step.profile->best_seconds();
    row.start_seconds = measured.start_seconds;
    row.runs = measured.runs;
    row.calls = measured.calls;
  }
  rows.push_back(std::move(row));
  if (step.profile) append_inner(*step.profile, rows);
}

}  // namespace minnow
