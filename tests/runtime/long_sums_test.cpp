// SPDX-License-Identifier: Apache-2.0
// Sums of millions of f32 numbers that are alike: one after the other they would lose most of their digits, and stand still at 2^24.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>

#include "support/one_node.h"

namespace minnow::test {
namespace {

Tensor filled(const Shape& shape, float value) {
  Tensor tensor(DType::f32, shape);
  std::fill_n(tensor.writable().data<float>(), shape.elements(), value);
  return tensor;
}
// Numbers of [0.5, 1.5).
Tensor spread(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  float* out = tensor.writable().data<float>();
  uint32_t state = 1;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    state = state * 1664525 + 1013904223;
    out[i] = 0.5f + static_cast<float>(state >> 8) * 0x1p-24f;
  }
  return tensor;
}
double at(const Tensor& tensor, int64_t i) { return static_cast<double>(tensor.data<float>()[i]); }
Tensor axes(std::vector<int64_t> values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }

// Every element of the result, but for what rounding the factors themselves does.
void expect_all(const OneNode& node, double expected, double tolerance = 3e-5) {
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.threads = threads;
    const Tensor y = Session(node.model(), options).run(node.given())[0];
    ASSERT_GT(y.elements(), 0);
    double worst = 0;
    for (int64_t i = 0; i < y.elements(); ++i) worst = std::max(worst, std::fabs(at(y, i) / expected - 1));
    EXPECT_LT(worst, tolerance) << node.op << " " << at(y, 0) << " where " << expected << " is right";
  }
}

constexpr float kTenth = 0.1f;
constexpr double kSquare = static_cast<double>(kTenth) * static_cast<double>(kTenth);

TEST(LongSums, products_of_vectors_and_matrices) {
  constexpr int64_t kLong = 20'000'000;
  const Tensor x = filled({kLong}, kTenth);
  expect_all({"MatMul", {x, x}}, kLong * kSquare);
  const Tensor ones = filled({int64_t{1} << 26}, 1);
  expect_all({"MatMul", {ones, ones}}, 0x1p26, 1e-12);
  expect_all({"MatMul", {filled({3, 2'000'000}, kTenth), filled({2'000'000}, kTenth)}}, 2e6 * kSquare);
  for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1}}) {
    expect_all({"MatMul", {filled({3, 2'000'000}, kTenth), filled({2'000'000, 5}, kTenth)}, {}, constants}, 2e6 * kSquare);
    expect_all({"MatMul", {filled({70, 200'000}, kTenth), filled({200'000, 40}, kTenth)}, {}, constants}, 2e5 * kSquare, 2e-4);
    expect_all({"Gemm", {filled({100, 300'000}, kTenth), filled({5, 300'000}, kTenth)}, {{"transB", int64_t{1}}}, constants}, 3e5 * kSquare,
               1e-4);
  }
}

TEST(LongSums, products_are_right_where_numbers_differ) {
  constexpr int64_t kLong = 3'000'000;
  const Tensor a = spread({2, kLong}), b = spread({kLong});
  double expected[2] = {};
  for (int64_t i = 0; i < 2 * kLong; ++i) expected[i / kLong] += at(a, i) * at(b, i % kLong);
  const OneNode node{"MatMul", {a, b}};
  const Tensor y = Session(node.model(), {}).run(node.given())[0];
  for (int64_t i = 0; i < 2; ++i) EXPECT_NEAR(at(y, i) / expected[i], 1, 2e-6);
}

TEST(LongSums, convolutions_of_many_channels_or_taps) {
  for (const std::vector<size_t>& constants : {std::vector<size_t>{}, {1}}) {
    expect_all({"Conv", {filled({1, 200'000, 2, 3}, kTenth), filled({3, 200'000, 1, 1}, kTenth)}, {}, constants}, 2e5 * kSquare);
    expect_all({"Conv", {filled({1, 1, 400, 402}, kTenth), filled({4, 1, 400, 400}, kTenth)}, {}, constants}, 160'000 * kSquare);
    expect_all({"Conv", {filled({1, 40'001, 5, 5}, kTenth), filled({8, 40'001, 3, 3}, kTenth)}, {}, constants}, 9 * 40'001 * kSquare);
    expect_all({"Conv", {filled({1, 20'000, 5, 6}, kTenth), filled({40, 20'000, 3, 3}, kTenth)}, {}, constants}, 9 * 20'000 * kSquare,
               5e-4);  // by Winograd's form
  }
}

TEST(LongSums, reductions) {
  constexpr int64_t kLong = 20'000'000;
  const Tensor x = filled({kLong}, kTenth);
  expect_all({"ReduceSum", {x}}, kLong * static_cast<double>(kTenth));
  expect_all({"ReduceMean", {x}}, kTenth);
  expect_all({"ReduceL1", {x}}, kLong * static_cast<double>(kTenth));
  expect_all({"ReduceL2", {x}}, std::sqrt(kLong * kSquare));
  expect_all({"ReduceSumSquare", {x}}, kLong * kSquare);
  expect_all({"ReduceMean", {filled({5'000'000, 3}, kTenth), axes({0})}, {}, {1}}, kTenth);
  expect_all({"ReduceSum", {filled({40, 300'000, 2}, kTenth), axes({1})}, {}, {1}}, 3e5 * static_cast<double>(kTenth));
  expect_all({"ReduceSum", {filled({2, 30'000, 300}, kTenth), axes({1})}, {}, {1}}, 3e4 * static_cast<double>(kTenth));
  expect_all({"GlobalAveragePool", {filled({1, 2, 3000, 3000}, kTenth)}}, kTenth);
  expect_all({"AveragePool", {filled({1, 1, 3000, 3000}, kTenth)}, {{"kernel_shape", Ints{3000, 3000}}}}, kTenth);
  expect_all({"LpNormalization", {filled({1, kLong}, kTenth)}, {{"axis", int64_t{1}}}}, 1 / std::sqrt(static_cast<double>(kLong)));
}

TEST(LongSums, softmax_and_norms) {
  constexpr int64_t kLong = 10'000'000;
  expect_all({"Softmax", {filled({1, kLong}, 3)}}, 1e-7);
  expect_all({"Softmax", {filled({2'000'000, 9}, 3)}, {{"axis", int64_t{0}}}}, 5e-7);
  expect_all({"LogSoftmax", {filled({1, kLong}, 3)}}, -std::log(1e7));
  // Half of the numbers are 1.1, half 0.9: the mean is 1, the deviation 0.1.
  Tensor x = filled({1, 1, 2, kLong / 2}, 1.1f);
  for (int64_t i = 0; i < kLong; i += 2) x.writable().data<float>()[i] = 0.9f;
  const Tensor one = filled({1}, 1), zero = filled({1}, 0);
  const auto deviates = [](const OneNode& node) {
    const Tensor y = Session(node.model(), {}).run(node.given())[0];
    EXPECT_NEAR(at(y, 0), -1, 2e-3) << node.op;  // 1.1 - 1 in f32, and epsilon
    EXPECT_NEAR(at(y, 1), 1, 2e-3) << node.op;
    EXPECT_NEAR(at(y, kLong - 1), 1, 2e-3) << node.op;
  };
  deviates({"InstanceNormalization", {x, one, zero}});
  deviates({"GroupNormalization", {x, one, zero}, {{"num_groups", int64_t{1}}}});
  const Tensor scale = filled({kLong}, 1);
  const Tensor flat(DType::f32, {1, kLong}, x.data(), nullptr);
  deviates({"LayerNormalization", {flat, scale}});
  expect_all({"RMSNormalization", {filled({1, kLong}, kTenth), scale}}, 1, 1e-3);
}

}  // namespace
}  // namespace minnow::test
