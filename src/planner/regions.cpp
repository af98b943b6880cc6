// SPDX-License-Identifier: Apache-2.0
// Connected steps that a backend compiles as one (backends/region.h).
#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

#include "backends/region.h"
#include "planner/draft.h"

namespace minnow {
namespace {

bool is_plain_tensor(const ValueInfo& info) { return info.kind == ValueInfo::Kind::tensor && info.extent == ValueInfo::Extent::exact; }

/// The groups that steps belong to, each of which can run as one step: no path leaves a group and enters it again.
class Groups {
 public:
  explicit Groups(const PlanParts& plan) : plan_(plan), producer_(plan.values.size(), kNone), group_(plan.steps.size()) {
    std::iota(group_.begin(), group_.end(), 0u);
    members_.resize(plan.steps.size());
    for (uint32_t s = 0; s < plan.steps.size(); ++s) {
      members_[s] = {s};
      for (uint32_t v : plan.steps[s].outputs)
        if (v != kNone) producer_[v] = s;
    }
  }
  /// Puts step s, alone so far, into the groups of its producers that `may_join` names, as far as that leaves a path outside of none.
  void join(uint32_t s, const std::vector<bool>& may_join) {
    for (uint32_t before : producers(s))
      if (const uint32_t from = group_[before], to = group_[s]; may_join[before] && from != to && !has_path_outside(from, to)) {
        for (uint32_t member : members_[to]) group_[member] = from;
        members_[from].insert(members_[from].end(), members_[to].begin(), members_[to].end());
        members_[to].clear();
      }
  }
  uint32_t group_of(uint32_t step) const { return group_[step]; }
  const std::vector<uint32_t>& members(uint32_t group) const { return members_[group]; }
  std::vector<uint32_t> producers(uint32_t step) const {
    std::vector<uint32_t> found;
    for (const std::vector<uint32_t>* values : {&plan_.steps[step].inputs, &plan_.steps[step].captured})
      for (uint32_t v : *values)
        if (v != kNone && producer_[v] != kNone) found.push_back(producer_[v]);
    return found;
  }

 private:
  // Whether a path leads from group `from` to group `to` through a third one. Groups count as single steps.
  bool has_path_outside(uint32_t from, uint32_t to) const {
    std::vector<bool> seen(group_.size());
    std::vector<uint32_t> open;
    const auto visit = [&](uint32_t group, bool direct) {
      for (uint32_t member : members_[group])
        for (uint32_t before : producers(member))
          if (const uint32_t next = group_[before]; next != group && !seen[next] && !(direct && next == from)) {
            seen[next] = true;
            open.push_back(next);
          }
    };
    visit(to, true);
    while (!open.empty()) {
      const uint32_t group = open.back();
      open.pop_back();
      if (group == from) return true;
      visit(group, false);
    }
    return false;
  }
  const PlanParts& plan_;
  std::vector<uint32_t> producer_, group_;
  std::vector<std::vector<uint32_t>> members_;  // by group: its steps; none of a group that another one has taken
};

class Regions {
 public:
  Regions(Draft& draft, Backend& backend) : draft_(draft), plan_(draft.plan), backend_(backend), compiler_(*backend.regions()) {}

  void claim() {
    std::vector<bool> accepted(plan_.steps.size());
    for (size_t s = 0; s < accepted.size(); ++s) accepted[s] = accepts(plan_.steps[s]);
    Groups groups(plan_);
    for (uint32_t s = 0; s < accepted.size(); ++s)
      if (accepted[s]) groups.join(s, accepted);
    std::unordered_map<uint32_t, Step> claimed;  // by group
    std::vector<std::vector<Candidate>> candidates;
    for (uint32_t group = 0; group < accepted.size(); ++group) {
      std::vector<uint32_t> members = groups.members(group);
      if (members.empty() || !accepted[members[0]]) continue;
      std::sort(members.begin(), members.end());
      Step step = make_step(members);
      Estimate estimate = compiler_.estimate(*step.region);
      double others = 0;
      for (uint32_t member : members) others += plan_.steps[member].least_seconds;
      if (!estimate.declined.empty() || estimate.seconds > others) continue;
      step.least_seconds = estimate.seconds;
      step.estimate = std::move(estimate);
      claimed.emplace(group, std::move(step));
    }
    if (!claimed.empty()) put_in(groups, claimed);
  }

 private:
  bool accepts(const Step& step) const {
    if (!step.definition || !step.captured.empty()) return false;
    for (const std::vector<uint32_t>* values : {&step.inputs, &step.outputs})
      for (uint32_t v : *values)
        if (v != kNone && !is_plain_tensor(plan_.values[v].info)) return false;
    StepInfos infos(step, plan_.values);
    infos.add_derived(step, draft_.derived);
    return compiler_.accepts(NodeView(*step.node, infos.inputs, infos.outputs, step.definition));
  }

  // The step that computes these steps, in order.
  Step make_step(const std::vector<uint32_t>& members) {
    auto region = std::make_unique<Graph>();
    Step made;
    std::unordered_map<uint32_t, Value*> inside;
    std::vector<uint32_t> results;
    // Values of decompositions may have one name, or none.
    std::unordered_map<uint32_t, std::string> names_of_values;
    std::unordered_set<std::string> taken;
    const auto name_of = [&](uint32_t v) {
      std::string& name = names_of_values[v];
      if (!name.empty()) return name;
      if (plan_.values[v].value) name = plan_.values[v].value->name();
      if (name.empty() || !taken.insert(name).second) name = format("{}.{}", name, v), taken.insert(name);
      return name;
    };
    const auto find = [&](uint32_t v) -> Value* {
      if (v == kNone) return nullptr;
      Value*& place = inside[v];
      if (place) return place;
      const ValueInfo& info = plan_.values[v].info;
      if (info.contents)
        place = &region->add_constant(info.contents, name_of(v));
      else if (draft_.derived.contains(v))
        place = &region->add_constant(draft_.derived.compute(v), name_of(v));
      else {
        place = &region->add_input(name_of(v), ValueType::tensor(info.dtype, info.shape));
        made.inputs.push_back(v);
      }
      return place;
    };
    for (uint32_t s : members) {
      const Step& step = plan_.steps[s];
      std::vector<Value*> inputs;
      for (uint32_t v : step.inputs) inputs.push_back(find(v));
      std::vector<std::string> names;
      for (uint32_t v : step.outputs) names.push_back(v == kNone ? std::string() : name_of(v));
      Node& node = region->add_node(step.node->op(), inputs, names, step.node->attributes, std::string(report_name(*step.node)));
      for (size_t i = 0; i < step.outputs.size(); ++i)
        if (const uint32_t v = step.outputs[i]; v != kNone) {
          node.output(i)->type = ValueType::tensor(plan_.values[v].info.dtype, plan_.values[v].info.shape);
          inside[v] = node.output(i);
          results.push_back(v);
        }
    }
    const std::vector<bool> read = read_outside(members);
    for (uint32_t v : results)
      if (read[v]) {
        region->add_output(*inside[v]);
        made.outputs.push_back(v);
      }
    auto outer = std::make_unique<Graph>();
    std::vector<Value*> outer_inputs;
    for (uint32_t v : made.inputs)
      outer_inputs.push_back(&outer->add_input(name_of(v), ValueType::tensor(plan_.values[v].info.dtype, plan_.values[v].info.shape)));
    std::vector<std::string> outer_outputs;
    for (uint32_t v : made.outputs) outer_outputs.push_back(name_of(v));
    made.node =
        &outer->add_node(kRegion, outer_inputs, outer_outputs, {},
                         format("{}..{}", report_name(*plan_.steps[members.front()].node), report_name(*plan_.steps[members.back()].node)));
    plan_.graphs.push_back(std::move(outer));
    made.region = std::move(region);
    return made;
  }

  std::vector<bool> read_outside(const std::vector<uint32_t>& members) const {
    std::vector<bool> read(plan_.values.size());
    const auto use = [&](const std::vector<uint32_t>& values) {
      for (uint32_t v : values)
        if (v != kNone) read[v] = true;
    };
    use(plan_.outputs), use(plan_.exports);
    for (uint32_t s = 0, next = 0; s < plan_.steps.size(); ++s) {
      if (next < members.size() && members[next] == s) {
        ++next;
        continue;
      }
      use(plan_.steps[s].inputs), use(plan_.steps[s].captured);
    }
    return read;
  }

  // Puts the regions in the place of their steps, in an order in which each step comes behind those that it reads.
  void put_in(const Groups& groups, std::unordered_map<uint32_t, Step>& claimed) {
    const uint32_t count = static_cast<uint32_t>(plan_.steps.size());
    // Units: the claimed groups, under the number of their first step, and single steps.
    std::vector<uint32_t> unit(count);
    for (uint32_t s = 0; s < count; ++s) {
      const auto& members = groups.members(groups.group_of(s));
      unit[s] = claimed.contains(groups.group_of(s)) ? *std::min_element(members.begin(), members.end()) : s;
    }
    std::vector<std::vector<uint32_t>> readers(count);
    std::vector<uint32_t> waits(count);
    for (uint32_t s = 0; s < count; ++s)
      for (uint32_t before : groups.producers(s))
        if (unit[before] != unit[s]) readers[unit[before]].push_back(unit[s]), ++waits[unit[s]];
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t s = 0; s < count; ++s)
      if (unit[s] == s && waits[s] == 0) ready.push(s);
    std::vector<Step> steps;
    std::vector<std::vector<Candidate>> candidates;
    while (!ready.empty()) {
      const uint32_t s = ready.top();
      ready.pop();
      if (const auto found = claimed.find(groups.group_of(s)); found != claimed.end()) {
        Estimate estimate = found->second.estimate;
        const double seconds = estimate.seconds;
        steps.push_back(std::move(found->second));
        candidates.push_back({{&backend_, &compiler_.scheme(), false, std::move(estimate), seconds}});
      } else {
        steps.push_back(std::move(plan_.steps[s]));
        candidates.push_back(std::move(draft_.candidates[s]));
      }
      for (uint32_t reader : readers[s])
        if (--waits[reader] == 0) ready.push(reader);
    }
    plan_.steps = std::move(steps);
    draft_.candidates = std::move(candidates);
  }

  Draft& draft_;
  PlanParts& plan_;
  Backend& backend_;
  RegionCompiler& compiler_;
};

}  // namespace

void claim_regions(const PlanEnvironment& environment, Draft& draft) {
  for (const auto& backend : environment.backends)
    if (backend->regions()) Regions(draft, *backend).claim();
}

}  // namespace minnow
