// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Gather, along_an_inner_axis) {
  EXPECT_TRUE(near(run_operator("Gather", {pattern({2, 3, 2}), Tensor::of_i64({2, 2}, Ints{-1, 0, 1, 1})}, along(-2))[0], {2, 2, 2, 2},
                   {1, 0, -0.5, 1.25, 0.25, -0.75, 0.25, -0.75, 0.5, -0.5, -1, 0.75, -0.25, -1.25, -0.25, -1.25}));
}

TEST(Gather, a_scalar_index_takes_the_axis_away) {
  EXPECT_TRUE(near(run_operator("Gather", {pattern({2, 2}), Tensor::scalar_i64(1)})[0], {2}, {0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("Gather", {pattern({2}), tensor(DType::i32, {}, {-2})})[0], {}, {-0.5}));
  EXPECT_TRUE(near(run_operator("Gather", {pattern({2, 2}), Tensor::of_i64({0}, {})})[0], {0, 2}, {}));
  EXPECT_TRUE(near(run_operator("Gather", {tensor(DType::u2, {3}, {1, 2, 3}), Tensor::of_i64({2}, Ints{2, 0})})[0], {2}, {3, 1}));
}

TEST(Gather, refuses_indices_out_of_range) {
  EXPECT_THAT(error_of("Gather", {pattern({2, 3}), Tensor::scalar_i64(2)}), HasSubstr("index 2 is out of range for an axis of 2"));
  EXPECT_THAT(error_of("Gather", {pattern({2, 3}), Tensor::scalar_i64(-4)}, along(1)), HasSubstr("index -4"));
  EXPECT_THAT(error_of("Gather", {pattern({0}), Tensor::scalar_i64(0)}), HasSubstr("an axis of 0"));
  EXPECT_THAT(error_of("Gather", {pattern({}), Tensor::scalar_i64(0)}), HasSubstr("rank 0"));
  EXPECT_THAT(error_of("Gather", {pattern({2}), pattern({1})}), HasSubstr("input 1 (\"indices\") is f32"));
}

TEST(GatherElements, takes_single_elements) {
  EXPECT_TRUE(near(run_operator("GatherElements", {pattern({3, 3}), Tensor::of_i64({2, 3}, Ints{2, -1, 0, 0, 1, -3})})[0], {2, 3},
                   {-1, 0.75, 0.25, -0.5, 1, 0.25}));
  EXPECT_TRUE(near(run_operator("GatherElements", {pattern({2, 2}), Tensor::of_i64({2, 3}, Ints{0, 1, 1, 0, 0, -1})}, along(1))[0], {2, 3},
                   {-0.5, 1.25, 1.25, 0.25, 0.25, -0.75}));
  EXPECT_TRUE(near(run_operator("GatherElements", {pattern({2, 2}), Tensor::of_i64({0, 2}, {})})[0], {0, 2}, {}));
  EXPECT_THAT(error_of("GatherElements", {pattern({2, 2}), Tensor::of_i64({1, 3}, Ints{0, 0, 0})}), HasSubstr("do not lie within"));
  EXPECT_THAT(error_of("GatherElements", {pattern({2, 2}), Tensor::of_i64({1, 1}, Ints{2})}), HasSubstr("index 2"));
}

TEST(GatherND, takes_slices_by_tuples) {
  EXPECT_TRUE(
      near(run_operator("GatherND", {pattern({2, 3, 2}), Tensor::of_i64({2, 2}, Ints{0, 1, 1, -1})})[0], {2, 2}, {0.25, -0.75, 0.5, -0.5}));
  EXPECT_TRUE(
      near(run_operator("GatherND", {pattern({2, 3, 2}), Tensor::of_i64({2, 2, 1}, Ints{0, 2, -1, 1})}, {{"batch_dims", int64_t{1}}})[0],
           {2, 2, 2}, {-0.5, 1.25, 1, 0, 0.5, -0.5, -0.25, -1.25}));
  EXPECT_TRUE(near(run_operator("GatherND", {pattern({2, 2}), Tensor::of_i64({2}, Ints{1, 0})})[0], {}, {0.25}));
  EXPECT_TRUE(near(run_operator("GatherND", {pattern({2}), Tensor::of_i64({2, 0}, {})})[0], {2, 2}, {-0.5, 1.25, -0.5, 1.25}));
  EXPECT_TRUE(near(run_operator("GatherND", {pattern({2}), Tensor::of_i64({0, 1}, {})})[0], {0}, {}));
  EXPECT_THAT(error_of("GatherND", {pattern({2, 2}), Tensor::of_i64({3}, Ints{0, 0, 0})}), HasSubstr("count along 3 axes"));
  EXPECT_THAT(error_of("GatherND", {pattern({2, 2}), Tensor::of_i64({2}, Ints{0, 2})}), HasSubstr("index 2"));
  EXPECT_THAT(error_of("GatherND", {pattern({2, 2}), Tensor::of_i64({3, 1}, Ints{0, 0, 0})}, {{"batch_dims", int64_t{1}}}),
              HasSubstr("differ"));
}

}  // namespace
}  // namespace minnow::test
