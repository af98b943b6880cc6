// SPDX-License-Identifier: Apache-2.0
#include "runtime/power.h"

#include <gtest/gtest.h>
#include <minnow/tune.h>

#include "base/os.h"

namespace minnow {
namespace {

using os::Core;

// 4 little ones, 3 in the middle, a big one.
const std::vector<Core> kPhone = {{0, 0.3, true},  {1, 0.3, true},  {2, 0.3, true},  {3, 0.3, true},
                                  {4, 0.78, true}, {5, 0.78, true}, {6, 0.78, true}, {7, 1, true}};
// Two threads a core, numbered as x86 systems do.
const std::vector<Core> kServer = {{0, 1, true},  {1, 1, true},  {2, 1, true},  {3, 1, true},
                                   {4, 1, false}, {5, 1, false}, {6, 1, false}, {7, 1, false}};
// Two fast cores of two threads, one of which clocks a little higher, and four slow ones.
const std::vector<Core> kHybrid = {{0, 0.96, true}, {1, 0.96, false}, {2, 1, true},   {3, 1, false},
                                   {4, 0.7, true},  {5, 0.7, true},   {6, 0.7, true}, {7, 0.7, true}};

TEST(Power, big_and_little_cores) {
  EXPECT_EQ(way_of("performance", 0, kPhone, 8), (Way{4, 200e-6, true, {7, 4, 5, 6}}));
  EXPECT_EQ(way_of("balanced", 0, kPhone, 8), (Way{4, 50e-6, false, {0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(way_of("efficient", 0, kPhone, 8), (Way{4, 0, false, {0, 1, 2, 3}}));
}

TEST(Power, cores_of_several_threads) {
  EXPECT_EQ(way_of("performance", 0, kServer, 8), (Way{4, 200e-6, true, {0, 1, 2, 3}}));
  EXPECT_EQ(way_of("balanced", 0, kServer, 8).threads, 4);
  EXPECT_EQ(way_of("efficient", 0, kServer, 8), (Way{2, 0, false, {0, 1, 2, 3}}));
  EXPECT_EQ(way_of("performance", 0, kHybrid, 8), (Way{2, 200e-6, true, {2, 0}}));
  EXPECT_EQ(way_of("efficient", 0, kHybrid, 8), (Way{4, 0, false, {4, 5, 6, 7}}));
}

TEST(Power, threads_that_are_asked_for_get_the_next_cores) {
  EXPECT_EQ(way_of("performance", 2, kPhone, 8), (Way{2, 200e-6, true, {7, 4, 5, 6}}));
  EXPECT_EQ(way_of("performance", 6, kPhone, 8).cores, (std::vector<int>{7, 4, 5, 6, 0, 1}));
  EXPECT_EQ(way_of("efficient", 5, kPhone, 8).cores, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(way_of("performance", 7, kHybrid, 8).cores, (std::vector<int>{2, 0, 4, 5, 6, 7, 3}));
  EXPECT_EQ(way_of("performance", 100, kHybrid, 8).cores.size(), 8u);
}

TEST(Power, parts_of_a_machine) {
  // An affinity mask that leaves the middle of the phone, and a quota of two cores' time.
  const std::vector<Core> middle(kPhone.begin() + 2, kPhone.begin() + 6);
  EXPECT_EQ(way_of("performance", 0, middle, 4), (Way{2, 200e-6, true, {4, 5}}));
  EXPECT_EQ(way_of("efficient", 0, middle, 4), (Way{2, 0, false, {2, 3}}));
  EXPECT_EQ(way_of("performance", 0, kPhone, 2).threads, 2);
  const std::vector<Core> one = {{5, 1, true}};
  for (const char* mode : {"performance", "balanced", "efficient"}) {
    EXPECT_EQ(way_of(mode, 0, one, 1).threads, 1);
    EXPECT_EQ(way_of(mode, 0, one, 1).cores, std::vector<int>{5});
    // A system that tells nothing.
    EXPECT_EQ(way_of(mode, 0, {}, 8).threads, std::string(mode) == "efficient" ? 4 : 8);
    EXPECT_TRUE(way_of(mode, 0, {}, 8).cores.empty());
  }
  EXPECT_THROW(way_of("turbo", 0, kPhone, 8), Error);
}

TEST(Power, what_is_tried) {
  const auto threads = [](const std::vector<Way>& ways) {
    std::vector<int> counts;
    for (const Way& way : ways) counts.push_back(way.threads);
    return counts;
  };
  EXPECT_EQ(threads(ways_by_threads("performance", 0, kPhone, 8)), (std::vector<int>{4, 2, 1, 8}));
  EXPECT_EQ(threads(ways_by_threads("efficient", 0, kPhone, 8)), (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(threads(ways_by_threads("balanced", 0, kServer, 8)), (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(threads(ways_by_threads("balanced", 3, kServer, 8)), (std::vector<int>{3}));
  for (const char* mode : {"performance", "balanced", "efficient"}) {
    const Way own = way_of(mode, 0, kPhone, 8);
    const std::vector<Way> ways = ways_by_place(mode, own, kPhone);
    ASSERT_EQ(ways.size(), 4u);
    EXPECT_EQ(ways[0], own);
    EXPECT_NE(ways[1].pin_threads, own.pin_threads);
    EXPECT_NE(ways[2].active_wait, own.active_wait);
    for (const Way& way : ways) EXPECT_EQ(way.threads, 4);
    EXPECT_EQ(ways_by_place(mode, way_of(mode, 1, kPhone, 8), kPhone).size(), 1u);
  }
}

TEST(Power, which_way_is_taken) {
  const double seconds[] = {10, 10.4, 19, 30}, cpu[] = {40, 30, 20, 10};
  EXPECT_EQ(best_way("", seconds, std::vector<double>{1, 1, 1, 1}), 0u);
  EXPECT_EQ(best_way("performance", seconds, cpu), 0u);
  EXPECT_EQ(best_way("balanced", seconds, cpu), 1u);
  EXPECT_EQ(best_way("efficient", seconds, cpu), 2u);
}

TEST(Power, options_of_the_callers_own_stay) {
  SessionOptions own;
  own.threads = 3;
  own.active_wait = 1e-3;
  own.cores = os::allowed_cores();
  own.power = "efficient";
  const SessionOptions options = resolved(own);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.active_wait, 1e-3);
  EXPECT_EQ(options.cores, own.cores);
  EXPECT_EQ(options.power, "");
  own.power = "turbo";
  EXPECT_THROW(resolved(own), Error);
  own.power.clear();
  for (const double wait : {-0.5, 1.5, 1e300, -1e300}) {
    own.active_wait = wait;
    EXPECT_THROW(resolved(own), Error);
  }
  own.active_wait = -1;
  own.cores = {4095};
  try {
    resolved(own);
    FAIL() << "a core that is not there was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cores names 4095"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace minnow
