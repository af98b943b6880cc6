// SPDX-License-Identifier: Apache-2.0
// Training steps in scopes of devices follow the processor's, and keep parameters and states on the device.
#include <gmock/gmock.h>
#include <minnow/nn.h>
#include <minnow/train.h>

#include <cmath>
#include <limits>
#include <optional>

#include "runtime/backends.h"
#include "support/random.h"
#include "support/sentence.h"

namespace minnow {
namespace {

using test::normal_tensor;
using test::sentence_of;
using testing::HasSubstr;

using Parameters = std::vector<std::pair<std::string, Var>>;

/// LeNet-5 with ReLU and a softmax loss over 10 classes.
struct LeNet {
  Var c1 = expr::trainable(normal_tensor({6, 1, 5, 5}, 1, 0.2f), "c1"), b1 = expr::trainable(Tensor(DType::f32, {6}), "b1"),
      c2 = expr::trainable(normal_tensor({16, 6, 5, 5}, 2, 0.08f), "c2"), b2 = expr::trainable(Tensor(DType::f32, {16}), "b2"),
      w1 = expr::trainable(normal_tensor({256, 120}, 3, 0.06f), "w1"), w2 = expr::trainable(normal_tensor({120, 84}, 4, 0.09f), "w2"),
      w3 = expr::trainable(normal_tensor({84, 10}, 5, 0.1f), "w3");
  Parameters parameters() const { return {{"c1", c1}, {"b1", b1}, {"c2", c2}, {"b2", b2}, {"w1", w1}, {"w2", w2}, {"w3", w3}}; }
  Vars loss(const Vars& batch) const {
    const expr::Attributes pool = {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}};
    const Var a = expr::op("MaxPool", {expr::relu(expr::op("Conv", {batch[0], c1, b1}))}, pool);
    const Var b = expr::op("MaxPool", {expr::relu(expr::op("Conv", {a, c2, b2}))}, pool);
    const Var hidden = expr::relu(expr::matmul(expr::relu(expr::matmul(expr::op("Flatten", {b}), w1)), w2));
    return {expr::op("SoftmaxCrossEntropyLoss", {expr::matmul(hidden, w3), batch[1]})};
  }
};

/// Two matrices, a buffer with the mean of what lies between them, and a second result.
struct Small {
  Var w = expr::trainable(normal_tensor({6, 16}, 1, 0.4f), "w"), v = expr::trainable(normal_tensor({16, 2}, 2, 0.4f), "v"),
      mean = Var(Tensor(DType::f32, {16})), count = Var(Tensor::scalar_i64(0));
  Parameters parameters() const { return {{"w", w}, {"v", v}}; }
  Vars loss(const Vars& batch) const {
    const Var hidden = expr::relu(expr::matmul(batch[0], w));
    nn::update_buffer(mean, nn::read_buffer(mean) * 0.9f + expr::op("ReduceMean", {hidden, Var({0})}, {{"keepdims", int64_t{0}}}) * 0.1f);
    nn::update_buffer(count, nn::read_buffer(count) + Var(Tensor::scalar_i64(1)));
    const Var y = expr::matmul(hidden, v), error = y - batch[1];
    return {expr::reduce_mean(error * error), y};
  }
  TrainingStep step(const Optimizer::Config& config) const {
    return TrainingStep([*this](const Vars& batch) { return loss(batch); }, parameters(), Optimizer::create(config));
  }
};

void expect_close(const Tensor& a, const Tensor& b, double most, const std::string& where) {
  ASSERT_EQ(a.shape(), b.shape()) << where;
  for (int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], most) << where << " at " << i;
}

class TrainingOnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      make_backend(GetParam(), {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    options_.backends = {GetParam()};
  }
  /// f() in a scope of the processor.
  template <class F>
  static auto here(F f) {
    const expr::Scope scope{SessionOptions()};
    return f();
  }
  SessionOptions options_;
  const Tensor x_ = normal_tensor({5, 6}, 7, 1), y_ = normal_tensor({5, 2}, 8, 1);
};

TEST_P(TrainingOnDevice, steps_of_lenet_equal_the_processors) {
  const Tensor x = normal_tensor({8, 1, 28, 28}, 7, 1);
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < 8; ++i) classes.push_back(i * 3 % 10);
  const Tensor y = Tensor::of_i64({8}, classes);
  for (const char* name : {"sgd", "adamw"}) {
    const LeNet one, other;
    const Optimizer::Config config{.name = name, .settings = {{"lr", 0.01}}};
    TrainingStep processor([&](const Vars& batch) { return one.loss(batch); }, one.parameters(), Optimizer::create(config));
    const expr::Scope scope(options_);
    TrainingStep device([&](const Vars& batch) { return other.loss(batch); }, other.parameters(), Optimizer::create(config));
    for (int i = 0; i < 4; ++i) {
      const float expected = here([&] { return processor({x, y})[0].data<float>()[0]; });
      ASSERT_NEAR(device({x, y})[0].data<float>()[0], expected, 1e-4) << name << ", step " << i;
    }
    EXPECT_EQ(device.device(), GetParam());
    EXPECT_EQ(processor.device(), "");
    const auto ones = one.parameters(), others = other.parameters();
    for (size_t p = 0; p < ones.size(); ++p)
      expect_close(ones[p].second.tensor(), others[p].second.tensor(), 2e-4, name + (" " + ones[p].first));
  }
}

TEST_P(TrainingOnDevice, every_rule_over_elements_updates_there) {
  std::vector<Optimizer::Config> configs;
  for (const char* name : {"sgd", "adam", "adamw", "adamax", "nadam", "radam", "yogi", "adabelief", "adan", "ademamix", "adopt", "adagrad",
                           "adadelta", "rmsprop", "rprop", "asgd", "lion", "schedule_free"})
    configs.push_back({.name = name, .settings = {{"lr", 0.01}, {"weight_decay", 0.1}}});
  configs.push_back({.name = "sgd", .settings = {{"lr", 0.01}, {"momentum", 0.9}}});
  configs.push_back({.name = "sgd", .settings = {{"lr", 0.01}, {"momentum", 0.9}, {"nesterov", true}, {"maximize", true}}});
  configs.push_back({.name = "adam", .settings = {{"lr", 0.01}, {"amsgrad", true}}, .groups = {{"v", {{"lr", 0.1}}}}});
  configs.push_back({.name = "rmsprop", .settings = {{"centered", true}, {"momentum", 0.5}}});
  configs.push_back({.name = "sgd", .clip_value = 0.05, .clip_norm = 0.1});
  configs.push_back({.name = "lamb"});  // on the host, after steps there
  for (size_t c = 0; c < configs.size(); ++c) {
    Small one, other;
    TrainingStep processor = one.step(configs[c]);
    const expr::Scope scope(options_);
    TrainingStep device = other.step(configs[c]);
    const std::string where = configs[c].name + " " + std::to_string(c);
    for (int i = 0; i < 3; ++i) {
      const Tensor expected = here([&] { return processor({x_, y_})[1].clone(); });
      const auto results = device({x_, y_});
      ASSERT_EQ(results.size(), 2u);
      expect_close(results[1], expected, 1e-4, where);
    }
    EXPECT_EQ(device.device(), configs[c].name == "lamb" ? "" : GetParam()) << where;
    EXPECT_EQ(device.why_not_on_device(), configs[c].name == "lamb" ? "optimizer \"lamb\" looks at whole tensors" : "") << where;
    expect_close(other.w.tensor(), one.w.tensor(), 1e-4, where);
    expect_close(other.v.tensor(), one.v.tensor(), 1e-4, where);
    expect_close(other.mean.tensor(), one.mean.tensor(), 1e-5, where);
    EXPECT_EQ(other.count.item(), 3) << where;
    const std::vector<NamedTensor> a = processor.optimizer().state(), b = device.optimizer().state();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].name, b[i].name);
      if (a[i].value.dtype() == DType::f32) expect_close(b[i].value, a[i].value, 1e-4, where + " " + a[i].name);
    }
    if (configs[c].clip_norm > 0) {
      EXPECT_NEAR(processor.optimizer().gradient_norm(), device.optimizer().gradient_norm(), 1e-5);
    }
  }
}

TEST_P(TrainingOnDevice, values_may_be_read_and_changed_between_steps) {
  Small one, other;
  const Optimizer::Config config{.name = "adam", .settings = {{"lr", 0.01}}};
  TrainingStep processor = one.step(config);
  const expr::Scope scope(options_);
  TrainingStep device = other.step(config);
  const auto both = [&] {
    here([&] { processor({x_, y_}); });
    device({x_, y_});
    expect_close(other.w.tensor(), one.w.tensor(), 1e-4, "w");
  };
  both();
  const Tensor before = other.v.tensor(), copy = before.clone();
  const Var expression = other.v * 1.0f;  // of the value that it has now
  both();
  expect_close(before, copy, 0, "a tensor that was read");
  for (Small* net : {&one, &other}) net->v.assign(Var(normal_tensor({16, 2}, 9, 0.4f)));
  both();
  for (Small* net : {&one, &other}) net->w.view({1}).assign(Var(Tensor(DType::f32, {16})));
  both();
  here([&] { device({normal_tensor({3, 6}, 4, 1), normal_tensor({3, 2}, 5, 1)}); });  // another batch, recorded on the host
  EXPECT_EQ(device.device(), "");
  here([&] { processor({normal_tensor({3, 6}, 4, 1), normal_tensor({3, 2}, 5, 1)}); });
  both();
  // A state goes from one to the other.
  const std::vector<NamedTensor> state = device.optimizer().state();
  processor.optimizer().set_state(state);
  device.optimizer().set_state(state);
  both();
  {
    const TrainingStep moved = std::move(device);  // and goes away, before values are read
  }
  here([&] { processor({x_, y_}); });
  EXPECT_TRUE(other.w.has_value());
  EXPECT_EQ(other.count.item(), 7);
}

TEST_P(TrainingOnDevice, numbers_that_are_not_finite_are_errors) {
  Small net;
  const expr::Scope scope(options_);
  TrainingStep step = net.step({.name = "sgd", .settings = {{"lr", 0.01}, {"momentum", 0.9}}});
  step({x_, y_});
  const Tensor w = net.w.tensor().clone();
  Tensor bad = x_.clone();
  bad.writable().data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(sentence_of([&] { step({bad, y_}); }), HasSubstr("the first value that is not finite is array 0 of the batch"));
  expect_close(net.w.tensor(), w, 0, "nothing was updated");
  step({x_, y_});
  // The root of 0 is finite, its derivative is not.
  const Var v = expr::trainable(Tensor(DType::f32, {3}), "v"), u = expr::trainable(normal_tensor({3}, 1, 1), "u");
  TrainingStep roots(
      [&](const Vars& batch) -> Vars { return {expr::reduce_sum(expr::op("Sqrt", {v * v}) * batch[0]) + expr::reduce_sum(u * u)}; },
      {{"u", u}, {"v", v}}, Optimizer::create({.name = "sgd"}));
  EXPECT_THAT(sentence_of([&] { roots({normal_tensor({3}, 2, 1)}); }), HasSubstr("the gradient of the parameter \"v\" is not"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, TrainingOnDevice, testing::Values("cuda", "opencl", "vulkan", "gles"));

}  // namespace
}  // namespace minnow
