// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/sums64.h"

#include "backends/cpu/kernel_support.h"
#include "numpy/kernels/kernels.h"

namespace minnow::numpy {
namespace {

class Sums64Test : public cpu::EveryIsa {
 protected:
  template <class T>
  void expect_plain_sums(const SumLoops& loops) {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    for (const size_t n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 129, 1000}) {
      SCOPED_TRACE(n);
      std::vector<T> x(n);
      std::vector<double> centers(n), sums(n + 1, 1), squares(n + 1, 1);
      long double sum = 0, square = 0;
      const double center = 0.25;
      for (size_t i = 0; i < n; ++i) {
        x[i] = static_cast<T>(normal(generator)), centers[i] = normal(generator);
        sum += x[i], square += (static_cast<long double>(x[i]) - center) * (static_cast<long double>(x[i]) - center);
      }
      EXPECT_NEAR(loops.sum(x.data(), n), static_cast<double>(sum), 1e-12);
      EXPECT_NEAR(loops.squares(x.data(), n, center), static_cast<double>(square), 1e-11);
      loops.add(x.data(), n, sums.data());
      loops.add_squares(x.data(), centers.data(), n, squares.data());
      for (size_t i = 0; i < n; ++i) {
        const double away = static_cast<double>(x[i]) - centers[i];
        EXPECT_DOUBLE_EQ(sums[i], 1 + static_cast<double>(x[i]));
        EXPECT_DOUBLE_EQ(squares[i], 1 + away * away);
      }
      EXPECT_EQ(sums.back(), 1);  // nothing is written beyond
      EXPECT_EQ(squares.back(), 1);
    }
  }
  const Sum64Kernels& kernels_ = *numpy_kernels(GetParam()).sums64;
};

TEST_P(Sums64Test, sums_and_squares_are_those_of_plain_loops) {
  expect_plain_sums<float>(kernels_.floats);
  expect_plain_sums<double>(kernels_.doubles);
}

MINNOW_EVERY_ISA(Sums64Test);

}  // namespace
}  // namespace minnow::numpy
