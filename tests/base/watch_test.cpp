// SPDX-License-Identifier: Apache-2.0
#include "base/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "base/thread_pool.h"

namespace minnow::test {
namespace {

using Clock = Watch::Clock;
constexpr Clock::time_point kNever = Clock::time_point::max();

TEST(Watch, nobody_watches_by_default) {
  EXPECT_EQ(Watch::current(), nullptr);
  EXPECT_NO_THROW(Watch::check());
  EXPECT_FALSE(Watch::stopping());
}

TEST(Watch, a_flag_and_a_time_limit_throw_for_good) {
  std::atomic<bool> cancelled{false};
  {
    const Watch watch(cancelled, kNever);
    for (int i = 0; i < 100; ++i) Watch::check();
    cancelled = true;
    const auto until_it_throws = [] {
      for (int i = 0; i < 100; ++i) Watch::check();
    };
    EXPECT_THROW(until_it_throws(), Cancelled);
    cancelled = false;
    EXPECT_THROW(Watch::check(), Cancelled);
  }
  EXPECT_NO_THROW(Watch::check());
  const Watch limit(cancelled, Clock::now() + std::chrono::milliseconds(5));
  EXPECT_THROW(
      for (;;) { Watch::check(); }, TimeLimitReached);
}

TEST(Watch, kernels_stop_within_interruptible_alone) {
  const std::atomic<bool> cancelled{true};
  Watch watch(cancelled, kNever);
  const auto stops = [] {
    bool stops = false;
    for (int i = 0; i < 100; ++i) stops |= Watch::stopping();
    return stops;
  };
  EXPECT_FALSE(stops());
  {
    const Watch::Interruptible here;
    EXPECT_TRUE(stops());
    const Watch::Whole whole;
    EXPECT_FALSE(stops());
  }
  EXPECT_FALSE(stops());
  EXPECT_EQ(watch.reason(), Watch::Reason::cancelled);
}

TEST(Watch, inner_ones_hear_outer_ones) {
  struct Pressed {};
  const std::atomic<bool> cancelled{false};
  const auto look = [] { throw Pressed(); };
  const Watch outer{FunctionRef<void()>(look)};
  const Watch inner(cancelled, kNever);
  const auto start = Clock::now();
  EXPECT_THROW(
      for (;;) { Watch::check(); }, Pressed);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(90));  // it looks every tenth of a second
  EXPECT_THROW(Watch::check(), Pressed);
}

TEST(Watch, other_threads_are_not_watched) {
  const std::atomic<bool> cancelled{true};
  const Watch watch(cancelled, kNever);
  std::thread([] {
    for (int i = 0; i < 100; ++i) Watch::check();
  }).join();
}

TEST(Watch, the_pool_runs_every_task_unless_it_may_stop) {
  const std::atomic<bool> cancelled{true};
  const Watch watch(cancelled, kNever);
  for (const int threads : {1, 3}) {
    std::atomic<int> count{0};
    ThreadPool::process().run(1000, threads, [&](size_t) { ++count; });
    EXPECT_EQ(count, 1000);
  }
}

TEST(Watch, the_pool_ends_a_job_early) {
  ThreadPool::process().reserve(3);
  for (const int threads : {1, 3}) {
    std::atomic<bool> cancelled{false};
    Watch watch(cancelled, kNever);
    const Watch::Interruptible here;
    std::atomic<int> count{0};
    ThreadPool::process().run(1000000, threads, [&](size_t) {
      if (++count == 10) cancelled = true;
      if (threads > 1 && cancelled) std::this_thread::sleep_for(std::chrono::microseconds(10));
    });
    EXPECT_GE(count, 10);
    EXPECT_LT(count, 1000000);
    EXPECT_NE(watch.reason(), Watch::Reason::none);
    ThreadPool::process().run(10, threads, [&](size_t) { count = 0; });
    EXPECT_NE(count, 0);  // nothing runs any more
  }
}

TEST(Watch, long_loops_pace_themselves) {
  const std::atomic<bool> cancelled{true};
  const Watch watch(cancelled, kNever);
  EXPECT_THROW(
      for (Pace pace;;) { pace.step(); }, Cancelled);
  const auto short_loops = [] {
    for (int i = 0; i < 1000000; ++i) {
      Pace pace;
      pace.step(100);
    }
  };
  EXPECT_THROW(short_loops(), Cancelled);
}

}  // namespace
}  // namespace minnow::test
