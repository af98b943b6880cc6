// SPDX-License-Identifier: Apache-2.0
// Runs every row of the cpu backend's table that accepts a node, and holds what it gives against the operator's reference.
#pragma once
#include <string>
#include <vector>

#include "backends/cpu/isa.h"
#include "graph/graph.h"

namespace minnow::cpu {

struct SchemeCase {
  std::string op;
  std::vector<Tensor> inputs;  // an input without a dtype is an absent one
  Attributes attributes = {};
  std::vector<size_t> constants = {};  // which inputs are constants
  size_t outputs = 1;
  double tolerance = 2e-5;  // of the scale of each output
  // The same of rows that serve at precision low alone: factors of 8 bits, two roundings a product, sums of at least one.
  double low_tolerance = 0.02;
};

/// Runs each accepting row with one thread and with three, and expects the same bits from both. Returns the names of the rows that
/// accepted, as "op/name"; rows that serve at precision low alone are held to a tolerance of their own. Adds a GoogleTest failure for every
/// difference.
std::vector<std::string> check_schemes(const SchemeCase& test, Isa isa);

/// All rows of the table as "op/name".
std::vector<std::string> scheme_names(Isa isa);

/// N(0, sigma), from a seed that follows the shape.
Tensor normal(const Shape& shape, unsigned seed = 1, double sigma = 1);

}  // namespace minnow::cpu
