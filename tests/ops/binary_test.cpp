// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor i64s(const std::vector<int64_t>& values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }

TEST(Binary, broadcasting) {
  const Tensor a = pattern({2, 1, 3}), b = tensor(DType::f32, {4, 1}, {-0.5, 0.75, -0.75, 0.5});
  const std::pair<std::string_view, std::vector<double>> rows[] = {
      {"Add",
       {-1, 0.75, -0.25, 0.25, 2, 1, -1.25, 0.5, -0.5, 0, 1.75, 0.75, -1.25, 0.5, -0.5, 0, 1.75, 0.75, -1.5, 0.25, -0.75, -0.25, 1.5, 0.5}},
      {"Sub",
       {0, 1.75, 0.75, -1.25, 0.5, -0.5, 0.25, 2, 1, -1, 0.75, -0.25, -0.25, 1.5, 0.5, -1.5, 0.25, -0.75, 0, 1.75, 0.75, -1.25, 0.5, -0.5}},
      {"Mul", {0.25,  -0.625, -0.125, -0.375,  0.9375, 0.1875, 0.375,  -0.9375, -0.1875, -0.25,  0.625, 0.125,
               0.375, -0.5,   -0.0,   -0.5625, 0.75,   0,      0.5625, -0.75,   -0.0,    -0.375, 0.5,   0}},
      {"Div", {1,   -2.5, -0.5, -0.666666667, 1.66666667, 0.333333333, 0.666666667, -1.66666667, -0.333333333, -1,   2.5, 0.5,
               1.5, -2,   -0.0, -1,           1.33333333, 0,           1,           -1.33333333, -0.0,         -1.5, 2,   0}}};
  for (const auto& [op, y] : rows) EXPECT_TRUE(near(run_operator(op, {a, b})[0], {2, 4, 3}, y)) << op;
}

TEST(Binary, scalars_and_empty_tensors) {
  EXPECT_TRUE(near(run_operator("Add", {tensor(DType::f32, {}, {1}), tensor(DType::f32, {}, {2})})[0], {}, {3}));
  EXPECT_TRUE(near(run_operator("Mul", {tensor(DType::f32, {0, 1}, {}), pattern({3})})[0], {0, 3}, {}));
  EXPECT_TRUE(near(run_operator("Div", {tensor(DType::i32, {0}, {}), tensor(DType::i32, {1}, {0})})[0], {0}, {}));
}

TEST(Binary, division_by_zero) {
  EXPECT_TRUE(near(run_operator("Div", {tensor(DType::f32, {3}, {1, -1, 0}), tensor(DType::f32, {}, {0})})[0], {3}, {kInf, -kInf, kNaN}));
  for (std::string_view op : {"Div", "Mod"})
    EXPECT_THAT(error_of(op, {tensor(DType::i32, {2}, {1, 2}), tensor(DType::i32, {2}, {1, 0})}), HasSubstr("divided by zero"));
}

TEST(Binary, integers_wrap_around) {
  EXPECT_TRUE(near(run_operator("Add", {tensor(DType::u8, {2}, {250, 1}), tensor(DType::u8, {2}, {10, 2})})[0], {2}, {4, 3}, 0));
  EXPECT_TRUE(near(run_operator("Sub", {tensor(DType::u16, {1}, {1}), tensor(DType::u16, {1}, {3})})[0], {1}, {65534}, 0));
  EXPECT_TRUE(near(run_operator("Mul", {tensor(DType::i8, {2}, {100, -128}), tensor(DType::i8, {2}, {3, -1})})[0], {2}, {44, -128}, 0));
  const int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(*run_operator("Add", {i64s({highest}), i64s({1})})[0].data<int64_t>(), lowest);
  EXPECT_EQ(*run_operator("Mul", {i64s({highest}), i64s({2})})[0].data<int64_t>(), -2);
  EXPECT_EQ(*run_operator("Div", {i64s({lowest}), i64s({-1})})[0].data<int64_t>(), lowest);
  EXPECT_EQ(*run_operator("Mod", {i64s({lowest}), i64s({-1})})[0].data<int64_t>(), 0);
}

TEST(Binary, large_unsigned_integers) {
  Tensor a(DType::u64, Shape{1}), b(DType::u64, Shape{1});
  *a.writable().data<uint64_t>() = 0xffffffffffffff00u, *b.writable().data<uint64_t>() = 0x1001;
  EXPECT_EQ(*run_operator("Div", {a, b})[0].data<uint64_t>(), 0xffffffffffffff00u / 0x1001);
  EXPECT_EQ(*run_operator("Mod", {a, b})[0].data<uint64_t>(), 0xffffffffffffff00u % 0x1001);
  EXPECT_EQ(run_operator("Greater", {a, b})[0].data<uint8_t>()[0], 1);
}

TEST(Div, integers_are_cut_toward_zero) {
  EXPECT_TRUE(near(run_operator("Div", {i64s({-7, 7, -8, 8}), i64s({2, -2, 3, 3})})[0], {4}, {-3, -3, -2, 2}, 0));
}

TEST(Mod, sign_of_the_divisor_or_of_the_dividend) {
  const Tensor a = tensor(DType::i16, {5}, {-7, -6, 7, 6, 5}), b = tensor(DType::i16, {5}, {2, -4, -2, 4, 5});
  EXPECT_TRUE(near(run_operator("Mod", {a, b})[0], {5}, {1, -2, -1, 2, 0}, 0));
  EXPECT_TRUE(near(run_operator("Mod", {a, b}, {{"fmod", int64_t{1}}})[0], {5}, {-1, -2, 1, 2, 0}, 0));
}

TEST(Mod, floats) {
  const Tensor a = tensor(DType::f32, {6}, {-4.25, 7.5, 1, kInf, 3, kNaN}), b = tensor(DType::f32, {6}, {2, -2, 0, 2, kInf, 1});
  EXPECT_TRUE(near(run_operator("Mod", {a, b}, {{"fmod", int64_t{1}}})[0], {6}, {-0.25, 1.5, kNaN, kNaN, 3, kNaN}));
  EXPECT_TRUE(near(run_operator("Mod", {a, b})[0], {6}, {1.75, -0.5, kNaN, kNaN, 3, kNaN}));
}

TEST(Mod, floats_have_no_rounding) {
  std::vector<double> a, b, want;
  uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525u + 1013904223u; };
  for (int i = 0; i < 20000; ++i) {
    const float p = std::bit_cast<float>(next()), q = i % 3 ? std::bit_cast<float>(next()) : p / static_cast<float>(next() % 1000 + 1);
    if (!std::isfinite(p) || !std::isfinite(q) || q == 0) continue;
    a.push_back(p), b.push_back(q), want.push_back(std::fmod(double{p}, double{q}));
  }
  const Shape shape{static_cast<int64_t>(a.size())};
  const Tensor y = run_operator("Mod", {tensor(DType::f32, shape, a), tensor(DType::f32, shape, b)}, {{"fmod", int64_t{1}}})[0];
  EXPECT_EQ(numbers(y), want);
}

TEST(Pow, mixed_dtypes) {
  EXPECT_TRUE(
      near(run_operator("Pow", {tensor(DType::f32, {4}, {2, -2, 0.5, 0}), tensor(DType::i64, {4}, {3, 3, -2, 0})})[0], {4}, {8, -8, 4, 1}));
  EXPECT_TRUE(
      near(run_operator("Pow", {tensor(DType::i32, {3}, {2, 3, 10}), tensor(DType::f32, {3}, {0.5, 2.5, 2})})[0], {3}, {1, 15, 100}, 0));
  EXPECT_TRUE(near(run_operator("Pow", {tensor(DType::f32, {2}, {-8, 4}), tensor(DType::f32, {}, {0.5})})[0], {2}, {kNaN, 2}));
}

TEST(Pow, integers_are_exact) {
  EXPECT_EQ(*run_operator("Pow", {i64s({3}), i64s({39})})[0].data<int64_t>(), 4052555153018976267);
  EXPECT_TRUE(
      near(run_operator("Pow", {tensor(DType::i32, {5}, {-3, 7, 1, -1, 2}), i64s({3, -1, -5, -3, 33})})[0], {5}, {-27, 0, 1, -1, 0}, 0));
  EXPECT_THAT(error_of("Pow", {i64s({0}), i64s({-1})}), HasSubstr("0 is raised to the power -1"));
}

TEST(Binary, errors) {
  EXPECT_THAT(error_of("Add", {pattern({2, 3}), pattern({2})}), HasSubstr("shapes [[2, 3], [2]] cannot be broadcast together"));
  EXPECT_THAT(error_of("Add", {pattern({2}), pattern({2}, 7, DType::f64)}),
              HasSubstr("input 1 (\"B\") is f64, it should be f32 as \"A\" is"));
}

}  // namespace
}  // namespace minnow::test
