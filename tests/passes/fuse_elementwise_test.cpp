// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/graph.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

std::string body_ops(const Rewrite& r) {
  std::string list;
  for (const Node& node : (*r.node("minnow.FusedElementwise").attributes.get<Subgraph>("body"))->nodes())
    list += (list.empty() ? "" : " ") + node.op();
  return list;
}

TEST(FuseElementwise, a_tree_with_numbers_and_broadcasting) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 4, h, w]
    input z: f32[batch, 4, h, w]
    input row: f32[w]
    const random_c = f32[4, 1, 1] fill 0
    const two = f32[1] [2]
    a = Mul(x, two)
    b = Sigmoid(z)
    c = Add(a, random_c)
    d = Sub(b, row)
    y = Div(c, d)
    output y
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(r.ops(), "minnow.FusedElementwise");
  EXPECT_EQ(body_ops(r), "Mul Sigmoid Add Sub Div");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseElementwise, what_two_inside_use_is_computed_once) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3]
    const low = f32[] -0.5
    const high = f32[] 0.5
    a = Exp(x)
    b = Mul(a, x)
    c = Add(a, b)
    y = Clip(c, low, high)
    output y
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(body_ops(r), "Exp Mul Add Clip");
  EXPECT_EQ(r.node("minnow.FusedElementwise").input_count(), 1u);
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseElementwise, conditions) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3]
    input m: bool[2, 3]
    const zero = f32[] 0
    a = Less(x, zero)
    b = Not(m)
    c = And(a, b)
    d = Neg(x)
    y = Where(c, d, x)
    z = Cast(y) {to = 9}
    output z
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(body_ops(r), "Less Not And Neg Where Cast");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseElementwise, outputs_and_what_others_use_stay) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3]
    a = Neg(x)
    b = Exp(a)
    c = ReduceSum(b)
    d = Abs(b)
    y = Mul(d, x)
    output a
    output c
    output y
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(r.ops(), "Neg Exp ReduceSum minnow.FusedElementwise");
  EXPECT_EQ(body_ops(r), "Abs Mul");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseElementwise, every_group_reads_the_bytes_that_others_read_too) {
  const Rewrite r = rewrite(R"(graph {
    input x: u8[1, 2, 3, 3]
    input z: f32[1, 2, 3, 3]
    const s = f32[] 0.02
    const zero = u8[] 120
    a = DequantizeLinear(x, s, zero)
    b = Add(a, z)
    c = Sigmoid(b)
    d = Relu(a)
    e = GlobalAveragePool(a)
    output c
    output d
    output e
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(r.ops(), "DequantizeLinear minnow.FusedElementwise minnow.FusedElementwise GlobalAveragePool");
  EXPECT_EQ(body_ops(r), "DequantizeLinear Add Sigmoid");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FuseElementwise, nothing_small_is_computed_for_every_place_of_the_result) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 4, 5, 5]
    input gate: f32[2, 4, 1, 1]
    a = Sigmoid(gate)
    y = Mul(x, a)
    output y
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(FuseElementwise, a_number_that_raises_the_rank_stays_outside) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[3]
    const one = f32[1, 1] [1]
    a = Neg(x)
    b = Add(a, one)
    y = Exp(b)
    output y
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(FuseElementwise, other_dtypes_stay) {
  const Rewrite r = rewrite("graph {\n input x: i64[3]\n a = Neg(x)\n y = Abs(a)\n output y\n}", {"fuse_elementwise"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(FuseElementwise, comes_after_the_fusions_with_products_and_not_for_training) {
  constexpr std::string_view kText = R"(graph {
    input x: f32[2, 4, 5, 5]
    const random_w = f32[4, 4, 1, 1] fill 0
    a = Conv(x, random_w)
    b = Relu(a)
    c = Exp(b)
    y = Mul(c, x)
    output y
  })";
  const Rewrite r = optimized(kText);
  EXPECT_EQ(r.ops(), "minnow.FusedConv minnow.FusedElementwise");
  EXPECT_TRUE(numbers_stay(r));
  EXPECT_EQ(optimized(kText, Optimize::train).ops(), "Conv Relu Exp Mul");
  EXPECT_EQ(optimized(kText, Optimize::none).ops(), "Conv Relu Exp Mul");
}

TEST(FuseElementwise, what_follows_from_constants_stays_as_it_is) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[3, 4]
    const random_w = u8[3, 4] fill 7
    const scale = f32[] 0.5
    const least = f32[] -1
    w = Cast(random_w) {to = 1}
    s = Mul(w, scale)
    a = Add(s, least)
    e = Exp(x)
    y = Mul(e, a)
    output y
  })",
                            {"fuse_elementwise"});
  EXPECT_EQ(r.ops(), "Cast Mul Add minnow.FusedElementwise");
  EXPECT_TRUE(numbers_stay(r));
}

}  // namespace
}  // namespace minnow::test
