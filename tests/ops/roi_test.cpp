// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(MaxRoiPool, bins) {
  EXPECT_TRUE(
      near(run_operator("MaxRoiPool", {pattern({2, 2, 4, 5}), tensor(DType::f32, {3, 5}, {0, 0, 0, 3, 3, 1, 1, 2, 4, 3, 0, -2, 1, 9, 9})},
                        {{"pooled_shape", Ints{2, 3}}})[0],
           {3, 2, 2, 3}, {1.25, 1.25, 0.75, 1,   1.25, 1.25, 1, 1,    1.25, 0.25, 1, 1, 0.75, -0.25, 0.5, 1.25, 0.25, 1,
                          0,    0.75, 0.75, 0.5, 1.25, 1.25, 1, 1.25, 0,    0,    0, 0, 1,    1.25,  0,   0,    0,    0}));
  EXPECT_TRUE(
      near(run_operator("MaxRoiPool", {pattern({2, 1, 4, 5}), tensor(DType::f32, {3, 5}, {0, 0, 0, 3, 3, 1, 1, 2, 4, 3, 0, -2, 1, 9, 9})},
                        {{"pooled_shape", Ints{2, 2}}, {"spatial_scale", 0.5f}})[0],
           {3, 1, 2, 2}, {1.25, 1.25, 0.5, 1.25, 1, 0, -1.25, 0.5, 1.25, 1.25, 1, 0.75}));
}

TEST(MaxRoiPool, counts_numbers_beside_nan) {
  const Tensor x = tensor(DType::f32, {1, 1, 2, 3}, {NAN, 2, NAN, 1, NAN, -INFINITY});
  EXPECT_TRUE(near(run_operator("MaxRoiPool", {x, tensor(DType::f32, {3, 5}, {0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 2, 1})},
                                {{"pooled_shape", Ints{1, 1}}})[0],
                   {3, 1, 1, 1}, {2, NAN, -INFINITY}));
}

TEST(RoiAlign, average_of_samples) {
  EXPECT_TRUE(
      near(run_operator("RoiAlign",
                        {pattern({2, 2, 4, 5}),
                         tensor(DType::f32, {4, 4}, {0, 0, 3, 3, 1.2, 2.0999999, 4.5999999, 3.3, -2, 1, 9, 9, 2, 2, 2.0999999, 2.0999999}),
                         tensor(DType::i64, {4}, {0, 1, 0, 1})},
                        {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{2}}})[0],
           {4, 2, 2, 2},
           {-0.065429688,
            0.38769531,
            0.0625,
            0.40820312,
            -0.546875,
            0.024414062,
            -0.41894531,
            0.034179688,
            0.14999993,
            -0.42421854,
            0.44999993,
            -0.32187492,
            -0.41093746,
            0.23945303,
            -0.30000007,
            0.50937486,
            -0.0703125,
            -0.3125,
            0,
            0,
            0.11328125,
            0,
            0,
            0,
            -0.01249999,
            -0.06249994,
            0.012499994,
            -0.037499964,
            -0.076718748,
            -0.061406229,
            -0.12390618,
            -0.11546867},
           1e-05));
  EXPECT_TRUE(
      near(run_operator("RoiAlign",
                        {pattern({2, 1, 4, 5}),
                         tensor(DType::f32, {4, 4}, {0, 0, 3, 3, 1.2, 2.0999999, 4.5999999, 3.3, -2, 1, 9, 9, 2, 2, 2.0999999, 2.0999999}),
                         tensor(DType::i64, {4}, {0, 1, 0, 1})},
                        {{"output_height", int64_t{2}},
                         {"output_width", int64_t{3}},
                         {"spatial_scale", 0.5f},
                         {"coordinate_transformation_mode", std::string("output_half_pixel")}})[0],
           {4, 1, 2, 3}, {-0.1328125,  0.2265625,   0.4140625,   -0.1875,    -0.6875,    -0.5,        0.21708339, 0.24625003,
                          0.13333333,  -0.74749982, -0.25999993, 0.38333333, 0.0625,     0.27604166,  -0.5625,    0.8125,
                          -0.46354157, 0.1875,      0.38541663,  0.28125,    0.17708331, -0.51041663, -0.15625,   0.19791669},
           1e-05));
  EXPECT_TRUE(
      near(run_operator("RoiAlign",
                        {pattern({2, 1, 4, 5}),
                         tensor(DType::f32, {4, 4}, {0, 0, 3, 3, 1.2, 2.0999999, 4.5999999, 3.3, -2, 1, 9, 9, 2, 2, 2.0999999, 2.0999999}),
                         tensor(DType::i64, {4}, {0, 1, 0, 1})},
                        {{"output_height", int64_t{1}}, {"output_width", int64_t{2}}})[0],
           {4, 1, 1, 2}, {-0.026041666, 0.42708334, -0.12562492, 0.046093792, 0.05034722, -0.059027772, 0.031562522, 0.057187513}, 1e-05));
}

TEST(RoiAlign, largest_weighted_corner) {
  EXPECT_TRUE(near(
      run_operator(
          "RoiAlign",
          {pattern({2, 1, 4, 5}),
           tensor(DType::f32, {4, 4}, {0, 0, 3, 3, 1.2, 2.0999999, 4.5999999, 3.3, -2, 1, 9, 9, 2, 2, 2.0999999, 2.0999999}),
           tensor(DType::i64, {4}, {0, 1, 0, 1})},
          {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{2}}, {"mode", std::string("max")}})[0],
      {4, 1, 2, 2},
      {0.78125, 0.78125, 0.4375, 0.95703125, 0.46312502, 0.80156273, 0.6337499, 0.54843771, 0.390625, -0, -0, -0, 0.23765621, 0.21328123,
       0.21328123, 0.19140625},
      1e-05));
}

TEST(RoiAlign, empty_and_wrong) {
  using testing::HasSubstr;
  const Tensor x = pattern({1, 2, 3, 3});
  EXPECT_TRUE(near(run_operator("RoiAlign", {x, pattern({0, 4}), tensor(DType::i64, {0}, {})})[0], {0, 2, 1, 1}, {}));
  EXPECT_THAT(error_of("RoiAlign", {x, pattern({1, 4}), tensor(DType::i64, {1}, {1})}), HasSubstr("region 0 is of image 1"));
  EXPECT_THAT(error_of("RoiAlign", {x, tensor(DType::f32, {1, 4}, {0, 0, 1e30, 1}), tensor(DType::i64, {1}, {0})}),
              HasSubstr("pixels large"));
  EXPECT_THAT(error_of("RoiAlign", {x, pattern({1, 5}), tensor(DType::i64, {1}, {0})}), HasSubstr("[count, 4]"));
  EXPECT_THAT(error_of("RoiAlign", {x, pattern({1, 4}), tensor(DType::i64, {1}, {0})}, {{"mode", std::string("sum")}}),
              HasSubstr("avg or max"));
  EXPECT_THAT(error_of("MaxRoiPool", {x, tensor(DType::f32, {1, 5}, {3, 0, 0, 1, 1})}, {{"pooled_shape", Ints{1, 1}}}),
              HasSubstr("region 0 is of image 3"));
  EXPECT_THAT(error_of("MaxRoiPool", {x, tensor(DType::f32, {1, 5}, {0, 0, 0, 1e30, 1})}, {{"pooled_shape", Ints{1, 1}}}),
              HasSubstr("coordinate"));
}

}  // namespace
}  // namespace minnow::test
