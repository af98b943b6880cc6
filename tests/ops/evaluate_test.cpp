// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "base/memory.h"
#include "base/watch.h"

namespace minnow {
namespace {

using testing::ElementsAre;

class ConstantEvaluatorTest : public testing::Test {
 protected:
  Value& constant(std::initializer_list<int64_t> values) {
    return graph_.add_constant(Tensor::of_i64({static_cast<int64_t>(values.size())}, Ints(values)), graph_.fresh_name("c"));
  }
  Node& node(std::string_view op, std::initializer_list<Value*> inputs, Attributes attributes = {}) {
    return graph_.add_node(op, inputs, 1, std::move(attributes));
  }
  std::optional<Ints> contents(const Value& value, int64_t most_elements = INT64_MAX) {
    const auto tensor = ConstantEvaluator(OperatorSet::builtin(), most_elements).contents(value, [](const Node&) { return true; });
    if (!tensor) return {};
    return Ints(tensor->data<int64_t>(), tensor->data<int64_t>() + tensor->elements());
  }
  Graph graph_;
};

TEST_F(ConstantEvaluatorTest, values_behind_chains_of_constants_are_computed) {
  Value& sum = *node("Add", {&constant({1, 2}), &constant({3, 4})}).output(0);
  Value& joined = *node("Concat", {&sum, &constant({5}), &sum}, {{"axis", int64_t{0}}}).output(0);
  EXPECT_THAT(*contents(joined), ElementsAre(4, 6, 5, 4, 6));
  Value& x = graph_.add_input("x", ValueType::tensor(DType::i64, {2}));
  EXPECT_FALSE(contents(*node("Add", {&sum, &x}).output(0)));
  EXPECT_FALSE(contents(x));
}

TEST_F(ConstantEvaluatorTest, diamonds_are_walked_once) {
  Value* at = &constant({1});
  for (int i = 0; i < 60; ++i) at = node("Add", {at, at}).output(0);
  EXPECT_THAT(*contents(*at), ElementsAre(int64_t{1} << 60));
}

TEST_F(ConstantEvaluatorTest, large_results_are_refused_before_they_are_allocated) {
  const auto account = std::make_shared<MemoryAccount>(size_t{1} << 20);
  const ChargeTo charge(account);
  Value& huge = *node("Expand", {&constant({7}), &constant({int64_t{1} << 40})}).output(0);
  EXPECT_FALSE(contents(huge, 1000));
  EXPECT_FALSE(contents(huge));  // the account refuses: the node stays for the run
  EXPECT_LT(account->used(), size_t{1} << 20);
}

TEST_F(ConstantEvaluatorTest, random_numbers_subgraphs_and_failing_nodes_stay) {
  const ConstantEvaluator evaluator(OperatorSet::builtin());
  EXPECT_FALSE(evaluator.may_compute(node("RandomUniform", {}, {{"shape", Ints{2}}})));
  EXPECT_FALSE(evaluator.may_compute(node("If", {&constant({1})}, {{"then_branch", Subgraph(std::make_shared<Graph>())}})));
  EXPECT_FALSE(evaluator.may_compute(node("example.Unknown", {})));
  EXPECT_FALSE(contents(*node("Gather", {&constant({1, 2}), &constant({9})}).output(0)));  // the index is out of range
  EXPECT_FALSE(contents(*node("Reshape", {&constant({1, 2}), &constant({3})}).output(0)));
}

TEST_F(ConstantEvaluatorTest, a_watch_stops_it) {
  Value* at = &constant({1});
  for (int i = 0; i < 40; ++i) at = node("Neg", {at}).output(0);
  std::atomic<bool> cancelled = true;
  const Watch watch(cancelled, Watch::Clock::time_point::max());
  try {
    for (int i = 0; i < 1000; ++i) contents(*at);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
}

TEST_F(ConstantEvaluatorTest, applies_an_operator) {
  const Tensor x = Tensor::of_i64({1, 3}, Ints{1, 2, 3});
  EXPECT_EQ(ConstantEvaluator(OperatorSet::builtin()).apply("Transpose", {x}, {{"perm", Ints{1, 0}}}).shape(), (Shape{3, 1}));
}

}  // namespace
}  // namespace minnow
