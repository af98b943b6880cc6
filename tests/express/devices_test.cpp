// SPDX-License-Identifier: Apache-2.0
// Expressions in scopes of devices give the processor's results.
#include <gtest/gtest.h>
#include <minnow/express.h>

#include <random>
#include <thread>

#include "runtime/backends.h"

namespace minnow {
namespace {

Tensor random(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 0.5f);
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.writable().data<float>()[i] = normal(generator);
  return tensor;
}

class ExpressOnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      make_backend(GetParam(), {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    options.backends = {GetParam()};
  }
  SessionOptions options;
};

// Values, and gradients, of a convolution, a product and reductions.
std::vector<Tensor> compute(int64_t n, int64_t size) {
  const Var x = random({n, 3, size, size}, 1), w = expr::trainable(random({8, 3, 3, 3}, 2), "w"),
            v = expr::trainable(random({8, 4}, 3), "v");
  const Var seen = expr::relu(expr::op("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}}));
  const Var pooled = expr::op("Flatten", {expr::op("GlobalAveragePool", {seen})});
  const Var y = expr::op("Softmax", {expr::matmul(pooled, v)});
  std::vector<Tensor> results = {y.tensor()};
  for (const Var& gradient : expr::gradients(expr::reduce_mean(y * y), {w, v})) results.push_back(gradient.tensor());
  results.push_back((Var(random({3}, 4)) + Var(random({3}, 5))).tensor());  // so few elements are computed at once
  return results;
}

void expect_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].shape(), b[k].shape());
    for (int64_t i = 0; i < a[k].elements(); ++i) ASSERT_NEAR(a[k].data<float>()[i], b[k].data<float>()[i], 1e-5) << k << " " << i;
  }
}

TEST_P(ExpressOnDevice, values_and_gradients_are_the_processors) {
  for (const auto& [n, size] : {std::pair(1, 1), {2, 7}, {3, 16}}) {
    const std::vector<Tensor> expected = compute(n, size);
    const expr::Scope scope(options);
    expect_close(compute(n, size), expected);
  }
}

TEST_P(ExpressOnDevice, threads_have_queues_of_their_own) {
  const std::vector<Tensor> expected = compute(2, 9);
  std::vector<std::vector<Tensor>> found(3);
  std::vector<std::thread> threads;
  for (auto& results : found)
    threads.emplace_back([&results, this] {
      const expr::Scope scope(options);
      for (int i = 0; i < 3; ++i) results = compute(2, 9);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& results : found) expect_close(results, expected);
}

INSTANTIATE_TEST_SUITE_P(Drivers, ExpressOnDevice, testing::Values("cuda", "opencl"));

}  // namespace
}  // namespace minnow
