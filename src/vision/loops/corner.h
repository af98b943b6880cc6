// SPDX-License-Identifier: Apache-2.0
// Loops of corners.cpp: the derivatives' products, summed over blocks.
#pragma once
#include <cstddef>

namespace minnow::vision {

struct CornerLoops {
  /// sums [3, n]: + sign * dx dx, dx dy, dy dy.
  void (*add)(const float* dx, const float* dy, size_t n, double sign, double* sums);
  /// to[i] = sum of `count` elements from padded[i] on; `count` is small.
  void (*across)(const double* padded, size_t n, size_t count, float* to);
  void (*harris)(const float* xx, const float* xy, const float* yy, size_t n, float k, float* to);
  void (*least)(const float* xx, const float* xy, const float* yy, size_t n, float* to);
};
const CornerLoops& corner_loops();

}  // namespace minnow::vision
