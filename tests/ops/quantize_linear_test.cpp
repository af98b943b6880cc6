// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy and ml_dtypes.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor scalar(DType dtype, double value) { return tensor(dtype, {}, {value}); }

TEST(QuantizeLinear, whole_tensor_with_ties_to_even) {
  const Tensor x = tensor(DType::f32, {2, 3}, {-1.5, -0.25, 0.25, 0.75, 2.5, 300});
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {x, scalar(DType::f32, 0.5)})[0], {2, 3}, {0, 0, 0, 2, 5, 255}, 0));
  EXPECT_TRUE(
      near(run_operator("QuantizeLinear", {x, scalar(DType::f32, 0.5), scalar(DType::i8, -3)})[0], {2, 3}, {-6, -3, -3, -1, 2, 127}, 0));
  for (const auto& [dtype, high] : std::initializer_list<std::pair<DType, double>>{{DType::u8, 255},
                                                                                   {DType::i8, 127},
                                                                                   {DType::u16, 600},
                                                                                   {DType::i16, 600},
                                                                                   {DType::u4, 15},
                                                                                   {DType::i4, 7},
                                                                                   {DType::u2, 3},
                                                                                   {DType::i2, 1}}) {
    const Tensor y = run_operator("QuantizeLinear", {x, scalar(DType::f32, 0.5)}, {{"output_dtype", static_cast<int64_t>(dtype)}})[0];
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(numbers(y)[5], high) << name_of(dtype);
  }
}

TEST(QuantizeLinear, along_an_axis) {
  const Tensor x = tensor(DType::f32, {2, 3}, {-1.5, -0.25, 0.25, 0.75, 2.5, 300});
  const std::vector<double> y = {0, 0, 5, 3, 10, 155};
  for (int64_t axis : {1, -1})
    EXPECT_TRUE(near(run_operator("QuantizeLinear", {x, tensor(DType::f32, {3}, {0.5, 0.25, 2}), tensor(DType::u8, {3}, {1, 0, 5})},
                                  {{"axis", axis}})[0],
                     {2, 3}, y, 0));
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {x, tensor(DType::f32, {2}, {0.5, 2})}, {{"axis", int64_t{0}}})[0], {2, 3},
                   {0, 0, 0, 0, 1, 150}, 0));
}

TEST(QuantizeLinear, in_blocks) {
  EXPECT_TRUE(near(run_operator("QuantizeLinear",
                                {pattern({2, 5}), tensor(DType::f32, {2, 3}, {0.25, 0.5, 1, 0.5, 0.25, 2}),
                                 tensor(DType::i8, {2, 3}, {0, 1, 2, 3, 4, 5})},
                                {{"block_size", int64_t{2}}})[0],
                   {2, 5}, {-2, 5, 1, -1, 3, 3, 1, 7, 3, 4}, 0));
}

TEST(QuantizeLinear, floats_of_a_byte) {
  const Tensor x = tensor(DType::f32, {8}, {0, -0.5, 1.0625, 17, 500, -1000, kNaN, kInf});
  const auto quantized = [&](DType dtype, int64_t saturate) {
    return run_operator("QuantizeLinear", {x, scalar(DType::f32, 2)},
                        {{"output_dtype", static_cast<int64_t>(dtype)}, {"saturate", saturate}})[0];
  };
  EXPECT_TRUE(near(quantized(DType::f8e4m3fn, 1), {8}, {0, -0.25, 0.5, 8, 256, -448, kNaN, 448}, 0));
  EXPECT_TRUE(near(quantized(DType::f8e4m3fnuz, 0), {8}, {0, -0.25, 0.5, 8, kNaN, kNaN, kNaN, kNaN}, 0));
  EXPECT_TRUE(near(quantized(DType::f8e5m2, 0), {8}, {0, -0.25, 0.5, 8, 256, -512, kNaN, kInf}, 0));
}

TEST(QuantizeLinear, precision_of_the_quotient) {
  // 2.25 / 0.3 lies just below 7.5; rounded to f16 it is 7.5, a tie that goes up to 8.
  const Tensor x = tensor(DType::f32, {1}, {2.25}), scale = scalar(DType::f32, 0.3);
  const Attributes precise{{"precision", static_cast<int64_t>(DType::f16)}};
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {x, scale})[0], {1}, {7}, 0));
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {x, scale}, precise)[0], {1}, {8}, 0));
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {x, scalar(DType::f16, 0.3)})[0], {1}, {8}, 0));
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {tensor(DType::i32, {3}, {7, 10, 14}), scalar(DType::i32, 4)})[0], {3}, {2, 2, 4}, 0));
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {tensor(DType::f32, {2}, {3, 5}), scalar(DType::f8e8m0, 2)})[0], {2}, {2, 2}, 0));
}

TEST(QuantizeLinear, special_values) {
  EXPECT_TRUE(
      near(run_operator("QuantizeLinear", {tensor(DType::f32, {3}, {kNaN, kInf, -kInf}), scalar(DType::f32, 1), scalar(DType::u8, 7)})[0],
           {3}, {7, 255, 0}, 0));
  EXPECT_TRUE(near(run_operator("QuantizeLinear", {tensor(DType::f32, {0, 3}, {}), scalar(DType::f32, 1)})[0], {0, 3}, {}));
}

TEST(DequantizeLinear, every_granularity) {
  const Tensor x = tensor(DType::u8, {2, 3}, {0, 5, 255, 128, 7, 9});
  EXPECT_TRUE(near(run_operator("DequantizeLinear", {x, scalar(DType::f32, 0.25), scalar(DType::u8, 128)})[0], {2, 3},
                   {-32, -30.75, 31.75, 0, -30.25, -29.75}));
  EXPECT_TRUE(near(run_operator("DequantizeLinear", {x, tensor(DType::f32, {3}, {0.5, 0.25, 2}), tensor(DType::u8, {3}, {1, 0, 5})})[0],
                   {2, 3}, {-0.5, 1.25, 500, 63.5, 1.75, 8}));
  EXPECT_TRUE(near(run_operator("DequantizeLinear", {x, tensor(DType::f32, {2, 2}, {0.5, 1, 2, 4})},
                                {{"block_size", int64_t{2}}, {"axis", int64_t{-1}}})[0],
                   {2, 3}, {0, 2.5, 255, 256, 14, 36}));
}

TEST(DequantizeLinear, dtypes) {
  EXPECT_EQ(run_operator("DequantizeLinear", {tensor(DType::i4, {2}, {-8, 7}), scalar(DType::f16, 0.5)})[0].dtype(), DType::f16);
  EXPECT_TRUE(near(run_operator("DequantizeLinear", {tensor(DType::i4, {2}, {-8, 7}), scalar(DType::f16, 0.5)})[0], {2}, {-4, 3.5}));
  EXPECT_TRUE(near(run_operator("DequantizeLinear", {tensor(DType::u2, {2}, {3, 0}), scalar(DType::bf16, 0.5), scalar(DType::u2, 2)})[0],
                   {2}, {0.5, -1}));
  EXPECT_TRUE(
      near(run_operator("DequantizeLinear", {tensor(DType::f8e4m3fn, {2}, {-448, 0.5}), scalar(DType::f32, 2)})[0], {2}, {-896, 1}));
  EXPECT_TRUE(near(run_operator("DequantizeLinear", {tensor(DType::f4e2m1, {2}, {-6, 0.5}), scalar(DType::f8e8m0, 4)},
                                {{"output_dtype", static_cast<int64_t>(DType::f32)}})[0],
                   {2}, {-24, 2}));
  EXPECT_TRUE(
      near(run_operator("DequantizeLinear", {tensor(DType::i32, {2}, {-2000000, 3}), scalar(DType::f32, 0.5)})[0], {2}, {-1000000, 1.5}));
}

TEST(QuantizeLinear, errors) {
  const Tensor x = pattern({2, 3}), vector = tensor(DType::f32, {2}, {1, 1});
  EXPECT_THAT(error_of("QuantizeLinear", {x, vector}), HasSubstr("should have shape [] or [3]"));
  EXPECT_THAT(error_of("QuantizeLinear", {x, vector}, {{"axis", int64_t{2}}}), HasSubstr("axis 2 is out of range"));
  EXPECT_THAT(error_of("QuantizeLinear", {x, vector, scalar(DType::u8, 0)}, {{"axis", int64_t{0}}}),
              HasSubstr("the zero point has shape []"));
  EXPECT_THAT(error_of("QuantizeLinear", {x, pattern({2, 2})}, {{"block_size", int64_t{1}}}), HasSubstr("block_size 1"));
  EXPECT_THAT(error_of("QuantizeLinear", {x, pattern({2, 2})}, {{"block_size", int64_t{-1}}}), HasSubstr("negative"));
  EXPECT_THAT(
      error_of("QuantizeLinear", {x, scalar(DType::f32, 1), scalar(DType::u8, 0)}, {{"output_dtype", static_cast<int64_t>(DType::i8)}}),
      HasSubstr("output_dtype is i8"));
  EXPECT_THAT(error_of("QuantizeLinear", {x, scalar(DType::f32, 1)}, {{"output_dtype", static_cast<int64_t>(DType::i32)}}),
              HasSubstr("no dtype that fits"));
  EXPECT_THAT(error_of("DequantizeLinear", {tensor(DType::u8, {1}, {1}), scalar(DType::f32, 1), scalar(DType::i8, 0)}),
              HasSubstr("it should be u8"));
}

TEST(DynamicQuantizeLinear, values) {
  struct Row {
    std::vector<double> x, y;
    double scale, zero_point;
  };
  const Row rows[] = {
      {{0, 2, -3, -2.5, 1.34, 0.5}, {153, 255, 0, 26, 221, 179}, 0.0196078438, 153},
      {{-1, -2.1, -1.3, -2.5, -3.34, -4}, {191, 121, 172, 96, 42, 0}, 0.0156862754, 255},
      {{1, 2.1, 1.3, 2.5, 3.34, 4, 1.5}, {64, 134, 83, 159, 213, 255, 96}, 0.0156862754, 0},
      {{0, 0}, {0, 0}, 1, 0},
      {{}, {}, 1, 0},
  };
  for (const Row& row : rows) {
    const Shape shape{static_cast<int64_t>(row.x.size())};
    const std::vector<Tensor> y = run_operator("DynamicQuantizeLinear", {tensor(DType::f32, shape, row.x)}, {}, 3);
    EXPECT_TRUE(near(y[0], shape, row.y, 0));
    EXPECT_TRUE(near(y[1], {}, {row.scale}));
    EXPECT_TRUE(near(y[2], {}, {row.zero_point}, 0));
  }
}

}  // namespace
}  // namespace minnow::test
