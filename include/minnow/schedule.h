// SPDX-License-Identifier: Apache-2.0
// Schedules: factors on a learning rate that depend on the number of steps made before.
#pragma once
#include <minnow/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace minnow {

/// The value of a setting. Integers serve where numbers are expected.
using Setting = std::variant<bool, int64_t, double, std::string, std::vector<double>>;
using Settings = std::vector<std::pair<std::string, Setting>>;

/// A schedule, by value. Copies go on by themselves.
class MINNOW_API Schedule {
 public:
  /// Always 1.
  Schedule();
  ~Schedule();
  Schedule(const Schedule& other);
  Schedule(Schedule&& other) noexcept;
  Schedule& operator=(const Schedule& other);
  Schedule& operator=(Schedule&& other) noexcept;

  /// t: steps made before. schedule_names() and describe_schedule() list names and settings:
  ///   constant     factor until step `steps`, then 1
  ///   linear       from `start` to `end` over `steps`
  ///   step         gamma^floor(t / every)
  ///   multi_step   gamma^(number of `milestones` at or below t)
  ///   exponential  gamma^t
  ///   polynomial   (1 - t / steps)^power
  ///   cosine       from 1 to `end` over `steps` by half a cosine, then `end`
  ///   warm_restarts  cosine again and again; each time `multiple` times as long as before (Loshchilov, Hutter 2017)
  ///   cyclic       up from `base` to 1 in `up` steps and down in `down`; mode triangular, triangular2 or exp_range (Smith 2017)
  ///   one_cycle    up from 1 / div to 1, down to 1 / (div final_div), by cosines or lines (Smith, Topin 2019)
  ///   plateau      times `factor` where observe() got nothing better for `patience` calls
  ///   inverse      (1 + gamma t)^-power
  ///   warm_up      from `start` to 1 over `steps`, then 1
  /// Throws InvalidArgument for an unknown name or setting, or a value out of range.
  static Schedule create(std::string_view name, const Settings& settings = {});
  /// f(t).
  static Schedule lambda(std::function<double(int64_t)> f);
  /// The first schedule until milestones[0], then the second from its beginning, and so on; one milestone fewer than schedules, rising.
  static Schedule sequential(std::vector<Schedule> schedules, std::vector<int64_t> milestones);
  /// The product.
  static Schedule chained(std::vector<Schedule> schedules);

  /// The factor after t >= 0 steps.
  double at(int64_t t) const;
  /// The momentum (sgd's "momentum", beta1 of adam ...) after t steps, where "cyclic" or "one_cycle" has cycle_momentum: from max_momentum
  /// to base_momentum as the factor rises, and back. NaN elsewhere: optimizers keep theirs.
  double momentum_at(int64_t t) const;
  /// Tells "plateau" of a measurement; others ignore it.
  void observe(double metric);
  /// All that observe() changes, for saving; empty for schedules of t alone.
  std::vector<double> state() const;
  void set_state(const std::vector<double>& state);

 private:
  struct Rule;
  explicit Schedule(std::unique_ptr<Rule> rule);
  std::unique_ptr<Rule> rule_;  // null: always 1
};

/// All names that create() knows.
MINNOW_API std::vector<std::string> schedule_names();

}  // namespace minnow
