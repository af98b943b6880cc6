// SPDX-License-Identifier: Apache-2.0
// Means and standard deviations compared with those of the distributions; the generator of bits has its own test.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double deviation(std::vector<double> values) {
  const double middle = mean(values);
  for (double& value : values) value = (value - middle) * (value - middle);
  return std::sqrt(mean(values));
}

TEST(RandomUniform, is_the_documented_stream) {
  const auto y = run_operator("RandomUniform", {}, {{"shape", Ints{3}}, {"seed", 1.0f}, {"dtype", int64_t{11}}});
  const uint32_t key = 0x3f800000;  // the bits of 1.0f
  std::vector<double> expected;
  for (uint32_t i = 0; i < 2; ++i) {
    const Philox::Block block = Philox::block({i, 0, 0, 0}, {key, 0});
    for (size_t half : {0, 2})
      expected.push_back(static_cast<double>((block[half] | static_cast<uint64_t>(block[half + 1]) << 32) >> 11) / 9007199254740992.0);
  }
  expected.pop_back();
  EXPECT_EQ(numbers(y[0]), expected);
}

TEST(KeyedUniform, is_the_documented_stream) {
  const Tensor key = tensor(DType::u32, {2}, {7, 9});
  const auto values = numbers(run_operator("minnow.KeyedUniform", {key, Tensor::of_i64({2}, Ints{3, 3})})[0]);
  ASSERT_EQ(values.size(), 9u);
  for (uint32_t i = 0; i < 9; ++i)
    EXPECT_EQ(values[i], static_cast<double>(Philox::block({i / 4, 0, 0, 0}, {7, 9})[i % 4] >> 8) / 16777216.0) << i;
}

TEST(KeyedUniform, keys_make_independent_numbers) {
  const auto draw = [](double a, double b) {
    return numbers(run_operator("minnow.KeyedUniform", {tensor(DType::u32, {2}, {a, b}), Tensor::of_i64({1}, Ints{20000})})[0]);
  };
  const auto x = draw(1, 2), y = draw(2, 2);
  EXPECT_EQ(x, draw(1, 2));
  EXPECT_NEAR(mean(x), 0.5, 0.01);
  EXPECT_NEAR(deviation(x), 1 / std::sqrt(12), 0.01);
  double together = 0;
  for (size_t i = 0; i < x.size(); ++i) together += (x[i] - 0.5) * (y[i] - 0.5) * 12 / static_cast<double>(x.size());
  EXPECT_NEAR(together, 0, 0.03);
}

TEST(KeyedUniform, errors) {
  EXPECT_THAT(error_of("minnow.KeyedUniform", {tensor(DType::u32, {3}, {1, 2, 3}), Tensor::of_i64({1}, Ints{2})}),
              HasSubstr("two numbers"));
  EXPECT_THAT(error_of("minnow.KeyedUniform", {tensor(DType::u32, {2}, {1, 2}), Tensor::of_i64({1}, Ints{-2})}), HasSubstr("negative"));
}

TEST(RandomUniform, range_and_spread) {
  const auto values =
      numbers(run_operator("RandomUniform", {}, {{"shape", Ints{100, 100}}, {"seed", 1.0f}, {"low", -2.0f}, {"high", 4.0f}})[0]);
  for (double value : values) EXPECT_TRUE(value >= -2 && value <= 4) << value;
  EXPECT_NEAR(mean(values), 1, 0.07);
  EXPECT_NEAR(deviation(values), 6 / std::sqrt(12), 0.05);
}

TEST(RandomNormal, mean_and_spread) {
  const auto values =
      numbers(run_operator("RandomNormal", {}, {{"shape", Ints{10001}}, {"seed", 3.5f}, {"mean", 2.0f}, {"scale", 0.5f}})[0]);
  EXPECT_NEAR(mean(values), 2, 0.02);
  EXPECT_NEAR(deviation(values), 0.5, 0.01);
  size_t within = 0;
  for (double value : values) within += std::fabs(value - 2) < 0.5;
  EXPECT_NEAR(static_cast<double>(within) / 10001, 0.6827, 0.015);
}

TEST(Random, the_seed_decides) {
  for (const char* op : {"RandomNormal", "RandomUniform"}) {
    const auto draw = [&](Attributes attributes) {
      attributes.set("shape", Ints{5});
      return numbers(run_operator(op, {}, attributes)[0]);
    };
    EXPECT_EQ(draw({{"seed", 2.0f}}), draw({{"seed", 2.0f}}));
    EXPECT_NE(draw({{"seed", 2.0f}}), draw({{"seed", 3.0f}}));
    EXPECT_NE(draw({}), draw({}));
  }
}

TEST(Random, like_an_input) {
  EXPECT_EQ(run_operator("RandomNormalLike", {pattern({2, 3}, 7, DType::f16)})[0].dtype(), DType::f16);
  const Tensor y = run_operator("RandomUniformLike", {pattern({2, 3}, 7, DType::i8)}, {{"dtype", int64_t{11}}})[0];
  EXPECT_EQ(y.dtype(), DType::f64);
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_THAT(error_of("RandomUniformLike", {pattern({2, 3}, 7, DType::i8)}),
              HasSubstr("gives numbers of dtype i8, which is not possible"));
  EXPECT_THAT(error_of("RandomUniform", {}, {{"shape", Ints{-1}}}), HasSubstr("negative dimension"));
}

TEST(Bernoulli, frequencies) {
  const auto ones = numbers(
      run_operator("Bernoulli", {tensor(DType::f32, {3000}, std::vector<double>(3000, 0.3))}, {{"seed", 1.0f}, {"dtype", int64_t{9}}})[0]);
  EXPECT_NEAR(mean(ones), 0.3, 0.03);
  EXPECT_TRUE(near(run_operator("Bernoulli", {tensor(DType::f64, {4}, {0, 1, 1, 0})})[0], {4}, {0, 1, 1, 0}));
}

TEST(Multinomial, frequencies) {
  const double kNever = -std::numeric_limits<double>::infinity();
  const Tensor logits = tensor(DType::f32, {2, 3}, {std::log(0.2), std::log(0.5), std::log(0.3), kNever, 700, kNever});
  const Tensor y = run_operator("Multinomial", {logits}, {{"sample_size", int64_t{4000}}, {"seed", 1.0f}})[0];
  EXPECT_EQ(y.dtype(), DType::i32);
  double counts[2][3] = {};
  const auto values = numbers(y);
  for (size_t i = 0; i < values.size(); ++i) counts[i / 4000][static_cast<size_t>(values[i])] += 1;
  EXPECT_NEAR(counts[0][0] / 4000, 0.2, 0.03);
  EXPECT_NEAR(counts[0][1] / 4000, 0.5, 0.03);
  EXPECT_EQ(counts[1][1], 4000);
}

}  // namespace
}  // namespace minnow::test
