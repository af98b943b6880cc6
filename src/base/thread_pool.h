// SPDX-License-Identifier: Apache-2.0
// The process's threads: workers that wait actively for a short while after each job and then sleep.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace minnow {

class ThreadPool {
 public:
  /// The one pool of the process, made at the first call, and anew after a fork. It grows to the largest number of threads asked for.
  static ThreadPool& process();
  ~ThreadPool();

  /// Calls task(0) ... task(tasks - 1), each once, on up to `threads` threads, the caller's among them; returns when all have returned.
  /// Which thread runs a task is not determined. Where another job is running already (another session, or a task that calls this),
  /// all tasks run on the calling thread. Allocates nothing once the threads exist. Tasks must not throw.
  void run(size_t tasks, int threads, FunctionRef<void(size_t task)> task) noexcept;

  /// Makes sure that jobs of that many threads find their workers (no more than the machine has cores). `pin`: the workers stay on one core
  /// each from now on.
  void reserve(int threads, bool pin = false);

 private:
  ThreadPool();
  void work(int worker);
  static constexpr int64_t kClosed = -(int64_t{1} << 40);
  alignas(64) std::atomic<bool> busy_{false};
  alignas(64) std::atomic<unsigned> generation_{0};
  alignas(64) std::atomic<int64_t> places_{kClosed};  // for workers, of the job that runs; none are left at 0 and below
  alignas(64) std::atomic<size_t> finished_{0};
  alignas(64) std::atomic<size_t> next_{0};
  std::atomic<int> sleepers_{0};
  size_t tasks_ = 0;
  const FunctionRef<void(size_t)>* task_ = nullptr;
  std::atomic<bool> stop_{false}, pinned_{false};
  std::vector<std::thread> workers_;
};

}  // namespace minnow
