// SPDX-License-Identifier: Apache-2.0
// Ranges by order: extremes, averages of extremes, quantiles.
#include <algorithm>

#include "compress/ranges.h"

namespace minnow::compress {

Range range_minmax(const TensorStatistics& statistics, const RangeOptions&) { return extremes(statistics); }

Range range_moving_average(const TensorStatistics& statistics, const RangeOptions&) {
  return {statistics.average_low(), statistics.average_high()};
}

Range range_percentile(const TensorStatistics& statistics, const RangeOptions& options) {
  const double outside = static_cast<double>(statistics.count()) * (1 - options.percentile / 100);
  const auto bins = statistics.bins();
  Range range = extremes(statistics);
  // Zeros are in no bin; no end moves beyond them. An end that leaves nothing out stays where it is.
  double passed = 0;
  for (size_t i = 0; i < bins.size() && (passed += bins[i].count) <= outside; ++i) range.low = std::min(bins[i].value, 0.0);
  passed = 0;
  for (size_t i = bins.size(); i-- > 0 && (passed += bins[i].count) <= outside;) range.high = std::max(bins[i].value, 0.0);
  return range;
}

}  // namespace minnow::compress
