// SPDX-License-Identifier: Apache-2.0
// The distribution of the elements of a tensor over many runs, in bounded memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minnow::compress {

/// Extremes, and a histogram whose bins double in width as larger numbers arrive. Bin widths are powers of two, so that histograms can be
/// joined without loss; at least half of the bins cover the range from 0 to the largest magnitude.
class TensorStatistics {
 public:
  static constexpr size_t kBins = 4096, kChannelBins = 256;  // on each side of 0: of a tensor, of one of its channels
  explicit TensorStatistics(size_t bins = kBins) : most_bins_(bins) {}

  /// The elements of the tensor in one run. Numbers that are not finite are counted and left out.
  void add(const float* x, size_t count);
  void merge(const TensorStatistics& other);

  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }
  /// Exponential moving averages of the extremes of single runs.
  double average_low() const noexcept { return average_low_; }
  double average_high() const noexcept { return average_high_; }
  uint64_t count() const noexcept { return count_; }
  uint64_t zeros() const noexcept { return zeros_; }  // which are in no bin
  uint64_t not_finite() const noexcept { return not_finite_; }

  struct Bin {
    double value, count;  // the middle of the bin, and how many numbers it holds
  };
  /// Bins that are not empty, from the lowest up.
  std::vector<Bin> bins() const;

 private:
  void widen_to(double magnitude);
  void halve();
  size_t most_bins_;
  std::vector<uint64_t> counts_;  // bin i holds [(i - most_bins_) * width_, (i - most_bins_ + 1) * width_)
  double width_ = 0, low_ = 0, high_ = 0, average_low_ = 0, average_high_ = 0;
  uint64_t count_ = 0, zeros_ = 0, not_finite_ = 0, runs_ = 0;
};

}  // namespace minnow::compress
