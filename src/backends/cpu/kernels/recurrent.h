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

/// One sequence of an LSTM, going back a step. Each gate and state has `count` floats.
struct LstmBack {
  float* gates;         // input, output, forget, new, one after another
  const float* before;  // the cell's state before the step
  const float *c, *h;   // its state after it; the gradient of the output
  float* of_c;          // the gradient of the cell's state, after the step and then before it
  size_t count;
};

struct RecurrentKernels {
  /// Gates input, output, forget, new: c becomes sigmoid(f) c + sigmoid(i) tanh(n), h becomes sigmoid(o) tanh(c).
  void (*lstm)(const CellRows& cell, float* c, float* h);
  /// Gates update, reset, new, and s, which reset scales: next = (1 - u) tanh(n + sigmoid(r) s) + u h, with u = sigmoid(update).
  void (*gru)(const CellRows& cell, const float* h, float* next);
  /// scaled = sigmoid(reset) h, where the state is scaled before it is multiplied; the fourth vector becomes 0.
  void (*reset)(const CellRows& cell, const float* h, float* scaled);
#if MINNOW_GRADIENTS
  /// Sums of gates become gates, and c the state after the step. Reads gates, before and count.
  void (*lstm_gates)(const LstmBack& cell, const float* sums, float* c);
  /// Gates become the gradients of their sums.
  void (*lstm_back)(const LstmBack& cell);
#endif
};

}  // namespace minnow::cpu
