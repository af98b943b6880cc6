// SPDX-License-Identifier: Apache-2.0
// The passes that clean up: identities, no-ops, dead code, constants, common subexpressions, constant Ifs.
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(RemoveIdentities, outputs_keep_their_names) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3]
    a = Identity(x)
    b = Relu(a)
    y = Identity(b)
    z = Identity(x)
    output y
    output z
  })",
                            {"remove_identities"});
  EXPECT_EQ(r.nodes(), "y = Relu(x)\nz = Identity(x)\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RemoveIdentities, within_subgraphs_too) {
  const Rewrite r = rewrite(R"(graph {
    input c: bool[]
    input x: f32[2]
    y: f32[2] = If(c) {then_branch = graph {
      a: f32[2] = Identity(x)
      b: f32[2] = Neg(a)
      d: f32[2] = Identity(b)
      output d
    }, else_branch = graph {
      output x
    }}
    output y
  })",
                            {"copy_outer_outputs", "remove_identities"});
  EXPECT_EQ(r.changes, 3u);
  EXPECT_THAT(to_text(*r.after), HasSubstr("= Neg(x)"));
}

TEST(RemoveNoOps, casts_reshapes_and_neutral_elements) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3]
    const shape = i64[2] [2, 3]
    const axes = i64[1] [0]
    const zero = f32[1] [0]
    const one = f32[2, 3] fill 1
    a = Cast(x) {to = 1}
    b = Reshape(a, shape)
    c = Unsqueeze(b, axes)
    d = Squeeze(c, axes)
    e = Add(d, zero)
    f = Mul(one, e)
    g = Relu(f)
    h = Relu(g)
    y = Concat(h) {axis = 0}
    output y
  })",
                            {"remove_no_ops"});
  EXPECT_EQ(r.nodes(), "y = Relu(x)\n");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RemoveNoOps, a_neutral_element_that_broadcasts_stays) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[3]
    const zero = f32[2, 3] fill 0
    y = Add(x, zero)
    output y
  })",
                            {"remove_no_ops"});
  EXPECT_EQ(r.ops(), "Add");
}

TEST(RemoveNoOps, casts_there_and_back_only_where_nothing_is_lost) {
  const Rewrite r = rewrite(R"(graph {
    input x: f16[3]
    input i: i64[3]
    a = Cast(x) {to = 1}
    b = Cast(a) {to = 10}
    y = Neg(b)
    c = Cast(i) {to = 6}
    d = Cast(c) {to = 7}
    z = Neg(d)
    output y
    output z
  })",
                            {"remove_no_ops"});
  EXPECT_EQ(r.nodes(), "y = Neg(x)\nc = Cast(i) {to = 6}\nd = Cast(c) {to = 7}\nz = Neg(d)\n");
}

TEST(RemoveNoOps, reshapes_in_a_row_become_one) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2, 3, 4]
    const shape = i64[2] [6, 4]
    const axes = i64[1] [1]
    a = Reshape(x, shape)
    y = Unsqueeze(a, axes)
    output y
  })",
                            {"remove_no_ops"});
  EXPECT_EQ(r.ops(), "Reshape");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldConstants, chains_and_outputs) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2]
    const a = f32[2] [1, 2]
    const b = f32[2] [3, 5]
    s = Add(a, b)
    t = Neg(s)
    y = Mul(x, t)
    output y
    output s
  })",
                            {"fold_constants"});
  EXPECT_EQ(r.ops(), "Mul");
  EXPECT_EQ(r.after->outputs()[1]->name(), "s");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldConstants, makes_nothing_large_out_of_little) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1]
    const one = f32[] 1
    const shape = i64[2] [1000, 1000]
    a = Expand(one, shape)
    y = Mul(x, a)
    output y
  })",
                            {"fold_constants"});
  EXPECT_EQ(r.ops(), "Expand Mul");
}

TEST(FoldConstants, a_constant_that_is_read_twice_goes_once) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[1]
    const random_w = f32[20000] fill 0
    a = Concat(random_w, random_w) {axis = 0}
    b = Concat(a, a) {axis = 0}
    y = Mul(x, b)
    output y
  })",
                            {"fold_constants"});
  EXPECT_EQ(r.ops(), "Concat Concat Mul");
}

TEST(FoldConstants, many_small_results_do_not_make_a_large_graph) {
  std::string text = "graph {\n input x: f32[16000]\n const one = f32[] 1\n const shape = i64[1] [16000]\n";
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    text += " a" + n + " = Expand(one, shape)\n y" + n + " = Add(x, a" + n + ")\n output y" + n + "\n";
  }
  const Rewrite r = rewrite(text + "}", {"fold_constants"});
  size_t bytes = 0;
  for (const auto& constant : r.after->constants()) bytes += constant->constant()->bytes();
  EXPECT_GT(bytes, size_t{3} << 20);
  EXPECT_LT(bytes, size_t{5} << 20);
}

TEST(FoldConstants, a_large_weight_that_is_also_used_as_it_is_stays_alone) {
  constexpr std::string_view kText = R"(graph {
    input x: f32[4, 200]
    const random_w = f32[200, 200] fill 0
    t = Transpose(random_w) {perm = [1, 0]}
    y = MatMul(x, t)
    )";
  EXPECT_EQ(rewrite(std::string(kText) + "output y }", {"fold_constants"}).ops(), "MatMul");
  EXPECT_EQ(rewrite(std::string(kText) + "z = MatMul(y, random_w)\n output z }", {"fold_constants"}).ops(), "Transpose MatMul MatMul");
}

TEST(FoldConstants, what_fails_is_left_to_the_run) {
  const Rewrite r = rewrite(R"(graph {
    const a = i64[1] [1]
    const b = i64[1] [0]
    y = Div(a, b)
    output y
  })",
                            {"fold_constants"});
  EXPECT_EQ(r.ops(), "Div");
}

TEST(FoldConstants, parameters_stay_where_the_graph_will_be_trained) {
  constexpr std::string_view kText = R"(graph {
    input x: f32[4, 2]
    const w = f32[2, 2] [1, 2, 3, 4]
    const i = i64[1] [3]
    t = Transpose(w) {perm = [1, 0]}
    j = Add(i, i)
    y = MatMul(x, t)
    output y
    output j
  })";
  EXPECT_EQ(rewrite(kText, {"fold_constants"}, Optimize::train).ops(), "Transpose MatMul");
}

TEST(MergeCommonSubexpressions, nodes_and_constants) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2]
    const a = f32[2] [1, 2]
    const b = f32[2] [1, 2]
    p = Add(x, a)
    q = Add(b, x)
    u = LeakyRelu(p) {alpha = 0.5}
    v = LeakyRelu(q) {alpha = 0.5}
    w = LeakyRelu(q) {alpha = 0.25}
    y = Sub(u, w)
    output y
    output v
  })",
                            {"merge_common_subexpressions", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Add LeakyRelu LeakyRelu Sub");
  EXPECT_EQ(r.after->constants().size(), 1u);
  EXPECT_EQ(r.after->outputs()[1]->name(), "v");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(MergeCommonSubexpressions, two_outputs_stay_two) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2]
    y = Neg(x)
    z = Neg(x)
    output y
    output z
  })",
                            {"merge_common_subexpressions"});
  EXPECT_EQ(r.ops(), "Neg Neg");
}

TEST(RemoveDeadCode, chains_and_constants) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2]
    const a = f32[2] [1, 2]
    p = Add(x, a)
    q = Neg(p)
    y = Relu(x)
    output y
  })",
                            {"remove_dead_code"});
  EXPECT_EQ(r.ops(), "Relu");
  EXPECT_TRUE(r.after->constants().empty());
}

TEST(InlineConstantIfs, takes_the_branch) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[2]
    input e: bool[]
    const c = bool[] 0
    y: f32[2], z: f32[2] = If(c) {then_branch = graph {
      a: f32[2] = Neg(x)
      output a
      output a
    }, else_branch = graph {
      const k = f32[2] [3, 4]
      b: f32[2] = Add(x, k)
      d: f32[2] = If(e) {then_branch = graph {
        p: f32[2] = Mul(b, k)
        output p
      }, else_branch = graph {
        q: f32[2] = Neg(b)
        output q
      }}
      output d
      output x
    }}
    w: f32[2] = Relu(z)
    output y
    output w
  })",
                            {"copy_outer_outputs", "inline_constant_ifs", "remove_identities", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Add If Relu");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(Pipeline, level_none_changes_nothing) {
  const Rewrite r = optimized("graph {\n input x: f32[2]\n y = Identity(x)\n z = Neg(y)\n output z\n }", Optimize::none);
  EXPECT_EQ(r.ops(), "Identity Neg");
  EXPECT_EQ(r.changes, 0u);
}

TEST(DropReducedDims, where_a_reshape_takes_them_away) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 3, 4, 5]
    const axes = i64[2] [1, -1]
    const shape = i64[2] [-1, 3]
    const other = i64[2] [-1, 2]
    a = GlobalAveragePool(x)
    b = Flatten(a)
    c = ReduceSum(x, axes)
    d = Squeeze(c, axes)
    e = ReduceMax(x, axes)
    f = Reshape(e, other)
    output b
    output d
    output f
  })",
                            {"squeeze_reductions"});
  EXPECT_EQ(r.ops(), "ReduceMean ReduceSum ReduceMax Reshape");
  EXPECT_EQ(*r.node("ReduceMean").attributes.get<int64_t>("keepdims"), 0);
  EXPECT_TRUE(numbers_stay(r));
}

}  // namespace
}  // namespace minnow::test
