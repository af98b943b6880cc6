// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// As PyTorch and ONNX write a unit of ShuffleNet v2, with sizes that stay open.
TEST(ChannelShuffles, joined_shuffled_and_split_by_one_operator) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[batch, 6, height, width]
    const random_w = f32[6, 6, 3, 3] fill 0
    const random_v = f32[6, 6, 1, 1] fill 0
    const groups = i64[2] [2, 6]
    const channels = i64[1] [12]
    const one = i64[1] [1]
    const two = i64[1] [2]
    const four = i64[1] [4]
    const zero = i64[1] [0]
    a = Relu(x)
    b = Conv(x, random_w) {pads = [1, 1, 1, 1]}
    joined = Concat(a, b) {axis = 1}
    s = Shape(joined)
    n = Slice(s, zero, one)
    hw = Slice(s, two, four)
    apart = Concat(n, groups, hw) {axis = 0}
    back = Concat(n, channels, hw) {axis = 0}
    in_groups = Reshape(joined, apart)
    swapped = Transpose(in_groups) {perm = [0, 2, 1, 3, 4]}
    shuffled = Reshape(swapped, back)
    left, right = Split(shuffled) {axis = 1, num_outputs = 2}
    y = Conv(right, random_v)
    output left
    output y
  })");
  EXPECT_EQ(r.ops(), "Relu Conv minnow.ChannelShuffle Conv");
  EXPECT_TRUE(numbers_stay(r));
}

// With fixed sizes, and parts that are taken one by one.
TEST(ChannelShuffles, parts_that_are_sliced) {
  const auto net = [](std::string_view end) {
    return R"(graph {
    input x: f32[1, 6, 4, 5]
    const random_w = f32[6, 6, 1, 1] fill 0
    const groups = i64[4] [3, 2, 4, 5]
    const back = i64[4] [1, 6, 4, 5]
    const one = i64[1] [1]
    const zero = i64[1] [0]
    const four = i64[1] [4]
    const end = i64[1] [)" +
           std::string(end) + R"(]
    a = Conv(x, random_w)
    in_groups = Reshape(a, groups)
    swapped = Transpose(in_groups) {perm = [1, 0, 2, 3]}
    shuffled = Reshape(swapped, back)
    right = Slice(shuffled, four, end, one)
    left = Slice(shuffled, zero, four, one)
    u = Sigmoid(left)
    v = Tanh(right)
    output u
    output v
  })";
  };
  const Rewrite r = optimized(net("9223372036854775807"));
  EXPECT_EQ(r.ops(), "Conv minnow.ChannelShuffle Sigmoid Tanh");
  EXPECT_TRUE(numbers_stay(r));
  const Rewrite with_a_gap = optimized(net("5"));
  EXPECT_THAT(with_a_gap.ops(), HasSubstr("Slice"));
  EXPECT_TRUE(numbers_stay(with_a_gap));
}

// TensorFlow's channels come last.
TEST(ChannelShuffles, channels_that_come_last) {
  const Rewrite r = optimized(R"(graph {
    input image: f32[1, 5, 4, 3]
    const random_w = f32[6, 3, 3, 3] fill 0
    const random_v = f32[6, 3, 1, 1] fill 0
    const apart = i64[5] [1, 5, 4, 3, 2]
    const back = i64[4] [1, 5, 4, 6]
    first = Transpose(image) {perm = [0, 3, 1, 2]}
    a = Conv(first, random_w) {pads = [1, 1, 1, 1]}
    last = Transpose(a) {perm = [0, 2, 3, 1]}
    in_groups = Reshape(last, apart)
    swapped = Transpose(in_groups) {perm = [0, 1, 2, 4, 3]}
    shuffled = Reshape(swapped, back)
    again = Transpose(shuffled) {perm = [0, 3, 1, 2]}
    y = Conv(again, random_v) {group = 2}
    output y
  })");
  EXPECT_EQ(r.ops(), "minnow.FusedConv minnow.ChannelShuffle Conv");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(ChannelShuffles, not_what_only_looks_like_one) {
  const auto net = [](std::string_view apart, std::string_view perm, std::string_view back) {
    return "graph {\n input x: f32[2, 4, 6, 6]\n const apart = i64[5] " + std::string(apart) + "\n const back = i64[4] " +
           std::string(back) + "\n a = Reshape(x, apart)\n b = Transpose(a) {perm = " + std::string(perm) +
           "}\n y = Reshape(b, back)\n output y\n }";
  };
  const auto changes = [&](const std::string& text) { return rewrite(text, {"raise_channel_shuffles"}).changes; };
  EXPECT_EQ(changes(net("[2, 2, 2, 6, 6]", "[0, 2, 1, 3, 4]", "[2, 4, 6, 6]")), 1u);
  EXPECT_EQ(changes(net("[2, 2, 2, 6, 6]", "[0, 2, 1, 4, 3]", "[2, 4, 6, 6]")), 0u);  // turned, too
  EXPECT_EQ(changes(net("[2, 2, 2, 6, 6]", "[0, 2, 1, 3, 4]", "[2, 4, 4, 9]")), 0u);  // another image
  EXPECT_EQ(changes(net("[2, 4, 2, 3, 6]", "[0, 1, 3, 2, 4]", "[2, 4, 6, 6]")), 0u);  // rows
  EXPECT_EQ(changes(net("[2, 2, 4, 3, 6]", "[0, 2, 1, 3, 4]", "[2, 4, 6, 6]")), 0u);  // rows with channels
}

}  // namespace
}  // namespace minnow::test
