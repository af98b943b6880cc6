// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

TEST(RaiseNormalizations, layer_normalization_of_pytorch) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 5, 8]
    const axes = i64[1] [-1]
    const two = f32[] 2
    const epsilon = f32[] 1e-05
    const random_scale = f32[8] fill 0
    const random_bias = f32[8] fill 0
    mean = ReduceMean(x, axes)
    d = Sub(x, mean)
    squares = Pow(d, two)
    variance = ReduceMean(squares, axes)
    sum = Add(variance, epsilon)
    deviation = Sqrt(sum)
    n = Div(d, deviation)
    scaled = Mul(n, random_scale)
    y = Add(scaled, random_bias)
    output y
  })",
                            {"raise_normalizations"});
  EXPECT_EQ(r.nodes(), "y = LayerNormalization(x, random_scale, random_bias) {axis = -1, epsilon = 1e-05}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseNormalizations, over_two_dimensions_with_a_reciprocal_and_no_bias) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[3, 4, 5]
    const axes = i64[2] [1, 2]
    const epsilon = f32[] 0.001
    const one = f32[] 1
    mean = ReduceMean(x, axes)
    d = Sub(x, mean)
    squares = Mul(d, d)
    variance = ReduceMean(squares, axes)
    sum = Add(epsilon, variance)
    deviation = Sqrt(sum)
    inverse = Div(one, deviation)
    y = Mul(inverse, d)
    output y
  })",
                            {"raise_normalizations"});
  EXPECT_EQ(r.ops(), "LayerNormalization");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseNormalizations, rms_normalization) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, seq, 8]
    const axes = i64[1] [2]
    const two = f32[] 2
    const epsilon = f32[] 1e-06
    const random_scale = f32[8] fill 0
    squares = Pow(x, two)
    mean = ReduceMean(squares, axes)
    sum = Add(mean, epsilon)
    root = Sqrt(sum)
    inverse = Reciprocal(root)
    n = Mul(x, inverse)
    y = Mul(random_scale, n)
    output y
  })",
                            {"raise_normalizations"});
  EXPECT_EQ(r.nodes(), "y = RMSNormalization(x, random_scale) {axis = -1, epsilon = 1e-06}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseNormalizations, not_where_a_scale_of_ones_would_be_large) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 8000000]
    const axes = i64[1] [-1]
    const two = f32[] 2
    const epsilon = f32[] 1e-05
    squares = Pow(x, two)
    mean = ReduceMean(squares, axes)
    sum = Add(mean, epsilon)
    root = Sqrt(sum)
    y = Div(x, root)
    output y
  })",
                            {"raise_normalizations"});
  EXPECT_EQ(r.ops(), "Pow ReduceMean Add Sqrt Div");
}

TEST(RaiseNormalizations, only_over_the_last_dimensions) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 4, 3, 3]
    const axes = i64[1] [1]
    const two = f32[] 2
    const epsilon = f32[] 1e-06
    mean = ReduceMean(x, axes)
    d = Sub(x, mean)
    squares = Pow(d, two)
    variance = ReduceMean(squares, axes)
    sum = Add(variance, epsilon)
    root = Sqrt(sum)
    y = Div(d, root)
    output y
  })",
                            {"raise_normalizations"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(RaiseNormalizations, two_in_a_row) {
  std::string text = "graph {\n input x: f32[2, 8]\n const axes = i64[1] [-1]\n const two = f32[] 2\n const epsilon = f32[] 1e-05\n";
  for (const char* n : {"1", "2"}) {
    const std::string i = n, in = i == "1" ? "x" : "n1";
    text += "m" + i + " = ReduceMean(" + in + ", axes)\n d" + i + " = Sub(" + in + ", m" + i + ")\n q" + i + " = Pow(d" + i + ", two)\n v" +
            i + " = ReduceMean(q" + i + ", axes)\n s" + i + " = Add(v" + i + ", epsilon)\n r" + i + " = Sqrt(s" + i + ")\n n" + i +
            " = Div(d" + i + ", r" + i + ")\n";
  }
  const Rewrite r = rewrite(text + "output n2\n}", {"raise_normalizations"});
  EXPECT_EQ(r.ops(), "LayerNormalization LayerNormalization");
  EXPECT_TRUE(numbers_stay(r, 1e-4));
}

/// (x - mean) * s + bias with the brackets resolved; `rest` makes y of x * s = p, the scale s, the mean and the bias.
std::string resolved_brackets(const std::string& rest) {
  return R"(graph {
    input x: f32[2, 5, 8]
    const axes = i64[1] [-1]
    const others = i64[1] [1]
    const epsilon = f32[] 0.01
    const random_scale = f32[1, 1, 8] fill 0
    const random_bias = f32[8] fill 0
    mean = ReduceMean(x, axes)
    d = Sub(x, mean)
    squares = Mul(d, d)
    variance = ReduceMean(squares, axes)
    sum = Add(variance, epsilon)
    deviation = Sqrt(sum)
    inverse = Reciprocal(deviation)
    s = Mul(inverse, random_scale)
    p = Mul(x, s)
    )" + rest +
         "\n output y\n}";
}

TEST(RaiseNormalizations, layer_normalization_with_its_brackets_resolved) {
  for (const char* rest : {"neg = Neg(mean)\n t = Mul(neg, s)\n u = Add(t, random_bias)\n y = Add(p, u)",  // Keras 3
                           "t = Mul(mean, s)\n u = Sub(random_bias, t)\n y = Add(u, p)"}) {
    const Rewrite r = rewrite(resolved_brackets(rest), {"raise_normalizations"});
    EXPECT_EQ(r.ops(), "LayerNormalization");
    EXPECT_TRUE(numbers_stay(r, 1e-4));
  }
}

TEST(RaiseNormalizations, not_where_another_mean_is_taken_off) {
  const Rewrite r =
      rewrite(resolved_brackets("other = ReduceMean(x, others)\n t = Mul(other, s)\n u = Sub(random_bias, t)\n y = Add(p, u)"),
              {"raise_normalizations"});
  EXPECT_EQ(r.changes, 0u);
}

}  // namespace
}  // namespace minnow::test
