// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/functions32.h"

#include <cstring>
#include <functional>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

/// The distance in units in the last place of the float nearest to `want`.
double ulps_of_float(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  const float nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  return std::fabs((static_cast<double>(got) - want) / std::ldexp(1.0, std::max(exponent - 24, -149)));
}

struct MoreUnaryRow {
  MoreUnary kind;
  double (*f)(double);
  double low, high, most;  // most: units in the last place
};
const MoreUnaryRow kMoreUnaryRows[] = {
    {MoreUnary::exp2, std::exp2, -149, 127.9, 1},     {MoreUnary::expm1, std::expm1, -20, 88.7, 1.5},
    {MoreUnary::log2, std::log2, 0, 3e38, 1.1},       {MoreUnary::log10, std::log10, 0, 3e38, 1.1},
    {MoreUnary::log1p, std::log1p, -0.9999, 3e38, 1}, {MoreUnary::tan, std::tan, -1e5, 1e5, 2},
    {MoreUnary::arcsin, std::asin, -1, 1, 1.5},       {MoreUnary::arccos, std::acos, -1, 1, 1.5},
    {MoreUnary::arctan, std::atan, -1e10, 1e10, 2},   {MoreUnary::sinh, std::sinh, -89.4, 89.4, 2.5},
    {MoreUnary::cosh, std::cosh, -89.4, 89.4, 2},     {MoreUnary::arcsinh, std::asinh, -3e38, 3e38, 2},
    {MoreUnary::arccosh, std::acosh, 1, 3e38, 2},     {MoreUnary::arctanh, std::atanh, -0.99999, 0.99999, 2},
    {MoreUnary::cbrt, std::cbrt, -3e38, 3e38, 1},     {MoreUnary::trunc, std::trunc, -3e38, 3e38, 0.5},
};

class Functions32Test : public EveryIsa {
 protected:
  void SetUp() override {
    if (!functions_.unary) GTEST_SKIP() << "functions of doubles serve";
  }
  Unary32Function function(MoreUnary kind) const { return functions_.unary[static_cast<size_t>(kind)]; }
  Binary32Function function(Binary32 kind) const { return functions_.binary[static_cast<size_t>(kind)]; }

 private:
  const Functions32Kernels functions_ = *kernels_for(GetParam()).functions32;
};

TEST_P(Functions32Test, agrees_with_the_c_library_in_double) {
  ASSERT_EQ(std::size(kMoreUnaryRows), static_cast<size_t>(MoreUnary::count));
  std::mt19937_64 generator(1);
  for (const MoreUnaryRow& row : kMoreUnaryRows) {
    SCOPED_TRACE(static_cast<int>(row.kind));
    double worst = 0;
    // The whole range, what is close to 0 and to 1, and numbers of every magnitude.
    for (double width : {1.0, 1e-1, 1e-3, 0.0}) {
      std::vector<float> x(50021);
      std::uniform_real_distribution<double> uniform(row.low, row.high), exponent(-60, std::log2(row.high)), near(0.5, 2);
      for (float& value : x) {
        const double drawn = width > 0 ? uniform(generator) * width : generator() % 2 ? near(generator) : std::exp2(exponent(generator));
        value = static_cast<float>(std::min(drawn, row.high));
      }
      std::vector<float> y(x.size() + 1, 42);
      function(row.kind)(x.data(), x.size(), y.data());
      EXPECT_EQ(y.back(), 42);
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = ulps_of_float(y[i], row.f(x[i]));
        worst = std::max(worst, error);
        ASSERT_LE(error, row.most) << "x = " << x[i];
      }
    }
    RecordProperty("ulps_" + std::to_string(static_cast<int>(row.kind)), std::to_string(worst));
  }
}

TEST_P(Functions32Test, edges_are_those_of_the_c_library) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float edges[] = {0,
                         infinity,
                         NAN,
                         1e-45f,
                         3e-45f,
                         1e-40f,
                         1.17549435e-38f,
                         3.4e38f,
                         1,
                         2,
                         0.5f,
                         0.25f,
                         1.5f,
                         3.14159265f,
                         1.57079637f,
                         29999,
                         30001,
                         1e6f,
                         1e22f,
                         88.72f,
                         88.73f,
                         89.41f,
                         89.42f,
                         90,
                         103.9f,
                         104,
                         127.9f,
                         128,
                         126,
                         149,
                         150,
                         151,
                         160,
                         1000,
                         1e-10f,
                         1e-4f,
                         1e-20f,
                         0x1p-13f,
                         0x1.fffffep-1f,
                         16384,
                         16385};
  for (const MoreUnaryRow& row : kMoreUnaryRows) {
    SCOPED_TRACE(static_cast<int>(row.kind));
    for (const float edge : edges)
      for (const float x : {edge, -edge})
        for (const size_t count : {size_t{1}, size_t{7}, size_t{33}}) {
          std::vector<float> in(count, x), out(count + 1, 42);
          function(row.kind)(in.data(), count, out.data());
          const double want = row.f(x);
          for (size_t i = 0; i < count; ++i) {
            ASSERT_LE(ulps_of_float(out[i], want), row.most) << "x = " << x << ": " << out[i];
            if (want == 0) {
              ASSERT_EQ(std::signbit(out[i]), std::signbit(want)) << "x = " << x;
            }
          }
          ASSERT_EQ(out[count], 42);
        }
  }
}

TEST_P(Functions32Test, hyperbolic_tangents_agree_with_the_c_library_in_double) {
  const Unary32Function tanh = kernels_for(GetParam()).functions32->tanh;
  if (!tanh) GTEST_SKIP() << "the engine's serves";
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> exponent(-40, 6);
  std::vector<float> x = {0, std::numeric_limits<float>::infinity(), NAN, 1e-45f, 1e-38f, 0.0625f, 1, 8.99f, 9.02f, 15, 16, 3.4e38f};
  while (x.size() < 200003) x.push_back(std::exp2(exponent(generator)));
  for (size_t i = 0; i < x.size(); i += 2) x.push_back(-x[i]);
  std::vector<float> y(x.size() + 1, 42);
  tanh(x.data(), x.size(), y.data());
  EXPECT_EQ(y.back(), 42);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(ulps_of_float(y[i], std::tanh(static_cast<double>(x[i]))), 1.1) << x[i];
    ASSERT_EQ(std::signbit(y[i]), std::signbit(x[i])) << x[i];
  }
}

TEST_P(Functions32Test, powers_lengths_and_angles_agree_with_the_c_library) {
  std::mt19937_64 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> edges = {
      0, std::numeric_limits<float>::infinity(), NAN, 1e-45f, 1e-40f, 0.5f, 1, 2, 3, 4, 2.5f, 16777215, 16777216, 1e30f, 3.4e38f};
  for (size_t i = 0, n = edges.size(); i < n; ++i) edges.push_back(-edges[i]);
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    std::vector<float> a, b;
    if (kind == 5)
      for (const float p : edges)
        for (const float q : edges) a.push_back(p), b.push_back(q);
    while (kind < 5 && a.size() < 50021) {
      float p = kind == 0 ? std::exp2(normal(generator) * 30) : std::fabs(normal(generator)),
            q = normal(generator) * (kind == 1 ? 30.0f : 3.0f);
      if (kind == 2) p = 1 + normal(generator) * 1e-6f, q = normal(generator) * 1e7f;
      if (kind == 3) p = -p, q = std::round(q);
      if (kind == 4) p = generator() % 2 ? p : -p;
      a.push_back(p), b.push_back(q);
    }
    const struct {
      Binary32 kind;
      double (*f)(double, double);
      double most;
    } rows[] = {{Binary32::power, std::pow, 0.6}, {Binary32::length, std::hypot, 0.51}, {Binary32::angle, std::atan2, 2}};
    for (const auto& row : rows) {
      std::vector<float> y(a.size() + 1, 42);
      function(row.kind)(a.data(), b.data(), a.size(), y.data());
      EXPECT_EQ(y.back(), 42);
      for (size_t i = 0; i < a.size(); ++i) {
        const double want = row.f(a[i], b[i]);
        ASSERT_LE(ulps_of_float(y[i], want), row.most) << a[i] << " " << b[i] << ": " << y[i];
        if (want == 0) {
          ASSERT_EQ(std::signbit(y[i]), std::signbit(want)) << a[i] << " " << b[i];
        }
      }
    }
  }
}

MINNOW_EVERY_ISA(Functions32Test);

}  // namespace
}  // namespace minnow::cpu
