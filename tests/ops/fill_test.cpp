// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Constant, every_form) {
  EXPECT_TRUE(near(run_operator("Constant", {}, {{"value", pattern({2})}})[0], {2}, {-0.5, 1.25}));
  EXPECT_TRUE(near(run_operator("Constant", {}, {{"value_float", 2.5f}})[0], {}, {2.5}));
  EXPECT_TRUE(near(run_operator("Constant", {}, {{"value_ints", Ints{3, 4}}})[0], {2}, {3, 4}));
  EXPECT_EQ(run_operator("Constant", {}, {{"value_int", int64_t{7}}})[0].dtype(), DType::i64);
  EXPECT_THAT(error_of("Constant", {}), HasSubstr("none of the attributes"));
}

TEST(ConstantOfShape, fills) {
  EXPECT_TRUE(near(run_operator("ConstantOfShape", {ints({2, 1})})[0], {2, 1}, {0, 0}));
  EXPECT_TRUE(near(run_operator("ConstantOfShape", {ints({3})}, {{"value", tensor(DType::i4, {1}, {-2})}})[0], {3}, {-2, -2, -2}));
  EXPECT_TRUE(near(run_operator("ConstantOfShape", {ints({})}, {{"value", tensor(DType::f16, {}, {5})}})[0], {}, {5}));
  EXPECT_TRUE(near(run_operator("ConstantOfShape", {ints({0, 7})})[0], {0, 7}, {}));
  EXPECT_THAT(error_of("ConstantOfShape", {ints({-1})}), HasSubstr("negative"));
  EXPECT_THAT(error_of("ConstantOfShape", {ints({1 << 30, 1 << 30})}), HasSubstr("more"));
  EXPECT_THAT(error_of("ConstantOfShape", {ints({2})}, {{"value", pattern({2})}}), HasSubstr("one element"));
}

TEST(Range, integers_and_floats) {
  const auto of = [](DType dtype, double start, double limit, double delta) {
    return run_operator("Range", {tensor(dtype, {}, {start}), tensor(dtype, {}, {limit}), tensor(dtype, {}, {delta})})[0];
  };
  EXPECT_TRUE(near(of(DType::i64, 3, 9, 3), {2}, {3, 6}));
  EXPECT_TRUE(near(of(DType::i32, 10, 4, -4), {2}, {10, 6}));
  EXPECT_TRUE(near(of(DType::i16, 5, 5, 1), {0}, {}));
  EXPECT_TRUE(near(of(DType::f64, 0, -1, 0.5), {0}, {}));
  EXPECT_TRUE(near(of(DType::f32, 0.1, 1, 0.1), {9},
                   {0.100000001f, 0.200000003f, 0.300000012f, 0.400000006f, 0.5f, 0.600000024f, 0.700000048f, 0.800000012f, 0.900000036f},
                   0));
  const Tensor lowest = Tensor::scalar_i64(INT64_MIN), highest = Tensor::scalar_i64(INT64_MAX);
  EXPECT_TRUE(near(run_operator("Range", {lowest, highest, highest})[0], {3}, {-0x1p63, -1, 0x1p63 - 2}));
  EXPECT_THAT(error_of("Range", {lowest, highest, Tensor::scalar_i64(1)}), HasSubstr("makes"));
  EXPECT_THAT(error_of("Range", {highest, highest, Tensor::scalar_i64(0)}), HasSubstr("delta is 0"));
  EXPECT_THAT(error_of("Range", {Tensor::scalar_f32(0), Tensor::scalar_f32(NAN), Tensor::scalar_f32(1)}), HasSubstr("makes nan"));
  EXPECT_THAT(error_of("Range", {Tensor::scalar_f32(0), Tensor::scalar_f32(1), Tensor::scalar_f32(0)}), HasSubstr("makes inf"));
}

TEST(OneHot, places_the_new_axis) {
  const Tensor values = ints({7, 9});
  EXPECT_TRUE(near(run_operator("OneHot", {ints({1, -1, 3}), Tensor::scalar_i64(3), values})[0], {3, 3}, {7, 9, 7, 7, 7, 9, 7, 7, 7}));
  EXPECT_TRUE(near(run_operator("OneHot", {ints({1, 0}), ints({2}), values}, {{"axis", int64_t{0}}})[0], {2, 2}, {7, 9, 9, 7}));
  EXPECT_TRUE(near(run_operator("OneHot", {tensor(DType::f32, {}, {1.9}), Tensor::scalar_f32(2), values})[0], {2}, {7, 9}));
  EXPECT_TRUE(near(run_operator("OneHot", {tensor(DType::f32, {2}, {NAN, 1e30}), Tensor::scalar_f32(1), values})[0], {2, 1}, {7, 7}));
  EXPECT_TRUE(near(run_operator("OneHot", {ints({0}), Tensor::scalar_i64(0), values})[0], {1, 0}, {}));
  EXPECT_TRUE(near(run_operator("OneHot", {ints({INT64_MIN}), Tensor::scalar_i64(1), values})[0], {1, 1}, {7}));
  EXPECT_THAT(error_of("OneHot", {ints({0}), Tensor::scalar_i64(-1), values}), HasSubstr("depth is -1"));
  EXPECT_THAT(error_of("OneHot", {ints({0}), Tensor::scalar_i64(1), ints({1})}), HasSubstr("a pair"));
}

TEST(Trilu, upper_and_lower) {
  const auto k = [](int64_t value) { return Tensor::scalar_i64(value); };
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({2, 2, 3}), k(1)})[0], {2, 2, 3}, {0, 1.25, 0.25, 0, 0, 0, 0, 0.75, -0.25, 0, 0, -0.5}));
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({2, 3}), k(-1)}, {{"upper", int64_t{0}}})[0], {2, 3}, {0, 0, 0, -0.75, 0, 0}));
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({3, 2}), k(-1)})[0], {3, 2}, {-0.5, 1.25, 0.25, -0.75, 0, 0}));
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({2, 2})})[0], {2, 2}, {-0.5, 1.25, 0, -0.75}));
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({2, 2}), k(INT64_MAX)})[0], {2, 2}, {0, 0, 0, 0}));
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({2, 2}), k(INT64_MIN)})[0], {2, 2}, {-0.5, 1.25, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Trilu", {pattern({0, 2})})[0], {0, 2}, {}));
  EXPECT_THAT(error_of("Trilu", {pattern({2})}), HasSubstr("takes matrices"));
}

}  // namespace
}  // namespace minnow::test
