// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/binary64.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/ulps.h"
#include "numpy/kernels/kernels.h"

namespace minnow::numpy {
namespace {

using cpu::ulps;

class Binary64Test : public cpu::EveryIsa {
 protected:
  void SetUp() override {
    if (!functions_) GTEST_SKIP() << "the C library serves";
  }
  Binary64Function function(Binary64 kind) const { return functions_[static_cast<size_t>(kind)]; }

 private:
  const Binary64Function* functions_ = numpy_kernels(GetParam()).binary64->functions;
};

TEST_P(Binary64Test, powers_and_angles_agree_with_the_c_library_in_long_double) {
  const Binary64Function power = function(Binary64::power), angle = function(Binary64::angle);
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  for (int kind = 0; kind < 6; ++kind) {
    SCOPED_TRACE(kind);
    std::vector<double> a(20011), b(a.size()), y(a.size() + 1, 42);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = kind == 0 ? std::exp2(normal(generator) * 200) : std::fabs(normal(generator)) + 1e-9;
      b[i] = kind == 0 ? normal(generator) * 2 : kind == 1 ? normal(generator) * 300 : normal(generator) * 5;
      if (kind == 3) a[i] = 1 + normal(generator) * 1e-7, b[i] = normal(generator) * 1e9;
      if (kind == 4) a[i] = -a[i], b[i] = std::round(b[i]);
      if (kind == 5) a[i] = i % 2 ? a[i] : -a[i], b[i] = i % 3 ? b[i] : -b[i];
    }
    if (kind != 5) {
      power(a.data(), b.data(), a.size(), y.data());
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_LE(ulps(y[i], std::pow(static_cast<long double>(a[i]), static_cast<long double>(b[i]))), 1.5) << a[i] << " " << b[i];
    }
    angle(a.data(), b.data(), a.size(), y.data());
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_LE(ulps(y[i], std::atan2(static_cast<long double>(a[i]), static_cast<long double>(b[i]))), 2) << a[i] << " " << b[i];
    EXPECT_EQ(y.back(), 42);
  }
}

TEST_P(Binary64Test, edges_are_those_of_the_c_library) {
  const double infinity = std::numeric_limits<double>::infinity(), least = std::numeric_limits<double>::denorm_min(),
               largest = std::numeric_limits<double>::max();
  std::vector<double> values = {0, infinity, std::nan(""), least, 1e-310, 0.5, 1, 2, 3, 4, 2.5, 1e15, 9007199254740993.0, 1e300, largest};
  for (size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  std::vector<double> a, b;
  for (const double p : values)
    for (const double q : values) a.push_back(p), b.push_back(q);
  std::vector<double> y(a.size());
  for (const Binary64 kind : {Binary64::power, Binary64::angle}) {
    function(kind)(a.data(), b.data(), a.size(), y.data());
    for (size_t i = 0; i < a.size(); ++i) {
      const double want = kind == Binary64::angle ? std::atan2(a[i], b[i]) : std::pow(a[i], b[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << a[i] << " " << b[i] << " " << y[i];
      } else if (want == 0 || std::isinf(want)) {
        EXPECT_EQ(y[i], want) << a[i] << " " << b[i];
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << a[i] << " " << b[i];
      } else {
        EXPECT_LE(ulps(y[i], want), 2) << a[i] << " " << b[i];
      }
    }
  }
}

MINNOW_EVERY_ISA(Binary64Test);

}  // namespace
}  // namespace minnow::numpy
