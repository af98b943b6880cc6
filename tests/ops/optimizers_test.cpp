// SPDX-License-Identifier: Apache-2.0
// Steps worked out by hand. The conformance suite has more.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

const Tensor kRate = Tensor::scalar_f32(0.5f);
Tensor vec(const std::vector<double>& values) { return tensor(DType::f64, {static_cast<int64_t>(values.size())}, values); }

TEST(Optimizers, momentum_of_two_tensors) {
  const std::vector<Tensor> inputs = {kRate, Tensor::scalar_i64(1), vec({1, 2}), vec({3}), vec({1, -1}), vec({2}), vec({4, 0}), vec({-2})};
  const auto step = [&](const char* mode, int64_t count) {
    std::vector<Tensor> with = inputs;
    with[1] = Tensor::scalar_i64(count);
    return run_operator("ai.onnx.preview.training.Momentum", with,
                        {{"alpha", 0.5f}, {"beta", 2.0f}, {"norm_coefficient", 1.0f}, {"mode", std::string(mode)}}, 4);
  };
  // g = X + G = {2, 1}, {5}; V = 0.5 V + 2 g = {6, 2}, {9}
  const std::vector<Tensor> standard = step("standard", 1);
  EXPECT_TRUE(near(standard[0], {2}, {1 - 3, 2 - 1}));
  EXPECT_TRUE(near(standard[1], {1}, {3 - 4.5}));
  EXPECT_TRUE(near(standard[2], {2}, {6, 2}));
  EXPECT_TRUE(near(standard[3], {1}, {9}));
  EXPECT_TRUE(near(step("nesterov", 1)[0], {2}, {1 - 0.5 * (2 + 3), 2 - 0.5 * (1 + 1)}));
  EXPECT_TRUE(near(step("standard", 0)[2], {2}, {4, 1}));  // beta is 1 in the first step
}

TEST(Optimizers, adagrad) {
  const std::vector<Tensor> y = run_operator("ai.onnx.preview.training.Adagrad",
                                             {kRate, Tensor::scalar_i64(3), vec({1}), vec({2}), vec({5})}, {{"decay_factor", 1.0f}}, 2);
  EXPECT_TRUE(near(y[1], {1}, {9}));
  EXPECT_TRUE(near(y[0], {1}, {1 - 0.125 * 2 / 3}));
}

TEST(Optimizers, adam) {
  const auto step = [](int64_t count) {
    return run_operator("ai.onnx.preview.training.Adam", {kRate, Tensor::scalar_i64(count), vec({1}), vec({2}), vec({0}), vec({0})},
                        {{"alpha", 0.5f}, {"beta", 0.75f}, {"epsilon", 0.0f}, {"norm_coefficient_post", 0.5f}}, 3);
  };
  const std::vector<Tensor> first = step(0), second = step(1);
  EXPECT_TRUE(near(first[1], {1}, {1}));
  EXPECT_TRUE(near(first[2], {1}, {1}));
  EXPECT_TRUE(near(first[0], {1}, {0.5 * (1 - 0.5)}));
  EXPECT_TRUE(near(second[0], {1}, {0.5 * (1 - 0.5 * 0.5 / 0.5)}));
}

TEST(Optimizers, rules_over_elements) {
  // w -= c1 * clamped(-c0, c0, g), s = by sign of g: larger(s, c0), smaller(s, c0), |s|
  const Ints rule = {0, -1, -1, -1, -1, 0, -1, -1, -1, -1, 0, -1, -1, -1, -1, 0,  -1, -1, -1, -1, 0, -1, -1, -1, -1,  // w, g, s, c0, c1
                     2, -1, 3,  -1, -1, 9, 5,  3,  1,  -1, 3, 4,  6,  -1, -1, 2,  0,  7,  -1, -1,                     // w
                     7, 2,  3,  -1, -1, 8, 2,  3,  -1, -1, 6, 2,  -1, -1, -1, 10, 1,  9,  10, 11};                    // s
  const std::vector<Tensor> inputs = {vec({9, 2, 0.5}), vec({1, 1, 1}), vec({5, -1, 0}), vec({3, 3, -3})};
  const std::vector<Tensor> y =
      run_operator("minnow.UpdateElements", inputs, {{"rule", rule}, {"results", Ints{8, 12}}, {"first", int64_t{1}}}, 2);
  EXPECT_TRUE(near(y[0], {3}, {0, 1.5, 1}));
  EXPECT_TRUE(near(y[1], {3}, {3, 2, 3}));
  using testing::HasSubstr;
  const auto error = [&](Ints changed, Ints results) {
    return error_of("minnow.UpdateElements", inputs, {{"rule", std::move(changed)}, {"results", std::move(results)}}, 2);
  };
  EXPECT_THAT(error({0, -1}, {8, 12}), HasSubstr("five integers for each operation"));
  EXPECT_THAT(error(rule, {8, 13}), HasSubstr("results names value 13, there are 13"));
  EXPECT_THAT(error(rule, {8}), HasSubstr("2 are needed"));
  Ints later = rule;
  later[26] = 6;
  EXPECT_THAT(error(later, {8, 12}), HasSubstr("operation 5 of rule takes value 6, which is not there yet"));
  std::vector<Tensor> bad = inputs;
  bad[2] = vec({1, std::numeric_limits<double>::infinity(), 0});
  EXPECT_THAT(error_of("minnow.UpdateElements", bad, {{"rule", rule}, {"results", Ints{8, 12}}, {"checked", int64_t{1}}}, 2),
              HasSubstr("the gradient is not finite in element 1 of 3"));
}

TEST(Optimizers, wrong_groups) {
  using testing::HasSubstr;
  const Attributes none;
  EXPECT_THAT(error_of("ai.onnx.preview.training.Adagrad", {kRate, Tensor::scalar_i64(0), vec({1}), vec({1})}, none, 2),
              HasSubstr("takes 3 tensors for each that is optimized, 2 were given"));
  EXPECT_THAT(error_of("ai.onnx.preview.training.Adagrad", {kRate, Tensor::scalar_i64(0), vec({1}), vec({1, 2}), vec({1})}, none, 2),
              HasSubstr("input 3 has shape [2], it should have the shape [1]"));
  EXPECT_THAT(error_of("ai.onnx.preview.training.Adagrad", {vec({1, 2}), Tensor::scalar_i64(0), vec({1}), vec({1}), vec({1})}, none, 2),
              HasSubstr("input 0 should hold one number"));
}

}  // namespace
}  // namespace minnow::test
