// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(Conv, one_dimension_with_stride_and_front_padding) {
  EXPECT_TRUE(near(
      run_operator("Conv", {pattern({2, 3, 5}), pattern({2, 3, 2}, 5), pattern({2}, 3)}, {{"strides", Ints{2}}, {"pads", Ints{1, 0}}})[0],
      {2, 2, 3}, {-0.75, 1, -0.25, 0, -3.875, 1.8125, -0.5625, -2.875, -0.6875, 0.9375, 2, -0.5625}));
}

TEST(Conv, asymmetric_padding_and_dilation) {
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 2, 4, 5}), pattern({3, 2, 2, 3}, 5)},
                                {{"dilations", Ints{2, 1}}, {"pads", Ints{0, 1, 2, 0}}, {"strides", Ints{1, 2}}})[0],
                   {1, 3, 4, 2}, {-0.9375, 0.6875,  1.625, 1.125, -0.8125, 1.9375, -0.1875, -0.375, -0.75,   -1.9375, -2.125,  -3.625,
                                  -0.625,  -0.4375, -0.25, 2.375, -0.5625, 1.625,  1.6875,  4,      -0.4375, -1.4375, -0.3125, -2.4375}));
}

TEST(Conv, groups) {
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 4, 3, 3}), pattern({6, 2, 2, 2}, 5), pattern({6}, 3)}, {{"group", int64_t{2}}})[0],
                   {1, 6, 2, 2}, {1.5625,  -2.625,  -0.6875, -2.125, -2.875, 4.375,  -1.0625, 4.125,   0.9375, -0.3125, -0.0625, -0.625,
                                  -2.3125, -1.0625, -2.6875, 4.0625, 3.875,  -3.375, 0.6875,  -3.8125, -1.625, 2.5625,  -0.75,   3.4375}));
}

TEST(Conv, depthwise_with_automatic_padding) {
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 2, 4, 3}), pattern({2, 1, 2, 2}, 5)},
                                {{"group", int64_t{2}}, {"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}})[0],
                   {1, 2, 2, 2}, {-0.75, -1.1875, -1.375, -1.1875, 0.3125, -0.4375, 0.1875, 0.5625}));
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 2, 4, 3}), pattern({2, 1, 2, 2}, 5)},
                                {{"group", int64_t{2}}, {"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}})[0],
                   {1, 2, 2, 2}, {2.25, -0.125, 2.25, 0.5, -2.4375, 2, -1.4375, -0.3125}));
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 2, 4, 3}), pattern({2, 1, 2, 2}, 5)},
                                {{"group", int64_t{2}}, {"auto_pad", std::string("VALID")}, {"strides", Ints{2, 2}}})[0],
                   {1, 2, 2, 1}, {2.25, 2.25, -2.4375, -1.4375}));
}

TEST(Conv, three_dimensions) {
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 1, 3, 3, 3}), pattern({1, 1, 2, 2, 2}, 5)}, {{"pads", Ints{0, 0, 1, 1, 0, 0}}})[0],
                   {1, 1, 3, 2, 3},
                   {-1.0625, 2.0625, -2.125, -0.75, -0.1875, -1.625, -0.125, -1.25, -0.625, 1.5625, -2.125, 0.5625, 0.8125, -1.1875, 0.1875,
                    0.5, -1.1875, 2.25}));
}

TEST(Conv, one_pixel) {
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 3, 1, 1}), pattern({2, 3, 1, 1}, 5)})[0], {1, 2, 1, 1}, {1, -1.4375}));
  EXPECT_TRUE(near(run_operator("Conv", {pattern({1, 3, 1, 1}), pattern({2, 3, 3, 3}, 5)}, {{"pads", Ints{1, 1, 1, 1}}})[0], {1, 2, 1, 1},
                   {-0.5625, 0.1875}));
}

TEST(Conv, other_types) {
  for (DType dtype : {DType::f64, DType::f16, DType::bf16})
    EXPECT_TRUE(
        near(run_operator("Conv", {pattern({1, 3, 1, 1}, 7, dtype), pattern({2, 3, 1, 1}, 5, dtype)})[0], {1, 2, 1, 1}, {1, -1.4375}));
}

TEST(Conv, empty) {
  EXPECT_TRUE(near(run_operator("Conv", {pattern({0, 3, 4, 4}), pattern({2, 3, 3, 3})})[0], {0, 2, 2, 2}, {}));
  EXPECT_TRUE(
      near(run_operator("Conv", {pattern({1, 0, 1, 2}), pattern({2, 0, 1, 1}), pattern({2})})[0], {1, 2, 1, 2}, {-0.5, -0.5, 1.25, 1.25}));
}

TEST(Conv, wrong_shapes_and_attributes_are_named) {
  using testing::HasSubstr;
  const Tensor x = pattern({1, 3, 4, 4}), w = pattern({2, 3, 3, 3});
  EXPECT_THAT(error_of("Conv", {x, pattern({2, 4, 3, 3})}),
              HasSubstr("node \"node\" (Conv): weights of shape [2, 4, 3, 3] take 4 channels"));
  EXPECT_THAT(error_of("Conv", {x, pattern({2, 3, 3})}), HasSubstr("needs weights of rank 4"));
  EXPECT_THAT(error_of("Conv", {x, w, pattern({3})}), HasSubstr("bias should have shape [2]"));
  EXPECT_THAT(error_of("Conv", {x, pattern({2, 3, 5, 3})}), HasSubstr("a window of 5 does not fit into 4 positions"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"strides", Ints{0, 1}}}), HasSubstr("strides should be from 1 to"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"strides", Ints{1}}}), HasSubstr("strides should have 2 entries"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"pads", Ints{0, 0, 0, int64_t{1} << 62}}}), HasSubstr("pads"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"dilations", Ints{1, int64_t{1} << 62}}}), HasSubstr("dilations"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"group", int64_t{2}}}), HasSubstr("group 2 does not divide 3"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"group", int64_t{0}}}), HasSubstr("group 0"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"auto_pad", std::string("SAME")}}), HasSubstr("auto_pad"));
  EXPECT_THAT(error_of("Conv", {x, w}, {{"kernel_shape", Ints{3, 2}}}), HasSubstr("kernel_shape [3, 2]"));
}

TEST(ConvTranspose, one_dimension_with_output_padding) {
  EXPECT_TRUE(near(run_operator("ConvTranspose", {pattern({1, 2, 3}), pattern({2, 2, 3}, 5), pattern({2}, 3)},
                                {{"strides", Ints{2}}, {"output_padding", Ints{1}}, {"pads", Ints{1, 0}}})[0],
                   {1, 2, 7}, {-0.875, -2.9375, 0.4375, -0.3125, -0.3125, -0.6875, -0.5, 0, 0.875, 0, 0.1875, 0, 0.3125, 0.25}));
}

TEST(ConvTranspose, groups_and_dilation) {
  EXPECT_TRUE(near(run_operator("ConvTranspose", {pattern({1, 4, 2, 2}), pattern({4, 1, 2, 2}, 5)},
                                {{"group", int64_t{2}}, {"dilations", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}})[0],
                   {1, 2, 3, 2}, {0.875, -0.4375, -0.875, -1.1875, 1.0625, -0.25, 0.0625, 0.5625, 0.375, -2.25, 0.125, 0.5}));
}

TEST(ConvTranspose, several_images_and_filters) {
  EXPECT_TRUE(
      near(run_operator("ConvTranspose", {pattern({2, 2, 2, 1}), pattern({2, 3, 1, 2}, 5), pattern({3}, 3)}, {{"strides", Ints{2, 1}}})[0],
           {2, 3, 3, 2},
           {-0.5625, -0.875, -0.5, -0.5, -0.1875, 0.4375, 0.9375, -0.0625, 0.25, 0.25, -1.625, 1.0625, 1.75, 0.75, 1, 1, -1,   1.6875,
            0.25,    0.25,   -0.5, -0.5, -1.4375, -0.5,   -1.75,  1,       0.25, 0.25, 1.1875, 0.0625, -1,   1.75, 1, 1, 1.75, 0.625}));
}

TEST(ConvTranspose, given_output_shape) {
  EXPECT_TRUE(near(run_operator("ConvTranspose", {pattern({1, 1, 2, 2}), pattern({1, 1, 3, 3}, 5)},
                                {{"output_shape", Ints{4, 3}}, {"strides", Ints{2, 2}}})[0],
                   {1, 1, 4, 3}, {0.5, 0.5, -1.25, 0.1875, -2, -0.5625, -0.25, -0.3125, 0.75, 0, 1.25, 0}));
}

TEST(ConvTranspose, automatic_padding) {
  EXPECT_TRUE(near(run_operator("ConvTranspose", {pattern({1, 1, 2, 2}), pattern({1, 1, 3, 3}, 5)},
                                {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}})[0],
                   {1, 1, 4, 4},
                   {0.25, -0.375, -0.25, 0.9375, -0.25, 0.5, 0.5, -1.25, 0.5, 0.1875, -2, -0.5625, 0.125, -0.25, -0.3125, 0.75}));
  EXPECT_TRUE(near(run_operator("ConvTranspose", {pattern({1, 1, 2, 2}), pattern({1, 1, 3, 3}, 5)},
                                {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}})[0],
                   {1, 1, 4, 4},
                   {0.5, 0.5, -1.25, 0.3125, 0.1875, -2, -0.5625, 2.125, -0.25, -0.3125, 0.75, -0.1875, 0, 1.25, 0, -0.9375}));
}

TEST(ConvTranspose, three_dimensions) {
  EXPECT_TRUE(near(run_operator("ConvTranspose", {pattern({1, 1, 1, 2, 2}), pattern({1, 1, 2, 1, 2}, 5)}, {{"strides", Ints{1, 2, 1}}})[0],
                   {1, 1, 2, 3, 3},
                   {0.25, -1, 0.9375, 0, 0, 0, -0.125, 0.5625, -0.5625, 0.375, -1.1875, 0.625, 0, 0, 0, -0.1875, 0.6875, -0.375}));
}

}  // namespace
}  // namespace minnow::test
