// SPDX-License-Identifier: Apache-2.0
// Transforms of Winograd's minimal filtering, one vector of channels at a time. F(M, R) computes M outputs of a filter of R taps from
// M + R - 1 products; applied along both axes it serves images.
// Source: Lavin, Gray 2015, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// The interpolation points are 0 (where their number is odd), +-p[0], +-p[1] ..., and infinity, so that both transforms share half of the
/// work of a pair. For four points, 3/5 and 3/2 keep the error within a factor of two of plain summation; the usual 1 and 2 make it five
/// times as large.
template <int M, int R>
struct WinogradPoints {
  static constexpr int kPositions = M + R - 1, kPairs = (kPositions - 1) / 2, kZero = (kPositions - 1) % 2;
  static_assert(kPairs == 1 || kPairs == 2);
  static constexpr double p[2] = {kPairs == 1 ? 1.0 : 0.6, 1.5};
  static constexpr double point(int i) { return kZero && i == 0 ? 0 : ((i - kZero) & 1 ? -1 : 1) * p[(i - kZero) / 2]; }
  /// Row i of G: what position i takes of the taps of a filter.
  static void kernel_row(int i, double* g) {
    constexpr int kFinite = kPositions - 1;
    if (i == kFinite) {
      for (int k = 0; k < R; ++k) g[k] = k == R - 1;
      return;
    }
    double n = 1;
    for (int k = 0; k < kFinite; ++k)
      if (k != i) n *= point(i) - point(k);
    g[0] = 1 / n;
    for (int k = 1; k < R; ++k) g[k] = g[k - 1] * point(i);
  }
};

/// Which convolutions there are transforms for.
enum class WinogradForm : uint8_t {
  f2,          // 3x3, stride 1, M = 2
  f4,          // 3x3, stride 1, M = 4
  stride2_f2,  // 3x3, stride 2, M = 2: along each axis, even inputs meet taps 0 and 2 (F(M, 2)), odd ones tap 1 (M plain products)
  stride2_f4,  // 3x3, stride 2, M = 4
  four_f3,     // 4x4, stride 1, M = 3
  count
};
struct WinogradNumbers {
  int outputs, positions, step, taps, stride;  // M; products per axis, as many as inputs; inputs between tiles; of the filter
};
constexpr WinogradNumbers numbers_of(WinogradForm form) {
  switch (form) {
    case WinogradForm::f2:
      return {2, 4, 2, 3, 1};
    case WinogradForm::f4:
      return {4, 6, 4, 3, 1};
    case WinogradForm::stride2_f2:
      return {2, 5, 4, 3, 2};
    case WinogradForm::stride2_f4:
      return {4, 9, 8, 3, 2};
    default:
      return {3, 6, 3, 4, 1};
  }
}

struct WinogradOutput {
  const float* m;  // planes of products, one for each pair of positions, of one vector each
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
  /// From as many rows of as many pixels as there are positions to as many planes, one vector each.
  void (*input[static_cast<size_t>(WinogradForm::count)])(const float* x, size_t row, float* v, size_t plane);
  void (*output[static_cast<size_t>(WinogradForm::count)])(const WinogradOutput&);
};

}  // namespace minnow::cpu
