// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

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

TEST(Region, starts_anywhere_and_stays_inside) {
  const Tensor x = tensor(DType::i32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto region = [&](const Ints& starts, const Ints& sizes, const Ints& steps) {
    return run_operator("minnow.Region", {x, ints(starts)}, {{"sizes", sizes}, {"steps", steps}})[0];
  };
  EXPECT_TRUE(near(region({1, 3}, {2, 2}, {1, -2}), {2, 2}, {7, 5, 11, 9}));
  EXPECT_TRUE(near(region({2, 0}, {3, 1}, {-1, INT64_MAX}), {3, 1}, {8, 4, 0}));
  EXPECT_TRUE(near(region({0, 0}, {0, 4}, {1, 1}), {0, 4}, {}));
  EXPECT_THAT(error_of("minnow.Region", {x, ints({2, 0})}, {{"sizes", Ints{2, 1}}, {"steps", Ints{1, 1}}}),
              HasSubstr("2 places at steps of 1 from 2 leave axis 0 of size 3"));
  EXPECT_THAT(error_of("minnow.Region", {x, ints({-1, 0})}, {{"sizes", Ints{1, 1}}, {"steps", Ints{1, 1}}}),
              HasSubstr("start -1 is out of range for axis 0"));
  EXPECT_THAT(error_of("minnow.Region", {x, ints({0, 0})}, {{"sizes", Ints{4, 1}}, {"steps", Ints{1, 1}}}), HasSubstr("do not fit"));
  EXPECT_THAT(error_of("minnow.Region", {x, ints({0})}, {{"sizes", Ints{1, 1}}, {"steps", Ints{1, 1}}}), HasSubstr("every axis"));
}

}  // namespace
}  // namespace minnow::test
