// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/predicates.h"

#include <cmath>
#include <memory>

#include "backends/cpu/kernel_support.h"
#include "numpy/kernels/kernels.h"

namespace minnow::numpy {
namespace {

class PredicatesTest : public cpu::EveryIsa {};

template <class T, class Loops>
void expect_the_c_librarys(const Loops& loops) {
  using Limits = std::numeric_limits<T>;
  const T kinds[] = {0,
                     T(-0.0),
                     1,
                     -1,
                     Limits::infinity(),
                     -Limits::infinity(),
                     Limits::quiet_NaN(),
                     -Limits::quiet_NaN(),
                     Limits::signaling_NaN(),
                     Limits::denorm_min(),
                     -Limits::min(),
                     Limits::max(),
                     Limits::lowest()};
  bool (*const wanted[])(T) = {[](T x) { return std::isnan(x); }, [](T x) { return std::isinf(x); }, [](T x) { return std::isfinite(x); },
                               [](T x) { return std::signbit(x); }};
  for (size_t kind = 0; kind < std::size(wanted); ++kind)
    for (const size_t n : {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 129}) {
      SCOPED_TRACE(testing::Message() << kind << " " << n);
      std::vector<T> x(n);
      for (size_t i = 0; i < n; ++i) x[i] = kinds[i * 5 % std::size(kinds)];
      const auto y = std::make_unique<bool[]>(n + 1);
      y[n] = true;
      loops[kind](x.data(), n, y.get());
      EXPECT_TRUE(y[n]);  // nothing is written beyond
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], wanted[kind](x[i])) << x[i];
    }
}

TEST_P(PredicatesTest, are_the_c_librarys) {
  const PredicateKernels& kernels = *numpy_kernels(GetParam()).predicates;
  expect_the_c_librarys<float>(kernels.f32);
  expect_the_c_librarys<double>(kernels.f64);
}

MINNOW_EVERY_ISA(PredicatesTest);

}  // namespace
}  // namespace minnow::numpy
