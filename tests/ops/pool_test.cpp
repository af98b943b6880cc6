// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>
#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(MaxPool, indices_padding_and_dilation) {
  {
    const auto y = run_operator("MaxPool", {pattern({1, 2, 4, 4})},
                                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}}, 2);
    EXPECT_TRUE(near(y[0], {1, 2, 2, 4}, {1.25, 1.25, 0.25, -0.75, 1, 0.5, 0.75, 0.75, 0, 0.75, 0.75, -0.25, 0.5, 1, 1.25, 1.25}));
    EXPECT_TRUE(near(y[1], {1, 2, 2, 4}, {1, 1, 2, 3, 4, 10, 7, 7, 16, 18, 18, 19, 21, 26, 23, 23}));
  }
  {
    const auto y = run_operator("MaxPool", {pattern({2, 1, 4, 3})},
                                {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 1}}, {"storage_order", int64_t{1}}}, 2);
    EXPECT_TRUE(near(y[0], {2, 1, 2, 2}, {1.25, 1.25, 1, 1, 1.25, 0.25, 1, 1.25}));
    EXPECT_TRUE(near(y[1], {2, 1, 2, 2}, {4, 4, 5, 5, 12, 16, 13, 23}));
  }
  {
    const auto y =
        run_operator("MaxPool", {pattern({1, 1, 5})}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}}, 2);
    EXPECT_TRUE(near(y[0], {1, 1, 3}, {1.25, 0.25, 1}));
    EXPECT_TRUE(near(y[1], {1, 1, 3}, {1, 2, 4}));
  }
  {
    const auto y = run_operator("MaxPool", {pattern({1, 1, 2, 3, 2})}, {{"kernel_shape", Ints{2, 2, 1}}, {"storage_order", int64_t{1}}}, 2);
    EXPECT_TRUE(near(y[0], {1, 1, 1, 2, 2}, {0.25, 1.25, 1, 0}));
    EXPECT_TRUE(near(y[1], {1, 1, 1, 2, 2}, {2, 6, 4, 10}));
  }
  EXPECT_TRUE(near(run_operator("MaxPool", {pattern({1, 1, 1, 1})}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}})[0],
                   {1, 1, 1, 1}, {-0.5}));
}

TEST(MaxPool, a_last_window_must_begin_inside) {
  // Along 5 places with padding 1 after them, a window of 2 with step 3 would begin at place 6 next: it does not count.
  EXPECT_TRUE(near(run_operator("MaxPool", {pattern({1, 1, 5})},
                                {{"kernel_shape", Ints{2}}, {"strides", Ints{3}}, {"pads", Ints{0, 1}}, {"ceil_mode", int64_t{1}}})[0],
                   {1, 1, 2}, {1.25, 1}));
  EXPECT_TRUE(
      near(run_operator("MaxPool", {pattern({1, 1, 4, 4})},
                        {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", int64_t{1}}})[0],
           {1, 1, 3, 3}, {1.25, 1.25, 0.75, 1.25, 1, 1, 1.25, 1, 1}));
}

TEST(MaxPool, automatic_padding) {
  EXPECT_TRUE(near(run_operator("MaxPool", {pattern({1, 1, 5, 4})},
                                {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}})[0],
                   {1, 1, 3, 2}, {1.25, 0.75, 1.25, 1, 0.75, 0.75}));
  EXPECT_TRUE(near(run_operator("MaxPool", {pattern({1, 1, 5, 4})},
                                {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}})[0],
                   {1, 1, 3, 2}, {1.25, 1.25, 1, 0.75, 1.25, 1}));
  EXPECT_TRUE(near(run_operator("MaxPool", {pattern({1, 1, 5, 4})},
                                {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("VALID")}})[0],
                   {1, 1, 2, 1}, {1.25, 1.25}));
}

TEST(MaxPool, integers_and_special_values) {
  EXPECT_TRUE(
      near(run_operator("MaxPool", {tensor(DType::i8, {1, 1, 3}, {-5, -7, -6})}, {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}})[0],
           {1, 1, 3}, {-5, -5, -6}));
  EXPECT_TRUE(near(run_operator("MaxPool", {tensor(DType::u8, {1, 1, 2}, {255, 0})}, {{"kernel_shape", Ints{2}}})[0], {1, 1, 1}, {255}));
  EXPECT_TRUE(near(run_operator("MaxPool", {tensor(DType::f32, {1, 1, 3}, {1, NAN, -INFINITY})}, {{"kernel_shape", Ints{2}}})[0], {1, 1, 2},
                   {NAN, NAN}));
  EXPECT_TRUE(
      near(run_operator("MaxPool", {tensor(DType::f32, {1, 1, 1}, {-INFINITY})}, {{"kernel_shape", Ints{1}}})[0], {1, 1, 1}, {-INFINITY}));
  EXPECT_TRUE(near(run_operator("MaxPool", {pattern({0, 2, 4})}, {{"kernel_shape", Ints{2}}})[0], {0, 2, 3}, {}));
}

TEST(AveragePool, padding_counts_or_not) {
  EXPECT_TRUE(
      near(run_operator(
               "AveragePool", {pattern({1, 1, 4, 4})},
               {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}, {"count_include_pad", int64_t{0}}})[0],
           {1, 1, 2, 2}, {0.4375, -0.1875, 0.16666667, 0}));
  EXPECT_TRUE(near(run_operator("AveragePool", {pattern({1, 1, 4, 4})},
                                {{"kernel_shape", Ints{3, 3}},
                                 {"strides", Ints{3, 3}},
                                 {"pads", Ints{1, 1, 1, 1}},
                                 {"count_include_pad", int64_t{0}},
                                 {"ceil_mode", int64_t{1}}})[0],
                   {1, 1, 2, 2}, {0.4375, -0.1875, 0, 0.0625}));
  EXPECT_TRUE(
      near(run_operator("AveragePool", {pattern({1, 2, 5})},
                        {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}, {"count_include_pad", int64_t{0}}})[0],
           {1, 2, 3}, {0.375, -0.25, 1, -0.5, 0.25, -1.25}));
  EXPECT_TRUE(
      near(run_operator(
               "AveragePool", {pattern({1, 1, 4, 4})},
               {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}, {"count_include_pad", int64_t{1}}})[0],
           {1, 1, 2, 2}, {0.29166666, -0.125, 0.16666667, 0}));
  EXPECT_TRUE(near(run_operator("AveragePool", {pattern({1, 1, 4, 4})},
                                {{"kernel_shape", Ints{3, 3}},
                                 {"strides", Ints{3, 3}},
                                 {"pads", Ints{1, 1, 1, 1}},
                                 {"count_include_pad", int64_t{1}},
                                 {"ceil_mode", int64_t{1}}})[0],
                   {1, 1, 2, 2}, {0.19444445, -0.083333336, 0, 0.027777778}));
  EXPECT_TRUE(
      near(run_operator("AveragePool", {pattern({1, 2, 5})},
                        {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}, {"count_include_pad", int64_t{1}}})[0],
           {1, 2, 3}, {0.375, -0.25, 1, -0.5, 0.25, -1.25}));
  EXPECT_TRUE(
      near(run_operator("AveragePool", {pattern({1, 1, 3, 3, 3})}, {{"kernel_shape", Ints{2, 2, 2}}, {"dilations", Ints{1, 2, 1}}})[0],
           {1, 1, 2, 1, 2}, {0.09375, 0.125, 0.03125, -0.28125}));
  EXPECT_TRUE(near(run_operator("AveragePool", {pattern({1, 1, 4, 3})},
                                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}})[0],
                   {1, 1, 2, 2}, {-0.625, 0.625, -1.125, 0.125}));
}

TEST(LpPool, norms) {
  EXPECT_TRUE(near(
      run_operator("LpPool", {pattern({1, 1, 3, 4})}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 1, 0, 0}}, {"p", int64_t{1}}})[0],
      {1, 1, 2, 4}, {1.5, 2.75, 2.5, 2.75, 1.25, 2.5, 2.75, 2.75}, 1e-05));
  EXPECT_TRUE(near(
      run_operator("LpPool", {pattern({1, 1, 3, 4})}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 1, 0, 0}}, {"p", int64_t{2}}})[0],
      {1, 1, 2, 4}, {1.118034, 1.6770509, 1.6201851, 1.47902, 1.0307764, 1.6201851, 1.6770509, 1.4361407}, 1e-05));
  EXPECT_TRUE(near(
      run_operator("LpPool", {pattern({1, 1, 3, 4})}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 1, 0, 0}}, {"p", int64_t{3}}})[0],
      {1, 1, 2, 4}, {1.0400419, 1.454662, 1.4372243, 1.2296712, 1.0051814, 1.4372243, 1.454662, 1.1868649}, 1e-05));
}

TEST(GlobalPools, all_places) {
  EXPECT_TRUE(near(run_operator("GlobalAveragePool", {pattern({2, 2, 3, 1})})[0], {2, 2, 1, 1},
                   {0.33333334, 0.083333336, -0.16666667, -0.41666666}));
  EXPECT_TRUE(near(run_operator("GlobalMaxPool", {pattern({2, 2, 3, 1})})[0], {2, 2, 1, 1}, {1.25, 1, 0.75, 0.5}));
  EXPECT_TRUE(near(run_operator("GlobalLpPool", {pattern({2, 2, 3, 1})})[0], {2, 2, 1, 1}, {1.3693064, 1.25, 1.2747549, 1.4361407}));
  EXPECT_TRUE(near(run_operator("GlobalAveragePool", {pattern({1, 2, 2, 2, 2})})[0], {1, 2, 1, 1, 1}, {0.125, 0.03125}));
  EXPECT_TRUE(near(run_operator("GlobalLpPool", {tensor(DType::f32, {1, 1, 2}, {-3, 4})}, {{"p", int64_t{1}}})[0], {1, 1, 1}, {7}));
  EXPECT_TRUE(near(run_operator("GlobalMaxPool", {pattern({0, 3, 2, 2})})[0], {0, 3, 1, 1}, {}));
}

TEST(Pools, wrong_attributes) {
  using testing::HasSubstr;
  const Tensor x = pattern({1, 1, 4, 4});
  EXPECT_THAT(error_of("MaxPool", {x}), HasSubstr("node \"node\" (MaxPool): attribute \"kernel_shape\" is missing"));
  EXPECT_THAT(error_of("MaxPool", {x}, {{"kernel_shape", Ints{2}}}), HasSubstr("need a kernel of as many"));
  EXPECT_THAT(error_of("MaxPool", {x}, {{"kernel_shape", Ints{0, 1}}}), HasSubstr("kernel"));
  EXPECT_THAT(error_of("MaxPool", {x}, {{"kernel_shape", Ints{5, 1}}}), HasSubstr("does not fit"));
  EXPECT_THAT(error_of("MaxPool", {x}, {{"kernel_shape", Ints{1 << 30, 1 << 30}}, {"pads", Ints{1 << 30, 1 << 30, 0, 0}}}),
              HasSubstr("too large"));
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"})  // a window that lies in the padding alone has no value
    EXPECT_THAT(error_of(op, {x}, {{"kernel_shape", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 3}}}),
                HasSubstr("padding should be smaller than the window, it is 3 beside a window of 3 (spatial dimension 1)"));
  EXPECT_TRUE(near(run_operator("MaxPool", {tensor(DType::f32, {1, 1, 3}, {1, 2, 3})},
                                {{"kernel_shape", Ints{2}}, {"pads", Ints{2, 0}}, {"dilations", Ints{2}}})[0],
                   {1, 1, 3}, {1, 2, 3}));  // counted with the gaps between taps
  EXPECT_THAT(error_of("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t{2}}}), HasSubstr("storage_order"));
  EXPECT_THAT(error_of("LpPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"p", int64_t{0}}}), HasSubstr("p should be"));
  EXPECT_THAT(error_of("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"activation", std::string("Relu")}}),
              HasSubstr("the operator has no attribute \"activation\""));
  EXPECT_THAT(error_of("AveragePool", {pattern({2, 2})}, {{"kernel_shape", Ints{}}}), HasSubstr("[batch, channels, spatial...]"));
}

}  // namespace
}  // namespace minnow::test
