// SPDX-License-Identifier: Apache-2.0
// The process's threads: workers that wait actively for a short while after each job and then sleep.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "base/watch.h"

namespace minnow {

class ThreadPool {
 public:
  /// The one pool of the process, made at the first call, and anew after a fork. It grows to the largest number of threads asked for.
  static ThreadPool& process();
  ~ThreadPool();

  static constexpr size_t kMostRunners = 128;
  /// Calls task(0, runner) ... task(tasks - 1, runner), each once, on up to min(threads, tasks, kMostRunners) threads, including the
  /// caller's, and returns when all have returned. A runner is a number below that limit and one thread at a time. Each runner begins with
  /// a range of neighbouring tasks. In repeated jobs of the same size it gets the same thread and range (the caller's thread has the
  /// first), so that data stays in its caches; runners that finish help others from the end. If another job is running (another session, or
  /// a task that calls this), all tasks run on the calling thread. Allocates nothing once the threads exist. Tasks must not throw. Within
  /// Watch::Interruptible of the calling thread, tasks that have not begun are skipped once the watch says stop.
  void run(size_t tasks, int threads, FunctionRef<void(size_t task, size_t runner)> task) noexcept;
  void run(size_t tasks, int threads, FunctionRef<void(size_t task)> task) noexcept {
    run(tasks, threads, FunctionRef<void(size_t, size_t)>([&](size_t i, size_t) { task(i); }));
  }

  /// Makes sure that jobs of that many threads find their workers (no more than the machine has cores).
  void reserve(int threads);
  /// From their next wait on the workers stay on these cores (none: all that the process may use); `pin`: on one each, in their order, of
  /// which the first is left for the caller.
  void place(std::span<const int> cores, bool pin);

 private:
  ThreadPool();
  void work(size_t worker);
  void take_part(size_t runner, Watch* watch) noexcept;
  void take_place(size_t worker) noexcept;
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0};  // of tasks: the first in the low half, the end in the high half
  };
  static constexpr int64_t kClosed = -(int64_t{1} << 40);
  alignas(64) std::atomic<bool> busy_{false};
  alignas(64) std::atomic<unsigned> generation_{0};
  alignas(64) std::atomic<int64_t> places_{kClosed};  // for workers, of the job that runs; none are left at 0 and below
  alignas(64) std::atomic<size_t> finished_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  size_t runners_ = 0;
  const FunctionRef<void(size_t, size_t)>* task_ = nullptr;
  Watch* watch_ = nullptr;  // that the tasks ask
  Share shares_[kMostRunners];
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> placements_{0};  // calls of place() so far
  std::vector<int> cores_;
  bool pin_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace minnow
