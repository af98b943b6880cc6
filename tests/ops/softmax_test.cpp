// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

struct SoftmaxRow {
  int64_t axis;
  std::vector<double> shares, logarithms;
};
const SoftmaxRow kSoftmaxRows[] = {
    {0,
     {0.622459331, 0.622459331, 0.622459331, 0.622459331, 0.622459331, 0.622459331, 0.377540669, 0.377540669, 0.377540669, 0.377540669,
      0.377540669, 0.377540669},
     {-0.474076984, -0.474076984, -0.474076984, -0.474076984, -0.474076984, -0.474076984, -0.974076984, -0.974076984, -0.974076984,
      -0.974076984, -0.974076984, -0.974076984}},
    {1,
     {0.131601647, 0.703313976, 0.278600689, 0.0951831961, 0.589797664, 0.201502828, 0.131601647, 0.703313976, 0.278600689, 0.0951831961,
      0.589797664, 0.201502828},
     {-2.02797574, -0.351951864, -1.27797574, -2.35195186, -0.527975744, -1.60195186, -2.02797574, -0.351951864, -1.27797574, -2.35195186,
      -0.527975744, -1.60195186}},
    {2,
     {0.148047198, 0.851952802, 0.731058579, 0.268941421, 0.731058579, 0.268941421, 0.148047198, 0.851952802, 0.731058579, 0.268941421,
      0.731058579, 0.268941421},
     {-1.91022415, -0.16022415, -0.313261688, -1.31326169, -0.313261688, -1.31326169, -1.91022415, -0.16022415, -0.313261688, -1.31326169,
      -0.313261688, -1.31326169}},
    {-1,
     {0.148047198, 0.851952802, 0.731058579, 0.268941421, 0.731058579, 0.268941421, 0.148047198, 0.851952802, 0.731058579, 0.268941421,
      0.731058579, 0.268941421},
     {-1.91022415, -0.16022415, -0.313261688, -1.31326169, -0.313261688, -1.31326169, -1.91022415, -0.16022415, -0.313261688, -1.31326169,
      -0.313261688, -1.31326169}},
    {-3,
     {0.622459331, 0.622459331, 0.622459331, 0.622459331, 0.622459331, 0.622459331, 0.377540669, 0.377540669, 0.377540669, 0.377540669,
      0.377540669, 0.377540669},
     {-0.474076984, -0.474076984, -0.474076984, -0.474076984, -0.474076984, -0.474076984, -0.974076984, -0.974076984, -0.974076984,
      -0.974076984, -0.974076984, -0.974076984}},
};

TEST(Softmax, every_axis) {
  for (const SoftmaxRow& row : kSoftmaxRows) {
    EXPECT_TRUE(near(run_operator("Softmax", {pattern({2, 3, 2})}, along(row.axis))[0], {2, 3, 2}, row.shares)) << row.axis;
    EXPECT_TRUE(near(run_operator("LogSoftmax", {pattern({2, 3, 2})}, along(row.axis))[0], {2, 3, 2}, row.logarithms)) << row.axis;
  }
  EXPECT_TRUE(near(run_operator("Softmax", {pattern({2, 3, 2})})[0], {2, 3, 2}, kSoftmaxRows[2].shares));
}

TEST(Softmax, narrow_floats) {
  for (DType dtype : {DType::f16, DType::bf16})
    EXPECT_TRUE(near(run_operator("Softmax", {pattern({2, 3, 2}, 7, dtype)}, along(1))[0], {2, 3, 2}, kSoftmaxRows[1].shares,
                     dtype == DType::f16 ? 1e-3 : 8e-3));
}

TEST(Softmax, large_numbers) {
  const Tensor x = tensor(DType::f32, {2, 2}, {1e30, 1e30, 1000, 1001});
  EXPECT_TRUE(near(run_operator("Softmax", {x})[0], {2, 2}, {0.5, 0.5, 0.268941421, 0.731058579}));
  EXPECT_TRUE(near(run_operator("LogSoftmax", {x})[0], {2, 2}, {-0.693147181, -0.693147181, -1.31326169, -0.313261688}));
}

TEST(Softmax, special_values) {
  const Tensor x = tensor(DType::f32, {4, 2}, {kNaN, 1, -kInf, 1, kInf, 1, -kInf, -kInf});
  EXPECT_TRUE(near(run_operator("Softmax", {x})[0], {4, 2}, {kNaN, kNaN, 0, 1, kNaN, kNaN, kNaN, kNaN}));
}

TEST(Softmax, empty) {
  for (std::string_view op : {"Softmax", "LogSoftmax", "Hardmax"})
    for (int64_t axis : {0, 1, 2})
      EXPECT_TRUE(near(run_operator(op, {tensor(DType::f32, {2, 0, 3}, {})}, along(axis))[0], {2, 0, 3}, {})) << op;
}

TEST(Hardmax, takes_the_first_of_equals) {
  EXPECT_TRUE(near(run_operator("Hardmax", {tensor(DType::f32, {3, 3}, {1, 3, 3, kNaN, 5, kNaN, -kInf, -kInf, -kInf})})[0], {3, 3},
                   {0, 1, 0, 1, 0, 0, 1, 0, 0}));
  EXPECT_TRUE(near(run_operator("Hardmax", {pattern({2, 3, 2})}, along(1))[0], {2, 3, 2}, {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0}));
}

TEST(Softmax, errors) {
  EXPECT_THAT(error_of("Softmax", {pattern({2, 3})}, along(2)), HasSubstr("axis 2 is out of range for rank 2"));
  EXPECT_THAT(error_of("Softmax", {tensor(DType::i32, {1}, {1})}), HasSubstr("i32"));
}

}  // namespace
}  // namespace minnow::test
