// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2. For negative amounts, NumPy pads the sliced array, which gives the same result as ONNX Runtime 1.31.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Attributes mode(const char* name) { return {{"mode", std::string(name)}}; }

TEST(Pad, constant) {
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2, 3}), ints({1, 2, 1, -1}), Tensor::scalar_f32(9)})[0], {4, 4},
                   {9, 9, 9, 9, 9, 9, -0.5, 1.25, 9, 9, -0.75, 1, 9, 9, 9, 9}));
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2, 2}), ints({0, 1, 0, 0})})[0], {2, 3}, {0, -0.5, 1.25, 0, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2, 2}), ints({1, 0}), Tensor(), ints({-2})})[0], {3, 2}, {0, 0, -0.5, 1.25, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Pad", {pattern({0}), ints({1, 1}), Tensor::scalar_f32(2)})[0], {2}, {2, 2}));
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2}), ints({-3, 2}), Tensor::scalar_f32(2)})[0], {1}, {2}));
  EXPECT_TRUE(near(run_operator("Pad", {pattern({}), ints({})})[0], {}, {-0.5}));
  EXPECT_TRUE(near(run_operator("Pad", {tensor(DType::i4, {1}, {-3}), ints({1, 2}), tensor(DType::i4, {}, {5})})[0], {4}, {5, -3, 5, 5}));
}

TEST(Pad, reflect_more_than_once) {
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2, 3}), ints({1, 4, 0, 5})}, mode("reflect"))[0], {3, 12},
                   {-0.75, 1,    0,    1,    -0.75, 1,    0,     1, -0.75, 1, 0,     1, -0.5, 1.25, 0.25,  1.25, -0.5, 1.25,
                    0.25,  1.25, -0.5, 1.25, 0.25,  1.25, -0.75, 1, 0,     1, -0.75, 1, 0,    1,    -0.75, 1,    0,    1}));
  EXPECT_TRUE(near(run_operator("Pad", {pattern({1}), ints({1, 2})}, mode("reflect"))[0], {4}, {-0.5, -0.5, -0.5, -0.5}));
}

TEST(Pad, edge) {
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2, 3}), ints({1, 4, 0, 5})}, mode("edge"))[0], {3, 12},
                   {-0.5, -0.5, -0.5, -0.5, -0.5, 1.25, 0.25,  0.25,  0.25,  0.25,  0.25,  0.25, -0.5, -0.5, -0.5, -0.5, -0.5, 1.25,
                    0.25, 0.25, 0.25, 0.25, 0.25, 0.25, -0.75, -0.75, -0.75, -0.75, -0.75, 1,    0,    0,    0,    0,    0,    0}));
}

TEST(Pad, wrap) {
  EXPECT_TRUE(near(run_operator("Pad", {pattern({2, 3}), ints({1, 4, 0, 5})}, mode("wrap"))[0], {3, 12},
                   {0,    -0.75, 1,    0,    -0.75, 1,    0, -0.75, 1, 0, -0.75, 1, 0.25, -0.5,  1.25, 0.25, -0.5,  1.25,
                    0.25, -0.5,  1.25, 0.25, -0.5,  1.25, 0, -0.75, 1, 0, -0.75, 1, 0,    -0.75, 1,    0,    -0.75, 1}));
}

TEST(Pad, cuts_before_it_repeats) {
  const std::vector<Tensor> inputs = {pattern({2, 5}), ints({0, -1, 0, 3})};
  EXPECT_TRUE(near(run_operator("Pad", inputs, mode("wrap"))[0], {2, 7},
                   {1.25, 0.25, -0.75, 1, 1.25, 0.25, -0.75, -1, 0.75, -0.25, -1.25, -1, 0.75, -0.25}));
  EXPECT_TRUE(near(run_operator("Pad", inputs, mode("reflect"))[0], {2, 7},
                   {1.25, 0.25, -0.75, 1, -0.75, 0.25, 1.25, -1, 0.75, -0.25, -1.25, -0.25, 0.75, -1}));
  EXPECT_TRUE(near(run_operator("Pad", inputs, mode("edge"))[0], {2, 7},
                   {1.25, 0.25, -0.75, 1, 1, 1, 1, -1, 0.75, -0.25, -1.25, -1.25, -1.25, -1.25}));
}

TEST(Pad, refuses) {
  EXPECT_THAT(error_of("Pad", {pattern({2}), ints({1})}), HasSubstr("two numbers for each of 1 axes"));
  EXPECT_THAT(error_of("Pad", {pattern({2}), ints({-1, -2})}), HasSubstr("leave no shape"));
  EXPECT_THAT(error_of("Pad", {pattern({2}), ints({INT64_MAX, 1})}), HasSubstr("leave no shape"));
  EXPECT_THAT(error_of("Pad", {pattern({2}), ints({0, 0})}, mode("mirror")), HasSubstr("\"mirror\""));
  EXPECT_THAT(error_of("Pad", {pattern({0}), ints({1, 0})}, mode("edge")), HasSubstr("no elements to repeat"));
  EXPECT_THAT(error_of("Pad", {pattern({2}), ints({1, 0}), tensor(DType::f64, {}, {0})}), HasSubstr("is f64, it should be f32"));
  EXPECT_THAT(error_of("Pad", {pattern({2, 2}), ints({1, 1, 0, 0}), Tensor(), ints({1, -1})}), HasSubstr("twice"));
}

}  // namespace
}  // namespace minnow::test
