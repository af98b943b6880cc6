// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor ints(const Ints& values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }

TEST(Slice, backward_and_beyond_the_end) {
  EXPECT_TRUE(near(run_operator("Slice", {pattern({3, 4}), ints({-1, -2}), ints({-99, 1000}), ints({0, 1}), ints({-1, 1})})[0], {3, 2},
                   {0.5, -0.5, -1, 0.75, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Slice", {pattern({2, 5}), ints({10}), ints({-100}), ints({-1}), ints({-2})})[0], {2, 3},
                   {1, 0.25, -0.5, -1.25, 0.75, 0}));
}

TEST(Slice, without_axes_the_first_ones_are_cut) {
  EXPECT_TRUE(near(run_operator("Slice", {pattern({3, 2}), ints({1}), ints({2})})[0], {1, 2}, {0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Slice", {pattern({3}), ints({}), ints({})})[0], {3}, {-0.5, 1.25, 0.25}));
  EXPECT_TRUE(near(run_operator("Slice", {pattern({}), ints({}), ints({})})[0], {}, {-0.5}));
}

TEST(Slice, extreme_numbers) {
  EXPECT_TRUE(
      near(run_operator("Slice", {pattern({3}), ints({INT64_MAX}), ints({INT64_MIN}), ints({0}), ints({INT64_MIN})})[0], {1}, {0.25}));
  EXPECT_TRUE(
      near(run_operator("Slice", {pattern({3}), ints({INT64_MIN}), ints({INT64_MAX}), ints({0}), ints({INT64_MAX})})[0], {1}, {-0.5}));
  EXPECT_TRUE(near(run_operator("Slice", {pattern({3}), ints({2}), ints({1})})[0], {0}, {}));
  EXPECT_TRUE(near(run_operator("Slice", {pattern({0, 2}), ints({-1}), ints({-5}), ints({0}), ints({-1})})[0], {0, 2}, {}));
}

TEST(Slice, indices_of_32_bits) {
  const auto narrow = [](std::vector<double> v) { return tensor(DType::i32, {1}, v); };
  EXPECT_TRUE(near(run_operator("Slice", {tensor(DType::u4, {4}, {1, 2, 3, 4}), narrow({0}), narrow({4}), narrow({0}), narrow({3})})[0],
                   {2}, {1, 4}));
}

TEST(Slice, refuses) {
  EXPECT_THAT(error_of("Slice", {pattern({3}), ints({0}), ints({1}), ints({0}), ints({0})}), HasSubstr("steps [0] hold a 0"));
  EXPECT_THAT(error_of("Slice", {pattern({3}), ints({0}), ints({1}), ints({1})}), HasSubstr("axis 1 is out of range"));
  EXPECT_THAT(error_of("Slice", {pattern({3, 3}), ints({0, 0}), ints({1, 1}), ints({1, -1})}), HasSubstr("twice"));
  EXPECT_THAT(error_of("Slice", {pattern({3}), ints({0, 0}), ints({1})}), HasSubstr("one length"));
}

}  // namespace
}  // namespace minnow::test
