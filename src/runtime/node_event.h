// SPDX-License-Identifier: Apache-2.0
// A step of a running plan as callbacks see it: plain layouts only, whatever lies in memory.
#pragma once
#include <minnow/minnow.h>

#include <memory>
#include <vector>

#include "runtime/plan_state.h"

namespace minnow {

/// Lives from before the callback before a step until the step has run, or around the callback after it. Inputs that a callback replaces
/// lie in memory of the event, which the step's input slots are turned to for that time.
class StepEvent final : public NodeEvent {
 public:
  enum class Moment : uint8_t { before, after };
  /// `number`: of the step.
  StepEvent(PlanState& state, size_t number, Moment moment)
      : plan_(state.plan()), step_(plan_.steps()[number]), state_(state.steps()[number]), moment_(moment) {}
  ~StepEvent();

  std::string_view name() const override { return step_.node->name(); }
  std::string_view op() const override { return step_.node->op(); }
  std::string_view scheme() const override { return step_.scheme->name; }
  size_t input_count() const override { return step_.inputs.size(); }
  size_t output_count() const override { return step_.outputs.size(); }
  std::string_view input_name(size_t i) const override;
  std::string_view output_name(size_t i) const override;
  Tensor input(size_t i) const override;
  void replace_input(size_t i, const TensorView& value) override;
  Tensor output(size_t i) const override;
  void replace_output(size_t i, const TensorView& value) override;

 private:
  /// The index of the plan's value, a tensor.
  uint32_t find(std::string_view what, size_t i, const std::vector<uint32_t>& values, Moment moment) const;
  void check_same_form(std::string_view what, size_t i, const TensorView& is, const TensorView& value) const;
  bool is_packed(uint32_t v) const { return plan_.values()[v].layout == Layout::packed; }
  Tensor read(const TensorView& view, uint32_t v) const;
  void write(const TensorView& value, uint32_t v, void* to) const;
  void for_each_lane(const TensorView& view, const Device& device, FunctionRef<void(size_t packed, size_t plain, size_t bytes)> f) const;

  struct Replacement {
    size_t input;
    Slot* original;
    std::unique_ptr<Slot> slot;
  };
  const Plan& plan_;
  const Step& step_;
  StepState& state_;
  const Moment moment_;
  std::vector<Replacement> replacements_;
  std::vector<std::shared_ptr<void>> device_memory_;  // of replaced inputs
};

}  // namespace minnow
