// SPDX-License-Identifier: Apache-2.0
// Compares the shape rule of an operator over symbols with what a run gave: for every test that runs an operator.
#pragma once
#include <gtest/gtest.h>

#include "ops/operator.h"

namespace minnow::test {

/// The facts that the symbolic rule told of a node's outputs, over all ways in which symbols were put in.
struct SymbolicKnowledge {
  size_t ranks = 0, dims = 0, contents = 0;  // that were known, where some symbol took part
};

/// Infers the outputs' shapes of a node that has been run: from its numbers, from a symbol for every size (one for equal sizes, or one for
/// each dimension), from symbols for some dimensions alone, with and without the contents of its inputs and with symbols for these.
/// Every size that is known then, evaluated at the numbers, should be that of the result; from numbers all should be known that a plan
/// knows. `known`: adds up what was known, or null.
testing::AssertionResult symbolic_rule_agrees(const Operator& op, const Node& node, std::span<const Datum> inputs,
                                              std::span<const Datum> outputs, SymbolicKnowledge* known = nullptr);

}  // namespace minnow::test
