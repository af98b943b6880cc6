// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Variadic, three_broadcast_inputs) {
  const std::vector<Tensor> inputs = {pattern({2, 3}), pattern({3}, 5), pattern({2, 1}, 3)};
  EXPECT_TRUE(near(run_operator("Max", inputs)[0], {2, 3}, {-0.5, 1.25, 0.25, 0.25, 1, 0.25}));
  EXPECT_TRUE(near(run_operator("Min", inputs)[0], {2, 3}, {-0.5, -0.5, -0.75, -0.75, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Sum", inputs)[0], {2, 3}, {-1.5, 1.5, -1, -1, 2, -0.5}));
  EXPECT_TRUE(near(run_operator("Mean", inputs)[0], {2, 3}, {-0.5, 0.5, -0.333333333, -0.333333333, 0.666666667, -0.166666667}));
}

TEST(Variadic, one_input) {
  for (std::string_view op : {"Max", "Min", "Sum", "Mean"})
    EXPECT_TRUE(near(run_operator(op, {pattern({2, 2})})[0], {2, 2}, numbers(pattern({2, 2})))) << op;
}

TEST(Variadic, nan_wins) {
  const Tensor a = tensor(DType::f32, {3}, {kNaN, 1, -kInf}), b = tensor(DType::f32, {3}, {1, kNaN, kInf});
  EXPECT_TRUE(near(run_operator("Max", {a, b})[0], {3}, {kNaN, kNaN, kInf}));
  EXPECT_TRUE(near(run_operator("Min", {a, b})[0], {3}, {kNaN, kNaN, -kInf}));
}

TEST(Variadic, integers) {
  Tensor a(DType::u64, Shape{}), b(DType::u64, Shape{});
  *a.writable().data<uint64_t>() = std::numeric_limits<uint64_t>::max(), *b.writable().data<uint64_t>() = 1;
  EXPECT_EQ(*run_operator("Max", {a, b})[0].data<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*run_operator("Min", {a, b})[0].data<uint64_t>(), 1u);
  EXPECT_TRUE(near(run_operator("Max", {tensor(DType::i8, {0, 2}, {}), tensor(DType::i8, {2}, {1, 2})})[0], {0, 2}, {}));
}

TEST(Variadic, errors) {
  EXPECT_THAT(error_of("Sum", {}), HasSubstr("at least one input"));
  EXPECT_THAT(error_of("Max", {pattern({2}), pattern({2}, 7, DType::f64)}), HasSubstr("it should be f32"));
}

}  // namespace
}  // namespace minnow::test
