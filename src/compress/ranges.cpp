// SPDX-License-Identifier: Apache-2.0
#include "compress/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/weights.h"

namespace minnow::compress {
namespace {

constexpr RangeMethod kMethods[] = {
    {"minmax", "from the lowest to the highest number", range_minmax},
    {"moving-average", "the same of single samples, averaged with weight on later ones", range_moving_average},
    {"percentile", "without the outermost numbers (option percentile)", range_percentile},
    {"kl", "least Kullback-Leibler divergence between the distributions before and after", range_kl},
    {"mse", "least mean square error, each end by itself", range_mse},
    {"admm", "least mean square error, by turns over integers and scale from the extremes on", range_admm},
    {"aciq", "least expected error of a Gaussian or Laplacian distribution with the same moments", range_aciq},
    {"octav", "least expected error by Newton's iteration over the histogram", range_octav},
};

}  // namespace

std::span<const RangeMethod> range_methods() { return kMethods; }

const RangeMethod* range_method(std::string_view name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const RangeMethod& each) { return each.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

Quantizer Quantizer::of(Range range, const Grid& grid) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  Quantizer q;
  q.grid = grid;
  if (grid.symmetric) {
    q.scale = static_cast<float>(std::max(-low, high) / grid.highest);
  } else {
    q.scale = static_cast<float>((high - low) / (grid.highest - grid.lowest));
    if (q.scale > 0)
      q.zero = std::clamp(static_cast<int>(std::nearbyint(grid.lowest - low / static_cast<double>(q.scale))), grid.lowest, grid.highest);
  }
  // Constant zero, or numbers so small that their scale is no normal number.
  if (!(q.scale >= 1e-30F)) q.scale = 1, q.zero = grid.symmetric ? 0 : grid.lowest;
  return q;
}

Quantizer Quantizer::of_channels(std::span<const Range> ranges, const Grid& grid) {
  // Channels that are always 0 follow the others.
  std::vector<Range> wanted;
  for (const Range& range : ranges) wanted.push_back({std::min(range.low, 0.0), std::max(range.high, 0.0)});
  const auto scale_of = [&](const Range& range, int zero) {
    double scale = 0;
    if (range.low < 0) scale = zero > grid.lowest ? -range.low / (zero - grid.lowest) : std::numeric_limits<double>::infinity();
    if (range.high > 0)
      scale = std::max(scale, zero < grid.highest ? range.high / (grid.highest - zero) : std::numeric_limits<double>::infinity());
    return scale;
  };
  Quantizer q;
  q.grid = grid;
  double least = std::numeric_limits<double>::infinity();
  for (int zero = grid.symmetric ? 0 : grid.lowest; zero <= (grid.symmetric ? 0 : grid.highest); ++zero) {
    double sum = 0;
    for (const Range& range : wanted)
      if (const double scale = scale_of(range, zero); scale >= 1e-30) sum += std::log(scale);
    if (sum < least) least = sum, q.zero = zero;
  }
  float largest = 0;
  for (const Range& range : wanted) largest = std::max(largest, static_cast<float>(scale_of(range, q.zero)));
  if (!(largest >= 1e-30F)) return of({}, grid);
  // Scales far below the others gain nothing, and their bias has to fit 30 bits.
  for (const Range& range : wanted)
    q.scales.push_back(stored_scale(std::max(static_cast<float>(scale_of(range, q.zero)), largest * 1e-3F)));
  q.scale = *std::max_element(q.scales.begin(), q.scales.end());
  return q;
}

double Quantizer::operator()(double x) const noexcept {
  const double s = static_cast<double>(scale);
  return s * (std::clamp(std::nearbyint(x / s) + zero, static_cast<double>(grid.lowest), static_cast<double>(grid.highest)) - zero);
}

double squared_error(std::span<const TensorStatistics::Bin> bins, const Quantizer& quantizer) {
  double sum = 0;
  for (const TensorStatistics::Bin& bin : bins) {
    const double error = bin.value - quantizer(bin.value);
    sum += bin.count * error * error;
  }
  return sum;
}

}  // namespace minnow::compress
