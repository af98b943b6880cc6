// SPDX-License-Identifier: Apache-2.0
// Gradients of operators as expressions, compared with finite differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <tuple>

#include "express/support.h"
#include "graph/graph.h"
#include "runtime/model.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

using ::testing::HasSubstr;

class Gradient : public ::testing::Test {
 protected:
  void SetUp() override { expr::use_operators(load_operators({(binary_dir() / "lib" / "libcustom_operators.so").string()})); }
  void TearDown() override { expr::use_operators(nullptr); }
};

TEST_F(Gradient, of_a_custom_operator_agrees_with_finite_differences) {
  const std::vector<float> at = {-3, -0.5f, 0, 0.25f, 1, 4}, weights = {1, -2, 0.5f, 3, 1, -1};
  const Var x = expr::placeholder("x", DType::f32, {-1}), dy = Tensor::of_f32({6}, weights);
  const Var y = expr::op("com.example.Swish", {x}, {{"beta", 2.0f}});
  const Vars gradients = expr::gradient_of({y}, {dy});
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].dtype(), DType::f32);
  x.assign(Var(Tensor::of_f32({6}, at)));
  const std::vector<double> found = numbers(gradients[0]);
  const auto loss = [&](size_t i, float step) {
    std::vector<float> moved = at;
    moved[i] += step;
    x.assign(Var(Tensor::of_f32({6}, moved)));
    const std::vector<double> values = numbers(y);
    double sum = 0;
    for (size_t k = 0; k < values.size(); ++k) sum += values[k] * double(weights[k]);
    return sum;
  };
  constexpr float kStep = 1.0f / 64;
  for (size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(found[i], (loss(i, kStep) - loss(i, -kStep)) / (2 * double(kStep)), 1e-3) << "element " << i;
}

TEST_F(Gradient, of_recurrent_cells_needs_one_forward_pass) {
  const auto weights = [](const Shape& shape) {
    std::vector<float> values(size_t(shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i));
    return expr::trainable(Tensor::of_f32(shape, values));
  };
  for (const auto& [op, gates, outputs] : {std::tuple("LSTM", 4, size_t{5}), {"GRU", 3, size_t{3}}, {"RNN", 1, size_t{1}}}) {
    const Var w = weights({1, gates * 3, 2}), r = weights({1, gates * 3, 3}), x = weights({4, 2, 2});
    expr::Attributes attributes;
    if (gates == 3) attributes.emplace_back("linear_before_reset", int64_t{1});
    const Var y = expr::op(op, {x, w, r}, attributes), loss = expr::op("ReduceSum", {y * y}, {{"keepdims", int64_t{0}}});
    const Vars gradients = expr::gradients(loss, {w});
    const Model model = expr::to_model({loss, gradients[0]});
    size_t forward = 0, backward = 0;
    for (const Node& node : model.graph().nodes()) {
      if (node.op() == op) {
        ++forward;
        EXPECT_EQ(node.output_count(), outputs);
      }
      if (node.op() == "minnow.RecurrentGradient") {
        ++backward;
        EXPECT_FALSE(node.output(0));  // nobody asks for that of x
        EXPECT_TRUE(node.output(1));
      }
    }
    EXPECT_EQ(forward, 1u) << op;
    EXPECT_EQ(backward, 1u) << op;
    // A forward pass that is over has kept nothing, and runs again.
    const std::vector<double> expected = numbers(gradients[0]);
    const Var again = expr::op(op, {x, w, r}, attributes), sum = expr::op("ReduceSum", {again * again}, {{"keepdims", int64_t{0}}});
    numbers(sum);
    const std::vector<double> found = numbers(expr::gradients(sum, {w})[0]);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << op;
  }
}

TEST_F(Gradient, is_an_expression_that_is_saved_and_loaded) {
  const Var x = expr::placeholder("x", DType::f32, {2}), dy = expr::placeholder("dy", DType::f32, {2});
  const Var dx = expr::gradient_of({expr::op("com.example.Swish", {x})}, {dy})[0];
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "gradient.minnow").string();
  expr::save({(dx * 2).set_name("twice")}, path, {x, dy});
  const auto net = load_module(path);
  const double s = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(numbers((*net)(Vars{f32({0, 1}, {2}), f32({1, 3}, {2})})[0])[0], 1, 1e-6);
  EXPECT_NEAR(numbers((*net)(Vars{f32({0, 1}, {2}), f32({1, 3}, {2})})[0])[1], 6 * (s + s * (1 - s)), 1e-5);
}

TEST_F(Gradient, what_cannot_be_is_told) {
  const Var x = expr::trainable(Tensor::of_f32({2}, std::vector<float>{1, 2}));
  const Var y = expr::op("com.example.Swish", {x}), one = f32({1, 1}, {2});
  EXPECT_THAT(error_of([&] {
                expr::gradient_of({expr::op("com.example.KeepLarge", {x, f32({1}, {})})}, {one});
              }),
              HasSubstr("com.example.KeepLarge has no gradient"));
  EXPECT_THAT(error_of([&] { expr::gradient_of({x}, {one}); }), HasSubstr("not a value that was given"));
  EXPECT_THAT(error_of([&] { expr::gradient_of({}, {}); }), HasSubstr("0 outputs and 0 gradients"));
  EXPECT_THAT(error_of([&] { expr::gradient_of({y}, {}); }), HasSubstr("1 outputs and 0 gradients"));
  EXPECT_THAT(error_of([&] {
                expr::gradient_of({y}, {f32({1, 1, 1}, {3})});
              }),
              HasSubstr("com.example.Swish: the gradient of output 0 is f32[3], the output is f32[2]"));
  EXPECT_THAT(error_of([&] { expr::gradient_of({y}, {one.astype(DType::f64)}); }), HasSubstr("the gradient of output 0 is f64"));
  EXPECT_THAT(error_of([&] { expr::gradient_of({y, expr::op("com.example.Swish", {x})}, {one, one}); }), HasSubstr("not of several"));
  const Var fixed = expr::op("com.example.Swish", {f32({1, 2}, {2})});
  EXPECT_NEAR(numbers(expr::gradient_of({fixed}, {one})[0])[0], 0.9277, 1e-4);
  numbers(fixed);
  EXPECT_THAT(error_of([&] { expr::gradient_of({fixed}, {one}); }), HasSubstr("keeps none once it is computed"));
  numbers(y);  // of a parameter: the expression stays
  EXPECT_NEAR(numbers(expr::gradient_of({y}, {one})[0])[0], 0.9277, 1e-4);
}

TEST_F(Gradient, operators_that_came_into_use_later_join_those_before) {
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Var y = expr::op("com.example.Swish", {x});
  SetUp();  // another set of the same tables
  const Var z = expr::op("com.example.Swish", {y}) + expr::op("com.example.Swish", {x});
  x.assign(f32({0, 0}, {2}));
  EXPECT_EQ(numbers(z)[1], 0);
  EXPECT_EQ(expr::to_model({z}).outputs().size(), 1u);
}

}  // namespace
}  // namespace minnow::test
