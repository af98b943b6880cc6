// SPDX-License-Identifier: Apache-2.0
// minnow.FixedPointLstm and its arithmetic: numbers of LiteRT 2.3.0. More layers are in tests/importers/tflite/operators_test.py.
#include <gmock/gmock.h>

#include <cmath>

#include "ops/fixed_point.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(FixedPoint, functions_are_close_to_the_real_ones_and_odd) {
  for (int bits = 0; bits <= 6; ++bits)
    for (int x = -32768; x <= 32767; x += bits == 3 ? 1 : 61) {
      const int16_t at = static_cast<int16_t>(x);
      const double real = std::ldexp(x, bits - 15);
      EXPECT_NEAR(fixed_point::tanh(at, bits), 32768 * std::tanh(real), 13) << bits << " bits, " << x;
      if (x > -32768) {
        EXPECT_EQ(fixed_point::tanh(static_cast<int16_t>(-x), bits), -fixed_point::tanh(at, bits));
      }
      if (bits == 3) {
        EXPECT_NEAR(fixed_point::logistic(at, bits), 32768 / (1 + std::exp(-real)), 7) << x;
      }
    }
  const int cells[][2] = {{49, 776}, {-483, -7588}, {1269, 18044}, {443, 6984}, {-454, -7148}, {-1249, -17836}};
  for (const auto& [x, y] : cells) EXPECT_EQ(fixed_point::tanh(static_cast<int16_t>(x), 4), y);
}

TEST(FixedPoint, products_and_quotients_are_rounded_to_nearest) {
  EXPECT_EQ(fixed_point::divide_by_power(5, 1), 3);
  EXPECT_EQ(fixed_point::divide_by_power(-5, 1), -3);
  EXPECT_EQ(fixed_point::divide_by_power(-5, 0), -5);
  EXPECT_EQ(fixed_point::Multiplier(0.5)(7), 4);
  EXPECT_EQ(fixed_point::Multiplier(3)(-7), -21);
  EXPECT_EQ(fixed_point::Multiplier(1e-3)(123456), 123);
  for (const double none : {0.0, -1.0, 1e-20, std::nan(""), HUGE_VAL}) EXPECT_EQ(fixed_point::Multiplier(none)(123456), 0) << none;
  for (const int32_t x : {2, 3, 100, 12345, 1 << 20, 1 << 30, INT32_MAX})
    EXPECT_NEAR(fixed_point::one_over_root(x)(1 << 30), (1 << 30) / std::sqrt(x), 2 + 2e-6 * (1 << 30) / std::sqrt(x)) << x;
}

const Attributes kPlain{{"x_scales", Floats{0.3276800215244293f, 0.40959998965263367f, 0.4915199875831604f, 0.5734400153160095f}},
                        {"h_scales", Floats{0.1744896024465561f, 0.1454080045223236f, 0.11632640659809113f, 0.08724480122327805f}},
                        {"x_zero_point", int64_t{7}},
                        {"y_zero_point", int64_t{9}},
                        {"hidden_zero_point", int64_t{9}},
                        {"hidden_scale", 0.0071f},
                        {"cell_exponent", int64_t{-11}}};

std::vector<Tensor> plain_inputs() {
  return {tensor(DType::i8, {2, 3, 2}, {-29, 125, 121, -124, -51, 26, 95, 56, -29, 71, -68, 5}),
          tensor(DType::i8, {4, 3, 2},
                 {-11, -101, 15, -75, -75, 81, -109, -60, -73, 20, -9, -71, -119, -7, -89, 11, -8, -89, 31, -104, -115, 73, 55, 33}),
          tensor(DType::i8, {4, 3, 3}, {117, 50,   -44, -35, -10, -19, 74, -121, -88, -86, 3,   37,  31, -2,   -2, 35,  27, 122,
                                        -10, -121, 31,  -75, 94,  -68, 27, -112, 63,  39,  -45, -10, 90, -120, 14, -41, 76, -87}),
          tensor(DType::i32, {4, 3}, {-7704, 6039, -4919, 5091, -8145, 212, 742, -2237, -3435, 4558, 81, 6716}),
          tensor(DType::i8, {3, 3}, std::vector<double>(9, 9)),
          tensor(DType::i16, {3, 3}, std::vector<double>(9, 0))};
}

TEST(FixedPointLstm, gives_LiteRTs_numbers) {
  const std::vector<Tensor> made = run_operator("minnow.FixedPointLstm", plain_inputs(), kPlain, 3);
  EXPECT_EQ(numbers(made[0]), (std::vector<double>{12, 23, -49, -55, 5, 19, 26, 31, -14, -8, -7, -51, -4, -4, -27, 47, 51, -19}));
  EXPECT_EQ(numbers(made[1]), (std::vector<double>{-8, -7, -51, -4, -4, -27, 47, 51, -19}));
}

TEST(FixedPointLstm, two_halves_of_a_sequence_give_the_whole) {
  std::vector<Tensor> inputs = plain_inputs();
  const std::vector<Tensor> whole = run_operator("minnow.FixedPointLstm", inputs, kPlain, 3);
  const std::vector<double> x = numbers(inputs[0]);
  std::vector<double> y;
  for (size_t step = 0; step < 2; ++step) {
    inputs[0] = tensor(DType::i8, {1, 3, 2}, std::vector<double>(x.begin() + step * 6, x.begin() + step * 6 + 6));
    const std::vector<Tensor> part = run_operator("minnow.FixedPointLstm", inputs, kPlain, 3);
    for (const double value : numbers(part[0])) y.push_back(value);
    inputs[4] = part[1], inputs[5] = part[2];
  }
  EXPECT_EQ(y, numbers(whole[0]));
  EXPECT_EQ(numbers(inputs[5]), numbers(whole[2]));
}

TEST(FixedPointLstm, coupled_gates_normalization_projection_and_clip_give_LiteRTs_numbers) {
  const Attributes attributes{{"x_scales", Floats{0.3333333134651184f, 0.3999999761581421f, 0.46666666865348816f}},
                              {"h_scales", Floats{0.18333330750465393f, 0.14666666090488434f, 0.10999999195337296f}},
                              {"norm_scales", Floats{3e-5f, 3e-5f, 3e-5f}},
                              {"x_zero_point", int64_t{7}},
                              {"y_zero_point", int64_t{-4}},
                              {"hidden_zero_point", int64_t{9}},
                              {"hidden_scale", 0.0071f},
                              {"projection_scale", 0.00322727276943624f},
                              {"projection_clip", int64_t{45}},
                              {"cell_exponent", int64_t{-11}}};
  const std::vector<Tensor> inputs = {
      tensor(DType::i8, {2, 3, 2}, {-105, -79, 42, -20, -93, -46, 64, -70, 67, 58, -104, 117}),
      tensor(DType::i8, {3, 3, 2}, {7, 125, -120, -14, 21, -16, -82, 7, -67, -20, -102, 2, -80, -69, -9, 32, 39, 124}),
      tensor(DType::i8, {3, 3, 2}, {-125, -108, -116, -78, 34, 116, 67, 7, -16, 98, 86, 9, 93, -93, 82, 88, -67, -48}),
      tensor(DType::i32, {3, 3}, {5277, 2765, -366, -1931, 2700, -1718, -4127, 296, -8910}),
      tensor(DType::i8, {3, 2}, std::vector<double>(6, -4)),
      tensor(DType::i16, {3, 3}, std::vector<double>(9, 0)),
      {},
      tensor(DType::i16, {3, 3}, {-2932, 7795, 29417, -4229, 24417, 10263, -21370, 19698, 5676}),
      tensor(DType::i8, {2, 3}, {62, -80, 127, -77, -86, -53}),
      tensor(DType::i32, {2}, {-5070, -6461})};
  EXPECT_EQ(numbers(run_operator("minnow.FixedPointLstm", inputs, attributes)[0]),
            (std::vector<double>{-12, -26, -30, -33, -11, -24, -23, -32, -34, -25, -5, -20}));
}

TEST(FixedPointLstm, errors_name_the_input) {
  const auto error = [](size_t input, const Tensor& given, Attributes attributes = kPlain) {
    std::vector<Tensor> inputs = plain_inputs();
    inputs[input] = given;
    return error_of("minnow.FixedPointLstm", inputs, attributes);
  };
  EXPECT_THAT(error(0, pattern({3, 2}, 1)), HasSubstr("input 0"));  // of another dtype
  EXPECT_THAT(error(1, Tensor(DType::i8, {5, 3, 2})), HasSubstr("W should have shape [3 or 4, hidden, 2], it has shape [5, 3, 2]"));
  EXPECT_THAT(error(2, Tensor(DType::i8, {4, 3, 2})), HasSubstr("should have shape [3, 2], it has shape [3, 3]"));
  EXPECT_THAT(error(3, Tensor(DType::i32, {4, 2})), HasSubstr("should have shape [4, 3], it has shape [4, 2]"));
  EXPECT_THAT(error(5, Tensor(DType::i16, {3, 4})), HasSubstr("should have shape [3, 3], it has shape [3, 4]"));
  Attributes few = kPlain;
  few.set("x_scales", Floats{1});
  EXPECT_THAT(error(3, plain_inputs()[3], few), HasSubstr("x_scales should hold 4 numbers, it holds 1"));
  Attributes large = kPlain;
  large.set("cell_exponent", int64_t{-8});
  EXPECT_THAT(error(3, plain_inputs()[3], large), HasSubstr("cell_exponent should be -15 to -9, it is -8"));
}

}  // namespace
}  // namespace minnow::test
