// SPDX-License-Identifier: Apache-2.0
// Models of one node, for tests of what sessions make of them.
#pragma once
#include <minnow/minnow.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace minnow::test {

struct OneNode {
  std::string op;
  std::vector<Tensor> inputs;  // an input without a dtype is an absent one
  Attributes attributes = {};
  std::vector<size_t> constants = {};  // which inputs are constants
  size_t outputs = 1;

  Model model() const;
  /// Those inputs that are not constants, in their order.
  std::vector<TensorView> given() const;
};

}  // namespace minnow::test
