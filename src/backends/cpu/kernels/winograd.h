// SPDX-License-Identifier: Apache-2.0
// Transforms of Winograd's minimal filtering F(M x M, 3 x 3), one vector of channels at a time, for M = 2 and M = 4.
// Source: Lavin, Gray 2015, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// The interpolation points are 0, +-p[0], +-p[1] ..., and infinity, so that both transforms share half of the work of a pair. For M = 4,
/// 3/5 and 3/2 keep the error within a factor of two of plain summation; the usual 1 and 2 make it five times as large.
template <int M>
struct WinogradPoints;
template <>
struct WinogradPoints<2> {
  static constexpr int kPairs = 1;
  static constexpr double p[] = {1};
};
template <>
struct WinogradPoints<4> {
  static constexpr int kPairs = 2;
  static constexpr double p[] = {0.6, 1.5};
};

struct WinogradOutput {
  const float* m;  // (M + 2)^2 planes of products, one vector each
  size_t plane;
  const float* bias = nullptr;
  const float* add = nullptr;  // as y
  float low = 0, high = 0;
  bool clamps = false;
  float* y;
  size_t row;            // floats between rows of y
  size_t rows, columns;  // of the M x M outputs, those that exist
};

struct WinogradKernels {
  /// From M + 2 rows of M + 2 pixels to as many planes, one vector each. By M / 4.
  void (*input[2])(const float* x, size_t row, float* v, size_t plane);
  void (*output[2])(const WinogradOutput&);
};

}  // namespace minnow::cpu
