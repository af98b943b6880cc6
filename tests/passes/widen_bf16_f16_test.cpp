// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "ops/storage_dtype.h"
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

TEST(WidenBf16F16, tables_keep_16_bits) {
  const Rewrite r = rewrite(R"(graph {
    input i: i64[n]
    const random_t = f16[16, 8] fill 0
    const random_w = f16[8, 8] fill 0
    rows = Gather(random_t, i)
    y = MatMul(rows, random_w)
    output y
  })",
                            {"widen_bf16_f16", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Cast Gather Cast MatMul Cast");
  EXPECT_EQ(r.after->first()->next()->input(0)->type.dtype, DType::f16);
  EXPECT_TRUE(numbers_stay(r, 4e-3));
}

// Where every node of the file computes in 16 bits, whatever its inputs and outputs are; Resize has scales of f32.
TEST(WidenBf16F16, files_of_one_dtype_are_noted) {
  const auto noted = [](std::string_view middle, std::string_view end = "y = Cast(m) {to = 1}") {
    const std::string text = format(
        "graph {{\n input x: f32[2, 4, 6, 6]\n const random_w = f16[4, 4, 1, 1] fill 0\n const scales = f32[4] "
        "[1, 1, 2, 2]\n a = Cast(x) {{to = 10}}\n c = Conv(a, random_w)\n {}\n {}\n output y\n}}",
        middle, end);
    const Rewrite r = rewrite(text, {"widen_bf16_f16", "remove_dead_code"});
    return storage_dtype(*r.after);
  };
  EXPECT_EQ(noted("m = Relu(c)"), DType::f16);
  EXPECT_EQ(noted("m = Resize(c, _, scales)"), DType::f16);
  EXPECT_EQ(noted("m = Relu(c)", "y = Exp(m)"), DType::f16);
  EXPECT_EQ(noted("e = Cast(c) {to = 1}\n f = Exp(e)\n m = Cast(f) {to = 10}"), DType::undefined);
  EXPECT_EQ(noted("e = Cast(c) {to = 16}\n f = Exp(e)\n m = Cast(f) {to = 10}"), DType::undefined);
  EXPECT_EQ(noted("m = Relu(c)", "d = Cast(m) {to = 1}\n y = Add(d, x)"), DType::undefined);
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
