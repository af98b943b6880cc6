// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Loss, reductions_weights_and_ignored_classes) {
  struct Row {
    std::string reduction;
    bool weighted, ignoring;
    std::vector<double> likelihood, cross_entropy;
  };
  const Row rows[] = {
      {"none", false, false, {0.5, -0.0, 0.25, 0.5}, {2.02797574, 1.60195186, 1.27797574, 1.60195186}},
      {"none", false, true, {0.5, 0, 0.25, 0}, {2.02797574, 0, 1.27797574, 0}},
      {"none", true, false, {0.25, -0.0, 0.25, 1}, {1.01398787, 3.20390373, 1.27797574, 3.20390373}},
      {"none", true, true, {0.25, 0, 0.25, 0}, {1.01398787, 0, 1.27797574, 0}},
      {"sum", false, false, {1.25}, {6.50985522}},
      {"sum", false, true, {0.75}, {3.30595149}},
      {"sum", true, false, {1.5}, {8.69977107}},
      {"sum", true, true, {0.5}, {2.29196362}},
      {"mean", false, false, {0.3125}, {1.6274638}},
      {"mean", false, true, {0.375}, {1.65297574}},
      {"mean", true, false, {0.272727273}, {1.58177656}},
      {"mean", true, true, {0.333333333}, {1.52797574}},
  };
  const Tensor x = pattern({2, 3, 2}), target = Tensor::of_i64({2, 2}, std::vector<int64_t>{0, 2, 1, 2}),
               weights = tensor(DType::f32, {3}, {0.5, 1, 2});
  for (const Row& row : rows) {
    std::vector<Tensor> inputs = {x, target};
    if (row.weighted) inputs.push_back(weights);
    Attributes attributes{{"reduction", row.reduction}};
    if (row.ignoring) attributes.set("ignore_index", int64_t{2});
    const Shape shape = row.reduction == "none" ? Shape{2, 2} : Shape{};
    EXPECT_TRUE(near(run_operator("NegativeLogLikelihoodLoss", inputs, attributes)[0], shape, row.likelihood)) << row.reduction;
    const std::vector<Tensor> y = run_operator("SoftmaxCrossEntropyLoss", inputs, attributes, 2);
    EXPECT_TRUE(near(y[0], shape, row.cross_entropy)) << row.reduction;
    EXPECT_TRUE(near(y[1], {2, 3, 2},
                     {-2.02797574, -0.351951864, -1.27797574, -2.35195186, -0.527975744, -1.60195186, -2.02797574, -0.351951864,
                      -1.27797574, -2.35195186, -0.527975744, -1.60195186}));
  }
}

TEST(Loss, nothing) {
  const Tensor x = tensor(DType::f32, {0, 3}, {}), target = tensor(DType::i32, {0}, {});
  EXPECT_TRUE(near(run_operator("NegativeLogLikelihoodLoss", {x, target})[0], {}, {kNaN}));
  EXPECT_TRUE(near(run_operator("SoftmaxCrossEntropyLoss", {x, target}, {{"reduction", std::string("sum")}})[0], {}, {0}));
}

TEST(Loss, an_ignored_class_may_be_out_of_range) {
  const Tensor x = pattern({2, 3}), target = tensor(DType::i32, {2}, {-100, 1});
  EXPECT_TRUE(near(run_operator("NegativeLogLikelihoodLoss", {x, target}, {{"ignore_index", int64_t{-100}}})[0], {}, {-1}));
  EXPECT_THAT(error_of("NegativeLogLikelihoodLoss", {x, target}), HasSubstr("class index -100 is out of range for 3 classes"));
}

TEST(Loss, errors) {
  const Tensor x = pattern({2, 3}), target = tensor(DType::i64, {2}, {0, 1});
  EXPECT_THAT(error_of("NegativeLogLikelihoodLoss", {x, tensor(DType::i64, {3}, {0, 0, 0})}), HasSubstr("need class indices of shape [2]"));
  EXPECT_THAT(error_of("NegativeLogLikelihoodLoss", {x, target, pattern({2})}), HasSubstr("the weights should have shape [3]"));
  EXPECT_THAT(error_of("NegativeLogLikelihoodLoss", {x, target}, {{"reduction", std::string("max")}}), HasSubstr("\"max\""));
  EXPECT_THAT(error_of("SoftmaxCrossEntropyLoss", {pattern({3}), target}), HasSubstr("a batch and a class dimension"));
}

}  // namespace
}  // namespace minnow::test
