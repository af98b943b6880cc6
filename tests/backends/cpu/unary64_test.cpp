// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/unary64.h"

#include <cstring>
#include <functional>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/ulps.h"

namespace minnow::cpu {
namespace {

struct Row {
  Unary64 kind;
  std::function<long double(long double)> f;
  std::function<double(double)> edges;  // the C library's
  double low, high;
  double most = 1;  // units in the last place
};
#define MINNOW_ROW(kind, function, ...)                                                                         \
  {                                                                                                             \
    Unary64::kind, [](long double x) { return function(x); }, [](double x) { return function(x); }, __VA_ARGS__ \
  }
const Row kRows[] = {
    MINNOW_ROW(exp, std::exp, -745, 709.7),
    MINNOW_ROW(exp2, std::exp2, -1070, 1023.9),
    MINNOW_ROW(expm1, std::expm1, -40, 709.7, 2),
    MINNOW_ROW(log, std::log, 0, 1e300),
    MINNOW_ROW(log2, std::log2, 0, 1e300),
    MINNOW_ROW(log10, std::log10, 0, 1e300),
    MINNOW_ROW(log1p, std::log1p, -0.999, 1e300),
    MINNOW_ROW(sin, std::sin, -1e7, 1e7),
    MINNOW_ROW(cos, std::cos, -1e7, 1e7),
    MINNOW_ROW(tan, std::tan, -1e7, 1e7, 2),
    MINNOW_ROW(arcsin, std::asin, -1, 1),
    MINNOW_ROW(arccos, std::acos, -1, 1),
    MINNOW_ROW(arctan, std::atan, -1e10, 1e10),
    MINNOW_ROW(sinh, std::sinh, -710, 710, 2),
    MINNOW_ROW(cosh, std::cosh, -710, 710, 2),
    MINNOW_ROW(tanh, std::tanh, -30, 30, 2.5),
    MINNOW_ROW(arcsinh, std::asinh, -1e300, 1e300, 2.5),
    MINNOW_ROW(arccosh, std::acosh, 1, 1e300, 2.5),
    MINNOW_ROW(arctanh, std::atanh, -1, 1, 2.5),
    MINNOW_ROW(cbrt, std::cbrt, -1e300, 1e300),
    {Unary64::neg, [](long double x) { return -x; }, [](double x) { return -x; }, -1e300, 1e300, 0},
    MINNOW_ROW(abs, std::fabs, -1e300, 1e300, 0),
    MINNOW_ROW(sqrt, std::sqrt, 0, 1e300, 0.5),
    MINNOW_ROW(rint, std::rint, -1e17, 1e17, 0),
    MINNOW_ROW(trunc, std::trunc, -1e17, 1e17, 0),
    MINNOW_ROW(floor, std::floor, -1e17, 1e17, 0),
    MINNOW_ROW(ceil, std::ceil, -1e17, 1e17, 0),
};

class Unary64Test : public EveryIsa {};

TEST_P(Unary64Test, agrees_with_the_c_library_in_long_double) {
  const Unary64Kernels* kernels = unary64_for(GetParam());
  if (!kernels) GTEST_SKIP() << "the C library serves";
  const Unary64Kernels& unary = *kernels;
  ASSERT_EQ(std::size(kRows), static_cast<size_t>(Unary64::count));
  std::mt19937_64 generator(1);
  for (const Row& row : kRows) {
    SCOPED_TRACE(static_cast<int>(row.kind));
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
      unary[row.kind](x.data(), x.size(), y.data());
      EXPECT_EQ(y.back(), 42);
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(y[i], row.f(x[i]));
        worst = std::max(worst, error);
        ASSERT_LE(error, row.most) << "x = " << x[i];
      }
    }
    RecordProperty("ulps_" + std::to_string(static_cast<int>(row.kind)), std::to_string(worst));
  }
}

TEST_P(Unary64Test, edges_are_those_of_the_c_library) {
  const Unary64Kernels* kernels = unary64_for(GetParam());
  if (!kernels) GTEST_SKIP() << "the C library serves";
  const Unary64Kernels& unary = *kernels;
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
  for (const Row& row : kRows) {
    SCOPED_TRACE(static_cast<int>(row.kind));
    for (size_t count = 1; count <= 9; count += 2) {  // with vectors and without
      for (double x : edges) {
        std::vector<double> in(count, x), out(count + 1, 42);
        unary[row.kind](in.data(), count, out.data());
        EXPECT_EQ(out.back(), 42);
        for (size_t i = 0; i < count; ++i) {
          const double want = row.edges(x);
          ASSERT_LE(ulps(out[i], want), 2) << "x = " << x << ", got " << out[i] << ", want " << want;
          if (!std::isnan(want)) {
            ASSERT_EQ(std::signbit(out[i]), std::signbit(want)) << "x = " << x;
          }
        }
        unary[row.kind](in.data(), count, in.data());  // in place
        EXPECT_EQ(std::memcmp(in.data(), out.data(), count * sizeof(double)), 0);
      }
    }
  }
}

MINNOW_EVERY_ISA(Unary64Test);

}  // namespace
}  // namespace minnow::cpu
