// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <minnow/schedule.h>

namespace minnow {
namespace {

using testing::HasSubstr;

TEST(Schedule, without_a_name_is_one) {
  EXPECT_EQ(Schedule().at(0), 1);
  EXPECT_EQ(Schedule().at(1000), 1);
}

TEST(Schedule, sequences_begin_anew_and_chains_multiply) {
  const Schedule warm_up = Schedule::create("warm_up", {{"steps", 10}}), fall = Schedule::create("exponential", {{"gamma", 0.5}});
  const Schedule sequence = Schedule::sequential({warm_up, fall}, {10});
  EXPECT_DOUBLE_EQ(sequence.at(5), 0.5);
  EXPECT_DOUBLE_EQ(sequence.at(10), 1);
  EXPECT_DOUBLE_EQ(sequence.at(12), 0.25);
  EXPECT_DOUBLE_EQ(Schedule::chained({warm_up, fall}).at(2), 0.2 * 0.25);
  EXPECT_DOUBLE_EQ(Schedule::lambda([](int64_t t) { return 1.0 / static_cast<double>(1 + t); }).at(3), 0.25);
}

TEST(Schedule, one_cycle_without_steps_upwards_begins_at_the_top) {
  const Schedule schedule = Schedule::create("one_cycle", {{"steps", 10}, {"rise", 0.1}});
  EXPECT_DOUBLE_EQ(schedule.at(0), 1);
  EXPECT_LT(schedule.at(1), 1);
}

TEST(Schedule, plateau_falls_after_measurements_that_are_no_better_and_saves_its_state) {
  Schedule plateau = Schedule::create("plateau", {{"factor", 0.5}, {"patience", 1}, {"cooldown", 1}});
  for (const double loss : {1.0, 0.9, 0.9, 0.95}) plateau.observe(loss);
  EXPECT_DOUBLE_EQ(plateau.at(0), 0.5);
  Schedule other = Schedule::create("plateau", {{"factor", 0.5}, {"patience", 1}, {"cooldown", 1}});
  other.set_state(plateau.state());
  for (const double loss : {0.95, 0.95, 0.95}) plateau.observe(loss), other.observe(loss);
  EXPECT_DOUBLE_EQ(plateau.at(0), 0.25);
  EXPECT_EQ(other.state(), plateau.state());
}

TEST(Schedule, errors_suggest_what_there_is) {
  const auto creation = [](const char* name, const Settings& settings = {}) -> std::string {
    try {
      Schedule::create(name, settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(creation("cosinus"), HasSubstr("there is no schedule \"cosinus\"; the nearest are \"cosine\""));
  EXPECT_EQ(creation("step", {{"every", 0}}), "schedule \"step\": every takes an integer from 1 to 1e+09, not 0");
  EXPECT_EQ(creation("step", {{"every", 1.5}}), "schedule \"step\": every takes an integer, not 1.5");
  EXPECT_EQ(creation("multi_step", {{"milestones", 5}}), "schedule \"multi_step\": milestones takes a list of numbers, not 5");
  EXPECT_THROW(Schedule::sequential({Schedule()}, {1}), Error);
  EXPECT_THROW(Schedule::sequential({Schedule(), Schedule(), Schedule()}, {5, 5}), Error);
}

}  // namespace
}  // namespace minnow
