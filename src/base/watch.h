// SPDX-License-Identifier: Apache-2.0
// What a thread looks at from time to time while it computes something long: whether Ctrl-C was pressed, say.
#pragma once
#include <chrono>

#include "base/function_ref.h"

namespace minnow {

/// While it lives, runs on this thread call `look` about every tenth of a second, between nodes. What it throws ends the run. Costs a run
/// of few nodes nothing.
class Watch {
 public:
  explicit Watch(FunctionRef<void()> look) noexcept : look_(look), before_(current_) { current_ = this; }
  ~Watch() { current_ = before_; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Of this thread; null where nobody watches.
  static Watch* current() noexcept { return current_; }

  void after_node() {
    if (++nodes_ % kNodes != 0) return;
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    const bool is_first = next_ == Clock::time_point::min();
    next_ = now + std::chrono::milliseconds(100);
    if (!is_first) look_();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kNodes = 4;  // asking for the time takes as long as a small node
  FunctionRef<void()> look_;
  Watch* const before_;
  unsigned nodes_ = 0;
  Clock::time_point next_ = Clock::time_point::min();
  constinit inline static thread_local Watch* current_ = nullptr;
};

}  // namespace minnow
