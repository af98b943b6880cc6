// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

void expect(const std::vector<Tensor>& results, const Shape& shape, const std::vector<double>& y, const std::vector<double>& first,
            const std::vector<double>& inverse, const std::vector<double>& counts) {
  const auto list = [](const std::vector<double>& values) { return Shape{static_cast<int64_t>(values.size())}; };
  EXPECT_TRUE(near(results[0], shape, y));
  EXPECT_TRUE(near(results[1], list(first), first));
  EXPECT_TRUE(near(results[2], list(inverse), inverse));
  EXPECT_TRUE(near(results[3], list(counts), counts));
}

TEST(Unique, elements) {
  const Tensor x = tensor(DType::i32, {3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  expect(run_operator("Unique", {x}, {}, 4), {5}, {0, 1, 2, 3, 4}, {1, 0, 6, 7, 8}, {1, 0, 0, 1, 0, 0, 2, 3, 4}, {4, 2, 1, 1, 1});
  expect(run_operator("Unique", {tensor(DType::i64, {6}, {2, 1, 1, 3, 4, 3})}, {{"sorted", int64_t{0}}}, 4), {4}, {2, 1, 3, 4},
         {0, 1, 3, 4}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1});
}

TEST(Unique, slices) {
  const Tensor x = tensor(DType::f32, {3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  expect(run_operator("Unique", {x}, {{"axis", int64_t{0}}}, 4), {2, 3}, {1, 0, 0, 2, 3, 4}, {0, 2}, {0, 0, 1}, {2, 1});
  expect(run_operator("Unique", {x}, {{"axis", int64_t{-1}}}, 4), {3, 3}, {0, 0, 1, 0, 0, 1, 3, 4, 2}, {1, 2, 0}, {2, 0, 1}, {1, 1, 1});
  expect(
      run_operator("Unique", {tensor(DType::f16, {2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1})}, {{"axis", int64_t{1}}}, 4),
      {2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}, {1, 0, 2}, {1, 0, 2, 0}, {2, 1, 1});
}

TEST(Unique, odd_values) {
  expect(run_operator("Unique", {tensor(DType::f32, {5}, {NAN, -0.0, 0, NAN, -INFINITY})}, {}, 4), {3}, {-INFINITY, 0, NAN}, {4, 1, 0},
         {2, 1, 1, 2, 0}, {1, 2, 2});
  expect(run_operator("Unique", {pattern({0})}, {}, 4), {0}, {}, {}, {}, {});
  expect(run_operator("Unique", {tensor(DType::u8, {}, {3})}, {}, 4), {1}, {3}, {0}, {0}, {1});
  // Numbers of 64 bits that lie within 32, and that do not; doubles that floats do not hold.
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(
      run_operator("Unique", {Tensor::of_i64({4}, Ints{lowest + 7, lowest, lowest + 7, lowest + 0xffffffff})}, {}, 4)[1].data<int64_t>()[0],
      1);
  expect(run_operator("Unique", {tensor(DType::i64, {3}, {0x1p40, -3, 0x1p40})}, {}, 4), {2}, {-3, 0x1p40}, {1, 0}, {1, 0, 1}, {1, 2});
  expect(run_operator("Unique", {tensor(DType::f64, {3}, {1 + 0x1p-50, 1, 1 + 0x1p-50})}, {}, 4), {2}, {1, 1 + 0x1p-50}, {1, 0}, {1, 0, 1},
         {1, 2});
  const std::vector<uint64_t> large = {~uint64_t{0}, 1};
  const Tensor sorted = run_operator("Unique", {Tensor(TensorView(DType::u64, {2}, large.data()))})[0];
  EXPECT_EQ(sorted.data<uint64_t>()[0], 1u);
}

}  // namespace
}  // namespace minnow::test
