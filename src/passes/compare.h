// SPDX-License-Identifier: Apache-2.0
// Runs two forms of a graph on the same inputs, for `convert --verify` and for tests of passes.
//
// Rounding to integers is a step function. If a number lies at the edge of a step, a change in the last bit of a sum, which passes may
// cause, moves the result by a whole step, and later results by any amount. So in a graph that quantizes, the tolerance applies to the
// numbers before rounding. While the other graph runs, a rounded tensor (identified by its name) may hold every integer to which numbers
// within the tolerance round; it is then replaced by the first graph's tensor. After that, all later results agree within the tolerance. If
// a rounding was omitted, or applied to other numbers, nearly all elements are off by part of a step. The next rounding could hide that, so
// the comparison covers not only outputs but all real tensors whose names are in both graphs.
//
// The other graph's run draws the same random numbers as the first.
//
// A rounding whose name is gone from the other graph (it has another order of dimensions, or is inside a fused operator) cannot be
// followed. Its effect is estimated by changing the numbers that it rounds by the tolerance. The elements of a tensor may then differ by as
// much as this changes any of them, and by half as much in the mean square: flipped roundings are few, omitted ones affect many elements.
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

/// Inputs for a graph: floats N(0, 1); bytes of all values; other integers and bools 0 or 1. Throws if an input would be too large to be
/// worth verifying.
std::vector<Datum> random_inputs(const Graph& graph, const CompareOptions& options = {});

/// The outputs of a graph by the operators' references, to compare others with. The graph must outlive it.
class Expectation {
 public:
  /// Runs the graph; passes on its errors.
  Expectation(const OperatorSet& operators, const Graph& graph, std::vector<Datum> inputs, double tolerance);
  ~Expectation();
  Expectation(Expectation&&) noexcept;

  /// Throws InvalidModel if an output of `other` differs, with its name and the difference; passes on errors of the run.
  void check(const Graph& other) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Expectation and check in one, on random inputs.
void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, const CompareOptions& options = {});

}  // namespace minnow
