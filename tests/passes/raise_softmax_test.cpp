// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

TEST(RaiseSoftmax, exponentials_over_their_sum) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 5, 8]
    const axes = i64[1] [-1]
    largest = ReduceMax(x, axes)
    d = Sub(x, largest)
    e = Exp(d)
    sum = ReduceSum(e, axes)
    y = Div(e, sum)
    output y
  })",
                            {"raise_softmax", "remove_dead_code"});
  EXPECT_EQ(r.nodes(), "y = Softmax(x) {axis = -1}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseSoftmax, without_a_shift_by_a_reciprocal_along_another_axis) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 5, 8]
    const axes = i64[1] [1]
    e = Exp(x)
    sum = ReduceSum(e, axes)
    inverse = Reciprocal(sum)
    y = Mul(inverse, e)
    output y
  })",
                            {"raise_softmax", "remove_dead_code"});
  EXPECT_EQ(r.nodes(), "y = Softmax(x) {axis = -2}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseSoftmax, the_logarithm) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[4, 8]
    const axes = i64[1] [1]
    largest = ReduceMax(x, axes)
    d = Sub(x, largest)
    e = Exp(d)
    sum = ReduceSum(e, axes)
    l = Log(sum)
    y = Sub(d, l)
    output y
  })",
                            {"raise_softmax", "remove_dead_code"});
  EXPECT_EQ(r.nodes(), "y = LogSoftmax(x) {axis = -1}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseSoftmax, other_sums_and_exponentials_that_others_use_stay) {
  EXPECT_EQ(rewrite(R"(graph {
    input x: f32[2, 5, 8]
    const axes = i64[2] [1, 2]
    e = Exp(x)
    sum = ReduceSum(e, axes)
    y = Div(e, sum)
    output y
  })",
                    {"raise_softmax"})
                .changes,
            0u);
  EXPECT_EQ(rewrite(R"(graph {
    input x: f32[2, 8]
    const axes = i64[1] [1]
    e = Exp(x)
    sum = ReduceSum(e, axes)
    y = Div(e, sum)
    z = Neg(e)
    output y
    output z
  })",
                    {"raise_softmax"})
                .changes,
            0u);
  EXPECT_EQ(rewrite(R"(graph {
    input x: f32[8, 8]
    const axes = i64[1] [1]
    const other_axes = i64[1] [0]
    largest = ReduceMax(x, other_axes)
    d = Sub(x, largest)
    e = Exp(d)
    sum = ReduceSum(e, axes)
    y = Div(e, sum)
    output y
  })",
                    {"raise_softmax", "remove_dead_code"})
                .ops(),
            "ReduceMax Sub Softmax");
}

TEST(RaiseSoftmax, two_dimensional_forms_of_older_opsets) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 4, seq, 8]
    flat = Flatten(x) {axis = 3}
    s = Softmax(flat) {axis = 1}
    shape = Shape(x)
    y = Reshape(s, shape)
    output y
  })",
                            {"raise_softmax", "remove_dead_code"});
  EXPECT_EQ(r.nodes(), "y = Softmax(x) {axis = -1}\n");
  EXPECT_TRUE(numbers_stay(r));

  const Rewrite ones = rewrite(R"(graph {
    input x: f32[2, 4, 1, 1]
    const shape = i64[4] [2, 4, 1, 1]
    flat = Flatten(x)
    s = LogSoftmax(flat)
    y = Reshape(s, shape)
    output y
  })",
                               {"raise_softmax", "remove_dead_code"});
  EXPECT_EQ(ones.nodes(), "y = LogSoftmax(x) {axis = -3}\n");
  EXPECT_TRUE(numbers_stay(ones));

  EXPECT_EQ(rewrite(R"(graph {
    input x: f32[2, 4, 3]
    const shape = i64[3] [2, 4, 3]
    flat = Flatten(x)
    s = Softmax(flat)
    y = Reshape(s, shape)
    output y
  })",
                    {"raise_softmax"})
                .changes,
            0u);
}

}  // namespace
}  // namespace minnow::test
