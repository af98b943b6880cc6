// SPDX-License-Identifier: Apache-2.0
// Columns of a value that steps read where they lie: queries, keys and values of an attention are often slices of one joint product.
#include <algorithm>

#include "planner/draft.h"

namespace minnow {
namespace {

class ColumnReaders {
 public:
  explicit ColumnReaders(PlanParts& plan) : plan_(plan), readers_(plan.values.size()), is_read_elsewhere_(plan.values.size(), false) {
    for (uint32_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      for (uint32_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] != kNone) readers_[step.inputs[i]].push_back({s, i});
      for (uint32_t v : step.captured) is_read_elsewhere_[v] = true;
    }
    for (const std::vector<uint32_t>* values : {&plan.outputs, &plan.exports})
      for (uint32_t v : *values)
        if (v != kNone) is_read_elsewhere_[v] = true;
  }

  void run() {
    std::vector<Step> kept;
    for (Step& step : plan_.steps) replaced_.push_back(may_replace(step));
    for (uint32_t s = 0; s < plan_.steps.size(); ++s)
      if (replaced_[s]) replace(plan_.steps[s]);
    for (uint32_t s = 0; s < plan_.steps.size(); ++s)
      if (!replaced_[s]) kept.push_back(std::move(plan_.steps[s]));
    plan_.reads_columns = kept.size() != plan_.steps.size();
    plan_.steps = std::move(kept);
  }

 private:
  struct Reader {
    uint32_t step, input;
  };

  // Whether all readers of the step's outputs can read them within its input.
  bool may_replace(const Step& step) const {
    if (step.estimate.first_column < 0) return false;
    const PlanValue& whole = plan_.values[step.inputs[0]];
    if (whole.place == PlanValue::Place::constant || whole.layout != Layout::plain) return false;
    for (uint32_t v : step.outputs) {
      if (v == kNone) continue;
      const PlanValue& part = plan_.values[v];
      if (is_read_elsewhere_[v] || part.layout != Layout::plain || part.memory != whole.memory) return false;
      for (const Reader& reader : readers_[v])
        if (!accepts(plan_.steps[reader.step], reader.input) || plan_.steps[reader.step].backend != step.backend) return false;
    }
    return true;
  }
  static bool accepts(const Step& step, uint32_t input) {
    return input < 64 && (step.estimate.column_inputs >> input & 1) && step.estimate.overwrites != static_cast<int>(input);
  }

  void replace(const Step& step) {
    const uint32_t whole = step.inputs[0];
    InputColumns columns{step.estimate.first_column, plan_.values[whole].info.shape.back()};
    for (uint32_t v : step.outputs) {
      if (v == kNone) continue;
      for (const Reader& reader : readers_[v]) {
        Step& reading = plan_.steps[reader.step];
        if (reading.seen.empty()) reading.seen = reading.inputs, reading.columns.resize(reading.inputs.size());
        reading.inputs[reader.input] = whole;
        reading.columns[reader.input] = columns;
      }
      columns.first += plan_.values[v].info.shape.back();
    }
  }

  PlanParts& plan_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<bool> is_read_elsewhere_, replaced_;
};

}  // namespace

void read_columns(PlanParts& plan) {
  if (std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.estimate.column_inputs != 0; }))
    ColumnReaders(plan).run();
}

}  // namespace minnow
