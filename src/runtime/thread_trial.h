// SPDX-License-Identifier: Apache-2.0
// Measures during normal runs whether a step is faster on several threads. The answer depends on the caches and on how quickly worker
// threads wake up, so it cannot be predicted.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace minnow {

/// A trial runs once on all threads to warm up, then alternately on one thread and on all, three times each. Because other processes may
/// disturb it, the trial is repeated after some runs, and then less and less often.
class ThreadTrial {
 public:
  static constexpr double kSurelyGains = 100e-6;  // seconds; a step that takes longer on all threads is not tried on one

  /// Call before each run of the step. True if its time is wanted. `step` is its number; it staggers the trials of a plan's steps.
  bool begin(size_t step) noexcept {
    if (run_ == kRuns) {
      if (wait_ > 0) {
        --wait_;
        return false;
      }
      run_ = 0;
    }
    step_ = static_cast<uint32_t>(step % 8);
    return true;
  }

  /// The number of threads for this run, at most `all`.
  int threads(int all) const noexcept { return run_ == kRuns ? (chosen_ ? chosen_ : all) : run_ % 2 ? 1 : all; }

  /// Records the time of a run for which begin() returned true.
  void note(double seconds, int all) noexcept {
    const size_t way = run_ % 2 ? 0 : 1;
    if (run_ > 0 && (run_ <= 2 || seconds < seconds_[way])) seconds_[way] = seconds;
    if (run_ == 0 && seconds > kSurelyGains) {
      decide(all);
    } else if (++run_ == kRuns) {
      // Prefer all threads in a tie: the next step finds its data in the caches of the threads that wrote it.
      decide(seconds_[0] < 0.95 * seconds_[1] ? 1 : all);
    }
  }

  /// The result of the last trial; 0: no trial yet.
  int chosen() const noexcept { return chosen_; }

 private:
  static constexpr uint8_t kRuns = 7;
  static constexpr uint32_t kFirstWait = 64, kLastWait = 1 << 15;
  void decide(int threads) noexcept {
    run_ = kRuns;
    chosen_ = threads;
    interval_ = interval_ ? std::min(2 * interval_, kLastWait) : kFirstWait;
    wait_ = interval_ + interval_ / 8 * step_;
  }
  uint8_t run_ = 0;  // of a trial; kRuns: none is under way
  int chosen_ = 0;
  uint32_t wait_ = 0, interval_ = 0, step_ = 0;  // wait_: runs until the next trial
  double seconds_[2] = {0, 0};                   // the least with one thread, with all
};

}  // namespace minnow
