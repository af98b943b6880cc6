// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

const std::vector<double> kActivationInputs = {-20, -3.5, -3, -1, -0.5, 0, 0.5, 1, 3, 3.5, 20};
const Shape kActivationShape{11};

struct ActivationRow {
  std::string_view op;
  Attributes attributes;
  std::vector<double> y;
};
const ActivationRow kActivationRows[] = {
    {"Softplus",
     {},
     {2.06115362e-09, 0.0297504183, 0.0485873516, 0.313261688, 0.474076984, 0.693147181, 0.974076984, 1.31326169, 3.04858735, 3.52975042,
      20.0}},
    {"Softsign", {}, {-0.952380952, -0.777777778, -0.75, -0.5, -0.333333333, 0, 0.333333333, 0.5, 0.75, 0.777777778, 0.952380952}},
    {"HardSwish", {}, {-0.0, -0.0, -0.0, -0.333333333, -0.208333333, 0, 0.291666667, 0.666666667, 3, 3.5, 20}},
    {"Mish",
     {},
     {-4.12230724e-08, -0.104095754, -0.145647461, -0.303401461, -0.220743775, 0, 0.375245211, 0.865098388, 2.986535, 3.49399072, 20}},
    {"Celu", {{"alpha", 2.0f}}, {-1.9999092, -1.65245211, -1.55373968, -0.786938681, -0.442398434, 0, 0.5, 1, 3, 3.5, 20}},
    {"Celu", {{"alpha", -0.5f}}, {-1.17692633e+17, -547.816579, -201.214397, -3.19452805, -0.859140914, 0, 0.5, 1, 3, 3.5, 20}},
    {"Elu", {{"alpha", 1.5f}}, {-1.5, -1.45470392, -1.4253194, -0.948180838, -0.59020401, 0, 0.5, 1, 3, 3.5, 20}},
    {"Gelu",
     {},
     {-0.0, -0.000814201777, -0.00404969409, -0.158655254, -0.154268769, 0, 0.345731231, 0.841344746, 2.99595031, 3.4991858, 20}},
    {"Gelu",
     {{"approximate", std::string("tanh")}},
     {-0.0, -0.000616197655, -0.00363739208, -0.158808009, -0.15428599, 0, 0.34571401, 0.841191991, 2.99636261, 3.4993838, 20}},
    {"HardSigmoid", {}, {0, 0, 0, 0.299999997, 0.399999999, 0.5, 0.600000001, 0.700000003, 1, 1, 1}},
    {"HardSigmoid", {{"alpha", 0.5f}, {"beta", 0.25f}}, {0, 0, 0, 0, 0, 0.25, 0.5, 0.75, 1, 1, 1}},
    {"LeakyRelu", {{"alpha", 0.125f}}, {-2.5, -0.4375, -0.375, -0.125, -0.0625, 0, 0.5, 1, 3, 3.5, 20}},
    {"Selu",
     {},
     {-1.75809934, -1.70500934, -1.67056873, -1.11133074, -0.691758188, 0, 0.525350494, 1.05070099, 3.15210296, 3.67745346, 21.0140197}},
    {"Shrink", {{"bias", 0.25f}, {"lambd", 1.0f}}, {-19.75, -3.25, -2.75, 0, 0, 0, 0, 0, 2.75, 3.25, 19.75}},
    {"Swish",
     {},
     {-4.12230724e-08, -0.102592808, -0.14227762, -0.268941421, -0.188770334, 0, 0.311229666, 0.731058579, 2.85772238, 3.39740719, 20.0}},
    {"Swish",
     {{"alpha", 1.5f}},
     {-1.87152459e-12, -0.0182704399, -0.0329608279, -0.182425524, -0.16041065, 0, 0.33958935, 0.817574476, 2.96703917, 3.48172956, 20.0}},
    {"ThresholdedRelu", {{"alpha", 0.5f}}, {0, 0, 0, 0, 0, 0, 0, 1, 3, 3.5, 20}},
};

TEST(Activation, values) {
  for (const ActivationRow& row : kActivationRows)
    EXPECT_TRUE(
        near(run_operator(row.op, {tensor(DType::f32, kActivationShape, kActivationInputs)}, row.attributes)[0], kActivationShape, row.y))
        << row.op;
}

TEST(Activation, other_floats) {
  for (const ActivationRow& row : kActivationRows) {
    if (row.op == "Celu") continue;  // of f32 alone
    EXPECT_TRUE(
        near(run_operator(row.op, {tensor(DType::f64, kActivationShape, kActivationInputs)}, row.attributes)[0], kActivationShape, row.y))
        << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {tensor(DType::f16, kActivationShape, kActivationInputs)}, row.attributes)[0], kActivationShape,
                     row.y, 1e-3))
        << row.op;
    if (row.op == "Shrink") continue;  // not of bf16
    EXPECT_TRUE(near(run_operator(row.op, {tensor(DType::bf16, kActivationShape, kActivationInputs)}, row.attributes)[0], kActivationShape,
                     row.y, 8e-3))
        << row.op;
  }
}

TEST(Activation, special_values) {
  const Tensor x = tensor(DType::f32, {3}, {kNaN, kInf, -kInf});
  const std::pair<std::string_view, std::vector<double>> rows[] = {{"Relu", {kNaN, kInf, 0}},         {"LeakyRelu", {kNaN, kInf, -kInf}},
                                                                   {"Elu", {kNaN, kInf, -1}},         {"HardSigmoid", {kNaN, 1, 0}},
                                                                   {"ThresholdedRelu", {0, kInf, 0}}, {"Clip", {kNaN, kInf, -kInf}},
                                                                   {"HardSwish", {kNaN, kInf, kNaN}}};
  for (const auto& [op, y] : rows) EXPECT_TRUE(near(run_operator(op, {x})[0], {3}, y)) << op;
}

TEST(PRelu, slopes_are_broadcast_to_the_input) {
  EXPECT_TRUE(near(run_operator("PRelu", {pattern({2, 3, 2}), tensor(DType::f32, {3, 1}, {0.5, 2, -1})})[0], {2, 3, 2},
                   {-0.25, 1.25, 0.25, -1.5, 1, 0, -0.5, 0.75, -0.5, -2.5, 0.5, 0.5}));
  EXPECT_THAT(error_of("PRelu", {pattern({2, 1}), pattern({2, 3})}), HasSubstr("cannot be broadcast"));
  EXPECT_THAT(error_of("PRelu", {pattern({2}), pattern({2}, 3, DType::f64)}), HasSubstr("it should be f32"));
}

TEST(PRelu, integers) {
  EXPECT_TRUE(near(run_operator("PRelu", {tensor(DType::i32, {3}, {-4, 0, 5}), tensor(DType::i32, {}, {3})})[0], {3}, {-12, 0, 5}, 0));
}

TEST(Shrink, integers) {
  const Attributes attributes{{"bias", 1.5f}, {"lambd", 2.0f}};
  EXPECT_TRUE(near(run_operator("Shrink", {tensor(DType::i8, {5}, {-5, -2, 0, 2, 5})}, attributes)[0], {5}, {-3, 0, 0, 0, 3}, 0));
  Tensor large(DType::i64, Shape{});
  *large.writable().data<int64_t>() = 9007199254740993;  // 2^53 + 1 keeps its last bit if it does not move
  EXPECT_EQ(*run_operator("Shrink", {large})[0].data<int64_t>(), 9007199254740993);
}

TEST(Clip, bounds) {
  const Tensor x = tensor(DType::f32, {5}, {-3, -1, 0, 2, kNaN}), low = tensor(DType::f32, {}, {-1.5}), high = tensor(DType::f32, {}, {1});
  EXPECT_TRUE(near(run_operator("Clip", {x, low, high})[0], {5}, {-1.5, -1, 0, 1, kNaN}));
  EXPECT_TRUE(near(run_operator("Clip", {x, {}, high})[0], {5}, {-3, -1, 0, 1, kNaN}));
  EXPECT_TRUE(near(run_operator("Clip", {x, low})[0], {5}, {-1.5, -1, 0, 2, kNaN}));
  EXPECT_TRUE(near(run_operator("Clip", {x, high, low})[0], {5}, {-1.5, -1.5, -1.5, -1.5, kNaN})) << "the upper bound wins";
  EXPECT_TRUE(
      near(run_operator("Clip", {tensor(DType::u8, {3}, {0, 100, 255}), tensor(DType::u8, {}, {10}), tensor(DType::u8, {}, {200})})[0], {3},
           {10, 100, 200}, 0));
  EXPECT_THAT(error_of("Clip", {x, tensor(DType::f32, {2}, {0, 1})}), HasSubstr("should hold one element"));
}

TEST(Activation, errors) {
  EXPECT_THAT(error_of("Celu", {pattern({2})}, {{"alpha", 0.0f}}), HasSubstr("alpha should not be 0"));
  EXPECT_THAT(error_of("Gelu", {pattern({2})}, {{"approximate", std::string("erf")}}), HasSubstr("\"erf\""));
}

}  // namespace
}  // namespace minnow::test
