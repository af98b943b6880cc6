// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "base/log.h"
#include "graph/expr.h"
#include "support/operators.h"

namespace minnow {
namespace {

using test::floats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions reference() {
  SessionOptions options;
  options.backends = {"reference"};
  options.threads = 1;
  return options;
}

ValueType symbolic(DType dtype, std::initializer_list<const char*> names) {
  ValueType type = ValueType::tensor(dtype);
  type.dims.emplace();
  for (const char* name : names) type.dims->push_back(Dim{-1, name});
  return type;
}

// y = relu(x + 1) * x
Model small_model() {
  auto graph = std::make_unique<Graph>();
  graph->source = "small";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", symbolic(DType::f32, {"n"})));
  const Expr y = op("Relu", {x + 1.0}) * x;
  graph->add_output(*y.value());
  return Model::from_graph(std::move(graph));
}

TEST(Session, runs_and_plans_again_for_another_shape) {
  const Model model = small_model();
  Session session(model, reference());
  EXPECT_EQ(model.inputs()[0].type, "f32[n]");
  EXPECT_THAT(floats(session.run({Tensor::of_f32({2}, std::vector<float>{1, -3})})[0]), ElementsAre(2, 0));
  EXPECT_THAT(floats(session.run({Tensor::of_f32({3}, std::vector<float>{0, 1, 2})})[0]), ElementsAre(0, 2, 6));
  EXPECT_THAT(floats(session.run({Tensor::of_f32({2}, std::vector<float>{2, 3})})[0]), ElementsAre(6, 12));
  EXPECT_EQ(session.run({Tensor::of_f32({0}, {})})[0].elements(), 0);
}

TEST(Session, writes_into_the_callers_memory) {
  Session session(small_model(), reference());
  const float x[] = {1, 2};
  float y[2] = {};
  const TensorView inputs[] = {TensorView(DType::f32, {2}, x)};
  const MutableTensorView outputs[] = {MutableTensorView(DType::f32, {2}, y)};
  session.run(inputs, outputs);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 6);
  const MutableTensorView wrong[] = {MutableTensorView(DType::f32, {3}, y)};
  EXPECT_THROW(session.run(inputs, wrong), Error);
  session.run(inputs, outputs);  // still usable
}

TEST(Session, errors_name_the_input) {
  Session session(small_model(), reference());
  try {
    session.run({Tensor::of_i64({2}, std::vector<int64_t>{1, 2})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("small: input \"x\" should be f32[n], it is i64[2]"));
  }
  EXPECT_THROW(session.run(std::span<const TensorView>()), Error);
}

TEST(Session, shapes_that_depend_on_an_inputs_contents) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", symbolic(DType::f32, {"n"})));
  const Expr shape = b.wrap(&graph->add_input("shape", ValueType::tensor(DType::i64, {2})));
  const Expr y = op("Reshape", {x, shape}) * 2.0;
  graph->add_output(*y.value());
  Session session(Model::from_graph(std::move(graph)), reference());
  const Tensor data = Tensor::of_f32({6}, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(session.run({data, Tensor::of_i64({2}, std::vector<int64_t>{2, 3})})[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(session.run({data, Tensor::of_i64({2}, std::vector<int64_t>{-1, 2})})[0].shape(), (Shape{3, 2}));
  EXPECT_THROW(session.run({data, Tensor::of_i64({2}, std::vector<int64_t>{4, 2})}), Error);
  EXPECT_EQ(session.run({data, Tensor::of_i64({2}, std::vector<int64_t>{6, 1})})[0].shape(), (Shape{6, 1}));
}

TEST(Session, shapes_that_depend_on_computed_contents_cut_the_plan) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", symbolic(DType::f32, {"n"})));
  const Expr half = b.wrap(&graph->add_input("half", ValueType::tensor(DType::i64, {2})));
  const Expr y = op("Reshape", {x * 3.0, half + half});
  const Expr z = y + 1.0;
  graph->add_output(*z.value());
  graph->add_output(*y.value());
  Session session(Model::from_graph(std::move(graph)), reference());
  const Tensor data = Tensor::of_f32({4}, std::vector<float>{1, 2, 3, 4});
  const std::vector<Tensor> outputs = session.run({data, Tensor::of_i64({2}, std::vector<int64_t>{1, 1})});
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(floats(outputs[0]), ElementsAre(4, 7, 10, 13));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(3, 6, 9, 12));
}

TEST(Session, outputs_that_are_inputs_constants_or_the_same_value) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2})));
  const Expr c = b.constant(Tensor::of_f32({1}, std::vector<float>{5}));
  const Expr y = x + x;
  for (const Expr& output : {x, c, y, y}) graph->add_output(*output.value());
  Session session(Model::from_graph(std::move(graph)), reference());
  const std::vector<Tensor> outputs = session.run({Tensor::of_f32({2}, std::vector<float>{1, 2})});
  EXPECT_THAT(floats(outputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(5));
  EXPECT_THAT(floats(outputs[2]), ElementsAre(2, 4));
  EXPECT_THAT(floats(outputs[3]), ElementsAre(2, 4));
}

TEST(Session, states_are_kept_between_runs) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2})));
  graph->add_state({"sum", nullptr, nullptr, Tensor::of_f32({2}, std::vector<float>{10, 20})});
  const Expr next = b.wrap(graph->states()[0].current) + x;
  graph->set_state_next(0, *next.value());
  graph->add_output(*next.value());
  const Model model = Model::from_graph(std::move(graph));
  Session session(model, reference()), other(model, reference());
  const Tensor x1 = Tensor::of_f32({2}, std::vector<float>{1, 2});
  EXPECT_THAT(floats(session.run({x1})[0]), ElementsAre(11, 22));
  EXPECT_THAT(floats(session.run({x1})[0]), ElementsAre(12, 24));
  EXPECT_THAT(floats(session.state(0)), ElementsAre(12, 24));
  EXPECT_THAT(floats(other.run({x1})[0]), ElementsAre(11, 22));
  session.set_state(0, Tensor::of_f32({2}, std::vector<float>{0, 0}));
  EXPECT_THAT(floats(session.run({x1})[0]), ElementsAre(1, 2));
  session.reset_states();
  EXPECT_THAT(floats(session.run({x1})[0]), ElementsAre(11, 22));
  EXPECT_THROW(session.set_state(0, Tensor::of_i64({1}, std::vector<int64_t>{0})), Error);
}

TEST(Session, failures_that_data_reveals_leave_it_usable) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::i64, {2})));
  const Expr y = b.constant({4, 6}) / x;
  graph->add_output(*y.value());
  Session session(Model::from_graph(std::move(graph)), reference());
  EXPECT_THROW(session.run({Tensor::of_i64({2}, std::vector<int64_t>{1, 0})}), Error);
  const Tensor result = session.run({Tensor::of_i64({2}, std::vector<int64_t>{2, 3})})[0];
  EXPECT_EQ(result.data<int64_t>()[1], 2);
}

TEST(Session, callbacks_read_replace_and_stop) {
  Session session(small_model(), reference());
  std::vector<std::string> seen;
  session.set_callbacks({}, [&](NodeEvent& event) {
    seen.emplace_back(event.op());
    if (event.op() == "Relu") event.replace_output(0, Tensor::of_f32({2}, std::vector<float>{100, 200}));
    return true;
  });
  EXPECT_THAT(floats(session.run({Tensor::of_f32({2}, std::vector<float>{1, 2})})[0]), ElementsAre(100, 400));
  EXPECT_THAT(seen, ElementsAre("Add", "Relu", "Mul"));
  session.set_callbacks([](NodeEvent& event) { return event.op() != "Mul"; }, {});
  try {
    session.run({Tensor::of_f32({2}, std::vector<float>{1, 2})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
  session.set_callbacks({}, {});
  session.cancel();
  EXPECT_THROW(session.run({Tensor::of_f32({2}, std::vector<float>{1, 2})}), Error);
  session.run({Tensor::of_f32({2}, std::vector<float>{1, 2})});
}

// y = x after `steps` additions of 1 in a Loop, so that a run takes as long as the caller wants.
Model counting_model() {
  auto graph = std::make_unique<Graph>();
  graph->source = "counting";
  GraphBuilder b(*graph);
  const Expr steps = b.wrap(&graph->add_input("steps", ValueType::tensor(DType::i64, Shape{})));
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {1})));
  auto body = std::make_shared<Graph>();
  body->outer = graph.get();
  GraphBuilder inner(*body);
  body->add_input("i", ValueType::tensor(DType::i64, Shape{}));
  Value& condition = body->add_input("go", ValueType::tensor(DType::boolean, Shape{}));
  const Expr value = inner.wrap(&body->add_input("v", ValueType::tensor(DType::f32, {1})));
  body->add_output(*inner.op("Identity", {inner.wrap(&condition)}).value());
  body->add_output(*(value + 1.0).value());
  const Expr y = b.op("Loop", {steps, Expr(), x}, {{"body", Subgraph(body)}});
  graph->add_output(*y.value());
  return Model::from_graph(std::move(graph));
}

ErrorKind kind_of_failure(const std::function<void()>& call, std::string* text = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (text) *text = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "should throw";
  return ErrorKind::internal;
}

// How a matrix is packed may depend on the rows that are multiplied with it: one session runs few and many.
TEST(Session, batches_of_all_sizes_meet_the_same_weights) {
  const int64_t k = 5000, n = 40;
  Tensor w(DType::f32, {k, n});
  for (int64_t i = 0; i < k * n; ++i) w.writable().data<float>()[i] = static_cast<float>(i % 7) - 3;
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", symbolic(DType::f32, {"m", "k"})));
  graph->add_output(*b.op("MatMul", {x, b.constant(w)}).value());
  Session session(Model::from_graph(std::move(graph)));
  for (const int64_t m : {1, 200, 3, 60, 1}) {
    Tensor rows(DType::f32, {m, k});
    for (int64_t i = 0; i < m * k; ++i) rows.writable().data<float>()[i] = static_cast<float>(i % 5) - 2;
    const std::vector<float> y = floats(session.run({rows})[0]);
    for (const int64_t at : {int64_t{0}, m * n - 1}) {
      float expected = 0;  // whole numbers, exact
      for (int64_t i = 0; i < k; ++i) expected += rows.data<float>()[at / n * k + i] * w.data<float>()[i * n + at % n];
      EXPECT_EQ(y[static_cast<size_t>(at)], expected) << m << " rows, element " << at;
    }
  }
}

TEST(Session, another_thread_cancels) {
  Session session(counting_model(), reference());
  const Tensor x = Tensor::of_f32({1}, std::vector<float>{0});
  std::atomic<bool> running{false};
  session.set_callbacks(
      [&](NodeEvent&) {
        running = true;
        return true;
      },
      {});
  std::thread other([&] {
    while (!running) std::this_thread::yield();
    session.cancel();
  });
  EXPECT_EQ(kind_of_failure([&] { session.run({Tensor::scalar_i64(int64_t{1} << 40), x}); }), ErrorKind::cancelled);
  other.join();
  EXPECT_THAT(floats(session.run({Tensor::scalar_i64(3), x})[0]), ElementsAre(3));
}

TEST(Session, a_time_limit) {
  SessionOptions options = reference();
  options.time_limit = 0.05;
  Session session(counting_model(), options);
  const Tensor x = Tensor::of_f32({1}, std::vector<float>{0});
  std::string text;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(kind_of_failure([&] { session.run({Tensor::scalar_i64(int64_t{1} << 40), x}); }, &text), ErrorKind::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_THAT(text, HasSubstr("time limit"));
  EXPECT_THAT(floats(session.run({Tensor::scalar_i64(3), x})[0]), ElementsAre(3));
  options.time_limit = 1e300;
  EXPECT_THAT(floats(Session(counting_model(), options).run({Tensor::scalar_i64(3), x})[0]), ElementsAre(3));
}

TEST(Session, a_memory_limit) {
  SessionOptions options = reference();
  options.memory_limit = 1 << 20;
  Session session(small_model(), options);
  EXPECT_EQ(session.run({Tensor(DType::f32, {1000})})[0].elements(), 1000);
  EXPECT_EQ(session.run({Tensor(DType::f32, {1000000})})[0].elements(), 1000000);  // in parts
  std::string text;                                                                // a prime has no parts
  EXPECT_EQ(kind_of_failure([&] { session.run({Tensor(DType::f32, {1000003})}); }, &text), ErrorKind::out_of_memory);
  EXPECT_THAT(text, HasSubstr("memory limit"));
  EXPECT_EQ(session.run({Tensor(DType::f32, {1000})})[0].elements(), 1000);
}

// Convolutions want their own layout, which tensors of 16 bits do not have.
TEST(Session, halves_at_the_ends_of_a_convolution) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f16, {1, 64, 9, 9})));
  const Tensor w = Tensor::of_f32({64, 64, 3, 3}, std::vector<float>(64 * 64 * 9, 0.25f));
  graph->add_output(*cast(b.op("Conv", {cast(x, DType::f32), b.constant(w)}), DType::f16).value());
  const Model model = Model::from_graph(std::move(graph));
  Tensor halves(DType::f16, {1, 64, 9, 9});
  std::fill_n(static_cast<uint16_t*>(halves.writable().data()), halves.elements(), uint16_t{0x3c00});  // 1
  const Tensor y = Session(model).run({halves})[0];
  ASSERT_EQ(y.shape(), Shape({1, 64, 7, 7}));
  for (int64_t i = 0; i < y.elements(); ++i) ASSERT_EQ(y.data<uint16_t>()[i], 0x5880);  // 144
}

TEST(Session, wrong_options) {
  SessionOptions options;
  options.precision = "perfect";
  std::string text;
  EXPECT_EQ(kind_of_failure([&] { Session(small_model(), options); }, &text), ErrorKind::invalid_argument);
  EXPECT_THAT(text, HasSubstr("high, normal, tf32 or low"));
  options = {};
  options.backends = {"abacus"};
  EXPECT_EQ(kind_of_failure([&] { Session(small_model(), options); }, &text), ErrorKind::invalid_argument);
  EXPECT_THAT(text, HasSubstr("abacus"));
}

TEST(Session, outputs_need_memory_and_must_be_tensors) {
  Session session(small_model(), reference());
  const float x[] = {1, 2};
  const TensorView inputs[] = {TensorView(DType::f32, {2}, x)};
  const MutableTensorView nowhere[] = {MutableTensorView(DType::f32, {2}, nullptr)};
  std::string text;
  EXPECT_EQ(kind_of_failure([&] { session.run(inputs, nowhere); }, &text), ErrorKind::invalid_argument);
  EXPECT_THAT(text, HasSubstr("no memory is given for output"));
  EXPECT_EQ(kind_of_failure([&] { session.run(inputs, {}); }, &text), ErrorKind::invalid_argument);

  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr s = b.op("SequenceConstruct", {b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2})))});
  graph->add_output(*s.value());
  Session sequences(Model::from_graph(std::move(graph)), reference());
  EXPECT_EQ(kind_of_failure([&] { sequences.run(inputs, nowhere); }, &text), ErrorKind::invalid_argument);
  EXPECT_THAT(text, HasSubstr("use run_any"));
  const Datum given[] = {Tensor(inputs[0])};
  EXPECT_EQ(sequences.run_any(given)[0].items.size(), 1u);
}

TEST(Session, an_input_of_another_kind_or_none) {
  Session session(small_model(), reference());
  const Datum tensor = Tensor::of_f32({2}, std::vector<float>{1, 2});
  session.run_any(std::span(&tensor, 1));
  std::string text;
  const Datum none, sequence = Datum::sequence(DType::f32, {tensor});
  EXPECT_EQ(kind_of_failure([&] { session.run_any(std::span(&none, 1)); }, &text), ErrorKind::invalid_argument);
  EXPECT_EQ(text, "small: input \"x\" should be f32[n], it is not given");
  EXPECT_EQ(kind_of_failure([&] { session.run_any(std::span(&sequence, 1)); }, &text), ErrorKind::invalid_argument);
  EXPECT_EQ(text, "small: input \"x\" should be f32[n], it is a sequence");
}

TEST(Session, callbacks_read_and_replace_packed_values_and_inner_nodes) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {1, 5, 6, 6})));
  Tensor weight(DType::f32, {7, 5, 3, 3});
  for (int64_t i = 0; i < weight.elements(); ++i) weight.writable().data<float>()[i] = static_cast<float>(i % 13) - 6;
  b.set_stem("conv");
  const Expr h = b.op("Conv", {x, b.constant(weight)});
  b.set_stem("pool");
  const Expr y = b.op("GlobalAveragePool", {h});
  graph->add_output(*y.value());
  const Model model = Model::from_graph(std::move(graph));
  Tensor image(DType::f32, {1, 5, 6, 6});
  for (int64_t i = 0; i < image.elements(); ++i) image.writable().data<float>()[i] = static_cast<float>(i % 7) - 3;
  std::vector<std::vector<float>> seen, results;
  for (const char* backend : {"reference", "cpu"}) {
    SessionOptions options;
    options.backends = {backend};
    options.threads = 1;
    Session session(model, options);
    session.set_callbacks({}, [&](NodeEvent& event) {
      if (event.op() != "Conv") return true;
      const Tensor made = event.output(0);
      EXPECT_EQ(made.shape(), (Shape{1, 7, 4, 4}));
      seen.push_back(floats(made));
      Tensor other(DType::f32, {1, 7, 4, 4});
      for (int64_t i = 0; i < other.elements(); ++i) other.writable().data<float>()[i] = static_cast<float>(i / 16);
      event.replace_output(0, other);
      EXPECT_EQ(floats(event.output(0)), floats(other));
      EXPECT_THROW(event.replace_output(0, Tensor(DType::f32, {1})), Error);
      EXPECT_THROW(event.output(1), Error);
      return true;
    });
    results.push_back(floats(session.run({image})[0]));
  }
  ASSERT_EQ(seen.size(), 2u);
  for (size_t i = 0; i < seen[0].size(); ++i) EXPECT_NEAR(seen[0][i], seen[1][i], 1e-3);
  for (const std::vector<float>& result : results) EXPECT_THAT(result, ElementsAre(0, 1, 2, 3, 4, 5, 6));

  // Nodes of a loop's body are seen too, once a turn.
  Session loop(counting_model(), reference());
  int additions = 0;
  loop.set_callbacks(
      [&](NodeEvent& event) {
        additions += event.op() == "Add";
        return true;
      },
      {});
  loop.run({Tensor::scalar_i64(4), Tensor::of_f32({1}, std::vector<float>{0})});
  EXPECT_EQ(additions, 4);
}

TEST(Session, what_a_callback_throws_reaches_the_caller) {
  Session session(counting_model(), reference());
  const Tensor x = Tensor::of_f32({1}, std::vector<float>{0});
  session.set_callbacks({}, [](NodeEvent& event) -> bool { throw std::runtime_error(std::string(event.op())); });
  EXPECT_THROW(session.run({Tensor::scalar_i64(2), x}), std::runtime_error);
  session.set_callbacks({}, {});
  EXPECT_THAT(floats(session.run({Tensor::scalar_i64(2), x})[0]), ElementsAre(2));
}

TEST(Session, profiles_and_traces_every_node) {
  Session session(small_model(), reference());
  const Tensor x = Tensor::of_f32({2}, std::vector<float>{1, 2});
  session.run({x});
  EXPECT_EQ(session.plan_report().rows[0].runs, 0u);
  session.set_profiling(true);
  for (int i = 0; i < 3; ++i) session.run({x});
  const PlanReport report = session.plan_report();
  ASSERT_EQ(report.rows.size(), 3u);
  for (const PlanRow& row : report.rows) {
    EXPECT_EQ(row.runs, 3u);
    EXPECT_GE(row.measured_seconds, row.best_seconds);
    EXPECT_EQ(row.shape, "[2]");
    EXPECT_EQ(row.backend, "reference");
  }
  const std::string trace = chrome_trace(report);
  EXPECT_THAT(trace, HasSubstr("{\"traceEvents\":[\n{\"name\":\"Add "));
  EXPECT_THAT(trace, HasSubstr("\"cat\":\"Relu\",\"ph\":\"X\",\"ts\":"));
  PlanReport odd;
  odd.rows.resize(1);
  odd.rows[0].node = "a\"b\\c\n\xff\xc3\xa9";
  EXPECT_THAT(chrome_trace(odd), HasSubstr("\"name\":\" a\\\"b\\\\c\\u000a?\xc3\xa9\""));
}

TEST(Session, many_threads_share_a_model) {
  const Model model = small_model();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Session session(model, reference());
      for (int i = 1; i < 50; ++i) {
        const float v = static_cast<float>(t * 50 + i);
        if (session.run({Tensor::of_f32({1}, std::vector<float>{v})})[0].data<float>()[0] != (v + 1) * v) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Model, a_part_between_named_values) {
  const Model model = small_model();
  const std::string relu_input = model.graph().first()->output(0)->name();
  const Model part = model.between({relu_input}, {model.graph().first()->next()->output(0)->name()});
  Session session(part, reference());
  EXPECT_THAT(floats(session.run({Tensor::of_f32({2}, std::vector<float>{-1, 2})})[0]), ElementsAre(0, 2));
  EXPECT_THROW(model.between({relu_input}, {model.outputs()[0].name}), Error);  // x is needed too
  EXPECT_THROW(model.between({"nowhere"}, {relu_input}), Error);
}

TEST(Model, parts_keep_captured_values_and_order) {
  auto graph = std::make_unique<Graph>();
  graph->source = "chain";
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", symbolic(DType::f32, {"n"})));
  const Expr h = x * 2.0, k = x + 1.0;
  h.value()->rename("h"), k.value()->rename("k");
  graph->add_output(*(h - k).value());
  const Model model = Model::from_graph(std::move(graph));
  Session session(model.between({"k", "h"}, {model.outputs()[0].name, "h"}), reference());
  const std::vector<Tensor> outputs = session.run({Tensor::of_f32({1}, std::vector<float>{1}), Tensor::of_f32({1}, std::vector<float>{5})});
  EXPECT_THAT(floats(outputs[0]), ElementsAre(4));  // h - k
  EXPECT_THAT(floats(outputs[1]), ElementsAre(5));
  Session whole(model.between({"x"}, {"k"}), reference());
  EXPECT_THAT(floats(whole.run({Tensor::of_f32({1}, std::vector<float>{1})})[0]), ElementsAre(2));
  EXPECT_THROW(model.between({"x", "x"}, {"k"}), Error);
  EXPECT_THROW(model.between({"x"}, {}), Error);
}

TEST(Log, the_hook_gets_messages_until_it_is_taken_away) {
  std::vector<std::string> messages;
  set_log_hook([&](std::string_view message) { messages.emplace_back(message); });
  log("one and {}", 2);
  set_log_hook({});
  log("three");
  EXPECT_THAT(messages, ElementsAre("one and 2"));
}

TEST(Session, a_state_without_a_next_value_keeps_the_one_that_it_has) {
  auto graph = std::make_unique<Graph>();
  Value& x = graph->add_input("x", ValueType::tensor(DType::f32, {2}));
  graph->add_state({"kept", nullptr, nullptr, Tensor::of_f32({2}, std::vector<float>{5, 7})});
  graph->add_output(*graph->add_node("Add", {&x, graph->states()[0].current}).output(0));
  const Model model = Model::from_graph(std::move(graph));
  Session session(model, reference());
  const Tensor input = Tensor::of_f32({2}, std::vector<float>{1, 2});
  for (int run = 0; run < 3; ++run) EXPECT_THAT(floats(session.run(std::vector<TensorView>{input.view()})[0]), ElementsAre(6, 9));
}

}  // namespace
}  // namespace minnow
