// SPDX-License-Identifier: Apache-2.0
// The composed forms of operators against their references.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

struct Case {
  std::string_view op;
  std::vector<Tensor> inputs;
  Attributes attributes = {};
  size_t outputs = 1;
};

void expect_equal(const Case& one, double tolerance) {
  const std::vector<Tensor> expected = run_operator(one.op, one.inputs, one.attributes, one.outputs),
                            actual = run_decomposition(one.op, one.inputs, one.attributes, one.outputs);
  for (size_t i = 0; i < one.outputs; ++i) {
    EXPECT_EQ(actual[i].dtype(), expected[i].dtype()) << one.op;
    EXPECT_TRUE(near(actual[i], expected[i].shape(), numbers(expected[i]), tolerance)) << one.op << ", output " << i;
  }
}

TEST(Decomposition, activations) {
  const std::pair<std::string_view, Attributes> rows[] = {{"Softplus", {}},
                                                          {"Softsign", {}},
                                                          {"HardSwish", {}},
                                                          {"Mish", {}},
                                                          {"Celu", {{"alpha", 2.0f}}},
                                                          {"Elu", {{"alpha", 1.5f}}},
                                                          {"Gelu", {}},
                                                          {"Gelu", {{"approximate", std::string("tanh")}}},
                                                          {"HardSigmoid", {{"alpha", 0.5f}}},
                                                          {"LeakyRelu", {{"alpha", 0.25f}}},
                                                          {"Selu", {}},
                                                          {"Swish", {}},
                                                          {"Swish", {{"alpha", 1.5f}}},
                                                          {"ThresholdedRelu", {{"alpha", 0.5f}}}};
  for (const auto& [op, attributes] : rows)
    for (const Tensor& x : {pattern({2, 3, 4}), tensor(DType::f32, {}, {-1.25}), tensor(DType::f32, {0, 2}, {}),
                            tensor(DType::f32, {6}, {-80, -8, -0.0, 4, 8, 80}), pattern({5}, 7, DType::f64)})
      if (x.dtype() == DType::f32 || op != "Celu") expect_equal({op, {x}, attributes}, 2e-6);
  expect_equal({"PRelu", {pattern({2, 3}), pattern({3}, 5)}}, 1e-6);
}

TEST(Decomposition, elementwise) {
  const Tensor a = pattern({2, 3}), b = pattern({3}, 5), c = pattern({2, 1}, 3), one = tensor(DType::f32, {}, {1}),
               low = tensor(DType::f32, {}, {-0.5});
  for (std::string_view op : {"GreaterOrEqual", "LessOrEqual"}) expect_equal({op, {a, b}}, 0);
  expect_equal({"Sum", {a, b, c}}, 1e-6);
  expect_equal({"Sum", {a}}, 0);
  expect_equal({"Clip", {a, low, one}}, 0);
  expect_equal({"Clip", {a, {}, one}}, 0);
  expect_equal({"Clip", {a}}, 0);
}

TEST(Decomposition, softmax) {
  for (DType dtype : {DType::f32, DType::f16})
    for (int64_t axis : {0, 1, -1}) {
      expect_equal({"Softmax", {pattern({2, 3, 4}, 7, dtype)}, {{"axis", axis}}}, dtype == DType::f32 ? 1e-6 : 2e-3);
      expect_equal({"LogSoftmax", {pattern({2, 3, 4}, 7, dtype)}, {{"axis", axis}}}, dtype == DType::f32 ? 1e-6 : 2e-3);
    }
}

TEST(Decomposition, reductions) {
  for (std::string_view op : {"ReduceL1", "ReduceL2", "ReduceSumSquare"})
    for (DType dtype : {DType::f32, DType::f16}) {
      const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-3;
      const Tensor x = pattern({2, 3, 4}, 7, dtype);
      expect_equal({op, {x}}, tolerance);
      expect_equal({op, {x, ints({1, -1})}, {{"keepdims", int64_t{0}}}}, tolerance);
      expect_equal({op, {x}, {{"noop_with_empty_axes", int64_t{1}}}}, tolerance);
    }
  expect_equal({"ReduceLogSum", {tensor(DType::f32, {2, 2}, {1, 2, 3, 4}), ints({0})}}, 1e-6);
  for (DType dtype : {DType::f32, DType::f64, DType::f16}) {
    const double tolerance = dtype == DType::f16 ? 1e-3 : 1e-6;
    const Tensor x = pattern({2, 3, 4}, 7, dtype);
    expect_equal({"ReduceLogSumExp", {x}}, tolerance);
    expect_equal({"ReduceLogSumExp", {x, ints({1, -1})}, {{"keepdims", int64_t{0}}}}, tolerance);
    expect_equal({"ReduceLogSumExp", {x}, {{"noop_with_empty_axes", int64_t{1}}}}, tolerance);
    expect_equal({"ReduceLogSumExp", {pattern({2, 0, 3}, 7, dtype), ints({1})}}, 0);
    const double inf = INFINITY;
    expect_equal({"ReduceLogSumExp", {tensor(dtype, {5, 2}, {-inf, -inf, inf, 1, -inf, 2, inf, -inf, NAN, 1}), ints({1})}}, tolerance);
    expect_equal({"ReduceLogSumExp", {tensor(dtype, {2, 2}, {30000, 30000, -30000, -29999}), ints({1})}}, tolerance);
  }
}

TEST(Decomposition, normalizations) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16}) {
    const double tolerance = dtype == DType::f16 ? 2e-3 : 2e-6;
    const Tensor x = pattern({2, 4, 3}, 7, dtype), scale = pattern({4}, 5, dtype), bias = pattern({4}, 3, dtype),
                 along = pattern({3}, 5, dtype), variance = tensor(dtype, {4}, {0.5, 1, 2, 4});
    expect_equal({"LayerNormalization", {x, along, along}, {}, 3}, tolerance);
    expect_equal({"LayerNormalization", {x, pattern({4, 3}, 5, dtype)}, {{"axis", int64_t{1}}}, 1}, tolerance);
    expect_equal({"RMSNormalization", {x, along}}, tolerance);
    expect_equal({"InstanceNormalization", {x, scale, bias}}, tolerance);
    expect_equal({"GroupNormalization", {x, scale, bias}, {{"num_groups", int64_t{2}}}}, tolerance);
    expect_equal({"BatchNormalization", {x, scale, bias, bias, variance}}, tolerance);
    expect_equal({"MeanVarianceNormalization", {x}, {{"axes", Ints{0, 2}}}}, tolerance);
  }
}

TEST(Decomposition, quantization) {
  for (const std::vector<double>& x :
       {std::vector<double>{0, 2, -3, -2.5, 1.34, 0.5}, {1, 2, 3, 4, 5, 6}, {-1, -2, -3, -4, -5, -6}, {0, 0, 0, 0, 0, 0}})
    expect_equal({"DynamicQuantizeLinear", {tensor(DType::f32, {2, 3}, x)}, {}, 3}, 0);
}

TEST(Decomposition, dropout_for_inference) {
  expect_equal({"Dropout", {pattern({2, 3})}, {}, 2}, 0);
  const Tensor ratio = tensor(DType::f32, {}, {0.5}), training = tensor(DType::boolean, {}, {1});
  EXPECT_THROW(run_decomposition("Dropout", {pattern({2, 3}), ratio, training}), Error) << "training draws random numbers";
}

}  // namespace
}  // namespace minnow::test
