// SPDX-License-Identifier: Apache-2.0
// Runs two forms of a graph on the same inputs, for `convert --verify` and for tests of passes.
//
// Rounding to integers is a step function: where a number lies at the edge of a step, the last bit of a sum, which passes may change, moves
// the result by a whole step, and what follows by any amount. So in a graph that quantizes, the tolerance holds for the numbers that are
// rounded: an output may differ as far as it does when all of those are changed by the tolerance.
#pragma once
#include <map>

#include "ops/operator.h"

namespace minnow {

struct CompareOptions {
  double tolerance = 1e-4;  // of max(1, largest magnitude of the output); in a graph that quantizes, also of what is rounded
  uint64_t seed = 1;
  std::map<std::string, int64_t> symbols;  // sizes of symbolic dimensions
  int64_t other_dims = 1;                  // size of all other dimensions that are not fixed
};

/// Inputs for a graph: floats N(0, 1); bytes of all values; other integers and bools 0 or 1.
std::vector<Datum> random_inputs(const Graph& graph, const CompareOptions& options = {});

/// Throws InvalidModel where an output of `after` differs from that of `before`, with the output and by how much; and what running either
/// of them throws. Both are run by the operators' references.
void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, const CompareOptions& options = {});
/// The same for inputs at hand, and what `before` makes of them.
void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, std::span<const Datum> inputs,
                    std::span<const Datum> expected, double tolerance);

}  // namespace minnow
