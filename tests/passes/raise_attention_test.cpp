// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/format.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

TEST(RaiseAttention, heads_that_are_split_and_joined) {
  constexpr std::string_view kText = R"(graph {
    input x: f32[batch, seq, 12]
    const random_q = f32[12, 12] fill 0
    const random_k = f32[12, 12] fill 0
    const random_v = f32[12, 12] fill 0
    const split = i64[4] [0, 0, 3, 4]
    const join = i64[3] [0, 0, 12]
    const root = f32[] 2
    a = MatMul(x, random_q)
    b = MatMul(x, random_k)
    c = MatMul(x, random_v)
    d = Reshape(a, split)
    e = Reshape(b, split)
    f = Reshape(c, split)
    q = Transpose(d) {perm = [0, 2, 1, 3]}
    k = Transpose(e) {perm = [0, 2, 3, 1]}
    v = Transpose(f) {perm = [0, 2, 1, 3]}
    s = MatMul(q, k)
    t = Div(s, root)
    p = Softmax(t) {axis = -1}
    o = MatMul(p, v)
    r = Transpose(o) {perm = [0, 2, 1, 3]}
    y = Reshape(r, join)
    output y
  })";
  const Rewrite r = optimized(kText);
  EXPECT_EQ(r.ops(), "MatMul MatMul MatMul Attention");
  EXPECT_THAT(r.nodes(), testing::HasSubstr("{scale = 0.5, q_num_heads = 3, kv_num_heads = 3}"));
  EXPECT_TRUE(numbers_stay(r));
  EXPECT_EQ(optimized(kText, Optimize::train).ops().find("Attention"), std::string::npos);
}

TEST(RaiseAttention, masks) {
  for (const char* mask : {"f32[5, 6]", "f32[1, 1, 1, 6]", "f32[2, 1, 5, 6]", "f32[3, 5, 6]"})
    for (const char* sum : {"Add(s, m)", "Add(m, s)"}) {
      const Rewrite r = rewrite(format(R"(graph {{
        input q: f32[2, 3, 5, 4]
        input k: f32[2, 3, 6, 4]
        input v: f32[2, 3, 6, 7]
        input m: {}
        s = minnow.FusedMatMul(q, k) {{transB = 1, alpha = 0.25}}
        t = {}
        p = Softmax(t)
        y = MatMul(p, v)
        output y
      }})",
                                       mask, sum),
                                {"raise_attention"});
      EXPECT_EQ(r.nodes(), "y = Attention(q, k, v, m) {scale = 0.25}\n") << mask;
      EXPECT_TRUE(numbers_stay(r)) << mask;
    }
}

TEST(RaiseAttention, keys_that_are_not_turned) {
  const Rewrite r = rewrite(R"(graph {
    input q: f32[2, 3, 5, 4]
    input k: f32[2, 3, 4, 6]
    input v: f32[2, 3, 6, 7]
    s = MatMul(q, k)
    p = Softmax(s)
    y = MatMul(p, v)
    output y
  })",
                            {"raise_attention"});
  EXPECT_EQ(r.ops(), "Transpose Attention");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseAttention, other_forms_stay) {
  const auto ops = [](std::string_view v, std::string_view weights) {
    return rewrite(format(R"(graph {{
      input q: f32[2, 3, 5, 4]
      input k: f32[2, 3, 4, 6]
      input v: {}
      input m: f32[2, 3, 5, 1]
      s = MatMul(q, k)
      n = Add(s, m)
      p = {}
      y = MatMul(p, v)
      output y
    }})",
                          v, weights),
                   {"raise_attention"})
        .ops();
  };
  using testing::HasSubstr, testing::Not;
  EXPECT_THAT(ops("f32[2, 3, 6, 7]", "Softmax(s) {axis = 2}"), Not(HasSubstr("Attention")));
  EXPECT_THAT(ops("f32[3, 6, 7]", "Softmax(s)"), Not(HasSubstr("Attention")));
  EXPECT_THAT(ops("f32[1, 3, 6, 7]", "Softmax(s)"), Not(HasSubstr("Attention")));
  EXPECT_THAT(ops("f32[2, 3, 6, 7]", "Softmax(n)"), Not(HasSubstr("Attention")));
}

TEST(RaiseAttention, scores_that_others_see) {
  const Rewrite r = rewrite(R"(graph {
    input q: f32[2, 3, 5, 4]
    input k: f32[2, 3, 4, 6]
    input v: f32[2, 3, 6, 7]
    s = MatMul(q, k)
    p = Softmax(s)
    y = MatMul(p, v)
    output p
    output y
  })",
                            {"raise_attention"});
  EXPECT_EQ(r.changes, 0u);
}

}  // namespace
}  // namespace minnow::test
