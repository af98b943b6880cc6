// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(ConvInteger, zero_points_and_padding) {
  EXPECT_TRUE(
      near(run_operator("ConvInteger",
                        {tensor(DType::u8, {1, 2, 3, 3}, {207, 21, 45, 60, 46, 205, 222, 149, 10, 24, 85, 110, 159, 122, 67, 40, 177, 188}),
                         tensor(DType::u8, {2, 2, 2, 2}, {8, 29, 115, 100, 227, 132, 107, 110, 170, 150, 44, 188, 193, 244, 201, 72}),
                         tensor(DType::u8, {}, {100}), tensor(DType::u8, {}, {7})},
                        {{"pads", Ints{0, 1, 1, 0}}})[0],
           {1, 2, 3, 3},
           {-4789, -21402, -605, 11661, 34166, 16657, -4816, -2375, 26009, -6116, -9925, -2032, 26445, 8694, 8665, 3226, 33982, 30295}));
  EXPECT_TRUE(
      near(run_operator("ConvInteger",
                        {tensor(DType::u8, {1, 2, 2, 2}, {81, 166, 166, 178, 222, 74, 240, 0}),
                         tensor(DType::u8, {2, 1, 1, 2}, {19, 249, 241, 76}), tensor(DType::u8, {}, {100}), tensor(DType::u8, {}, {7})},
                        {{"group", int64_t{2}}})[0],
           {1, 2, 2, 1}, {15744, 19668, 26754, 25860}));
  // A zero point for each filter: 1 * (3 - 1) + 2 * (4 - 1), 1 * (5 - 2) + 2 * (6 - 2).
  EXPECT_TRUE(near(run_operator("ConvInteger", {tensor(DType::u8, {1, 1, 1, 2}, {1, 2}), tensor(DType::i8, {2, 1, 1, 2}, {3, 4, 5, 6}),
                                                Tensor(), tensor(DType::i8, {2}, {1, 2})})[0],
                   {1, 2, 1, 1}, {8, 11}));
}

TEST(MatMulInteger, zero_points) {
  EXPECT_TRUE(near(run_operator("MatMulInteger", {tensor(DType::u8, {2, 3}, {35, 80, 11, 228, 169, 149}),
                                                  tensor(DType::i8, {3, 2}, {-66, -8, -80, 69, -7, -121}), tensor(DType::u8, {}, {100}),
                                                  tensor(DType::i8, {}, {7})})[0],
                   {2, 2}, {7731, 11127, -16033, -3914}));
  EXPECT_TRUE(near(run_operator("MatMulInteger", {tensor(DType::u8, {2, 3}, {65, 180, 133, 95, 64, 23}),
                                                  tensor(DType::i8, {3, 2}, {27, 41, 5, 110, 109, -75}), tensor(DType::u8, {}, {100}),
                                                  tensor(DType::i8, {2}, {7, -9})})[0],
                   {2, 2}, {2506, 5592, -7882, 548}));
  EXPECT_TRUE(near(run_operator("MatMulInteger", {tensor(DType::i8, {2, 1, 3}, {27, 33, -65, -52, -4, 61}),
                                                  tensor(DType::i8, {2, 3, 2}, {-54, 56, 39, -73, -29, 84, 87, 40, -127, 46, -71, 81})})[0],
                   {2, 1, 2}, {1714, -6357, -8347, 2677}));
  // A zero point for each row; number from NumPy.
  EXPECT_TRUE(
      near(run_operator("MatMulInteger", {tensor(DType::u8, {2, 3}, {233, 109, 244, 194, 83, 224}),
                                          tensor(DType::i8, {3, 2}, {-30, -102, 23, 89, 40, -28}), tensor(DType::u8, {2}, {10, 200})})[0],
           {2, 2}, {4947, -20487, -1551, -10473}));
}

TEST(QLinearConv, rounds_once_and_saturates) {
  EXPECT_TRUE(near(
      run_operator("QLinearConv",
                   {tensor(DType::u8, {1, 2, 3, 3}, {230, 122, 98, 37, 54, 178, 204, 74, 160, 223, 37, 70, 134, 143, 101, 102, 33, 156}),
                    tensor(DType::f32, {}, {0.02}), tensor(DType::u8, {}, {11}),
                    tensor(DType::i8, {2, 2, 2, 2}, {110, -78, 76, -82, -117, 63, -82, 64, -44, 17, 112, 107, -7, -76, -64, 89}),
                    tensor(DType::f32, {}, {0.029999999}), tensor(DType::i8, {}, {0}), tensor(DType::f32, {}, {0.5}),
                    tensor(DType::u8, {}, {130}), tensor(DType::i32, {2}, {300, -500})},
                   {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 1}}})[0],
      {1, 2, 3, 2}, {121, 132, 117, 140, 127, 139, 160, 137, 130, 140, 145, 129}));
  EXPECT_TRUE(
      near(run_operator("QLinearConv",
                        {tensor(DType::i8, {1, 2, 3, 3}, {22, -85, 98, 118, 120, 31, 121, 27, 0, 120, 26, 73, -42, 74, 121, -115, 9, -34}),
                         tensor(DType::f32, {}, {0.02}), tensor(DType::i8, {}, {11}),
                         tensor(DType::i8, {2, 2, 2, 2}, {-115, -107, -60, -79, 55, -74, 32, 91, -2, -96, -111, -53, -23, -2, -50, 89}),
                         tensor(DType::f32, {}, {0.029999999}), tensor(DType::i8, {}, {0}), tensor(DType::f32, {}, {0.5}),
                         tensor(DType::i8, {}, {-3}), tensor(DType::i32, {2}, {300, -500})},
                        {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 1}}})[0],
           {1, 2, 3, 2}, {11, -7, 1, -8, -55, 1, -4, -19, -7, -15, -23, -3}));
  EXPECT_TRUE(near(
      run_operator("QLinearConv",
                   {tensor(DType::u8, {1, 2, 3, 3}, {145, 247, 239, 181, 7, 54, 191, 139, 241, 180, 209, 13, 75, 174, 162, 94, 40, 150}),
                    tensor(DType::f32, {}, {0.02}), tensor(DType::u8, {}, {11}),
                    tensor(DType::u8, {2, 2, 2, 2}, {22, 171, 205, 171, 16, 133, 77, 142, 174, 50, 9, 126, 158, 32, 236, 123}),
                    tensor(DType::f32, {}, {0.029999999}), tensor(DType::u8, {}, {120}), tensor(DType::f32, {}, {0.5}),
                    tensor(DType::u8, {}, {130}), tensor(DType::i32, {2}, {300, -500})},
                   {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 1}}})[0],
      {1, 2, 3, 2}, {155, 154, 129, 100, 127, 123, 137, 99, 92, 160, 115, 128}));
  EXPECT_TRUE(near(run_operator("QLinearConv",
                                {tensor(DType::u8, {2, 2, 2, 2}, {247, 137, 186, 198, 127, 100, 170, 5, 158, 135, 38, 52, 8, 189, 175, 99}),
                                 tensor(DType::f32, {}, {0.02}), tensor(DType::u8, {}, {11}),
                                 tensor(DType::i8, {4, 1, 1, 2}, {116, -31, -50, 104, -107, -28, -122, -39}),
                                 tensor(DType::f32, {4}, {0.029999999, 0.0099999998, 0.2, 0.1}), tensor(DType::i8, {4}, {0, 0, 0, 0}),
                                 tensor(DType::f32, {}, {0.1}), tensor(DType::u8, {}, {130})},
                                {{"group", int64_t{2}}})[0],
                   {2, 4, 2, 1}, {255, 217, 133, 151, 0, 0, 0, 0, 209, 141, 141, 136, 0, 0, 0, 0}));
}

TEST(QLinearMatMul, rounds_once_and_saturates) {
  EXPECT_TRUE(near(run_operator("QLinearMatMul", {tensor(DType::u8, {2, 3}, {185, 89, 126, 123, 15, 23}), tensor(DType::f32, {}, {0.02}),
                                                  tensor(DType::u8, {}, {11}), tensor(DType::i8, {3, 2}, {-52, 11, -110, 107, 90, 16}),
                                                  tensor(DType::f32, {}, {0.029999999}), tensor(DType::i8, {}, {3}),
                                                  tensor(DType::f32, {}, {0.2}), tensor(DType::u8, {}, {130})})[0],
                   {2, 2}, {105, 163, 113, 134}));
  EXPECT_TRUE(near(run_operator("QLinearMatMul", {tensor(DType::i8, {2, 1, 3}, {59, 62, -126, 114, -116, 87}),
                                                  tensor(DType::f32, {}, {0.02}), tensor(DType::i8, {}, {11}),
                                                  tensor(DType::i8, {2, 3, 2}, {85, 62, -94, 80, 117, 81, 49, -64, 13, -5, 94, -41}),
                                                  tensor(DType::f32, {}, {0.029999999}), tensor(DType::i8, {}, {3}),
                                                  tensor(DType::f32, {}, {0.2}), tensor(DType::i8, {}, {-5})})[0],
                   {2, 1, 2}, {-55, -17, 26, -33}));
  EXPECT_TRUE(near(run_operator("QLinearMatMul", {tensor(DType::u8, {2, 3}, {104, 67, 125, 146, 117, 81}), tensor(DType::f32, {}, {0.02}),
                                                  tensor(DType::u8, {}, {11}), tensor(DType::i8, {3, 2}, {12, 30, -86, 21, 52, -102}),
                                                  tensor(DType::f32, {2}, {0.029999999, 0.30000001}), tensor(DType::i8, {2}, {0, 0}),
                                                  tensor(DType::f32, {}, {0.5}), tensor(DType::u8, {}, {130})})[0],
                   {2, 2}, {133, 38, 125, 120}));
}

TEST(QLinearMatMul, rows_and_float8) {
  // By hand: (1 * 2 + 2 * 3) * 0.5 * 1 / 2 = 2 and (3 * 2 + 4 * 3) * 2 * 1 / 2 = 18.
  EXPECT_TRUE(near(run_operator("QLinearMatMul", {tensor(DType::i8, {2, 2}, {1, 2, 3, 4}), tensor(DType::f32, {2}, {0.5, 2}),
                                                  tensor(DType::i8, {2}, {0, 0}), tensor(DType::i8, {2, 1}, {2, 3}), Tensor::scalar_f32(1),
                                                  tensor(DType::i8, {}, {0}), Tensor::scalar_f32(2), tensor(DType::i8, {}, {0})})[0],
                   {2, 1}, {2, 18}));
  const DType f8 = DType::f8e4m3fn;
  EXPECT_TRUE(near(run_operator("QLinearMatMul", {tensor(f8, {1, 2}, {1, 448}), Tensor::scalar_f32(0.5), tensor(f8, {}, {0}),
                                                  tensor(f8, {2, 2}, {2, 3, 1, 0}), Tensor::scalar_f32(1), tensor(f8, {}, {0}),
                                                  Tensor::scalar_f32(0.25), tensor(f8, {}, {0})})[0],
                   {1, 2}, {448, 6}));
}

TEST(QuantizedConv, is_QLinearConv_with_Relu) {
  // The same as QLinearConv, whose results below the zero point become the zero point.
  EXPECT_TRUE(near(
      run_operator("minnow.QuantizedConv",
                   {tensor(DType::u8, {1, 2, 3, 3}, {158, 113, 238, 99, 80, 180, 222, 22, 27, 43, 87, 131, 145, 103, 225, 170, 42, 85}),
                    tensor(DType::f32, {}, {0.02}), tensor(DType::u8, {}, {11}),
                    tensor(DType::i8, {2, 2, 2, 2}, {-78, -78, 88, 110, -18, -66, 85, -91, -93, -57, -35, -42, -57, -71, 32, 9}),
                    tensor(DType::f32, {2}, {0.029999999, 0.0099999998}), tensor(DType::i8, {2}, {0, 0}), tensor(DType::f32, {}, {0.5}),
                    tensor(DType::u8, {}, {40}), tensor(DType::i32, {2}, {300, -500})})[0],
      {1, 2, 2, 2}, {32, 14, 52, 0, 29, 24, 28, 25}));
  EXPECT_TRUE(near(
      run_operator("minnow.QuantizedConv",
                   {tensor(DType::u8, {1, 2, 3, 3}, {158, 113, 238, 99, 80, 180, 222, 22, 27, 43, 87, 131, 145, 103, 225, 170, 42, 85}),
                    tensor(DType::f32, {}, {0.02}), tensor(DType::u8, {}, {11}),
                    tensor(DType::i8, {2, 2, 2, 2}, {-78, -78, 88, 110, -18, -66, 85, -91, -93, -57, -35, -42, -57, -71, 32, 9}),
                    tensor(DType::f32, {2}, {0.029999999, 0.0099999998}), tensor(DType::i8, {2}, {0, 0}), tensor(DType::f32, {}, {0.5}),
                    tensor(DType::u8, {}, {40}), tensor(DType::i32, {2}, {300, -500})},
                   {{"activation", std::string("Relu")}})[0],
      {1, 2, 2, 2}, {40, 40, 52, 40, 40, 40, 40, 40}));
}

TEST(QuantizedConv, a_bias_of_real_numbers_is_not_rounded) {
  // 1.5, 2.5 and 3.5 are rounded to even numbers; 0.05 more or less decides otherwise.
  const auto result = [](const Tensor& bias) {
    return run_operator("minnow.QuantizedConv", {tensor(DType::u8, {1, 1, 1, 3}, {3, 5, 7}), Tensor::scalar_f32(0.5),
                                                 tensor(DType::u8, {}, {0}), tensor(DType::i8, {1, 1, 1, 1}, {1}), Tensor::scalar_f32(1),
                                                 tensor(DType::i8, {}, {0}), Tensor::scalar_f32(1), tensor(DType::u8, {}, {0}), bias})[0];
  };
  EXPECT_TRUE(near(result(tensor(DType::i32, {1}, {0})), {1, 1, 1, 3}, {2, 2, 4}));
  EXPECT_TRUE(near(result(tensor(DType::f32, {1}, {0.1})), {1, 1, 1, 3}, {2, 3, 4}));
  EXPECT_TRUE(near(result(tensor(DType::f32, {1}, {-0.1})), {1, 1, 1, 3}, {1, 2, 3}));
}

TEST(QuantizedMatMul, adds_a_bias_and_applies_Relu) {
  // Numbers from NumPy.
  EXPECT_TRUE(near(run_operator("minnow.QuantizedMatMul",
                                {tensor(DType::u8, {2, 3}, {168, 239, 239, 32, 202, 106}), tensor(DType::f32, {}, {0.02}),
                                 tensor(DType::u8, {}, {11}), tensor(DType::i8, {3, 2}, {81, 43, -114, 98, 109, 127}),
                                 tensor(DType::f32, {2}, {0.029999999, 0.0099999998}), tensor(DType::i8, {2}, {0, 0}),
                                 tensor(DType::f32, {}, {0.5}), tensor(DType::u8, {}, {40}), tensor(DType::i32, {2}, {100, -2000})})[0],
                   {2, 2}, {54, 62, 28, 52}));
  EXPECT_TRUE(near(run_operator("minnow.QuantizedMatMul",
                                {tensor(DType::u8, {2, 3}, {168, 239, 239, 32, 202, 106}), tensor(DType::f32, {}, {0.02}),
                                 tensor(DType::u8, {}, {11}), tensor(DType::i8, {3, 2}, {81, 43, -114, 98, 109, 127}),
                                 tensor(DType::f32, {2}, {0.029999999, 0.0099999998}), tensor(DType::i8, {2}, {0, 0}),
                                 tensor(DType::f32, {}, {0.5}), tensor(DType::u8, {}, {40}), tensor(DType::i32, {2}, {100, -2000})},
                                {{"activation", std::string("Relu")}})[0],
                   {2, 2}, {54, 62, 40, 52}));
}

TEST(QuantizedConv, without_a_scale_the_result_is_f32) {
  // By hand: sums 2 * (3 - 1) + 1 = 5 and -3 * (3 - 1) - 4 = -10, 13 and -22, times 0.5 * 0.25 and 0.5 * 0.5.
  const std::vector<Tensor> inputs = {tensor(DType::u8, {1, 1, 1, 2}, {3, 7}),
                                      Tensor::scalar_f32(0.5),
                                      tensor(DType::u8, {}, {1}),
                                      tensor(DType::i8, {2, 1, 1, 1}, {2, -3}),
                                      tensor(DType::f32, {2}, {0.25, 0.5}),
                                      tensor(DType::i8, {2}, {0, 0}),
                                      Tensor(),
                                      Tensor(),
                                      tensor(DType::i32, {2}, {1, -4})};
  const std::vector<double> plain = {0.625, 1.625, -2.5, -5.5}, relu = {0.625, 1.625, 0, 0}, clip = {0.625, 1.5, -2.5, -3};
  const auto check = [&](const Attributes& attributes, const std::vector<double>& expected) {
    const Tensor y = run_operator("minnow.QuantizedConv", inputs, attributes)[0];
    EXPECT_EQ(y.dtype(), DType::f32);
    EXPECT_TRUE(near(y, {1, 2, 1, 2}, expected));
    EXPECT_TRUE(near(run_decomposition("minnow.QuantizedConv", inputs, attributes)[0], {1, 2, 1, 2}, expected));
  };
  check({}, plain);
  check({{"activation", std::string("Relu")}}, relu);
  check({{"activation", std::string("Clip")}, {"activation_alpha", -3.0f}, {"activation_beta", 1.5f}}, clip);
  using testing::HasSubstr;
  EXPECT_THAT(error_of("minnow.QuantizedConv", inputs, {{"activation", std::string("Tanh")}}), HasSubstr("Relu, Clip or nothing"));
  std::vector<Tensor> half = inputs;
  half[6] = Tensor::scalar_f32(1);
  EXPECT_THAT(error_of("minnow.QuantizedConv", half), HasSubstr("give y_scale and y_zero_point both"));
}

TEST(QuantizedConv, activations_and_scales_of_channels) {
  // By hand: sums 2 * (3 - 1) = 4 and -3 * (9 - 1) = -24, which are 4 * 0.5 * 0.5 = 1 and -24 * 0.25 * 0.5 = -3.
  const std::vector<Tensor> inputs = {tensor(DType::u8, {1, 2, 1, 1}, {3, 9}),
                                      tensor(DType::f32, {2}, {0.5, 0.25}),
                                      tensor(DType::u8, {}, {1}),
                                      tensor(DType::i8, {2, 1, 1, 1}, {2, -3}),
                                      Tensor::scalar_f32(0.5),
                                      tensor(DType::i8, {}, {0}),
                                      tensor(DType::f32, {2}, {0.25, 0.5}),
                                      tensor(DType::u8, {}, {100})};
  const auto check = [&](Attributes attributes, const std::vector<double>& expected) {
    attributes.set("group", int64_t{2});
    EXPECT_TRUE(near(run_operator("minnow.QuantizedConv", inputs, attributes)[0], {1, 2, 1, 1}, expected));
    EXPECT_TRUE(near(run_decomposition("minnow.QuantizedConv", inputs, attributes)[0], {1, 2, 1, 1}, expected));
  };
  check({}, {104, 94});
  check({{"activation", std::string("Relu")}}, {104, 100});
  check({{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.5f}}, {104, 97});
  check({{"activation", std::string("HardSwish")}}, {103, 100});
  check({{"activation", std::string("Clip")}, {"activation_alpha", -1.0f}, {"activation_beta", 0.5f}}, {102, 98});
}

TEST(QuantizedMatMul, without_a_scale_the_result_is_f32) {
  // By hand: (1 * 2 + 2 * 3 + 0.5) * 0.5 * 0.25 and (3 * 2 + 4 * 3 + 0.5) * 2 * 0.25, rows having scales of their own; then one for all.
  std::vector<Tensor> inputs = {tensor(DType::i8, {2, 2}, {1, 2, 3, 4}),
                                tensor(DType::f32, {2}, {0.5, 2}),
                                tensor(DType::i8, {2}, {0, 0}),
                                tensor(DType::i8, {2, 1}, {2, 3}),
                                Tensor::scalar_f32(0.25),
                                tensor(DType::i8, {}, {0}),
                                Tensor(),
                                Tensor(),
                                tensor(DType::f32, {1}, {0.5})};
  EXPECT_TRUE(near(run_operator("minnow.QuantizedMatMul", inputs)[0], {2, 1}, {1.0625, 9.25}));
  inputs[1] = Tensor::scalar_f32(0.5), inputs[2] = tensor(DType::i8, {}, {0});
  EXPECT_TRUE(near(run_operator("minnow.QuantizedMatMul", inputs)[0], {2, 1}, {1.0625, 2.3125}));
  EXPECT_TRUE(near(run_decomposition("minnow.QuantizedMatMul", inputs)[0], {2, 1}, {1.0625, 2.3125}));
}

TEST(QuantizedAdd, rounds_the_shifted_sum_upward_from_halfway) {
  // Numbers from Python's fractions.
  const Attributes attributes{
      {"factors", Ints{1572864, -700001}}, {"zero_points", Ints{3, -100, 7}}, {"shift", int64_t{20}}, {"bounds", Ints{-128, 127}}};
  const std::vector<Tensor> inputs = {tensor(DType::i8, {6}, {-128, -5, 0, 7, 127, 4}),
                                      tensor(DType::i8, {6}, {127, -100, 3, 55, -128, -100})};
  const std::vector<double> expected = {-128, -5, -66, -90, 127, 9};
  EXPECT_TRUE(near(run_operator("minnow.QuantizedAdd", inputs, attributes)[0], {6}, expected));
  EXPECT_TRUE(near(run_decomposition("minnow.QuantizedAdd", inputs, attributes)[0], {6}, expected));
  Attributes bounded = attributes;
  bounded.set("bounds", Ints{7, 60});
  EXPECT_TRUE(near(run_operator("minnow.QuantizedAdd", inputs, bounded)[0], {6}, {7, 7, 7, 7, 60, 9}));
  bounded.set("shift", int64_t{31});
  EXPECT_THAT(error_of("minnow.QuantizedAdd", inputs, bounded), testing::HasSubstr("beyond their range"));
}

TEST(QuantizedAdd, broadcasts) {
  const Attributes attributes{
      {"factors", Ints{300000, 2097152}}, {"zero_points", Ints{1, 130, 0}}, {"shift", int64_t{22}}, {"bounds", Ints{0, 255}}};
  const std::vector<Tensor> inputs = {tensor(DType::u8, {3, 1}, {0, 255, 128}), tensor(DType::u8, {2}, {255, 0})};
  const std::vector<double> expected = {62, 0, 81, 0, 72, 0};
  EXPECT_TRUE(near(run_operator("minnow.QuantizedAdd", inputs, attributes)[0], {3, 2}, expected));
  EXPECT_TRUE(near(run_decomposition("minnow.QuantizedAdd", inputs, attributes)[0], {3, 2}, expected));
}

TEST(QLinearConv, wrong_shapes) {
  using testing::HasSubstr;
  const Tensor x = tensor(DType::u8, {1, 1, 1, 1}, {1}), one = Tensor::scalar_f32(1), zero = tensor(DType::u8, {}, {0}),
               two = tensor(DType::f32, {2}, {1, 1});
  EXPECT_THAT(error_of("QLinearConv", {x, two, zero, x, one, zero, one, zero}), HasSubstr("should hold one element"));
  EXPECT_THAT(error_of("QLinearConv", {x, one, zero, x, two, zero, one, zero}), HasSubstr("should have shape [] or [1]"));
  EXPECT_THAT(error_of("QLinearConv", {x, one, tensor(DType::i8, {}, {0}), x, one, zero, one, zero}), HasSubstr("it should be u8 as"));
  EXPECT_THAT(error_of("minnow.QuantizedConv", {x, one, zero, x, one, zero}, {{"activation", std::string("Tanh")}}), HasSubstr("Clip"));
  EXPECT_THAT(error_of("minnow.QuantizedConv", {x, two, zero, x, one, zero, one, zero}),
              HasSubstr("input 1 (\"in1\") should have shape [] or [1]"));
  EXPECT_THAT(error_of("QLinearConv", {x, one, zero, x, one, zero, two, zero}), HasSubstr("input 6 (\"in6\") should hold one element"));
}

}  // namespace
}  // namespace minnow::test
