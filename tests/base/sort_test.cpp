// SPDX-License-Identifier: Apache-2.0
#include "base/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace minnow {
namespace {

// Few values, so that many are equal.
std::vector<int> values(size_t count) {
  std::vector<int> list(count);
  uint32_t state = 1;
  for (int& value : list) value = static_cast<int>((state = state * 1664525u + 1013904223u) >> 29);
  return list;
}

class Sort : public testing::TestWithParam<size_t> {};

TEST_P(Sort, of_equals_the_first_stays_first) {
  const std::vector<int> list = values(GetParam());
  std::vector<size_t> sorted(list.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  sort_indices(sorted, [&](size_t a, size_t b) { return list[a] < list[b]; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    EXPECT_LE(list[sorted[i - 1]], list[sorted[i]]);
    if (list[sorted[i - 1]] == list[sorted[i]]) {
      EXPECT_LT(sorted[i - 1], sorted[i]);
    }
  }
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
}

TEST_P(Sort, the_first_few_are_those_of_the_whole_order) {
  const std::vector<int> list = values(GetParam());
  const auto before = [&](size_t a, size_t b) { return list[a] != list[b] ? list[a] > list[b] : a < b; };
  std::vector<size_t> all(list.size());
  std::iota(all.begin(), all.end(), size_t{0});
  for (size_t count : {size_t{0}, list.size() / 3, list.size()}) {
    std::vector<size_t> some = all, sorted = all;
    sort_first(some, count, before);
    sort_indices(sorted, before);
    EXPECT_TRUE(std::equal(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(count), some.begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, Sort, testing::Values(0, 1, 2, 17, 1000));

}  // namespace
}  // namespace minnow
