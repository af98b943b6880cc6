// SPDX-License-Identifier: Apache-2.0
// One step of recurrent cells: from the sums of their gates to their states.
#pragma once
#include <cstddef>

namespace minnow::cpu {

/// One vector of hidden units of `rows` sequences. The sums of four gates are four adjacent vectors; sequences are `gate_stride` floats
/// apart. States are one vector per sequence, adjacent to each other.
struct CellRows {
  float* gates;
  size_t gate_stride, rows;
};

struct RecurrentKernels {
  /// Gates input, output, forget, new: c becomes sigmoid(f) c + sigmoid(i) tanh(n), h becomes sigmoid(o) tanh(c).
  void (*lstm)(const CellRows& cell, float* c, float* h);
  /// Gates update, reset, new, and s, which reset scales: next = (1 - u) tanh(n + sigmoid(r) s) + u h, with u = sigmoid(update).
  void (*gru)(const CellRows& cell, const float* h, float* next);
  /// scaled = sigmoid(reset) h, where the state is scaled before it is multiplied; the fourth vector becomes 0.
  void (*reset)(const CellRows& cell, const float* h, float* scaled);
};

}  // namespace minnow::cpu
