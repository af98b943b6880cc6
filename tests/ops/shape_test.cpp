// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Shape, lists_the_dimensions_of_an_interval) {
  const Tensor x = pattern({2, 0, 4});
  EXPECT_TRUE(near(run_operator("Shape", {x})[0], {3}, {2, 0, 4}));
  EXPECT_TRUE(near(run_operator("Shape", {x}, {{"start", int64_t{1}}})[0], {2}, {0, 4}));
  EXPECT_TRUE(near(run_operator("Shape", {x}, {{"start", int64_t{-1}}})[0], {1}, {4}));
  EXPECT_TRUE(near(run_operator("Shape", {x}, {{"start", int64_t{-9}}, {"end", int64_t{-1}}})[0], {2}, {2, 0}));
  EXPECT_TRUE(near(run_operator("Shape", {x}, {{"start", int64_t{2}}, {"end", int64_t{1}}})[0], {0}, {}));
  EXPECT_TRUE(near(run_operator("Shape", {x}, {{"end", int64_t{99}}})[0], {3}, {2, 0, 4}));
  EXPECT_TRUE(near(run_operator("Shape", {tensor(DType::i4, {}, {3})})[0], {0}, {}));
}

TEST(Size, counts_elements) {
  EXPECT_TRUE(near(run_operator("Size", {pattern({2, 3, 4})})[0], {}, {24}));
  EXPECT_TRUE(near(run_operator("Size", {pattern({2, 0})})[0], {}, {0}));
  EXPECT_TRUE(near(run_operator("Size", {pattern({})})[0], {}, {1}));
}

TEST(EyeLike, puts_ones_on_a_diagonal) {
  EXPECT_TRUE(near(run_operator("EyeLike", {pattern({2, 3})})[0], {2, 3}, {1, 0, 0, 0, 1, 0}));
  EXPECT_TRUE(near(run_operator("EyeLike", {pattern({2, 3})}, {{"k", int64_t{2}}})[0], {2, 3}, {0, 0, 1, 0, 0, 0}));
  EXPECT_TRUE(near(run_operator("EyeLike", {pattern({3, 2})}, {{"k", int64_t{-1}}})[0], {3, 2}, {0, 0, 1, 0, 0, 1}));
  EXPECT_TRUE(near(run_operator("EyeLike", {pattern({2, 2})}, {{"k", INT64_MIN}})[0], {2, 2}, {0, 0, 0, 0}));
  EXPECT_TRUE(near(run_operator("EyeLike", {pattern({0, 3})})[0], {0, 3}, {}));
  const Tensor half = run_operator("EyeLike", {pattern({2, 2})}, {{"dtype", static_cast<int64_t>(DType::f16)}})[0];
  EXPECT_EQ(half.dtype(), DType::f16);
  EXPECT_TRUE(near(half, {2, 2}, {1, 0, 0, 1}));
  EXPECT_THAT(error_of("EyeLike", {pattern({2})}), HasSubstr("of shape [2]"));
  EXPECT_THAT(error_of("EyeLike", {pattern({2, 2})}, {{"dtype", int64_t{8}}}), HasSubstr("\"dtype\" is 8"));
}

}  // namespace
}  // namespace minnow::test
