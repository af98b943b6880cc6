// SPDX-License-Identifier: Apache-2.0
#include "compress/weights.h"

#include <algorithm>
#include <cmath>

namespace minnow::compress {
namespace {

float largest_of(std::span<const float> weights) {
  float largest = 0;
  for (const float w : weights) largest = std::max(largest, std::fabs(w));
  return largest;
}

float error_of(std::span<const float> weights, float scale, float most) {
  const float per_scale = 1 / scale;
  float sum = 0;
  for (const float w : weights) {
    const float error = w - scale * std::min(std::max(nearest_integer(w * per_scale), -most), most);
    sum += error * error;
  }
  return sum;
}

float scale_minmax(std::span<const float> weights, int most) { return largest_of(weights) / static_cast<float>(most); }

float scale_mse(std::span<const float> weights, int most) {
  const float whole = scale_minmax(weights, most), end = static_cast<float>(most);
  if (!(whole > 1e-30F)) return whole;
  float best = whole, least = error_of(weights, whole, end);
  const auto search = [&](float from, float to, int steps) {
    for (int i = 0; i <= steps; ++i) {
      const float scale = from + (to - from) * static_cast<float>(i) / static_cast<float>(steps);
      if (const float error = error_of(weights, scale, end); scale > 0 && error < least) least = error, best = scale;
    }
  };
  // Fewer bits clip more.
  const float lowest = most >= 63 ? 0.5F : 0.2F;
  search(lowest * whole, whole, 60);
  search(best - 0.01F * whole, std::min(best + 0.01F * whole, whole), 20);
  return best;
}

constexpr WeightMethod kMethods[] = {
    {"minmax", "the largest weight of the channel is the largest integer", scale_minmax},
    {"mse", "least mean square error", scale_mse},
};

}  // namespace

std::span<const WeightMethod> weight_method_table() { return kMethods; }

const WeightMethod* weight_method(std::string_view name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const WeightMethod& each) { return each.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

Rows Rows::of(const Tensor& weights, size_t axis) {
  Rows rows;
  rows.channels = static_cast<size_t>(weights.shape()[axis]);
  rows.depth = static_cast<size_t>(weights.elements()) / rows.channels;
  const float* data = weights.data<float>();
  rows.values.assign(data, data + weights.elements());
  if (axis != 0)
    for (size_t k = 0; k < rows.depth; ++k)
      for (size_t c = 0; c < rows.channels; ++c) rows.values[c * rows.depth + k] = data[k * rows.channels + c];
  return rows;
}

Tensor IntegerRows::tensor(const Shape& like, size_t axis) const {
  Tensor tensor(DType::i8, like);
  int8_t* out = tensor.writable().data<int8_t>();
  for (size_t c = 0; c < channels; ++c)
    for (size_t k = 0; k < depth; ++k) out[axis ? k * channels + c : c * depth + k] = values[c * depth + k];
  return tensor;
}

Rows IntegerRows::numbers() const {
  Rows rows;
  rows.channels = channels, rows.depth = depth;
  rows.values.resize(values.size());
  for (size_t c = 0; c < channels; ++c)
    for (size_t k = 0; k < depth; ++k) rows.values[c * depth + k] = scale(c) * static_cast<float>(values[c * depth + k]);
  return rows;
}

std::vector<float> weight_scales(const Rows& rows, const WeightMethod& method, int most, bool per_channel, std::span<const float> least) {
  std::vector<float> scales;
  if (per_channel)
    for (size_t c = 0; c < rows.channels; ++c) scales.push_back(method.find({rows.row(c), rows.depth}, most));
  else
    scales.push_back(method.find(rows.values, most));
  for (size_t c = 0; c < least.size(); ++c) {
    float& scale = scales[per_channel ? c : 0];
    scale = std::max(scale, least[c]);
  }
  for (float& scale : scales) {
    if (!(scale >= 1e-30F)) scale = 1;  // all weights are zero
    scale = stored_scale(scale);
  }
  return scales;
}

IntegerRows round_to_nearest(const Rows& rows, std::vector<float> scales, int most) {
  IntegerRows result;
  result.channels = rows.channels, result.depth = rows.depth;
  result.scales = std::move(scales);
  result.values.resize(rows.values.size());
  const float end = static_cast<float>(most);
  for (size_t c = 0; c < rows.channels; ++c) {
    const float scale = result.scale(c);
    for (size_t k = 0; k < rows.depth; ++k)
      result.values[c * rows.depth + k] =
          static_cast<int8_t>(std::clamp(nearest_integer(std::clamp(rows.row(c)[k] / scale, -end, end)), -end, end));
  }
  return result;
}

}  // namespace minnow::compress
