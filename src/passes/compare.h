// SPDX-License-Identifier: Apache-2.0
// Runs two forms of a graph on the same inputs, for `convert --verify` and for tests of passes.
//
// Rounding to integers is a step function: where a number lies at the edge of a step, the last bit of a sum, which passes may change, moves
// the result by a whole step, and what follows by any amount. So in a graph that quantizes, the tolerance holds for the numbers that are
// rounded: while the other graph runs, a rounded tensor (known by its name) may hold every integer that numbers within the tolerance round
// to, and goes on as the first graph had it. Then all that follows agrees within the tolerance; a rounding that was left out, or done to
// other numbers, leaves nearly all elements off by a part of a step. As the next rounding may swallow that, not outputs alone are compared
// but all real tensors that both graphs have by name.
//
// The other graph's run draws the random numbers of the first.
//
// A rounding whose name the other graph no longer has (it is done in another order of dimensions, or within a fused operator) cannot be
// followed so. Their effect is found by changing all that they round by the tolerance: the elements of a tensor may then be
// as far off as this makes one of them, and half as far off in the mean square: of flipped roundings there are few, of left out ones many.
#pragma once
#include <map>
#include <memory>

#include "ops/operator.h"

namespace minnow {

struct CompareOptions {
  double tolerance = 1e-4;  // of max(1, largest magnitude of the output); where numbers are rounded, of their largest magnitude
  uint64_t seed = 1;
  std::map<std::string, int64_t> symbols;  // sizes of symbolic dimensions
  int64_t other_dims = 1;                  // size of all other dimensions that are not fixed
  // If not 0, inputs of four dimensions without fixed or named ones are images with so many channels.
  int64_t channels = 0;
  bool channels_last = false;
};

/// Inputs for a graph: floats N(0, 1); bytes of all values; other integers and bools 0 or 1. Throws where one would be larger than
/// verifying is worth.
std::vector<Datum> random_inputs(const Graph& graph, const CompareOptions& options = {});

/// The outputs of a graph by the operators' references, to compare others with. The graph must outlive it.
class Expectation {
 public:
  /// Runs the graph; throws what that throws.
  Expectation(const OperatorSet& operators, const Graph& graph, std::vector<Datum> inputs, double tolerance);
  ~Expectation();
  Expectation(Expectation&&) noexcept;

  /// Throws InvalidModel where an output of `other` differs, with the output and by how much; and what running it throws.
  void check(const Graph& other) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Expectation and check in one, on random inputs.
void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, const CompareOptions& options = {});

}  // namespace minnow
