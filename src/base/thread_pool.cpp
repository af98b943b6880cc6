// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/os.h"
#include "base/thread_wait.h"
#include "base/topology.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace minnow {
namespace {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Longer than the gaps between the operators of a network, shorter than a waste that a user would notice. A pause takes 10 to 140 cycles,
// by the processor, so that it is the clock that counts.
constexpr std::chrono::microseconds kActiveWait{50};
std::atomic<std::chrono::microseconds> g_active_wait{kActiveWait};
// How long a job waits actively for its last worker. By then, the worker has lost its core to another process and needs this one.
constexpr std::chrono::microseconds kYieldAfter{20};

constexpr uint64_t range_of(size_t first, size_t end) { return uint64_t{end} << 32 | first; }
constexpr size_t first_of(uint64_t range) { return range & UINT32_MAX; }
constexpr size_t end_of(uint64_t range) { return range >> 32; }

// The number of a job encodes its number of runners, so that a worker can tell from this number alone whether it takes part.
constexpr size_t runners_of(unsigned generation) { return generation % (ThreadPool::kMostRunners * 2); }

// Calls until() until it is true, for at most `most`. Gives its last answer.
template <class Until>
bool wait_actively(std::chrono::microseconds most, Until until) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 64; ++i) {  // most waits end here, before the clock is asked
    if (until()) return true;
    pause();
  }
  const Clock::time_point end = Clock::now() + most;
  do
    for (int i = 0; i < 32; ++i) {
      if (until()) return true;
      pause();
    }
  while (Clock::now() < end);
  return false;
}

std::atomic<ThreadPool*> g_pool{nullptr};
std::mutex g_mutex;
std::atomic<bool> g_fork_handler{false};

void forget_pool_after_fork() {
  // The child has no workers, and the parent's objects may be in any state: leave them alone and begin anew.
  g_pool.store(nullptr, std::memory_order_relaxed);
  new (&g_mutex) std::mutex;
}

}  // namespace

void set_active_wait(double seconds) noexcept {
  g_active_wait.store(std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)), std::memory_order_relaxed);
}

ThreadPool& ThreadPool::process() {
  if (ThreadPool* pool = g_pool.load(std::memory_order_acquire)) return *pool;
  const std::lock_guard lock(g_mutex);
  if (ThreadPool* pool = g_pool.load(std::memory_order_relaxed)) return *pool;
  if (!g_fork_handler.exchange(true)) os::after_fork_in_child(forget_pool_after_fork);
  // Never destroyed: at exit other threads may still run, and joining workers from a static destructor can hang.
  ThreadPool* pool = new ThreadPool;
  g_pool.store(pool, std::memory_order_release);
  return *pool;
}

ThreadPool::ThreadPool() = default;

ThreadPool::~ThreadPool() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::reserve(int threads) {
  const size_t wanted = static_cast<size_t>(std::max(0, std::min(threads, os::available_cores()) - 1));
  const std::lock_guard lock(g_mutex);
  try {
    while (workers_.size() < wanted) workers_.emplace_back([this, worker = workers_.size() + 1] { work(worker); });
  } catch (const std::system_error& error) {
    throw out_of_memory("the system refuses thread {} of {}: {}; ask for fewer threads", workers_.size() + 2, wanted + 1, error.what());
  }
}

void ThreadPool::place(std::span<const int> cores, bool pin) {
  std::vector<int> wanted(cores.begin(), cores.end());
  if (wanted.empty()) wanted = os::allowed_cores();
  const std::lock_guard lock(g_mutex);
  if (pin == pin_ && wanted == cores_) return;
  cores_ = std::move(wanted);
  pin_ = pin;
  placements_.fetch_add(1, std::memory_order_release);
}

void ThreadPool::take_place(size_t worker) noexcept {
  const std::lock_guard lock(g_mutex);
  if (cores_.empty()) return;
  os::stay_on_cores(pin_ ? std::span<const int>(cores_).subspan(worker % cores_.size(), 1) : std::span<const int>(cores_));
}

void ThreadPool::run(size_t tasks, int threads, FunctionRef<void(size_t, size_t)> task) noexcept {
  Watch* const watch = Watch::interruptible();
  if (watch) watch->begin_job();
  if (tasks <= 1 || threads <= 1 || tasks > UINT32_MAX || busy_.exchange(true, std::memory_order_acquire)) {
    for (size_t i = 0; i < tasks && !(watch && watch->should_stop()); ++i) task(i, 0);
    return;
  }
  task_ = &task;
  watch_ = watch;
  runners_ = std::min({tasks, static_cast<size_t>(threads), kMostRunners});
  for (size_t i = 0, end = 0; i < runners_; ++i) {
    const size_t first = end;
    end = tasks / runners_ * (i + 1) + std::min(i + 1, tasks % runners_);
    shares_[i].range.store(range_of(first, end), std::memory_order_relaxed);
  }
  const int64_t places = static_cast<int64_t>(runners_) - 1;
  finished_.store(0, std::memory_order_relaxed);
  places_.store(places, std::memory_order_release);
  // Only the thread that made the pool busy gets here; the destructor adds to it only when no job can be running.
  const unsigned job = generation_.load(std::memory_order_relaxed) / (kMostRunners * 2) + 1;
  generation_.store(job * static_cast<unsigned>(kMostRunners * 2) + static_cast<unsigned>(runners_), std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) generation_.notify_all();

  take_part(0, watch);

  const int64_t left = places_.exchange(kClosed, std::memory_order_acq_rel);
  const size_t joined = static_cast<size_t>(places - std::max<int64_t>(left, 0));
  const auto done = [&] { return finished_.load(std::memory_order_acquire) == joined; };
  if (!wait_actively(kYieldAfter, done))
    while (!done()) {
      std::this_thread::yield();
      if (watch) watch->should_stop();  // makes the answer visible to the workers
    }
  busy_.store(false, std::memory_order_release);
}

// Its own share from the front, then those of the others from the end.
void ThreadPool::take_part(size_t runner, Watch* watch) noexcept {
  const FunctionRef<void(size_t, size_t)>& task = *task_;
  for (size_t k = 0; k < runners_; ++k) {
    std::atomic<uint64_t>& range = shares_[(runner + k) % runners_].range;
    uint64_t now = range.load(std::memory_order_relaxed);
    for (size_t first, end; (first = first_of(now)) < (end = end_of(now));) {
      const size_t taken = k == 0 ? first : end - 1;
      if (!range.compare_exchange_weak(now, k == 0 ? range_of(first + 1, end) : range_of(first, end - 1), std::memory_order_relaxed))
        continue;
      if (watch && watch->should_stop()) return;
      task(taken, runner);
      now = range.load(std::memory_order_relaxed);
    }
  }
}

void ThreadPool::work(size_t worker) {
  unsigned seen = generation_.load(std::memory_order_acquire);
  for (unsigned placed = 0;;) {
    if (const unsigned placements = placements_.load(std::memory_order_acquire); placements != placed)
      placed = placements, take_place(worker);
    unsigned now = seen;
    wait_actively(g_active_wait.load(std::memory_order_relaxed),
                  [&] { return (now = generation_.load(std::memory_order_acquire)) != seen; });
    if (now == seen) {
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      generation_.wait(seen, std::memory_order_seq_cst);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
      now = generation_.load(std::memory_order_acquire);
    }
    if (stop_.load(std::memory_order_relaxed)) return;
    seen = now;
    if (worker >= runners_of(now)) continue;
    // Taking a place makes this worker part of the job, which cannot end until finished_ counts the worker. Only places_ may decide that,
    // because all other members may belong to the next job already.
    if (places_.load(std::memory_order_relaxed) <= 0) continue;
    if (places_.fetch_sub(1, std::memory_order_acq_rel) <= 0) continue;
    if (worker < runners_) {
      Watch* const watch = watch_;
      const Watch::Joined joined(watch);
      take_part(worker, watch);
    }
    finished_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace minnow
