// SPDX-License-Identifier: Apache-2.0
// Ranges from formulas for the expected error.
#include <algorithm>
#include <cmath>

#include "compress/ranges.h"

namespace minnow::compress {
namespace {

/// Numbers on both sides of 0; else the integers stand for one side only.
bool has_two_sides(const TensorStatistics& s, const RangeOptions& options) {
  return options.grid.symmetric || (s.low() < 0 && s.high() > 0);
}
Range within(const TensorStatistics& s, double low, double high) {
  return {std::max(std::min(s.low(), 0.0), low), std::min(std::max(s.high(), 0.0), high)};
}
double steps_of(const RangeOptions& options) { return options.grid.highest - options.grid.lowest + 1; }

}  // namespace

// Banner, Nahshan, Soudry: "Post training 4-bit quantization of convolutional networks for rapid-deployment" (ACIQ). The noise of rounding
// is step^2 / 12; the noise of clipping follows from the distribution.
Range range_aciq(const TensorStatistics& s, const RangeOptions& options) {
  const auto bins = s.bins();
  const bool two_sides = has_two_sides(s, options);
  // One side is half of a distribution around 0, whose zeros belong to the other half.
  double count = two_sides ? static_cast<double>(s.zeros()) : 0, sum = 0;
  for (const TensorStatistics::Bin& bin : bins) count += bin.count, sum += bin.count * bin.value;
  if (count == 0) return extremes(s);
  const double mean = two_sides && !options.grid.symmetric ? sum / count : 0;
  double deviation = (two_sides ? static_cast<double>(s.zeros()) : 0) * std::fabs(mean), square = deviation * std::fabs(mean);
  for (const TensorStatistics::Bin& bin : bins) {
    const double distance = std::fabs(bin.value - mean);
    deviation += bin.count * distance, square += bin.count * distance * distance;
  }
  const double b = deviation / count, sigma = std::sqrt(square / count);
  if (!(sigma > 0)) return extremes(s);
  // The mean distance is 0.80 sigma in a Gaussian distribution and 0.71 sigma in a Laplacian one.
  const bool gaussian = b / sigma > 0.5 * (std::sqrt(2 / M_PI) + std::sqrt(0.5));
  const double steps = steps_of(options) * (two_sides ? 1 : 2);
  const auto expected_error = [&](double end) {
    const double rounding = end * end / (3 * steps * steps);
    if (!gaussian) return rounding + 2 * b * b * std::exp(-end / b);
    return rounding + (sigma * sigma + end * end) * std::erfc(end / (std::sqrt(2.0) * sigma)) -
           std::sqrt(2 / M_PI) * end * sigma * std::exp(-end * end / (2 * sigma * sigma));
  };
  // The error has one minimum; golden-section search.
  constexpr double kGolden = 0.6180339887498949;
  double a = 0.1 * sigma, c = 40 * sigma;
  while (c - a > 1e-6 * sigma) {
    const double left = c - kGolden * (c - a), right = a + kGolden * (c - a);
    (expected_error(left) < expected_error(right) ? c : a) = expected_error(left) < expected_error(right) ? right : left;
  }
  const double end = 0.5 * (a + c);
  return within(s, mean - end, mean + end);
}

// Sakr et al.: "Optimal Clipping and Magnitude-aware Differentiation for Improved Quantization-aware Training" (OCTAV). Newton's iteration
// for the end of the range; numbers that are exactly 0 make no noise.
Range range_octav(const TensorStatistics& s, const RangeOptions& options) {
  const auto bins = s.bins();
  double count = 0, sum = 0;
  for (const TensorStatistics::Bin& bin : bins) count += bin.count, sum += bin.count * std::fabs(bin.value);
  if (count == 0) return extremes(s);
  const double steps = steps_of(options), noise = (has_two_sides(s, options) ? 4 : 1) / (12 * steps * steps);
  double end = sum / count;
  for (int turn = 0; turn < 100; ++turn) {
    double inside = 0, outside = 0, outside_sum = 0;
    for (const TensorStatistics::Bin& bin : bins) {
      const double magnitude = std::fabs(bin.value);
      if (magnitude > end)
        outside += bin.count, outside_sum += bin.count * magnitude;
      else
        inside += bin.count;
    }
    const double next = outside_sum / (noise * inside + outside);
    if (!(next > 0) || std::fabs(next - end) < 1e-6 * end) break;
    end = next;
  }
  return within(s, -end, end);
}

}  // namespace minnow::compress
