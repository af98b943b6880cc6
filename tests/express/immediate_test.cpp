// SPDX-License-Identifier: Apache-2.0
// One operator on few computed values: run at once, with the results that a plan gives.
#include "express/immediate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/operators.h>

#include "express/evaluate.h"
#include "express/support.h"

namespace minnow::test {
namespace {

using expr::cache_counts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Immediate, few_computed_values_are_combined_without_a_plan) {
  const Var a = f32({1, 2, 3, 4}, {2, 2}), b = f32({10, 20}, {2});
  expr::clear_cache();
  const Var c = expr::matmul(a, a) + b;
  EXPECT_TRUE(c.is_computed());
  EXPECT_THAT(numbers(c), ElementsAre(17, 30, 25, 42));
  EXPECT_THAT(numbers(expr::reduce_sum(c, Var{0})), ElementsAre(42, 72));
  EXPECT_THAT(numbers(expr::reduce_sum(c, Var{1})), ElementsAre(47, 67));
  EXPECT_EQ(cache_counts().misses + cache_counts().hits, 0u);
}

TEST(Immediate, parameters_placeholders_and_many_elements_wait) {
  const Var few = arange(8, {8}), parameter_of_few = parameter(few), given = expr::placeholder("x", DType::f32, {8});
  given.assign(few);
  EXPECT_FALSE((parameter_of_few + few).is_computed());
  EXPECT_FALSE((given + few).is_computed());
  const Var many = Var(Tensor(DType::f32, {express::kMostImmediateElements + 1}));
  EXPECT_FALSE((many + 1).is_computed());
  EXPECT_TRUE((Var(Tensor(DType::f32, {express::kMostImmediateElements})) + 1).is_computed());
  EXPECT_FALSE((expr::expand(few, Var{1024, 8}) + 1).is_computed());  // a few inputs may give many outputs
}

TEST(Immediate, gives_what_an_expression_gives) {
  const auto same = [](const Var& now, const Var& later, const char* what) {
    EXPECT_TRUE(now.is_computed()) << what;
    EXPECT_FALSE(later.is_computed()) << what;
    EXPECT_EQ(now.dtype(), later.dtype()) << what;
    EXPECT_EQ(now.shape(), later.shape()) << what;
    EXPECT_EQ(numbers(now), numbers(later)) << what;
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::i16}) {
    const std::string name = to_string(dtype);
    const Var x = (arange(12, {3, 4}, DType::i64) + 1).astype(dtype), y = (arange(4, {4}, DType::i64) + 2).astype(dtype);
    const Var p = parameter(x);
    for (int times = 0; times < 2; ++times) {  // prepared, and run again
      same(x + y, p + y, (name + " +").c_str());
      same(x - y, p - y, (name + " -").c_str());
      same(x * y, p * y, (name + " *").c_str());
      same(x < y, p < y, (name + " <").c_str());
      same(x == y, p == y, (name + " ==").c_str());
      same(expr::transpose(x), expr::transpose(p), (name + " transpose").c_str());
      same(expr::concat({x, x}, 1), expr::concat({p, x}, 1), (name + " concat").c_str());
      same(expr::gather(x, Var{2, 0}, {.axis = 0}), expr::gather(p, Var{2, 0}, {.axis = 0}), (name + " gather").c_str());
      const DType other = dtype == DType::f32 ? DType::f64 : DType::f32;
      same(x.astype(other), p.astype(other), (name + " cast").c_str());
    }
  }
  const Var x = arange(12, {3, 4}), p = parameter(x);
  same(expr::tanh(x), expr::tanh(p), "tanh");
  same(expr::softmax(x), expr::softmax(p), "softmax");
  same(expr::matmul(x, expr::transpose(x)), expr::matmul(p, expr::transpose(p)), "matmul");
  same(expr::reduce_mean(x, Var{1}), expr::reduce_mean(p, Var{1}), "reduce_mean");
  same(expr::reduce_mean(x, Var{0}), expr::reduce_mean(p, Var{0}), "reduce_mean");
}

TEST(Immediate, several_outputs) {
  const Vars top = expr::top_k(f32({3, 9, 1, 7}, {4}), Var{2});
  EXPECT_TRUE(top[0].is_computed());
  EXPECT_TRUE(top[1].is_computed());
  EXPECT_THAT(numbers(top[1].clone()), ElementsAre(1, 3));
  const Vars three = expr::top_k(f32({3, 9, 1, 7}, {4}), Var{3});  // another shape, which contents tell
  EXPECT_THAT(numbers(three[0]), ElementsAre(9, 7, 3));
}

TEST(Immediate, a_failure_is_told_when_the_value_is_read) {
  const Var x = arange(4, {4});
  const Var beyond = expr::gather(x, Var{7});
  EXPECT_FALSE(beyond.is_computed());
  EXPECT_THAT(error_of([&] { beyond.tensor(); }), HasSubstr("Gather"));
}

TEST(Immediate, follows_the_options_of_the_scope) {
  const Var x = f32({1, 2, 3}, {3});
  EXPECT_THAT(numbers(x + x), ElementsAre(2, 4, 6));
  const expr::Scope scope(options([](SessionOptions& o) { o.backends = {"reference"}; }));
  EXPECT_THAT(numbers(x + x), ElementsAre(2, 4, 6));
}

TEST(Immediate, a_result_can_become_a_parameter) {
  const Var x = f32({1, 2}, {2}) * 2;
  x.set_trainable(true);
  EXPECT_TRUE(x.is_trainable());
  EXPECT_THAT(numbers(x), ElementsAre(2, 4));
}

TEST(Immediate, random_numbers_differ_from_call_to_call) {
  const Var x = Var(Tensor(DType::f32, {64}));
  EXPECT_NE(numbers(expr::random_normal_like(x)), numbers(expr::random_normal_like(x)));
}

}  // namespace
}  // namespace minnow::test
