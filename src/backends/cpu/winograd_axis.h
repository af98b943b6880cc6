// SPDX-License-Identifier: Apache-2.0
// Matrices of Winograd's minimal filtering along one axis of a tile, computed from its points, for all of its outputs or for fewer. A tile
// at the image's border with fewer outputs needs only some of the points, with the same transformed weights.
#pragma once
#include <vector>

#include "backends/cpu/kernels/winograd.h"

namespace minnow::cpu {

/// outputs = output (input x) . (kernel rows of the positions times the taps), the product being taken position by position.
struct WinogradAxis {
  size_t outputs, inputs;
  std::vector<size_t> positions;  // those of the form that take part, ascending
  std::vector<float> input;       // [position][input]
  std::vector<float> output;      // [output][position]

  /// 1 <= outputs <= numbers_of(form).outputs. Takes the set of points with the smallest bound on the error.
  static WinogradAxis of(WinogradForm form, size_t outputs);
};

/// The coefficients of a form for the kernels of whole tiles (WinogradLines::coefficients).
struct WinogradCoefficients {
  std::vector<float>
      input;  // of the product of (y - p^2) over all pairs, lowest power first; for each pair of that over the others, then p
  std::vector<float> output;   // [power from 1][pair]
  std::vector<float> weights;  // of the zero; for each pair those of the taps

  explicit WinogradCoefficients(WinogradForm form);
};

/// Row `position` of G, which takes the taps of a kernel along one axis to that position.
void winograd_kernel_row(WinogradForm form, size_t position, double* g);

}  // namespace minnow::cpu
