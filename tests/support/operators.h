// SPDX-License-Identifier: Apache-2.0
// Runs single operators by their references (or decompositions), for tests that hold numbers from elsewhere.
#pragma once
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/operator.h"

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
/// A vector of i64.
Tensor ints(const Ints& values);
/// A boolean without dimensions.
Tensor truth(bool value);
/// An input that is absent.
inline const Tensor kNone;
/// The attribute that many operators call axis.
Attributes along(int64_t axis);
/// Element i is ((i * step + 3) % 11 - 5) / 4: exact in every floating type, and easy to make again elsewhere.
Tensor pattern(const Shape& shape, int64_t step = 7, DType dtype = DType::f32);
/// The elements as doubles.
std::vector<double> numbers(const Tensor& tensor);
/// The elements of a tensor of f32.
std::vector<float> floats(const Tensor& tensor);
inline constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

/// Names a case of a suite over operators; '_' stands for what such a name must not contain.
std::string name_of_operator(const testing::TestParamInfo<const Operator*>& info);

/// Shapes equal, and elements equal within `tolerance` * max(1, |expected|); infinities and NaNs must be the same.
testing::AssertionResult near(const Tensor& actual, const Shape& shape, const std::vector<double>& expected, double tolerance = 1e-6);

}  // namespace minnow::test
