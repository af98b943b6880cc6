// SPDX-License-Identifier: Apache-2.0
// Batch normalization, scales and shifts are folded into weights; padding into attributes.
#include <gmock/gmock.h>

#include "base/format.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

constexpr std::string_view kStatistics = R"(
    const random_scale = f32[4] fill 0
    const random_shift = f32[4] fill 0
    const random_mean = f32[4] fill 0
    const random_positive_variance = f32[4] fill 0
    y = BatchNormalization(c, random_scale, random_shift, random_mean, random_positive_variance) {epsilon = 0.01}
    output y
  })";

TEST(FoldBatchNormalizations, into_every_kind_of_product) {
  for (const char* nodes : {
           R"(graph {
    input x: f32[1, 3, 5, 5]
    const random_w = f32[4, 3, 3, 3] fill 0
    c = Conv(x, random_w) {strides = [2, 2]})",
           R"(graph {
    input x: f32[batch, 6, w]
    const random_w = f32[4, 3, 3] fill 0
    const random_b = f32[4] fill 0
    c = Conv(x, random_w, random_b) {group = 2, pads = [1, 1]})",
           R"(graph {
    input x: f32[1, 6, 3, 3]
    const random_w = f32[6, 2, 2, 2] fill 0
    const random_b = f32[4] fill 0
    c = ConvTranspose(x, random_w, random_b) {group = 2, strides = [2, 2]})",
           R"(graph {
    input x: f32[5, 3]
    const random_w = f32[3, 4] fill 0
    c = Gemm(x, random_w) {alpha = 0.5})",
           R"(graph {
    input x: f32[5, 3]
    const random_w = f32[4, 3] fill 0
    const random_b = f32[1, 4] fill 0
    c = Gemm(x, random_w, random_b) {beta = 0.5, transB = 1})"}) {
    const Rewrite r = rewrite(std::string(nodes) + std::string(kStatistics), {"fold_batch_normalizations"});
    EXPECT_EQ(r.after->node_count(), 1u) << r.nodes();
    EXPECT_EQ(r.after->outputs()[0]->name(), "y");
    EXPECT_TRUE(numbers_stay(r));
  }
}

// The weights stay stored in 16 bits.
TEST(FoldBatchNormalizations, into_weights_that_are_widened) {
  for (const char* nodes : {
           R"(graph {
    input x: f32[1, 3, 5, 5]
    const random_w = f16[4, 3, 3, 3] fill 0
    const random_b = f32[4] fill 0
    w = Cast(random_w) {to = 1}
    c = Conv(x, w, random_b))",
           R"(graph {
    input x: f32[1, 6, 3, 3]
    const random_w = bf16[6, 4, 2, 2] fill 0
    w = Cast(random_w) {to = 1}
    c = ConvTranspose(x, w))",
           R"(graph {
    input x: f32[5, 3]
    const random_w = f16[4, 3] fill 0
    w = Cast(random_w) {to = 1}
    c = Gemm(x, w) {transB = 1})",
       }) {
    const Rewrite r = rewrite(std::string(nodes) + std::string(kStatistics), {"fold_batch_normalizations", "remove_dead_code"});
    EXPECT_THAT(r.ops(), ::testing::StartsWith("Cast Mul ")) << nodes;
    EXPECT_THAT(r.ops(), ::testing::Not(::testing::HasSubstr("BatchNormalization")));
    EXPECT_TRUE(numbers_stay(r)) << nodes;
  }
}

TEST(FoldBatchNormalizations, not_where_others_see_the_result) {
  const Rewrite r = rewrite(std::string(R"(graph {
    input x: f32[1, 3, 5, 5]
    const random_w = f32[4, 3, 1, 1] fill 0
    c = Conv(x, random_w)
    output c)") + std::string(kStatistics),
                            {"fold_batch_normalizations"});
  EXPECT_EQ(r.ops(), "Conv BatchNormalization");
}

TEST(FoldBatchNormalizations, not_where_the_graph_will_be_trained) {
  const Rewrite r = optimized(std::string(R"(graph {
    input x: f32[1, 3, 5, 5]
    const random_w = f32[4, 3, 1, 1] fill 0
    c = Conv(x, random_w))") + std::string(kStatistics),
                              Optimize::train);
  EXPECT_EQ(r.ops(), "Conv BatchNormalization");
}

TEST(FoldScales, numbers_for_each_channel) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 3, 5, 5]
    const random_w = f32[4, 3, 3, 3] fill 0
    const random_s = f32[4, 1, 1] fill 0
    const random_t = f32[1, 4, 1, 1] fill 0
    const half = f32[] 0.5
    const three = f32[1] [3]
    a = Conv(x, random_w)
    b = Mul(a, random_s)
    c = Add(random_t, b)
    d = Div(c, three)
    e = Sub(half, d)
    y = Sub(e, random_t)
    output y
  })",
                            {"fold_scales"});
  EXPECT_EQ(r.ops(), "Conv");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldScales, matmul_takes_factors_but_no_bias) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 5, 3]
    const random_w = f32[3, 4] fill 0
    const random_s = f32[4] fill 0
    a = MatMul(x, random_w)
    b = Mul(a, random_s)
    y = Add(b, random_s)
    output y
  })",
                            {"fold_scales"});
  EXPECT_EQ(r.ops(), "MatMul Add");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldScales, numbers_along_other_dimensions_stay) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 3, 4, 4]
    const random_w = f32[4, 3, 1, 1] fill 0
    const random_columns = f32[4] fill 0
    const random_images = f32[2, 4, 1, 1] fill 0
    a = Conv(x, random_w)
    y = Mul(a, random_columns)
    b = Conv(x, random_w)
    z = Mul(b, random_images)
    output y
    output z
  })",
                            {"fold_scales"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(FoldPads, into_convolutions_and_pools) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 3, 5, 5]
    const pads = i64[8] [0, 0, 1, 2, 0, 0, 0, 1]
    const some = i64[4] [1, 1, 1, 1]
    const axes = i64[2] [2, -1]
    const zero = f32[] 0
    const random_w = f32[4, 3, 3, 3] fill 0
    p = Pad(x, pads)
    c = Conv(p, random_w) {pads = [1, 0, 0, 0]}
    r = Relu(c)
    q = Pad(r, some, zero, axes)
    y = MaxPool(q) {kernel_shape = [3, 3], strides = [2, 2]}
    z = AveragePool(q) {kernel_shape = [3, 3]}
    output y
    output z
  })",
                            {"fold_pads"});
  EXPECT_EQ(r.ops(), "Conv Relu MaxPool AveragePool");
  EXPECT_EQ(*r.node("Conv").attributes.get<Ints>("pads"), (Ints{2, 2, 0, 1}));
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldPads, before_the_transpose_of_an_image_with_its_channels_last) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 5, 6, 3]
    const pads = i64[8] [0, 1, 2, 0, 0, 0, 1, 0]
    const channels = i64[8] [0, 0, 0, 1, 0, 0, 0, 0]
    const random_w = f32[4, 3, 3, 3] fill 0
    const random_v = f32[4, 4, 3, 3] fill 0
    p = Pad(x, pads)
    t = Transpose(p) {perm = [0, 3, 1, 2]}
    y = Conv(t, random_w)
    q = Pad(x, channels)
    s = Transpose(q) {perm = [0, 3, 1, 2]}
    z = Conv(s, random_v)
    output y
    output z
  })",
                            {"fold_pads"});
  EXPECT_EQ(r.ops(), "Transpose Conv Pad Transpose Conv");
  EXPECT_EQ(*r.node("Conv").attributes.get<Ints>("pads"), (Ints{1, 2, 0, 1}));
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldPads, not_where_a_zero_could_be_the_largest) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 3, 5, 5]
    const some = i64[8] [0, 0, 1, 1, 0, 0, 1, 1]
    p = Pad(x, some)
    y = MaxPool(p) {kernel_shape = [3, 3]}
    e = Pad(x, some) {mode = "edge"}
    z = AveragePool(e) {kernel_shape = [3, 3]}
    a = AveragePool(p) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    output y
    output z
    output a
  })",
                            {"fold_pads"});
  EXPECT_EQ(r.changes, 0u);
}

}  // namespace
}  // namespace minnow::test
