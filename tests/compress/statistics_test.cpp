// SPDX-License-Identifier: Apache-2.0
#include "compress/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace minnow::compress {
namespace {

std::vector<float> numbers(size_t count, float scale) {
  std::vector<float> x(count);
  uint32_t state = 12345;
  for (float& value : x) state = state * 1664525 + 1013904223, value = scale * (static_cast<float>(state >> 8) / (1 << 23) - 1);
  return x;
}

TEST(TensorStatistics, finds_extremes_zeros_and_what_is_not_finite) {
  const float x[] = {0, -3, 2, std::nanf(""), 0, std::numeric_limits<float>::infinity(), 1};
  TensorStatistics s;
  s.add(x, 7);
  EXPECT_EQ(s.low(), -3);
  EXPECT_EQ(s.high(), 2);
  EXPECT_EQ(s.count(), 5u);
  EXPECT_EQ(s.zeros(), 2u);
  EXPECT_EQ(s.not_finite(), 2u);
}

TEST(TensorStatistics, empty_and_zero_tensors_have_no_bins) {
  TensorStatistics s;
  s.add(nullptr, 0);
  EXPECT_TRUE(s.bins().empty());
  const float zeros[3] = {};
  s.add(zeros, 3);
  EXPECT_TRUE(s.bins().empty());
  EXPECT_EQ(s.count(), 3u);
}

TEST(TensorStatistics, bins_hold_every_number_near_its_place_while_magnitudes_grow) {
  TensorStatistics s;
  double sum = 0, count = 0;
  for (const float scale : {1e-3F, 1.0F, 0.1F, 300.0F, 1e-20F}) {
    const auto x = numbers(1001, scale);
    s.add(x.data(), x.size());
    for (const float value : x) sum += static_cast<double>(value) * static_cast<double>(value), count += value != 0;
  }
  double found = 0, squares = 0;
  for (const auto& bin : s.bins()) found += bin.count, squares += bin.count * bin.value * bin.value;
  EXPECT_EQ(found, count);
  EXPECT_NEAR(squares / sum, 1, 1e-3);
}

TEST(TensorStatistics, a_number_at_the_edge_of_a_power_of_two_has_a_bin) {
  TensorStatistics s;
  for (const float x : {1.0F, -1.0F, 2.0F, -2.0F, 1.9999999F, 1e-45F, -1e-45F, 3e38F, -3e38F}) s.add(&x, 1);
  double found = 0;
  for (const auto& bin : s.bins()) found += bin.count;
  EXPECT_EQ(found, 9);
}

TEST(TensorStatistics, merged_statistics_are_those_of_all_numbers) {
  const auto small = numbers(999, 0.3F), large = numbers(500, 41.0F);
  TensorStatistics all, a, b, c;
  all.add(small.data(), small.size()), all.add(large.data(), large.size());
  a.add(small.data(), small.size()), b.add(large.data(), large.size());
  c.merge(a), c.merge(b);
  b.merge(a);
  for (const TensorStatistics* s : {&b, &c}) {
    EXPECT_EQ(s->low(), all.low());
    EXPECT_EQ(s->high(), all.high());
    EXPECT_EQ(s->count(), all.count());
    const auto expected = all.bins(), found = s->bins();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].count, expected[i].count);
  }
}

TEST(TensorStatistics, moving_averages_follow_the_runs) {
  TensorStatistics s;
  const float first[] = {-1, 4}, second[] = {-3, 2};
  s.add(first, 2), s.add(second, 2);
  EXPECT_NEAR(s.average_low(), 0.9 * -1 + 0.1 * -3, 1e-12);
  EXPECT_NEAR(s.average_high(), 0.9 * 4 + 0.1 * 2, 1e-12);
}

}  // namespace
}  // namespace minnow::compress
