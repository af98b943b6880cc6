// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/low_precision.h"

#include <bit>

#include "base/numeric.h"

namespace minnow::cpu {

namespace {

template <class Round>
std::vector<float> rounded_pairs(const Round& round, const float* w, size_t outer, size_t channels, size_t inner, float factor) {
  const size_t halves = (channels + 1) / 2;
  std::vector<float> pairs(outer * halves * inner);
  for (size_t o = 0; o < outer; ++o)
    for (size_t h = 0; h < halves; ++h)
      for (size_t i = 0; i < inner; ++i) {
        const float* from = w + (o * channels + 2 * h) * inner + i;
        const uint32_t low = round(factor * from[0]), high = 2 * h + 1 < channels ? round(factor * from[inner]) : 0;
        pairs[(o * halves + h) * inner + i] = std::bit_cast<float>(low | high << 16);
      }
  return pairs;
}

}  // namespace

std::vector<float> low_precision_weights(LowPrecisionFormat format, const float* w, size_t outer, size_t channels, size_t inner,
                                         float factor) {
  if (format == LowPrecisionFormat::f16) return rounded_pairs(f16_from_f32, w, outer, channels, inner, factor);
  return rounded_pairs([](float value) { return bf16_from_f32(value); }, w, outer, channels, inner, factor);
}

}  // namespace minnow::cpu
