// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace minnow::test {
namespace {

TEST(ThreadPool, every_task_runs_once) {
  ThreadPool& pool = ThreadPool::process();
  pool.reserve(4);
  for (size_t tasks : {0, 1, 2, 3, 64, 1000})
    for (int threads : {1, 2, 4, 64}) {
      std::vector<std::atomic<int>> counts(tasks);
      pool.run(tasks, threads, [&](size_t task) { counts[task].fetch_add(1); });
      for (size_t i = 0; i < tasks; ++i) ASSERT_EQ(counts[i], 1) << tasks << " tasks, " << threads << " threads";
    }
}

// Jobs of changing widths in close succession: a worker that came too late for one must not take part in the next without being waited for.
// Only a machine of more than two cores has such workers.
TEST(ThreadPool, jobs_of_changing_widths_keep_apart) {
  ThreadPool& pool = ThreadPool::process();
  pool.reserve(16);
  for (size_t job = 0; job < 20000; ++job) {
    const size_t tasks = 2 + job % 7;
    std::array<std::atomic<int>, 8> runs{};
    pool.run(tasks, 2 + static_cast<int>(job * 5 % 15), [&](size_t task) { runs[task].fetch_add(1, std::memory_order_relaxed); });
    for (size_t task = 0; task < runs.size(); ++task) ASSERT_EQ(runs[task].load(), task < tasks ? 1 : 0) << "job " << job;
  }
}

TEST(ThreadPool, what_tasks_wrote_is_seen_after_the_job) {
  ThreadPool& pool = ThreadPool::process();
  pool.reserve(2);
  std::vector<int> values(64);
  for (int round = 0; round < 2000; ++round) {
    pool.run(values.size(), 2, [&](size_t task) { values[task] = round; });
    for (int value : values) ASSERT_EQ(value, round);
  }
}

TEST(ThreadPool, a_job_within_a_task_and_a_job_of_another_thread_run_too) {
  ThreadPool& pool = ThreadPool::process();
  pool.reserve(2);
  std::atomic<int> count{0};
  const auto job = [&] { pool.run(8, 2, [&](size_t) { pool.run(8, 2, [&](size_t) { count.fetch_add(1); }); }); };
  std::thread other(job);
  job();
  other.join();
  EXPECT_EQ(count, 128);
}

TEST(ThreadPool, sleeping_workers_wake_up) {
  ThreadPool& pool = ThreadPool::process();
  pool.reserve(2);
  pool.place({}, true);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> count{0};
    pool.run(100, 2, [&](size_t) { count.fetch_add(1); });
    EXPECT_EQ(count, 100);
  }
}

}  // namespace
}  // namespace minnow::test
