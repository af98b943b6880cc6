// SPDX-License-Identifier: Apache-2.0
// Power modes: they set how many threads run, on which cores, and how long the threads wait actively before they sleep. with_power()
// (minnow/tune.h) documents the words.
#pragma once
#include <minnow/minnow.h>

#include <span>
#include <string_view>
#include <vector>

#include "base/topology.h"

namespace minnow {

/// The options of a session that concern threads.
struct Way {
  int threads = 0;
  double active_wait = -1;
  bool pin_threads = false;
  std::vector<int> cores;
  friend bool operator==(const Way&, const Way&) = default;

  static Way of(const SessionOptions& options);
  void set(SessionOptions& options) const;
};

/// The options with `power` replaced by the settings that it stands for. Throws InvalidArgument for unknown words, and for impossible cores
/// and times.
SessionOptions resolved(const SessionOptions& options);
/// Applies the waiting times and cores of resolved options to the process's pool.
void place_threads(const SessionOptions& options);

/// The settings of a mode on these cores, if the process may use at most `most` of them; `threads` overrides the number of threads unless
/// it is 0. Throws InvalidArgument for an unknown mode.
Way way_of(std::string_view mode, int threads, std::span<const os::Core> cores, int most);

/// A mode is tuned in two rounds: first the number of threads, then their cores and waiting times. Both lists begin with the mode's own
/// settings. The candidates of the first round, if `threads` is 0 ...
std::vector<Way> ways_by_threads(std::string_view mode, int threads, std::span<const os::Core> cores, int most);
/// ... and those of the second round, with as many threads as `chosen`.
std::vector<Way> ways_by_place(std::string_view mode, const Way& chosen, std::span<const os::Core> cores);

/// The index of the setting that a mode prefers ("": the fastest), from the time of a run and the processor time of all its threads.
size_t best_way(std::string_view mode, std::span<const double> seconds, std::span<const double> cpu_seconds);

}  // namespace minnow
