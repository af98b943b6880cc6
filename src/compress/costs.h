// SPDX-License-Identifier: Apache-2.0
// The cost of a report's layers before and after.
#pragma once
#include <minnow/compress.h>

namespace minnow::compress {

/// Fills in operations and estimated seconds of the rows, from plans of both models for the shapes of `inputs`. Does nothing where a model
/// cannot be planned.
void add_costs(std::vector<LayerReport>& rows, const Model& before, const Model& after, std::span<const Tensor> inputs);

}  // namespace minnow::compress
