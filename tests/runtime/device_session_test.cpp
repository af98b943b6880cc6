// SPDX-License-Identifier: Apache-2.0
// Inputs, outputs and states that stay on a device.
#include <gtest/gtest.h>
#include <minnow/device.h>

#include "graph/expr.h"
#include "runtime/backends.h"
#include "support/random.h"

namespace minnow {
namespace {

using test::random_tensor;

ValueType open_type(DType dtype, std::vector<int64_t> dims) {
  ValueType type = ValueType::tensor(dtype);
  type.dims.emplace();
  for (const int64_t dim : dims) type.dims->push_back(Dim{dim, dim < 0 ? "n" : ""});
  return type;
}

class DeviceSessions : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      make_backend(GetParam(), {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    options.backends = {GetParam()};
  }
  // Runs a model some times on the device and on the processor.
  void expect_same(const Model& model, const std::vector<std::vector<Tensor>>& runs) {
    DeviceSession device(model, options);
    Session processor(model);
    for (const std::vector<Tensor>& inputs : runs) {
      std::vector<DeviceTensor> there;
      for (const Tensor& input : inputs) there.push_back(device.upload(input));
      const std::vector<DeviceTensor> found = device.run(there);
      const std::vector<Tensor> expected = processor.run(std::vector<TensorView>(inputs.begin(), inputs.end()));
      ASSERT_EQ(found.size(), expected.size());
      for (size_t k = 0; k < found.size(); ++k) {
        const Tensor y = found[k].to_host();
        ASSERT_EQ(y.shape(), expected[k].shape()) << k;
        ASSERT_EQ(y.dtype(), expected[k].dtype()) << k;
        for (int64_t i = 0; i < y.elements(); ++i)
          if (y.dtype() == DType::f32)
            ASSERT_NEAR(y.data<float>()[i], expected[k].data<float>()[i], 1e-5) << k << " " << i;
          else
            ASSERT_EQ(y.data<int64_t>()[i], expected[k].data<int64_t>()[i]) << k << " " << i;
      }
    }
  }
  SessionOptions options;
};

TEST_P(DeviceSessions, give_the_processors_results_for_any_batch) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {-1, 3, 9, 7})));
  const Expr conv = b.op("Relu", {b.op("Conv", {x, b.constant(random_tensor({5, 3, 3, 3}, 1))}, {{"pads", Ints{1, 1, 1, 1}}})});
  const Expr flat = b.op("Flatten", {b.op("GlobalAveragePool", {conv})});
  graph->add_output(*b.op("Softmax", {flat}).value());
  graph->add_output(*conv.value());
  std::vector<std::vector<Tensor>> runs;
  for (const int64_t n : {1, 3, 1, 2}) runs.push_back({random_tensor({n, 3, 9, 7}, static_cast<unsigned>(n) + 7)});
  expect_same(Model::from_graph(std::move(graph)), runs);
}

TEST_P(DeviceSessions, outputs_that_are_inputs_constants_or_one_value) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {4})));
  const Expr y = x + x, c = b.constant(random_tensor({3}, 2));
  for (const Expr& output : {x, y, y, c}) graph->add_output(*output.value());
  expect_same(Model::from_graph(std::move(graph)), {{random_tensor({4}, 1)}, {random_tensor({4}, 2)}});
}

TEST_P(DeviceSessions, inputs_whose_contents_decide_shapes) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {2, 6})));
  const Expr shape = b.wrap(&graph->add_input("shape", open_type(DType::i64, {2})));
  graph->add_output(*b.op("Relu", {b.op("Reshape", {x, shape})}).value());
  const auto of = [](int64_t rows, int64_t columns) { return Tensor::of_i64({2}, std::vector<int64_t>{rows, columns}); };
  expect_same(Model::from_graph(std::move(graph)),
              {{random_tensor({2, 6}, 1), of(3, 4)}, {random_tensor({2, 6}, 2), of(1, 12)}, {random_tensor({2, 6}, 3), of(3, 4)}});
}

TEST_P(DeviceSessions, shapes_that_data_tell) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {5})));
  const Expr found = b.op("NonZero", {b.op("Relu", {x})});
  graph->add_output(*found.value());
  graph->add_output(*b.op("Neg", {b.op("GatherND", {x, b.op("Transpose", {found})})}).value());
  expect_same(Model::from_graph(std::move(graph)), {{random_tensor({5}, 1)}, {random_tensor({5}, 2)}, {random_tensor({5}, 3)}});
}

TEST_P(DeviceSessions, subgraphs_read_inputs) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  Value& x = graph->add_input("x", open_type(DType::f32, {4}));
  const Expr positive = b.op("Greater", {b.op("ReduceSum", {b.wrap(&x)}, {{"keepdims", int64_t{0}}}), b.constant(Tensor::scalar_f32(0))});
  const auto branch = [&](const char* op) {
    auto inner = std::make_unique<Graph>();
    GraphBuilder within(*inner);
    const Expr y = within.op(op, {within.wrap(&x)});
    y.value()->type.dtype = DType::f32;
    inner->add_output(*y.value());
    return Subgraph(std::move(inner));
  };
  const Expr y = b.ops("If", {positive}, 1, {{"then_branch", branch("Neg")}, {"else_branch", branch("Abs")}})[0];
  y.value()->type.dtype = DType::f32;
  graph->add_output(*y.value());
  expect_same(Model::from_graph(std::move(graph)), {{random_tensor({4}, 1)}, {random_tensor({4}, 2)}, {random_tensor({4}, 3)}});
}

TEST_P(DeviceSessions, states_stay_on_the_device) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {2})));
  graph->add_state({"sum", nullptr, nullptr, Tensor::of_f32({2}, std::vector<float>{10, 20})});
  const Expr next = b.wrap(graph->states()[0].current) + x;
  graph->set_state_next(0, *next.value());
  graph->add_output(*(next + next).value());
  DeviceSession session(Model::from_graph(std::move(graph)), options);
  const DeviceTensor one = session.upload(Tensor::of_f32({2}, std::vector<float>{1, 2}));
  for (int run = 1; run < 5; ++run) EXPECT_EQ(session.run(std::vector{one})[0].to_host().data<float>()[1], 2 * (20 + 2 * run));
  EXPECT_EQ(session.state(0).data<float>()[0], 14);
  session.set_state(0, Tensor::of_f32({2}, std::vector<float>{0, 0}));
  EXPECT_EQ(session.run(std::vector{one})[0].to_host().data<float>()[0], 2);
  session.reset_states();
  EXPECT_EQ(session.run(std::vector{one})[0].to_host().data<float>()[0], 22);
  size_t copies = 0;
  for (const PlanRow& row : session.plan_report().rows) copies += row.op == kTransfer;
  EXPECT_EQ(copies, 0u);
}

TEST_P(DeviceSessions, memory_is_shared_with_others_and_held_outputs_keep_their_values) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {64})));
  graph->add_output(*(x + b.constant(Tensor::of_f32({1}, std::vector<float>{1}))).value());
  const Model model = Model::from_graph(std::move(graph));
  DeviceSession first(model, options), second(model, options);
  DeviceTensor value = first.upload(Tensor(DType::f32, {64}));
  std::vector<DeviceTensor> held;
  for (int run = 0; run < 6; ++run) held.push_back(value = first.run(std::vector{value})[0]);
  const auto owner = std::make_shared<DeviceTensor>(value);
  const DeviceTensor adopted = second.adopt(DType::f32, {64}, value.memory(), owner);
  EXPECT_EQ(second.run(std::vector{adopted})[0].to_host().data<float>()[63], 7);
  for (int run = 0; run < 6; ++run) EXPECT_EQ(held[static_cast<size_t>(run)].to_host().data<float>()[5], static_cast<float>(run + 1));
  // A part that does not begin at a multiple of 64 bytes is copied.
  DeviceMemory part = value.memory();
  part.handle = GetParam() == "cuda" ? static_cast<char*>(part.handle) + 4 : part.handle;
  part.offset += GetParam() == "cuda" ? 0 : 4;
  EXPECT_EQ(second.adopt(DType::f32, {4}, part, owner).to_host().data<float>()[0], 6);
}

TEST_P(DeviceSessions, wrong_calls_are_errors) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", open_type(DType::f32, {3})));
  graph->add_output(*b.op("Relu", {x}).value());
  const Model model = Model::from_graph(std::move(graph));
  EXPECT_THROW(DeviceSession(model, {}), InvalidArgument);
  DeviceSession session(model, options);
  EXPECT_THROW(session.run({}), InvalidArgument);
  EXPECT_THROW(session.run(std::vector<DeviceTensor>(1)), InvalidArgument);
  EXPECT_THROW(session.run(std::vector{session.upload(Tensor(DType::f32, {4}))}), InvalidArgument);
  EXPECT_THROW(session.state(0), InvalidArgument);
  EXPECT_EQ(session.run(std::vector{session.upload(Tensor(DType::f32, {3}))})[0].shape(), Shape({3}));
}

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceSessions, testing::Values("cuda", "opencl"));

}  // namespace
}  // namespace minnow
