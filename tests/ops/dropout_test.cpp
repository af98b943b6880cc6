// SPDX-License-Identifier: Apache-2.0
// Properties of random masks.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor ratio(double value) { return tensor(DType::f32, {}, {value}); }

TEST(Dropout, inference_changes_nothing) {
  const Tensor x = pattern({2, 3});
  for (const std::vector<Tensor>& inputs :
       std::initializer_list<std::vector<Tensor>>{{x}, {x, ratio(0.9)}, {x, ratio(0.9), truth(false)}, {x, ratio(0), truth(true)}}) {
    const std::vector<Tensor> y = run_operator("Dropout", inputs, {}, 2);
    EXPECT_TRUE(near(y[0], {2, 3}, numbers(x), 0));
    EXPECT_TRUE(near(y[1], {2, 3}, {1, 1, 1, 1, 1, 1}, 0));
  }
  EXPECT_TRUE(near(run_operator("Dropout", {tensor(DType::f8e5m2, {2}, {kNaN, 1.5})})[0], {2}, {kNaN, 1.5}, 0));
}

TEST(Dropout, training_keeps_and_scales) {
  constexpr int64_t kCount = 20000;
  const Tensor x = tensor(DType::f32, {kCount}, std::vector<double>(kCount, 3));
  const std::vector<Tensor> y = run_operator("Dropout", {x, ratio(0.25), truth(true)}, {{"seed", int64_t{7}}}, 2);
  const std::vector<double> values = numbers(y[0]), mask = numbers(y[1]);
  int64_t kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], mask[i] == 1 ? 4 : 0);
    kept += mask[i] == 1;
  }
  EXPECT_NEAR(static_cast<double>(kept), 0.75 * kCount, 5 * std::sqrt(kCount * 0.75 * 0.25));
}

TEST(Dropout, seeds) {
  const std::vector<Tensor> inputs = {tensor(DType::f32, {64}, std::vector<double>(64, 1)), ratio(0.5), truth(true)};
  const auto drawn = [&](const Attributes& attributes) { return numbers(run_operator("Dropout", inputs, attributes)[0]); };
  EXPECT_EQ(drawn({{"seed", int64_t{1}}}), drawn({{"seed", int64_t{1}}}));
  EXPECT_NE(drawn({{"seed", int64_t{1}}}), drawn({{"seed", int64_t{2}}}));
  EXPECT_NE(drawn({}), drawn({})) << "every run draws anew";
}

TEST(Dropout, errors) {
  EXPECT_THAT(error_of("Dropout", {pattern({2}), ratio(1), truth(true)}), HasSubstr("ratio should be in [0, 1), it is 1"));
  EXPECT_THAT(error_of("Dropout", {pattern({2}), pattern({2}), truth(true)}), HasSubstr("should hold one element"));
}

}  // namespace
}  // namespace minnow::test
