// SPDX-License-Identifier: Apache-2.0
// Expressions saved, loaded, copied and changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "express/support.h"
#include "graph/graph.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Line {  // y = relu(x * w + b)
  Var x = expr::placeholder("x", DType::f32, {-1, 2});
  Var w = expr::trainable(f32({2, -3}, {2}).tensor(), "w");
  Var b = expr::constant({0.5f}, {1});
  Var y = expr::relu(x * w + b).set_name("y");
};

std::string path_of(const char* name) { return (std::filesystem::path(::testing::TempDir()) / name).string(); }

TEST(ExpressGraph, saved_and_loaded_it_computes_the_same) {
  const Line line;
  const std::string path = path_of("line.minnow");
  expr::save({line.y}, path);
  // It is a model as any other.
  Session session(Model::load(path));
  const float x[] = {1, 1, 2, -2};
  const Tensor y = session.run({TensorView(DType::f32, {2, 2}, x)})[0];
  EXPECT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + 4), ElementsAre(2.5, 0, 4.5, 6.5));
  const expr::Loaded loaded = expr::load(path);
  ASSERT_EQ(loaded.inputs.size(), 1u);
  EXPECT_EQ(loaded.inputs[0].name(), "x");
  EXPECT_EQ(loaded.outputs[0].name(), "y");
  EXPECT_TRUE(loaded.at("w").is_trainable());
  EXPECT_EQ(expr::trainables(loaded.outputs).size(), 1u);
  loaded.inputs[0].assign(Tensor(TensorView(DType::f32, {2, 2}, x)));
  EXPECT_THAT(numbers(loaded.outputs[0]), ElementsAre(2.5, 0, 4.5, 6.5));
  EXPECT_THAT(error_of([&] { loaded.at("z"); }), HasSubstr("the model has no value \"z\"; the"));
  EXPECT_THAT(error_of([&] { expr::load(path_of("nothing.minnow")); }), HasSubstr("nothing.minnow"));
}

TEST(ExpressGraph, a_model_of_an_expression_says_what_is_known_of_its_shapes) {
  const Line line;
  const Model model = expr::to_model({line.y, expr::reduce_sum(line.x, expr::constant(Tensor(DType::i64, {1})))});
  EXPECT_EQ(model.outputs()[0].type, "f32[?, 2]");
  EXPECT_EQ(model.outputs()[1].type, "f32[1, 2]");
  // Nothing is known of a rank that is open.
  const Var any = expr::placeholder("any", DType::f32);
  EXPECT_EQ(expr::to_model({expr::relu(any)}).outputs()[0].type, "f32");
}

TEST(ExpressGraph, inputs_are_in_the_order_that_is_asked_for) {
  const Var a = expr::placeholder("a", DType::f32, {2}), b = expr::placeholder("b", DType::f32, {2});
  const Var c = a - b;
  EXPECT_EQ(expr::to_model({c}).inputs()[0].name, "a");
  EXPECT_EQ(expr::to_model({c}, {b, a}).inputs()[0].name, "b");
  EXPECT_THAT(error_of([&] { expr::to_model({c}, {a}); }), HasSubstr("depends on the placeholder \"b\", which is not among the inputs"));
  EXPECT_THAT(error_of([&] { expr::to_model({c}, {c}); }), HasSubstr("no placeholder"));
  const Var same = expr::placeholder("a", DType::f32, {2});
  EXPECT_THAT(error_of([&] { expr::to_model({a + same}); }), HasSubstr("two inputs of the expression are named \"a\""));
  // A placeholder and a constant as outputs, and one value twice.
  const Model model = expr::to_model({a, f32({1}, {1}), c, c});
  ASSERT_EQ(model.outputs().size(), 4u);
  Session session(model);
  const float x[] = {5, 6}, y[] = {1, 1};
  const std::vector<Tensor> outputs = session.run({TensorView(DType::f32, {2}, x), TensorView(DType::f32, {2}, y)});
  EXPECT_EQ(outputs[0].data<float>()[1], 6);
  EXPECT_EQ(outputs[1].data<float>()[0], 1);
  EXPECT_EQ(outputs[3].data<float>()[0], 4);
}

TEST(ExpressGraph, parts_are_replaced) {
  const Line line;
  line.x.assign(f32({1, 1}, {1, 2}));
  EXPECT_THAT(numbers(line.y), ElementsAre(2.5, 0));
  const expr::Loaded loaded = expr::load(expr::to_model({line.y}));
  // The replacement may use the value that it replaces: a node is inserted after it.
  const Var before = loaded.inputs[0];
  const Vars changed = expr::replace(loaded.outputs, {{before, before * 10}});
  before.assign(f32({1, 1}, {1, 2}));
  EXPECT_THAT(numbers(changed[0]), ElementsAre(20.5, 0));
  EXPECT_THAT(numbers(loaded.outputs[0]), ElementsAre(2.5, 0));
  const Vars other = expr::replace(loaded.outputs, {{loaded.at("w"), f32({0, 1}, {2})}});
  EXPECT_THAT(numbers(other[0]), ElementsAre(0.5, 1.5));
  EXPECT_EQ(other[0].name(), "y");
  const Var elsewhere = expr::constant({1}, {1});
  EXPECT_THAT(error_of([&] {
                expr::replace(loaded.outputs, {{elsewhere.set_name("z"), before}});
              }),
              HasSubstr("a value (\"z\") that should be replaced is no part of these expressions"));
}

TEST(ExpressGraph, clones_have_placeholders_and_parameters_of_their_own) {
  const Line line;
  const Vars copy = expr::clone({line.y});
  line.x.assign(f32({1, 1}, {1, 2}));
  const Vars given = expr::placeholders(copy);
  ASSERT_EQ(given.size(), 1u);
  given[0].assign(f32({2, 2}, {1, 2}));
  EXPECT_THAT(numbers(line.y), ElementsAre(2.5, 0));
  EXPECT_THAT(numbers(copy[0]), ElementsAre(4.5, 0));
  EXPECT_TRUE(expr::trainables(copy)[0].is_trainable());
}

TEST(ExpressGraph, parameters_are_found_as_the_variables_that_they_are) {
  Line line;
  const Vars found = expr::trainables({line.y});
  ASSERT_EQ(found.size(), 1u);
  found[0].assign(f32({1, 1}, {2}));
  EXPECT_THAT(numbers(line.w), ElementsAre(1, 1));
  line.w[1] = 7;
  EXPECT_TRUE(line.w.is_trainable());
  EXPECT_THAT(numbers(line.w), ElementsAre(1, 7));
  EXPECT_THAT(error_of([&] { line.w.assign(f32({1}, {1})); }), HasSubstr("the parameter \"w\" is f32[2], it is given f32[1]"));
}

TEST(ExpressGraph, a_view_of_what_depends_on_a_placeholder_is_assigned_as_an_expression) {
  const Var x = expr::placeholder("x", DType::f32, {2, 3});
  Var y = x * 2;
  y[{kAll, Index::range({}, {}, -2)}] = f32({10, 20}, {2, 1});
  x.assign(arange(6, {2, 3}));
  EXPECT_THAT(numbers(y), ElementsAre(10, 2, 10, 20, 8, 20));
  x.assign(arange(6, {2, 3}) + 1);
  EXPECT_THAT(numbers(y), ElementsAre(10, 4, 10, 20, 10, 20));
}

TEST(ExpressGraph, weights_that_are_given_or_computed_of_what_is_given_are_read_in_every_run) {
  const Var x = expr::constant({1, 2, 3, 4}, {1, 1, 2, 2}), w = expr::placeholder("w", DType::f32, {1, 1, 1, 1});
  const Var given = expr::conv(x, w), computed = expr::conv(x, w * 2), product = expr::conv(given, w + 1);
  for (const float weight : {1.0f, 2.0f, -3.0f}) {
    w.assign(f32({weight}, {1, 1, 1, 1}));
    EXPECT_THAT(numbers(given), ElementsAre(weight, 2 * weight, 3 * weight, 4 * weight));
    EXPECT_EQ(numbers(computed)[3], 8 * weight);
    EXPECT_EQ(numbers(product)[1], 2 * weight * (weight + 1));
  }
}

TEST(ExpressGraph, deep_expressions_of_placeholders_are_walked_without_recursion) {
  const Var x = expr::placeholder("x", DType::f32, {1});
  Var y = x;
  for (int i = 0; i < 20000; ++i) y = y + 1;
  x.assign(f32({1}, {1}));
  EXPECT_EQ(y.item(), 20001);
}

}  // namespace
}  // namespace minnow::test
