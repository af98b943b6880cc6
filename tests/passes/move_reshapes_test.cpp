// SPDX-License-Identifier: Apache-2.0
#include "passes/move_reshapes.h"

#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

std::vector<Dim> dims(std::initializer_list<int64_t> sizes) {
  std::vector<Dim> all;
  for (int64_t size : sizes) all.push_back(size < 0 ? Dim{-1, "n" + std::to_string(-size)} : Dim{size, {}});
  return all;
}

TEST(SplitGroups, tells_which_dimensions_make_which) {
  const auto count = [](std::initializer_list<int64_t> from, std::initializer_list<int64_t> to) {
    std::vector<size_t> sizes;
    SizeTable table;
    const auto groups = split_groups(dims(from), dims(to), table);
    if (groups)
      for (const auto& group : *groups) sizes.push_back(group.size());
    return sizes;
  };
  EXPECT_EQ(count({4, 128, 64}, {1, 4, 128, 64}), (std::vector<size_t>{2, 1, 1}));
  EXPECT_EQ(count({-1, 12}, {-1, 3, 4}), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(count({6, 2}, {2, 3, 2, 1}), (std::vector<size_t>{2, 2}));
  EXPECT_TRUE(count({6, 2}, {3, 4}).empty());
  EXPECT_TRUE(count({6, 2}, {12}).empty());
  EXPECT_TRUE(count({-1, 2}, {-2, 2}).empty());
  EXPECT_TRUE(count({0, 2}, {0, 2}).empty());
}

TEST(SplitGroups, of_sizes_that_are_formulas) {
  SizeTable table;
  const Dim batch{-1, "batch"}, rows = table.dim_of(table.symbol("batch") * 4);
  const auto groups = split_groups({rows, Dim{6, {}}}, {batch, Dim{4, {}}, Dim{6, {}}}, table);
  ASSERT_TRUE(groups.has_value());
  EXPECT_EQ((*groups)[0], (std::vector<Dim>{batch, Dim{4, {}}}));
  EXPECT_FALSE(split_groups({rows}, {Dim{4, {}}}, table).has_value());
  EXPECT_FALSE(split_groups({batch, Dim{6, {}}}, {batch, batch, Dim{6, {}}}, table).has_value());
}

TEST(AsReshape, copies_open_dimensions_that_stay_in_place) {
  EXPECT_EQ(as_reshape(dims({-1, -2, 12}), dims({-1, 3, 4})), (Ints{0, -1, 12}));
  EXPECT_EQ(as_reshape(dims({-1, -2, 3, 4}), dims({-1, -2, 12})), (Ints{0, 0, 3, 4}));
  EXPECT_EQ(as_reshape(dims({-1, 12}), dims({-1, 3, 4})), (Ints{-1, 12}));
  EXPECT_FALSE(as_reshape(dims({-2, -1, 12}), dims({-1, -2, 12})).has_value());
  EXPECT_FALSE(as_reshape(dims({0, 12}), dims({0, 12})).has_value());
}

TEST(MoveReshapes, behind_a_product_and_its_activation) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[3, 5, 8]
    const flat = i64[2] [15, 8]
    const image = i64[4] [15, 6, 1, 1]
    const again = i64[2] [15, 6]
    const back = i64[3] [3, 5, 4]
    const random_w = f32[6, 8] fill 0
    const random_b = f32[6] fill 0
    const random_v = f32[6, 4] fill 0
    rows = Reshape(x, flat)
    a = Gemm(rows, random_w, random_b) {transB = 1}
    i = Reshape(a, image)
    g = Gelu(i)
    f = Reshape(g, again)
    m = MatMul(f, random_v)
    y = Reshape(m, back)
    output y
  })");
  EXPECT_EQ(r.ops(), "minnow.FusedMatMul MatMul");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(MoveReshapes, not_where_nothing_reshapes_afterwards) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[3, 5, 8]
    const flat = i64[2] [15, 8]
    const random_w = f32[6, 8] fill 0
    rows = Reshape(x, flat)
    y = Gemm(rows, random_w) {transB = 1}
    output y
  })",
                            {"move_reshapes"});
  EXPECT_EQ(r.changes, 0u);
}

TEST(MoveReshapes, split_before_a_transpose) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[7, batch, 24]
    const heads = i64[3] [7, -1, 4]
    const split = i64[4] [-1, 6, 7, 4]
    a = Reshape(x, heads)
    t = Transpose(a) {perm = [1, 0, 2]}
    y = Reshape(t, split)
    output y
  })");
  EXPECT_TRUE(numbers_stay(r));
  const Rewrite known = optimized(R"(graph {
    input x: f32[7, 2, 24]
    const heads = i64[3] [7, 12, 4]
    const split = i64[4] [2, 6, 7, 4]
    a = Reshape(x, heads)
    t = Transpose(a) {perm = [1, 0, 2]}
    y = Reshape(t, split)
    output y
  })");
  EXPECT_EQ(known.ops(), "Reshape Transpose");
  EXPECT_TRUE(numbers_stay(known));
}

TEST(MoveReshapes, a_bias_of_heads_is_one_of_the_product) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[batch, 5, 8]
    const heads = i64[4] [-1, 5, 2, 3]
    const random_w = f32[8, 6] fill 0
    const random_b = f32[2, 3] fill 0
    m = MatMul(x, random_w)
    s = Reshape(m, heads)
    y = Add(s, random_b)
    output y
  })");
  EXPECT_EQ(r.ops(), "minnow.FusedMatMul Reshape");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(SplitProducts, of_one_product_for_queries_keys_and_values) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[7, 2, 8]
    const random_w = f32[8, 12] fill 0
    const random_b = f32[12] fill 0
    const split = i64[4] [7, 2, 3, 4]
    const first = i64[] 0
    const second = i64[] 1
    const third = i64[] -1
    m = MatMul(x, random_w)
    b = Add(m, random_b)
    s = Reshape(b, split)
    t = Transpose(s) {perm = [2, 0, 1, 3]}
    q = Gather(t, first)
    k = Gather(t, second)
    v = Gather(t, third)
    output q
    output k
    output v
  })");
  EXPECT_EQ(r.ops(), "minnow.FusedMatMul minnow.FusedMatMul minnow.FusedMatMul");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(SplitProducts, not_where_columns_are_taken_twice_or_by_others_too) {
  for (const char* second : {"[1]", "[4]"}) {
    const std::string text = std::string(R"(graph {
      input x: f32[7, 8]
      const random_w = f32[8, 12] fill 0
      const zero = i64[1] [0]
      const four = i64[1] [4]
      const begin = i64[1] )") +
                             second + R"(
      const end = i64[1] [8]
      const axes = i64[1] [1]
      m = MatMul(x, random_w)
      a = Slice(m, zero, four, axes)
      b = Slice(m, begin, end, axes)
      output a
      output b
      )" + (second[1] == '4' ? "output m" : "") +
                             "\n}";
    EXPECT_EQ(rewrite(text, {"split_products"}).changes, 0u);
  }
}

TEST(WriteOutEinsums, those_of_attention) {
  for (const char* equation : {"BTNH,BSNH->BNTS", "bnts , bsnh -> btnh", "ij,jk->ik", "ij,kj->ki"}) {
    const bool four = equation[4] == ',' || equation[5] == ',';
    const std::string a = std::string(equation).starts_with("BT") ? "[2, 5, 3, 4]" : four ? "[2, 3, 5, 6]" : "[5, 4]";
    const std::string b = std::string(equation).starts_with("BT") ? "[2, 6, 3, 4]"
                          : four                                  ? "[2, 6, 3, 4]"
                          : std::string(equation)[3] == 'j'       ? "[4, 6]"
                                                                  : "[6, 4]";
    const Rewrite r = rewrite(
        "graph {\n input a: f32" + a + "\n input b: f32" + b + "\n y = Einsum(a, b) {equation = \"" + equation + "\"}\n output y\n}",
        {"einsum_to_matmul"});
    EXPECT_EQ(r.changes, 1u) << equation;
    EXPECT_TRUE(numbers_stay(r)) << equation;
  }
}

TEST(WriteOutEinsums, not_those_that_are_no_product_of_matrices) {
  for (const char* equation : {"ij,ij->ij", "ii,ij->ij", "ij,jk->", "...j,jk->...k"})
    EXPECT_EQ(rewrite(std::string("graph {\n input a: f32[4, 4]\n input b: f32[4, 4]\n y = Einsum(a, b) {equation = \"") + equation +
                          "\"}\n output y\n}",
                      {"einsum_to_matmul"})
                  .changes,
              0u)
        << equation;
}

TEST(WriteOutEinsums, a_batch_without_a_name_is_the_same_everywhere) {
  const Rewrite same = optimized(R"(graph {
    input x: f32[?, 5, 3, 4]
    k = Mul(x, x)
    scores = Einsum(x, k) {equation = "BTNH,BSNH->BNTS"}
    y = Einsum(scores, x) {equation = "BNTS,BSNH->BTNH"}
    output y
  })");
  EXPECT_THAT(same.ops(), testing::Not(testing::HasSubstr("Einsum")));
  EXPECT_TRUE(numbers_stay(same));
  // Two inputs' need not be, and one of them may be 1.
  EXPECT_EQ(rewrite(R"(graph {
    input x: f32[?, 5, 3, 4]
    input k: f32[?, 5, 3, 4]
    y = Einsum(x, k) {equation = "BTNH,BSNH->BNTS"}
    output y
  })",
                    {"einsum_to_matmul"})
                .changes,
            0u);
}

TEST(WriteOutEinsums, dimensions_are_those_of_the_labels) {
  const auto dims_of = [](const std::string& equation) {
    const Rewrite r = optimized("graph {\n input a: f32[n, 3, 1]\n input b: f32[n, m, 4]\n y = Einsum(a, b) {equation = \"" + equation +
                                "\"}\n output y\n}");
    std::string text;
    for (const Dim& dim : *r.after->outputs()[0]->type.dims) text += (dim.known() ? std::to_string(dim.size) : dim.symbol) + " ";
    return text;
  };
  EXPECT_EQ(dims_of("bij , bkl -> lkib"), "4 m 3 n ");
  EXPECT_EQ(dims_of("bik,bjk->bijk"), "n 3 m 4 ");
  EXPECT_EQ(dims_of("bix,bkl"), "3 m 4 1 ");
}

TEST(RaiseAttention, of_pytorch_with_the_length_first) {
  for (const char* batch : {"1", "3"}) {
    const std::string n = batch;
    const std::string heads = std::to_string(std::stoi(n) * 2);
    const Rewrite r =
        optimized("graph {\n input x: f32[" + n + ", 5, 8]\n const split = i64[3] [5, " + heads + ", 4]\n const full = i64[4] [" + n +
                  ", 2, 5, 4]\n const rows = i64[2] [-1, 8]\n const back = i64[3] [5, " + n + R"(, 8]
      const scale = f32[] 0.5
      const random_q = f32[8, 8] fill 0
      const random_k = f32[8, 8] fill 0
      const random_v = f32[8, 8] fill 0
      const random_o = f32[8, 8] fill 0
      const random_b = f32[8] fill 0
      t = Transpose(x) {perm = [1, 0, 2]}
      q = MatMul(t, random_q)
      k = MatMul(t, random_k)
      v = MatMul(t, random_v)
      q1 = Reshape(q, split)
      k1 = Reshape(k, split)
      v1 = Reshape(v, split)
      q2 = Transpose(q1) {perm = [1, 0, 2]}
      k2 = Transpose(k1) {perm = [1, 0, 2]}
      v2 = Transpose(v1) {perm = [1, 0, 2]}
      q3 = Reshape(q2, full)
      k3 = Reshape(k2, full)
      v3 = Reshape(v2, full)
      k4 = Transpose(k3) {perm = [0, 1, 3, 2]}
      s = MatMul(q3, k4)
      m = Mul(s, scale)
      p = Softmax(m) {axis = -1}
      a = MatMul(p, v3)
      l = Transpose(a) {perm = [2, 0, 1, 3]}
      f = Reshape(l, rows)
      o = Gemm(f, random_o, random_b)
      r = Reshape(o, back)
      y0 = Transpose(r) {perm = [1, 0, 2]}
      y = Add(y0, x)
      output y
    })");
    EXPECT_EQ(r.ops(), "MatMul MatMul MatMul Attention minnow.FusedMatMul") << n;
    EXPECT_TRUE(numbers_stay(r, 1e-4));
  }
}

// As PyTorch's MultiheadAttention is traced: one product for all three, and shapes computed from the input's.
TEST(RaiseAttention, with_open_sizes) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[length, batch, 8]
    const zero = i64[] 0
    const one = i64[] 1
    const two = i64[] 2
    const front = i64[1] [0]
    const third = i64[1] [3]
    const split = i64[4] [0, 0, 3, 8]
    const heads = i64[3] [0, -1, 4]
    const rows = i64[2] [-1, 8]
    const count = i64[1] [2]
    const width = i64[1] [4]
    const whole = i64[1] [8]
    const scale = f32[] 0.5
    const random_w = f32[8, 24] fill 0
    const random_o = f32[8, 8] fill 0
    const random_b = f32[8] fill 0
    l = Shape(x) {end = 1}
    n = Shape(x) {start = 1, end = 2}
    full = Concat(n, count, l, width) {axis = 0}
    back = Concat(l, n, whole) {axis = 0}
    p = MatMul(x, random_w)
    p1 = Reshape(p, split)
    p2 = Unsqueeze(p1, front)
    p3 = Transpose(p2) {perm = [3, 1, 2, 0, 4]}
    p4 = Squeeze(p3, third)
    q = Gather(p4, zero) {axis = 0}
    k = Gather(p4, one) {axis = 0}
    v = Gather(p4, two) {axis = 0}
    q1 = Reshape(q, heads)
    k1 = Reshape(k, heads)
    v1 = Reshape(v, heads)
    q2 = Transpose(q1) {perm = [1, 0, 2]}
    k2 = Transpose(k1) {perm = [1, 0, 2]}
    v2 = Transpose(v1) {perm = [1, 0, 2]}
    q3 = Reshape(q2, full)
    k3 = Reshape(k2, full)
    v3 = Reshape(v2, full)
    k4 = Transpose(k3) {perm = [0, 1, 3, 2]}
    s = MatMul(q3, k4)
    m = Mul(s, scale)
    w = Softmax(m) {axis = -1}
    a = MatMul(w, v3)
    t = Transpose(a) {perm = [2, 0, 1, 3]}
    f = Reshape(t, rows)
    o = Gemm(f, random_o, random_b)
    r = Reshape(o, back)
    y = Add(r, x)
    output y
  })");
  EXPECT_EQ(r.ops(), "MatMul MatMul MatMul Transpose Transpose Transpose Attention Transpose minnow.FusedMatMul");
  EXPECT_TRUE(numbers_stay(r, 1e-4));
}

}  // namespace
}  // namespace minnow::test
