// SPDX-License-Identifier: Apache-2.0
// Sizes and checks that the schemes of recurrent cells and of their gradients share.
#pragma once
#include <optional>

#include "backends/backend.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {

struct Recurrent {
  bool lstm, batch_first, reversed, reset_before = false;  // reset_before: the state is scaled, not its product
  size_t length, batch, input, hidden, directions, gates;
  size_t slots;  // vectors of sums for each vector of hidden units, an even number

  /// `cell`: LSTM, GRU or RNN. The inputs from X to P are the first ones of the node.
  Recurrent(const NodeView& node, std::string_view cell);
  /// The parts of the hidden units, of `most`, that threads should compute each step in. `bytes`: of a weight.
  size_t parts(int threads, size_t most, double bytes = 4) const noexcept;
  double weight_bytes(double bytes) const noexcept { return bytes * static_cast<double>(gates * hidden * hidden); }  // of R
};

/// The function of an RNN's activation i; empty if cells here do not support it: LSTM and GRU must have sigmoid and tanh in their usual
/// places, RNN may also have relu.
std::optional<Unary> activation_of(const NodeView& node, std::string_view cell, size_t i);

/// Declined if cells here do not serve the node. Says nothing about the weights of minnow.QuantizedLSTM and minnow.QuantizedGRU.
Estimate cell_refusal(const Recurrent& r, const NodeView& node, std::string_view cell);

}  // namespace minnow::cpu
