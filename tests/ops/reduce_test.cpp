// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

const Attributes kDrop{{"keepdims", int64_t{0}}};
Tensor axes(const std::vector<int64_t>& values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }

struct ReduceRow {
  std::string_view op;
  std::vector<double> middle, outside, all;  // of axis 1; of axes 0 and 2; of all
};
const ReduceRow kReduceRows[] = {
    {"ReduceSum", {0.25, 0, -0.25, -0.5, 0, -0.25, -0.5, 2}, {2, 0.25, -1.5}, {0.75}},
    {"ReduceMean",
     {0.0833333333, 0, -0.0833333333, -0.166666667, 0, -0.0833333333, -0.166666667, 0.666666667},
     {0.25, 0.03125, -0.1875},
     {0.03125}},
    {"ReduceProd", {0.125, -0.0, -0.125, 0.28125, -0.0, -0.125, 0.28125, -0.3125}, {-0.0274658203, -0.0, -0.0305175781}, {-0.0}},
    {"ReduceMax", {1, 1.25, 0.5, 0.75, 1.25, 0.5, 0.75, 1.25}, {1.25, 1, 1.25}, {1.25}},
    {"ReduceMin", {-0.5, -1.25, -1, -0.75, -1.25, -1, -0.75, -0.25}, {-0.75, -1, -1.25}, {-1.25}},
    {"ReduceL1", {1.75, 2.5, 1.75, 2, 2.5, 1.75, 2, 2.5}, {6, 4.75, 6}, {16.75}},
    {"ReduceL2",
     {1.14564392, 1.76776695, 1.14564392, 1.17260394, 1.76776695, 1.14564392, 1.17260394, 1.62018517},
     {2.37170825, 2.04633819, 2.39791576},
     {3.94493346}},
    {"ReduceSumSquare", {1.3125, 3.125, 1.3125, 1.375, 3.125, 1.3125, 1.375, 2.625}, {5.625, 4.1875, 5.75}, {15.5625}},
    {"ReduceLogSumExp",
     {1.41186787, 1.56378086, 1.19411219, 1.16186787, 1.56378086, 1.19411219, 1.16186787, 1.94411219},
     {2.62599252, 2.34821231, 2.23566049},
     {3.51564987}},
};

TEST(Reduce, axes) {
  const Tensor x = pattern({2, 3, 4});
  for (const ReduceRow& row : kReduceRows) {
    EXPECT_TRUE(near(run_operator(row.op, {x, axes({1})})[0], {2, 1, 4}, row.middle)) << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {x, axes({-2})}, kDrop)[0], {2, 4}, row.middle)) << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {x, axes({2, 0})})[0], {1, 3, 1}, row.outside)) << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {x, axes({-1, -3})}, kDrop)[0], {3}, row.outside)) << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {x})[0], {1, 1, 1}, row.all)) << row.op;
    EXPECT_TRUE(near(run_operator(row.op, {x, axes({})}, kDrop)[0], {}, row.all)) << row.op;
  }
}

TEST(Reduce, scalars) {
  const Tensor x = tensor(DType::f32, {}, {-2});
  for (const auto& [op, y] : std::initializer_list<std::pair<std::string_view, double>>{
           {"ReduceSum", -2}, {"ReduceMax", -2}, {"ReduceL1", 2}, {"ReduceSumSquare", 4}})
    EXPECT_TRUE(near(run_operator(op, {x})[0], {}, {y})) << op;
}

TEST(Reduce, no_axes_may_mean_none) {
  const Attributes noop{{"noop_with_empty_axes", int64_t{1}}};
  const std::pair<std::string_view, std::vector<double>> rows[] = {{"ReduceSum", {-0.5, 1.25, 0.25, -0.75}},
                                                                   {"ReduceMean", {-0.5, 1.25, 0.25, -0.75}},
                                                                   {"ReduceProd", {-0.5, 1.25, 0.25, -0.75}},
                                                                   {"ReduceMax", {-0.5, 1.25, 0.25, -0.75}},
                                                                   {"ReduceL1", {0.5, 1.25, 0.25, 0.75}},
                                                                   {"ReduceL2", {0.5, 1.25, 0.25, 0.75}},
                                                                   {"ReduceSumSquare", {0.25, 1.5625, 0.0625, 0.5625}},
                                                                   {"ReduceLogSumExp", {-0.5, 1.25, 0.25, -0.75}}};
  for (const auto& [op, y] : rows) {
    EXPECT_TRUE(near(run_operator(op, {pattern({4})}, noop)[0], {4}, y)) << op;
    EXPECT_TRUE(near(run_operator(op, {pattern({4}), axes({})}, noop)[0], {4}, y)) << op;
  }
}

TEST(Reduce, nothing) {
  for (const auto& [op, y] : std::initializer_list<std::pair<std::string_view, double>>{{"ReduceSum", 0},
                                                                                        {"ReduceProd", 1},
                                                                                        {"ReduceMax", -kInf},
                                                                                        {"ReduceMin", kInf},
                                                                                        {"ReduceL1", 0},
                                                                                        {"ReduceL2", 0},
                                                                                        {"ReduceSumSquare", 0},
                                                                                        {"ReduceLogSum", -kInf},
                                                                                        {"ReduceLogSumExp", -kInf},
                                                                                        {"ReduceMean", kNaN}}) {
    EXPECT_TRUE(near(run_operator(op, {tensor(DType::f32, {2, 0, 3}, {}), axes({1})}, kDrop)[0], {2, 3}, std::vector<double>(6, y))) << op;
    EXPECT_TRUE(near(run_operator(op, {tensor(DType::f32, {2, 0, 3}, {}), axes({0})}, kDrop)[0], {0, 3}, {})) << op;
  }
  EXPECT_TRUE(near(run_operator("ReduceMax", {tensor(DType::i32, {0}, {})})[0], {1}, {-2147483648.0}, 0));
  EXPECT_TRUE(near(run_operator("ReduceMin", {tensor(DType::u8, {0}, {})})[0], {1}, {255}, 0));
  EXPECT_EQ(*run_operator("ReduceMin", {tensor(DType::u64, {0}, {})})[0].data<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(error_of("ReduceMean", {tensor(DType::i32, {0}, {})}), HasSubstr("no mean"));
}

TEST(Reduce, special_values) {
  const Tensor x = tensor(DType::f32, {5, 2}, {kInf, 1, -kInf, 1, kNaN, 1, -kInf, -kInf, kInf, -kInf});
  EXPECT_TRUE(near(run_operator("ReduceMax", {x, axes({1})}, kDrop)[0], {5}, {kInf, 1, kNaN, -kInf, kInf}));
  EXPECT_TRUE(near(run_operator("ReduceMin", {x, axes({1})}, kDrop)[0], {5}, {1, -kInf, kNaN, -kInf, -kInf}));
  EXPECT_TRUE(near(run_operator("ReduceSum", {x, axes({1})}, kDrop)[0], {5}, {kInf, -kInf, kNaN, -kInf, kNaN}));
  EXPECT_TRUE(near(run_operator("ReduceLogSumExp", {x, axes({1})}, kDrop)[0], {5}, {kInf, 1, kNaN, -kInf, kInf}));
  EXPECT_TRUE(near(run_operator("ReduceLogSumExp", {tensor(DType::f32, {2}, {1000, 1001})}, kDrop)[0], {}, {1001.31326}));
  EXPECT_TRUE(near(run_operator("ReduceLogSum", {tensor(DType::f32, {2}, {1, 3})}, kDrop)[0], {}, {1.38629436}));
}

TEST(Reduce, truth) {
  const Tensor x = tensor(DType::boolean, {2, 2}, {0, 1, 1, 1});
  EXPECT_TRUE(near(run_operator("ReduceMax", {x, axes({1})}, kDrop)[0], {2}, {1, 1}));
  EXPECT_TRUE(near(run_operator("ReduceMin", {x, axes({1})}, kDrop)[0], {2}, {0, 1}));
  EXPECT_TRUE(near(run_operator("ReduceMax", {tensor(DType::boolean, {0}, {})}, kDrop)[0], {}, {0}));
  EXPECT_TRUE(near(run_operator("ReduceMin", {tensor(DType::boolean, {0}, {})}, kDrop)[0], {}, {1}));
}

TEST(Reduce, integers) {
  EXPECT_TRUE(near(run_operator("ReduceSum", {tensor(DType::i32, {3}, {2147483647, 1, 5})}, kDrop)[0], {}, {-2147483643.0}, 0));
  EXPECT_TRUE(near(run_operator("ReduceMean", {tensor(DType::i32, {3}, {-3, -3, -1})}, kDrop)[0], {}, {-2}, 0));
  EXPECT_TRUE(near(run_operator("ReduceL2", {tensor(DType::i64, {2}, {2, 3})}, kDrop)[0], {}, {3}, 0));
  const std::vector<int64_t> values{9007199254740993, 1};
  EXPECT_EQ(*run_operator("ReduceSum", {Tensor::of_i64({2}, values)}, kDrop)[0].data<int64_t>(), 9007199254740994);
  EXPECT_EQ(*run_operator("ReduceMax", {Tensor::of_i64({2}, values)}, kDrop)[0].data<int64_t>(), 9007199254740993);
}

TEST(Reduce, narrow_floats_are_rounded_once) {
  EXPECT_TRUE(near(run_operator("ReduceSum", {tensor(DType::f16, {5}, {2048, 1, 1, 1, 1})}, kDrop)[0], {}, {2052}, 0));
  EXPECT_TRUE(near(run_operator("ReduceL2", {tensor(DType::f16, {2}, {300, 400})}, kDrop)[0], {}, {500}, 0));
}

TEST(Reduce, errors) {
  const Tensor x = pattern({2, 3});
  EXPECT_THAT(error_of("ReduceSum", {x, axes({2})}), HasSubstr("axis 2 is out of range for rank 2"));
  EXPECT_THAT(error_of("ReduceSum", {x, axes({1, -1})}), HasSubstr("name an axis twice"));
  EXPECT_THAT(error_of("ReduceSum", {tensor(DType::i8, {1}, {1})}), HasSubstr("i8"));
}

}  // namespace
}  // namespace minnow::test
