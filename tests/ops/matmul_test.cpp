// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(MatMul, shapes) {
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({2, 3}), pattern({3, 2}, 5)})[0], {2, 2}, {-0.9375, 0.3125, -0.375, -0.0625}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({3}), pattern({3, 2}, 5)})[0], {2}, {-0.9375, 0.3125}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({2, 3}), pattern({3}, 5)})[0], {2}, {1, 1.125}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({3}), pattern({3}, 5)})[0], {}, {1}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({2, 1, 1, 3}), pattern({2, 3, 2}, 5)})[0], {2, 2, 1, 2},
                   {-0.9375, 0.3125, 2.4375, -0.4375, -0.375, -0.0625, 2.1875, -0.25}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({2, 2, 2}), pattern({2, 1}, 5)})[0], {2, 2, 1}, {1.1875, -0.6875, -0.5, 1.0625}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({2, 0}), pattern({0, 2})})[0], {2, 2}, {0, 0, 0, 0}));
  EXPECT_TRUE(near(run_operator("MatMul", {pattern({0, 2}), pattern({2, 3})})[0], {0, 3}, {}));
}

TEST(MatMul, more_columns_than_fit_a_block) {
  EXPECT_TRUE(near(
      run_operator("MatMul", {tensor(DType::f32, {1, 2}, {1, 2}),
                              tensor(DType::f32, {2, 18}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                                           18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35})})[0],
      {1, 18}, {36, 39, 42, 45, 48, 51, 54, 57, 60, 63, 66, 69, 72, 75, 78, 81, 84, 87}));
}

TEST(MatMul, integers_wrap_around) {
  const double large = 1 << 30;
  EXPECT_TRUE(
      near(run_operator("MatMul", {tensor(DType::i32, {1, 2}, {large, large}), tensor(DType::i32, {2, 1}, {2, 1})})[0], {1, 1}, {-large}));
  EXPECT_TRUE(near(run_operator("MatMul", {tensor(DType::u32, {1, 1}, {large}), tensor(DType::u32, {1, 1}, {5})})[0], {1, 1}, {large}));
}

TEST(MatMul, wrong_shapes) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("MatMul", {pattern({2, 3}), pattern({2, 3})}),
              HasSubstr("node \"node\" (MatMul): shapes [2, 3] and [2, 3] do not fit"));
  EXPECT_THAT(error_of("MatMul", {pattern({}), pattern({2, 3})}), HasSubstr("not defined"));
  EXPECT_THAT(error_of("MatMul", {pattern({2, 2, 2}), pattern({3, 2, 2})}), HasSubstr("broadcast"));
  EXPECT_THAT(error_of("MatMul", {pattern({2, 2}), pattern({2, 2}, 7, DType::f64)}), HasSubstr("it should be f32 as"));
}

TEST(Gemm, transposed_scaled_and_broadcast) {
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({3, 2}), pattern({4, 3}, 5), pattern({2, 4}, 3)},
                                {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}})[0],
                   {2, 4}, {-1.15625, 0.375, 2.9375, -2.0625, -1.09375, 1.6875, 1.71875, -2.03125}));
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({3, 2}), pattern({4, 3}, 5), pattern({4}, 3)},
                                {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}})[0],
                   {2, 4}, {-1.15625, 0.375, 2.9375, -2.0625, -1.59375, 1.1875, 1.21875, -2.53125}));
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({3, 2}), pattern({4, 3}, 5), pattern({2, 1}, 3)},
                                {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}})[0],
                   {2, 4}, {-1.15625, -1.125, -0.0625, -1.0625, -0.09375, 1.1875, -0.28125, -0.03125}));
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({3, 2}), pattern({4, 3}, 5), pattern({1}, 3)},
                                {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}})[0],
                   {2, 4}, {-1.15625, -1.125, -0.0625, -1.0625, -1.59375, -0.3125, -1.78125, -1.53125}));
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({3, 2}), pattern({4, 3}, 5), pattern({}, 3)},
                                {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5f}, {"beta", 2.0f}})[0],
                   {2, 4}, {-1.15625, -1.125, -0.0625, -1.0625, -1.59375, -0.3125, -1.78125, -1.53125}));
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({2, 3}), pattern({3, 2}, 5)})[0], {2, 2}, {-0.9375, 0.3125, -0.375, -0.0625}));
  EXPECT_TRUE(near(run_operator("Gemm", {pattern({2, 0}), pattern({0, 2}), pattern({2})})[0], {2, 2}, {-0.5, 1.25, -0.5, 1.25}));
}

TEST(Gemm, integers) {
  EXPECT_TRUE(
      near(run_operator("Gemm", {tensor(DType::i64, {1, 2}, {3, 4}), tensor(DType::i64, {2, 1}, {5, -6}), tensor(DType::i64, {1}, {1})},
                        {{"beta", 2.0f}})[0],
           {1, 1}, {-7}));
}

TEST(Gemm, wrong_shapes) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("Gemm", {pattern({2, 3}), pattern({3, 4}), pattern({3})}),
              HasSubstr("C of shape [3] cannot be broadcast to [2, 4]"));
  EXPECT_THAT(error_of("Gemm", {pattern({2, 2, 2}), pattern({2, 2})}), HasSubstr("multiplies matrices"));
}

}  // namespace
}  // namespace minnow::test
