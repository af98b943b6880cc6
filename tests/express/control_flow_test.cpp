// SPDX-License-Identifier: Apache-2.0
// cond, while_loop and scan compared with loops in C++, and the control flow of loaded models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "express/support.h"
#include "graph/graph.h"

namespace minnow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ControlFlow, cond_computes_the_branch_that_is_taken) {
  const Var x = f32({1, 2}, {2});
  for (const float limit : {0.0f, 10.0f}) {
    const Vars result = expr::cond(
        expr::reduce_sum(x) > limit,
        [&] {
          return Vars{x * 2, x};
        },
        [&] {
          return Vars{x - 1, x * x};
        });
    EXPECT_THAT(numbers(result[0]), limit < 3 ? ElementsAre(2, 4) : ElementsAre(0, 1));
    EXPECT_THAT(numbers(result[1]), limit < 3 ? ElementsAre(1, 2) : ElementsAre(1, 4));
  }
}

TEST(ControlFlow, branches_may_differ_in_shape) {
  const Var x = arange(6, {2, 3}), yes = expr::placeholder("yes", DType::boolean, {});
  const Var y = expr::cond(
      yes, [&] { return Vars{x[0]}; }, [&] { return Vars{expr::reshape(x, {6})}; })[0];
  yes.assign(Var::scalar(true, DType::boolean));
  EXPECT_EQ(y.shape(), Shape{3});
  yes.assign(Var::scalar(false, DType::boolean));
  EXPECT_EQ(y.shape(), Shape{6});
}

TEST(ControlFlow, while_loop_repeats) {
  // Collatz: 27 takes 111 steps.
  const Var one = Var::scalar(1, DType::i64);
  const Vars result =
      expr::while_loop([](const Vars& v) { return v[0] != 1; },
                       [&](const Vars& v) {
                         const Var odd = v[0] % 2 == 1;
                         return Vars{expr::where(odd, v[0] * 3 + 1, expr::div(v[0], Var::scalar(2, DType::i64))), v[1] + one};
                       },
                       {Var::scalar(27, DType::i64), Var::scalar(0, DType::i64)});
  EXPECT_EQ(result[0].item(), 1);
  EXPECT_EQ(result[1].item(), 111);
  // No iteration, and at most so many.
  const auto forever = [](const Vars& v) { return v[0] > -1; };
  const auto add = [](const Vars& v) { return Vars{v[0] + 1}; };
  EXPECT_EQ(expr::while_loop(forever, add, {Var::scalar(-5, DType::i64)})[0].item(), -5);
  EXPECT_EQ(expr::while_loop(forever, add, {Var::scalar(0, DType::i64)}, 7)[0].item(), 7);
}

TEST(ControlFlow, carried_values_may_grow) {
  const Vars result = expr::while_loop([](const Vars& v) { return expr::size(v[0]) < 20; },
                                       [](const Vars& v) {
                                         return Vars{expr::concat({v[0], v[0]}, 0)};
                                       },
                                       {f32({1, 2, 3}, {3})});
  EXPECT_EQ(result[0].shape(), Shape{24});
}

TEST(ControlFlow, scan_stacks_what_each_step_gives) {
  const Var x = arange(6, {3, 2}), weight = f32({10, 100}, {2});
  const Vars result = expr::scan(
      [&](const Vars& v) {
        const Var sum = v[0] + v[1] * weight;
        return Vars{sum, sum * 2};
      },
      {f32({0, 0}, {2})}, {x});
  EXPECT_THAT(numbers(result[0]), ElementsAre(60, 900));
  EXPECT_THAT(numbers(result[1]), ElementsAre(0, 200, 40, 800, 120, 1800));
}

TEST(ControlFlow, nests_and_captures_through_levels) {
  const Var x = f32({1}, {1}), limit = f32({100}, {1});
  const Vars result = expr::while_loop([&](const Vars& v) { return expr::reduce_sum(v[0]) < 1000; },
                                       [&](const Vars& v) {
                                         return expr::cond(
                                             expr::reduce_sum(v[0]) < expr::reduce_sum(limit), [&] { return Vars{v[0] * 2 + x}; },
                                             [&] { return Vars{v[0] * 10}; });
                                       },
                                       {x});
  EXPECT_EQ(result[0].item(), 1270);  // 1 3 7 15 31 63 127 1270
}

TEST(ControlFlow, a_loop_that_is_written_again_is_planned_once) {
  expr::clear_cache();
  for (int i = 0; i < 5; ++i) {
    const Var start = f32({float(i)}, {1});
    const Vars result =
        expr::while_loop([](const Vars& v) { return expr::reduce_sum(v[0]) < 50; }, [](const Vars& v) { return Vars{v[0] + 7}; }, {start});
    EXPECT_GE(result[0].item(), 50);
  }
  EXPECT_LE(expr::cache_counts().misses, 2u);  // the first condition, the loop
}

TEST(ControlFlow, is_saved_loaded_and_applied) {
  const Var x = expr::placeholder("x", DType::f32, {2}), step = expr::trainable(f32({3, 4}, {2}).tensor(), "step");
  const Vars y =
      expr::while_loop([](const Vars& v) { return expr::reduce_sum(v[0]) < 50; }, [&](const Vars& v) { return Vars{v[0] + step}; }, {x});
  const Model model = expr::to_model(y);
  const float given[] = {1, 1};
  const Tensor ran = Session(model).run({TensorView(DType::f32, {2}, given)})[0];
  EXPECT_EQ(ran.data<float>()[0], 22);
  EXPECT_EQ(ran.data<float>()[1], 29);
  const expr::Loaded loaded = expr::load(model);
  loaded.inputs[0].assign(f32({1, 1}, {2}));
  EXPECT_THAT(numbers(loaded.outputs[0]), ElementsAre(22, 29));
  EXPECT_THAT(numbers(expr::apply(model, {f32({1, 1}, {2})})[0] + 1), ElementsAre(23, 30));
}

TEST(ControlFlow, errors) {
  const Var x = f32({1, 2}, {2});
  const auto same = [&] { return Vars{x}; };
  EXPECT_THAT(error_of([&] { expr::cond(x, same, same); }), HasSubstr("the condition should be one bool, it is f32[2]"));
  EXPECT_THAT(error_of([&] { expr::cond(Var::scalar(true, DType::boolean), same, [&] {
                               return Vars{x, x};
                             }); }),
              HasSubstr("one branch gives 1 values, the other 2"));
  EXPECT_THAT(error_of([&] { expr::cond(Var::scalar(true, DType::boolean), same, [&] { return Vars{x.astype(DType::f64)}; }); }),
              HasSubstr("value 0 is f32 in one branch and f64 in the other"));
  EXPECT_THAT(error_of([&] {
                expr::while_loop([](const Vars&) { return Var::scalar(true, DType::boolean); },
                                 [](const Vars& v) { return Vars{v[0].astype(DType::f64)}; }, {x});
              }),
              HasSubstr("carried value 0 is f32 at first, the body gives f64"));
  EXPECT_THAT(error_of([&] {
                expr::while_loop([](const Vars&) { return Var::scalar(true, DType::boolean); },
                                 [](const Vars& v) { return v[0].item() > 0 ? Vars{v[0]} : Vars{}; }, {Var::scalar(1, DType::i64)});
              }),
              HasSubstr("\"carried 0\" is read inside a function of cond(), while_loop() or scan(), which has no values yet"));
  EXPECT_THAT(error_of([&] { expr::scan([](const Vars& v) { return v; }, {}, {Var::scalar(1, DType::i64)}); }),
              HasSubstr("sequence 0 is a scalar"));
}

}  // namespace
}  // namespace minnow::test
