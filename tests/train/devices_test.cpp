// SPDX-License-Identifier: Apache-2.0
// Training steps in scopes of devices follow the processor's.
#include <gtest/gtest.h>
#include <minnow/train.h>

#include "runtime/backends.h"
#include "support/random.h"

namespace minnow {
namespace {

using test::normal_tensor;

/// LeNet-5 with ReLU and a softmax loss over 10 classes.
struct LeNet {
  Var c1 = expr::trainable(normal_tensor({6, 1, 5, 5}, 1, 0.2f), "c1"), b1 = expr::trainable(Tensor(DType::f32, {6}), "b1"),
      c2 = expr::trainable(normal_tensor({16, 6, 5, 5}, 2, 0.08f), "c2"), b2 = expr::trainable(Tensor(DType::f32, {16}), "b2"),
      w1 = expr::trainable(normal_tensor({256, 120}, 3, 0.06f), "w1"), w2 = expr::trainable(normal_tensor({120, 84}, 4, 0.09f), "w2"),
      w3 = expr::trainable(normal_tensor({84, 10}, 5, 0.1f), "w3");
  std::vector<std::pair<std::string, Var>> parameters() const {
    return {{"c1", c1}, {"b1", b1}, {"c2", c2}, {"b2", b2}, {"w1", w1}, {"w2", w2}, {"w3", w3}};
  }
  Vars loss(const Vars& batch) const {
    const expr::Attributes pool = {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}};
    const Var a = expr::op("MaxPool", {expr::relu(expr::op("Conv", {batch[0], c1, b1}))}, pool);
    const Var b = expr::op("MaxPool", {expr::relu(expr::op("Conv", {a, c2, b2}))}, pool);
    const Var hidden = expr::relu(expr::matmul(expr::relu(expr::matmul(expr::op("Flatten", {b}), w1)), w2));
    return {expr::op("SoftmaxCrossEntropyLoss", {expr::matmul(hidden, w3), batch[1]})};
  }
};

class TrainingOnDevice : public testing::TestWithParam<std::string> {};

TEST_P(TrainingOnDevice, steps_of_lenet_equal_the_processors) {
  try {
    make_backend(GetParam(), {});
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  SessionOptions options;
  options.backends = {GetParam()};
  const Tensor x = normal_tensor({8, 1, 28, 28}, 7, 1);
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < 8; ++i) classes.push_back(i * 3 % 10);
  const Tensor y = Tensor::of_i64({8}, classes);
  for (const char* name : {"sgd", "adamw"}) {
    const LeNet one, other;
    const Optimizer::Config config{.name = name, .settings = {{"lr", 0.01}}};
    TrainingStep processor([&](const Vars& batch) { return one.loss(batch); }, one.parameters(), Optimizer::create(config));
    const expr::Scope scope(options);
    TrainingStep device([&](const Vars& batch) { return other.loss(batch); }, other.parameters(), Optimizer::create(config));
    for (int i = 0; i < 4; ++i) {
      const float expected = [&] {
        const expr::Scope on_processor{SessionOptions()};
        return processor({x, y})[0].data<float>()[0];
      }();
      ASSERT_NEAR(device({x, y})[0].data<float>()[0], expected, 1e-4) << name << ", step " << i;
    }
    const auto ones = one.parameters(), others = other.parameters();
    for (size_t p = 0; p < ones.size(); ++p) {
      const Tensor a = ones[p].second.tensor(), b = others[p].second.tensor();
      for (int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], 2e-4) << name << " " << ones[p].first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, TrainingOnDevice, testing::Values("cuda", "opencl"));

}  // namespace
}  // namespace minnow
