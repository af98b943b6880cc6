// SPDX-License-Identifier: Apache-2.0
// Loops whose states stay in a device's memory give the processor's results.
#include <gmock/gmock.h>

#include <cstring>

#include "graph/graph.h"
#include "runtime/backends.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

class DeviceLoops : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      make_backend(GetParam(), {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    options.backends = {GetParam()};
    options.threads = 1;
  }
  // Runs a model on the device and by the reference, which this does with each of the inputs.
  void expect_same(std::string_view text, const std::vector<std::vector<Tensor>>& runs) {
    const Model model = Model::from_graph(parse_graph(text));
    SessionOptions plain;
    plain.backends = {"reference"};
    Session device(model, options), reference(model, plain);
    for (const std::vector<Tensor>& inputs : runs) {
      const std::vector<TensorView> views(inputs.begin(), inputs.end());
      const std::vector<Tensor> expected = reference.run(views), found = device.run(views);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t k = 0; k < found.size(); ++k) {
        EXPECT_EQ(found[k].dtype(), expected[k].dtype()) << k;
        EXPECT_TRUE(near(found[k], expected[k].shape(), numbers(expected[k]), 1e-5)) << k;
      }
    }
  }
  SessionOptions options;
};

constexpr std::string_view kFixed = R"(graph {
  input m: i64[]
  input x: f32[2, 3]
  input b: f32[3]
  const w = f32[3, 3] [0.5, 0.25, 0, 0, 0.5, 0.25, 0.25, 0, 0.5]
  y, squares, same = Loop(m, _, x) {body = graph {
    input i: i64[]
    input going: bool[]
    input s: f32[2, 3]
    p = MatMul(s, w)
    q = Add(p, b)
    t = Tanh(q)
    u = Mul(t, t)
    output going
    output t
    output u
    output t
  }}
  output y
  output squares
  output same
})";

TEST_P(DeviceLoops, fixed_counts) {
  std::vector<std::vector<Tensor>> runs;
  for (const int64_t trips : {3, 0, 1, 150, -1, 64}) runs.push_back({Tensor::scalar_i64(trips), pattern({2, 3}, trips + 4), pattern({3})});
  expect_same(kFixed, runs);
}

TEST_P(DeviceLoops, copy_nothing_between_iterations) {
  Session session(Model::from_graph(parse_graph(kFixed)), options);
  session.set_profiling(true);
  session.run({Tensor::scalar_i64(20), pattern({2, 3}), pattern({3})});
  const PlanReport report = session.plan_report();
  size_t inner = 0;
  for (const PlanRow& row : report.rows) {
    if (row.depth == 0) continue;
    ++inner;
    EXPECT_NE(row.op, "minnow.Transfer") << row.node;
  }
  EXPECT_GT(inner, 0u);
}

TEST_P(DeviceLoops, conditions_that_data_decide) {
  std::vector<std::vector<Tensor>> runs;
  for (const double limit : {9.0, 100.0, -1.0, 1e9})
    runs.push_back({Tensor::scalar_i64(70), truth(limit > 0), Tensor::scalar_f32(static_cast<float>(limit))});
  expect_same(R"(graph {
    input m: i64[]
    input c: bool[]
    input limit: f32[]
    const zero = f32[] 0
    const one = f32[] 1
    total, step, all, numbers = Loop(m, c, zero, one) {body = graph {
      input i: i64[]
      input going: bool[]
      input sum: f32[]
      input n: f32[]
      s = Add(sum, n)
      next = Add(n, one)
      more = Less(s, limit)
      output more
      output s
      output next
      output s
      output i
    }}
    output total
    output step
    output all
    output numbers
  })",
              runs);
}

TEST_P(DeviceLoops, states_that_change_places_or_stay) {
  std::vector<std::vector<Tensor>> runs;
  for (const int64_t trips : {1, 2, 5, 0})
    runs.push_back({Tensor::scalar_i64(trips), pattern({4}), pattern({4}, 3), pattern({2}), pattern({4}, 5)});
  expect_same(R"(graph {
    input m: i64[]
    input x: f32[4]
    input y: f32[4]
    input z: f32[2]
    input outer: f32[4]
    const seven = f32[4] [7, 7, 7, 7]
    a, b, c, d, e, f, stacked, again = Loop(m, _, x, y, z, x, x, x) {body = graph {
      input i: i64[]
      input going: bool[]
      input p: f32[4]
      input q: f32[4]
      input r: f32[2]
      input s: f32[4]
      input t: f32[4]
      input u: f32[4]
      v = Sub(s, q)
      output going
      output q
      output p
      output r
      output v
      output outer
      output seven
      output p
      output v
    }}
    output a
    output b
    output c
    output d
    output e
    output f
    output stacked
    output again
  })",
              runs);
}

TEST_P(DeviceLoops, states_that_grow) {
  std::vector<std::vector<Tensor>> runs;
  for (const int64_t trips : {5, 1, 20}) runs.push_back({Tensor::scalar_i64(trips), pattern({2})});
  expect_same(R"(graph {
    input m: i64[]
    input x: f32[n]
    y = Loop(m, _, x) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: f32
      n = Neg(v)
      longer = Concat(n, x) {axis = 0}
      output going
      output longer
    }}
    output y
  })",
              runs);
}

TEST_P(DeviceLoops, shapes_that_the_number_of_the_iteration_decides) {
  expect_same(R"(graph {
    input m: i64[]
    input x: f32[6]
    const one = i64[1] [1]
    const none = i64[1] [0]
    const start = f32[] 0
    y = Loop(m, _, start) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: f32[]
      end = Reshape(i, one)
      part = Slice(x, none, end)
      sum = ReduceSum(part) {keepdims = 0}
      t = Add(v, sum)
      output going
      output t
    }}
    output y
  })",
              {{Tensor::scalar_i64(5), pattern({6})}, {Tensor::scalar_i64(7), pattern({6}, 3)}});
}

TEST_P(DeviceLoops, inner_branches_and_loops) {
  std::vector<std::vector<Tensor>> runs;
  for (const int64_t trips : {4, 0, 7}) runs.push_back({Tensor::scalar_i64(trips), pattern({3}, trips + 1)});
  expect_same(R"(graph {
    input m: i64[]
    input x: f32[3]
    const two = i64[] 2
    const zero = f32[] 0
    y = Loop(m, _, x) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: f32[3]
      sum = ReduceSum(v) {keepdims = 0}
      positive = Greater(sum, zero)
      w = If(positive) {then_branch = graph {
        t = Neg(v)
        output t
      }, else_branch = graph {
        t2 = Loop(two, _, v) {body = graph {
          input j: i64[]
          input on: bool[]
          input k: f32[3]
          l = Add(k, x)
          output on
          output l
        }}
        output t2
      }}
      z = Add(w, x)
      output going
      output z
    }}
    output y
  })",
              runs);
}

TEST_P(DeviceLoops, other_dtypes) {
  expect_same(R"(graph {
    input m: i64[]
    input x: i64[2]
    input d: f64[2]
    input e: bool[]
    a, b, c = Loop(m, _, x, e) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: i64[2]
      input f: bool[]
      t = Add(v, i)
      g = Not(f)
      output going
      output t
      output g
      output t
    }}
    k = Loop(m, _, d) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: f64[2]
      t = Add(v, d)
      output going
      output t
    }}
    output a
    output b
    output c
    output k
  })",
              {{Tensor::scalar_i64(3), tensor(DType::i64, {2}, {5, -7}), tensor(DType::f64, {2}, {0.5, 2}), truth(true)}});
}

TEST_P(DeviceLoops, scans_along_any_axis) {
  std::vector<std::vector<Tensor>> runs;
  for (const int64_t length : {3, 1, 100, 0}) runs.push_back({pattern({2, length}), pattern({length, 2, 3}, 5), pattern({2})});
  expect_same(R"(graph {
    input x: f32[?, ?]
    input z: f32[?, 2, 3]
    input start: f32[2]
    last, sums, doubles = Scan(start, x, z) {num_scan_inputs = 2, scan_input_axes = [-1, 0], scan_input_directions = [1, 0],
        scan_output_axes = [1, 0], scan_output_directions = [0, 1], body = graph {
      input s: f32[2]
      input v: f32[2]
      input k: f32[2, 3]
      t = Add(s, v)
      w = Relu(k)
      output t
      output t
      output w
    }}
    output last
    output sums
    output doubles
  })",
              runs);
}

TEST_P(DeviceLoops, faults_in_data_are_errors) {
  const Model model = Model::from_graph(parse_graph(R"(graph {
    input m: i64[]
    input x: f32[3]
    const start = f32[] 0
    y = Loop(m, _, start) {body = graph {
      input i: i64[]
      input going: bool[]
      input v: f32[]
      part = Gather(x, i)
      t = Add(v, part)
      output going
      output t
    }}
    output y
  })"));
  Session session(model, options);
  const Tensor few = Tensor::scalar_i64(3), many = Tensor::scalar_i64(5), x = tensor(DType::f32, {3}, {1, 2, 4});
  EXPECT_TRUE(near(session.run({few, x})[0], {}, {7}));
  EXPECT_THROW(session.run({many, x}), InvalidArgument);
  EXPECT_TRUE(near(session.run({few, x})[0], {}, {7}));
}

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceLoops, testing::Values("cuda", "opencl", "vulkan", "gles"));

}  // namespace
}  // namespace minnow::test
