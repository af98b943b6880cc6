// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/os.h"
#include "base/thread_pool.h"
#include "base/watch.h"

namespace minnow {
namespace {

int cores() {
  static const int kCores = std::max(1, os::available_cores());  // asking takes microseconds
  return kCores;
}

std::atomic<int> limit{0};  // 0: none

ThreadPool& pool_with_workers() {
  static std::atomic<const ThreadPool*> reserved{nullptr};  // a fork makes a new pool
  ThreadPool& pool = ThreadPool::process();
  if (reserved.load(std::memory_order_relaxed) != &pool) {
    pool.reserve(cores());
    reserved.store(&pool, std::memory_order_relaxed);
  }
  return pool;
}

}  // namespace

int most_threads() noexcept {
  const int most = limit.load(std::memory_order_relaxed);
  return most > 0 ? std::min(most, cores()) : cores();
}
void set_most_threads(int count) noexcept { limit.store(std::max(count, 0), std::memory_order_relaxed); }

void in_parts(int64_t count, int64_t cost, FunctionRef<void(int64_t first, int64_t last)> task) {
  constexpr int64_t kPart = 1 << 16;  // elements that are worth a thread
  if (count <= 0) return;
  const double work = static_cast<double>(count) * static_cast<double>(std::max<int64_t>(cost, 1));
  if (work < 2 * kPart || count < 2) return task(0, count);
  const int64_t parts = std::min<int64_t>(count, static_cast<int64_t>(std::min(work / kPart, 256.0)));
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  {
    const Watch::Interruptible may_stop;
    pool_with_workers().run(static_cast<size_t>(parts), most_threads(), [&](size_t part) {
      const int64_t i = static_cast<int64_t>(part);
      try {
        task(count / parts * i + std::min(i, count % parts), count / parts * (i + 1) + std::min(i + 1, count % parts));
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    });
  }
  if (failure) std::rethrow_exception(failure);
  if (const Watch* const now = Watch::current(); now && now->reason() != Watch::Reason::none) now->stop();
}

}  // namespace minnow
