// SPDX-License-Identifier: Apache-2.0
// Implements `convert --verify`.
#pragma once
#include "passes/pipeline.h"

namespace minnow {

/// Compares a graph before and after optimization by `options` (see compare.h). Open dimensions get the first of some sizes with which the
/// original graph runs, because strides and pools refuse small sizes; batches (symbols at axis 0) are 1. Throws InvalidModel if results
/// differ, naming the output and the pass at fault: `before` is optimized again up to different passes to find it.
void verify_optimization(const OperatorSet& operators, const Graph& before, const Graph& after, const OptimizeOptions& options);

}  // namespace minnow
