// SPDX-License-Identifier: Apache-2.0
// When a device worked on the steps of a profiled run, by its own time stamps: other steps run meanwhile as in any run.
#pragma once
#include <chrono>
#include <vector>

#include "runtime/plan_state.h"

namespace minnow {

class DeviceTimes {
 public:
  using Clock = std::chrono::steady_clock;
  /// For the devices of the plan that have stamps. Waits for their earlier work. `active` is true meanwhile: a device has one list of
  /// stamps, so runs within this run (of subgraphs) must not begin another.
  DeviceTimes(const Plan& plan, bool& active);
  ~DeviceTimes();
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;
  /// Runs the kernel between two stamps; false if the step is not on one of these devices.
  bool run(size_t number, const Step& step, RunContext& context);
  /// After the devices have finished: f(step, begin, seconds) for each step that ran so.
  void report(FunctionRef<void(size_t number, Clock::time_point begin, double seconds)> f);

 private:
  struct Track {
    Backend* device;
    Clock::time_point begin;  // of its first stamp
    std::vector<size_t> steps;
  };
  bool& active_;
  std::vector<Track> tracks_;
};

}  // namespace minnow
