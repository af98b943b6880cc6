// SPDX-License-Identifier: Apache-2.0
// An optimizer made from a row of the table. rule_optimizer.cpp lays out the state, step.cpp changes gradients as Config says and runs the
// row's loops over all tensors at once, state.cpp saves and restores.
#pragma once
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/device_updates.h"
#include "train/rule.h"

namespace minnow::train {

inline constexpr size_t kWorthThreads = 1 << 16;  // elements: below, waking the workers costs more than it gains
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Settings of all optimizers, before the row's own.
enum Common : size_t { kLr, kWeightDecay, kDecoupled, kMaximize, kCommonSettings };
std::vector<SettingRow> all_settings(const Rule& rule);

/// A tensor, its settings, and pointers to its state.
struct Slot {
  std::string name;
  Shape shape;
  DType dtype;
  size_t count;
  std::vector<double> settings;  // the common ones, then the row's own
  size_t variant = 0;            // bit i: switch i is on
  const Loop* loops[3] = {};
  size_t first_task = 0, tasks = 0;
  struct Place {
    void* memory;
    size_t multiply, divide;  // element i is at byte i * multiply / divide; 0: Trainable::curvature
  };
  std::vector<Place> states;
  void *accumulated = nullptr, *average = nullptr, *before_climb = nullptr, *prepared = nullptr, *scratch = nullptr;
  int64_t* t = nullptr;
  double* scalars = nullptr;

  // For the present step.
  bool active = false, is_prepared = false;
  bool is_accumulated = false, is_high = false;  // since the last step; after a step uphill
  void* w = nullptr;
  const void *g = nullptr, *curvature = nullptr;
  Step step{};
  double c[kMostCoefficients] = {};
  float narrow[kMostCoefficients] = {};
  double sums[kMostSums] = {};
};

struct Task {
  size_t slot;
  int64_t first, count;
  double sums[kMostSums] = {};
  bool is_bad = false;
};

/// Memory that a slot points to: a state of the optimizer, or scratch, which has no name.
struct Need {
  std::string name;
  DType dtype;
  Shape shape;
  void** to;
  double fill;
  bool weights;  // begins as a copy of them
  size_t slot;
};

/// The states of an optimizer in another memory.
class StatesElsewhere {
 public:
  virtual ~StatesElsewhere() = default;
  /// Copies them to where the slots have them.
  virtual void fetch(std::span<const Slot> slots) const = 0;
};

class RuleOptimizer final : public Optimizer {
 public:
  RuleOptimizer(const Rule& rule, const Config& config);

  // Steps whose loops a device runs, on weights, gradients and states in its memory (device_step.h).

  /// Why they are not possible; empty: they are. The state has to be there (on_get_parameters).
  std::string keeps_off_devices() const;
  bool clips_norm() const noexcept { return config_.clip_norm > 0; }
  double clip_value() const noexcept { return config_.clip_value; }
  std::span<const Slot> slots() const noexcept { return slots_; }
  const std::shared_ptr<const StatesElsewhere>& newer_states() const noexcept { return newer_; }
  /// The states are there, until somebody asks for them or a step is made here.
  void set_newer_states(std::shared_ptr<const StatesElsewhere> newer) { newer_ = std::move(newer); }
  /// A step as far as it is made here: the coefficients of all slots. `squares`: the sum of the squared gradients, if clips_norm().
  void step_elsewhere(std::span<const Trainable> tensors, double squares);

  const Parameters& on_get_parameters(std::span<const Trainable> tensors) override;
  Cost on_measure(std::span<const Trainable> tensors) const override;
  void on_execute(std::span<const Trainable> tensors) override;
  double on_minimize(std::span<const Trainable> tensors, const std::function<double()>& loss) override;
  std::vector<NamedTensor> state() const override;
  void set_state(std::span<const NamedTensor> state) override;
  int64_t steps() const noexcept override { return steps_; }
  double gradient_norm() const noexcept override { return norm_; }
  bool wants_curvature() const noexcept override {
    return curvature_every_ > 0 && steps_ % curvature_every_ == 0 && (calls_ + 1) % config_.accumulate == 0;
  }
  bool is_uphill() const noexcept override { return climbed_; }
  std::string_view not_finite() const noexcept override { return bad_ ? std::string_view(bad_->name) : std::string_view(); }
  Schedule& schedule() override { return config_.schedule; }
  void set(std::string_view setting, const Setting& value) override;
  void evaluate(std::span<const Trainable> tensors, bool on) override;
  bool takes_one_at_a_time() const noexcept override;
  void begin(std::span<const Trainable> tensors) override;
  void update(size_t tensor, const TensorView& gradient) override;
  void end() override;

 private:
  std::string where() const { return format("optimizer \"{}\"", rule_.name); }
  std::vector<double> settings_for(std::string_view name) const;
  size_t variant_of(std::span<const double> settings) const;
  std::vector<Slot> slots_for(std::span<const Trainable> tensors) const;
  std::vector<Need> needs(std::vector<Slot>& slots) const;
  bool has(const StateRow& row, const Slot& slot) const;
  void make_state(std::span<const Trainable> tensors);
  void check_same(std::span<const Trainable> tensors) const;

  void settle_states();
  void begin_call(std::span<const Trainable> tensors);
  void clip_norm_to(double norm);
  void start_update();
  void prelude(Slot& slot, double scale) const;
  void run(const Loop* loop, size_t phase, void* Slot::*state);
  void run_on_device(size_t phase);
  double norm();
  bool accumulate();
  void execute(std::span<const Trainable> tensors);
  void clip_adaptively();
  bool climb();
  void update_now();
  void update_by_table();
  bool step();

  const Rule& rule_;
  Config config_;
  std::vector<SettingRow> rows_;
  std::vector<Slot> slots_;
  std::vector<Task> tasks_;
  // The slots and tasks that the present call updates, and its threads.
  std::span<Slot> now_;
  std::span<Task> tasks_now_;
  int threads_now_ = 1;
  std::vector<Need> needs_;  // of slots_
  std::unique_ptr<Parameters> parameters_;
  std::vector<Tensor> typed_;
  std::vector<NamedTensor> pending_;  // a state that came before the tensors
  double all_sums_[kMostSums] = {};
  double scale_ = 1;                               // by which the norm is clipped
  std::vector<Member> members_;                    // of the present step
  const std::function<double()>* loss_ = nullptr;  // of on_minimize(), where there is a line search
  double first_loss_ = 0;
  bool is_searching_ = false;
  size_t momentum_ = 0;                // the setting that a schedule may cycle; 0: there is none
  std::vector<std::string> failures_;  // of the tasks of custom optimizers
  double norm_ = std::nan("");
  const Slot* bad_ = nullptr;  // the first whose gradient was not finite in this step
  int64_t steps_ = 0, calls_ = 0, curvature_every_ = 0;
  int threads_ = 1;
  bool climbed_ = false, made_ = false, is_average_ = false;
  const Loop *square_sum_ = &loop_named("square_sum"), *accumulate_ = &loop_named("accumulate"), *average_ = &loop_named("average"),
             *climb_ = &loop_named("climb");
  const WholeLoop* whole_ = nullptr;
  std::shared_ptr<const StatesElsewhere> newer_;
  std::unique_ptr<DeviceUpdates> device_;  // where another backend than these loops computes the rule
};

}  // namespace minnow::train
