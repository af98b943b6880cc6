// SPDX-License-Identifier: Apache-2.0
// Independent branches of a network on the processor and on a device at the same time. A device works while the processor does something
// else until a copy waits for it, so that the time of a plan is that of the longer side, not the sum.
#include <algorithm>
#include <queue>

#include "planner/draft.h"

namespace minnow {
namespace {

using Choice = std::vector<size_t>;

/// Predicts how long a choice of candidates takes with both sides working at once, in the given order of steps.
class Simulation {
 public:
  Simulation(const std::vector<std::vector<Candidate>>& candidates, const std::vector<Step>& steps, const std::vector<PlanValue>& values)
      : candidates_(candidates), steps_(steps), values_(values) {}

  double seconds(const Choice& choice) {
    made_.assign(values_.size(), {});
    for (size_t v = 0; v < values_.size(); ++v) made_[v].memory = values_[v].memory;
    double host = 0;
    free_.clear();
    double end = 0;
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Candidate& candidate = candidates_[s][choice[s]];
      Backend* const memory = memory_of(*candidate.backend);
      double ready = 0;
      for (const std::vector<uint32_t>* inputs : {&steps_[s].inputs, &steps_[s].captured})
        for (uint32_t v : *inputs)
          if (v != kNone) ready = std::max(ready, available(v, inputs == &steps_[s].inputs ? memory : nullptr, host));
      double& free = memory ? free_of(memory) : host;
      free = std::max(free, ready) + candidate.estimate.seconds;
      for (uint32_t v : steps_[s].outputs)
        if (v != kNone) made_[v] = {memory, free, -1};
      end = std::max(end, free);
    }
    return std::max(end, host);
  }

 private:
  struct Made {
    Backend* memory = nullptr;
    double ready = 0, copied = -1;  // in its memory; in the other one, if it was copied
  };
  double& free_of(const Backend* memory) {
    for (auto& [backend, free] : free_)
      if (backend == memory) return free;
    return free_.emplace_back(memory, 0).second;
  }
  // When value v is in that memory. The processor's thread waits for a copy.
  double available(uint32_t v, Backend* memory, double& host) {
    Made& made = made_[v];
    if (made.memory == memory || !moves_between_memories(values_[v])) return made.ready;
    if (made.copied < 0) {
      const Backend& device = *(made.memory ? made.memory : memory);
      made.copied = host = std::max(host, made.ready) + device.device().transfer_time(static_cast<double>(values_[v].bytes));
    }
    return made.copied;
  }
  const std::vector<std::vector<Candidate>>& candidates_;
  const std::vector<Step>& steps_;
  const std::vector<PlanValue>& values_;
  std::vector<Made> made_;
  std::vector<std::pair<const Backend*, double>> free_;  // when each device has done its work
};

/// Chains: steps that read one another's results and nobody else does. A branch between a fork and a join is one.
std::vector<std::vector<uint32_t>> chains_of(const std::vector<Step>& steps, size_t value_count) {
  std::vector<uint32_t> producer(value_count, kNone), readers(value_count, 0);
  for (uint32_t s = 0; s < steps.size(); ++s) {
    for (uint32_t v : steps[s].outputs)
      if (v != kNone) producer[v] = s;
    for (const std::vector<uint32_t>* values : {&steps[s].inputs, &steps[s].captured})
      for (uint32_t v : *values)
        if (v != kNone) ++readers[v];
  }
  std::vector<std::vector<uint32_t>> chains;
  std::vector<uint32_t> chain_of(steps.size(), kNone);
  for (uint32_t s = 0; s < steps.size(); ++s) {
    uint32_t before = kNone, producers = 0;
    for (uint32_t v : steps[s].inputs)
      if (v != kNone && producer[v] != kNone) ++producers, before = readers[v] == 1 ? producer[v] : kNone;
    if (producers == 1 && before != kNone) {
      chain_of[s] = chain_of[before];
      chains[chain_of[s]].push_back(s);
    } else {
      chain_of[s] = static_cast<uint32_t>(chains.size());
      chains.push_back({s});
    }
  }
  return chains;
}

constexpr double kGain = 0.97;           // of the time before: less is not worth the copies' risk
constexpr size_t kMostTrials = 1 << 22;  // steps that are simulated

}  // namespace

void share_work(const PlanEnvironment& environment, const Draft& draft, Choice& choice) {
  const std::vector<Step>& steps = draft.plan.steps;
  const size_t wanted = std::min(environment.wanted_backends, environment.backends.size());
  bool device = false, host = false;
  for (size_t i = 0; i < wanted; ++i) (memory_of(*environment.backends[i]) ? device : host) = true;
  if (!device || !host) return;
  Simulation simulation(draft.candidates, steps, draft.plan.values);
  double now = simulation.seconds(choice);
  const auto chains = chains_of(steps, draft.plan.values.size());
  size_t trials = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::vector<uint32_t>& chain : chains)
      for (size_t i = 0; i < wanted; ++i) {
        if ((trials += steps.size()) > kMostTrials) return;
        // The chain on this backend, as far as it has schemes.
        Choice other = choice;
        for (uint32_t s : chain) {
          double best = 0;
          bool found = false;
          for (size_t c = 0; c < draft.candidates[s].size(); ++c)
            if (const Candidate& candidate = draft.candidates[s][c];
                candidate.backend == environment.backends[i].get() && (!found || candidate.estimate.seconds < best))
              other[s] = c, best = candidate.estimate.seconds, found = true;
        }
        if (other == choice) continue;
        if (const double seconds = simulation.seconds(other); seconds < kGain * now)
          now = seconds, choice = std::move(other), changed = true;
      }
  }
}

void order_for_devices(PlanParts& plan) {
  const uint32_t count = static_cast<uint32_t>(plan.steps.size());
  const auto kind_of = [&](const Step& step) {
    if (step.node->op() == kTransfer && !plan.values[step.outputs[0]].memory) return 2;  // the processor waits for it: as late as possible
    return memory_of(*step.backend) ? 0 : 1;                                             // a device is given its work before all else
  };
  std::vector<int> kind(count);
  bool seen[3] = {};
  for (uint32_t s = 0; s < count; ++s) seen[kind[s] = kind_of(plan.steps[s])] = true;
  if (!seen[0] || !seen[1]) return;
  std::vector<uint32_t> producer(plan.values.size(), kNone), waits(count);
  std::vector<std::vector<uint32_t>> readers(count);
  const auto depend = [&](uint32_t s, uint32_t before) {
    if (before != kNone) readers[before].push_back(s), ++waits[s];
  };
  uint32_t last_impure = kNone;
  for (uint32_t s = 0; s < count; ++s) {
    const Step& step = plan.steps[s];
    for (const std::vector<uint32_t>* values : {&step.inputs, &step.captured})
      for (uint32_t v : *values)
        if (v != kNone) depend(s, producer[v]);
    for (uint32_t v : step.outputs)
      if (v != kNone) producer[v] = s;
    if (step.definition && !step.definition->pure) depend(s, last_impure), last_impure = s;  // they keep their order
  }
  using Ready = std::pair<int, uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (uint32_t s = 0; s < count; ++s)
    if (waits[s] == 0) ready.emplace(kind[s], s);
  std::vector<Step> ordered;
  ordered.reserve(count);
  while (!ready.empty()) {
    const uint32_t s = ready.top().second;
    ready.pop();
    ordered.push_back(std::move(plan.steps[s]));
    for (uint32_t reader : readers[s])
      if (--waits[reader] == 0) ready.emplace(kind[reader], reader);
  }
  plan.steps = std::move(ordered);
}

}  // namespace minnow
