// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <thread>

#include "graph/expr.h"

namespace minnow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions reference() {
  SessionOptions options;
  options.backends = {"reference"};
  options.threads = 1;
  return options;
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.data<float>(), tensor.data<float>() + tensor.elements()}; }

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
    if (event.op() == "Relu") event.replace(0, Tensor::of_f32({2}, std::vector<float>{100, 200}));
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

}  // namespace
}  // namespace minnow
