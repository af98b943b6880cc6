// SPDX-License-Identifier: Apache-2.0
// Methods that find the range in which an activation is quantized, and the scale and zero point that follow from a range.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "compress/statistics.h"

namespace minnow::compress {

struct Range {
  double low = 0, high = 0;
};

/// The integers that stand for numbers.
struct Grid {
  int lowest = 0, highest = 255;
  bool symmetric = false;  // the zero point is 0
};
inline constexpr Grid kU8{0, 255, false}, kI8{-128, 127, true};

/// number = scale * (integer - zero)
struct Quantizer {
  float scale = 1;
  int zero = 0;
  Grid grid;
  std::vector<float> scales = {};  // of channels, which share the zero point; empty: all have `scale`, else that is the largest of them

  /// For a range, which is widened to hold 0 because padding and rectified numbers are exactly 0.
  static Quantizer of(Range range, const Grid& grid);
  /// For a range of each channel. The zero point is the one with the least product of scales.
  static Quantizer of_channels(std::span<const Range> ranges, const Grid& grid);
  /// That of one channel.
  Quantizer of_channel(size_t channel) const { return {scales.empty() ? scale : scales[channel], zero, grid}; }
  double low() const noexcept { return static_cast<double>(scale) * (grid.lowest - zero); }
  double high() const noexcept { return static_cast<double>(scale) * (grid.highest - zero); }
  /// Returns the number after quantization. Rounds halves to even, as QuantizeLinear does.
  double operator()(double x) const noexcept;
};

struct RangeOptions {
  Grid grid = kU8;
  double percentile = 99.99;
};

struct RangeMethod {
  std::string_view name, doc;
  Range (*find)(const TensorStatistics& statistics, const RangeOptions& options);
};
std::span<const RangeMethod> range_methods();
/// Null if there is none of that name.
const RangeMethod* range_method(std::string_view name);

/// The sum of squares of the differences that a quantizer makes.
double squared_error(std::span<const TensorStatistics::Bin> bins, const Quantizer& quantizer);
inline Range extremes(const TensorStatistics& statistics) { return {statistics.low(), statistics.high()}; }

// ranges_simple.cpp
Range range_minmax(const TensorStatistics&, const RangeOptions&);
Range range_moving_average(const TensorStatistics&, const RangeOptions&);
Range range_percentile(const TensorStatistics&, const RangeOptions&);
// ranges_search.cpp
Range range_mse(const TensorStatistics&, const RangeOptions&);
Range range_admm(const TensorStatistics&, const RangeOptions&);
Range range_kl(const TensorStatistics&, const RangeOptions&);
// ranges_analytic.cpp
Range range_aciq(const TensorStatistics&, const RangeOptions&);
Range range_octav(const TensorStatistics&, const RangeOptions&);

}  // namespace minnow::compress
