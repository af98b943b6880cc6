// SPDX-License-Identifier: Apache-2.0
// Matrices of Winograd's minimal filtering along one axis of a tile, for all of its outputs or for fewer: a tile at the border of the image
// that has fewer outputs needs only some of the points, with the same transformed weights.
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

  /// 1 <= outputs <= numbers_of(form).outputs. Of the sets of points that serve, the one with the smallest bound on the error.
  static WinogradAxis of(WinogradForm form, size_t outputs);
};

/// Row `position` of G, which takes the taps of a kernel along one axis to that position.
void winograd_kernel_row(WinogradForm form, size_t position, double* g);

}  // namespace minnow::cpu
