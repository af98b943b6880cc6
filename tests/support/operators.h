// SPDX-License-Identifier: Apache-2.0
// Runs single operators by their references (or decompositions), for tests that hold numbers from elsewhere.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace minnow::test {

/// Outputs of one node. An input without a dtype is an absent one.
std::vector<Tensor> run_operator(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {},
                                 size_t outputs = 1);
/// The same by the operator's decomposition.
std::vector<Tensor> run_decomposition(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {},
                                      size_t outputs = 1);
/// The sentence of the error that running the node raises; empty if it raises none.
std::string error_of(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {}, size_t outputs = 1);

/// A tensor of any numeric dtype from numbers.
Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values);
/// Element i is ((i * step + 3) % 11 - 5) / 4: exact in every floating type, and easy to make again elsewhere.
Tensor pattern(const Shape& shape, int64_t step = 7, DType dtype = DType::f32);
/// The elements as doubles.
std::vector<double> numbers(const Tensor& tensor);

/// Shapes equal, and elements equal within `tolerance` * max(1, |expected|); infinities and NaNs must be the same.
testing::AssertionResult near(const Tensor& actual, const Shape& shape, const std::vector<double>& expected, double tolerance = 1e-6);

}  // namespace minnow::test
