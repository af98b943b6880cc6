// SPDX-License-Identifier: Apache-2.0
// Runs that would take minutes to centuries, of every kind of loop, under a time limit: within a node, in subgraphs, while planning.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/function_ref.h"
#include "graph/expr.h"
#include "support/one_node.h"
#include "support/operators.h"
#include "support/series.h"

namespace minnow::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSoon = std::chrono::seconds(20);  // beside hours, on a machine that does other things as well

struct Case : OneNode {
  std::vector<std::string> backends = {"cpu", "reference"};
};

Tensor f32(const Shape& shape) { return pattern(shape); }
Tensor bytes(const Shape& shape) { return Tensor(DType::u8, shape); }
Tensor i64(const std::vector<int64_t>& values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }
Tensor scalar(DType dtype, double value) { return tensor(dtype, {}, {value}); }

void expect_stop(const Model& model, const std::vector<TensorView>& given, SessionOptions options) {
  options.time_limit = 0.05;
  Session session(model, options);
  const auto start = Clock::now();
  try {
    session.run(given);
    ADD_FAILURE() << "should reach the time limit";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled) << error.what();
    EXPECT_NE(std::string(error.what()).find("time limit"), std::string::npos) << error.what();
  }
  EXPECT_LT(Clock::now() - start, kSoon);
}

Case both(OneNode node) { return {std::move(node)}; }
Case on(std::string backend, OneNode node) { return {std::move(node), {std::move(backend)}}; }

/// Made one after the other: together they would fill the memory. Each fits where addresses have 32 bits.
std::vector<std::function<Case()>> long_cases() {
  const Attributes huge_window = {{"kernel_shape", Ints{1001, 1001}}, {"pads", Ints{500, 500, 500, 500}}};
  const Attributes window3 = {{"kernel_shape", Ints{201, 201, 201}}, {"pads", Ints{100, 100, 100, 100, 100, 100}}};
  const Attributes conv = {{"kernel_shape", Ints{201, 201}}, {"pads", Ints{100, 100, 100, 100}}};
  const Shape image{1, 16, 512, 512}, filters{16, 16, 201, 201};
  return {
      [=] {
        return both({"AveragePool", {f32({1, 16, 1000, 1000})}, huge_window});
      },
      [=] {
        return both({"MaxPool", {f32({1, 16, 1000, 1000})}, huge_window});
      },
      [=] {
        return on("reference", {"MaxPool", {f32({1, 1, 300, 300, 300})}, window3, {}, 1});
      },
      [=] {
        return both({"MaxPool", {bytes({1, 16, 2000, 2000})}, huge_window});
      },
      [=] {
        return both({"LpPool", {f32({1, 16, 1000, 1000})}, huge_window});
      },
      [=] {
        return both({"Conv", {f32(image), f32(filters)}, conv});
      },
      [=] {
        return both({"Conv", {f32(image), f32(filters)}, conv, {1}});
      },
      [=] {
        return both({"Conv",
                     {f32({1, 16, 1500, 1500}), f32({16, 1, 151, 151})},
                     {{"group", int64_t{16}}, {"kernel_shape", Ints{151, 151}}, {"pads", Ints{75, 75, 75, 75}}}});
      },
      [=] {
        return both({"Conv",
                     {f32({1, 4, 128, 128, 128}), f32({8, 4, 65, 65, 65})},
                     {{"kernel_shape", Ints{65, 65, 65}}, {"pads", Ints{32, 32, 32, 32, 32, 32}}}});
      },
      [=] {
        return both({"ConvTranspose", {f32({1, 16, 400, 400}), f32(filters)}, {{"kernel_shape", Ints{201, 201}}}});
      },
      [=] {
        return on("reference",
                  {"DeformConv", {f32({1, 4, 400, 400}), f32({64, 4, 9, 9}), Tensor(DType::f32, {1, 162, 392, 392})}, {}, {}, 1});
      },
      [=] {
        return both({"ConvInteger",
                     {bytes({1, 16, 1024, 1024}), bytes({16, 16, 151, 151})},
                     {{"kernel_shape", Ints{151, 151}}, {"pads", Ints{75, 75, 75, 75}}}});
      },
      [=] {
        return on("reference", {"MatMulInteger", {bytes({5000, 5000}), bytes({5000, 5000})}, {}, {}, 1});
      },
      [=] {
        return on("reference", {"MatMul", {f32({4000, 4000}), f32({4000, 4000})}});
      },
      [=] {
        return on("reference",
                  {"Einsum", {f32({1400, 300}), f32({300, 4000}), f32({300, 4000})}, {{"equation", std::string("ij,kl,ml->ikm")}}, {}, 1});
      },
      [=] {
        return on("cpu", {"Attention", {f32({1, 1, 11000, 512}), f32({1, 1, 11000, 512}), f32({1, 1, 11000, 512})}, {}, {}, 1});
      },
      [=] {
        return on("reference", {"Attention", {f32({1, 8, 5000, 64}), f32({1, 8, 5000, 64}), f32({1, 8, 5000, 64})}, {}, {}, 1});
      },
      [=] {
        return both({"LSTM", {f32({20000, 1, 8}), f32({1, 2048, 8}), f32({1, 2048, 512})}, {{"hidden_size", int64_t{512}}}, {}, 3});
      },
      [=] {
        return both({"GRU", {f32({20000, 4, 8}), f32({1, 1536, 8}), f32({1, 1536, 512})}, {{"hidden_size", int64_t{512}}}, {}, 2});
      },
      [=] {
        return both({"RNN", {f32({30000, 4, 8}), f32({1, 1024, 8}), f32({1, 1024, 1024})}, {{"hidden_size", int64_t{1024}}}, {}, 2});
      },
      [=] {
        return both({"Det", {f32({8, 1500, 1500})}, {}});
      },
      [=] {
        return both({"DFT", {f32({4, 1000003, 1})}, {}});
      },
      [=] {
        return both({"NonMaxSuppression",
                     {Tensor(DType::f32, {1, 300000, 4}), f32({1, 1, 300000}), scalar(DType::i64, 300000), scalar(DType::f32, 1)}});
      },
      [=] {
        return on("reference",
                  {"RoiAlign",
                   {f32({1, 64, 512, 512}), tensor(DType::f32, {64, 4}, std::vector<double>(256, 500)), Tensor(DType::i64, {64})},
                   {{"output_height", int64_t{64}}, {"output_width", int64_t{64}}, {"sampling_ratio", int64_t{1024}}},
                   {},
                   1});
      },
      [=] {
        return both({"MaxRoiPool",
                     {f32({1, 8, 1000, 1000}), tensor(DType::f32, {3000, 5},
                                                      [] {
                                                        std::vector<double> rois;
                                                        for (int i = 0; i < 3000; ++i) rois.insert(rois.end(), {0, 0, 0, 999, 999});
                                                        return rois;
                                                      }())},
                     {{"pooled_shape", Ints{1, 1}}, {"spatial_scale", 1.0f}}});
      },
      [=] {
        return both({"LRN", {f32({1, 60000, 16, 16})}, {{"size", int64_t{60001}}}});
      },
      [=] {
        return both({"TopK", {f32({1, 30000000}), i64({30000000})}, {}, {1}, 2});
      },
      [=] {
        return both({"Unique", {f32({20000000})}, {}, {}, 4});
      },
      [=] {
        return on("reference", {"Resize",
                                {f32({1, 1, 4000, 4000}), Tensor(), Tensor(), i64({1, 1, 3999, 3999})},
                                {{"antialias", int64_t{1}}, {"mode", std::string("cubic")}},
                                {3},
                                1});
      },
      [=] {
        return on("reference", {"Softmax", {f32({40000, 1000})}, {}, {}, 1});
      },
      [=] {
        return on("reference", {"Erf", {f32({20000000})}, {}, {}, 1});
      },
      [=] {
        return on("reference", {"Pow", {f32({20000000}), scalar(DType::f32, 1.5)}, {}, {}, 1});
      },
      [=] {
        return both({"RandomNormal", {}, {{"shape", Ints{50000000}}}});
      },
      [=] {
        return both({"Multinomial", {f32({1, 1000})}, {{"sample_size", int64_t{20000000}}}});
      },
      [=] {
        return on("reference", {"CumSum", {f32({100, 1000, 200}), scalar(DType::i64, 0)}, {}, {1}, 1});
      },
  };
}

TEST(Stop, within_a_node) {
  const auto cases = long_cases();
  for (size_t i = 0; i < cases.size(); i += one_in()) {
    const Case test = cases[i]();
    for (const std::string& backend : test.backends) {
      SCOPED_TRACE(test.op + " on " + backend);
      const Model model = test.model();
      for (const int threads : backend == "cpu" ? std::vector<int>{1, 2} : std::vector<int>{1}) {
        SessionOptions options;
        options.backends = backend == "cpu" ? std::vector<std::string>{"cpu", "reference"} : std::vector<std::string>{"reference"};
        options.threads = threads;
        expect_stop(model, test.given(), options);
      }
    }
  }
}

// A Loop of 2^40 rounds whose body is what `body` makes of the carried value.
Model loop_of(FunctionRef<Expr(GraphBuilder& inner, const Expr& value)> body_of, bool stacks = false) {
  auto graph = std::make_unique<Graph>();
  graph->source = "rounds";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {1})));
  auto body = std::make_shared<Graph>();
  body->outer = graph.get();
  GraphBuilder inner(*body);
  body->add_input("i", ValueType::tensor(DType::i64, Shape{}));
  Value& condition = body->add_input("go", ValueType::tensor(DType::boolean, Shape{}));
  Value& carried = body->add_input("v", ValueType::tensor(DType::f32, {1}));
  body->add_output(condition);
  body->add_output(*body_of(inner, inner.wrap(&carried)).value());
  if (stacks) body->add_output(carried);
  const Exprs y = b.ops("Loop", {b.constant(Tensor::scalar_i64(int64_t{1} << 40)), Expr(), x}, stacks ? 2 : 1, {{"body", Subgraph(body)}});
  graph->add_output(*y[0].value());
  return Model::from_graph(std::move(graph));
}

TEST(Stop, in_loops_of_any_body) {
  const Tensor x = f32({1});
  const std::vector<TensorView> given{x};
  const auto identity = [](GraphBuilder&, const Expr& value) { return value; };
  const auto add = [](GraphBuilder&, const Expr& value) { return value + 1.0; };
  for (const char* backend : {"cpu", "reference"}) {
    SessionOptions options;
    options.backends = {backend};
    expect_stop(loop_of(identity), given, options);
    expect_stop(loop_of(add), given, options);
  }
}

TEST(Stop, another_thread_stops_a_node) {
  const OneNode test{"AveragePool", {f32({1, 16, 1000, 1000})}, {{"kernel_shape", Ints{1001, 1001}}, {"pads", Ints{500, 500, 500, 500}}}};
  Session session(test.model(), {});
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    session.cancel();
  });
  const auto start = Clock::now();
  EXPECT_THROW(session.run(test.given()), Error);
  EXPECT_LT(Clock::now() - start, kSoon);
  other.join();
}

// Constants are computed when the plan is made.
TEST(Stop, while_planning) {
  auto graph = std::make_unique<Graph>();
  graph->source = "folded";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {1})));
  graph->add_output(*(x + b.op("Det", {b.constant(f32({4000, 4000}))})).value());
  const Model model = Model::from_graph(std::move(graph));
  const Tensor one = f32({1});
  expect_stop(model, {one}, {});
}

// The state left by a stopped run does not affect the next one.
TEST(Stop, the_next_run_is_right) {
  SessionOptions options;
  options.time_limit = 0.5;
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr steps = b.wrap(&graph->add_input("steps", ValueType::tensor(DType::i64, Shape{})));
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {64, 64})));
  auto body = std::make_shared<Graph>();
  body->outer = graph.get();
  GraphBuilder inner(*body);
  body->add_input("i", ValueType::tensor(DType::i64, Shape{}));
  Value& condition = body->add_input("go", ValueType::tensor(DType::boolean, Shape{}));
  const Expr v = inner.wrap(&body->add_input("v", ValueType::tensor(DType::f32, {64, 64})));
  body->add_output(condition);
  body->add_output(*inner.op("MatMul", {v, inner.constant(f32({64, 64}))}).value());
  graph->add_output(*b.op("Loop", {steps, Expr(), x}, {{"body", Subgraph(body)}}).value());
  const Model model = Model::from_graph(std::move(graph));
  const Tensor given = f32({64, 64});
  const Tensor expected = Session(model, {}).run({Tensor::scalar_i64(1), given})[0].clone();
  Session session(model, options);
  EXPECT_THROW(session.run({Tensor::scalar_i64(int64_t{1} << 40), given}), Error);
  EXPECT_TRUE(near(session.run({Tensor::scalar_i64(1), given})[0], {64, 64}, numbers(expected), 0));
}

}  // namespace
}  // namespace minnow::test
