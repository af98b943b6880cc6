// SPDX-License-Identifier: Apache-2.0
// Ranges by search over the histogram: least square error (direct, and by turns as ADMM's) and least divergence.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/ranges.h"

namespace minnow::compress {

Range range_mse(const TensorStatistics& statistics, const RangeOptions& options) {
  const auto bins = statistics.bins();
  const Range whole{std::min(statistics.low(), 0.0), std::max(statistics.high(), 0.0)};
  double low = 1, high = 1;  // parts of the whole range
  const auto error_of = [&](double a, double b) {
    return squared_error(bins, Quantizer::of({whole.low * a, whole.high * b}, options.grid));
  };
  double best = error_of(1, 1);
  const auto try_range = [&](double a, double b) {
    if (a <= 0 || b <= 0 || a > 1 || b > 1) return;
    if (const double error = error_of(a, b); error < best) best = error, low = a, high = b;
  };
  for (int i = 1; i < 64; ++i) try_range(1 - i / 64.0, 1 - i / 64.0);
  if (whole.low < 0 && whole.high > 0 && !options.grid.symmetric)
    for (int i = 1; i <= 16; ++i)
      for (int k = 1; k <= 16; ++k) try_range(i / 16.0, k / 16.0);
  // Then each end by itself, in ever finer steps.
  for (double step = 1.0 / 32; step > 1.0 / 600; step /= 4)
    for (int round = 0; round < 2; ++round) {
      const double a = low, b = high;
      if (whole.low < 0)
        for (int i = -8; i <= 8; ++i) try_range(a + i * step, high);
      if (whole.high > 0)
        for (int i = -8; i <= 8; ++i) try_range(low, b + i * step);
    }
  return {whole.low * low, whole.high * high};
}

// Leng et al., "Extremely Low Bit Neural Network: Squeeze the Last Bit Out with ADMM": with the integers fixed, the best scale has a closed
// form; with the scale fixed, rounding gives the best integers.
Range range_admm(const TensorStatistics& statistics, const RangeOptions& options) {
  const auto bins = statistics.bins();
  Range range = extremes(statistics);
  for (int turn = 0; turn < 40; ++turn) {
    const Quantizer q = Quantizer::of(range, options.grid);
    double product = 0, square = 0;
    for (const TensorStatistics::Bin& bin : bins) {
      const double integer = q(bin.value) / static_cast<double>(q.scale);
      product += bin.count * bin.value * integer, square += bin.count * integer * integer;
    }
    if (!(square > 0) || !(product > 0)) break;
    const double scale = product / square, before = static_cast<double>(q.scale);
    range.high = scale * (q.grid.highest - q.zero);
    range.low = q.grid.symmetric ? -range.high : scale * (q.grid.lowest - q.zero);
    if (std::fabs(scale - before) < 1e-7 * before) break;
  }
  return range;
}

namespace {

constexpr size_t kDivergenceBins = 2048;

/// The divergence between the first `kept` bins, with all beyond added to the last of them, and the same in `levels` levels.
double divergence(const std::vector<double>& counts, size_t kept, size_t levels, double beyond, double total) {
  double sum = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double in_level = 0;
    size_t used = 0;
    for (size_t i = begin; i < end; ++i) in_level += counts[i], used += counts[i] > 0;
    for (size_t i = begin; i < end; ++i) {
      const double p = (counts[i] + (i + 1 == kept ? beyond : 0)) / total;
      if (p == 0) continue;
      // A level that holds nothing itself says nothing of the numbers that are clipped into it.
      const double q = std::max(used && counts[i] > 0 ? in_level / static_cast<double>(used) : 0, 1e-4) / (total - beyond);
      sum += p * std::log(p / q);
    }
  }
  return sum;
}

}  // namespace

Range range_kl(const TensorStatistics& statistics, const RangeOptions& options) {
  const Range whole{std::min(statistics.low(), 0.0), std::max(statistics.high(), 0.0)};
  const double largest = std::max(-whole.low, whole.high);
  if (largest == 0) return whole;
  std::vector<double> counts(kDivergenceBins, 0);
  double total = 0;
  for (const TensorStatistics::Bin& bin : statistics.bins()) {
    const double place = std::fabs(bin.value) / largest * static_cast<double>(kDivergenceBins);
    counts[std::min(static_cast<size_t>(place), kDivergenceBins - 1)] += bin.count;
    total += bin.count;
  }
  const bool two_sides = options.grid.symmetric || (whole.low < 0 && whole.high > 0);
  const size_t levels = static_cast<size_t>(options.grid.highest - options.grid.lowest + 1) / (two_sides ? 2 : 1);
  double least = std::numeric_limits<double>::infinity(), beyond = 0;
  size_t best = kDivergenceBins;
  for (size_t kept = kDivergenceBins; kept >= levels; --kept) {
    if (kept < kDivergenceBins) beyond += counts[kept];
    if (beyond >= total) break;
    if (const double found = divergence(counts, kept, levels, beyond, total); found < least) least = found, best = kept;
  }
  const double end = largest * static_cast<double>(best) / static_cast<double>(kDivergenceBins);
  return {std::max(whole.low, -end), std::min(whole.high, end)};
}

}  // namespace minnow::compress
