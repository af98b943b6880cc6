// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/format.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

/// Rewrites a graph from x: f32[2, 3] to y, and expects one node with this text.
void expect_raised(std::string_view nodes, std::string_view raised) {
  const Rewrite r = rewrite(format("graph {{\n input x: f32[2, 3]\n {}\n output y\n}}", nodes), {"raise_activations"});
  EXPECT_EQ(r.nodes(), std::string(raised) + "\n") << nodes;
  EXPECT_TRUE(numbers_stay(r, 1e-4)) << nodes;
}
void expect_unchanged(std::string_view nodes) {
  const Rewrite r = rewrite(format("graph {{\n input x: f32[2, 3]\n {}\n output y\n}}", nodes), {"raise_activations"});
  EXPECT_EQ(r.changes, 0u) << r.nodes();
}

TEST(RaiseActivations, gelu_by_erf) {
  for (const char* nodes : {// as PyTorch writes it
                            R"(const r = f32[] 1.41421354
              const one = f32[] 1
              const half = f32[] 0.5
              a = Div(x, r)
              b = Erf(a)
              c = Add(b, one)
              d = Mul(x, c)
              y = Mul(d, half))",
                            // the half first, the factor on the other side, [1] for scalars
                            R"(const r = f32[1] [0.707106769]
              const one = f32[1] [1]
              const half = f32[1] [0.5]
              h = Mul(half, x)
              a = Mul(r, x)
              b = Erf(a)
              c = Add(one, b)
              y = Mul(c, h))",
                            // as Keras writes it, by erfc(-x)
                            R"(const r = f32[] 0.707106769
              const one = f32[] 1
              const half = f32[] 0.5
              n = Neg(x)
              a = Mul(n, r)
              b = Erf(a)
              c = Sub(one, b)
              h = Mul(half, x)
              y = Mul(h, c))",
                            // the half within, the root rounded to half precision
                            R"(const r = f32[] 1.4140625
              const half = f32[] 0.5
              a = Div(x, r)
              b = Erf(a)
              c = Mul(b, half)
              d = Add(half, c)
              y = Mul(x, d))"})
    expect_raised(nodes, R"(y = Gelu(x) {approximate = "none"})");
}

TEST(RaiseActivations, gelu_by_tanh) {
  for (const char* nodes : {
           R"(const three = f32[] 3
              const k = f32[] 0.044715
              const s = f32[] 0.7978845608
              const one = f32[] 1
              const half = f32[] 0.5
              a = Pow(x, three)
              b = Mul(a, k)
              c = Add(x, b)
              d = Mul(c, s)
              e = Tanh(d)
              f = Add(e, one)
              g = Mul(half, x)
              y = Mul(g, f))",
           // as TensorFlow writes it: x (1 + k x^2)
           R"(const k = f32[] 0.044715
              const s = f32[] 0.7978845608
              const one = f32[] 1
              const half = f32[] 0.5
              a = Mul(x, x)
              b = Mul(a, k)
              c = Add(b, one)
              p = Mul(x, s)
              d = Mul(p, c)
              e = Tanh(d)
              f = Add(one, e)
              g = Mul(half, f)
              y = Mul(x, g))"})
    expect_raised(nodes, R"(y = Gelu(x) {approximate = "tanh"})");
}

TEST(RaiseActivations, swish) {
  expect_raised("a = Sigmoid(x)\n y = Mul(x, a)", "y = Swish(x) {alpha = 1.0}");
  expect_raised("const k = f32[] 1.5\n b = Mul(x, k)\n a = Sigmoid(b)\n y = Mul(a, x)", "y = Swish(x) {alpha = 1.5}");
  expect_unchanged("a = Sigmoid(x)\n b = Mul(x, a)\n y = Add(a, b)");
}

TEST(RaiseActivations, hard_sigmoid_and_hard_swish) {
  constexpr std::string_view kConstants = "const three = f32[] 3\n const zero = f32[] 0\n const six = f32[] 6\n ";
  expect_raised(format("{}a = Add(x, three)\n b = Clip(a, zero, six)\n y = Div(b, six)", kConstants),
                "y = HardSigmoid(x) {alpha = 0.16666667, beta = 0.5}");
  expect_raised(format("{}a = Add(x, three)\n b = Clip(a, zero, six)\n c = Div(b, six)\n y = Mul(x, c)", kConstants), "y = HardSwish(x)");
  expect_raised(format("{}a = Add(x, three)\n b = Clip(a, zero, six)\n c = Mul(x, b)\n y = Div(c, six)", kConstants), "y = HardSwish(x)");
  expect_raised(format("{}a = Add(three, x)\n b = Relu(a)\n c = Min(b, six)\n d = Div(c, six)\n y = Mul(d, x)", kConstants),
                "y = HardSwish(x)");
  expect_raised("a = HardSigmoid(x) {alpha = 0.16666667, beta = 0.5}\n y = Mul(a, x)", "y = HardSwish(x)");
  expect_unchanged("a = HardSigmoid(x) {alpha = 0.2, beta = 0.5}\n y = Mul(a, x)");
}

TEST(RaiseActivations, sigmoid_softplus_mish) {
  constexpr std::string_view kOne = "const one = f32[] 1\n const minus = f32[] -1\n ";
  expect_raised(format("{}a = Neg(x)\n b = Exp(a)\n c = Add(b, one)\n y = Div(one, c)", kOne), "y = Sigmoid(x)");
  expect_raised(format("{}a = Mul(x, minus)\n b = Exp(a)\n c = Add(one, b)\n y = Reciprocal(c)", kOne), "y = Sigmoid(x)");
  expect_raised(format("{}b = Exp(x)\n c = Add(one, b)\n y = Log(c)", kOne), "y = Softplus(x)");
  expect_raised("b = Softplus(x)\n c = Tanh(b)\n y = Mul(x, c)", "y = Mish(x)");
}

TEST(RaiseActivations, clips) {
  constexpr std::string_view kConstants = "const zero = f32[] 0\n const six = f32[] 6\n const low = f32[] -1\n ";
  expect_raised(format("{}y = Max(x, zero)", kConstants), "y = Relu(x)");
  expect_raised(format("{}a = Relu(x)\n y = Min(six, a)", kConstants), "y = Clip(x, constant#1, constant#2)");
  expect_raised(format("{}a = Max(x, low)\n y = Min(a, six)", kConstants), "y = Clip(x, constant#4, constant#5)");
  expect_raised(format("{}y = Clip(x, zero)", kConstants), "y = Relu(x)");
  expect_unchanged(format("{}y = Clip(x, zero, six)", kConstants));
  expect_unchanged("const zero = f32[4, 2, 3] fill 0\n y = Max(x, zero)");
}

TEST(RaiseActivations, leaky_relu) {
  expect_raised("const s = f32[] 0.125\n a = Mul(x, s)\n y = Max(x, a)", "y = LeakyRelu(x) {alpha = 0.125}");
  expect_raised("const s = f32[1] [0.25]\n y = PRelu(x, s)", "y = LeakyRelu(x) {alpha = 0.25}");
  expect_unchanged("const s = f32[] 2\n a = Mul(x, s)\n y = Max(x, a)");
}

TEST(RaiseActivations, a_number_of_higher_rank_shapes_the_result) {
  expect_unchanged("const k = f32[1, 1, 1] [1]\n b = Mul(x, k)\n a = Sigmoid(b)\n y = Mul(a, x)");
}

}  // namespace
}  // namespace minnow::test
