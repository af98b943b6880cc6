// SPDX-License-Identifier: Apache-2.0
// Stops a computation from outside: Ctrl-C, a time limit, another thread.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include "base/function_ref.h"

namespace minnow {

/// Belongs to the thread that makes it, which must also destroy it; the watches of a thread nest. Work of that thread, and work that the
/// pool computes for it, regularly asks the innermost watch whether to go on. Once a watch, or one around it, says stop, the answer stays
/// stop.
///
/// There are two ways to ask. check() throws; importers, passes, planning and reference loops call it. stopping() returns true; kernels
/// call it between blocks and then return early, and the pool starts no more tasks. Both cost a few nanoseconds: they read the clock about
/// once per millisecond, and only if a watch has a deadline or a look.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Reason : uint8_t { none, cancelled, time_limit, thrown };

  /// Calls `look` on this thread about every tenth of a second. An exception from it stops the computation.
  explicit Watch(FunctionRef<void()> look) noexcept : look_(&look_function_), look_function_(look), timed_(true) { enter(); }
  /// Stops the computation once `cancelled` is true or `deadline` has passed (max(): never). `cancelled` outlives the watch.
  Watch(const std::atomic<bool>& cancelled, Clock::time_point deadline) noexcept
      : cancelled_(&cancelled), look_function_(kNothing), timed_(deadline != Clock::time_point::max()), deadline_(deadline) {
    enter();
  }
  ~Watch() { current_ = before_; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// The watch of this thread, or of the job that this worker has joined; null if nobody watches.
  static Watch* current() noexcept { return current_; }

  /// Throws Cancelled, or the exception of a look, if the computation of this thread should stop.
  static void check() {
    if (Watch* const watch = current_; watch && watch->should_stop()) watch->stop();
  }
  /// Whether a kernel should return at once, whatever its outputs hold. Called between blocks of some microseconds. True only within
  /// Interruptible.
  static bool stopping() noexcept {
    Watch* const watch = interruptible();
    return watch && watch->should_stop();
  }

  /// Whether the computation should stop. Workers of the pool see the answer that the watch's thread found.
  bool should_stop() noexcept {
    if (reason_.load(std::memory_order_relaxed) != Reason::none) return true;
    if (owner_ != &current_ || --left_ > 0) return false;
    return look();
  }
  /// The same at the beginning of something whose length is unknown: a node.
  bool should_stop_before_node() noexcept {
    begin_job();
    if (deadline_ != Clock::time_point::max()) left_ = 1;
    return should_stop();
  }
  Reason reason() const noexcept { return reason_.load(std::memory_order_relaxed); }
  /// Throws the reason found by should_stop(). `place` is added to the sentence: " in model.onnx: node ...".
  [[noreturn]] void stop(std::string_view place = {}) const;

  /// While it lives, kernels of this thread may return early and the pool may leave tasks out. Whoever makes one looks at reason()
  /// before anything uses the results.
  class Interruptible {
   public:
    explicit Interruptible(bool may = true) noexcept : watch_(current_ && current_->is_mine() ? current_ : nullptr) {
      if (watch_) before_ = watch_->interruptible_, watch_->interruptible_ = may;
    }
    ~Interruptible() {
      if (watch_) watch_->interruptible_ = before_;
    }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

   private:
    Watch* const watch_;
    bool before_ = false;
  };
  /// While it lives, within Interruptible, everything is computed whole again: packed weights, tasks of custom operators.
  struct Whole : Interruptible {
    Whole() noexcept : Interruptible(false) {}
  };

  /// The watch that tasks of this thread's jobs should ask, or null.
  static Watch* interruptible() noexcept {
    Watch* const watch = current_;
    return watch && (watch->interruptible_ || !watch->is_mine()) ? watch : nullptr;
  }
  /// The first checks of a job come sooner: nothing is known of how far they are apart.
  void begin_job() noexcept {
    if (!is_mine()) return;
    stride_ = kFirstChecks;
    if (left_ > kFirstChecks) left_ = kFirstChecks;
  }
  /// A worker that computes tasks of a job that `watch` (or nobody: null) watches.
  class Joined {
   public:
    explicit Joined(Watch* watch) noexcept : before_(current_) { current_ = watch; }
    ~Joined() { current_ = before_; }
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;

   private:
    Watch* const before_;
  };

 private:
  static constexpr int kFirstChecks = 4;  // reading the clock takes as long as a small node
  static constexpr auto kNothing = [] {};
  void enter() noexcept {
    owner_ = &current_;
    before_ = current_;
    if (before_ && before_->is_mine()) timed_ |= before_->timed_;
    current_ = this;
  }
  bool is_mine() const noexcept { return owner_ == &current_; }
  bool look() noexcept;
  bool finds(Clock::time_point now) noexcept;

  std::atomic<Reason> reason_{Reason::none};
  bool interruptible_ = false;
  int left_ = kFirstChecks, stride_ = kFirstChecks;  // checks until the next look, and between looks
  const void* owner_ = nullptr;                      // names the thread
  Watch* before_ = nullptr;
  const std::atomic<bool>* cancelled_ = nullptr;
  const FunctionRef<void()>* look_ = nullptr;
  FunctionRef<void()> look_function_;
  bool timed_;  // it, or one around it, wants to know the time
  Clock::time_point deadline_ = Clock::time_point::max(), next_ = Clock::time_point::min(), last_{};
  std::exception_ptr thrown_;
  constinit inline static thread_local Watch* current_ = nullptr;
};

/// Calls Watch::check() once for some ten thousand units of work, for loops over single elements.
class Pace {
 public:
  Pace() noexcept : done_(carried_) {}
  ~Pace() { carried_ = done_; }  // short inner loops add up
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;
  void step(size_t work = 1) {
    if ((done_ += work) < kWork) return;
    done_ = 0;
    Watch::check();
  }

 private:
  static constexpr size_t kWork = 16384;
  size_t done_;
  constinit inline static thread_local size_t carried_ = 0;
};

}  // namespace minnow
