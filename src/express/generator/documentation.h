// SPDX-License-Identifier: Apache-2.0
// Shapes, sources and examples for the docstrings of Python's operator functions, beside the operators' own definitions. A test runs the
// examples.
#pragma once
#include <string_view>
#include <vector>

namespace minnow {

struct Example {
  std::string_view code, output;  // an expression over `expr` and `minnow`, and its representation in Python
};

struct Documentation {
  std::string_view op;
  std::string_view shape;   // of the result; empty for elementwise operators, whose definition says so
  std::string_view source;  // where the operator's own text names none
  std::string_view error;   // the reasons for an InvalidArgument when the result is read
  std::vector<Example> examples;
};

/// Empty if there is nothing to add.
const Documentation& documentation_of(std::string_view op);

}  // namespace minnow
