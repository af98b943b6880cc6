// SPDX-License-Identifier: Apache-2.0
// Custom operators from a shared library that another compiler built (see tests/CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <thread>
#include <tuple>

#include "graph/expr.h"
#include "ops/custom.h"
#include "ops/infer.h"
#include "support/paths.h"

namespace minnow {
namespace {

using ::testing::HasSubstr;

std::string library() { return (test::binary_dir() / "lib" / "libcustom_operators.so").string(); }

std::unique_ptr<Graph> graph_with_custom_operators() {
  auto graph = std::make_unique<Graph>();
  graph->source = "custom";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {4})));
  const Expr limit = b.wrap(&graph->add_input("limit", ValueType::tensor(DType::f32, Shape{})));
  b.set_stem("keep");
  const Expr y = b.op("com.example.KeepLarge", {op("com.example.Swish", {x}, {{"beta", 2.0f}}), limit});
  y.value()->type.dtype = DType::f32;
  graph->add_output(*(y + 1.0).value());
  return graph;
}

TEST(CustomOperators, run_shapes_that_depend_on_data_included) {
  const Model model = Model::from_graph(graph_with_custom_operators(), load_operators({library()}));
  SessionOptions options;
  options.backends = {"reference"};
  Session session(model, options);
  const float x[] = {-1, 0, 1, 2};
  const auto swish = [](float v) { return v / (1 + std::exp(-2 * v)); };
  const auto run = [&](float limit) { return session.run({TensorView(DType::f32, {4}, x), Tensor::scalar_f32(limit)})[0]; };
  const Tensor y = run(0.5f);
  ASSERT_EQ(y.shape(), Shape{2});
  EXPECT_FLOAT_EQ(y.data<float>()[0], swish(1) + 1);
  EXPECT_FLOAT_EQ(y.data<float>()[1], swish(2) + 1);
  EXPECT_EQ(run(-1).shape(), Shape{4});
  EXPECT_EQ(run(100).shape(), Shape{0});
  try {
    run(NAN);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("custom: node \"keep\" (com.example.KeepLarge): the limit is not a number"));
  }
  EXPECT_EQ(run(0.5f).shape(), Shape{2});
}

TEST(CustomOperators, have_types_in_symbols) {
  Graph graph;
  GraphBuilder b(graph);
  const auto input = [&](const char* name, std::vector<Dim> dims) {
    ValueType type = ValueType::tensor(DType::f32);
    type.dims = std::move(dims);
    return b.wrap(&graph.add_input(name, type));
  };
  const Expr x = input("x", {{-1, "n"}, {3, {}}, {-1, "m"}, {-1, {}}});
  const Expr y = op("com.example.Swish", {op("Concat", {x, x}, {{"axis", int64_t{0}}})});
  const Expr kept = b.op("com.example.KeepLarge", {x, input("limit", {})});
  graph.add_output(*y.value());
  graph.add_output(*kept.value());
  const auto operators = load_operators({library()});
  EXPECT_TRUE(infer_symbolic_types(*operators, graph));
  EXPECT_EQ(to_string(y.value()->type), "f32[2*n, 3, m, ?]");
  EXPECT_EQ(kept.value()->type.dtype, DType::f32);
}

TEST(CustomOperators, are_named_where_they_are_missing) {
  const Tensor x(DType::f32, {4});
  try {
    SessionOptions options;
    options.backends = {"reference"};
    Session session(Model::from_graph(graph_with_custom_operators()), options);
    session.run({x, Tensor::scalar_f32(0)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("com.example.Swish"));
  }
  EXPECT_THROW(load_operators({"nowhere.so"}), Error);
}

std::unique_ptr<Graph> graph_of(std::string_view op, int64_t size) {
  auto graph = std::make_unique<Graph>();
  graph->source = "custom";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {size})));
  b.set_stem("act");
  graph->add_output(*(b.op(op, {x * 2.0}) + 1.0).value());
  return graph;
}

std::vector<float> ramp(int64_t size) {
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(float(i % 17) - 8);
  return values;
}

const PlanRow* row_of(const PlanReport& report, std::string_view op) {
  for (const PlanRow& row : report.rows)
    if (row.op == op) return &row;
  return nullptr;
}

TEST(CustomSchemes, are_taken_where_they_accept) {
  const auto operators = load_operators({library()});
  for (const auto& [size, threads, reason] :
       {std::tuple{20000, 2, ""}, {20000, 1, "swish.parts: there is one thread"}, {100, 2, "swish.parts: x is small"}}) {
    SessionOptions options;
    options.threads = threads, options.explain = true;
    Session session(Model::from_graph(graph_of("com.example.Swish", size), operators), options);
    const std::vector<float> x = ramp(size);
    for (int round = 0; round < 3; ++round) {
      const Tensor y = session.run({TensorView(DType::f32, {size}, x.data())})[0];
      for (int64_t i = 0; i < size; ++i) {
        const double twice = 2 * double(x[size_t(i)]);
        ASSERT_NEAR(y.data<float>()[i], twice / (1 + std::exp(-twice)) + 1, 1e-5) << size << ", " << threads << ", element " << i;
      }
    }
    const PlanReport report = session.plan_report();
    const PlanRow* row = row_of(report, "com.example.Swish");
    ASSERT_TRUE(row);
    if (std::string_view(reason).empty() && threads <= 2 && std::thread::hardware_concurrency() > 1) {
      EXPECT_EQ(row->scheme, "swish.parts");
      EXPECT_EQ(row->backend, "cpu");
    } else {
      EXPECT_EQ(row->scheme, "reference");
      EXPECT_THAT(row->refused, ::testing::Contains(std::string_view(reason).empty() ? "swish.parts: there is one thread" : reason));
    }
  }
  SessionOptions options;
  options.backends = {"reference"}, options.explain = true;
  Session session(Model::from_graph(graph_of("com.example.Swish", 20000), operators), options);
  session.prepare(std::vector<Shape>{{20000}});
  EXPECT_EQ(row_of(session.plan_report(), "com.example.Swish")->scheme, "reference");
}

// A table that each test spoils: y = x, and three schemes; the second one counts its calls.
struct Copy {
  int estimates = 0, prepared = 0, released = 0, runs = 0;
  double seconds = 1e-6;
  uint64_t scratch = 0;
  int prepare_status = 0, run_status = 0;
  minnow_op_scheme slow, fast, declines;
  std::vector<const minnow_op_scheme*> schemes;
  minnow_custom_op table;

  static int infer(const minnow_op_api* api, minnow_op_call* call, void*) {
    minnow_tensor* y = api->output(call, 0);
    *y = *api->input(call, 0);
    y->data = nullptr;
    return 0;
  }
  static int copy(const minnow_op_api* api, minnow_op_call* call) {
    const minnow_tensor& x = *api->input(call, 0);
    std::memcpy(api->output(call, 0)->data, x.data, size_t(x.dims[0]) * sizeof(float));
    return 0;
  }
  static int compute(const minnow_op_api* api, minnow_op_call* call, void*) { return copy(api, call); }
  static int estimate_slow(const minnow_op_api*, minnow_op_call*, minnow_op_estimate* estimate, void*) { return estimate->seconds = 10, 0; }
  static int run_slow(const minnow_op_api*, minnow_op_call*, void*, void*) { return 1; }
  static int estimate(const minnow_op_api* api, minnow_op_call* call, minnow_op_estimate* estimate, void* user) {
    Copy& self = *static_cast<Copy*>(user);
    ++self.estimates;
    EXPECT_EQ(estimate->overwrites, -1);
    EXPECT_EQ(api->output(call, 0)->rank, 1);
    EXPECT_GT(api->flop_time(call, 1e6, 0.5), api->flop_time(call, 1e6, 1));
    EXPECT_GT(api->byte_time(call, 1e6), 0);
    EXPECT_EQ(api->precision(call), MINNOW_PRECISION_HIGH);
    estimate->seconds = self.seconds, estimate->scratch_size = self.scratch;
    return 0;
  }
  static int prepare(const minnow_op_api*, minnow_op_call*, void** prepared, void* user) {
    Copy& self = *static_cast<Copy*>(user);
    *prepared = &self;
    return ++self.prepared, self.prepare_status;
  }
  static int run(const minnow_op_api* api, minnow_op_call* call, void* prepared, void* user) {
    Copy& self = *static_cast<Copy*>(user);
    EXPECT_EQ(prepared, user);
    if (self.scratch) std::memset(api->scratch(call), 1, self.scratch);
    if (self.run_status) api->fail(call, "it does not run");
    return ++self.runs, self.run_status ? self.run_status : copy(api, call);
  }
  static void release(void* prepared, void* user) {
    EXPECT_EQ(prepared, user);
    ++static_cast<Copy*>(user)->released;
  }
  static int decline(const minnow_op_api* api, minnow_op_call* call, minnow_op_estimate*, void*) {
    api->fail(call, "it never serves");
    return 1;
  }

  Copy() {
    slow = {sizeof slow, "copy.slow", this, estimate_slow, nullptr, run_slow, nullptr};
    fast = {sizeof fast, "copy.fast", this, estimate, prepare, run, release};
    declines = {sizeof declines, "copy.declines", this, decline, nullptr, run_slow, nullptr};
    schemes = {&slow, &fast, &declines};
    table = {sizeof table, "com.example.Copy", nullptr, nullptr, infer, compute, schemes.data(), schemes.size(), nullptr};
  }
  std::shared_ptr<const OperatorSet> load() const {
    const minnow_custom_op* const list[] = {&table};
    return load_custom_operators({}, list);
  }
  std::string error_of_load() const {
    try {
      load();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  }
  PlanReport run_once() const {
    SessionOptions options;
    options.explain = true, options.precision = "high";
    Session session(Model::from_graph(graph_of("com.example.Copy", 100), load()), options);
    const std::vector<float> x = ramp(100);
    for (int round = 0; round < 2; ++round) {
      const Tensor y = session.run({TensorView(DType::f32, {100}, x.data())})[0];
      EXPECT_EQ(y.data<float>()[3], x[3] * 2 + 1);
    }
    return session.plan_report();
  }
  std::string error_of_run() const {
    try {
      run_once();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST(CustomSchemes, the_least_estimate_is_prepared_run_and_released) {
  Copy copy;
  copy.scratch = 1000;
  const PlanReport report = copy.run_once();
  const PlanRow* row = row_of(report, "com.example.Copy");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->scheme, "copy.fast");
  EXPECT_GE(row->scratch_bytes, 1000u);
  EXPECT_THAT(row->refused, ::testing::Contains("copy.declines: it never serves"));
  EXPECT_EQ(copy.runs, 2);
  EXPECT_EQ(copy.prepared, 1);
  EXPECT_EQ(copy.released, 1);
}

TEST(CustomSchemes, estimates_that_cannot_be_are_declined) {
  for (const double seconds : {double(NAN), double(INFINITY), -1.0}) {
    Copy copy;
    copy.schemes = {&copy.fast};
    copy.table.schemes = copy.schemes.data(), copy.table.scheme_count = 1;
    copy.seconds = seconds;
    const PlanReport report = copy.run_once();
    EXPECT_EQ(row_of(report, "com.example.Copy")->scheme, "reference");
    EXPECT_THAT(row_of(report, "com.example.Copy")->refused, ::testing::Contains(HasSubstr("copy.fast: the scheme estimates")));
  }
}

TEST(CustomSchemes, failures_are_errors_of_the_node) {
  Copy copy;
  copy.scratch = UINT64_MAX;
  EXPECT_THAT(copy.error_of_run(), HasSubstr("(com.example.Copy): it needs more than"));
  copy.scratch = 0, copy.prepare_status = 3;
  EXPECT_THAT(copy.error_of_run(), HasSubstr("(com.example.Copy): scheme copy.fast: the scheme refuses these inputs"));
  EXPECT_EQ(copy.released, copy.prepared);
  copy.prepare_status = 0, copy.run_status = 3;
  EXPECT_THAT(copy.error_of_run(), HasSubstr("(com.example.Copy): it does not run"));
  EXPECT_EQ(copy.released, copy.prepared);
}

TEST(CustomSchemes, tables_that_cannot_be_are_refused) {
  EXPECT_EQ(Copy().error_of_load(), "");
  const auto spoiled = [](auto spoil) {
    Copy copy;
    spoil(copy);
    return copy.error_of_load();
  };
  EXPECT_THAT(spoiled([](Copy& c) { c.table.scheme_count = 1000000; }),
              HasSubstr("com.example.Copy: its list has 1000000 schemes, at most 8"));
  EXPECT_THAT(spoiled([](Copy& c) { c.table.schemes = nullptr; }), HasSubstr("its list has 3 schemes"));
  EXPECT_THAT(spoiled([](Copy& c) { c.schemes[1] = nullptr; }), HasSubstr("com.example.Copy: its scheme 1 is incomplete"));
  EXPECT_THAT(spoiled([](Copy& c) { c.fast.run = nullptr; }), HasSubstr("scheme 1"));
  EXPECT_THAT(spoiled([](Copy& c) { c.fast.estimate = nullptr; }), HasSubstr("scheme 1"));
  EXPECT_THAT(spoiled([](Copy& c) { c.fast.struct_size = 8; }), HasSubstr("scheme 1"));
  EXPECT_THAT(spoiled([](Copy& c) { c.fast.name = nullptr; }), HasSubstr("scheme 1"));
  EXPECT_THAT(spoiled([](Copy& c) { c.fast.name = "two words"; }), HasSubstr("scheme 1"));
  EXPECT_THAT(spoiled([](Copy& c) { c.declines.name = "copy.fast"; }), HasSubstr("scheme 2 repeats a name"));
  EXPECT_THAT(spoiled([](Copy& c) { c.table.name = "Copy\n"; }), HasSubstr("incomplete"));
  EXPECT_THAT(spoiled([](Copy& c) { c.table.gradient = ""; }), HasSubstr("com.example.Copy: its gradient has no name"));
  // A table from before schemes and gradients: memory after its end is not read.
  EXPECT_EQ(spoiled([](Copy& c) {
              c.table.struct_size = offsetof(minnow_custom_op, schemes);
              c.table.scheme_count = 1000000, c.table.gradient = "";
            }),
            "");
}

}  // namespace
}  // namespace minnow
