// SPDX-License-Identifier: Apache-2.0
#include "base/watch.h"

#include <algorithm>

#include "base/error.h"

namespace minnow {
namespace {

// Reading the clock this often costs nothing, and nobody notices that a run stops so much later.
constexpr std::chrono::microseconds kOften{100}, kSeldom{1000};
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr int kMostChecks = 1 << 14;

}  // namespace

bool Watch::finds(Clock::time_point now) noexcept {
  Reason found = Reason::none;
  if (cancelled_ && cancelled_->load(std::memory_order_relaxed)) {
    found = Reason::cancelled;
  } else if (now > deadline_) {
    found = Reason::time_limit;
  } else if (look_ && now >= next_) {
    const bool is_first = next_ == Clock::time_point::min();
    next_ = now + kBetweenLooks;
    if (!is_first) try {
        (*look_)();
      } catch (...) {
        thrown_ = std::current_exception();
        found = Reason::thrown;
      }
  }
  if (found != Reason::none) reason_.store(found, std::memory_order_relaxed);
  return found != Reason::none;
}

bool Watch::look() noexcept {
  const Clock::time_point now = timed_ ? Clock::now() : Clock::time_point::min();
  if (timed_) {
    const bool is_first = last_ == Clock::time_point();
    const auto passed = now - last_;
    last_ = now;
    if (is_first)
      stride_ = kFirstChecks;
    else if (passed < kOften)
      stride_ = std::min(2 * stride_, kMostChecks);
    else if (passed > kSeldom)
      stride_ = std::max(1, stride_ / 4);
  }
  left_ = stride_;
  for (Watch* watch = this; watch && watch->is_mine(); watch = watch->before_) {
    if (watch->reason() == Reason::none && !watch->finds(now)) continue;
    if (watch != this) {
      thrown_ = watch->thrown_;
      reason_.store(watch->reason(), std::memory_order_relaxed);
    }
    return true;
  }
  return false;
}

void Watch::stop(std::string_view place) const {
  if (reason() == Reason::thrown && thrown_) std::rethrow_exception(thrown_);
  if (reason() == Reason::time_limit) throw TimeLimitReached(sentence_of("the time limit was reached{}", erase(place)));
  throw Cancelled("the run was cancelled{}", place);
}

}  // namespace minnow
