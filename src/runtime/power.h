// SPDX-License-Identifier: Apache-2.0
// Ways to use power: how many threads, on which cores, and how long they wait actively. What the words mean is said at with_power()
// (minnow/tune.h).
#pragma once
#include <minnow/minnow.h>

#include <span>
#include <string_view>
#include <vector>

#include "base/topology.h"

namespace minnow {

/// What of a session's options is about threads.
struct Way {
  int threads = 0;
  double active_wait = -1;
  bool pin_threads = false;
  std::vector<int> cores;
  friend bool operator==(const Way&, const Way&) = default;

  static Way of(const SessionOptions& options);
  void set(SessionOptions& options) const;
};

/// The options with what `power` sets, and without it. Throws InvalidArgument for words that mean nothing, and for cores and times that
/// cannot be.
SessionOptions resolved(const SessionOptions& options);
/// Has the process's pool wait and stay where resolved options say so.
void place_threads(const SessionOptions& options);

/// What a mode takes on these cores, of which the process may use the time of `most`; `threads` where that is not 0.
/// Throws InvalidArgument for a word that is no mode.
Way way_of(std::string_view mode, int threads, std::span<const os::Core> cores, int most);

/// Modes are tuned in two turns: how many threads, then where they stay and how long they wait. These are the ways that a mode leaves to be
/// tried beside its own, which is the first: with `threads` 0 ...
std::vector<Way> ways_by_threads(std::string_view mode, int threads, std::span<const os::Core> cores, int most);
/// ... and with as many threads as `chosen` has.
std::vector<Way> ways_by_place(std::string_view mode, const Way& chosen, std::span<const os::Core> cores);

/// Which of the ways a mode takes ("": the least time), from the time of a run and the processor time of all its threads.
size_t best_way(std::string_view mode, std::span<const double> seconds, std::span<const double> cpu_seconds);

}  // namespace minnow
