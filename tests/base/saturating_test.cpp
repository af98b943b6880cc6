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

}  // namespace
}  // namespace minnow
