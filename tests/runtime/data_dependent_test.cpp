// SPDX-License-Identifier: Apache-2.0
// Shapes that only a run can tell, through the same API as all others: NonMaxSuppression feeding a Gather, NonZero, a loop whose trip count
// is data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "graph/expr.h"
#include "runtime/backends.h"
#include "support/operators.h"

namespace minnow {
namespace {

using test::floats;
using ::testing::ElementsAre;

class DataDependent : public ::testing::TestWithParam<std::string> {
 protected:
  Session session_of(std::unique_ptr<Graph> graph) const {
    SessionOptions options;
    options.backends = {GetParam()};
    options.threads = 1;
    return Session(Model::from_graph(std::move(graph)), options);
  }
};

TEST_P(DataDependent, suppressed_boxes_are_gathered) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr boxes = b.wrap(&graph->add_input("boxes", ValueType::tensor(DType::f32, {1, 4, 4})));
  const Expr scores = b.wrap(&graph->add_input("scores", ValueType::tensor(DType::f32, {1, 1, 4})));
  const Expr selected = b.op("NonMaxSuppression", {boxes, scores, b.constant({3}), b.scalar(0.5), b.scalar(0.1)});
  selected.value()->type.dtype = DType::i64;
  const Expr box = b.op("Reshape", {b.op("Gather", {selected, b.constant({2})}, {{"axis", int64_t{1}}}), b.constant({-1})});
  box.value()->type.dtype = DType::i64;
  const Expr kept = b.op("Gather", {b.op("Reshape", {scores, b.constant({-1})}), box});
  graph->add_output(*(kept * 2.0).value());
  Session session = session_of(std::move(graph));
  // The first two overlap almost wholly.
  const std::vector<float> corners = {0, 0, 1, 1, 0, 0.05f, 1, 1.05f, 5, 5, 6, 6, 9, 9, 10, 10};
  const Tensor box_tensor = Tensor::of_f32({1, 4, 4}, corners);
  const auto run = [&](std::vector<float> s) { return session.run({box_tensor, Tensor::of_f32({1, 1, 4}, s)})[0]; };
  EXPECT_THAT(floats(run({0.9f, 0.8f, 0.7f, 0.05f})), ElementsAre(1.8f, 1.4f));
  EXPECT_THAT(floats(run({0.9f, 0.8f, 0.7f, 0.5f})), ElementsAre(1.8f, 1.4f, 1.0f));
  EXPECT_THAT(floats(run({0.05f, 0.05f, 0.05f, 0.05f})), ElementsAre());
  EXPECT_THAT(floats(run({0.1f, 0.8f, 0.05f, 0.05f})), ElementsAre(1.6f));
  EXPECT_THAT(floats(run({0.9f, 0.8f, 0.7f, 0.05f})), ElementsAre(1.8f, 1.4f));
}

TEST_P(DataDependent, non_zero_places_are_counted) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2, 3})));
  const Expr places = b.op("NonZero", {op("Relu", {x})});
  places.value()->type.dtype = DType::i64;
  graph->add_output(*places.value());
  graph->add_output(*b.op("Shape", {places}).value());
  Session session = session_of(std::move(graph));
  const std::vector<Tensor> outputs = session.run({Tensor::of_f32({2, 3}, std::vector<float>{1, -1, 0, 2, 3, -4})});
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(std::vector<int64_t>(outputs[0].data<int64_t>(), outputs[0].data<int64_t>() + 6), ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_EQ(outputs[1].data<int64_t>()[1], 3);
  EXPECT_EQ(session.run({Tensor(DType::f32, {2, 3})})[0].shape(), (Shape{2, 0}));
}

// sum = x; for i in range(n): sum = sum + x, with every sum kept
TEST_P(DataDependent, a_loop_whose_trip_count_is_an_input) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr n = b.wrap(&graph->add_input("n", ValueType::tensor(DType::i64, Shape{})));
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2})));
  auto body = std::make_shared<Graph>();
  GraphBuilder inner(*body);
  body->add_input("i", ValueType::tensor(DType::i64, Shape{}));
  const Expr condition = inner.wrap(&body->add_input("condition", ValueType::tensor(DType::boolean, Shape{})));
  const Expr sum = inner.wrap(&body->add_input("sum", ValueType::tensor(DType::f32, {2})));
  const Expr next = inner.op("Add", {sum, x});
  body->add_output(*inner.op("Identity", {condition}).value());
  body->add_output(*next.value());
  body->add_output(*inner.op("Identity", {next}).value());
  const Exprs results = b.ops("Loop", {n, Expr(), x}, 2, {{"body", Subgraph(std::move(body))}});
  for (const Expr& result : results) {
    result.value()->type.dtype = DType::f32;
    graph->add_output(*result.value());
  }
  Session session = session_of(std::move(graph));
  for (const int64_t trips : {3, 0, 5, 3}) {
    const std::vector<Tensor> outputs = session.run({Tensor::scalar_i64(trips), Tensor::of_f32({2}, std::vector<float>{1, 10})});
    EXPECT_THAT(floats(outputs[0]), ElementsAre(1.0f + static_cast<float>(trips), 10.0f * (1 + static_cast<float>(trips))));
    EXPECT_EQ(outputs[1].shape()[0], trips);
    if (trips == 3) {
      EXPECT_THAT(floats(outputs[1]), ElementsAre(2, 20, 3, 30, 4, 40));
    }
  }
}

// A graph with one output: relu(x) or -x, of x's shape, or of a shape that only one branch has.
Subgraph branch_of(const Expr& x, std::string_view op) {
  auto branch = std::make_shared<Graph>();
  GraphBuilder inner(*branch);
  const Expr shape = inner.op("Shape", {x});  // what folds to a constant where x's shape is known
  Expr y = op == "Twice" ? inner.op("Concat", {x, x}, {{"axis", int64_t{0}}}) : inner.op("Reshape", {inner.op(op, {x}), shape});
  y.value()->type.dtype = DType::f32;
  branch->add_output(*y.value());
  return branch;
}

TEST_P(DataDependent, branches_of_one_shape_do_not_cut_the_plan) {
  for (const bool same : {true, false}) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    const Expr condition = b.wrap(&graph->add_input("condition", ValueType::tensor(DType::boolean, Shape{})));
    const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {3})));
    const Expr y =
        b.ops("If", {condition}, 1, {{"then_branch", branch_of(x, "Relu")}, {"else_branch", branch_of(x, same ? "Neg" : "Twice")}})[0];
    y.value()->type.dtype = DType::f32;
    graph->add_output(*(y * 2.0).value());
    Session session = session_of(std::move(graph));
    const Shape shapes[] = {Shape{}, Shape{3}};
    session.prepare(shapes);
    EXPECT_EQ(session.plan_report().cut, !same);
    Tensor yes(DType::boolean, Shape{}), no(DType::boolean, Shape{});
    *yes.writable().data<uint8_t>() = 1;
    const Tensor value = Tensor::of_f32({3}, std::vector<float>{1, -2, 3});
    for (int round = 0; round < 2; ++round) {
      EXPECT_THAT(floats(session.run({yes, value})[0]), ElementsAre(2, 0, 6));
      if (same)
        EXPECT_THAT(floats(session.run({no, value})[0]), ElementsAre(-2, 4, -6));
      else
        EXPECT_THAT(floats(session.run({no, value})[0]), ElementsAre(2, -4, 6, 2, -4, 6));
    }
  }
}

// Steps after a cut are planned again for each number of elements, with the schemes of the first plan.
TEST_P(DataDependent, what_follows_a_cut_keeps_its_schemes) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {40})));
  const Expr places = b.op("NonZero", {x});
  places.value()->type.dtype = DType::i64;
  const Expr found = b.op("Gather", {x, b.op("Reshape", {places, b.constant({-1})})});
  graph->add_output(*b.op("Softmax", {found * 3.0}).value());
  Session session = session_of(std::move(graph));
  std::vector<std::string> schemes;
  for (const int count : {40, 1, 7, 40}) {
    std::vector<float> values(40, 0.0f);
    for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = 1.0f;
    const Tensor y = session.run({Tensor::of_f32({40}, values)})[0];
    ASSERT_EQ(y.elements(), count);
    EXPECT_NEAR(y.data<float>()[count - 1], 1.0 / count, 1e-6);
    std::vector<std::string> now;
    for (const PlanRow& row : session.plan_report().rows) now.push_back(row.scheme);
    if (schemes.empty()) schemes = now;
    EXPECT_EQ(now, schemes);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DataDependent, ::testing::ValuesIn(usable_backend_names()));

}  // namespace
}  // namespace minnow
