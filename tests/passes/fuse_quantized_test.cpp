// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/format.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// One step of the output's quantization: sums that are exact are rounded once, sums of rounded numbers may be rounded the other way.
constexpr double kOneStep = 0.06;

constexpr std::string_view kConstants = R"(
    const sx = f32[] 0.02
    const zx = u8[] 120
    const sw = f32[] 0.01
    const zw = i8[] 0
    const sy = f32[] 0.05
    const zy = u8[] 0
    const sb = f32[] 0.0002
    const s4 = f32[4] [0.01, 0.02, 0.005, 0.03]
    const random_f = f32[4] fill 0
    const random_w = i8[4, 3, 3, 3] fill 0
    const random_b = i32[4] fill 0
)";

TEST(FuseQuantized, convolution_with_bias_and_relu) {
  const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    db = DequantizeLinear(random_b, sb)
    c = Conv(dx, dw, db) {{pads = [1, 1, 1, 1], strides = [2, 2]}}
    a = Relu(c)
    y = QuantizeLinear(a, sy, zy)
    output y
  }})",
                                   kConstants),
                            {"fuse_quantized"});
  EXPECT_EQ(r.nodes(),
            "y = minnow.QuantizedConv(x, sx, zx, random_w, sw, zw, sy, zy, random_b) {pads = [1, 1, 1, 1], strides = [2, 2], activation = "
            "\"Relu\"}\n");
  EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
}

TEST(FuseQuantized, a_scale_below_zero_stays) {
  for (const std::string_view replaced : {"sx", "sw", "sy"}) {
    const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[2, 3]
    const w = i8[3, 4] fill 1
    const negative = f32[] -1
    dx = DequantizeLinear(x, {}, zx)
    dw = DequantizeLinear(w, {}, zw)
    c = MatMul(dx, dw)
    y = QuantizeLinear(c, {}, zx)
    output y
  }})",
                                     kConstants, replaced == "sx" ? "negative" : "sx", replaced == "sw" ? "negative" : "sw",
                                     replaced == "sy" ? "negative" : "sy"),
                              {"fuse_quantized"});
    EXPECT_THAT(r.ops(), Not(HasSubstr("minnow.QuantizedMatMul"))) << replaced;
  }
}

TEST(FuseQuantized, a_bias_that_is_broadcast_stays) {
  const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[2, 3]
    const w = i8[3, 4] fill 1
    const one = f32[1] [0.25]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(w, sw, zw)
    c = Gemm(dx, dw, one)
    y = QuantizeLinear(c, sy, zx)
    output y
  }})",
                                   kConstants),
                            {"fuse_quantized"});
  EXPECT_THAT(r.ops(), Not(HasSubstr("minnow.QuantizedMatMul")));
  EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
}

TEST(FuseQuantized, weights_by_channel_and_a_bias_in_floats) {
  const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, s4) {{axis = 0}}
    c = Conv(dx, dw, random_f)
    y = QuantizeLinear(c, sy, zx)
    output y
  }})",
                                   kConstants),
                            {"fuse_quantized"});
  EXPECT_EQ(r.ops(), "minnow.QuantizedConv");
  EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
}

TEST(FuseQuantized, clip_that_the_range_cuts_anyway) {
  constexpr std::string_view kText = R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    const low = f32[] 0
    const high = f32[] {}
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    c = Conv(dx, dw)
    a = Clip(c, low, high)
    y = QuantizeLinear(a, sy, zy)
    output y
  }})";
  const Rewrite r = rewrite(format(kText, kConstants, 12.75), {"fuse_quantized"});
  EXPECT_EQ(r.ops(), "minnow.QuantizedConv");
  EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
  const Rewrite cut = rewrite(format(kText, kConstants, 6), {"fuse_quantized"});
  EXPECT_THAT(cut.nodes(), HasSubstr("activation = \"Clip\", activation_beta = 6.0}"));
  EXPECT_TRUE(numbers_stay(cut, 1.0 / 255));
}

TEST(FuseQuantized, activations) {
  for (const std::string_view activation :
       {"HardSwish(c)", "LeakyRelu(c) {alpha = 0.2}", "HardSigmoid(c)", "Sigmoid(c)", "Tanh(c)", "Gelu(c)"}) {
    const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    c = Conv(dx, dw)
    a = {}
    y = QuantizeLinear(a, sy, zx)
    output y
  }})",
                                     kConstants, activation),
                              {"fuse_quantized"});
    EXPECT_EQ(r.ops(), "minnow.QuantizedConv") << activation;
    EXPECT_TRUE(numbers_stay(r, 1.0 / 255)) << activation;
  }
}

TEST(FuseQuantized, residuals) {
  constexpr std::string_view kText = R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    input r: i8[{}]
    const zr = i8[] -7
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    dr = DequantizeLinear(r, sx, zr)
    c = Conv(dx, dw) {{pads = [1, 1, 1, 1]}}
    s = {}
    a = {}
    y = QuantizeLinear(a, sy, zx)
    output y
  }})";
  for (const std::string_view sum : {"Add(c, dr)", "Add(dr, c)"}) {
    const Rewrite r = rewrite(format(kText, kConstants, "1, 4, 6, 6", sum, "Relu(s)"), {"fuse_quantized"});
    EXPECT_EQ(r.nodes(),
              "y = minnow.QuantizedConv(x, sx, zx, random_w, sw, zw, sy, zx, _, r, sx, zr) {pads = [1, 1, 1, 1], activation = \"Relu\"}\n");
    EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
  }
  EXPECT_THAT(rewrite(format(kText, kConstants, "1, 4, 1, 1", "Add(c, dr)", "Relu(s)"), {"fuse_quantized"}).ops(), HasSubstr("Add"));
  EXPECT_THAT(rewrite(format(kText, kConstants, "1, 4, 6, 6", "Add(c, dr)", "HardSwish(s)"), {"fuse_quantized"}).ops(), HasSubstr("Add"));
}

TEST(FuseQuantized, scales_of_channels_between_a_layer_and_a_depthwise_convolution) {
  constexpr std::string_view kText = R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    const s_many = f32[4] [0.02, 0.05, 0.03, 0.5]
    const z_many = u8[4] {}
    const depthwise_w = i8[4, 1, 3, 3] fill 2
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    c = Conv(dx, dw)
    q = QuantizeLinear(c, s_many, z_many) {{axis = 1}}
    dq = DequantizeLinear(q, s_many, z_many) {{axis = 1}}
    dd = DequantizeLinear(depthwise_w, sw, zw)
    d = Conv(dq, dd) {{group = {}}}
    y = QuantizeLinear(d, sy, zx)
    output y
  }})";
  const Rewrite r = rewrite(format(kText, kConstants, "[100, 100, 100, 100]", 4), {"fuse_quantized"});
  EXPECT_EQ(r.ops(), "minnow.QuantizedConv minnow.QuantizedConv");
  EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
  const Rewrite apart = rewrite(format(kText, kConstants, "[100, 100, 90, 100]", 4), {"fuse_quantized"});
  EXPECT_THAT(apart.ops(), Not(HasSubstr("minnow.QuantizedConv")));
}

TEST(FuseQuantized, products) {
  for (const char* nodes : {"const random_m = i8[5, 4] fill 0\n dw = DequantizeLinear(random_m, sw)\n c = MatMul(dx, dw)",
                            "const random_m = i8[5, 4] fill 0\n dw = DequantizeLinear(random_m, sw)\n db = DequantizeLinear(random_b, sb)\n"
                            "c = Gemm(dx, dw, db)",
                            "const random_m = i8[4, 5] fill 0\n dw = "
                            "DequantizeLinear(random_m, s4) {axis = 0}\n c = Gemm(dx, dw) {transB = 1}",
                            "const random_m = i8[5, 4] fill 0\n dw = "
                            "DequantizeLinear(random_m, s4)\n c = MatMul(dx, dw)",
                            "const random_m = i8[5, 4] fill 0\n dw = DequantizeLinear(random_m, s4)\n p = MatMul(dx, dw)\n"
                            "c = Add(p, random_f)",
                            "const random_m = i8[5, 4] fill 0\n dw = DequantizeLinear(random_m, sw)\n p = MatMul(dx, dw)\n"
                            "db = DequantizeLinear(random_b, sb)\n s = Add(db, p)\n c = Relu(s)",
                            "const random_m = i8[5, 4] fill 0\n const random_1 = f32[1, 4] fill 0\n dw = DequantizeLinear(random_m, sw)\n"
                            "p = MatMul(dx, dw)\n c = Add(random_1, p)"}) {
    const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[2, 5]
    dx = DequantizeLinear(x, sx, zx)
    {}
    y = QuantizeLinear(c, sy, zx)
    output y
  }})",
                                     kConstants, nodes),
                              {"fuse_quantized", "fold_constants"});
    EXPECT_EQ(r.ops(), "minnow.QuantizedMatMul") << nodes;
    EXPECT_TRUE(numbers_stay(r, 1.0 / 255)) << nodes;
  }
}

TEST(FuseQuantized, a_sum_that_is_no_bias_stays) {
  for (const char* nodes :
       {"const random_a = f32[2, 4] fill 0\n c = Add(p, random_a)", "input a: f32[4]\n c = Add(p, a)",
        "const random_a = f32[1] fill 0\n c = Add(p, random_a)", "const random_a = f32[3, 1, 4] fill 0\n c = Add(p, random_a)",
        "pq = QuantizeLinear(p, sy, zx)\n pd = DequantizeLinear(pq, sw, zx)\n c = Add(pd, random_f)", "c = Add(p, random_f)\n output p"}) {
    const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[2, 5]
    const random_m = i8[5, 4] fill 0
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_m, s4)
    p = MatMul(dx, dw)
    {}
    y = QuantizeLinear(c, sy, zx)
    output y
  }})",
                                     kConstants, nodes),
                              {"fuse_quantized"});
    EXPECT_THAT(r.ops(), HasSubstr("Add")) << nodes;
    EXPECT_TRUE(numbers_stay(r, 1e-6)) << nodes;
  }
}

TEST(FuseQuantized, not_where_others_see_the_floats) {
  const Rewrite r = rewrite(format(R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    c = Conv(dx, dw)
    y = QuantizeLinear(c, sy, zy)
    output y
    output c
  }})",
                                   kConstants),
                            {"fuse_quantized"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(FuseQuantized, a_result_that_is_not_quantized_is_f32) {
  for (const char* nodes : {
           "input x: u8[1, 3, 6, 6]\n dx = DequantizeLinear(x, sx, zx)\n dw = DequantizeLinear(random_w, s4) {axis = 0}\n"
           "db = DequantizeLinear(random_b, sb)\n c = Conv(dx, dw, db) {pads = [1, 1, 1, 1]}\n y = Relu(c)",
           "input x: u8[1, 3, 6, 6]\n dx = DequantizeLinear(x, sx, zx)\n dw = DequantizeLinear(random_w, sw, zw)\n"
           "c = Conv(dx, dw, random_f) {strides = [2, 1]}\n y = Clip(c, sw, sy)",
           "input x: u8[1, 6, 5, 6]\n const random_d = i8[6, 1, 3, 3] fill 0\n dx = DequantizeLinear(x, sx, zx)\n"
           "dw = DequantizeLinear(random_d, sw, zw)\n y = Conv(dx, dw) {group = 6}",
       }) {
    const Rewrite r = optimized(format("graph {{ {} {} output y }}", kConstants, nodes));
    EXPECT_EQ(r.ops(), "minnow.QuantizedConv") << nodes;
    EXPECT_TRUE(numbers_stay(r, 2e-6)) << nodes;
  }
  for (const char* nodes : {"const random_m = i8[5, 4] fill 0\n dw = DequantizeLinear(random_m, sw)\n y = MatMul(dx, dw)",
                            "const random_m = i8[5, 4] fill 0\n dw = DequantizeLinear(random_m, s4)\n c = MatMul(dx, dw)\n"
                            "a = Add(c, random_f)\n y = Relu(a)",
                            "const random_m = i8[4, 5] fill 0\n dw = DequantizeLinear(random_m, s4) {axis = 0}\n"
                            "db = DequantizeLinear(random_b, sb)\n y = Gemm(dx, dw, db) {transB = 1}"}) {
    const Rewrite r = optimized(format(R"(graph {{ {}
    input x: u8[2, 5]
    dx = DequantizeLinear(x, sx, zx)
    {}
    output y
  }})",
                                       kConstants, nodes));
    EXPECT_EQ(r.ops(), "minnow.QuantizedMatMul") << nodes;
    EXPECT_TRUE(numbers_stay(r, 2e-6)) << nodes;
  }
}

// An activation of another kind, a tensor that is added, weights that are no constants: f32 products do these in one step.
TEST(FuseQuantized, f32_where_integers_would_leave_steps_behind) {
  for (const char* nodes :
       {"c = MatMul(dx, dw)\n y = Sigmoid(c)", "input v: i8[5, 4]\n dv = DequantizeLinear(v, sw, zw)\n y = MatMul(dx, dv)",
        "y = Gemm(dx, dw) {alpha = 0.5}"}) {
    const Rewrite r = optimized(format(R"(graph {{ {}
    input x: u8[2, 5]
    const random_m = i8[5, 4] fill 0
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_m, sw)
    {}
    output y
  }})",
                                       kConstants, nodes));
    EXPECT_THAT(r.ops(), Not(HasSubstr("minnow.Quantized"))) << nodes;
    EXPECT_TRUE(numbers_stay(r)) << nodes;
  }
}

TEST(MoveQuantization, moved_data_stays_quantized) {
  const Rewrite r = optimized(format(R"(graph {{ {}
    input x: f32[1, 3, 6, 6]
    const shape = i64[2] [1, -1]
    q = QuantizeLinear(x, sx, zx)
    d = DequantizeLinear(q, sx, zx)
    t = Transpose(d) {{perm = [0, 2, 3, 1]}}
    tq = QuantizeLinear(t, sx, zx)
    td = DequantizeLinear(tq, sx, zx)
    p = MaxPool(d) {{kernel_shape = [2, 2]}}
    pq = QuantizeLinear(p, sx, zx)
    pd = DequantizeLinear(pq, sx, zx)
    f = Flatten(td)
    g = Flatten(pd)
    c = Concat(f, g) {{axis = 1}}
    y = QuantizeLinear(c, sx, zx)
    output y
  }})",
                                     kConstants));
  EXPECT_EQ(r.ops(), "QuantizeLinear Transpose MaxPool Flatten Flatten Concat");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(MoveQuantization, before_a_pool_to_what_made_it) {
  const Rewrite r = optimized(format(R"(graph {{ {}
    input x: u8[1, 3, 6, 6]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_w, sw, zw)
    c = Conv(dx, dw)
    a = Relu(c)
    p = MaxPool(a) {{kernel_shape = [2, 2]}}
    q = QuantizeLinear(p, sy, zy)
    y = DequantizeLinear(q, sy, zy)
    output y
  }})",
                                     kConstants));
  EXPECT_EQ(r.ops(), "minnow.QuantizedConv MaxPool DequantizeLinear");
  EXPECT_TRUE(numbers_stay(r, kOneStep));
}

TEST(MoveQuantization, weights_by_channel_through_a_transpose) {
  const Rewrite r = optimized(format(R"(graph {{ {}
    input x: u8[2, 5]
    const random_m = i8[4, 5] fill 0
    const scales = f32[4] [0.01, 0.02, 0.005, 0.03]
    dx = DequantizeLinear(x, sx, zx)
    dw = DequantizeLinear(random_m, scales) {{axis = 0}}
    t = Transpose(dw) {{perm = [1, 0]}}
    c = MatMul(dx, t)
    y = QuantizeLinear(c, sy, zx)
    output y
  }})",
                                     kConstants));
  EXPECT_EQ(r.ops(), "minnow.QuantizedMatMul");
  EXPECT_TRUE(numbers_stay(r, 1.0 / 255));
}

TEST(MoveQuantization, other_scales_stay) {
  const Rewrite r = optimized(format(R"(graph {{ {}
    input x: u8[2, 5]
    d = DequantizeLinear(x, sx, zx)
    y = QuantizeLinear(d, sy, zx)
    output y
  }})",
                                     kConstants));
  EXPECT_EQ(r.ops(), "minnow.FusedElementwise");  // of both
  EXPECT_TRUE(numbers_stay(r, 0));
}

TEST(FoldConstants, quantized_weights_are_never_widened) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[2, 5]
    const random_m = i8[5, 4] fill 0
    const s = f32[] 0.5
    w = DequantizeLinear(random_m, s)
    y = MatMul(x, w)
    output y
  })");
  EXPECT_EQ(r.ops(), "DequantizeLinear MatMul");
}

}  // namespace
}  // namespace minnow::test
