// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/passes.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(FoldShapes, known_dimensions_become_constants) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 3, 4]
    const two = i64[] 2
    s = Shape(x)
    d: i64[] = Gather(s, two) {axis = 0}
    n: i64[] = Size(x)
    y: i64[] = Add(d, n)
    output y
    output d
  })",
                            {"fold_shapes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Size Add");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, a_size_of_zero_is_not_taken_for_a_copy) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 5, 0]
    const most = i64[1] [-1]
    const three = i64[1] [3]
    s = Shape(x) {end = 1}
    t = Concat(s, most, three) {axis = 0}
    y: f32[batch, 0, 3] = Reshape(x, t)
    output y
  })",
                            {"fold_shapes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Shape Concat Reshape");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, flattening_keeps_the_symbolic_batch) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 3, 4]
    const zero = i64[] 0
    const axes = i64[1] [0]
    const rest = i64[1] [-1]
    s = Shape(x)
    d: i64[] = Gather(s, zero) {axis = 0}
    u: i64[1] = Unsqueeze(d, axes)
    shape: i64[2] = Concat(u, rest) {axis = 0}
    y: f32[batch, 12] = Reshape(x, shape)
    output y
  })",
                            {"fold_shapes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Reshape");
  EXPECT_THAT(to_text(*r.after), HasSubstr("i64[2] [0, 12]"));  // not -1, which a batch of 0 would leave open
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, another_value_of_the_same_symbol_is_copied_too) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, time, 12]
    input z: f32[batch, 5]
    const i0 = i64[1] [0]
    const i1 = i64[1] [1]
    const i2 = i64[1] [2]
    const heads = i64[2] [3, 4]
    sx = Shape(x)
    sz = Shape(z)
    b: i64[1] = Slice(sz, i0, i1)
    t: i64[1] = Slice(sx, i1, i2)
    shape: i64[4] = Concat(b, t, heads) {axis = 0}
    y: f32[batch, time, 3, 4] = Reshape(x, shape)
    output y
  })",
                            {"fold_shapes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Reshape");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, zeros_that_are_sizes_matter_where_there_are_some) {
  // allowzero = 1, as PyTorch's exporter writes it everywhere.
  constexpr std::string_view kComputed = R"(graph {
    input x: f32[batch, 3, 4]
    const rest = i64[1] [12]
    s = Shape(x) {end = 1}
    shape = Concat(s, rest) {axis = 0}
    y: f32[batch, 12] = Reshape(x, shape) {allowzero = 1}
    output y
  })";
  EXPECT_EQ(rewrite(kComputed, {"fold_shapes", "remove_dead_code"}).nodes(), "y = Reshape(x, constant#1)\n");
  constexpr std::string_view kConstant =
      "graph {{ input x: f32[batch, 3, 4] const shape = i64[2] {} y = Reshape(x, shape) {{allowzero = 1}} output y }}";
  EXPECT_EQ(rewrite(format(kConstant, "[-1, 12]"), {"fold_shapes"}).nodes(), "y = Reshape(x, shape)\n");
  EXPECT_EQ(rewrite(format(kConstant, "[0, 12]"), {"fold_shapes"}).changes, 0u);
}

TEST(FoldShapes, a_shape_with_two_unknowns_stays) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[a, b]
    const order = i64[2] [1, 0]
    s = Shape(x)
    t: i64[2] = Gather(s, order) {axis = 0}
    y: f32[b, a] = Reshape(x, t)
    output y
  })",
                            {"fold_shapes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Shape Gather Reshape");
}

TEST(FoldShapes, expand_by_its_own_dimensions) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 1]
    const i0 = i64[1] [0]
    const i1 = i64[1] [1]
    const four = i64[1] [4]
    s = Shape(x)
    b: i64[1] = Slice(s, i0, i1)
    shape: i64[2] = Concat(b, four) {axis = 0}
    y: f32[batch, 4] = Expand(x, shape)
    output y
  })",
                            {"fold_shapes", "remove_dead_code"});
  EXPECT_EQ(r.ops(), "Expand");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, what_is_filled_has_the_sizes_it_is_asked_to_have) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, steps, 3]
    const zero = i64[1] [0]
    const one = i64[1] [1]
    const three = i64[1] [3]
    const back = i64[1] [-1]
    const far = i64[1] [-9223372036854775808]
    const nothing = f32[] 0
    const row = f32[1, 3] fill 1
    const column = i64[1] [1]
    s = Shape(x)
    n = Slice(s, zero, one)
    shape = Concat(n, three) {axis = 0}
    spread = Expand(nothing, shape)
    both = Concat(n, column) {axis = 0}
    rows = Expand(row, both)
    filled = ConstantOfShape(shape)
    turned = Slice(x, back, far, one, back)
    output spread
    output rows
    output filled
    output turned
  })",
                            {"fold_shapes"});
  std::string dims;
  for (const Value* output : r.after->outputs()) {
    for (const Dim& dim : output->type.dims.value_or(std::vector<Dim>()))
      dims += (dim.known() ? std::to_string(dim.size) : dim.symbol) + " ";
    dims += "| ";
  }
  EXPECT_EQ(dims, "batch 3 | batch 3 | batch 3 | batch steps 3 | ");
}

std::string dims_of(const Value& value) {
  std::string text;
  if (!value.type.dims) return "unknown";
  for (const Dim& dim : *value.type.dims) text += (dim.known() ? std::to_string(dim.size) : dim.symbol) + " ";
  return text;
}

TEST(FoldShapes, what_a_loop_carries_keeps_its_shape) {
  // The state does, and is what the counter of what grows is not: of that nothing is known, nor of what is made of it.
  const Rewrite r = rewrite(R"(graph {
    input x: f32[batch, 3]
    input n: i64[]
    input more: f32[batch, 3]
    const random_w = f32[3, 3] fill 0
    const truth = bool[] 1
    y, list, mixed = Loop(n, truth, x, x, x) {body = graph {
      input i: i64[]
      input go: bool[]
      input state: f32[batch, 3]
      input grown: f32[batch, 3]
      input both: f32[batch, 3]
      const on = bool[] 1
      product = MatMul(state, random_w)
      next = Tanh(product)
      longer = Concat(grown, more) {axis = 0}
      of_both = Concat(both, longer) {axis = 0}
      again = Identity(on)
      output again
      output next
      output longer
      output of_both
    }}
    output y
    output list
    output mixed
  })",
                            {"fold_shapes"});
  EXPECT_EQ(dims_of(*r.after->outputs()[0]), "batch 3 ");
  EXPECT_EQ(dims_of(*r.after->outputs()[1]), "unknown");
  EXPECT_EQ(dims_of(*r.after->outputs()[2]), "unknown");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, products_in_a_scan_take_in_what_is_added) {
  const Rewrite r = optimized(R"(graph {
    input x: f32[steps, 2, 3]
    input start: f32[2, 5]
    const random_w = f32[3, 5] fill 0
    const random_r = f32[5, 5] fill 0
    const random_b = f32[5] fill 0
    end, y = Scan(start, x) {num_scan_inputs = 1, body = graph {
      input state: f32
      input row: f32
      a = MatMul(row, random_w)
      b = MatMul(state, random_r)
      s = Add(a, b)
      z = Add(s, random_b)
      next = Relu(z)
      output next
      output next
    }}
    output end
    output y
  })");
  const Graph& body = **r.node("Scan").attributes.get<Subgraph>("body");
  EXPECT_LE(body.node_count(), 3u) << r.nodes();
  EXPECT_EQ(dims_of(*r.after->outputs()[0]), "2 5 ");
  EXPECT_TRUE(numbers_stay(r));
}

TEST(FoldShapes, a_shape_of_too_many_numbers_gives_no_rank) {
  const Rewrite r = rewrite("graph { input x: f32[4] input shape: i64[100000] y = Reshape(x, shape) output y }", {"fold_shapes"});
  EXPECT_FALSE(r.after->outputs()[0]->type.dims.has_value());
}

}  // namespace
}  // namespace minnow::test
