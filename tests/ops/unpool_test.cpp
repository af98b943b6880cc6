// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(MaxUnpool, places) {
  EXPECT_TRUE(near(run_operator("MaxUnpool", {pattern({1, 1, 2, 2}), tensor(DType::i64, {1, 1, 2, 2}, {1, 3, 4, 15})},
                                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})[0],
                   {1, 1, 4, 4}, {0, -0.5, 0, 1.25, 0.25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -0.75}));
  EXPECT_TRUE(near(run_operator("MaxUnpool", {pattern({1, 2, 2}), tensor(DType::i64, {1, 2, 2}, {0, 3, 4, 6})},
                                {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}})[0],
                   {1, 2, 4}, {-0.5, 0, 0, 1.25, 0.25, 0, -0.75, 0}));
  EXPECT_TRUE(near(
      run_operator("MaxUnpool", {pattern({1, 1, 2, 1}), tensor(DType::i64, {1, 1, 2, 1}, {1, 3}), tensor(DType::i64, {4}, {1, 1, 3, 3})},
                   {{"kernel_shape", Ints{1, 2}}, {"strides", Ints{1, 1}}})[0],
      {1, 1, 3, 3}, {0, -0.5, 0, 0, 1.25, 0, 0, 0, 0}));
}

TEST(MaxUnpool, wrong_indices) {
  using testing::HasSubstr;
  EXPECT_THAT(
      error_of("MaxUnpool", {pattern({1, 1, 2}), tensor(DType::i64, {1, 1, 2}, {0, 4})}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}),
      HasSubstr("index 4 is out of range"));
  EXPECT_THAT(error_of("MaxUnpool", {pattern({1, 1, 2}), tensor(DType::i64, {1, 1, 2}, {0, -1})},
                       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}),
              HasSubstr("index -1 is out of range"));
  EXPECT_THAT(error_of("MaxUnpool", {pattern({1, 1, 2}), tensor(DType::i64, {1, 1, 1}, {0})}, {{"kernel_shape", Ints{2}}}),
              HasSubstr("indices should have shape"));
  EXPECT_THAT(error_of("MaxUnpool", {pattern({1, 1, 2}), tensor(DType::i64, {1, 1, 2}, {0, 1}), tensor(DType::i64, {3}, {1, 1, 2})},
                       {{"kernel_shape", Ints{2}}}),
              HasSubstr("does not hold"));
}

TEST(Col2Im, overlaps_padding_and_dilation) {
  EXPECT_TRUE(near(run_operator("Col2Im", {pattern({1, 4, 4}), tensor(DType::i64, {2}, {3, 3}), tensor(DType::i64, {2}, {2, 2})})[0],
                   {1, 1, 3, 3}, {-0.5, 2.25, 0, 0, -1.75, 1, 0.5, -1.25, 1}));
  EXPECT_TRUE(near(run_operator("Col2Im", {pattern({2, 8, 2}), tensor(DType::i64, {2}, {3, 5}), tensor(DType::i64, {2}, {2, 2})},
                                {{"strides", Ints{2, 2}}, {"dilations", Ints{1, 2}}, {"pads", Ints{0, 0, 0, 0}}})[0],
                   {2, 2, 3, 5}, {-0.5, 0, 1.5,  0, -0.75, 1,    0, -1,   0, 0.75, 0,  0, 0,     0, 0,     -0.25, 0, -0.75, 0, -0.5,
                                  1.25, 0, -0.5, 0, 1,     0,    0, 0,    0, 0,    0,  0, -0.25, 0, -0.25, -1.25, 0, 0,     0, 1.25,
                                  0,    0, 0,    0, 0,     0.25, 0, 0.25, 0, 0,    -1, 0, 0.5,   0, -1.25, 0,     0, 0,     0, 0}));
  EXPECT_TRUE(near(run_operator("Col2Im", {pattern({1, 2, 12}), tensor(DType::i64, {2}, {4, 3}), tensor(DType::i64, {2}, {1, 2})},
                                {{"pads", Ints{0, 0, 0, 1}}})[0],
                   {1, 1, 4, 3}, {-0.5, 2.5, 0.5, -0.75, 2, 0, -1, 1.5, -0.5, -1.25, 1, -1}));
  EXPECT_TRUE(near(run_operator("Col2Im", {pattern({1, 8, 4}), tensor(DType::i64, {3}, {2, 2, 3}), tensor(DType::i64, {3}, {2, 2, 2})},
                                {{"pads", Ints{0, 1, 0, 0, 0, 0}}})[0],
                   {1, 1, 2, 2, 3}, {0, -1.75, 1, 0.5, -1.25, 1, 1, -2.5, 2, 1, -0.25, -1.25}));
  EXPECT_TRUE(near(run_operator("Col2Im", {tensor(DType::u8, {1, 2, 2}, {200, 1, 2, 100}), tensor(DType::i64, {1}, {3}),
                                           tensor(DType::i64, {1}, {2})})[0],
                   {1, 1, 3}, {200, 3, 100}));
}

TEST(Col2Im, wrong_shapes) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("Col2Im", {pattern({1, 4, 3}), tensor(DType::i64, {2}, {3, 3}), tensor(DType::i64, {2}, {2, 2})}),
              HasSubstr("has 4 blocks, the input 3"));
  EXPECT_THAT(error_of("Col2Im", {pattern({1, 3, 4}), tensor(DType::i64, {2}, {3, 3}), tensor(DType::i64, {2}, {2, 2})}),
              HasSubstr("multiple"));
}

}  // namespace
}  // namespace minnow::test
