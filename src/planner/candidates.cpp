// SPDX-License-Identifier: Apache-2.0
// Asks the schemes of an operator for the cost of a step.
#include <cmath>

#include "planner/draft.h"

namespace minnow {
namespace {

// The time measured for the node and the shape of its first output, else for the node, else `estimated`.
double known_seconds(const PlanEnvironment& environment, const Step& step, const std::vector<PlanValue>& values, const Scheme& scheme,
                     double estimated) {
  const std::string name(report_name(*step.node)), scheme_name(scheme.name);
  const auto known = environment.times.find({name, scheme_name});
  if (known != environment.times.end() && std::isinf(known->second)) return known->second;
  for (const uint32_t v : step.outputs)
    if (v != kNone && values[v].info.extent == ValueInfo::Extent::exact) {
      const auto of_shape = environment.times.find({format("{} {}", name, values[v].info.shape), scheme_name});
      if (of_shape != environment.times.end()) return of_shape->second;
      break;
    }
  return known != environment.times.end() ? known->second : estimated;
}

// Whether a value has no place of a known size, which devices cannot have.
bool has_open_values(const NodeView& node) {
  const auto is_open = [](const ValueInfo& info) {
    return info.kind != ValueInfo::Kind::tensor || info.extent != ValueInfo::Extent::exact;
  };
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && is_open(node.input(i))) return true;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i) && is_open(node.output(i))) return true;
  return false;
}

// Why a device's kernels cannot reach all of a tensor; empty: they can.
std::string refusal_of_sizes(const NodeView& node, const Device& device) {
  if (device.max_tensor_bytes == 0) return {};
  const auto check = [&](const ValueInfo& info, std::string_view what, size_t i, bool is_constant) -> std::string {
    const size_t bytes = device.bytes(info.dtype, info.shape, Layout::plain);
    if (device.reaches(bytes, is_constant)) return {};
    return format("{} {} has {} bytes, the device reaches {} of a tensor", what, i, bytes, device.max_tensor_bytes);
  };
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i))
      if (std::string reason = check(node.input(i), "input", i, node.is_constant(i)); !reason.empty()) return reason;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i))
      if (std::string reason = check(node.output(i), "output", i, false); !reason.empty()) return reason;
  return {};
}

}  // namespace

std::vector<Candidate> find_candidates(const PlanEnvironment& environment, const Step& step, const std::vector<PlanValue>& values,
                                       const DerivedConstants& derived, const Scheme* earlier, SchemeChoice& choice) {
  std::vector<Candidate> accepted;
  StepInfos infos(step, values);
  infos.add_derived(step, derived);
  const NodeView view(*step.node, infos.inputs, infos.outputs, step.definition);
  const bool has_open = kHasDevices && has_open_values(view);
  const auto ask = [&](const PlanEnvironment::Row& row) {
    Estimate estimate;
    try {
      if (has_open && !row.backend->uses_host_memory())
        estimate = declined("a shape depends on data, or a value is not a tensor");
      else if (std::string reason = kHasDevices ? refusal_of_sizes(view, row.backend->device()) : std::string(); !reason.empty())
        estimate = declined("{}", reason);
      else
        estimate = row.scheme->estimate(view, row.backend->device());
    } catch (const NeedsContents& needs) {
      estimate = declined("input {} is not constant", needs.input);
    }
    const double estimated = estimate.seconds;
    if (estimate.declined.empty() && !environment.times.empty()) {
      estimate.seconds = known_seconds(environment, step, values, *row.scheme, estimated);
      if (std::isinf(estimate.seconds)) estimate = declined("its sums overflowed in a run");
    }
    if (estimate.declined.empty()) {
      choice.candidates.emplace_back(row.scheme, estimate.seconds);
      accepted.push_back({row.backend, row.scheme, row.spare, std::move(estimate), estimated});
    } else {
      choice.refusals.push_back({row.scheme->name, std::move(estimate.declined)});
    }
  };
  if (const auto found = environment.rows.find(step.node->op()); found != environment.rows.end()) {
    for (const PlanEnvironment::Row& row : found->second)
      if (row.scheme == earlier) ask(row);
    for (const bool spare : {false, true})
      if (accepted.empty())
        for (const PlanEnvironment::Row& row : found->second)
          if (row.spare == spare) ask(row);
  }
  if (accepted.empty())
    if (const auto any = environment.rows.find(kAnyOperator); any != environment.rows.end())
      for (const PlanEnvironment::Row& row : any->second) ask(row);
  return accepted;
}

}  // namespace minnow
