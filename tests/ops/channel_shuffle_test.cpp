// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(ChannelShuffle, deals_out_the_groups_in_turn) {
  const Tensor x = tensor(DType::f32, {1, 6, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51});
  EXPECT_TRUE(near(run_operator("minnow.ChannelShuffle", {x}, {{"groups", int64_t{2}}})[0], {1, 6, 1, 2},
                   {0, 1, 30, 31, 10, 11, 40, 41, 20, 21, 50, 51}));
  EXPECT_TRUE(near(run_operator("minnow.ChannelShuffle", {x}, {{"groups", int64_t{3}}})[0], {1, 6, 1, 2},
                   {0, 1, 20, 21, 40, 41, 10, 11, 30, 31, 50, 51}));
}

TEST(ChannelShuffle, joins_and_splits) {
  const Tensor a = tensor(DType::i8, {2, 1}, {0, 3}), b = tensor(DType::i8, {2, 3}, {1, 2, 9, 4, 5, 8});
  const std::vector<Tensor> made = run_operator("minnow.ChannelShuffle", {a, b}, {{"groups", int64_t{2}}, {"sizes", Ints{3, 1}}}, 2);
  EXPECT_TRUE(near(made[0], {2, 3}, {0, 2, 1, 3, 5, 4}));
  EXPECT_TRUE(near(made[1], {2, 1}, {9, 8}));
}

TEST(ChannelShuffle, what_does_not_fit) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("minnow.ChannelShuffle", {pattern({1, 5, 2})}, {{"groups", int64_t{2}}}),
              HasSubstr("5 channels do not make 2 groups"));
  EXPECT_THAT(error_of("minnow.ChannelShuffle", {pattern({1, 6, 2})}, {{"groups", int64_t{0}}}), HasSubstr("do not make 0 groups"));
  EXPECT_THAT(error_of("minnow.ChannelShuffle", {pattern({1, 6, 2}), pattern({1, 6, 3})}, {{"groups", int64_t{2}}}),
              HasSubstr("cannot follow shape"));
  EXPECT_THAT(error_of("minnow.ChannelShuffle", {pattern({1, 6, 2})}, {{"groups", int64_t{2}}, {"sizes", Ints{5}}}),
              HasSubstr("do not fit 6 channels"));
  EXPECT_THAT(error_of("minnow.ChannelShuffle", {pattern({6})}, {{"groups", int64_t{2}}}), HasSubstr("takes [batch, channels, ...]"));
}

}  // namespace
}  // namespace minnow::test
