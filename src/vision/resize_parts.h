// SPDX-License-Identifier: Apache-2.0
// Shared by the files of resize().
#pragma once
#include <minnow/vision/geometry.h>

#include "vision/image.h"

namespace minnow::vision {

/// One direction of a resize.
struct Axis {
  int64_t from, to;
  double scale;  // source pixels for one destination pixel
};

/// Each destination pixel as a weighted sum of consecutive source pixels.
struct Spans {
  std::vector<int32_t> first, counts;  // of each destination pixel
  std::vector<float> weights;          // of all, one after the other

  void begin(int64_t at) { first.push_back(static_cast<int32_t>(at)), counts.push_back(0); }
  void add(double weight) { weights.push_back(static_cast<float>(weight)), ++counts.back(); }
  /// Where the weights of each begin.
  std::vector<size_t> starts() const {
    std::vector<size_t> starts;
    size_t at = 0;
    for (const int32_t count : counts) starts.push_back(at), at += static_cast<size_t>(count);
    return starts;
  }
};

/// Weights of 4 and 8 neighbours of a position `x` behind the middle two's first; their sum is 1.
void cubic_weights(float x, float* weights);
void lanczos_weights(float x, float* weights);

void resize_antialiased(const ImageView& from, const MutableImageView& to, Interpolation interpolation);

}  // namespace minnow::vision
