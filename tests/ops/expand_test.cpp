// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Expand, broadcasts_both_ways) {
  EXPECT_TRUE(near(run_operator("Expand", {pattern({3, 1}), ints({2, 1, 2})})[0], {2, 3, 2},
                   {-0.5, -0.5, 1.25, 1.25, 0.25, 0.25, -0.5, -0.5, 1.25, 1.25, 0.25, 0.25}));
  EXPECT_TRUE(near(run_operator("Expand", {pattern({}), ints({3})})[0], {3}, {-0.5, -0.5, -0.5}));
  EXPECT_TRUE(near(run_operator("Expand", {pattern({2}), ints({})})[0], {2}, {-0.5, 1.25}));
  EXPECT_TRUE(near(run_operator("Expand", {pattern({1, 2}), ints({0, 2})})[0], {0, 2}, {}));
  EXPECT_THAT(error_of("Expand", {pattern({3}), ints({2})}), HasSubstr("cannot be broadcast"));
  EXPECT_THAT(error_of("Expand", {pattern({1}), ints({-1})}), HasSubstr("negative"));
  EXPECT_THAT(error_of("Expand", {pattern({1, 1}), ints({INT64_MAX, INT64_MAX})}), HasSubstr("memory"));
}

TEST(Tile, repeats_axes) {
  EXPECT_TRUE(
      near(run_operator("Tile", {pattern({2, 1, 3}), ints({2, 2, 1})})[0], {4, 2, 3},
           {-0.5, 1.25, 0.25, -0.5, 1.25, 0.25, -0.75, 1, 0, -0.75, 1, 0, -0.5, 1.25, 0.25, -0.5, 1.25, 0.25, -0.75, 1, 0, -0.75, 1, 0}));
  EXPECT_TRUE(near(run_operator("Tile", {pattern({2, 2}), ints({1, 3})})[0], {2, 6},
                   {-0.5, 1.25, -0.5, 1.25, -0.5, 1.25, 0.25, -0.75, 0.25, -0.75, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Tile", {pattern({2}), ints({0})})[0], {0}, {}));
  EXPECT_TRUE(near(run_operator("Tile", {pattern({}), ints({})})[0], {}, {-0.5}));
  EXPECT_THAT(error_of("Tile", {pattern({2}), ints({1, 1})}), HasSubstr("repeats [1, 1]"));
  EXPECT_THAT(error_of("Tile", {pattern({2}), ints({INT64_MAX})}), HasSubstr("cannot be repeated"));
  EXPECT_THAT(error_of("Tile", {pattern({2}), ints({-1})}), HasSubstr("cannot be repeated"));
}

}  // namespace
}  // namespace minnow::test
