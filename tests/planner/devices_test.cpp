// SPDX-License-Identifier: Apache-2.0
// Plans over a backend with memory of its own, a stand-in whose addresses nobody else can read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backends/reference/reference.h"
#include "graph/expr.h"
#include "ops/operator.h"
#include "runtime/executor.h"
#include "runtime/model.h"

namespace minnow {
namespace {

constexpr uintptr_t kTag = uintptr_t{1} << (sizeof(uintptr_t) * 8 - 2);

class StubDevice;

/// The stand-in computes Add and Relu of f32 of one shape.
class StubKernel final : public Kernel {
 public:
  StubKernel(StubDevice& device, std::string op, int64_t count, std::vector<std::shared_ptr<const void>> constants)
      : device_(device), op_(std::move(op)), count_(count), constants_(std::move(constants)) {}
  void run(RunContext& context) const noexcept override;

 private:
  StubDevice& device_;
  std::string op_;
  int64_t count_;
  std::vector<std::shared_ptr<const void>> constants_;  // by input; null: not a constant
};

class StubTransfer final : public Kernel {
 public:
  StubTransfer(Backend& device, bool to_host) : device_(device), to_host_(to_host) {}
  void run(RunContext& context) const noexcept override {
    const TensorView& from = context.inputs[0]->view;
    if (to_host_)
      device_.copy_to_host(context.out<void>(0), from.data(), from.bytes());
    else
      device_.copy_from_host(context.out<void>(0), from.data(), from.bytes());
  }

 private:
  Backend& device_;
  bool to_host_;
};

class StubDevice final : public Backend {
 public:
  explicit StubDevice(bool records) : records_(records) { device_.name = "stub", device_.transfer_bandwidth = 1e9; }
  std::string_view name() const override { return "stub"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override;
  bool uses_host_memory() const override { return false; }
  std::shared_ptr<void> allocate(size_t bytes) override {
    std::shared_ptr<void> memory = allocate_shared(bytes);
    return {memory, reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory.get()) ^ kTag)};
  }
  static void* real(const void* address) { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) ^ kTag); }
  void copy_from_host(void* to, const void* from, size_t bytes) override { ++copies, std::memcpy(real(to), from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes) override { ++copies, std::memcpy(to, real(from), bytes); }
  bool can_record() const override { return records_; }
  void begin_recording() override { recording = std::make_shared<std::vector<std::function<void()>>>(); }
  std::unique_ptr<Recording> end_recording() override {
    struct Recorded final : Recording {
      void enqueue(RunContext&) noexcept override {
        for (const auto& each : *work) each();
        ++*count;
      }
      std::shared_ptr<std::vector<std::function<void()>>> work;
      int* count;
    };
    auto made = std::make_unique<Recorded>();
    made->work = std::move(recording);
    made->count = &enqueued;
    ++recordings;
    return made;
  }

  std::shared_ptr<std::vector<std::function<void()>>> recording;  // null: work is done at once
  bool lost = false;
  int copies = 0, recordings = 0, enqueued = 0;

 private:
  Device device_;
  bool records_;
};

void StubKernel::run(RunContext& context) const noexcept {
  if (device_.lost) return context.fail("the device is lost");
  const auto in = [&](size_t i) {
    return static_cast<const float*>(StubDevice::real(constants_[i] ? constants_[i].get() : context.inputs[i]->view.data()));
  };
  const float* a = in(0);
  const float* b = op_ == "Add" ? in(1) : nullptr;
  float* y = static_cast<float*>(StubDevice::real(context.outputs[0]->view.data()));
  const auto work = [a, b, y, count = count_] {
    for (int64_t i = 0; i < count; ++i) y[i] = b ? a[i] + b[i] : std::max(a[i], 0.0f);
  };
  if (device_.recording)
    device_.recording->push_back(work);
  else
    work();
}

Estimate estimate_stub(const NodeView& node, const Device&) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input_dtype(i) != DType::f32 || !(node.input_shape(i) == node.output_shape(0))) return declined("not of one shape");
  return Estimate(1e-9);
}
std::unique_ptr<Kernel> prepare_stub(PrepareContext& context) {
  const NodeView& node = context.node();
  std::vector<std::shared_ptr<const void>> constants(node.input_count());
  for (size_t i = 0; i < constants.size(); ++i)
    if (node.is_constant(i)) {
      const size_t bytes = node.contents(i).bytes();
      constants[i] = context.packed(i, "plain", {}, bytes, [&](const TensorView& w, void* out) { std::memcpy(out, w.data(), bytes); });
    }
  return std::make_unique<StubKernel>(static_cast<StubDevice&>(*context.memory()), node.op(), node.output_shape(0).elements(),
                                      std::move(constants));
}
std::unique_ptr<Kernel> prepare_stub_transfer(PrepareContext& context) {
  return std::make_unique<StubTransfer>(*context.memory(), context.node().require<std::string>("to") == "host");
}
Estimate estimate_stub_transfer(const NodeView&, const Device&) { return Estimate(1e-9); }

constexpr Scheme kSchemes[] = {{"Add", "stub.add", estimate_stub, prepare_stub},
                               {"Relu", "stub.relu", estimate_stub, prepare_stub},
                               {kTransfer, "stub.transfer", estimate_stub_transfer, prepare_stub_transfer}};
std::span<const Scheme> StubDevice::schemes() const { return kSchemes; }

struct Fixture {
  explicit Fixture(bool records) : device(std::make_shared<StubDevice>(records)), builder(graph) {
    ValueType type = ValueType::tensor(DType::f32);
    type.dims = std::vector<Dim>{Dim{4, ""}};
    x = builder.wrap(&graph.add_input("x", type));
  }
  std::vector<float> run(std::vector<float> values) {
    if (!executor) {
      session.environment.wanted_backends = 1;
      session.plan_with(OperatorSet::builtin(), {device, make_reference_backend({})}, weights, 0);
      executor.emplace(graph, session);
    }
    Slot slot;
    slot.view = TensorView(DType::f32, {4}, values.data());
    const Slot* inputs[] = {&slot};
    std::vector<float> result(4);
    executor->run(inputs, [&](size_t, DType, const Shape&) -> void* { return result.data(); });
    return result;
  }
  size_t steps(std::string_view scheme) {
    size_t count = 0;
    for (const PlanState* state : executor->last_plans())
      for (const Step& step : state->plan().steps()) count += step.scheme->name == scheme;
    return count;
  }
  std::shared_ptr<StubDevice> device;
  Graph graph;
  GraphBuilder builder;
  Expr x;
  PackedWeights weights;
  SessionContext session;
  std::optional<Executor> executor;
};

TEST(Devices, values_are_copied_where_memories_meet) {
  Fixture f(false);
  const Expr c = f.builder.constant(Tensor::of_f32({4}, std::vector<float>{1, 2, 3, 4}));
  const Expr a = f.builder.op("Relu", {f.builder.op("Add", {f.x, c})});  // on the device, with a constant
  const Expr b = f.builder.op("Neg", {a});                               // not on the device
  f.graph.add_output(*f.builder.op("Add", {b, a}).value());              // on the device again, which still has a
  EXPECT_EQ(f.run({-2, 1, -9, 0}), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(f.steps("stub.add"), 2u);
  EXPECT_EQ(f.steps("stub.relu"), 1u);
  EXPECT_EQ(f.steps("stub.transfer"), 4u);  // x, a, b, the result
  EXPECT_EQ(f.run({5, 5, 5, 5}), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Devices, neighbouring_steps_are_recorded_once) {
  Fixture f(true);
  const Expr y = f.builder.op("Relu", {f.builder.op("Add", {f.x, f.x})});
  f.graph.add_output(*y.value());
  EXPECT_EQ(f.run({-1, 2, -3, 4}), (std::vector<float>{0, 4, 0, 8}));
  EXPECT_EQ(f.run({1, -2, 3, -4}), (std::vector<float>{2, 0, 6, 0}));
  EXPECT_EQ(f.device->recordings, 1);
  EXPECT_EQ(f.device->enqueued, 2);
}

TEST(Devices, callbacks_see_values_in_host_memory) {
  Fixture f(true);
  const Expr y = f.builder.op("Relu", {f.builder.op("Add", {f.x, f.x})});
  f.graph.add_output(*y.value());
  std::vector<float> seen;
  f.session.after = [&](NodeEvent& event) {
    if (event.op() == "Add") {
      seen.push_back(event.output(0).data<float>()[1]);
      event.replace_output(0, Tensor::of_f32({4}, std::vector<float>{7, 7, 7, -7}));
    }
    return true;
  };
  f.session.before = [&](NodeEvent& event) {
    if (event.op() == "Relu") seen.push_back(event.input(0).data<float>()[0]);
    return true;
  };
  EXPECT_EQ(f.run({-1, 2, -3, 4}), (std::vector<float>{7, 7, 7, 0}));
  EXPECT_EQ(seen, (std::vector<float>{4, 7}));
}

TEST(Devices, a_lost_device_is_an_error_and_a_later_run_works) {
  Fixture f(false);
  f.graph.add_output(*f.builder.op("Relu", {f.x}).value());
  f.device->lost = true;
  EXPECT_THROW(f.run({1, 2, 3, 4}), Error);
  f.device->lost = false;
  EXPECT_EQ(f.run({1, -2, 3, 4}), (std::vector<float>{1, 0, 3, 4}));
}

}  // namespace
}  // namespace minnow
