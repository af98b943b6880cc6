// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace minnow::test
