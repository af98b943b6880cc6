// SPDX-License-Identifier: Apache-2.0
// Measures every accepting scheme for every node of a model, in place of the planner's estimates.
#pragma once
#include <minnow/minnow.h>

namespace minnow {

struct Measurement {
  std::vector<SchemeTime> times;               // the least of several runs, of every node and scheme that could serve it
  PlanReport report;                           // the plan as it is without them
  double by_estimate = 0, by_measurement = 0;  // seconds of a run, chosen either way; the least of runs taken in turn
};

/// Told the part of the work that is done, from 0 to 1.
using PartDone = std::function<void(double part)>;

/// Runs the model several times for each of its schemes, about `seconds` in all.
Measurement measure_schemes(const Model& model, const SessionOptions& options, std::span<const TensorView> inputs, double seconds,
                            const PartDone& progress = {});

/// Runs in turn, so that noise hits all alike, for about `seconds` and at least `least` rounds; the least time of each.
std::vector<double> race(std::vector<Session>& sessions, std::span<const TensorView> inputs, double seconds, int least = 20,
                         const PartDone& progress = {});

}  // namespace minnow
