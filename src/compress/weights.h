// SPDX-License-Identifier: Apache-2.0
// Weights as symmetric integers, a scale for each output channel.
#pragma once
#include <minnow/tensor.h>

#include <span>
#include <string_view>
#include <vector>

#include "base/numeric.h"

namespace minnow::compress {

/// The weights of a layer with output channels as rows.
struct Rows {
  std::vector<float> values;
  size_t channels = 0, depth = 0;

  /// `axis`: of the output channels, 0 or last.
  static Rows of(const Tensor& weights, size_t axis);
  float* row(size_t channel) noexcept { return values.data() + channel * depth; }
  const float* row(size_t channel) const noexcept { return values.data() + channel * depth; }
};

struct IntegerRows {
  std::vector<int8_t> values;
  std::vector<float> scales;  // one for each channel, or one
  size_t channels = 0, depth = 0;
  float scale(size_t channel) const noexcept { return scales[scales.size() == 1 ? 0 : channel]; }
  /// As a tensor in the order of `like`.
  Tensor tensor(const Shape& like, size_t axis) const;
  /// The numbers that the integers stand for.
  Rows numbers() const;
};

/// Rounds halves to even; |x| < 2^22.
inline float nearest_integer(float x) noexcept {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: the sum has no places behind the point
  return (x + kShift) - kShift;
}

/// The nearest scale that a file stores in 16 bits. Integers that are rounded by it afterwards lose nothing.
inline float stored_scale(float scale) noexcept { return f32_from_bf16(bf16_from_f32(scale)); }

struct WeightMethod {
  std::string_view name, doc;
  /// The scale for these weights, whose integers go from -most to most.
  float (*find)(std::span<const float> weights, int most);
};
std::span<const WeightMethod> weight_method_table();
const WeightMethod* weight_method(std::string_view name);

/// Scales by a method. `least`: the least scale of each channel (empty: none), so that biases fit 32 bits.
std::vector<float> weight_scales(const Rows& rows, const WeightMethod& method, int most, bool per_channel, std::span<const float> least);
IntegerRows round_to_nearest(const Rows& rows, std::vector<float> scales, int most);

}  // namespace minnow::compress
