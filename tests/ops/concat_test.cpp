// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Concat, follows_an_axis_and_passes_empty_inputs) {
  EXPECT_TRUE(near(run_operator("Concat", {pattern({2, 1, 2}), pattern({2, 0, 2}), pattern({2, 2, 2}, 5)}, along(-2))[0], {2, 3, 2},
                   {-0.5, 1.25, -0.5, 0.75, -0.75, 0.5, 0.25, -0.75, -1, 0.25, -1.25, 0}));
  EXPECT_TRUE(near(run_operator("Concat", {pattern({3})}, along(0))[0], {3}, {-0.5, 1.25, 0.25}));
  EXPECT_TRUE(near(run_operator("Concat", {pattern({0, 2}), pattern({0, 3})}, along(1))[0], {0, 5}, {}));
}

TEST(Concat, looks_at_the_size_of_elements_alone) {
  for (DType dtype : {DType::i4, DType::boolean, DType::f8e4m3fn, DType::bf16, DType::u32, DType::f64})
    EXPECT_TRUE(near(run_operator("Concat", {tensor(dtype, {2, 2}, {0, 1, 1, 0}), tensor(dtype, {2, 1}, {1, 1})}, along(1))[0], {2, 3},
                     {0, 1, 1, 1, 0, 1}))
        << name_of(dtype);
}

TEST(Concat, refuses_what_does_not_fit) {
  EXPECT_THAT(error_of("Concat", {pattern({2, 2}), pattern({3, 2})}, along(1)), HasSubstr("node \"node\" (Concat): input 1"));
  EXPECT_THAT(error_of("Concat", {pattern({2, 2}), pattern({2})}, along(0)), HasSubstr("[2]"));
  EXPECT_THAT(error_of("Concat", {pattern({2}), tensor(DType::f64, {1}, {0})}, along(0)), HasSubstr("is f64, it should be f32"));
  EXPECT_THAT(error_of("Concat", {pattern({})}, along(0)), HasSubstr("axis 0 is out of range for rank 0"));
  EXPECT_THAT(error_of("Concat", {pattern({2})}), HasSubstr("\"axis\" is missing"));
}

TEST(Split, cuts_by_sizes) {
  const auto parts = run_operator("Split", {pattern({2, 5}), Tensor::of_i64({3}, Ints{2, 2, 1})}, along(1), 3);
  EXPECT_TRUE(near(parts[0], {2, 2}, {-0.5, 1.25, 0, -1}));
  EXPECT_TRUE(near(parts[1], {2, 2}, {0.25, -0.75, 0.75, -0.25}));
  EXPECT_TRUE(near(parts[2], {2, 1}, {1, -1.25}));
}

TEST(Split, cuts_into_equal_parts) {
  const auto parts = run_operator("Split", {pattern({5})}, {{"num_outputs", int64_t{2}}}, 2);
  EXPECT_TRUE(near(parts[0], {3}, {-0.5, 1.25, 0.25}));
  EXPECT_TRUE(near(parts[1], {2}, {-0.75, 1}));
  for (const Tensor& part : run_operator("Split", {pattern({0, 2})}, {{"num_outputs", int64_t{3}}}, 3)) EXPECT_TRUE(near(part, {0, 2}, {}));
}

TEST(Split, refuses_sizes_that_do_not_fit) {
  EXPECT_THAT(error_of("Split", {pattern({5}), Tensor::of_i64({2}, Ints{2, 2})}, along(0), 2), HasSubstr("[2, 2]"));
  EXPECT_THAT(error_of("Split", {pattern({5}), Tensor::of_i64({2}, Ints{6, -1})}, along(0), 2), HasSubstr("[6, -1]"));
  EXPECT_THAT(error_of("Split", {pattern({5}), Tensor::of_i64({1}, Ints{5})}, along(0), 2), HasSubstr("2 outputs"));
  EXPECT_THAT(error_of("Split", {pattern({5})}, {{"num_outputs", int64_t{3}}}, 2), HasSubstr("\"num_outputs\" is 3"));
}

}  // namespace
}  // namespace minnow::test
