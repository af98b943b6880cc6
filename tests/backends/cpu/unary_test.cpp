// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/unary.h"

#include <functional>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

struct UnaryRow {
  Unary kind;
  float a, b;
  std::function<double(double, double, double)> f;
  double low = -200, high = 200;
  bool cancels = false;  // near some arguments the result is a small difference: errors count against max(|x|, 1)
};
double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const UnaryRow kUnaryRows[] = {
    {Unary::copy, 0, 0, [](double x, double, double) { return x; }},
    {Unary::relu, 0, 0, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {Unary::clip, -1, 6, clamp},
    {Unary::leaky_relu, 0.1f, 0, [](double x, double a, double) { return x < 0 ? a * x : x; }},
    {Unary::hard_sigmoid, 0.2f, 0.5f, [](double x, double a, double b) { return clamp(a * x + b, 0, 1); }, -200, 200, true},
    {Unary::hard_swish, 0, 0, [](double x, double, double) { return x * clamp(x / 6 + 0.5, 0, 1); }, -200, 200, true},
    {Unary::sigmoid, 0, 0, [](double x, double, double) { return sigmoid(x); }},
    {Unary::tanh, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {Unary::swish, 1.5f, 0, [](double x, double a, double) { return x * sigmoid(a * x); }, -200, 200, true},
    {Unary::gelu, 0, 0, [](double x, double, double) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, -200, 200, true},
    {Unary::gelu_tanh, 0, 0,
     [](double x, double, double) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, -200, 200, true},
    {Unary::elu, 1.3f, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }},
    {Unary::selu, 1.6f, 1.05f, [](double x, double a, double b) { return b * (x < 0 ? a * std::expm1(x) : x); }},
    {Unary::celu, 2, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x / a) : x; }},
    {Unary::softplus, 0, 0, [](double x, double, double) { return softplus(x); }},
    {Unary::softsign, 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {Unary::mish, 0, 0, [](double x, double, double) { return x * std::tanh(softplus(x)); }, -200, 200, true},
    {Unary::thresholded_relu, 0.7f, 0, [](double x, double a, double) { return x > a ? x : 0; }},
    {Unary::neg, 0, 0, [](double x, double, double) { return -x; }},
    {Unary::abs, 0, 0, [](double x, double, double) { return std::fabs(x); }},
    {Unary::sqrt, 0, 0, [](double x, double, double) { return std::sqrt(x); }, 0},
    {Unary::reciprocal, 0, 0, [](double x, double, double) { return 1 / x; }, 0.001},
    {Unary::exp, 0, 0, [](double x, double, double) { return std::exp(x); }, -100, 88},
    {Unary::log, 0, 0, [](double x, double, double) { return std::log(x); }, 1e-30},
    {Unary::erf, 0, 0, [](double x, double, double) { return std::erf(x); }},
    {Unary::floor, 0, 0, [](double x, double, double) { return std::floor(x); }},
    {Unary::ceil, 0, 0, [](double x, double, double) { return std::ceil(x); }},
    {Unary::round, 0, 0, [](double x, double, double) { return std::nearbyint(x); }},
    {Unary::sign, 0, 0, [](double x, double, double) { return double((x > 0) - (x < 0)); }},
    {Unary::sin, 0, 0, [](double x, double, double) { return std::sin(x); }, -1e5, 1e5, true},
    {Unary::cos, 0, 0, [](double x, double, double) { return std::cos(x); }, -1e5, 1e5, true},
    {Unary::atan, 0, 0, [](double x, double, double) { return std::atan(x); }},
    {Unary::scale, 3, -1, [](double x, double a, double b) { return a * x + b; }, -200, 200, true},
};

class UnaryTest : public EveryIsa {};

TEST_P(UnaryTest, agrees_with_the_c_library) {
  const UnaryKernels& unary = *kernels_for(GetParam()).unary;
  ASSERT_EQ(std::size(kUnaryRows), static_cast<size_t>(Unary::count));
  std::mt19937 generator(1);
  for (const UnaryRow& row : kUnaryRows) {
    SCOPED_TRACE(static_cast<int>(row.kind));
    for (double width : {1.0, 0.02}) {  // the whole range, and close to zero
      std::uniform_real_distribution<float> uniform(float(row.low * width), float(row.high * width));
      std::vector<float> x(4099);
      for (float& value : x) value = uniform(generator);
      std::vector<float> y(x.size() + 1, 42);
      unary[row.kind](x.data(), y.data(), x.size(), row.a, row.b);
      EXPECT_EQ(y.back(), 42);
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = row.f(x[i], row.a, row.b);
        const double scale =
            std::max({std::fabs(want), row.cancels ? std::max(1.0, row.high > 1e4 ? 0.0 : std::fabs(double(x[i]))) : 0, 1e-30});
        ASSERT_NEAR(y[i], want, 8e-7 * scale) << "x = " << x[i];
      }
    }
  }
}

// Quantized networks amplify a last digit that differs: every machine should divide as IEEE 754 does, also where it has estimates alone.
TEST_P(UnaryTest, quotients_are_rounded_correctly) {
  const UnaryKernels& unary = *kernels_for(GetParam()).unary;
  std::mt19937 generator(2);
  std::uniform_real_distribution<float> uniform(-8, 8);
  std::vector<float> x(4099);
  for (float& value : x) value = uniform(generator);
  std::vector<float> y(x.size());
  unary[Unary::softsign](x.data(), y.data(), x.size(), 0, 0);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] / (1 + std::fabs(x[i]))) << "x = " << x[i];
  // The exponential adds to the error: 0.64 of the results are the nearest numbers, with quotients that were one unit off 0.53.
  unary[Unary::sigmoid](x.data(), y.data(), x.size(), 0, 0);
  size_t nearest = 0;
  for (size_t i = 0; i < x.size(); ++i) nearest += y[i] == static_cast<float>(sigmoid(x[i]));
  EXPECT_GT(nearest, x.size() * 3 / 5);
}

TEST_P(UnaryTest, in_place_and_of_every_length) {
  const UnaryKernels& unary = *kernels_for(GetParam()).unary;
  const std::vector<float> x = random_floats(40, 3);
  for (size_t count = 0; count <= x.size(); ++count) {
    std::vector<float> y = x;
    unary[Unary::neg](y.data(), y.data(), count, 0, 0);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], i < count ? -x[i] : x[i]);
  }
}

TEST_P(UnaryTest, special_values) {
  const UnaryKernels& unary = *kernels_for(GetParam()).unary;
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto at = [&](Unary kind, float x, float a = 1, float b = 1) {
    float y;
    unary[kind](&x, &y, 1, a, b);
    return y;
  };
  for (const UnaryRow& row : kUnaryRows)
    EXPECT_EQ(std::isnan(at(row.kind, nan, row.a, row.b)), row.kind != Unary::thresholded_relu) << static_cast<int>(row.kind);
  EXPECT_TRUE(std::isnan(at(Unary::gelu, -infinity)));
  EXPECT_EQ(at(Unary::gelu, infinity), infinity);
  EXPECT_EQ(at(Unary::gelu, 3e38f), 3e38f);
  for (Unary kind : {Unary::sin, Unary::tanh, Unary::erf, Unary::atan})
    EXPECT_TRUE(std::signbit(at(kind, -0.0f))) << static_cast<int>(kind);
  EXPECT_EQ(at(Unary::exp, infinity), infinity);
  EXPECT_EQ(at(Unary::exp, 1000), infinity);
  EXPECT_EQ(at(Unary::exp, -infinity), 0);
  EXPECT_EQ(at(Unary::sigmoid, infinity), 1);
  EXPECT_EQ(at(Unary::sigmoid, -infinity), 0);
  EXPECT_EQ(at(Unary::tanh, infinity), 1);
  EXPECT_EQ(at(Unary::tanh, -infinity), -1);
  EXPECT_EQ(at(Unary::erf, -infinity), -1);
  EXPECT_EQ(at(Unary::log, 0), -infinity);
  EXPECT_EQ(at(Unary::log, infinity), infinity);
  EXPECT_TRUE(std::isnan(at(Unary::log, -1)));
  EXPECT_EQ(at(Unary::softplus, infinity), infinity);
  EXPECT_EQ(at(Unary::softplus, -infinity), 0);
  EXPECT_EQ(at(Unary::elu, -infinity), -1);
  EXPECT_TRUE(std::isnan(at(Unary::sin, infinity)));
  EXPECT_TRUE(std::isnan(at(Unary::sqrt, -1)));
  EXPECT_EQ(at(Unary::sqrt, infinity), infinity);
  EXPECT_TRUE(std::isnan(at(Unary::sqrt, -infinity)));
}

MINNOW_EVERY_ISA(UnaryTest);

}  // namespace
}  // namespace minnow::cpu
