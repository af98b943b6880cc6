// SPDX-License-Identifier: Apache-2.0
// Small forests whose scores can be told by hand.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

constexpr double kNan = NAN;

// Two trees over two features, two targets. Tree 0: x0 <= 1 ? leaf 0 : (x1 > 2 ? leaf 1 : leaf 2); tree 1: x1 <= 0 ? leaf 3 : leaf 4.
Attributes forest(int64_t aggregate, int64_t transform, DType dtype = DType::f32) {
  return {{"aggregate_function", aggregate},
          {"post_transform", transform},
          {"n_targets", int64_t{2}},
          {"tree_roots", Ints{0, 2}},
          {"nodes_featureids", Ints{0, 1, 1}},
          {"nodes_splits", tensor(dtype, {3}, {1, 2, 0})},
          {"nodes_modes", tensor(DType::u8, {3}, {0, 3, 0})},
          {"nodes_truenodeids", Ints{0, 1, 3}},
          {"nodes_trueleafs", Ints{1, 1, 1}},
          {"nodes_falsenodeids", Ints{1, 2, 4}},
          {"nodes_falseleafs", Ints{0, 1, 1}},
          {"leaf_targetids", Ints{0, 1, 0, 0, 1}},
          {"leaf_weights", tensor(dtype, {5}, {10, 20, 30, 4, 5})}};
}

const std::vector<double> kTreeInputs = {0, 1, 2, 3, 2, 0, 1, -1};  // leaves 0+4, 1+4, 2+3, 0+3

Tensor scores(int64_t aggregate, int64_t transform, DType dtype = DType::f32) {
  return run_operator("ai.onnx.ml.TreeEnsemble", {tensor(dtype, {4, 2}, kTreeInputs)}, forest(aggregate, transform, dtype))[0];
}

TEST(TreeEnsemble, aggregates) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16}) {
    EXPECT_TRUE(near(scores(1, 0, dtype), {4, 2}, {10, 5, 0, 25, 34, 0, 14, 0}));
    EXPECT_TRUE(near(scores(0, 0, dtype), {4, 2}, {5, 2.5, 0, 12.5, 17, 0, 7, 0}));
    EXPECT_TRUE(near(scores(2, 0, dtype), {4, 2}, {10, 5, 0, 5, 4, 0, 4, 0}));
    EXPECT_TRUE(near(scores(3, 0, dtype), {4, 2}, {10, 5, 0, 20, 30, 0, 10, 0}));
  }
}

TEST(TreeEnsemble, transforms) {
  const double a = std::exp(10.0), b = std::exp(5.0);
  EXPECT_TRUE(near(test::run_operator("Slice", {scores(1, 1), Tensor::of_i64({1}, Ints{0}), Tensor::of_i64({1}, Ints{1})})[0], {1, 2},
                   {a / (a + b), b / (a + b)}));
  EXPECT_TRUE(
      near(scores(1, 2), {4, 2}, {1 / (1 + std::exp(-10)), 1 / (1 + std::exp(-5)), 0.5, 1, 1, 0.5, 1 / (1 + std::exp(-14)), 0.5}, 1e-6));
  EXPECT_TRUE(
      near(test::run_operator("Slice", {scores(1, 3), Tensor::of_i64({1}, Ints{1}), Tensor::of_i64({1}, Ints{2})})[0], {1, 2}, {0, 1}));
  Attributes one = forest(1, 4);
  one.set("leaf_weights", tensor(DType::f32, {5}, {0.975, 0.5, 0.025, 0, 0}));
  const Tensor y = run_operator("ai.onnx.ml.TreeEnsemble", {tensor(DType::f32, {1, 2}, {0, -1})}, one)[0];
  EXPECT_NEAR(y.data<float>()[0], 1.959964, 1e-5);
  EXPECT_EQ(y.data<float>()[1], -INFINITY);
}

TEST(TreeEnsemble, every_comparison_sets_and_missing_values) {
  const auto compare = [](double mode, bool missing_is_true) {
    const Tensor y = run_operator("ai.onnx.ml.TreeEnsemble", {tensor(DType::f32, {4, 1}, {1, 2, 3, kNan})},
                                  {{"tree_roots", Ints{0}},
                                   {"nodes_featureids", Ints{0}},
                                   {"nodes_splits", tensor(DType::f32, {1}, {2})},
                                   {"nodes_modes", tensor(DType::u8, {1}, {mode})},
                                   {"nodes_truenodeids", Ints{0}},
                                   {"nodes_trueleafs", Ints{1}},
                                   {"nodes_falsenodeids", Ints{1}},
                                   {"nodes_falseleafs", Ints{1}},
                                   {"leaf_targetids", Ints{0, 0}},
                                   {"leaf_weights", tensor(DType::f32, {2}, {1, 0})},
                                   {"membership_values", tensor(DType::f32, {3}, {3, 1, kNan})},
                                   {"nodes_missing_value_tracks_true", Ints{missing_is_true}}})[0];
    return numbers(y);
  };
  using testing::ElementsAre;
  EXPECT_THAT(compare(0, false), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(compare(1, true), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(compare(2, false), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(compare(3, false), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(compare(4, false), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(compare(5, false), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(compare(6, true), ElementsAre(1, 0, 1, 1));
}

TEST(TreeEnsemble, wrong_trees) {
  const auto error = [](std::string_view name, AttributeValue value) {
    Attributes attributes = forest(1, 0);
    attributes.set(name, std::move(value));
    return error_of("ai.onnx.ml.TreeEnsemble", {tensor(DType::f32, {1, 2}, {2, 0})}, attributes);
  };
  using testing::HasSubstr;
  EXPECT_EQ(error("n_targets", int64_t{2}), "");
  EXPECT_THAT(error("nodes_featureids", Ints{0, 2, 1}), HasSubstr("nodes_featureids has an entry 2, it should be below 2"));
  EXPECT_THAT(error("nodes_falsenodeids", Ints{1, 2, 5}), HasSubstr("nodes_falsenodeids has an entry 5"));
  EXPECT_THAT(error("tree_roots", Ints{-1}), HasSubstr("tree_roots has an entry -1"));
  EXPECT_THAT(error("leaf_targetids", Ints{0, 1, 0, 0, 2}), HasSubstr("leaf_targetids has an entry 2"));
  EXPECT_THAT(error("leaf_targetids", Ints{0}), HasSubstr("1 leaf_targetids and 5 leaf_weights"));
  EXPECT_THAT(error("nodes_modes", tensor(DType::u8, {3}, {0, 7, 0})), HasSubstr("nodes_modes has an entry 7"));
  EXPECT_THAT(error("nodes_modes", tensor(DType::u8, {3}, {0, 6, 0})), HasSubstr("fewer sets"));
  EXPECT_THAT(error("nodes_trueleafs", Ints{1}), HasSubstr("one length"));
  EXPECT_THAT(error("aggregate_function", int64_t{4}), HasSubstr("aggregate_function is 4"));
  EXPECT_THAT(error("n_targets", int64_t{0}), HasSubstr("n_targets is 0"));
  EXPECT_THAT(error("nodes_falsenodeids", Ints{0, 2, 4}), HasSubstr("leads back to itself"));
}

}  // namespace
}  // namespace minnow::test
