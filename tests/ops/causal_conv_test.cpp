// SPDX-License-Identifier: Apache-2.0
// Numbers from the reference evaluator of onnx 1.23.2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

const Tensor kCausalX = pattern({2, 3, 4}), kCausalW = pattern({3, 1, 3}, 5);

/// By the reference and by the decomposition.
void expect(const std::vector<Tensor>& inputs, const std::string& activation, const Shape& shape, const std::vector<double>& y,
            const std::vector<double>& state) {
  const Attributes attributes = {{"activation", activation}};
  for (const auto& made :
       {run_operator("CausalConvWithState", inputs, attributes, 2), run_decomposition("CausalConvWithState", inputs, attributes, 2)}) {
    EXPECT_TRUE(near(made[0], shape, y));
    EXPECT_TRUE(near(made[1], {2, 3, 2}, state));
  }
}

TEST(CausalConvWithState, sees_what_is_before_it) {
  expect({kCausalX, kCausalW}, "none", {2, 3, 4},
         {0.375,   -1.3125, 1,     0.125,   0.25, -1,    0.25,   1.1875,  -0.3125, -1.5625, 0.9375, 0.9375,
          -0.9375, 0.75,    0.125, -1.4375, 0,    -0.25, 1.1875, -1.3125, -1.5625, 0.625,   0.9375, 0.9375},
         {0.25, -0.75, -1, 0.75, 0.5, -0.5, -0.75, 1, 0.75, -0.25, -0.5, 1.25});
}

TEST(CausalConvWithState, goes_on_from_a_state) {
  expect({kCausalX, kCausalW, pattern({3}, 3), pattern({2, 3, 2}, 2)}, "silu", {2, 3, 4},
         {0.06640118, -0.2543595, 0.3112297, -0.15275,  -0.1094559, -0.1094559, 0.3112297, 1.161597,
          2.035464,   0.22225,    1.693525,  1.693525,  -0.2757207, 0.06640118, -0.15275,  -0.2439753,
          -0.2179032, 0.4070968,  1.161597,  -0.272884, 0.4574698,  2.035464,   1.693525,  1.693525},
         {0.25, -0.75, -1, 0.75, 0.5, -0.5, -0.75, 1, 0.75, -0.25, -0.5, 1.25});
}

TEST(CausalConvWithState, shorter_than_its_taps) {
  const Tensor x = tensor(DType::f32, {2, 3, 1}, {-0.5, 1, -0.25, 1.25, 0, -1.25});
  expect({x, kCausalW}, "swish", {2, 3, 1}, {0.22225, 0.1405441, -0.1320327, -0.2638178, 0, -0.2707628},
         {0, -0.5, 0, 1, 0, -0.25, 0, 1.25, 0, 0, 0, -1.25});
}

TEST(CausalConvWithState, nothing_leaves_the_state) {
  const auto made = run_operator("CausalConvWithState", {Tensor(DType::f32, {2, 3, 0}), kCausalW}, {}, 2);
  EXPECT_TRUE(near(made[0], {2, 3, 0}, {}));
  EXPECT_TRUE(near(made[1], {2, 3, 2}, std::vector<double>(12)));
}

TEST(CausalConvWithState, errors_name_what_does_not_fit) {
  EXPECT_THAT(error_of("CausalConvWithState", {kCausalX, pattern({3, 2, 3})}), HasSubstr("weight should be of shape [3, 1, k]"));
  EXPECT_THAT(error_of("CausalConvWithState", {kCausalX, kCausalW, kNone, pattern({2, 3, 3})}),
              HasSubstr("past_state should be of shape [2, 3, 2]"));
  EXPECT_THAT(error_of("CausalConvWithState", {kCausalX, kCausalW}, {{"activation", std::string("tanh")}}), HasSubstr("it is \"tanh\""));
}

}  // namespace
}  // namespace minnow::test
