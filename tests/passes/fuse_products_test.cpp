// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/format.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

TEST(FuseProducts, a_residual_block) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 4, h, w]
    const random_w = f32[4, 4, 3, 3] fill 0
    const random_b = f32[4] fill 0
    a = Conv(x, random_w, random_b) {pads = [1, 1, 1, 1]}
    b = Relu(a)
    c = Conv(b, random_w, random_b) {pads = [1, 1, 1, 1]}
    d = Add(c, x)
    y = Relu(d)
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.nodes(),
            "b = minnow.FusedConv(x, random_w, random_b) {pads = [1, 1, 1, 1], activation = \"Relu\"}\n"
            "y = minnow.FusedConv(b, random_w, random_b, x) {pads = [1, 1, 1, 1], activation = \"Relu\"}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseProducts, arms_of_equal_symbolic_size) {
  // Both halve the image: (h + 2 - 3) / 2 + 1 and (h - 1) / 2 + 1.
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 4, h, w]
    const random_w = f32[4, 4, 3, 3] fill 0
    const random_v = f32[4, 4, 1, 1] fill 0
    a = Conv(x, random_w) {pads = [1, 1, 1, 1], strides = [2, 2]}
    b = Conv(x, random_v) {strides = [2, 2]}
    y = Add(a, b)
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.ops(), "Conv minnow.FusedConv");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseProducts, a_first_layer_reads_its_image_with_channels_last) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, h, w, 3]
    const random_w = f32[8, 3, 3, 3] fill 0
    const random_b = f32[8] fill 0
    a = Transpose(x) {perm = [0, 3, 1, 2]}
    b = Conv(a, random_w, random_b) {pads = [1, 1, 1, 1], strides = [2, 2]}
    y = Relu(b)
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(
      r.nodes(),
      "y = minnow.FusedConv(x, random_w, random_b) {pads = [1, 1, 1, 1], strides = [2, 2], channels_last = 1, activation = \"Relu\"}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseProducts, images_that_stay_as_they_are) {
  for (const char* conv :
       {"b = Conv(a, random_w) {group = 3}", "b = Conv(a, random_w)\n z = Relu(a)\n output z", "b = ConvTranspose(a, random_v)"}) {
    const Rewrite r = rewrite(format(R"(graph {{
    input x: f32[batch, h, w, 3]
    const random_w = f32[9, {}, 3, 3] fill 0
    const random_v = f32[3, 9, 3, 3] fill 0
    a = Transpose(x) {{perm = [0, 3, 1, 2]}}
    {}
    output b
  }})",
                                     std::string_view(conv).find("group") != std::string_view::npos ? 1 : 3, conv),
                              {"fuse_products"});
    EXPECT_EQ(r.changes, 0u) << conv;
  }
}

TEST(FuseProducts, nothing_that_others_see_or_that_broadcasts) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 4, 5, 5]
    input z: f32[1, 4, 1, 1]
    const random_w = f32[4, 4, 1, 1] fill 0
    a = Conv(x, random_w)
    b = Relu(a)
    c = Conv(b, random_w)
    y = Add(c, z)
    output a
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(FuseProducts, activations_of_every_kind) {
  for (const char* activation : {"Sigmoid(a)", "Tanh(a)", "HardSwish(a)", "HardSigmoid(a)", "LeakyRelu(a)", "LeakyRelu(a) {alpha = 0.5}",
                                 "Gelu(a)", "Swish(a)", "Clip(a, low, high)", "Clip(a, low)", "Clip(a, _, high)", "Relu(a)"}) {
    const Rewrite r = rewrite(format(R"(graph {{
    input x: f32[3, 5]
    const random_w = f32[5, 4] fill 0
    const low = f32[] -0.5
    const high = f32[] 0.75
    a = MatMul(x, random_w)
    y = {}
    output y
  }})",
                                     activation),
                              {"fuse_products"});
    EXPECT_EQ(r.ops(), "minnow.FusedMatMul") << activation;
    EXPECT_TRUE(numbers_stay(r)) << activation;
  }
  for (const char* activation : {"Gelu(a) {approximate = \"tanh\"}", "Swish(a) {alpha = 2.0}", "Elu(a)", "Neg(a)"}) {
    const Rewrite r = rewrite(
        format("graph {{\n input x: f32[3, 5]\n const random_w = f32[5, 4] fill 0\n a = MatMul(x, random_w)\n y = {}\n output y\n}}",
               activation),
        {"fuse_products"});
    EXPECT_EQ(r.changes, 0u) << activation;
  }
}

TEST(FuseProducts, a_layer_of_a_transformer) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, seq, 6]
    const random_w = f32[6, 6] fill 0
    const random_b = f32[6] fill 0
    a = MatMul(x, random_w)
    b = Add(random_b, a)
    c = Add(x, b)
    d = MatMul(c, random_w)
    y = Gelu(d)
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.nodes(),
            "c = minnow.FusedMatMul(x, random_w, random_b, x)\n"
            "y = minnow.FusedMatMul(c, random_w) {activation = \"Gelu\"}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseProducts, scaled_and_transposed_factors) {
  const Rewrite r = rewrite(R"(graph {
    input q: f32[2, 3, 5, 4]
    input k: f32[2, 3, 5, 4]
    const s = f32[] 0.5
    const t = f32[1] [4]
    a = Mul(q, s)
    b = Transpose(k) {perm = [0, 1, 3, 2]}
    c = MatMul(a, b)
    y = Div(c, t)
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.nodes(), "y = minnow.FusedMatMul(q, k) {alpha = 0.125, transB = 1}\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseProducts, factors_scaled_before_they_are_transposed) {
  const Rewrite r = rewrite(R"(graph {
    input q: f32[2, 5, 3, 4]
    input k: f32[2, 5, 3, 4]
    const s = f32[] 0.5
    const t = f32[1] [4]
    a = Mul(q, s)
    at = Transpose(a) {perm = [0, 2, 1, 3]}
    b = Div(k, t)
    bt = Transpose(b) {perm = [0, 2, 3, 1]}
    y = MatMul(at, bt)
    output y
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.ops(), "Transpose Transpose minnow.FusedMatMul");
  EXPECT_FLOAT_EQ(*r.node("minnow.FusedMatMul").attributes.get<float>("alpha"), 0.125f);
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseProducts, gemm) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[3, 5]
    input z: f32[3, 4]
    const random_w = f32[4, 5] fill 0
    const random_b = f32[4] fill 0
    a = Gemm(x, random_w, random_b) {alpha = 0.5, beta = 2.0, transB = 1}
    b = Add(z, a)
    y = Relu(b)
    w = Gemm(x, random_w) {transB = 1}
    output y
    output w
  })",
                            {"fuse_products"});
  EXPECT_EQ(r.ops(), "minnow.FusedMatMul Gemm");
  EXPECT_TRUE(numbers_stay(r));
}

}  // namespace
}  // namespace minnow::test
