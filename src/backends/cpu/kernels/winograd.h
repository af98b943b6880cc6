// SPDX-License-Identifier: Apache-2.0
// Transforms of Winograd's minimal filtering, one vector of channels at a time. F(M, R) computes M outputs of a filter of R taps from
// M + R - 1 products; applied along both axes it serves images.
// Source: Lavin, Gray 2015, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// The interpolation points are 0 (where their number is odd), +-p[0], +-p[1] ..., and infinity, so that both transforms share half of the
/// work of a pair. For F(4, 3), 3/5 and 3/2 keep the error within a factor of two of plain summation, where the usual 1 and 2 make it five
/// times as large; for F(3, 3), 1/3 and 6/5 make it equal; for F(4, 4), 5/16, 13/16 and 7/4 keep it within four times.
template <int M, int R>
struct WinogradPoints {
  static constexpr int kPositions = M + R - 1, kPairs = (kPositions - 1) / 2, kZero = (kPositions - 1) % 2;
  static constexpr double kTable[4][3] = {{1}, {0.6, 1.5}, {0.3125, 0.8125, 1.75}, {1.0 / 3, 1.2}};
  static constexpr const double (&p)[3] = kTable[M == 3 && R == 3 ? 3 : kPairs - 1];
  static constexpr double point(int i) { return kZero && i == 0 ? 0 : ((i - kZero) & 1 ? -1 : 1) * p[(i - kZero) / 2]; }
};

/// Which convolutions there are transforms for.
enum class WinogradForm : uint8_t {
  f2,          // 3x3, stride 1, M = 2
  f3,          // 3x3, stride 1, M = 3
  f4,          // 3x3, stride 1, M = 4
  stride2_f2,  // 3x3, stride 2, M = 2: along each axis, even inputs meet taps 0 and 2 (F(M, 2)), odd ones tap 1 (M plain products)
  stride2_f4,  // 3x3, stride 2, M = 4
  four_f4,     // 4x4, stride 1, M = 4
  two_f3,      // 2x2, stride 1, M = 3
  two_f4,      // 2x2, stride 1, M = 4
  count
};
struct WinogradNumbers {
  int outputs, positions, step, taps, stride;  // M; products per axis, as many as inputs; inputs between tiles; of the filter
};
constexpr WinogradNumbers numbers_of(WinogradForm form) {
  switch (form) {
    case WinogradForm::f2:
      return {2, 4, 2, 3, 1};
    case WinogradForm::f3:
      return {3, 5, 3, 3, 1};
    case WinogradForm::f4:
      return {4, 6, 4, 3, 1};
    case WinogradForm::stride2_f2:
      return {2, 5, 4, 3, 2};
    case WinogradForm::stride2_f4:
      return {4, 9, 8, 3, 2};
    case WinogradForm::two_f3:
      return {3, 4, 3, 2, 1};
    case WinogradForm::two_f4:
      return {4, 5, 4, 2, 1};
    default:
      return {4, 7, 4, 4, 1};
  }
}

inline constexpr size_t kMostWinogradPositions = 9;  // along an axis

struct WinogradOutput {
  const float* m;  // planes of products, one for each pair of positions, of one vector each; of `finish` a plane an output
  size_t plane;
  const float* bias = nullptr;
  const float* add = nullptr;  // as y
  float low = 0, high = 0;
  bool clamps = false;
  float* y;
  size_t row, pixel;     // floats between rows and between columns of y
  size_t rows, columns;  // of the M x M outputs, those that exist
};

struct WinogradKernels {
  /// From as many rows of as many pixels as there are positions to as many planes, one vector each.
  void (*input[static_cast<size_t>(WinogradForm::count)])(const float* x, size_t row, float* v, size_t plane);
  void (*output[static_cast<size_t>(WinogradForm::count)])(const WinogradOutput&);
  /// Of weights, along one axis: from as many vectors as there are taps, `step` floats apart, to as many as there are positions, `plane`
  /// apart; and so for `vectors` neighbouring ones.
  void (*weights[static_cast<size_t>(WinogradForm::count)])(const float* w, size_t step, float* to, size_t plane, size_t vectors);
  /// Of border tiles, one line at a time: y[to[i]] = sum over k of matrix[i][k] * x[from[k]] for i < count, a vector each; the function
  /// for n values of k is line[n].
  void (*line[kMostWinogradPositions + 1])(const float* x, const size_t* from, const float* matrix, size_t count, float* y,
                                           const size_t* to);
  /// Bias, addition and clamping of outputs that lie [row][column] in planes.
  void (*finish)(const WinogradOutput&);
};

}  // namespace minnow::cpu
