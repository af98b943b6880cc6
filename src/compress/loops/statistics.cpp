// SPDX-License-Identifier: Apache-2.0
#include "compress/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minnow::compress {
namespace {

constexpr double kMomentum = 0.9;  // of the moving averages

}  // namespace

void TensorStatistics::halve() {
  std::vector<uint64_t> half(2 * most_bins_, 0);
  for (size_t i = 0; i < counts_.size(); ++i) half[i / 2 + most_bins_ / 2] += counts_[i];
  counts_ = std::move(half);
  width_ *= 2;
}

void TensorStatistics::widen_to(double magnitude) {
  if (magnitude == 0) return;
  if (width_ == 0) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
    width_ = std::ldexp(1.0, exponent) / static_cast<double>(most_bins_);
    counts_.assign(2 * most_bins_, 0);
  }
  while (magnitude >= width_ * static_cast<double>(most_bins_)) halve();
}

void TensorStatistics::add(const float* x, size_t count) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  size_t finite = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) continue;
    ++finite;
    low = std::min(low, x[i]), high = std::max(high, x[i]);
  }
  not_finite_ += count - finite;
  if (finite == 0) return;
  const double a = static_cast<double>(low), b = static_cast<double>(high);
  low_ = count_ ? std::min(low_, a) : a, high_ = count_ ? std::max(high_, b) : b;
  average_low_ = runs_ ? kMomentum * average_low_ + (1 - kMomentum) * a : a;
  average_high_ = runs_ ? kMomentum * average_high_ + (1 - kMomentum) * b : b;
  ++runs_, count_ += finite;
  widen_to(std::max(std::fabs(a), std::fabs(b)));
  if (width_ == 0) {
    zeros_ += finite;
    return;
  }
  const double per_width = 1 / width_;
  for (size_t i = 0; i < count; ++i) {
    if (x[i] == 0)
      ++zeros_;
    else if (std::isfinite(x[i]))
      // Adding before truncation makes the number positive, so that truncation rounds down.
      ++counts_[static_cast<size_t>(static_cast<double>(x[i]) * per_width + static_cast<double>(most_bins_))];
  }
}

void TensorStatistics::merge(const TensorStatistics& other) {
  not_finite_ += other.not_finite_;
  if (other.count_ == 0) return;
  low_ = count_ ? std::min(low_, other.low_) : other.low_, high_ = count_ ? std::max(high_, other.high_) : other.high_;
  average_low_ = runs_ ? std::min(average_low_, other.average_low_) : other.average_low_;
  average_high_ = runs_ ? std::max(average_high_, other.average_high_) : other.average_high_;
  runs_ = std::max(runs_, other.runs_), count_ += other.count_, zeros_ += other.zeros_;
  if (other.width_ == 0) return;
  if (width_ == 0) {
    width_ = other.width_, counts_ = other.counts_;
    return;
  }
  TensorStatistics same = other;
  while (width_ < same.width_) halve();
  while (same.width_ < width_) same.halve();
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += same.counts_[i];
}

std::vector<TensorStatistics::Bin> TensorStatistics::bins() const {
  std::vector<Bin> bins;
  for (size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i])
      // The outermost numbers are known; the middle of their bin would lie beyond them.
      bins.push_back({std::clamp((static_cast<double>(i) - static_cast<double>(most_bins_) + 0.5) * width_, low_, high_),
                      static_cast<double>(counts_[i])});
  return bins;
}

}  // namespace minnow::compress
