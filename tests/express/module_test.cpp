// SPDX-License-Identifier: Apache-2.0
// Modules from files and written ones; custom operators in expressions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "express/support.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string model_file() {
  const Var data = expr::placeholder("data", DType::f32, {-1, 3});
  const Var hidden = expr::matmul(data, expr::constant({1, 2, 3, 4, 5, 6}, {3, 2})).set_name("hidden");
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "module.minnow").string();
  expr::save({expr::softmax(hidden).set_name("prob"), (hidden * 2).set_name("double")}, path);
  return path;
}

TEST(Module, is_loaded_by_names_and_called_with_any_shape) {
  const std::string path = model_file();
  const auto all = load_module(path);
  EXPECT_EQ((*all)(Vars{f32({1, 0, 0}, {1, 3})}).size(), 2u);
  const auto net = load_module(path, {"data"}, {"double"});
  EXPECT_THAT(numbers((*net)(f32({1, 0, 0}, {1, 3}))), ElementsAre(2, 4));
  EXPECT_THAT(numbers((*net)(f32({1, 0, 0, 0, 1, 0}, {2, 3}))), ElementsAre(2, 4, 6, 8));
  const auto tail = load_module(path, {"hidden"}, {"double"});
  EXPECT_THAT(numbers((*tail)(f32({4, 5}, {1, 2}))), ElementsAre(8, 10));
  EXPECT_THAT(error_of([&] { load_module(path, {"data"}, {"porb"}); }), HasSubstr("no value \"porb\"; the nearest are \"prob\""));
  EXPECT_THAT(error_of([&] { (*net)(Vars{}); }), HasSubstr("the module takes 1 inputs (data), 0 were given"));
  EXPECT_THAT(error_of([&] { (*net)(f32({1, 2}, {1, 2})); }), HasSubstr("input \"data\" should be f32[?, 3], it is f32[1, 2]"));
  EXPECT_THAT(error_of([&] { (*all)(f32({1, 0, 0}, {1, 3})); }), HasSubstr("gives 2 values"));
}

TEST(Module, becomes_part_of_an_expression_of_placeholders) {
  const auto net = load_module(model_file(), {"data"}, {"double"});
  const Var x = expr::placeholder("x", DType::f32, {1, 3});
  const Var y = (*net)(x * 2) + 1;
  x.assign(f32({1, 0, 0}, {1, 3}));
  EXPECT_THAT(numbers(y), ElementsAre(5, 9));
  EXPECT_EQ(expr::to_model({y}).inputs()[0].name, "x");
}

TEST(Module, one_is_called_by_eight_threads) {
  const auto net = load_module(model_file(), {"data"}, {"double"}, test::options([](auto& o) { o.threads = 1; }));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) wrong += numbers((*net)(f32({float(t), float(i), 0}, {1, 3})))[0] != 2.0 * (t + 3 * i);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

struct Dense : Module {
  Var w, b;
  Dense(int64_t in, int64_t out) : w(parameter("w", Tensor(DType::f32, {in, out}))), b(parameter("b", Tensor(DType::f32, {out}))) {}
  Vars forward(const Vars& x) override { return {expr::relu(expr::matmul(x[0], w) + b)}; }
};
struct Net : Module {
  std::shared_ptr<Dense> first = submodule("first", std::make_shared<Dense>(2, 3)),
                         second = submodule("second", std::make_shared<Dense>(3, 1));
  Vars forward(const Vars& x) override { return (*second)((*first)(x)); }
  std::shared_ptr<Module> clone() const override { return std::make_shared<Net>(*this); }
};

TEST(Module, written_ones_have_submodules_and_parameters) {
  Net net;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.parameters()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("first.w", "first.b", "second.w", "second.b"));
  net.load_parameters({{"first.w", f32({1, 2, 3, 4, 5, 6}, {2, 3}).tensor()}, {"second.w", f32({1, 1, 1}, {3, 1}).tensor()}});
  const Var x = f32({1, 1}, {1, 2});
  EXPECT_EQ(net(x).item(), 21);
  const auto copy = net.clone();
  net.first->b.assign(f32({1, 1, 1}, {3}));
  EXPECT_EQ((*copy)(x).item(), 24);  // the weights are shared
  EXPECT_THAT(error_of([&] {
                net.load_parameters({{"first.v", Tensor(DType::f32, {1})}});
              }),
              HasSubstr("the module has no parameter \"first.v\"; the nearest are \"first.b\", \"first.w\""));
  EXPECT_THAT(error_of([&] { Dense(1, 1).clone(); }), HasSubstr("cannot be cloned"));
  net.set_training(true);
  EXPECT_TRUE(net.second->is_training());
  const Var in = expr::placeholder("x", DType::f32, {-1, 2});
  EXPECT_EQ(expr::trainables(net(Vars{in})).size(), 4u);
}

TEST(CustomOperatorsInExpressions, are_called_and_saved_by_name) {
  const std::string library = (test::binary_dir() / "lib" / "libcustom_operators.so").string();
  EXPECT_THAT(error_of([] { expr::op("com.example.Swish", {f32({1}, {1})}); }),
              HasSubstr("there is no operator \"com.example.Swish\"; a library that has it is loaded by load_operators()"));
  const auto operators = load_operators({library});
  expr::use_operators(operators);
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Var y = expr::op("com.example.Swish", {x}, {{"beta", 2.0f}}) + 1;
  expr::use_operators(nullptr);
  x.assign(f32({-1, 1}, {2}));
  const auto swish = [](double v) { return v / (1 + std::exp(-2 * v)); };
  EXPECT_NEAR(numbers(y)[0], swish(-1) + 1, 1e-6);
  EXPECT_NEAR(numbers(y)[1], swish(1) + 1, 1e-6);
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "custom.minnow").string();
  expr::save({y}, path);
  EXPECT_THAT(error_of([&] {
                Session(Model::load(path)).run({f32({-1, 1}, {2}).tensor()});
              }),
              HasSubstr("(com.example.Swish): there is no such operator; load_operators() or --operators loads a library that has it"));
  expr::use_operators(operators);
  const auto found = load_module(path);
  const expr::Loaded loaded = expr::load(path);
  expr::use_operators(nullptr);
  EXPECT_NEAR(numbers((*found)(f32({-1, 1}, {2})))[1], swish(1) + 1, 1e-6);
  loaded.inputs[0].assign(f32({-1, 1}, {2}));
  EXPECT_NEAR(numbers(loaded.outputs[0])[1], swish(1) + 1, 1e-6);
  const auto net = load_module(Model::load(path, operators));
  EXPECT_NEAR(numbers((*net)(f32({-1, 1}, {2})))[1], swish(1) + 1, 1e-6);
}

TEST(CustomOperatorsInExpressions, take_what_has_open_dimensions) {
  expr::use_operators(load_operators({(test::binary_dir() / "lib" / "libcustom_operators.so").string()}));
  const Var rows = expr::placeholder("rows", DType::f32, {-1, 2}), any = expr::placeholder("any", DType::f32);
  const Var y = expr::op("com.example.Swish", {rows + 1}) * 2, z = expr::op("com.example.Swish", {any}) * 2;
  const Var kept = expr::op("com.example.KeepLarge", {rows, expr::placeholder("limit", DType::f32, {})}) + 1;
  const Vars looped = expr::while_loop([](const Vars& v) { return expr::size(v[0]) < 8; },
                                       [](const Vars& v) {
                                         return Vars{expr::op("com.example.Swish", {expr::concat({v[0], v[0]}, 0)})};
                                       },
                                       {f32({0, 1}, {2})});
  EXPECT_THAT(error_of([&] { expr::op("com.example.Swish", {rows.astype(DType::f64)}); }), HasSubstr("Swish takes f32"));
  expr::use_operators(nullptr);
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(kept.dtype(), DType::f32);
  const auto swish = [](double v) { return v / (1 + std::exp(-v)); };
  for (const int64_t count : {1, 3}) {
    rows.assign(arange(count * 2, {count, 2}));
    any.assign(arange(count, {count, 1, 1}));
    EXPECT_EQ(y.shape(), (Shape{count, 2}));
    EXPECT_NEAR(numbers(y).back(), 2 * swish(static_cast<double>(count * 2)), 1e-5);
    EXPECT_EQ(z.shape(), (Shape{count, 1, 1}));
    EXPECT_NEAR(numbers(z).back(), 2 * swish(static_cast<double>(count - 1)), 1e-5);
  }
  expr::placeholders({kept})[1].assign(f32({4}, {}));
  EXPECT_THAT(numbers(kept), testing::ElementsAre(5, 6));
  EXPECT_EQ(looped[0].shape(), Shape{8});
  EXPECT_NEAR(numbers(looped[0])[7], swish(swish(1)), 1e-6);
}

}  // namespace
}  // namespace minnow::test
