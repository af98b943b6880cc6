// SPDX-License-Identifier: Apache-2.0
// Runs passes on graphs in text form, and checks that numbers stay.
#pragma once
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace minnow::test {

/// A graph before and after some passes. Constants named "random..." are given random elements.
struct Rewrite {
  std::unique_ptr<Graph> before, after;
  size_t changes = 0;
  std::vector<std::string> details;

  /// The nodes of the graph afterwards, one a line, without types and constants: "y = Conv(x, w) {group = 2}".
  std::string nodes() const;
  /// Their operators: "Conv Relu".
  std::string ops() const;
  const Node& node(std::string_view op) const;  // the first of that operator; throws if there is none
};
/// Each pass runs once, on the graph and its subgraphs. Then the same is tried with each input of each node absent in turn: numbers must
/// stay where the input is optional, else an error must name the node.
Rewrite rewrite(std::string_view text, const std::vector<std::string_view>& passes, Optimize level = Optimize::standard);
/// The whole pipeline, with the same trials.
Rewrite optimized(std::string_view text, Optimize level = Optimize::standard);

/// Outputs of both graphs agree for random inputs; dimensions that are not fixed are 2.
testing::AssertionResult numbers_stay(const Rewrite& rewrite, double tolerance = 1e-5);

}  // namespace minnow::test
