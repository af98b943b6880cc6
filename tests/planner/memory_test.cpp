// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "planner/draft.h"

namespace minnow {
namespace {

void expect_apart(const std::vector<MemoryItem>& items, size_t total) {
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_LE(items[i].offset + items[i].bytes, total);
    EXPECT_EQ(items[i].offset % kAlignment, 0u);
    for (size_t k = 0; k < i; ++k) {
      const bool same_time = items[i].first <= items[k].last && items[k].first <= items[i].last;
      const bool same_place = items[i].offset < items[k].offset + items[k].bytes && items[k].offset < items[i].offset + items[i].bytes;
      ASSERT_FALSE(same_time && same_place) << i << " and " << k;
    }
  }
}

TEST(MemoryPlan, a_chain_needs_two_neighbours_at_once) {
  std::vector<MemoryItem> items;
  for (uint32_t i = 0; i < 10; ++i) items.push_back({size_t{1024} * (i % 2 + 1), i, i + 1, 0});
  const size_t total = plan_memory(items);
  expect_apart(items, total);
  EXPECT_EQ(total, memory_lower_bound(items));
  EXPECT_EQ(total, 3u * 1024);
}

TEST(MemoryPlan, random_lifetimes_stay_apart_and_close_to_the_bound) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<MemoryItem> items;
    for (uint32_t i = 0; i < 200; ++i) items.push_back({64 * (1 + random() % 1000), i, i + 1 + static_cast<uint32_t>(random() % 5), 0});
    const size_t total = plan_memory(items);
    expect_apart(items, total);
    EXPECT_GE(total, memory_lower_bound(items));
    EXPECT_LE(static_cast<double>(total), 1.3 * static_cast<double>(memory_lower_bound(items)));
  }
}

TEST(MemoryPlan, thousands_of_items_that_live_at_once_stay_apart_and_close_to_the_bound) {
  std::mt19937 random(5);
  std::vector<MemoryItem> items;
  for (uint32_t i = 0; i < 2500; ++i) items.push_back({64 * (1 + random() % 100), i, 2600, 0});
  for (uint32_t i = 0; i < 1500; ++i) items.push_back({64 * (1 + random() % 1000), i, i + static_cast<uint32_t>(random() % 5), 0});
  for (uint32_t i = 0; i < 10; ++i) items.push_back({0, i, 2000, 0});
  const size_t total = plan_memory(items);
  expect_apart(items, total);
  EXPECT_LE(static_cast<double>(total), 1.3 * static_cast<double>(memory_lower_bound(items)));
}

TEST(MemoryPlan, a_hundred_thousand_items_at_once_do_not_take_quadratic_time) {
  std::vector<MemoryItem> items;
  for (uint32_t i = 0; i < 100'000; ++i) items.push_back({64, i, 100'000, 0});
  EXPECT_EQ(plan_memory(items), 6'400'000u);
}

TEST(MemoryPlan, a_hundred_thousand_items_of_which_two_thousand_live_at_once_do_not_take_quadratic_time) {
  std::vector<MemoryItem> items;
  for (uint32_t i = 0; i < 100'000; ++i) items.push_back({64, i, i + 1899, 0});
  EXPECT_EQ(plan_memory(items), 1900u * 64);
}

TEST(MemoryPlan, nothing_and_one_thing) {
  std::vector<MemoryItem> items;
  EXPECT_EQ(plan_memory(items), 0u);
  EXPECT_EQ(memory_lower_bound(items), 0u);
  items.push_back({100, 0, 0, 0});
  EXPECT_EQ(plan_memory(items), 128u);
}

}  // namespace
}  // namespace minnow
