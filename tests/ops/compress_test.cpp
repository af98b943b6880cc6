// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor flags(const std::vector<double>& values) { return tensor(DType::boolean, {static_cast<int64_t>(values.size())}, values); }

TEST(Compress, slices_and_elements) {
  EXPECT_TRUE(near(run_operator("Compress", {pattern({2, 3}), flags({0, 1, 1})}, {{"axis", int64_t{-1}}})[0], {2, 2}, {1.25, 0.25, 1, 0}));
  EXPECT_TRUE(near(run_operator("Compress", {pattern({2, 3}), flags({0, 1, 1, 0, 1})})[0], {3}, {1.25, 0.25, 1}));
  EXPECT_TRUE(near(run_operator("Compress", {pattern({2, 3}), flags({})}, {{"axis", int64_t{0}}})[0], {0, 3}, {}));
  EXPECT_TRUE(near(run_operator("Compress", {pattern({1}), flags({1, 0, 0})})[0], {1}, {-0.5}));
  EXPECT_TRUE(near(run_operator("Compress", {pattern({2, 0}), flags({1})}, {{"axis", int64_t{0}}})[0], {1, 0}, {}));
  EXPECT_THAT(error_of("Compress", {pattern({1}), flags({1, 1})}), HasSubstr("condition 1 is true"));
  EXPECT_THAT(error_of("Compress", {pattern({1}), tensor(DType::boolean, {}, {1})}), HasSubstr("should be a list"));
}

TEST(NonZero, lists_coordinates) {
  EXPECT_TRUE(near(run_operator("NonZero", {tensor(DType::f32, {2, 3}, {0, 3, 0, 0.5, 0, -1})})[0], {2, 3}, {0, 1, 1, 1, 0, 2}));
  EXPECT_TRUE(near(run_operator("NonZero", {tensor(DType::f32, {3}, {NAN, -0.0, 1})})[0], {1, 2}, {0, 2}));
  EXPECT_TRUE(near(run_operator("NonZero", {flags({0, 0})})[0], {1, 0}, {}));
  EXPECT_TRUE(near(run_operator("NonZero", {tensor(DType::boolean, {2, 2, 3}, {0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1})})[0], {3, 4},
                   {0, 0, 1, 1, 0, 0, 0, 1, 1, 2, 0, 2}));
  EXPECT_TRUE(near(run_operator("NonZero", {tensor(DType::u64, {2, 1}, {0, 0x1p63})})[0], {2, 1}, {1, 0}));
  EXPECT_TRUE(near(run_operator("NonZero", {pattern({2, 0})})[0], {2, 0}, {}));
  EXPECT_TRUE(near(run_operator("NonZero", {pattern({0, 2})})[0], {2, 0}, {}));
  EXPECT_TRUE(near(run_operator("NonZero", {tensor(DType::i8, {}, {5})})[0], {0, 1}, {}));
}

}  // namespace
}  // namespace minnow::test
