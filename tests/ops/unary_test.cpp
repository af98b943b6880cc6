// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

struct UnaryRow {
  std::string_view op;
  std::vector<double> x, y;
};

const UnaryRow kUnaryRows[] = {
    {"Abs", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {1.5, 1, 0.5, 0, 0.25, 1, 2.5}},
    {"Neg", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {1.5, 1, 0.5, -0.0, -0.25, -1, -2.5}},
    {"Sign", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-1, -1, -1, 0, 1, 1, 1}},
    {"Exp", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {0.22313016, 0.367879441, 0.60653066, 1, 1.28402542, 2.71828183, 12.182494}},
    {"Ceil", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-1, -1, -0.0, 0, 1, 1, 3}},
    {"Floor", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-2, -1, -1, 0, 0, 1, 2}},
    {"Round", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-2, -1, -0.0, 0, 0, 1, 2}},
    {"Erf", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-0.966105146, -0.842700793, -0.520499878, 0, 0.27632639, 0.842700793, 0.999593048}},
    {"Reciprocal", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-0.666666667, -1, -2, kInf, 4, 1, 0.4}},
    {"Sqrt", {0.25, 0.5, 1, 1.5, 4}, {0.5, 0.707106781, 1, 1.22474487, 2}},
    {"Log", {0.25, 0.5, 1, 1.5, 4}, {-1.38629436, -0.693147181, 0, 0.405465108, 1.38629436}},
    {"Sin", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-0.997494987, -0.841470985, -0.479425539, 0, 0.247403959, 0.841470985, 0.598472144}},
    {"Cos", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {0.0707372017, 0.540302306, 0.877582562, 1, 0.968912422, 0.540302306, -0.801143616}},
    {"Tan", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-14.1014199, -1.55740772, -0.54630249, 0, 0.255341921, 1.55740772, -0.747022297}},
    {"Atan", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-0.982793723, -0.785398163, -0.463647609, 0, 0.244978663, 0.785398163, 1.19028995}},
    {"Sinh", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-2.12927946, -1.17520119, -0.521095305, 0, 0.252612317, 1.17520119, 6.05020448}},
    {"Cosh", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {2.35240962, 1.54308063, 1.12762597, 1, 1.0314131, 1.54308063, 6.13228948}},
    {"Asinh", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-1.19476322, -0.881373587, -0.481211825, 0, 0.247466462, 0.881373587, 1.64723115}},
    {"Asin", {-1, -0.75, -0.25, 0, 0.5, 1}, {-1.57079633, -0.848062079, -0.252680255, 0, 0.523598776, 1.57079633}},
    {"Acos", {-1, -0.75, -0.25, 0, 0.5, 1}, {3.14159265, 2.41885841, 1.82347658, 1.57079633, 1.04719755, 0}},
    {"Atanh", {-1, -0.75, -0.25, 0, 0.5, 1}, {-kInf, -0.972955075, -0.255412812, 0, 0.549306144, kInf}},
    {"Acosh", {1, 1.5, 2, 10}, {0, 0.96242365, 1.3169579, 2.99322285}},
    {"Tanh", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {-0.905148254, -0.761594156, -0.462117157, 0, 0.244918662, 0.761594156, 0.986614298}},
    {"Sigmoid", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {0.182425524, 0.268941421, 0.377540669, 0.5, 0.562176501, 0.731058579, 0.92414182}},
    {"Relu", {-1.5, -1, -0.5, 0, 0.25, 1, 2.5}, {0, 0, 0, 0, 0.25, 1, 2.5}},
};

TEST(Unary, values) {
  for (const UnaryRow& row : kUnaryRows)
    for (DType dtype : {DType::f32, DType::f64}) {
      const Shape shape{static_cast<int64_t>(row.x.size())};
      EXPECT_TRUE(near(run_operator(row.op, {tensor(dtype, shape, row.x)})[0], shape, row.y)) << row.op;
    }
}

TEST(Unary, scalars_and_empty_tensors) {
  for (const UnaryRow& row : kUnaryRows) {
    EXPECT_TRUE(near(run_operator(row.op, {tensor(DType::f32, {}, {row.x[0]})})[0], {}, {row.y[0]})) << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {tensor(DType::f32, {2, 0, 3}, {})})[0], {2, 0, 3}, {})) << row.op;
  }
}

TEST(Unary, special_values) {
  const UnaryRow rows[] = {
      {"Abs", {kNaN, kInf, -kInf, -0.0}, {kNaN, kInf, kInf, 0}},
      {"Sign", {kNaN, kInf, -kInf, -0.0}, {kNaN, 1, -1, 0}},
      {"Exp", {kNaN, kInf, -kInf, -0.0}, {kNaN, kInf, 0, 1}},
      {"Log", {kNaN, kInf, -kInf, -0.0}, {kNaN, kInf, kNaN, -kInf}},
      {"Sqrt", {kNaN, kInf, -kInf, -0.0}, {kNaN, kInf, kNaN, -0.0}},
      {"Tanh", {kNaN, kInf, -kInf, -0.0}, {kNaN, 1, -1, -0.0}},
      {"Erf", {kNaN, kInf, -kInf, -0.0}, {kNaN, 1, -1, -0.0}},
      {"Relu", {kNaN, kInf, -kInf, -0.0}, {kNaN, kInf, 0, 0}},
      {"Sigmoid", {kNaN, kInf, -kInf, -0.0}, {kNaN, 1, 0, 0.5}},
      {"Softplus", {kNaN, kInf, -kInf, -0.0}, {kNaN, kInf, 0, 0.693147181}},
      {"Reciprocal", {kNaN, kInf, -kInf, -0.0}, {kNaN, 0, -0.0, -kInf}},
  };
  for (const UnaryRow& row : rows) EXPECT_TRUE(near(run_operator(row.op, {tensor(DType::f32, {4}, row.x)})[0], {4}, row.y)) << row.op;
}

TEST(Unary, sign_of_zero) {
  for (const auto& [op, negative] : std::initializer_list<std::pair<std::string_view, bool>>{
           {"Abs", false}, {"Neg", false}, {"Ceil", true}, {"Round", true}, {"Sqrt", true}, {"Sin", true}})
    EXPECT_EQ(std::signbit(run_operator(op, {tensor(DType::f32, {}, {-0.0})})[0].data<float>()[0]), negative) << op;
  EXPECT_TRUE(std::signbit(run_operator("Ceil", {tensor(DType::f32, {}, {-0.5})})[0].data<float>()[0]));
}

TEST(Unary, round_takes_ties_to_even) {
  EXPECT_TRUE(near(run_operator("Round", {tensor(DType::f32, {6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})})[0], {6}, {-2, -2, 0, 0, 2, 2}, 0));
}

TEST(Unary, narrow_floats_are_rounded_once) {
  EXPECT_TRUE(near(run_operator("Exp", {tensor(DType::f16, {6}, {-3, -0.0999755859, 0.300048828, 1.70019531, 9, 12})})[0], {6},
                   {0.0497741699, 0.904785156, 1.34960938, 5.4765625, 8104, kInf}, 1e-8));
}

TEST(Unary, integers_wrap_around) {
  EXPECT_TRUE(near(run_operator("Abs", {tensor(DType::i8, {3}, {-128, -127, 5})})[0], {3}, {-128, 127, 5}, 0));
  EXPECT_TRUE(near(run_operator("Neg", {tensor(DType::i16, {3}, {-32768, -5, 7})})[0], {3}, {-32768, 5, -7}, 0));
  Tensor lowest(DType::i64, Shape{1});
  *lowest.writable().data<int64_t>() = std::numeric_limits<int64_t>::min();
  for (std::string_view op : {"Abs", "Neg"}) EXPECT_EQ(*run_operator(op, {lowest})[0].data<int64_t>(), std::numeric_limits<int64_t>::min());
  Tensor highest(DType::u64, Shape{1});
  *highest.writable().data<uint64_t>() = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(*run_operator("Abs", {highest})[0].data<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*run_operator("Sign", {highest})[0].data<uint64_t>(), 1u);
}

TEST(Unary, errors_name_node_and_dtype) {
  EXPECT_THAT(error_of("Exp", {tensor(DType::i32, {1}, {1})}), testing::AllOf(HasSubstr("node \"node\" (Exp)"), HasSubstr("i32")));
  EXPECT_THAT(error_of("Neg", {tensor(DType::u8, {1}, {1})}), HasSubstr("u8"));
}

}  // namespace
}  // namespace minnow::test
