// SPDX-License-Identifier: Apache-2.0
// Convolutions and products with constant weights, and folding into their weights and biases.
#pragma once
#include "passes/rewrite.h"

namespace minnow {

/// A Conv, ConvTranspose, Gemm or MatMul with constant weights, or weights that a Cast widens, as seen from the channels of its result.
struct Linear {
  Node* node = nullptr;
  int64_t channels = 0;     // of the result
  size_t channel_axis = 0;  // of the weights
  int64_t channel_groups =
      1;  // the result's channels are divided into so many groups, which are on another axis of the weights (ConvTranspose)
  bool has_bias_input = true;

  static std::optional<Linear> of(Node* node);

  /// A constant that is added to (or multiplied with) the result, as one number per channel, or one for all.
  std::optional<std::vector<double>> per_channel(const Value* value) const;
  /// Folds result * scale + shift into new weights and a new bias. One entry each per channel; empty: 1, or 0. Returns false, without
  /// changes, if large weights have other users, if there is no place for a bias, or if a weight or a bias would overflow (0 times
  /// infinity is NaN).
  bool absorb(std::span<const double> scale, std::span<const double> shift) const;
};

}  // namespace minnow
