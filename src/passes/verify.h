// SPDX-License-Identifier: Apache-2.0
// What `convert --verify` does.
#pragma once
#include "passes/pipeline.h"

namespace minnow {

/// Compares a graph before and after optimization by `options` (see compare.h). Dimensions that are open get the first of some sizes for
/// which the graph as it came can be run: strides and pools refuse small ones. Batches (symbols at axis 0) are 1. Throws InvalidModel where
/// they differ, with the output and the pass that made it: `before` is then optimized again and again, up to one pass or another.
void verify_optimization(const OperatorSet& operators, const Graph& before, const Graph& after, const OptimizeOptions& options);

}  // namespace minnow
