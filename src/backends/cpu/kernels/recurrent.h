// SPDX-License-Identifier: Apache-2.0
// One step of recurrent cells: from the sums of their gates to their states.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// Where to write what the gradient of a step needs: gates and the cell's state after it, of one vector of units, for the rows of CellRows.
/// Gates are `gate` floats apart; the second row is `gates_step` and `c_step` floats behind the first. A row of fewer units than a vector
/// has its gates in place of its sums instead.
struct KeptGates {
  float *gates, *c;  // either may be null; c: of an LSTM
  size_t gate, gates_step, c_step;
  size_t units, units_step;  // units of the first row, and how many fewer the next one has
};

/// One vector of hidden units of `rows` sequences. The sums of four gates are four adjacent vectors; sequences are `gate_stride` floats
/// apart. States are one vector per sequence, adjacent to each other.
struct CellRows {
  float* gates;
  size_t gate_stride, rows;
  const KeptGates* kept = nullptr;  // null: no gradient is asked for
};

/// One vector of hidden units of `rows` sequences, going back a step. All vectors are whole. Distances from one sequence to the next are in
/// `of_rows`.
struct CellBack {
  const float *gates, *after;     // as KeptGates has them; the states after the step (LSTM: the cell's)
  const float *before, *initial;  // the states before it, null: the initial ones
  const float* of_y;              // the gradient of the output; null: zero
  float *of_x, *of_r;             // the gradients of the sums with inputs, and of those with states (GRU: they differ)
  struct {
    size_t gates, after, before, initial, y, sums;
  } of_rows;
  size_t gate;         // floats from gate to gate, of gates, of_x and of_r
  float *of_h, *of_c;  // vectors: the gradients of the states after the step, and then those before it, but for the product with R
  float* factors;      // vectors: the gradients that are multiplied by R, `factor` floats from gate to gate
  size_t factor;
  float *of_bias_x, *of_bias_r;  // vectors, `bias` floats from gate to gate: of_x and of_r (GRU) are added to them
  size_t bias;
  const int32_t* lengths;  // of the sequences: those that end before step `time` stay as they are; null: none does
  int32_t time, time_before;
  size_t rows;
};

struct RecurrentKernels {
  /// Gates input, output, forget, new: c becomes sigmoid(f) c + sigmoid(i) tanh(n), h becomes sigmoid(o) tanh(c).
  void (*lstm)(const CellRows& cell, float* c, float* h);
  /// Gates update, reset, new, and s, which reset scales: next = (1 - u) tanh(n + sigmoid(r) s) + u h, with u = sigmoid(update).
  void (*gru)(const CellRows& cell, const float* h, float* next);
  /// scaled = sigmoid(reset) h, where the state is scaled before it is multiplied; the fourth vector becomes 0.
  void (*reset)(const CellRows& cell, const float* h, float* scaled);
  // Around products of bytes; null in a small build.
  float (*largest)(const float* x, size_t count);  // |x|; NaN if a number is
  /// y = base + factor x; base may be y, or null: 0.
  void (*add_scaled)(const float* x, float factor, const float* base, size_t count, float* y);
  // Null in a build without gradients.
  /// The sums of one sequence's gates input, output, forget, new, `hidden` each, become the gates.
  void (*lstm_gates)(float* sums, size_t hidden);
  // The gradients of the sums of a step.
  void (*lstm_back)(const CellBack& cell);
  void (*gru_back)(const CellBack& cell);  // of a GRU that scales the product: gates z, r, new and the product
  void (*tanh_back)(const CellBack& cell);
  void (*relu_back)(const CellBack& cell);
};

}  // namespace minnow::cpu
