// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_trial.h"

#include <gtest/gtest.h>

namespace minnow {
namespace {

// Runs a step that takes `alone` seconds on one thread and `together` on all; gives the number of runs that were timed.
int run(ThreadTrial& trial, int runs, double alone, double together, size_t step = 0) {
  int timed = 0;
  for (int i = 0; i < runs; ++i)
    if (trial.begin(step)) {
      ++timed;
      trial.note(trial.threads(4) == 1 ? alone : together, 4);
    }
  return timed;
}

TEST(ThreadTrial, takes_what_is_faster) {
  ThreadTrial one, all;
  EXPECT_EQ(one.chosen(), 0);
  EXPECT_EQ(run(one, 50, 5e-6, 9e-6), 7);
  EXPECT_EQ(one.chosen(), 1);
  EXPECT_EQ(one.threads(4), 1);
  run(all, 50, 9e-6, 5e-6);
  EXPECT_EQ(all.chosen(), 4);
  EXPECT_EQ(all.threads(4), 4);
}

TEST(ThreadTrial, takes_all_threads_where_it_makes_no_difference) {
  ThreadTrial trial;
  run(trial, 50, 4.9e-6, 5e-6);
  EXPECT_EQ(trial.chosen(), 4);
}

TEST(ThreadTrial, does_not_try_long_steps_on_one_thread) {
  ThreadTrial trial;
  EXPECT_EQ(run(trial, 50, 1, 2), 1);
  EXPECT_EQ(trial.chosen(), 4);
}

TEST(ThreadTrial, corrects_what_a_busy_machine_made_it_believe) {
  ThreadTrial trial;
  run(trial, 7, 5e-6, 50e-6);
  EXPECT_EQ(trial.chosen(), 1);
  run(trial, 200, 5e-6, 3e-6);
  EXPECT_EQ(trial.chosen(), 4);
}

TEST(ThreadTrial, becomes_rare) {
  ThreadTrial trial;
  EXPECT_LT(run(trial, 100000, 5e-6, 3e-6), 7 * 13);
  EXPECT_GT(run(trial, 100000, 5e-6, 3e-6), 7);
}

TEST(ThreadTrial, neighbouring_steps_are_tried_again_at_different_times) {
  ThreadTrial first, second;
  run(first, 7, 5e-6, 3e-6, 0), run(second, 7, 5e-6, 3e-6, 1);
  int both = 0;
  for (int i = 0; i < 100; ++i) both += run(first, 1, 5e-6, 3e-6, 0) && run(second, 1, 5e-6, 3e-6, 1);
  EXPECT_EQ(both, 0);
}

}  // namespace
}  // namespace minnow
