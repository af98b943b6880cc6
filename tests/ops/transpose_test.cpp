// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(Transpose, permutes_axes) {
  EXPECT_TRUE(near(run_operator("Transpose", {pattern({2, 3, 2})}, {{"perm", Ints{2, 0, 1}}})[0], {2, 2, 3},
                   {-0.5, 0.25, 1, -1, -0.25, 0.5, 1.25, -0.75, 0, 0.75, -1.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Transpose", {pattern({2, 3})})[0], {3, 2}, {-0.5, -0.75, 1.25, 1, 0.25, 0}));
  EXPECT_TRUE(near(run_operator("Transpose", {pattern({})})[0], {}, {-0.5}));
  EXPECT_TRUE(near(run_operator("Transpose", {pattern({2, 0, 1})})[0], {1, 0, 2}, {}));
  for (DType dtype : {DType::i2, DType::i16, DType::f64})
    EXPECT_TRUE(near(run_operator("Transpose", {tensor(dtype, {2, 2}, {0, 1, -1, 1})})[0], {2, 2}, {0, -1, 1, 1}));
}

TEST(Transpose, refuses_what_is_no_permutation) {
  EXPECT_THAT(error_of("Transpose", {pattern({2, 3})}, {{"perm", Ints{0, 0}}}), HasSubstr("twice"));
  EXPECT_THAT(error_of("Transpose", {pattern({2, 3})}, {{"perm", Ints{0}}}), HasSubstr("rank 2"));
  EXPECT_THAT(error_of("Transpose", {pattern({2, 3})}, {{"perm", Ints{0, 2}}}), HasSubstr("out of range"));
}

TEST(ReverseSequence, reverses_the_beginning_of_each_sequence) {
  const Tensor x = tensor(DType::i32, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(near(run_operator("ReverseSequence", {x, Tensor::of_i64({2}, Ints{3, 2})})[0], {3, 2}, {5, 4, 3, 2, 1, 6}));
  EXPECT_TRUE(near(
      run_operator("ReverseSequence", {x, Tensor::of_i64({3}, Ints{2, 0, 1})}, {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}})[0],
      {3, 2}, {2, 1, 3, 4, 5, 6}));
  EXPECT_TRUE(near(run_operator("ReverseSequence", {pattern({2, 0}), Tensor::of_i64({0}, {})})[0], {2, 0}, {}));
  EXPECT_THAT(error_of("ReverseSequence", {x, Tensor::of_i64({2}, Ints{4, 1})}), HasSubstr("sequence 0 has length 4"));
  EXPECT_THAT(error_of("ReverseSequence", {x, Tensor::of_i64({3}, Ints{1, 1, 1})}), HasSubstr("2 sequences"));
}

}  // namespace
}  // namespace minnow::test
