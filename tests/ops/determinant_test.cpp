// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Det, batches) {
  EXPECT_TRUE(near(run_operator("Det", {tensor(DType::f32, {2, 3, 3}, {0, 2, 1, 1, 3, 4, 2, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9.5})})[0], {2},
                   {3.0, -1.5}));
  EXPECT_TRUE(near(run_operator("Det", {tensor(DType::f64, {2, 2}, {1, 2, 2, 4})})[0], {}, {0}));
  EXPECT_TRUE(near(run_operator("Det", {tensor(DType::f16, {1, 1}, {-3})})[0], {}, {-3}));
}

TEST(Det, empty) {
  EXPECT_TRUE(near(run_operator("Det", {tensor(DType::f32, {2, 0, 0}, {})})[0], {2}, {1, 1}));
  EXPECT_TRUE(near(run_operator("Det", {tensor(DType::f32, {0, 2, 2}, {})})[0], {0}, {}));
}

TEST(Det, errors) {
  EXPECT_THAT(error_of("Det", {pattern({2, 3})}), HasSubstr("those of a square, the shape is [2, 3]"));
  EXPECT_THAT(error_of("Det", {pattern({3})}), HasSubstr("square"));
}

}  // namespace
}  // namespace minnow::test
