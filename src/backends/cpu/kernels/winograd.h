// SPDX-License-Identifier: Apache-2.0
// Transforms of Winograd's minimal filtering, one vector of channels at a time. F(M, R) computes M outputs of a filter of R taps from
// M + R - 1 products; applied along both axes it serves images, each axis by a form of its own.
// Source: Lavin, Gray 2015, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/build.h"

namespace minnow::cpu {

/// The forms that have transforms along an axis.
enum class WinogradForm : uint8_t {
  none,        // one tap: products with the inputs themselves
  f2,          // 3 taps, stride 1, M = 2
  f3,          // M = 3
  f4,          // M = 4
  f6,          // M = 6
  stride2_f2,  // 3 taps, stride 2, M = 2: even inputs meet taps 0 and 2 (F(M, 2)), odd ones tap 1 (M plain products)
  stride2_f4,  // M = 4
  two_f3,      // 2 taps, stride 1, M = 3
  two_f4,      // M = 4
  four_f4,     // 4 taps, M = 4
  five_f2,     // 5 taps, M = 2
  five_f3,     // M = 3
  five_f4,     // M = 4
  seven_f2,    // 7 taps, M = 2
  seven_f3,    // M = 3
  count
};

inline constexpr size_t kMostWinogradPositions = 9;  // along an axis
inline constexpr size_t kMostWinogradOutputs = 6;
inline constexpr size_t kMostWinogradTaps = 7;

/// The interpolation points are 0 (if their number is odd), +-p[0], +-p[1] ..., and infinity, so that the transforms share half of the work
/// of a pair. The points minimize the effect of rounding products, sqrt(mean over outputs i of sum over j of (output[i][j] |input row j|
/// |kernel row j|)^2 / taps), for which points without pairs were never better, and then simulated errors among nearby fractions. For
/// F(4, 3), 5/8 and 13/8 (or 3/5 and 3/2) keep the error within a factor of two of plain summation; the usual 1 and 2 make it five times
/// as large. Scaling the rows of a transform changes nothing, because rounding is relative.
struct WinogradNumbers {
  size_t outputs, taps, stride;  // M; of the filter
  double p[4];
  // The mean error relative to that of plain sums, measured with random weights and 64 channels (12 for four_f4): with one tap along the
  // other axis, and along both axes.
  double line_error, plane_error;

  constexpr size_t met() const { return stride == 2 ? 2 : taps; }        // taps that the points serve
  constexpr size_t served() const { return outputs + met() - 1; }        // positions of the points, infinity the last
  constexpr size_t copies() const { return stride == 2 ? outputs : 0; }  // positions of odd inputs, behind them
  constexpr size_t positions() const { return served() + copies(); }     // products along the axis, as many as inputs
  constexpr size_t step() const { return outputs * stride; }             // inputs between tiles
  constexpr size_t pairs() const { return (served() - 1) / 2; }
  constexpr bool has_zero() const { return (served() - 1) % 2 != 0; }
  constexpr double point(size_t i) const {
    if (has_zero() && i == 0) return 0;
    i -= has_zero();
    return i % 2 ? -p[i / 2] : p[i / 2];
  }
};

inline constexpr WinogradNumbers kWinogradForms[] = {
    {1, 1, 1, {}, 1, 1},                                 // none
    {2, 3, 1, {1}, 0.9, 0.75},                           // f2
    {3, 3, 1, {0.375, 1.3125}, 1.2, 1.2},                // f3
    {4, 3, 1, {0.625, 1.625}, 1.5, 1.9},                 // f4
    {6, 3, 1, {0.5, 1, 2.0625}, 2.7, 6.7},               // f6
    {2, 3, 2, {1}, 0.6, 0.55},                           // stride2_f2
    {4, 3, 2, {0.375, 1.25}, 1.1, 1.1},                  // stride2_f4
    {3, 2, 1, {1}, 1.1, 1.1},                            // two_f3
    {4, 2, 1, {0.375, 1.25}, 1.4, 1.8},                  // two_f4
    {4, 4, 1, {0.3125, 0.859375, 1.875}, 1.9, 3.8},      // four_f4
    {2, 5, 1, {0.625, 1.5625}, 1.3, 1.5},                // five_f2
    {3, 5, 1, {0.3125, 0.8125, 1.8}, 1.7, 2.5},          // five_f3
    {4, 5, 1, {0.5, 1, 2.0625}, 2.3, 4.6},               // five_f4
    {2, 7, 1, {0.5, 1, 1.9375}, 2.5, 5.2},               // seven_f2
    {3, 7, 1, {0.25, 0.6875, 1.125, 2.1875}, 3.3, 9.5},  // seven_f3
};
constexpr const WinogradNumbers& numbers_of(WinogradForm form) { return kWinogradForms[static_cast<size_t>(form)]; }

/// Whether this build has the kernels of a form.
constexpr bool is_built(WinogradForm form) {
  const size_t served = numbers_of(form).served();
  return !kSmall || served == 1 || served == 4 || served == 6;
}

/// Lines that are transformed alike. Distances are in floats.
struct WinogradLines {
  size_t x_value = 0, x_line = 0;  // between the values of a line, and between lines
  size_t y_value = 0, y_line = 0;
  size_t lines = 1;
  size_t outputs = 0, copies = 0;       // as in WinogradNumbers
  const float* coefficients = nullptr;  // WinogradCoefficients
};

/// The last operations on outputs before they are stored.
struct WinogradFinish {
  const float* bias = nullptr;   // one vector
  const float* add = nullptr;    // as y
  const float* scale = nullptr;  // one vector: outputs are multiplied by it and rounded; null: they are not
  float low = 0, high = 0;
  bool clamps = false;
};

/// The weights of one input channel and some output channels, in f64, which are transformed along both axes. `lanes`: output channels,
/// whole vectors of floats.
struct WinogradWeights {
  const double* kernel;         // [tap down][tap across][lanes]
  const double *down, *across;  // [position][kMostWinogradTaps]
  size_t height, width;         // taps
  size_t rows, columns;         // positions; no columns: the transform is along the vertical axis alone
  size_t lanes;
  float* to;    // [position, or row and tap across][lanes]
  size_t step;  // floats between those
};

/// The functions for n positions of points are those at [n].
struct WinogradKernels {
  /// From lines of inputs to lines of positions, one vector each.
  void (*input[kMostWinogradPositions + 1])(const WinogradLines& lines, const float* x, float* y);
  /// From lines of positions to lines of outputs. finish: null, or the operation applied to the outputs.
  void (*output[kMostWinogradPositions + 1])(const WinogradLines& lines, const float* x, float* y, const WinogradFinish* finish);
  /// Transforms weights along one axis, at [taps that meet points]: from as many vectors as there are taps, x_value apart, to as many as
  /// there are positions, y_value apart; and so for `lines` neighbouring vectors. `outputs`: the positions of points.
  void (*weights[5])(const WinogradLines& lines, const float* w, float* to);
  /// Transforms border tiles, one line at a time: y[to[i]] = sum over k of matrix[i][k] * x[from[k]] for i < count, a vector each; the
  /// function for n values of k is line[n].
  void (*line[kMostWinogradPositions + 1])(const float* x, const size_t* from, const float* matrix, size_t count, float* y,
                                           const size_t* to);
  /// Finishes border tiles' outputs, `columns` vectors side by side, to y, `pixel` floats apart.
  void (*finish)(const float* x, size_t columns, float* y, size_t pixel, const WinogradFinish& finish);
  void (*pack)(const WinogradWeights& weights);
};

}  // namespace minnow::cpu
