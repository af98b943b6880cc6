// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/error.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

std::vector<Datum> run(std::string_view text, const std::vector<Datum>& inputs) {
  const auto graph = parse_graph(text);
  infer_types(OperatorSet::builtin(), *graph);
  return evaluate(OperatorSet::builtin(), *graph, inputs);
}
std::string error_in(std::string_view text, const std::vector<Datum>& inputs) {
  try {
    run(text, inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

constexpr std::string_view kBranches = R"(graph {
  input c: bool[]
  input x: f32[2]
  y = If(c) {then_branch = graph {
    t = Neg(x)
    output t
  }, else_branch = graph {
    output x
  }}
  output y
})";

TEST(If, runs_one_branch_which_sees_the_values_around) {
  EXPECT_TRUE(near(run(kBranches, {truth(true), pattern({2})})[0].tensor, {2}, {0.5, -1.25}));
  EXPECT_TRUE(near(run(kBranches, {truth(false), pattern({2})})[0].tensor, {2}, {-0.5, 1.25}));
  EXPECT_THAT(error_in(kBranches, {tensor(DType::boolean, {2}, {0, 1}), pattern({2})}), HasSubstr("should be one bool"));
}

TEST(If, branches_must_agree) {
  EXPECT_THAT(error_in(R"(graph {
    input c: bool[]
    const a = f32[] 1
    const b = i64[] 1
    y = If(c) {then_branch = graph { output a }, else_branch = graph { output b }}
    output y
  })",
                       {truth(true)}),
              HasSubstr("output 0 is f32 in one branch and i64 in the other"));
  EXPECT_THAT(error_in(R"(graph {
    input c: bool[]
    const a = f32[] 1
    y = If(c) {then_branch = graph { output a }, else_branch = graph { }}
    output y
  })",
                       {truth(true)}),
              HasSubstr("graph \"else_branch\" has 0 outputs, 1 are needed"));
  EXPECT_THAT(error_in("graph { input c: bool[] y = If(c) {then_branch = 1, else_branch = 2} output y }", {truth(true)}),
              HasSubstr("attribute \"then_branch\" is an integer, it should be a graph"));
}

// Sums 1, 2, 3, ... until the sum exceeds a limit; gives the sum and all partial ones.
constexpr std::string_view kLoop = R"(graph {
  input m: i64[]
  input c: bool[]
  input limit: f32[]
  const zero = f32[] 0
  const one = f32[] 1
  total, step, all = Loop(m, c, zero, one) {body = graph {
    input i: i64[]
    input going: bool[]
    input sum: f32[]
    input n: f32[]
    s = Add(sum, n)
    next = Add(n, one)
    d = Sub(limit, s)
    r = Relu(d)
    more = Cast(r) {to = 9}
    output more
    output s
    output next
    output s
  }}
  output total
  output all
})";

TEST(Loop, carries_values_and_stacks_outputs) {
  const auto loop = [](int64_t trips, bool going, float limit) {
    return run(kLoop, {Tensor::scalar_i64(trips), truth(going), Tensor::scalar_f32(limit)});
  };
  const std::vector<Datum> by_count = loop(3, true, 100);
  EXPECT_TRUE(near(by_count[0].tensor, {}, {6}));
  EXPECT_TRUE(near(by_count[1].tensor, {3}, {1, 3, 6}));
  const std::vector<Datum> by_condition = loop(100, true, 9);
  EXPECT_TRUE(near(by_condition[0].tensor, {}, {10}));
  EXPECT_TRUE(near(by_condition[1].tensor, {4}, {1, 3, 6, 10}));
  for (const auto& none : {loop(0, true, 9), loop(-5, true, 9), loop(9, false, 9)}) {
    EXPECT_TRUE(near(none[0].tensor, {}, {0}));
    EXPECT_EQ(none[1].tensor.dtype(), DType::f32);
    EXPECT_TRUE(near(none[1].tensor, {0}, {}));
  }
}

TEST(Loop, may_carry_sequences) {
  const std::vector<Datum> results = run(R"(graph {
    input m: i64[]
    none = SequenceEmpty() {dtype = 7}
    all = Loop(m, _, none) {body = graph {
      input i: i64[]
      input going: bool[]
      input list: seq(i64)
      longer = SequenceInsert(list, i)
      output going
      output longer
    }}
    n = SequenceLength(all)
    y = ConcatFromSequence(all) {axis = 0, new_axis = 1}
    output n
    output y
  })",
                                         {Tensor::scalar_i64(3)});
  EXPECT_TRUE(near(results[0].tensor, {}, {3}));
  EXPECT_TRUE(near(results[1].tensor, {3}, {0, 1, 2}));
}

TEST(Loop, refuses) {
  EXPECT_THAT(error_in(R"(graph {
    input m: i64[]
    const x = f32[1] [2]
    y, all = Loop(m, _, x) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: f32
      longer = Concat(v, v) {axis = 0}
      output going
      output longer
      output longer
    }}
    output all
  })",
                       {Tensor::scalar_i64(2)}),
              HasSubstr("iteration 1 gives f32[4] where the ones before gave f32[2]"));
  EXPECT_THAT(error_in(R"(graph {
    input m: i64[]
    y = Loop(m) {body = graph {
      input i: i64[]
      output i
      output i
    }}
    output y
  })",
                       {Tensor::scalar_i64(2)}),
              HasSubstr("graph \"body\" takes 1 inputs, 2 are given"));
}

constexpr std::string_view kScan = R"(graph {
  input x: f32[?, ?]
  input start: f32[2]
  last, sums, doubles = Scan(start, x) {num_scan_inputs = 1, scan_input_axes = [-1], scan_input_directions = [1], scan_output_axes = [1, 0],
      scan_output_directions = [0, 1], body = graph {
    input s: f32[2]
    input v: f32[2]
    t = Add(s, v)
    w = Add(v, v)
    output t
    output t
    output w
  }}
  output last
  output sums
  output doubles
})";

TEST(Scan, axes_and_directions) {
  // x is [[1, 2, 3], [4, 5, 6]], read by columns from the right.
  const std::vector<Datum> results = run(kScan, {tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}), tensor(DType::f32, {2}, {10, 20})});
  EXPECT_TRUE(near(results[0].tensor, {2}, {16, 35}));
  EXPECT_TRUE(near(results[1].tensor, {2, 3}, {13, 15, 16, 26, 31, 35}));
  EXPECT_TRUE(near(results[2].tensor, {3, 2}, {2, 8, 4, 10, 6, 12}));
  const std::vector<Datum> none = run(kScan, {tensor(DType::f32, {2, 0}, {}), tensor(DType::f32, {2}, {10, 20})});
  EXPECT_TRUE(near(none[0].tensor, {2}, {10, 20}));
  EXPECT_EQ(none[1].tensor.elements(), 0);
}

TEST(SequenceMap, runs_the_body_on_each_tensor) {
  const std::vector<Datum> results = run(R"(graph {
    input a: f32[2]
    input b: f32[3]
    list = SequenceConstruct(a, b)
    mapped = SequenceMap(list, list, a) {body = graph {
      input x: f32
      input y: f32
      input all: f32
      s = Add(x, y)
      z = Concat(s, all) {axis = 0}
      output z
    }}
    const one = i64[] 1
    y = SequenceAt(mapped, one)
    output y
  })",
                                         {pattern({2}), pattern({3})});
  EXPECT_TRUE(near(results[0].tensor, {5}, {-1, 2.5, 0.5, -0.5, 1.25}));
}

}  // namespace
}  // namespace minnow::test
