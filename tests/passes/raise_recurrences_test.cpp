// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "passes/rewrite.h"
#include "support/passes.h"

namespace minnow::test {
namespace {

// As TensorFlow writes it: a list of steps, a counter of its own, one product for all gates (in the order i, f, c, o).
std::string lists(std::string_view counter_begin, std::string_view bound, std::string_view forget) {
  return std::string(R"(graph {
    input x: f32[4, 2, 3]
    const truth = bool[] 1
    const begin = i32[] )") +
         std::string(counter_begin) + R"(
    const zeros = f32[2, 5] fill 0
    const empty = f32[4, 2, 5] fill 0
    const random_w = f32[3, 20] fill 0
    const random_r = f32[5, 20] fill 0
    const random_b = f32[20] fill 0
    steps = SplitToSequence(x) {axis = 0, keepdims = 0}
    list = SplitToSequence(empty) {axis = 0, keepdims = 0}
    count, h, c, made = Loop(_, truth, begin, zeros, zeros, list) {body = graph {
      input iteration: i64[]
      input condition: bool[]
      input t: i32[]
      input h0: f32[2, 5]
      input c0: f32[2, 5]
      input list0: seq(f32)
      const one = i32[] 1
      const last = i32[] )" +
         std::string(bound) + R"(
      next = Add(t, one)
      x_t = SequenceAt(steps, t)
      a = MatMul(x_t, random_w)
      b = MatMul(h0, random_r)
      s = Add(a, b)
      z = Add(s, random_b)
      i, f, g, o = Split(z) {axis = 1, num_outputs = 4}
      ia = Sigmoid(i)
      fa = )" +
         std::string(forget) + R"((f)
      ga = Tanh(g)
      oa = Sigmoid(o)
      keep = Mul(fa, c0)
      new = Mul(ia, ga)
      c1 = Add(keep, new)
      tc = Tanh(c1)
      h1 = Mul(oa, tc)
      erased = SequenceErase(list0, t)
      written = SequenceInsert(erased, h1, t)
      on = Less(next, last)
      output on
      output next
      output h1
      output c1
      output written
    }}
    y = ConcatFromSequence(made) {axis = 0, new_axis = 1}
    output y
    output h
    output c
  })";
}

TEST(RaiseRecurrences, an_lstm_over_lists) {
  const Rewrite r = rewrite(lists("0", "4", "Sigmoid"), {"raise_recurrences", "fold_constants", "remove_dead_code"});
  EXPECT_THAT(r.ops(), testing::HasSubstr("LSTM"));
  EXPECT_THAT(r.ops(), testing::Not(testing::HasSubstr("Loop")));
  EXPECT_TRUE(numbers_stay(r));
}

// Keras leaves the batch open: zeros are made as many as the input has rows, and a list of one place begins as one that lost an element.
TEST(RaiseRecurrences, an_lstm_whose_batch_and_steps_are_open) {
  for (const bool last : {false, true}) {
    std::string text = lists("0", "4", "Sigmoid");
    const auto replace = [&](std::string_view from, std::string_view to) {
      const size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      text.replace(at, from.size(), to);
    };
    replace("input x: f32[4, 2, 3]", "input x: f32[steps, batch, 3]");
    replace("    const zeros = f32[2, 5] fill 0\n", "");
    replace("    const empty = f32[4, 2, 5] fill 0\n",
            "    const empty = f32[1] [0]\n    const first = i64[] 0\n    const none = f32[] 0\n"
            "    const zero = i64[1] [0]\n    const one = i64[1] [1]\n    const two = i64[1] [2]\n    const five = i64[1] [5]\n");
    replace("list = SplitToSequence(empty) {axis = 0, keepdims = 0}",
            "shape = Shape(x)\n    rows = Slice(shape, one, two)\n    length = Slice(shape, zero, one)\n"
            "    state = Concat(rows, five) {axis = 0}\n    zeros = Expand(none, state)\n    places = " +
                std::string(last ? "Identity(empty)" : "Expand(none, length)") +
                "\n    nothing = SplitToSequence(places) {axis = 0, keepdims = 0}\n"
                "    more = SequenceInsert(nothing, empty, first)\n    list = SequenceErase(more, first)\n    T = Squeeze(length)");
    replace("Loop(_, truth,", "Loop(T, truth,");
    replace("const last = i32[] 4", "const place = i64[] 0\n      const always = bool[] 1");
    replace("h0: f32[2, 5]", "h0: f32");
    replace("c0: f32[2, 5]", "c0: f32");
    if (last) {
      replace("SequenceErase(list0, t)", "SequenceErase(list0, place)");
      replace("SequenceInsert(erased, h1, t)", "SequenceInsert(erased, h1, place)");
    }
    replace("on = Less(next, last)", "on = Identity(always)");
    const Rewrite r = optimized(text);
    EXPECT_THAT(r.ops(), testing::HasSubstr("LSTM"));
    EXPECT_THAT(r.ops(), testing::Not(testing::HasSubstr("Loop")));
    EXPECT_TRUE(numbers_stay(r));
  }
}

TEST(RaiseRecurrences, not_what_only_looks_like_one) {
  EXPECT_EQ(rewrite(lists("0", "3", "Sigmoid"), {"raise_recurrences"}).changes, 0u);  // fewer steps than there are
  EXPECT_EQ(rewrite(lists("1", "5", "Sigmoid"), {"raise_recurrences"}).changes, 0u);  // another step first
  EXPECT_EQ(rewrite(lists("0", "4", "Tanh"), {"raise_recurrences"}).changes, 0u);     // another gate
}

TEST(RaiseRecurrences, an_lstm_whose_steps_are_gathered_and_stacked) {
  const Rewrite r = rewrite(R"(graph {
    input x: f32[4, 2, 3]
    input h: f32[2, 5]
    const truth = bool[] 1
    const steps = i64[] 4
    const zeros = f32[2, 5] fill 0
    const random_w = f32[20, 3] fill 0
    const random_r = f32[20, 5] fill 0
    const random_b = f32[20] fill 0
    h_end, c_end, y = Loop(steps, truth, h, zeros) {body = graph {
      input t: i64[]
      input condition: bool[]
      input h0: f32[2, 5]
      input c0: f32[2, 5]
      x_t = Gather(x, t) {axis = 0}
      a = Gemm(x_t, random_w, random_b) {transB = 1}
      b = Gemm(h0, random_r) {transB = 1}
      z = Add(b, a)
      o, i, g, f = Split(z) {axis = -1, num_outputs = 4}
      ia = Sigmoid(i)
      fa = Sigmoid(f)
      ga = Tanh(g)
      oa = Sigmoid(o)
      keep = Mul(c0, fa)
      new = Mul(ga, ia)
      c1 = Add(new, keep)
      tc = Tanh(c1)
      h1 = Mul(tc, oa)
      y1 = Identity(h1)
      output condition
      output h1
      output c1
      output h1
    }}
    output y
    output h_end
  })",
                            {"raise_recurrences", "fold_constants", "remove_dead_code"});
  EXPECT_EQ(r.changes > 0, true);
  EXPECT_THAT(r.ops(), testing::Not(testing::HasSubstr("Loop")));
  EXPECT_TRUE(numbers_stay(r));
}

// As MNN writes it: the input's products before the loop, a slice of them for each step, states as images of one pixel.
std::string slices(std::string_view begin, std::string_view back_to_rows) {
  return std::string(R"(graph {
    input x: f32[t, 2, 3]
    const truth = bool[] 1
    const zero = f32[1, 1, 5] fill 0
    const state = f32[1, 2, 5] fill 1
    const to_rows = i64[4] [-1, 3, 1, 1]
    const flat = i64[2] [-1, 3]
    const to_image = i64[4] [-1, 20, 1, 1]
    const random_w = f32[20, 3] fill 0
    const random_r = f32[20, 5] fill 0
    const random_b = f32[20] fill 0
    const i0 = i64[1] [0]
    const i1 = i64[1] [1]
    const none = i64[0] []
    shape = Shape(x)
    first = Slice(shape, i0, i1, i0)
    steps = Reshape(first, none)
    rows = Reshape(x, to_rows)
    matrix = Reshape(rows, flat)
    product = Gemm(matrix, random_w, random_b) {transB = 1}
    image = Reshape(product, to_image)
    h, c, y = Loop(steps, truth, zero, state) {body = graph {
      input t: i64[]
      input condition: bool[]
      input h0: f32[1, ?, 5]
      input c0: f32[1, ?, 5]
      const two = i64[1] [2]
      const one = i64[1] [1]
      const zeros = i64[3] [0, 0, 0]
      const sizes = i64[4] [2, 20, 1, 1]
      const all = i64[1] [9223372036854775807]
      const nothing = i64[1] [0]
      const h_rows = i64[2] [-1, 5]
      const h_image = i64[4] [-1, 20, 1, 1]
      const c_image = i64[4] [-1, 5, 1, 1]
      const back = i64[3] )") +
         std::string(back_to_rows) + R"(
      const parts = i64[4] [5, 5, 5, 5]
      last = Sub(first, one)
      mirrored = Sub(last, t)
      at = Mul()" +
         std::string(begin) + R"(, two)
      begin = Concat(at, zeros) {axis = 0}
      sum = Add(begin, sizes)
      negative = Less(begin, nothing)
      ended = Equal(sum, nothing)
      both = And(negative, ended)
      end = Where(both, all, sum)
      step = Slice(image, begin, end)
      h_matrix = Reshape(h0, h_rows)
      h_product = Gemm(h_matrix, random_r) {transB = 1}
      h_gates = Reshape(h_product, h_image)
      z = Add(step, h_gates)
      i, o, f, g = Split(z, parts) {axis = 1}
      ia = Sigmoid(i)
      fa = Sigmoid(f)
      ga = Tanh(g)
      oa = Sigmoid(o)
      cell = Reshape(c0, c_image)
      keep = Mul(fa, cell)
      new = Mul(ia, ga)
      c1 = Add(new, keep)
      tc = Tanh(c1)
      h1 = Mul(tc, oa)
      h_next = Reshape(h1, back)
      c_next = Reshape(c1, back)
      output condition
      output h_next
      output c_next
      output h_next
    }}
    output y
    output h
    output c
  })";
}

TEST(RaiseRecurrences, an_lstm_that_takes_slices_of_products) {
  for (const std::string_view begin : {"t", "mirrored"}) {
    const Rewrite r = rewrite(slices(begin, "[1, -1, 5]"), {"raise_recurrences", "fold_constants", "remove_dead_code"});
    EXPECT_THAT(r.ops(), testing::HasSubstr("LSTM")) << begin;
    EXPECT_THAT(r.ops(), testing::Not(testing::HasSubstr("Loop")));
    EXPECT_EQ(text_attribute(r.node("LSTM"), "direction"), begin == "t" ? "" : "reverse");
    EXPECT_TRUE(numbers_stay(r));
  }
}

TEST(RaiseRecurrences, not_other_slices_or_rows_that_are_mixed) {
  EXPECT_EQ(rewrite(slices("last", "[1, -1, 5]"), {"raise_recurrences"}).changes, 0u);
  EXPECT_EQ(rewrite(slices("one", "[1, -1, 5]"), {"raise_recurrences"}).changes, 0u);
  EXPECT_EQ(rewrite(slices("t", "[1, 5, -1]"), {"raise_recurrences"}).changes, 0u);
  EXPECT_EQ(rewrite(slices("t", "[-1, 1, 5]"), {"raise_recurrences"}).changes, 0u);  // rows lie elsewhere afterwards
}

// A step of a GRU or RNN over x [4, 2, 3] from h [2, 5].
std::string steps(std::string_view step) {
  return std::string(R"(graph {
    input x: f32[4, 2, 3]
    input h: f32[2, 5]
    const truth = bool[] 1
    const count = i64[] 4
    const random_w = f32[3, 15] fill 0
    const random_v = f32[3, 5] fill 0
    const random_r = f32[5, 15] fill 0
    const random_q = f32[5, 10] fill 0
    const random_u = f32[5, 5] fill 0
    const random_b = f32[15] fill 0
    const random_d = f32[15] fill 0
    h_end, y = Loop(count, truth, h) {body = graph {
      input t: i64[]
      input condition: bool[]
      input h0: f32[2, 5]
      const one = f32[] 1
      const random_e = f32[5] fill 0
      const i0 = i64[1] [0]
      const i1 = i64[1] [1]
      const i5 = i64[1] [5]
      const i10 = i64[1] [10]
      const i15 = i64[1] [15]
      x_t = Gather(x, t) {axis = 0}
      wx = MatMul(x_t, random_w)
      bx = Add(wx, random_b)
      xz, xr, xg = Split(bx) {axis = -1, num_outputs = 3}
      rh = MatMul(h0, random_r)
      dh = Add(rh, random_d)
      hz = Slice(dh, i0, i5, i1)
      hr = Slice(dh, i5, i10, i1)
      hg = Slice(dh, i10, i15, i1)
      az = Add(xz, hz)
      ar = Add(hr, xr)
      z = Sigmoid(az)
      r = Sigmoid(ar)
      rest = Sub(one, z)
)") + std::string(step) +
         R"(
      output condition
      output h1
      output h1
    }}
    output y
    output h_end
  })";
}

TEST(RaiseRecurrences, grus_however_they_mix_the_old_state_and_the_new) {
  const std::string behind = "reset = Mul(r, hg)\n ag = Add(xg, reset)\n g = Tanh(ag)\n";
  const std::string less =
      "reset = Mul(r, hg)\n s = Add(xg, reset)\n re = Mul(r, random_e)\n d = Sub(s, re)\n ag = Add(d, random_e)\n g = Tanh(ag)\n";
  const std::string before = "reset = Mul(r, h0)\n rg = MatMul(reset, random_u)\n ag = Add(xg, rg)\n g = Tanh(ag)\n";
  const std::string two = "new = Mul(rest, g)\n old = Mul(z, h0)\n h1 = Add(old, new)\n";
  const std::string minus = "d1 = Sub(g, h0)\n p1 = Mul(z, d1)\n h1 = Sub(g, p1)\n";
  const std::string plus = "d1 = Sub(h0, g)\n p1 = Mul(d1, z)\n h1 = Add(p1, g)\n";
  for (const std::string& candidate : {behind, less, before})
    for (const std::string& mix : {two, minus, plus}) {
      const Rewrite r = rewrite(steps(candidate + mix), {"raise_recurrences", "fold_constants", "remove_dead_code"});
      EXPECT_THAT(r.ops(), testing::HasSubstr("GRU")) << candidate << mix;
      EXPECT_THAT(r.ops(), testing::Not(testing::HasSubstr("Loop")));
      EXPECT_EQ(int_attribute(r.node("GRU"), "linear_before_reset", 0), candidate == before ? 0 : 1);
      EXPECT_TRUE(numbers_stay(r)) << candidate << mix;
    }
}

TEST(RaiseRecurrences, an_rnn) {
  const Rewrite r = rewrite(steps("a = MatMul(x_t, random_v)\n b = MatMul(h0, random_u)\n s = Add(a, b)\n h1 = Tanh(s)\n"),
                            {"raise_recurrences", "fold_constants", "remove_dead_code"});
  EXPECT_THAT(r.ops(), testing::HasSubstr("RNN"));
  EXPECT_TRUE(numbers_stay(r));
}

TEST(RaiseRecurrences, no_gru_with_gates_that_are_none) {
  for (
      const std::string_view step : {
          "reset = Mul(r, hg)\n ag = Add(xg, reset)\n g = Tanh(ag)\n new = Mul(z, g)\n old = Mul(rest, h0)\n h1 = Add(old, new)\n",  // mixed
                                                                                                                                     // up
          "reset = Mul(r, hg)\n ag = Sub(xg, reset)\n g = Tanh(ag)\n new = Mul(rest, g)\n old = Mul(z, h0)\n h1 = Add(old, new)\n",
          "reset = Mul(r, hg)\n ag = Add(hg, reset)\n g = Tanh(ag)\n new = Mul(rest, g)\n old = Mul(z, h0)\n h1 = Add(old, new)\n",  // without
                                                                                                                                     // x
          "ag = Add(xg, hg)\n g = Tanh(ag)\n new = Mul(rest, g)\n old = Mul(z, h0)\n h1 = Add(old, new)\n",  // without a reset gate
      })
    EXPECT_EQ(rewrite(steps(step), {"raise_recurrences"}).changes, 0u) << step;
}

}  // namespace
}  // namespace minnow::test
