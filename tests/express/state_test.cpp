// SPDX-License-Identifier: Apache-2.0
// Models with states as parts of expressions, and shapes of what has open dimensions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "express/support.h"
#include "graph/graph.h"

namespace minnow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// added = sum + x; sum becomes added; the outputs are twice = 2 * added and added itself.
Model running_sum() {
  auto graph = std::make_unique<Graph>();
  graph->source = "running sum";
  Value& x = graph->add_input("x", ValueType::tensor(DType::f32, {2}));
  graph->add_state({"sum", nullptr, nullptr, Tensor::of_f32({2}, std::vector<float>{10, 20})});
  Value* const read[] = {graph->states()[0].current, &x};
  const std::string added_name[] = {"added"}, twice_name[] = {"twice"};
  Value& added = *graph->add_node("Add", read, added_name).output(0);
  Value* const doubled[] = {&added, &added};
  Value& twice = *graph->add_node("Add", doubled, twice_name).output(0);
  graph->set_state_next(0, added);
  graph->add_output(twice);
  graph->add_output(added);
  return Model::from_graph(std::move(graph));
}

Var x_of(float a, float b) { return f32({a, b}, {2}); }

TEST(State, a_module_keeps_it_between_calls_and_puts_it_back) {
  const auto module = load_module(running_sum());
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 2)})[1]), ElementsAre(11, 22));
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 2)})[1]), ElementsAre(12, 24));
  const auto other = module->clone();
  EXPECT_THAT(numbers((*other)(Vars{x_of(0, 1)})[1]), ElementsAre(10, 21));
  module->reset_states();
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 2)})[1]), ElementsAre(11, 22));
}

TEST(State, an_expression_keeps_it_from_one_value_of_its_placeholders_to_the_next) {
  const auto module = load_module(running_sum());
  const Var x = expr::placeholder("x", DType::f32, {2}), unrelated = expr::placeholder("u", DType::f32, {1});
  const Vars y = (*module)(Vars{x * 1});
  const Var z = y[0] + 1;
  x.assign(x_of(1, 2));
  EXPECT_THAT(numbers(z), ElementsAre(23, 45));
  EXPECT_THAT(numbers(z), ElementsAre(23, 45));     // read again, computed once
  EXPECT_THAT(numbers(y[1]), ElementsAre(11, 22));  // of the same call
  unrelated.assign(f32({5}, {1}));
  EXPECT_THAT(numbers(y[1]), ElementsAre(11, 22));
  EXPECT_THAT(numbers(z), ElementsAre(23, 45));
  x.assign(x_of(1, 2));
  EXPECT_THAT(numbers(y[1]), ElementsAre(12, 24));
  EXPECT_THAT(numbers(z), ElementsAre(25, 49));
  x.assign(x_of(1, 2));  // never read
  x.assign(x_of(0, 0));
  EXPECT_THAT(numbers(y[1]), ElementsAre(12, 24));
}

TEST(State, calls_with_values_and_expressions_share_those_of_a_module) {
  const auto module = load_module(running_sum());
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 1)})[1]), ElementsAre(11, 21));
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Var y = (*module)(Vars{x})[1];
  x.assign(x_of(1, 1));
  EXPECT_THAT(numbers(y), ElementsAre(12, 22));
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 1)})[1]), ElementsAre(13, 23));
  x.assign(x_of(1, 1));
  EXPECT_THAT(numbers(y), ElementsAre(14, 24));
  module->reset_states();
  EXPECT_THAT(numbers(y), ElementsAre(11, 21));
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 1)})[1]), ElementsAre(12, 22));
}

TEST(State, calls_in_one_expression_are_made_in_their_order) {
  const auto module = load_module(running_sum());
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Var once = (*module)(Vars{x})[1], again = (*module)(Vars{once})[1], third = (*module)(Vars{x * 2})[1];
  x.assign(x_of(1, 2));
  EXPECT_THAT(numbers(third + again), ElementsAre(11 + 11 + 2 + 22, 22 + 22 + 4 + 44));
  EXPECT_THAT(numbers(once), ElementsAre(11, 22));
  EXPECT_THAT(numbers(third), ElementsAre(24, 48));
  // As a model all three calls are made in each run.
  module->reset_states();
  Session session(expr::to_model({third + again, once}));
  for (const auto& [a, b] : {std::pair{1.0f, 2.0f}, {3.0f, 5.0f}, {0.0f, 1.0f}}) {
    x.assign(x_of(a, b));
    const std::vector<Tensor> y = session.run({x.tensor()});
    EXPECT_EQ(numbers(Var(y[0])), numbers(third + again));
    EXPECT_EQ(numbers(Var(y[1])), numbers(once));
  }
}

TEST(State, what_is_made_of_one_has_one_value_in_a_model) {
  const Var sum = expr::state(Tensor::of_f32({2}, std::vector<float>{1, 2}), "sum"), x = expr::placeholder("x", DType::f32, {2});
  const Var twice = sum * 2;
  const Var first = expr::step({twice + x}, {{sum, sum + x}})[0];
  EXPECT_NO_THROW(expr::to_model({first + twice}));
  const Var second = expr::step({sum * 3}, {{sum, sum + x}})[0];
  EXPECT_NO_THROW(expr::to_model({first + second}));
  EXPECT_THAT(error_of([&] { expr::to_model({first + second + twice}); }), HasSubstr("made of a state is used before and after a call"));
  const Var again = expr::step({twice}, {{sum, twice}})[0];
  EXPECT_THAT(error_of([&] { expr::to_model({first + again}); }), HasSubstr("made of a state"));
  EXPECT_NO_THROW(expr::to_model({again}));
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "steps.minnow").string();
  expr::save({first + second}, path);
  Session session(Model::load(path));
  EXPECT_THAT(numbers(Var(session.run({x_of(1, 0).tensor()})[0])), ElementsAre(3 + 6, 4 + 6));  // sum 1 2, then 2 2, then 3 2
  EXPECT_THAT(numbers(Var(session.run({x_of(0, 1).tensor()})[0])), ElementsAre(6 + 9, 5 + 9));
}

TEST(State, is_found_read_and_assigned) {
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Var y = expr::apply(running_sum(), {x})[1] * 1;
  const Vars states = expr::states({y});
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].name(), "sum");
  EXPECT_TRUE(expr::placeholders({y}).size() == 1 && expr::trainables({y}).empty());
  EXPECT_THAT(numbers(states[0]), ElementsAre(10, 20));
  x.assign(x_of(1, 2));
  EXPECT_THAT(numbers(y), ElementsAre(11, 22));
  EXPECT_THAT(numbers(states[0]), ElementsAre(11, 22));
  const Var shown = states[0] + 0;
  EXPECT_THAT(numbers(shown), ElementsAre(11, 22));
  states[0].assign(x_of(100, 200));
  EXPECT_THAT(numbers(y), ElementsAre(101, 202));
  EXPECT_THAT(numbers(shown), ElementsAre(101, 202));
  expr::reset_states({y});
  EXPECT_THAT(numbers(y), ElementsAre(11, 22));
  EXPECT_THAT(error_of([&] { states[0].assign(f32({1, 2, 3}, {3})); }), HasSubstr("the state \"sum\" is f32[2], it is given f32[3]"));
  EXPECT_THAT(error_of([&] { states[0][0] = 1; }), HasSubstr("part of the state \"sum\" is assigned"));
  EXPECT_THAT(numbers(y), ElementsAre(11, 22));
}

TEST(State, an_expression_with_it_is_saved_loaded_cloned_and_changed) {
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Vars made = expr::apply(running_sum(), {x + 1});
  const Var y = (made[0] * 10).set_name("y");
  x.assign(x_of(0, 0));
  EXPECT_THAT(numbers(y), ElementsAre(220, 420));

  const Var copy = expr::clone({y})[0];
  expr::placeholders({copy})[0].assign(x_of(0, 0));
  EXPECT_THAT(numbers(copy), ElementsAre(240, 440));
  EXPECT_THAT(numbers(copy), ElementsAre(240, 440));
  EXPECT_THAT(numbers(y), ElementsAre(220, 420));  // whose state is another

  const std::string path = (std::filesystem::path(::testing::TempDir()) / "states.minnow").string();
  expr::save({y, made[1]}, path);
  const Model model = Model::load(path);
  ASSERT_EQ(model.states().size(), 1u);
  EXPECT_EQ(model.states()[0].type, "f32[2]");
  EXPECT_EQ(model.outputs()[0].name, "y");
  Session session(model);
  EXPECT_EQ(session.run({Tensor::of_f32({2}, std::vector<float>{0, 0})})[0].data<float>()[0], 220);  // begins anew
  EXPECT_EQ(session.run({Tensor::of_f32({2}, std::vector<float>{0, 0})})[0].data<float>()[0], 240);

  const expr::Loaded loaded = expr::load(path);
  loaded.inputs[0].assign(x_of(0, 0));
  EXPECT_THAT(numbers(loaded.outputs[0]), ElementsAre(220, 420));
  EXPECT_THAT(numbers(loaded.at("y")), ElementsAre(220, 420));
  EXPECT_THAT(numbers(loaded.at("sum")), ElementsAre(11, 21));
  const Var replaced = expr::replace({loaded.outputs[0]}, {{loaded.at("sum"), x_of(0, 0)}})[0];
  EXPECT_THAT(numbers(replaced), ElementsAre(20, 20));
  EXPECT_TRUE(expr::states({replaced}).empty());
  std::remove(path.c_str());
}

TEST(State, a_failed_run_leaves_it) {
  auto graph = std::make_unique<Graph>();
  graph->source = "division";
  Value& x = graph->add_input("x", ValueType::tensor(DType::i64, {1}));
  graph->add_state({"left", nullptr, nullptr, Tensor::of_i64({1}, std::vector<int64_t>{100})});
  Value& divided = *graph->add_node("Div", {graph->states()[0].current, &x}).output(0);
  graph->set_state_next(0, divided);
  graph->add_output(divided);
  const Var given = expr::placeholder("x", DType::i64, {1});
  const Var y = expr::apply(Model::from_graph(std::move(graph)), {given})[0];
  given.assign(Var{0});
  EXPECT_NE(error_of([&] { y.tensor(); }), "no error");
  EXPECT_THAT(numbers(expr::states({y})[0]), ElementsAre(100));
  given.assign(Var{4});
  EXPECT_THAT(numbers(y), ElementsAre(25));
}

TEST(State, is_made_and_replaced_by_a_step) {
  const Var x = expr::placeholder("x", DType::f32, {-1}), sum = expr::state(Tensor::of_f32({1}, std::vector<float>{0}), "sum");
  const Var added = sum + expr::reduce_sum(x, Var{0}), seen = expr::state(Tensor::of_f32({1}, std::vector<float>{0}), "seen");
  const Vars made = expr::step({added, seen + 1}, {{sum, added}, {seen, seen + 1}});
  x.assign(f32({1, 2, 3}, {3}));
  EXPECT_THAT(numbers(made[0]), ElementsAre(6));
  x.assign(f32({4}, {1}));
  EXPECT_THAT(numbers(made[0]), ElementsAre(10));
  EXPECT_THAT(numbers(made[1]), ElementsAre(2));
  EXPECT_EQ(expr::to_model(made).states().size(), 2u);
  EXPECT_THAT(error_of([&] { expr::step({x}, {{x, x}}); }), HasSubstr("\"x\", which is no state"));
  EXPECT_THAT(error_of([&] { expr::step({x}, {{sum, x}, {sum, x}}); }), HasSubstr("two next values of the state \"sum\""));
  EXPECT_THAT(error_of([&] { expr::step({x}, {{sum, Var{1}}}); }), HasSubstr("the state \"sum\" is f32[1], its next value is i64[1]"));
  EXPECT_THAT(error_of([&] { expr::step({}, {{sum, added}}); }), HasSubstr("none are given"));
  const Var grows = expr::step({x * 1}, {{sum, expr::concat({sum, x}, 0)}})[0];
  EXPECT_THAT(error_of([&] { grows.tensor(); }), HasSubstr("the state \"sum\" is f32[1], its next value is f32[2]"));
  EXPECT_THAT(numbers(sum), ElementsAre(10));
}

TEST(State, recurrent_layers_go_on_with_it) {
  const Var w = f32({0.5f, -1}, {1, 1, 2}), r = f32({0.75f}, {1, 1, 1});
  const auto layer = [&](const Var& x, const Var& h) {
    return expr::ops("RNN", {x, w, r, Var(), Var(), h}, 2, {{"hidden_size", int64_t{1}}});
  };
  const Var x = expr::placeholder("x", DType::f32, {1, 1, 2}), h = expr::state(Tensor(DType::f32, {1, 1, 1}), "h");
  const Vars made = layer(x, h);
  const Var y = expr::step({made[0]}, {{h, made[1]}})[0];
  const Var whole = layer(f32({1, 2, 3, 4, 5, 6}, {3, 1, 2}), Var(Tensor(DType::f32, {1, 1, 1})))[0];
  std::vector<double> steps;
  for (const float first : {1.0f, 3.0f, 5.0f}) {
    x.assign(f32({first, first + 1}, {1, 1, 2}));
    steps.push_back(numbers(y)[0]);
  }
  EXPECT_EQ(steps, numbers(whole));
}

// Calls `module` for each row of x in turn; returns the results, followed by the final state.
std::vector<double> by_rows(const std::shared_ptr<Module>& module, const Var& x) {
  std::vector<double> all;
  for (int64_t i = 0; i < x.shape()[0]; ++i)
    for (const double value : numbers((*module)(Vars{x[i].clone()})[0])) all.push_back(value);
  return all;
}

TEST(State, modules_with_it_are_called_inside_loops) {
  const auto module = load_module(running_sum()), other = module->clone();
  const auto small = [](const Vars& v) { return expr::reduce_sum(v[0]) < 100; };
  const auto call = [&](const Vars& v) { return Vars{(*module)(Vars{v[0]})[1], v[1] + 1}; };
  const Vars made = expr::while_loop(small, call, {x_of(1, 1), Var::scalar(0, DType::i64)});
  // The same by hand: x becomes sum + x, and the sum does.
  double sum[] = {10, 20}, x[] = {1, 1};
  int64_t count = 0;
  for (; x[0] + x[1] < 100; ++count)
    for (int i : {0, 1}) x[i] = sum[i] = sum[i] + x[i];
  ASSERT_GT(count, 1);
  EXPECT_THAT(numbers(made[0]), ElementsAre(x[0], x[1]));
  EXPECT_THAT(numbers(made[0]), ElementsAre(x[0], x[1]));  // computed once
  EXPECT_EQ(made[1].item(), static_cast<double>(count));
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 2)})[1]), ElementsAre(sum[0] + 1, sum[1] + 2));
  EXPECT_THAT(numbers((*other)(Vars{x_of(1, 2)})[1]), ElementsAre(11, 22));
}

TEST(State, a_loop_whose_condition_is_false_leaves_it) {
  const auto module = load_module(running_sum());
  const Var x = expr::placeholder("x", DType::f32, {2});
  const Vars made =
      expr::while_loop([](const Vars& v) { return expr::reduce_sum(v[0]) < 0; }, [&](const Vars& v) { return Vars{(*module)(v)[1]}; }, {x});
  x.assign(x_of(1, 1));
  EXPECT_THAT(numbers(made[0]), ElementsAre(1, 1));
  EXPECT_THAT(numbers((*module)(Vars{x_of(1, 2)})[1]), ElementsAre(11, 22));
}

TEST(State, scan_walks_a_module_with_it_along_a_sequence) {
  const auto module = load_module(running_sum()), rows = module->clone();
  const Var x = expr::placeholder("x", DType::f32, {-1, 2});
  const Vars made = expr::scan([&](const Vars& v) { return Vars{v[0] + v[1], (*module)(Vars{v[1]})[0]}; }, {x_of(0, 0)}, {x});
  for (const int64_t count : {3, 1, 4}) {
    x.assign(arange(count * 2, {count, 2}));
    EXPECT_EQ(numbers(made[1]), by_rows(rows, arange(count * 2, {count, 2})));
    EXPECT_EQ(made[1].shape(), (Shape{count, 2}));
  }
  EXPECT_EQ(numbers((*module)(Vars{x_of(1, 2)})[0]), numbers((*rows)(Vars{x_of(1, 2)})[0]));
  module->reset_states(), rows->reset_states();
  x.assign(x);
  EXPECT_EQ(numbers(made[1]), by_rows(rows, arange(8, {4, 2})));
}

TEST(State, only_the_branch_that_is_taken_changes_it) {
  const auto module = load_module(running_sum()), other = load_module(running_sum());
  const Var yes = expr::placeholder("yes", DType::boolean, {}), x = x_of(1, 2);
  const Var y = expr::cond(
      yes, [&] { return Vars{(*module)(Vars{x})[1]}; }, [&] { return Vars{(*other)(Vars{x * 10})[1]}; })[0];
  const auto choose = [&](bool value) { yes.assign(Var::scalar(value, DType::boolean)); };
  choose(true);
  EXPECT_THAT(numbers(y), ElementsAre(11, 22));
  choose(true);
  EXPECT_THAT(numbers(y), ElementsAre(12, 24));
  choose(false);
  EXPECT_THAT(numbers(y), ElementsAre(20, 40));
  choose(true);
  EXPECT_THAT(numbers(y), ElementsAre(13, 26));
  EXPECT_THAT(numbers((*other)(Vars{x})[1]), ElementsAre(21, 42));
}

TEST(State, calls_inside_one_body_are_made_in_their_order_and_nest) {
  const auto module = load_module(running_sum()), by_hand = module->clone();
  const Var x = arange(6, {3, 2});
  const auto twice = [](Module& called, const Var& row) {
    const Var first = called(Vars{row})[1], second = called(Vars{first * 2})[1];
    return second - first;
  };
  const Vars made = expr::scan(
      [&](const Vars& v) {
        const Var inner = expr::while_loop([](const Vars& w) { return w[1] < 2; },
                                           [&](const Vars& w) {
                                             return Vars{twice(*module, w[0]), w[1] + 1};
                                           },
                                           {v[0], Var::scalar(0, DType::i64)})[0];
        return Vars{inner};
      },
      {}, {x});
  std::vector<double> expected;
  for (int row = 0; row < 3; ++row) {
    Var value = x[row].clone();
    for (int i = 0; i < 2; ++i) {
      value = twice(*by_hand, value);
      value.tensor();
    }
    for (const double element : numbers(value)) expected.push_back(element);
  }
  EXPECT_EQ(numbers(made[0]), expected);
}

TEST(State, a_constant_is_given_to_a_module_anew_in_each_round) {
  const auto module = load_module(running_sum());
  const Var x = x_of(1, 2);
  const Vars made = expr::while_loop([](const Vars& v) { return v[0] < 3; },
                                     [&](const Vars& v) {
                                       return Vars{v[0] + 1, (*module)(Vars{x})[1]};
                                     },
                                     {Var::scalar(0, DType::i64), x_of(0, 0)});
  EXPECT_THAT(numbers(made[1]), ElementsAre(13, 26));
}

TEST(State, inside_control_flow_is_saved_and_loaded) {
  const Var x = expr::placeholder("x", DType::f32, {-1, 2});
  const auto module = load_module(running_sum()), rows = module->clone();
  const Var y = expr::scan([&](const Vars& v) { return Vars{(*module)(v)[0]}; }, {}, {x})[0];
  y.set_name("y");
  const Model model = expr::to_model({y});
  ASSERT_EQ(model.states().size(), 1u);
  Session session(model);
  const expr::Loaded loaded = expr::load(model);
  for (int round = 0; round < 2; ++round) {
    const Var given = arange(4, {2, 2});
    const std::vector<double> expected = by_rows(rows, given);
    const Tensor ran = session.run({given.tensor()})[0];
    EXPECT_EQ(std::vector<double>(ran.data<float>(), ran.data<float>() + 4), expected);
    loaded.inputs[0].assign(given);
    EXPECT_EQ(numbers(loaded.outputs[0]), expected);
  }
}

TEST(State, is_not_read_or_assigned_while_a_function_is_recorded) {
  const auto module = load_module(running_sum());
  const Var yes = Var::scalar(true, DType::boolean), sum = expr::state(Tensor(DType::f32, {2}), "sum");
  const auto error = [&](const std::function<Var()>& branch) {
    return error_of([&] {
      expr::cond(
          yes, [&] { return Vars{branch()}; }, [&] { return Vars{x_of(0, 0)}; });
    });
  };
  EXPECT_THAT(error([&] {
                const Var y = (*module)(Vars{x_of(1, 1)})[1];
                y.tensor();
                return y;
              }),
              HasSubstr("is read inside a function of cond()"));
  EXPECT_THAT(error([&] {
                sum.assign(x_of(1, 2));
                return sum + 1;
              }),
              HasSubstr("the state \"sum\" is assigned or reset inside a function of cond()"));
  EXPECT_THAT(error([&] {
                module->reset_states();
                return x_of(1, 2);
              }),
              HasSubstr("the state \"sum\" is assigned or reset inside a function of cond()"));
}

TEST(State, of_a_written_module_is_put_back_through_its_submodules) {
  struct Outer : Module {
    std::shared_ptr<Module> inner = submodule("inner", load_module(running_sum()));
    Vars forward(const Vars& x) override { return {(*inner)(x)[1]}; }
  } outer;
  outer(x_of(1, 2));
  outer.reset_states();
  EXPECT_THAT(numbers(outer(x_of(1, 2))), ElementsAre(11, 22));
}

TEST(OpenShape, ranks_and_dimensions_are_known_without_values) {
  const Var x = expr::placeholder("x", DType::f32, {-1, 3}), any = expr::placeholder("any", DType::f32);
  EXPECT_EQ(x.rank(), 2u);
  EXPECT_EQ(x.dims(), (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(any.dims(), std::nullopt);
  const Var y = expr::matmul(x * 2, f32({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_EQ(y.rank(), 2u);
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(expr::transpose(y).dims(), (std::vector<int64_t>{2, -1}));
  EXPECT_EQ(expr::reduce_sum(y, Var{1}, {.keepdims = false}).dims(), (std::vector<int64_t>{-1}));
  EXPECT_EQ(expr::concat({x, x}, 1).dims(), (std::vector<int64_t>{-1, 6}));
  EXPECT_EQ((any + 1).dims(), std::nullopt);
  EXPECT_THAT(error_of([&] { x.shape(); }), HasSubstr("the placeholder \"x\" is read but was given no value"));
  x.assign(f32({1, 2, 3}, {1, 3}));
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(y.dims(), (std::vector<int64_t>{-1, 2}));  // whatever value comes next
  EXPECT_EQ(f32({1, 2}, {2}).dims(), (std::vector<int64_t>{2}));
}

TEST(OpenShape, a_long_chain_costs_each_node_once) {
  const Var x = expr::placeholder("x", DType::f32, {-1, 3});
  Var y = x;
  for (int i = 0; i < 3000; ++i) {
    y = y + 1;
    ASSERT_EQ(y.rank(), 2u);
  }
}

}  // namespace
}  // namespace minnow::test
