// SPDX-License-Identifier: Apache-2.0
// Factors of channels move from one layer to the next, so that one scale suits all channels. The function of the graph stays the same.
#pragma once
#include <functional>

#include "compress/selection.h"

namespace minnow::compress {

/// A value whose channels may be scaled: its maker divides them by a factor, and all its readers multiply by it.
struct ScalableValue {
  Value* value = nullptr;
  Layer* maker = nullptr;  // or a normalization:
  Node* normalization = nullptr;
  std::vector<Layer*> readers;
  size_t channels = 0;
};
std::vector<ScalableValue> scalable_values(Selection& selection);

/// The largest magnitudes of the weights by which the readers multiply each channel.
std::vector<double> reading_weights(const ScalableValue& site);
/// Divides the channels of the value by these factors, which are positive.
void scale_channels(Graph& graph, const ScalableValue& site, const std::vector<double>& factors);

/// Cross-layer equalization: the weights that make and read a channel get the same largest magnitude. Returns the number of values.
size_t equalize(Graph& graph, Selection& selection);
/// SmoothQuant: a channel's largest magnitude, which `largest_of` gives, moves into the weights by the power `part`. Returns the number of
/// values.
size_t smooth(Graph& graph, Selection& selection, double part, const std::function<std::vector<double>(const Value&)>& largest_of);

}  // namespace minnow::compress
