// SPDX-License-Identifier: Apache-2.0
// Branches on the processor and on a device at the same time: by stand-ins for both, whose kernels take a known time.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>

#include "graph/expr.h"
#include "runtime/backends.h"

namespace minnow {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kKernelTime = std::chrono::milliseconds(20);

void compute(std::string_view op, const float* x, float* y, int64_t count) {
  std::this_thread::sleep_for(kKernelTime);
  for (int64_t i = 0; i < count; ++i) y[i] = op == "Relu" ? std::max(x[i], 0.0f) : -x[i];
}

/// Its queue is a thread of its own.
class SlowDevice final : public Backend {
 public:
  SlowDevice() {
    device_.name = "slow device";
    device_.transfer_bandwidth = 1e9;
    worker_ = std::thread([this] { work(); });
  }
  ~SlowDevice() override {
    enqueue([this] { stop_ = true; });
    worker_.join();
  }
  std::string_view name() const override { return "slow device"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override;
  bool uses_host_memory() const override { return false; }
  void copy_from_host(void* to, const void* from, size_t bytes) override { finish(), std::memcpy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes) override { finish(), std::memcpy(to, from, bytes); }
  bool can_stamp() override { return true; }
  void stamp() noexcept override {
    enqueue([this] { stamps_.push_back(Clock::now()); });
  }
  std::vector<double> take_stamps() override {
    finish();
    std::vector<double> seconds;
    for (const Clock::time_point stamp : stamps_) seconds.push_back(std::chrono::duration<double>(stamp - stamps_[0]).count());
    stamps_.clear();
    return seconds;
  }
  void enqueue(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void finish() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
  }

 private:
  void work() {
    while (!stop_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      const auto task = tasks_.front();
      lock.unlock();
      task();
      lock.lock();
      tasks_.pop_front();
      changed_.notify_all();
    }
  }
  Device device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<Clock::time_point> stamps_;
  bool stop_ = false;
  std::thread worker_;
};

class SlowHost final : public Backend {
 public:
  std::string_view name() const override { return "slow host"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override;

 private:
  Device device_;
};

struct SlowKernel final : Kernel {
  SlowKernel(std::string op, SlowDevice* device) : op(std::move(op)), device(device) {}
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const int64_t count = context.outputs[0]->view.elements();
    if (!device) return compute(op, x, y, count);
    device->enqueue([=, this] { compute(op, x, y, count); });
  }
  std::string op;
  SlowDevice* device;
};
struct SlowTransfer final : Kernel {
  SlowTransfer(Backend& device, bool to_host) : device(device), to_host(to_host) {}
  void run(RunContext& context) const noexcept override {
    const TensorView& from = context.inputs[0]->view;
    to_host ? device.copy_to_host(context.out<void>(0), from.data(), from.bytes())
            : device.copy_from_host(context.out<void>(0), from.data(), from.bytes());
  }
  Backend& device;
  bool to_host;
};

Estimate estimate_slow(const NodeView&, const Device&) { return Estimate(std::chrono::duration<double>(kKernelTime).count()); }
Estimate estimate_slow_transfer(const NodeView&, const Device&) { return Estimate(1e-6); }
std::unique_ptr<Kernel> prepare_slow(PrepareContext& context) {
  return std::make_unique<SlowKernel>(std::string(context.node().op()), static_cast<SlowDevice*>(context.memory()));
}
std::unique_ptr<Kernel> prepare_slow_transfer(PrepareContext& context) {
  return std::make_unique<SlowTransfer>(*context.memory(), context.node().require<std::string>("to") == "host");
}
constexpr Scheme kDevice[] = {{"Relu", "device.relu", estimate_slow, prepare_slow},
                              {"Neg", "device.neg", estimate_slow, prepare_slow},
                              {kTransfer, "device.transfer", estimate_slow_transfer, prepare_slow_transfer}};
constexpr Scheme kHost[] = {{"Relu", "host.relu", estimate_slow, prepare_slow}, {"Neg", "host.neg", estimate_slow, prepare_slow}};
std::span<const Scheme> SlowDevice::schemes() const { return kDevice; }
std::span<const Scheme> SlowHost::schemes() const { return kHost; }

// Two branches of three nodes each, and their sum.
Model network() {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {4})));
  Expr left = x, right = x;
  for (const char* op : {"Neg", "Relu", "Neg"}) left = b.op(op, {left});
  for (const char* op : {"Relu", "Neg", "Relu"}) right = b.op(op, {right});
  graph->add_output(*(left + right).value());
  return Model::from_graph(std::move(graph));
}

class Hybrid : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    add_backend("slow device", [](const BackendOptions&) { return std::make_shared<SlowDevice>(); });
    add_backend("slow host", [](const BackendOptions&) { return std::make_shared<SlowHost>(); });
  }
  // The least time of some runs, whose results must be right.
  double seconds(const std::vector<std::string>& backends) {
    SessionOptions options;
    options.backends = backends;
    Session session(network(), options);
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      const Tensor x = Tensor::of_f32({4}, std::vector<float>{-2, 3, 0, -1});
      const Clock::time_point begin = Clock::now();
      const Tensor y = session.run({x})[0];
      best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
      for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.data<float>()[i], -std::max(-x.data<float>()[i], 0.0f));
    }
    return best;
  }
};

TEST_F(Hybrid, two_branches_take_the_time_of_one) {
  const double device = seconds({"slow device"}), host = seconds({"slow host"}), both = seconds({"slow device", "slow host"});
  EXPECT_GT(device, 0.115);
  EXPECT_GT(host, 0.115);
  EXPECT_GT(both, 0.055);
  EXPECT_LT(both, 0.75 * std::min(device, host));
}

TEST_F(Hybrid, profiles_and_traces_show_both_sides_at_once) {
  SessionOptions options;
  options.backends = {"slow device", "slow host"};
  Session session(network(), options);
  session.set_profiling(true);
  const Tensor x = Tensor::of_f32({4}, std::vector<float>{-2, 3, 0, -1});
  session.run({x});
  const PlanReport report = session.plan_report();
  double on_device = 0, beside = 0, overlap = 0;
  for (const PlanRow& a : report.rows) {
    if (a.op == kTransfer || a.op == "Add") continue;
    EXPECT_GE(a.measured_seconds, 0.0195) << a.node;
    EXPECT_LT(a.measured_seconds, 0.06) << a.node;
    (a.on_device ? on_device : beside) += a.measured_seconds;
    for (const PlanRow& b : report.rows)
      if (a.on_device && !b.on_device && b.op != "Add")
        overlap += std::max(0.0, std::min(a.start_seconds + a.measured_seconds, b.start_seconds + b.measured_seconds) -
                                     std::max(a.start_seconds, b.start_seconds));
  }
  EXPECT_GT(on_device, 0.055);
  EXPECT_GT(beside, 0.055);
  EXPECT_GT(overlap, 0.03);
  const std::string trace = chrome_trace(report);
  EXPECT_NE(trace.find("\"tid\":2"), std::string::npos);
  EXPECT_NE(trace.find("\"thread_name\""), std::string::npos);
}

}  // namespace
}  // namespace minnow
