// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

TEST(FoldInputScales, factors_of_channels_go_into_convolutions_padded_ones_too) {
  for (const char* form : {"b = Mul(x, random_s)", "b = Mul(random_s, x)", "b = Div(x, random_s)", "b = Mul(x, number)"}) {
    const Rewrite r = rewrite(std::string(R"(graph {
    input x: f32[2, 6, 5, 5]
    const random_w = f32[4, 3, 3, 3] random 1
    const random_s = f32[6, 1, 1] random 2
    const number = f32[1] [0.5]
    )") + form + R"(
    y = Conv(b, random_w) {group = 2, pads = [1, 1, 1, 1]}
    output y
  })",
                              {"fold_input_scales"});
    EXPECT_EQ(r.ops(), "Conv") << form;
    EXPECT_TRUE(numbers_stay(r)) << form;
  }
}

TEST(FoldInputScales, what_is_added_goes_into_the_bias_where_nothing_is_padded) {
  const auto convolution = [](const std::string& form, const std::string& attributes) {
    return rewrite(
        "graph {\n    input x: f32[2, 6, 5, 5]\n    const random_w = f32[4, 3, 3, 3] random 1\n"
        "    const random_b = f32[4] random 3\n    const random_s = f32[1, 6, 1, 1] random 2\n    b = " +
            form + "\n    y = Conv(b, random_w, random_b) {" + attributes + "}\n    output y\n  }",
        {"fold_input_scales"});
  };
  for (const char* form : {"Add(x, random_s)", "Sub(x, random_s)", "Sub(random_s, x)"}) {
    const Rewrite r = convolution(form, "group = 2, strides = [2, 1]");
    EXPECT_EQ(r.ops(), "Conv") << form;
    EXPECT_TRUE(numbers_stay(r)) << form;
    EXPECT_EQ(convolution(form, "group = 2, pads = [0, 1, 0, 1]").changes, 0u) << form;
    EXPECT_EQ(convolution(form, "group = 2, auto_pad = \"SAME_UPPER\"").changes, 0u) << form;
  }
}

TEST(FoldInputScales, a_batch_normalization_in_front) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3, 5, 5]
    const random_w = f32[4, 3, 1, 1] random 1
    const random_g = f32[3] random 2
    const random_b = f32[3] random 3
    const random_m = f32[3] random 4
    const v = f32[3] [0.5, 1, 2]
    n = BatchNormalization(x, random_g, random_b, random_m, v)
    y = Conv(n, random_w)
    output y
  })",
                            {"fold_input_scales"});
  EXPECT_EQ(r.ops(), "Conv");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldInputScales, factors_of_columns_go_into_products) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 5, 6]
    const random_w = f32[6, 4] random 1
    const random_s = f32[6] random 2
    a = Mul(x, random_s)
    y = MatMul(a, random_w)
    output y
  })",
                            {"fold_input_scales"});
  EXPECT_EQ(r.ops(), "MatMul");
  EXPECT_TRUE(numbers_stay(r));
  const Rewrite gemm = rewrite(R"(graph {
    input x: f32[batch, 6]
    const random_w = f32[4, 6] random 1
    const random_s = f32[1, 6] random 2
    a = Mul(x, random_s)
    y = Gemm(a, random_w) {transB = 1, alpha = 0.5}
    output y
  })",
                               {"fold_input_scales"});
  EXPECT_EQ(gemm.ops(), "Gemm");
  EXPECT_TRUE(numbers_stay(gemm));
}

TEST(FoldInputScales, not_where_others_see_it_or_it_broadcasts) {
  for (const char* input : {"input x: f32[2, 1, 5, 5]", "input x: f32[6, 5, 5]"})
    EXPECT_EQ(rewrite(std::string("graph {\n") + input + R"(
    const random_w = f32[4, 6, 3, 3] random 1
    const random_s = f32[1, 6, 1, 1] random 2
    b = Mul(x, random_s)
    y = Conv(b, random_w)
    output y
  })",
                      {"fold_input_scales"})
                  .changes,
              0u);
  EXPECT_EQ(rewrite(R"(graph {
    input x: f32[2, 6, 5, 5]
    const random_w = f32[4, 6, 3, 3] random 1
    const random_s = f32[6, 1, 1] random 2
    const random_rows = f32[5, 1] random 2
    b = Mul(x, random_s)
    y = Conv(b, random_w)
    c = Mul(x, random_rows)
    z = Conv(c, random_w)
    output y
    output z
    output b
  })",
                    {"fold_input_scales"})
                .changes,
            0u);
}

}  // namespace
}  // namespace minnow::test
