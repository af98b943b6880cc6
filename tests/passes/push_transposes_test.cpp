// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/format.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Rewrite pushed(std::string_view text) {
  return rewrite(text, {"push_transposes", "remove_dead_code", "push_transposes", "remove_dead_code"});
}

size_t count(const Rewrite& r, std::string_view op) {
  size_t found = 0;
  for (const Node& node : r.after->nodes()) found += node.op() == op;
  return found;
}

TEST(PushTransposes, in_a_row) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[2, 3, 4]
    a = Transpose(x) {perm = [1, 2, 0]}
    y = Transpose(a) {perm = [2, 0, 1]}
    b = Transpose(x)
    z = Transpose(b) {perm = [1, 0, 2]}
    w = Relu(y)
    output w
    output z
  })");
  EXPECT_EQ(r.nodes(), "z = Transpose(x) {perm = [1, 2, 0]}\nw = Relu(x)\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, an_island_in_nhwc) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[1, 8, 6, 3]
    const random_w = f32[4, 3, 3, 3] fill 0
    const random_v = f32[5, 4, 1, 1] fill 0
    const random_b = f32[4] fill 0
    const six = f32[] 6
    a = Transpose(x) {perm = [0, 3, 1, 2]}
    b = Conv(a, random_w)
    c = Transpose(b) {perm = [0, 2, 3, 1]}
    d = Add(c, random_b)
    e = Relu(d)
    f = Min(e, six)
    g = Transpose(f) {perm = [0, 3, 1, 2]}
    h = Conv(g, random_v)
    i = Transpose(h) {perm = [0, 2, 3, 1]}
    y = Sigmoid(i)
    output y
  })");
  EXPECT_EQ(r.ops(), "Transpose Conv Add Relu Min Conv Transpose Sigmoid");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, residual_arms_concatenations_and_pads) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[1, 3, 8, 6]
    const random_w = f32[4, 3, 3, 3] fill 0
    const random_u = f32[4, 4, 3, 3] fill 0
    const random_v = f32[5, 8, 1, 1] fill 0
    const pads = i64[8] [0, 1, 1, 0, 0, 1, 1, 0]
    const axes = i64[2] [1, 2]
    b = Conv(x, random_w)
    c = Transpose(b) {perm = [0, 2, 3, 1]}
    d = Relu(c)
    p = Pad(d, pads)
    e = Transpose(p) {perm = [0, 3, 1, 2]}
    f = Conv(e, random_u)
    g = Transpose(f) {perm = [0, 2, 3, 1]}
    h = Add(g, d)
    i = Concat(h, d) {axis = 3}
    j = Transpose(i) {perm = [0, 3, 1, 2]}
    k = Conv(j, random_v)
    l = Transpose(k) {perm = [0, 2, 3, 1]}
    y = ReduceMean(l, axes) {keepdims = 0}
    output y
  })");
  EXPECT_EQ(count(r, "Transpose"), 0u) << r.nodes();
  EXPECT_THAT(r.nodes(), HasSubstr("Concat(h#3, d#1) {axis = 1}"));  // permuted values have names of their own
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, every_kind_of_node_between) {
  for (const char* nodes : {
           "y = Softmax(t) {axis = -1}",
           "y = Softmax(t)",
           "const a = i64[1] [1]\n y = ReduceMax(t, a)",
           "const a = i64[2] [-1, 1]\n y = ReduceSum(t, a) {keepdims = 1}",
           "const a = i64[] 2\n y = CumSum(t, a)",
           "const s = i64[2] [1, 0]\n const e = i64[2] [3, 2]\n y = Slice(t, s, e)",
           "const s = i64[1] [1]\n const e = i64[1] [3]\n const a = i64[1] [-1]\n const k = i64[1] [2]\n y = Slice(t, s, e, a, k)",
           "const p = i64[8] [0, 1, 0, 2, 0, 0, 1, 0]\n y = Pad(t, p)",
           "const p = i64[2] [1, 2]\n const a = i64[1] [3]\n y = Pad(t, p, _, a) {mode = \"edge\"}",
           "const r = i64[4] [1, 2, 1, 3]\n y = Tile(t, r)",
           "const sc = f32[4] [1, 2, 2, 1]\n y = Resize(t, _, sc) {mode = \"nearest\"}",
           "const sz = i64[4] [2, 5, 7, 5]\n y = Resize(t, _, _, sz) {mode = \"linear\"}",
           "const sz = i64[2] [5, 7]\n y = Resize(t, _, _, sz) {axes = [1, 2], mode = \"linear\"}",
           "p, q = Split(t) {axis = 1, num_outputs = 2}\n y = Concat(q, p) {axis = 3}",
           "const random_c = f32[5] fill 0\n y = Mul(random_c, t)",
           "const random_c = f32[4, 1, 5] fill 0\n const k = f32[1] [2]\n m = Mul(t, random_c)\n y = Sub(k, m)",
           "const s = f32[] 0.1\n const zp = u8[] 100\n q = QuantizeLinear(t, s, zp)\n y = DequantizeLinear(q, s, zp)",
           "const s = f32[5] [0.1, 0.2, 0.3, 0.4, 0.5]\n q = QuantizeLinear(t, s) {axis = 3}\n y = DequantizeLinear(q, s) {axis = -1}",
           "const a = i64[1] [1]\n i = ArgMax(t) {axis = 2}\n y = Cast(i) {to = 1}",
       }) {
    const Rewrite r = pushed(format(R"(graph {{
    input x: f32[2, 5, 4, 3]
    t = Transpose(x) {{perm = [0, 2, 3, 1]}}
    {}
    u = Transpose(y) {{perm = [0, 3, 1, 2]}}
    z = Neg(u)
    output z
  }})",
                                    nodes));
    EXPECT_EQ(count(r, "Transpose"), 0u) << r.nodes();
    EXPECT_TRUE(numbers_stay(r)) << nodes;
  }
}

TEST(PushTransposes, dimensions_that_go_and_come) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[2, 5, 1, 3]
    const one = i64[1] [1]
    const three = i64[1] [2]
    t = Transpose(x) {perm = [0, 2, 3, 1]}
    a = Squeeze(t, one)
    b = Relu(a)
    c = Unsqueeze(b, three)
    y = Transpose(c) {perm = [0, 3, 2, 1]}
    i = ArgMax(b) {axis = 1, keepdims = 0}
    output y
    output i
  })");
  EXPECT_EQ(count(r, "Transpose"), 0u) << r.nodes();
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, not_where_more_would_be_transposed) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[2, 5, 4]
    t = Transpose(x) {perm = [0, 2, 1]}
    a = Relu(t)
    b = Neg(t)
    c = Sigmoid(t)
    output a
    output b
    output c
  })");
  EXPECT_EQ(r.changes, 0u) << r.nodes();
}

TEST(PushTransposes, outputs_and_outside_users_get_the_old_form) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[2, 5, 4]
    input k: f32[2, 4, 5]
    const random_w = f32[5, 3] fill 0
    const shape = i64[2] [2, 20]
    t = Transpose(x) {perm = [0, 2, 1]}
    u = Transpose(k) {perm = [0, 2, 1]}
    v = Transpose(u) {perm = [0, 1, 2]}
    a = Relu(t)
    b = Transpose(a) {perm = [0, 2, 1]}
    c = Neg(a)
    d = Transpose(c) {perm = [0, 2, 1]}
    e = Exp(c)
    f = Transpose(e) {perm = [0, 2, 1]}
    y = Sub(b, d)
    w = Reshape(e, shape)
    s = Shape(a)
    output y
    output w
    output f
    output s
    output v
  })");
  EXPECT_LT(count(r, "Transpose"), 4u) << r.nodes();
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, dynamic_sizes) {
  const Rewrite r = pushed(R"(graph {
    input x: f32[batch, 3, h, w]
    const random_w = f32[4, 3, 3, 3] fill 0
    const random_v = f32[5, 4, 1, 1] fill 0
    b = Conv(x, random_w) {pads = [1, 1, 1, 1]}
    c = Transpose(b) {perm = [0, 2, 3, 1]}
    d = HardSwish(c)
    e = Transpose(d) {perm = [0, 3, 1, 2]}
    y = Conv(e, random_v)
    output y
  })");
  EXPECT_EQ(r.ops(), "Conv HardSwish Conv");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, a_transpose_within_the_island) {
  // Two permutations meet: only one of them can be pushed on.
  const Rewrite r = pushed(R"(graph {
    input x: f32[2, 3, 4, 5]
    a = Transpose(x) {perm = [0, 2, 3, 1]}
    b = Relu(a)
    c = Transpose(b) {perm = [0, 3, 2, 1]}
    d = Neg(c)
    e = Transpose(d) {perm = [0, 3, 2, 1]}
    f = Add(e, b)
    y = Transpose(f) {perm = [0, 3, 1, 2]}
    output y
  })");
  EXPECT_TRUE(numbers_stay(r)) << r.nodes();
}

TEST(ReshapeTransposes, dimensions_of_size_one) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 1, 7, 1]
    input z: f32[2, 3, 4]
    a = Transpose(x) {perm = [0, 2, 3, 1]}
    b = Transpose(z) {perm = [1, 0, 2]}
    output a
    output b
  })",
                            {"reshape_transposes"});
  EXPECT_EQ(r.ops(), "Reshape Transpose");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(PushTransposes, weights_that_stay_small_in_the_file_are_turned_there) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1, 2, 5, 5]
    const bytes = u8[3, 3, 2, 4] fill 7
    const scale = f32[] 0.5
    w0 = Cast(bytes) {to = 1}
    w1 = Mul(w0, scale)
    w2 = Transpose(w1) {perm = [3, 2, 0, 1]}
    y = Conv(x, w2)
    output y
  })",
                            {"push_transposes", "push_transposes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Cast Mul Conv");
  EXPECT_TRUE(numbers_stay(r));
}

}  // namespace
}  // namespace minnow::test
