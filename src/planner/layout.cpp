// SPDX-License-Identifier: Apache-2.0
// Which scheme computes each step, and so in which layout each value lies: local search that starts from the cheapest choice in order of
// execution.
#include "planner/draft.h"

namespace minnow {
namespace {

struct Consumer {
  uint32_t step, input;
};

}  // namespace

std::vector<size_t> choose_candidates(const std::vector<std::vector<Candidate>>& candidates, const std::vector<Step>& steps,
                                      const std::vector<PlanValue>& values, const std::vector<bool>& wants_plain, const Backend* outside) {
  std::vector<std::vector<Consumer>> consumers(values.size());
  std::vector<uint32_t> producer(values.size(), kNone);
  std::vector<uint32_t> producer_output(values.size(), 0);
  for (uint32_t s = 0; s < steps.size(); ++s) {
    for (uint32_t i = 0; i < steps[s].inputs.size(); ++i)
      if (steps[s].inputs[i] != kNone) consumers[steps[s].inputs[i]].push_back({s, i});
    for (uint32_t i = 0; i < steps[s].outputs.size(); ++i)
      if (steps[s].outputs[i] != kNone) producer[steps[s].outputs[i]] = s, producer_output[steps[s].outputs[i]] = i;
  }
  std::vector<size_t> choice(steps.size(), 0);
  std::vector<bool> chosen(steps.size(), false);

  const auto layout_of = [&](uint32_t v) {
    const uint32_t s = producer[v];
    return s == kNone ? Layout::plain : candidates[s][choice[s]].estimate.output_layout(producer_output[v]);
  };
  const auto memory_at = [&](uint32_t v) -> const Backend* {
    const uint32_t s = producer[v];
    if (!kHasDevices || s == kNone) return values[v].memory;
    Backend& backend = *candidates[s][choice[s]].backend;
    return memory_of(backend);
  };
  // A form of a value: where it lies, and how.
  struct Form {
    const Backend* memory;
    Layout layout;
    bool operator==(const Form&) const = default;
  };
  const auto form_of = [&](uint32_t v) { return Form{memory_at(v), layout_of(v)}; };
  const auto wanted_form = [&](uint32_t v, const Candidate& c, uint32_t input) {
    return Form{kHasDevices && moves_between_memories(values[v]) ? memory_of(*c.backend) : memory_at(v), c.estimate.input_layout(input)};
  };
  // Reading and writing the tensor once; a fixed part for the extra step. Between memories: a copy.
  const auto conversion = [&](uint32_t v, const Form& from, const Form& to, const Device& device) {
    const double bytes = static_cast<double>(values[v].bytes);
    const double reordering = device.byte_time(2.0 * bytes) + 2e-7;
    if (kHasDevices && from.memory != to.memory)
      return (to.memory ? to.memory : from.memory)->device().transfer_time(bytes) + (from.layout != to.layout ? reordering : 0);
    return reordering;
  };

  // Cost of candidate c at step s, given its neighbours' choices. A conversion that another consumer needs anyway is free.
  const auto cost = [&](uint32_t s, const Candidate& c, bool look_ahead) {
    double total = c.estimate.seconds;
    const Device& device = c.backend->device();
    const Step& step = steps[s];
    for (uint32_t i = 0; i < step.inputs.size(); ++i) {
      const uint32_t v = step.inputs[i];
      if (v == kNone || values[v].info.kind != ValueInfo::Kind::tensor) continue;
      const Form is = form_of(v), wanted = wanted_form(v, c, i);
      if (wanted == is) continue;
      bool shared = false;
      if (consumers[v].size() <= 16)
        for (const Consumer& other : consumers[v])
          shared |=
              other.step != s && chosen[other.step] && wanted_form(v, candidates[other.step][choice[other.step]], other.input) == wanted;
      if (!shared) total += conversion(v, is, wanted, device);
    }
    if (!look_ahead) return total;
    for (uint32_t i = 0; i < step.outputs.size(); ++i) {
      const uint32_t v = step.outputs[i];
      if (v == kNone) continue;
      const Form made{memory_of(*c.backend), c.estimate.output_layout(i)};
      Form other = wants_plain[v] ? Form{outside, Layout::plain} : made;
      for (const Consumer& user : consumers[v])
        if (other == made) {
          const Candidate& reader = candidates[user.step][choice[user.step]];
          other = {memory_of(*reader.backend), reader.estimate.input_layout(user.input)};
        }
      if (other != made) total += conversion(v, made, other, device);
    }
    return total;
  };

  for (int sweep = 0; sweep < 4; ++sweep) {
    bool changed = false;
    for (uint32_t k = 0; k < steps.size(); ++k) {
      const uint32_t s = sweep % 2 ? static_cast<uint32_t>(steps.size()) - 1 - k : k;
      if (candidates[s].size() > 1) {
        size_t best = 0;
        double best_cost = 0;
        for (size_t c = 0; c < candidates[s].size(); ++c) {
          const double total = cost(s, candidates[s][c], sweep > 0);
          if (c == 0 || total < best_cost) best = c, best_cost = total;
        }
        changed |= best != choice[s];
        choice[s] = best;
      }
      chosen[s] = true;
    }
    if (sweep > 0 && !changed) break;
  }
  return choice;
}

}  // namespace minnow
