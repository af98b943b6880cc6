// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of f64 functions: rows beside the C library in long double.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/ulps.h"

namespace minnow::cpu {

struct Unary64Row {
  std::function<long double(long double)> f;
  std::function<double(double)> edges;  // the C library's
  double low, high;
  double most = 1;  // units in the last place
};
#define MINNOW_UNARY64_ROW(function, ...)                                                        \
  {                                                                                              \
    [](long double x) { return function(x); }, [](double x) { return function(x); }, __VA_ARGS__ \
  }
using Unary64Loop = void (*)(const double* x, size_t count, double* y);

/// Over the whole range of each function, near 0 and 1 and of every magnitude.
inline void expect_close_to_long_double(std::span<const Unary64Row> rows, const Unary64Loop* functions) {
  std::mt19937_64 generator(1);
  for (size_t k = 0; k < rows.size(); ++k) {
    const Unary64Row& row = rows[k];
    SCOPED_TRACE(k);
    double worst = 0;
    // The whole range, what is close to 0 and to 1, and numbers of every magnitude.
    for (double width : {1.0, 1e-2, 1e-5, 0.0}) {
      std::vector<double> x(10007);
      std::uniform_real_distribution<double> uniform(row.low, row.high), exponent(-60, std::log2(row.high)), near(0.5, 2);
      for (double& value : x) {
        value = width > 0 ? uniform(generator) * width : generator() % 2 ? near(generator) : std::exp2(exponent(generator));
        if (value > row.high) value = row.high;
      }
      std::vector<double> y(x.size() + 1, 42);
      functions[k](x.data(), x.size(), y.data());
      EXPECT_EQ(y.back(), 42);
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(y[i], row.f(x[i]));
        worst = std::max(worst, error);
        ASSERT_LE(error, row.most) << "x = " << x[i];
      }
    }
    testing::Test::RecordProperty("ulps_" + std::to_string(k), std::to_string(worst));
  }
}

inline void expect_the_c_librarys_edges(std::span<const Unary64Row> rows, const Unary64Loop* functions) {
  const double infinity = std::numeric_limits<double>::infinity(), least = std::numeric_limits<double>::denorm_min(),
               smallest = std::numeric_limits<double>::min(), largest = std::numeric_limits<double>::max();
  const double edges[] = {0.0,
                          -0.0,
                          infinity,
                          -infinity,
                          std::nan(""),
                          least,
                          -least,
                          3 * least,
                          smallest,
                          -smallest,
                          largest,
                          -largest,
                          1,
                          -1,
                          2,
                          -2,
                          0.5,
                          -0.5,
                          1.5,
                          2.5,
                          M_PI,
                          -M_PI,
                          M_PI / 2,
                          100 * M_PI,
                          1e6,
                          1000001,
                          1e22,
                          709.78,
                          710.4,
                          711,
                          -745.1,
                          -746,
                          -708.5,
                          1023.5,
                          1024,
                          -1074,
                          -1075,
                          -1080,
                          1e-10,
                          -1e-10,
                          1e-300,
                          0x1.fffffffffffffp-1,
                          1e17,
                          4503599627370497.5};
  for (size_t k = 0; k < rows.size(); ++k) {
    const Unary64Row& row = rows[k];
    SCOPED_TRACE(k);
    for (size_t count = 1; count <= 9; count += 2) {  // with vectors and without
      for (double x : edges) {
        std::vector<double> in(count, x), out(count + 1, 42);
        functions[k](in.data(), count, out.data());
        EXPECT_EQ(out.back(), 42);
        for (size_t i = 0; i < count; ++i) {
          const double want = row.edges(x);
          ASSERT_LE(ulps(out[i], want), 2) << "x = " << x << ", got " << out[i] << ", want " << want;
          if (!std::isnan(want)) {
            ASSERT_EQ(std::signbit(out[i]), std::signbit(want)) << "x = " << x;
          }
        }
        functions[k](in.data(), count, in.data());  // in place
        EXPECT_EQ(std::memcmp(in.data(), out.data(), count * sizeof(double)), 0);
      }
    }
  }
}

}  // namespace minnow::cpu
