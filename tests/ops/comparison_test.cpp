// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor bools(const Shape& shape, const std::vector<double>& values) { return tensor(DType::boolean, shape, values); }

TEST(Comparison, values) {
  const std::vector<double> x = {kNaN, -kInf, -1, 0, 1};
  const std::pair<std::string_view, std::vector<double>> rows[] = {
      {"Equal", {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}},
      {"Greater", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0}},
      {"GreaterOrEqual", {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1}},
      {"Less", {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}},
      {"LessOrEqual", {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1}},
  };
  for (const auto& [op, y] : rows) {
    const Tensor result = run_operator(op, {tensor(DType::f32, {5, 1}, x), tensor(DType::f32, {1, 5}, x)})[0];
    EXPECT_EQ(result.dtype(), DType::boolean);
    EXPECT_TRUE(near(result, {5, 5}, y)) << op;
  }
}

TEST(Comparison, large_integers) {
  Tensor a(DType::u64, Shape{}), b(DType::u64, Shape{});
  *a.writable().data<uint64_t>() = 0x8000000000000001u, *b.writable().data<uint64_t>() = 0x8000000000000000u;
  EXPECT_TRUE(near(run_operator("Greater", {a, b})[0], {}, {1}));
  EXPECT_TRUE(near(run_operator("Equal", {a, b})[0], {}, {0}));
  EXPECT_TRUE(near(run_operator("Less", {Tensor::scalar_i64(-1), Tensor::scalar_i64(1)})[0], {}, {1}));
}

TEST(Comparison, infinities_and_nan) {
  const Tensor x = tensor(DType::f32, {4}, {kNaN, kInf, -kInf, 1});
  EXPECT_TRUE(near(run_operator("IsNaN", {x})[0], {4}, {1, 0, 0, 0}));
  EXPECT_TRUE(near(run_operator("IsInf", {x})[0], {4}, {0, 1, 1, 0}));
  EXPECT_TRUE(near(run_operator("IsInf", {x}, {{"detect_negative", int64_t{0}}})[0], {4}, {0, 1, 0, 0}));
  EXPECT_TRUE(near(run_operator("IsInf", {x}, {{"detect_positive", int64_t{0}}})[0], {4}, {0, 0, 1, 0}));
  EXPECT_TRUE(near(run_operator("IsNaN", {tensor(DType::f8e4m3fn, {3}, {kNaN, 448, 0})})[0], {3}, {1, 0, 0}));
  EXPECT_TRUE(near(run_operator("IsInf", {tensor(DType::f8e5m2, {3}, {kNaN, kInf, 0})})[0], {3}, {0, 1, 0}));
}

TEST(Where, broadcasts_all_three) {
  EXPECT_TRUE(near(run_operator("Where", {bools({2, 1}, {1, 0}), pattern({3}), tensor(DType::f32, {2, 1, 1}, {10, 20})})[0], {2, 2, 3},
                   {-0.5, 1.25, 0.25, 10, 10, 10, -0.5, 1.25, 0.25, 20, 20, 20}));
  EXPECT_TRUE(near(run_operator("Where", {bools({0}, {}), pattern({1}), pattern({1})})[0], {0}, {}));
  EXPECT_TRUE(near(run_operator("Where", {bools({}, {0}), bools({}, {1}), bools({}, {0})})[0], {}, {0}));
  EXPECT_THAT(error_of("Where", {bools({}, {0}), pattern({1}), pattern({1}, 7, DType::f16)}), HasSubstr("it should be f32"));
}

TEST(Logic, truth_tables) {
  const Tensor a = bools({2, 1}, {0, 1}), b = bools({2}, {0, 1});
  EXPECT_TRUE(near(run_operator("And", {a, b})[0], {2, 2}, {0, 0, 0, 1}));
  EXPECT_TRUE(near(run_operator("Or", {a, b})[0], {2, 2}, {0, 1, 1, 1}));
  EXPECT_TRUE(near(run_operator("Xor", {a, b})[0], {2, 2}, {0, 1, 1, 0}));
  EXPECT_TRUE(near(run_operator("Not", {b})[0], {2}, {1, 0}));
}

TEST(Logic, bits) {
  const Tensor a = tensor(DType::i8, {3}, {-1, 12, -128}), b = tensor(DType::i8, {3}, {7, 10, 127});
  EXPECT_TRUE(near(run_operator("BitwiseAnd", {a, b})[0], {3}, {7, 8, 0}, 0));
  EXPECT_TRUE(near(run_operator("BitwiseOr", {a, b})[0], {3}, {-1, 14, -1}, 0));
  EXPECT_TRUE(near(run_operator("BitwiseXor", {a, b})[0], {3}, {-8, 6, -1}, 0));
  EXPECT_TRUE(near(run_operator("BitwiseNot", {b})[0], {3}, {-8, -11, -128}, 0));
  EXPECT_TRUE(near(run_operator("BitwiseNot", {tensor(DType::u16, {1}, {1})})[0], {1}, {65534}, 0));
}

TEST(BitShift, places_beyond_the_type_are_lost) {
  const Tensor x = tensor(DType::u8, {4}, {255, 1, 129, 3}), by = tensor(DType::u8, {4}, {1, 7, 8, 200});
  EXPECT_TRUE(near(run_operator("BitShift", {x, by}, {{"direction", std::string("LEFT")}})[0], {4}, {254, 128, 0, 0}, 0));
  EXPECT_TRUE(near(run_operator("BitShift", {x, by}, {{"direction", std::string("RIGHT")}})[0], {4}, {127, 0, 0, 0}, 0));
  EXPECT_THAT(error_of("BitShift", {x, by}, {{"direction", std::string("UP")}}), HasSubstr("LEFT or RIGHT"));
  EXPECT_THAT(error_of("BitShift", {x, by}), HasSubstr("\"direction\" is missing"));
}

}  // namespace
}  // namespace minnow::test
