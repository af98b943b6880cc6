// SPDX-License-Identifier: Apache-2.0
// Gradients by functions of the program, hooks, recomputation, and models with parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "express/support.h"
#include "graph/graph.h"
#include "runtime/model.h"

namespace minnow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CustomGradient, is_asked_instead_of_the_computation) {
  const Var x = parameter(f32({1, 2}, {2})), y = parameter(f32({3, 4}, {2}));
  int calls = 0;
  const Vars made = expr::custom_gradient({x, y}, {expr::floor(x), y * 2}, [&](const Vars& g) {
    ++calls;
    return Vars{g[0] * 10, g[1] * 5 + g[0]};
  });
  const Vars gradients = expr::gradients(sum(made[0] * 3) + sum(made[1] * x), {x, y});
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(numbers(gradients[0]), ElementsAre(30 + 6, 30 + 8));
  EXPECT_THAT(numbers(gradients[1]), ElementsAre(5 + 3, 10 + 3));
  EXPECT_THAT(numbers(made[1]), ElementsAre(6, 8));
}

TEST(CustomGradient, of_one_output_that_is_used_alone) {
  const Var x = parameter(f32({1, 2}, {2}));
  const Vars made = expr::custom_gradient({x}, {x * 1, x * 2}, [](const Vars& g) { return Vars{g[0].has_value() ? g[0] : g[1] * 7}; });
  EXPECT_THAT(numbers(expr::gradients(sum(made[1]), {x})[0]), ElementsAre(7, 7));
}

TEST(CustomGradient, inside_a_loop) {
  const Var x = parameter(f32({1, 2}, {2}));
  const Vars made =
      expr::scan([&](const Vars& v) { return Vars{expr::with_gradient_hook(v[0] * x, [](const Var& g) { return g * 2; }) + v[1]}; },
                 {f32({1, 1}, {2})}, {f32({0, 0, 0, 0}, {2, 2})});
  // x * x with each product's gradient doubled: 2 (h + 2 x), h = x.
  EXPECT_THAT(numbers(expr::gradients(sum(made[0]), {x})[0]), ElementsAre(6, 12));
}

TEST(CustomGradient, errors) {
  const Var x = parameter(f32({1, 2}, {2}));
  const Var none = expr::custom_gradient({x}, {x * 2}, [](const Vars&) { return Vars{}; })[0];
  EXPECT_THAT(error_of([&] { expr::gradients(sum(none), {x}); }), HasSubstr("a custom gradient gives 0 gradients for 1 inputs"));
  const Var other = expr::custom_gradient({x}, {x * 2}, [](const Vars&) { return Vars{f32({1}, {1})}; })[0];
  EXPECT_THAT(error_of([&] { expr::gradients(sum(other), {x}); }), HasSubstr("the gradient of input 0 is f32[1], the input is f32[2]"));
}

TEST(GradientHook, changes_or_looks) {
  const Var x = parameter(f32({1, 2}, {2}));
  bool seen = false;
  const Var y = expr::with_gradient_hook(x, [&](const Var&) {
    seen = true;
    return Var();
  });
  EXPECT_THAT(numbers(expr::gradients(sum(y * y), {x})[0]), ElementsAre(2, 4));
  EXPECT_TRUE(seen);
}

TEST(Checkpoint, gives_the_same_gradients_and_computes_again) {
  const Var x = parameter(f32({0.5f, 2}, {2})), w = parameter(f32({3, 0.25f}, {2}));
  const auto layer = [&](const Vars& v) { return Vars{expr::tanh(expr::sin(v[0] * w) * w)}; };
  const auto count = [](const Vars& values) {
    size_t sines = 0;
    const Model model = expr::to_model(values);
    for (const Node& node : model.graph().nodes()) sines += node.op() == "Sin";
    return sines;
  };
  const Var plain = sum(layer(layer({x}))[0]), saved = sum(expr::checkpoint(layer, expr::checkpoint(layer, {x}))[0]);
  const Vars expected = expr::gradients(plain, {x, w}), found = expr::gradients(saved, {x, w});
  EXPECT_EQ(count({plain, expected[0], expected[1]}), 2u);
  EXPECT_EQ(count({saved, found[0], found[1]}), 4u);
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < 2; ++k) EXPECT_NEAR(numbers(found[i])[k], numbers(expected[i])[k], 1e-6);
}

TEST(Apply, with_parameters_and_in_training) {
  const char* const text = R"(graph {
    input x: f32[2, 1, 2]
    const dense.weight = f32[1] [2]
    const scale = f32[1] [1]
    const bias = f32[1] [0]
    const mean = f32[1] [5]
    const variance = f32[1] [4]
    scaled = Mul(x, dense.weight)
    y = BatchNormalization(scaled, scale, bias, mean, variance) {momentum = 0.5}
    output y
  })";
  const Model model = Model::from_graph(parse_graph(text), nullptr);
  const std::map<std::string, Var> weights = expr::parameters_of(model, {"*.weight", "bi?s"});
  ASSERT_EQ(weights.size(), 2u);
  std::map<std::string, Var> next;
  const Var x = f32({0, 1, 2, 3}, {2, 1, 2});
  const Var y = expr::apply(model, {x}, {weights, true, &next})[0];
  EXPECT_NEAR(numbers(sum(y))[0], 0, 1e-5);
  EXPECT_NEAR(numbers(next.at("mean"))[0], 4, 1e-6);  // the batch's is 3
  const Vars gradients = expr::gradients(sum(y * x), {weights.at("dense.weight"), weights.at("bias")});
  EXPECT_THAT(numbers(gradients[1]), ElementsAre(6));
  EXPECT_THAT(error_of([&] { expr::parameters_of(model, {"*.weights"}); }),
              HasSubstr("no constant of floats fits \"*.weights\"; there are 5:"));
  EXPECT_THAT(error_of([&] { expr::apply(model, {x}, {{{"biass", x}}}); }), HasSubstr("the model has no constant \"biass\""));
}

TEST(Apply, parameters_by_default_are_those_with_an_effect_on_floats) {
  const char* const text = R"(graph {
    input x: f32[2]
    const threshold = f32[2] [1, 1]
    const weight = f32[2] [2, 3]
    const high = f32[] 6
    const low = f32[] 0
    const step = f32[2] [1, 1]
    const unused = f32[2] [1, 1]
    above = Greater(x, threshold)
    mask = Cast(above) {to = 1}
    stepped = Add(x, step)
    whole = Floor(stepped)
    scaled = Mul(mask, weight)
    moved = Add(scaled, whole)
    y = Clip(moved, low, high)
    rest = Add(x, unused)
    place = ArgMax(rest)
    output y
    output place
  })";
  const Model model = Model::from_graph(parse_graph(text), nullptr);
  const auto names = [&](const std::vector<std::string>& patterns) {
    std::vector<std::string> found;
    for (const auto& [name, value] : expr::parameters_of(model, patterns)) found.push_back(name);
    return found;
  };
  EXPECT_THAT(names({"*"}), ElementsAre("weight"));
  EXPECT_THAT(names({"*", "high"}), ElementsAre("high", "weight"));
  EXPECT_THAT(names({"*d"}), ElementsAre("threshold", "unused"));
}

}  // namespace
}  // namespace minnow::test
