// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

TEST(WidenBf16F16, a_network_rounds_at_its_ends) {
  const Rewrite r = rewrite(R"(graph {
    input x: f16[n, 4, 6, 6]
    const random_w = f16[8, 4, 3, 3] fill 0
    const random_b = f16[8] fill 0
    c = Conv(x, random_w, random_b)
    r = Relu(c)
    y = GlobalAveragePool(r)
    output r
    output y
  })",
                            {"widen_bf16_f16", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Cast Cast Cast Conv Relu Cast GlobalAveragePool Cast");
  EXPECT_TRUE(numbers_stay(r, 4e-3));
}

TEST(WidenBf16F16, roundings_in_between_go) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 8]
    const random_w = bf16[8, 8] fill 0
    a = Cast(x) {to = 16}
    b = MatMul(a, random_w)
    c = Cast(b) {to = 1}
    d = Exp(c)
    e = Cast(d) {to = 16}
    f = MatMul(e, random_w)
    y = Cast(f) {to = 1}
    output y
  })",
                            {"widen_bf16_f16", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Cast MatMul Exp MatMul");
  EXPECT_TRUE(numbers_stay(r, 5e-2));
}

TEST(WidenBf16F16, what_has_no_products_rounds_as_it_goes) {
  EXPECT_EQ(rewrite(R"(graph {
    input x: f16[2, 8]
    a = Exp(x)
    y = Add(a, x)
    output y
  })",
                    {"widen_bf16_f16"})
                .changes,
            0u);
}

TEST(WidenBf16F16, subgraphs_and_operators_that_want_16_bits) {
  const Rewrite r = rewrite(R"(graph {
    input x: f16[4, 4]
    input go: bool[]
    const random_w = f16[4, 4] fill 0
    p = MatMul(x, random_w)
    y: f16[4, 4] = If(go) {then_branch = graph {
      q: f16[4, 4] = MatMul(p, random_w)
      output q
    }, else_branch = graph {
      m: f16[4, 4] = Neg(p)
      output m
    }}
    output y
  })",
                            {"widen_bf16_f16", "remove_dead_code"});
  EXPECT_TRUE(numbers_stay(r, 4e-3));
}

}  // namespace
}  // namespace minnow::test
