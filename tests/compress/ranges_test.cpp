// SPDX-License-Identifier: Apache-2.0
// Each method against brute force over the numbers themselves, or against published constants.
#include "compress/ranges.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace minnow::compress {
namespace {

enum class Kind { gaussian, laplacian, rectified, shifted };

std::vector<float> drawn_numbers(Kind kind, size_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::exponential_distribution<float> exponential;
  std::vector<float> x(count);
  for (float& value : x) {
    if (kind == Kind::laplacian)
      value = exponential(generator) * (generator() & 1 ? 1.0F : -1.0F);
    else
      value = normal(generator);
    if (kind == Kind::rectified) value = std::max(value, 0.0F);
    if (kind == Kind::shifted) value = value * 0.7F + 1.5F;
  }
  return x;
}

TensorStatistics statistics_of(const std::vector<float>& x) {
  TensorStatistics s;
  s.add(x.data(), x.size());
  return s;
}

double error_on(const std::vector<float>& x, Range range, const Grid& grid) {
  const Quantizer q = Quantizer::of(range, grid);
  double sum = 0;
  for (const float value : x) sum += std::pow(static_cast<double>(value) - q(static_cast<double>(value)), 2);
  return sum;
}

constexpr Grid kGrids[] = {kU8, kI8, {0, 15, false}, {-7, 7, true}, {-128, 127, false}};
constexpr Kind kKinds[] = {Kind::gaussian, Kind::laplacian, Kind::rectified, Kind::shifted};

TEST(Quantizer, holds_zero_exactly_and_both_ends_within_half_a_step) {
  for (const Grid& grid : kGrids)
    for (const Range range : {Range{-1.3, 2.7}, Range{0, 5}, Range{0.5, 5}, Range{-3, 0}, Range{-3, -1}, Range{-1e-4, 1e4}}) {
      const Quantizer q = Quantizer::of(range, grid);
      EXPECT_EQ(q(0), 0);
      EXPECT_NEAR(q(range.high), range.high, 0.51 * static_cast<double>(q.scale));
      EXPECT_NEAR(q(range.low), range.low, 0.51 * static_cast<double>(q.scale));
      EXPECT_LE(q.zero, grid.highest);
      EXPECT_GE(q.zero, grid.lowest);
    }
}

TEST(Quantizer, of_nothing_but_zeros_is_usable) {
  for (const Grid& grid : kGrids)
    for (const Range range : {Range{0, 0}, Range{-1e-40, 1e-40}}) {
      const Quantizer q = Quantizer::of(range, grid);
      EXPECT_GT(q.scale, 0);
      EXPECT_EQ(q(0), 0);
    }
}

TEST(Ranges, every_method_takes_every_distribution) {
  for (const RangeMethod& method : range_methods())
    for (const Grid& grid : kGrids) {
      for (const Kind kind : kKinds) {
        const auto x = drawn_numbers(kind, 20000);
        const TensorStatistics s = statistics_of(x);
        const Range range = method.find(s, {grid, 99.9});
        EXPECT_LE(range.low, range.high) << method.name;
        EXPECT_GE(range.low, (grid.symmetric ? -std::max(-s.low(), s.high()) : std::min(s.low(), 0.0)) * 1.2) << method.name;
        EXPECT_LE(range.high, (grid.symmetric ? std::max(-s.low(), s.high()) : std::max(s.high(), 0.0)) * 1.2) << method.name;
        // None is worse than a thousandth of the signal at 8 bits.
        double signal = 0;
        for (const float value : x) signal += static_cast<double>(value) * static_cast<double>(value);
        EXPECT_LT(error_on(x, range, grid), (grid.highest - grid.lowest > 100 ? 2e-3 : 1.0) * signal) << method.name;
      }
      for (const std::vector<float>& x : {std::vector<float>(7, 0.0F), std::vector<float>{}, std::vector<float>(5, 3.0F),
                                          std::vector<float>(5, -3.0F), std::vector<float>{1e30F, -1e-30F, 0}}) {
        const Quantizer q = Quantizer::of(method.find(statistics_of(x), {grid, 99.99}), grid);
        EXPECT_TRUE(std::isfinite(q.scale) && q.scale > 0) << method.name;
        for (const float value : x)
          EXPECT_TRUE(std::abs(value) != 3.0F || std::fabs(q(static_cast<double>(value)) - static_cast<double>(value)) < 0.3)
              << method.name;
      }
    }
}

TEST(Ranges, minmax_and_percentile_are_quantiles) {
  const auto x = drawn_numbers(Kind::gaussian, 100000);
  auto sorted = x;
  std::sort(sorted.begin(), sorted.end());
  const TensorStatistics s = statistics_of(x);
  const Range whole = range_minmax(s, {});
  EXPECT_EQ(whole.low, static_cast<double>(sorted.front()));
  EXPECT_EQ(whole.high, static_cast<double>(sorted.back()));
  const Range all = range_percentile(s, {kU8, 100});
  EXPECT_EQ(all.low, whole.low);
  EXPECT_EQ(all.high, whole.high);
  const Range most = range_percentile(s, {kU8, 99.9});
  EXPECT_NEAR(most.low, static_cast<double>(sorted[100]), 0.03);
  EXPECT_NEAR(most.high, static_cast<double>(sorted[99900]), 0.03);
  // Zeros count, too: 1 % of all numbers are 2 % of those above 0.
  const auto half = drawn_numbers(Kind::rectified, 100000);
  sorted = half;
  std::sort(sorted.begin(), sorted.end());
  const Range upper = range_percentile(statistics_of(half), {kU8, 99});
  EXPECT_EQ(upper.low, 0);
  EXPECT_NEAR(upper.high, static_cast<double>(sorted[99000]), 0.01);
}

TEST(Ranges, mse_is_as_good_as_a_search_over_both_ends) {
  for (const Grid& grid : kGrids)
    for (const Kind kind : kKinds) {
      const auto x = drawn_numbers(kind, 4000);
      const TensorStatistics s = statistics_of(x);
      double least = error_on(x, extremes(s), grid);
      for (int a = 1; a <= 40; ++a)
        for (int b = 1; b <= 40; ++b) least = std::min(least, error_on(x, {s.low() * a / 40.0, s.high() * b / 40.0}, grid));
      EXPECT_LE(error_on(x, range_mse(s, {grid, 0}), grid), 1.02 * least) << static_cast<int>(kind) << " " << grid.highest;
    }
}

TEST(Ranges, admm_ends_no_worse_than_the_extremes_and_at_a_fixed_point) {
  for (const Kind kind : kKinds) {
    const Grid grid{-7, 7, true};
    const auto x = drawn_numbers(kind, 4000);
    const TensorStatistics s = statistics_of(x);
    const Range range = range_admm(s, {grid, 0});
    EXPECT_LE(error_on(x, range, grid), 1.001 * error_on(x, extremes(s), grid));
    // No scale is better for the integers that it gives.
    const Quantizer q = Quantizer::of(range, grid);
    double product = 0, square = 0;
    for (const float value : x) {
      const double integer = q(static_cast<double>(value)) / static_cast<double>(q.scale);
      product += static_cast<double>(value) * integer, square += integer * integer;
    }
    EXPECT_NEAR(product / square / static_cast<double>(q.scale), 1, 2e-3);
  }
}

TEST(Ranges, aciq_has_the_papers_constants) {
  // For 2, 3 and 4 bits: 2.83, 3.89, 5.03 of b (Laplacian) and 1.71, 2.15, 2.55 of sigma (Gaussian).
  const double laplacian[] = {2.83, 3.89, 5.03}, gaussian[] = {1.71, 2.15, 2.55};
  for (int bits = 2; bits <= 4; ++bits) {
    const Grid grid{0, (1 << bits) - 1, false};
    const Range a = range_aciq(statistics_of(drawn_numbers(Kind::laplacian, 400000)), {grid, 0});
    EXPECT_NEAR(0.5 * (a.high - a.low), laplacian[bits - 2], 0.05);
    const Range b = range_aciq(statistics_of(drawn_numbers(Kind::gaussian, 400000)), {grid, 0});
    EXPECT_NEAR(0.5 * (b.high - b.low), gaussian[bits - 2], 0.04);
    // Half of a distribution has twice the integers.
    const Range c = range_aciq(statistics_of(drawn_numbers(Kind::rectified, 400000)), {{0, (1 << bits) / 2 - 1, false}, 0});
    EXPECT_EQ(c.low, 0);
    EXPECT_NEAR(c.high, gaussian[bits - 2], 0.04);
  }
}

TEST(Ranges, octav_is_the_least_of_its_noise_model) {
  for (const Kind kind : {Kind::gaussian, Kind::laplacian, Kind::rectified})
    for (const Grid& grid : {Grid{0, 15, false}, Grid{0, 255, false}}) {
      const auto x = drawn_numbers(kind, 50000);
      const TensorStatistics s = statistics_of(x);
      const double steps = grid.highest + 1, noise = (kind == Kind::rectified ? 1 : 4) / (12 * steps * steps);
      double best = 0, least = 1e300;
      for (int i = 1; i < 600; ++i) {
        const double end = s.high() * i / 600;
        double sum = 0;
        for (const float value : x) {
          const double magnitude = std::fabs(static_cast<double>(value));
          if (magnitude > 0) sum += magnitude > end ? (magnitude - end) * (magnitude - end) : noise * end * end;
        }
        if (sum < least) least = sum, best = end;
      }
      EXPECT_NEAR(range_octav(s, {grid, 0}).high / best, 1, 0.02) << static_cast<int>(kind) << " " << grid.highest;
    }
}

TEST(Ranges, kl_leaves_out_an_outlier_and_keeps_a_uniform_range) {
  auto x = drawn_numbers(Kind::rectified, 100000);
  x.push_back(60);
  const Range range = range_kl(statistics_of(x), {});
  EXPECT_LT(range.high, 12);
  EXPECT_GT(range.high, 2.5);
  std::vector<float> uniform(100000);
  for (size_t i = 0; i < uniform.size(); ++i) uniform[i] = static_cast<float>(i) / 100000;
  EXPECT_GT(range_kl(statistics_of(uniform), {}).high, 0.97);
}

}  // namespace
}  // namespace minnow::compress
