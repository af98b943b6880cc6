// SPDX-License-Identifier: Apache-2.0
// Devices that cannot be used, fail, or have no memory left: an error, or a session that goes on with the processor.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <set>

#include "graph/expr.h"
#include "support/faulty_queue.h"

namespace minnow {
namespace {

test::Faults& faults() {
  static test::Faults faults;
  return faults;
}

class DeviceFaults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      make_backend(GetParam(), {});
    } catch (const Unsupported& error) {
      GTEST_SKIP() << error.what();
    }
    faulty = std::string("faulty ") + GetParam();
    static std::set<std::string> added;
    if (added.insert(faulty).second)
      add_backend(faulty, [real = GetParam(), name = faulty](const BackendOptions& given) {
        static std::set<std::string> names;  // which backends refer to
        return gpu::make_gpu_backend(*names.insert(name).first, std::make_unique<test::FaultyQueue>(make_backend(real, given), faults()));
      });
    set_log_hook([this](std::string_view message) { messages.emplace_back(message); });
    faults() = {};
    options.backends = {faulty};
  }
  void TearDown() override { set_log_hook({}); }

  // sum' = sum + relu(x . w), and softmax(sum').
  static Model network() {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2, 3})));
    graph->add_state({"sum", nullptr, nullptr, Tensor::of_f32({2, 2}, std::vector<float>{1, 2, 3, 4})});
    const Expr w = b.constant(Tensor::of_f32({3, 2}, std::vector<float>{1, -1, 2, 0.5f, -3, 1}));
    const Expr next = b.wrap(graph->states()[0].current) + b.op("Relu", {b.op("MatMul", {x, w})});
    graph->set_state_next(0, *next.value());
    graph->add_output(*b.op("Softmax", {next}).value());
    return Model::from_graph(std::move(graph));
  }
  static Tensor input(int run) {
    std::vector<float> values(6);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((static_cast<int>(i) * 7 + run * 5) % 11) / 4 - 1;
    return Tensor::of_f32({2, 3}, values);
  }
  SessionOptions options;
  std::vector<std::string> messages;
  std::string faulty;
};

TEST_P(DeviceFaults, a_session_without_fallback_gets_an_error_of_the_right_kind) {
  for (const char* kind : {"allocate", "copy", "compile", "launch", "finish"}) {
    faults() = {kind, 0, false};
    try {
      Session session(network(), options);
      session.run({input(0)});
      ADD_FAILURE() << kind;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind == std::string("allocate") ? ErrorKind::out_of_memory : ErrorKind::unsupported) << error.what();
    }
  }
}

TEST_P(DeviceFaults, with_fallback_every_failing_call_gives_the_processors_results) {
  options.fallback = true;
  const Model model = network();
  size_t failed = 0;
  for (const char* kind : {"allocate", "copy", "compile", "launch", "finish"})
    for (int calls = 0; calls < 20; ++calls) {
      faults() = {kind, calls, false};
      messages.clear();
      Session device(model, options), processor(model);
      for (int run = 0; run < 4; ++run) {
        const Tensor found = device.run({input(run)})[0], expected = processor.run({input(run)})[0];
        for (int64_t i = 0; i < 4; ++i)
          ASSERT_NEAR(found.data<float>()[i], expected.data<float>()[i], 1e-5) << kind << " " << calls << ", run " << run;
      }
      EXPECT_EQ(messages.size(), faults().lost ? 1u : 0u) << kind << " " << calls;
      if (faults().lost) {
        ++failed;
        EXPECT_NE(messages[0].find("; the session goes on with the processor"), std::string::npos) << messages[0];
        EXPECT_EQ(device.plan_report().rows[0].backend, "cpu");
      }
    }
  EXPECT_GT(failed, 20u);
}

TEST_P(DeviceFaults, a_fault_in_the_data_is_no_failure_of_the_device) {
  options.fallback = true;
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr indices = b.wrap(&graph->add_input("indices", ValueType::tensor(DType::i64, {1})));
  graph->add_output(*b.op("Gather", {b.constant(Tensor::of_f32({3}, std::vector<float>{1, 2, 3})), indices}).value());
  Session session(Model::from_graph(std::move(graph)), options);
  EXPECT_THROW(session.run({Tensor::of_i64({1}, std::vector<int64_t>{9})}), InvalidArgument);
  EXPECT_EQ(session.run({Tensor::of_i64({1}, std::vector<int64_t>{2})})[0].data<float>()[0], 3);
  EXPECT_EQ(session.plan_report().rows.back().backend, faulty);
  EXPECT_TRUE(messages.empty());
}

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceFaults, testing::Values("opencl", "vulkan", "gles"),
                         [](const auto& one) { return std::string(one.param); });

TEST(MissingDevice, is_an_error_or_one_line_and_the_processor) {
  try {
    make_backend("cuda", {});
    GTEST_SKIP() << "there is one";
  } catch (const Unsupported&) {}
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {2})));
  graph->add_output(*b.op("Relu", {x}).value());
  const Model model = Model::from_graph(std::move(graph));
  SessionOptions options;
  options.backends = {"cuda"};
  EXPECT_THROW(Session(model, options), Unsupported);
  options.fallback = true;
  std::vector<std::string> messages;
  set_log_hook([&](std::string_view message) { messages.emplace_back(message); });
  Session session(model, options);
  set_log_hook({});
  EXPECT_EQ(session.run({Tensor::of_f32({2}, std::vector<float>{-1, 1})})[0].data<float>()[1], 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("the backend cuda cannot be used"), std::string::npos) << messages[0];
  options.backends = {"auto"};
  options.fallback = false;
  EXPECT_EQ(Session(model, options).run({Tensor::of_f32({2}, std::vector<float>{-1, 1})})[0].data<float>()[1], 1);
}

TEST(AddedBackends, have_names_of_their_own) {
  EXPECT_THROW(add_backend("cpu", nullptr), InvalidArgument);
  EXPECT_THROW(add_backend("auto", nullptr), InvalidArgument);
}

}  // namespace
}  // namespace minnow
