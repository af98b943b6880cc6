// SPDX-License-Identifier: Apache-2.0
#include "base/saturating.h"

#include <gtest/gtest.h>

namespace minnow {
namespace {

TEST(Saturating, stays_at_the_largest_size) {
  EXPECT_EQ(product_of({}), 1u);
  EXPECT_EQ(product_of({3, 5, 7}), 105u);
  EXPECT_EQ(product_of({SIZE_MAX, 1}), SIZE_MAX);
  EXPECT_EQ(product_of({SIZE_MAX / 2, 3, 5}), SIZE_MAX);
  EXPECT_EQ(product_of({SIZE_MAX / 2, 3, 0}), 0u);
  EXPECT_EQ(sum_of({}), 0u);
  EXPECT_EQ(sum_of({3, 5, 7}), 15u);
  EXPECT_EQ(sum_of({SIZE_MAX, 1, 1}), SIZE_MAX);
}

TEST(Saturating, numbers_with_a_sign_stay_at_the_nearest_end) {
  EXPECT_EQ(clamped_product({}), 1);
  EXPECT_EQ(clamped_product({3, -5, 7}), -105);
  EXPECT_EQ(clamped_product({int64_t{1} << 62, 2}), INT64_MAX);
  EXPECT_EQ(clamped_product({int64_t{1} << 62, -4}), INT64_MIN);
  EXPECT_EQ(clamped_product({INT64_MIN, -1}), INT64_MAX);
  EXPECT_EQ(clamped_product({INT64_MAX, INT64_MAX, 0}), 0);
  EXPECT_EQ(clamped_sum({3, -5}), -2);
  EXPECT_EQ(clamped_sum({INT64_MAX, 1}), INT64_MAX);
  EXPECT_EQ(clamped_sum({INT64_MIN, -1}), INT64_MIN);
}

}  // namespace
}  // namespace minnow
