// SPDX-License-Identifier: Apache-2.0
// Whether a step gains from several threads is measured while it runs, as it depends on the machine's caches and on how soon its workers
// answer.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace minnow {

/// A trial: once with all threads to warm up, then in turn with one and with all, three times each. As other processes may have misled it,
/// another one follows after some runs, and then ever more rarely.
class ThreadTrial {
 public:
  static constexpr double kSurelyGains = 100e-6;  // seconds; a step that takes longer on all threads is not tried on one

  /// To be called before each run of the step: whether its time is wanted. `step`: its number, so that not all steps are tried at once.
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

  /// On how many of `all` threads that run has to be.
  int threads(int all) const noexcept { return run_ == kRuns ? (chosen_ ? chosen_ : all) : run_ % 2 ? 1 : all; }

  /// The time that was wanted.
  void note(double seconds, int all) noexcept {
    const size_t way = run_ % 2 ? 0 : 1;
    if (run_ > 0 && (run_ <= 2 || seconds < seconds_[way])) seconds_[way] = seconds;
    if (run_ == 0 && seconds > kSurelyGains) {
      decide(all);
    } else if (++run_ == kRuns) {
      // All threads where it makes no difference: they find their data in their own caches in the next step.
      decide(seconds_[0] < 0.95 * seconds_[1] ? 1 : all);
    }
  }

  /// What the last trial found; 0: there was none.
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
