// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy and ml_dtypes; those of f8e8m0 from its definition.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor cast_to(const Tensor& x, DType to, Attributes attributes = {}) {
  attributes.set("to", static_cast<int64_t>(to));
  return run_operator("Cast", {x}, attributes)[0];
}

TEST(Cast, floats_of_a_byte) {
  struct Row {
    DType to;
    bool saturate;
    std::vector<double> y;
  };
  const Row rows[] = {
      {DType::f8e4m3fn, true, {0, -0.0, kNaN, 448, -448, 448, -448, 448, 448, 448, 0, 0.001953125, 1, 1.25, -16}},
      {DType::f8e4m3fn, false, {0, -0.0, kNaN, kNaN, kNaN, kNaN, kNaN, 448, 448, kNaN, 0, 0.001953125, 1, 1.25, -16}},
      {DType::f8e4m3fnuz, true, {0, 0, kNaN, 240, -240, 240, -240, 240, 240, 240, 0.0009765625, 0.0009765625, 1, 1.25, -16}},
      {DType::f8e4m3fnuz, false, {0, 0, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, 0.0009765625, 0.0009765625, 1, 1.25, -16}},
      {DType::f8e5m2, true, {0, -0.0, kNaN, 57344, -57344, 57344, -57344, 448, 448, 448, 0.0009765625, 0.0009765625, 1, 1.25, -16}},
      {DType::f8e5m2, false, {0, -0.0, kNaN, kInf, -kInf, kInf, -kInf, 448, 448, 448, 0.0009765625, 0.0009765625, 1, 1.25, -16}},
      {DType::f8e5m2fnuz, true, {0, 0, kNaN, 57344, -57344, 57344, -57344, 448, 448, 448, 0.0009765625, 0.0009765625, 1, 1.25, -16}},
      {DType::f8e5m2fnuz, false, {0, 0, kNaN, kNaN, kNaN, kNaN, kNaN, 448, 448, 448, 0.0009765625, 0.0009765625, 1, 1.25, -16}},
  };
  const Tensor x = tensor(DType::f32, {15},
                          {0, -0.0, kNaN, kInf, -kInf, 1000000, -1000000, 448, 464, 465, 0.0009765625, 0.00100000005, 1.0625, 1.1875, -17});
  for (const Row& row : rows) {
    const Tensor y = cast_to(x, row.to, {{"saturate", int64_t{row.saturate}}});
    EXPECT_EQ(y.dtype(), row.to);
    EXPECT_TRUE(near(y, {15}, row.y, 0)) << name_of(row.to) << row.saturate;
  }
}

TEST(Cast, float_of_four_bits_saturates) {
  EXPECT_TRUE(near(cast_to(tensor(DType::f32, {10}, {0, -0.0, 0.25, 0.75, 1.25, 2.5, 5, 7, kInf, -1000000000}), DType::f4e2m1), {10},
                   {0, -0.0, 0, 1, 1, 2, 4, 6, 6, -6}, 0));
}

TEST(Cast, scales_of_eight_exponent_bits) {
  const Tensor x = tensor(DType::f64, {11}, {0x1p-128, 0x1p-127, 0.75, 1, 1.25, 1.5, 3, 0x1p127, 0x1.8p127, kInf, kNaN});
  const auto scaled = [&](const char* mode, int64_t saturate) {
    return cast_to(x, DType::f8e8m0, {{"round_mode", std::string(mode)}, {"saturate", saturate}});
  };
  EXPECT_TRUE(near(scaled("up", 1), {11}, {0x1p-127, 0x1p-127, 1, 1, 2, 2, 4, 0x1p127, 0x1p127, 0x1p127, kNaN}, 0));
  EXPECT_TRUE(near(scaled("down", 1), {11}, {0x1p-127, 0x1p-127, 0.5, 1, 1, 1, 2, 0x1p127, 0x1p127, 0x1p127, kNaN}, 0));
  EXPECT_TRUE(near(scaled("nearest", 0), {11}, {kNaN, 0x1p-127, 1, 1, 1, 2, 4, 0x1p127, kNaN, kNaN, kNaN}, 0));
  EXPECT_THAT(error_of("Cast", {x}, {{"to", static_cast<int64_t>(DType::f8e8m0)}, {"round_mode", std::string("even")}}),
              HasSubstr("up, down or nearest"));
}

TEST(Cast, narrow_floats_are_rounded_once) {
  // 1 + 2^-11 + 2^-40 lies above the tie between two f16 numbers; by way of f32 it would fall onto it and go down.
  EXPECT_TRUE(near(cast_to(tensor(DType::f64, {}, {1 + 0x1p-11 + 0x1p-40}), DType::f16), {}, {1.0009765625}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::f64, {2}, {1 + 0x1p-11, 65520}), DType::f16), {2}, {1, kInf}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::f32, {2}, {3.4e38, 1.00390625}), DType::bf16), {2}, {kInf, 1}, 0));
}

TEST(Cast, large_integers_are_rounded_once) {
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 38);  // between two f32 numbers
  EXPECT_EQ(cast_to(Tensor::scalar_i64(tie), DType::f32).data<float>()[0], 0x1p62f);
  EXPECT_EQ(cast_to(Tensor::scalar_i64(tie + 1), DType::f32).data<float>()[0], 0x1.000002p62f);
  EXPECT_EQ(cast_to(Tensor::scalar_i64(-tie - 1), DType::f32).data<float>()[0], -0x1.000002p62f);
  EXPECT_EQ(cast_to(Tensor::scalar_i64(std::numeric_limits<int64_t>::min()), DType::f32).data<float>()[0], -0x1p63f);
  Tensor large(DType::u64, Shape{});
  *large.writable().data<uint64_t>() = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(cast_to(large, DType::f32).data<float>()[0], 0x1p64f);
  EXPECT_EQ(cast_to(large, DType::f64).data<double>()[0], 0x1p64);
  EXPECT_EQ(cast_to(large, DType::bf16).data<uint16_t>()[0], 0x5f80);
  EXPECT_EQ(cast_to(tensor(DType::f64, {}, {0x1.8p63}), DType::u64).data<uint64_t>()[0], 0xc000000000000000u);
}

TEST(Cast, integers) {
  EXPECT_TRUE(near(cast_to(tensor(DType::f32, {4}, {-2.9, -0.5, 0.9, 100.99}), DType::i8), {4}, {-2, 0, 0, 100}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::i32, {3}, {200, -1, 65537}), DType::i8), {3}, {-56, -1, 1}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::i32, {3}, {200, -1, 65537}), DType::u16), {3}, {200, 65535, 1}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::i32, {4}, {7, 8, -9, 15}), DType::i4), {4}, {7, -8, 7, -1}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::i32, {4}, {3, 4, -1, 6}), DType::u2), {4}, {3, 0, 3, 2}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::i4, {3}, {-8, 7, -1}), DType::f16), {3}, {-8, 7, -1}, 0));
}

TEST(Cast, truth) {
  EXPECT_TRUE(near(cast_to(tensor(DType::f32, {4}, {0.25, -0.0, kNaN, -kInf}), DType::boolean), {4}, {1, 0, 1, 1}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::i64, {2}, {256, 0}), DType::boolean), {2}, {1, 0}, 0));
  EXPECT_TRUE(near(cast_to(tensor(DType::boolean, {2}, {1, 0}), DType::bf16), {2}, {1, 0}, 0));
}

TEST(Cast, empty_and_scalar) {
  EXPECT_TRUE(near(cast_to(tensor(DType::f32, {0, 2}, {}), DType::i64), {0, 2}, {}));
  EXPECT_TRUE(near(cast_to(tensor(DType::f32, {}, {2.5}), DType::f64), {}, {2.5}));
}

TEST(Cast, errors) {
  const auto error = [](int64_t to) { return error_of("Cast", {pattern({1})}, {{"to", to}}); };
  EXPECT_THAT(error(99), HasSubstr("99"));
  EXPECT_THAT(error(static_cast<int64_t>(DType::string)), HasSubstr("string is not supported"));
  EXPECT_THAT(error(static_cast<int64_t>(DType::complex64)), HasSubstr("complex64 is not supported"));
  EXPECT_THAT(error_of("Cast", {pattern({1})}), HasSubstr("\"to\" is missing"));
}

TEST(CastLike, takes_the_dtype_of_the_second_input) {
  const Tensor y =
      run_operator("CastLike", {tensor(DType::f32, {2}, {1.5, 1000}), tensor(DType::f8e4m3fn, {0}, {})}, {{"saturate", int64_t{0}}})[0];
  EXPECT_EQ(y.dtype(), DType::f8e4m3fn);
  EXPECT_TRUE(near(y, {2}, {1.5, kNaN}, 0));
}

TEST(BitCast, keeps_the_bits) {
  const auto bit_cast = [](const Tensor& x, DType to) { return run_operator("BitCast", {x}, {{"to", static_cast<int64_t>(to)}})[0]; };
  EXPECT_TRUE(near(bit_cast(tensor(DType::f32, {2}, {1, -2}), DType::i32), {2}, {1065353216, -1073741824}, 0));
  EXPECT_TRUE(near(bit_cast(tensor(DType::f16, {1, 1}, {-1}), DType::u16), {1, 1}, {48128}, 0));
  EXPECT_TRUE(near(bit_cast(tensor(DType::u4, {3}, {15, 8, 7}), DType::i4), {3}, {-1, -8, 7}, 0));
  EXPECT_TRUE(near(bit_cast(tensor(DType::i2, {2}, {-1, 1}), DType::u2), {2}, {3, 1}, 0));
  EXPECT_TRUE(near(bit_cast(tensor(DType::i4, {2}, {-1, 3}), DType::f4e2m1), {2}, {-6, 1.5}, 0));
  EXPECT_TRUE(near(bit_cast(tensor(DType::u8, {0}, {}), DType::i8), {0}, {}));
  EXPECT_THAT(error_of("BitCast", {pattern({1})}, {{"to", static_cast<int64_t>(DType::i64)}}), HasSubstr("the bits of f32 (32 each)"));
}

}  // namespace
}  // namespace minnow::test
