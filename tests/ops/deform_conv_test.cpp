// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(DeformConv, offsets_groups_mask) {
  EXPECT_TRUE(near(run_operator("DeformConv", {pattern({1, 2, 3, 4}), pattern({2, 2, 2, 2}, 5), pattern({1, 8, 2, 3}, 3)})[0], {1, 2, 2, 3},
                   {2.0273438, -0.875, -0.02734375, -0.05859375, -0.59375, 0.01171875, -0.55078125, 0.87109375, -0.796875, 0.87890625,
                    0.57421875, -0.30078125},
                   1e-05));
  EXPECT_TRUE(near(
      run_operator("DeformConv",
                   {pattern({1, 2, 3, 4}), pattern({2, 1, 2, 2}, 5), pattern({1, 16, 3, 4}, 3), pattern({2}, 2), pattern({1, 8, 3, 4}, 4)},
                   {{"group", int64_t{2}}, {"offset_group", int64_t{2}}, {"pads", Ints{0, 1, 1, 0}}})[0],
      {1, 2, 3, 4}, {-0.21679688, -0.48242188,  0.21484375,  -0.546875,  -0.42578125, -0.56640625, -0.048828125, -0.36035156,
                     -0.46484375, -1.0214844,   -0.27734375, -0.5390625, -0.703125,   0,           0.640625,     -0.052734375,
                     0.45898438,  -0.048828125, -0.28125,    1.3730469,  0.30078125,  0.45507812,  0.0029296875, -0.6640625},
      1e-05));
  EXPECT_TRUE(near(run_operator("DeformConv", {pattern({2, 1, 3, 3}), pattern({1, 1, 2, 2}, 5), pattern({2, 8, 2, 2}, 3)},
                                {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}})[0],
                   {2, 1, 2, 2}, {0.7265625, 0.36328125, -0.1875, -0.078125, -0.046875, 0.28125, -0.09375, -0.328125}, 1e-05));
}

TEST(DeformConv, without_offsets_it_is_Conv) {
  const Tensor x = pattern({1, 2, 2, 3, 3}), w = pattern({2, 2, 2, 2, 2}, 5);
  const Tensor expected = run_operator("Conv", {x, w})[0];
  EXPECT_TRUE(near(run_operator("DeformConv", {x, w, Tensor(DType::f32, {1, 24, 1, 2, 2})})[0], expected.shape(), numbers(expected)));
}

TEST(DeformConv, wrong_shapes) {
  using testing::HasSubstr;
  const Tensor x = pattern({1, 2, 3, 3}), w = pattern({2, 2, 2, 2});
  EXPECT_THAT(error_of("DeformConv", {x, w, pattern({1, 4, 2, 2})}), HasSubstr("should have shape [1, 8, 2, 2]"));
  EXPECT_THAT(error_of("DeformConv", {x, w, pattern({1, 8, 2, 2})}, {{"offset_group", int64_t{3}}}), HasSubstr("offset_group 3"));
}

}  // namespace
}  // namespace minnow::test
