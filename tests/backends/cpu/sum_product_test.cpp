// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/sum_product.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

class SumProductTest : public EveryIsa {
 protected:
  /// Integers of all sizes, or floats near 1, whose products stay finite.
  template <class T>
  std::vector<T> elements(size_t count) {
    std::vector<T> x(count);
    for (T& value : x) {
      if constexpr (std::is_floating_point_v<T>)
        value = static_cast<T>(1 + (static_cast<double>(generator_() % 2001) - 1000) / 5e4);
      else
        value = static_cast<T>(generator_());
    }
    return x;
  }
  template <class T>
  void expect_plain_folds(DType dtype) {
    using Whole = std::conditional_t<std::is_floating_point_v<T>, long double, uint64_t>;
    using Result = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    const auto widened = [](T x) { return static_cast<Whole>(x); };
    const auto expect_same = [](Result got, Whole want) {
      if constexpr (std::is_floating_point_v<T>)
        EXPECT_NEAR(got / static_cast<double>(want), 1, 1e-12);
      else
        EXPECT_EQ(got, want);
    };
    const SumProductLoops &sums = kernels_.sums[sum_row(dtype)], &products = kernels_.products[sum_row(dtype)];
    for (const size_t n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 129, 1000, 2047, 8192, 8200, 33000}) {
      SCOPED_TRACE(testing::Message() << name_of(dtype) << " " << n);
      const std::vector<T> x = elements<T>(n);
      Whole sum = 0, product = 1;
      for (const T value : x) sum += widened(value), product *= widened(value);
      Result y;
      sums.row(x.data(), n, &y);
      if (n == 0)
        EXPECT_EQ(y, Result{0});
      else
        expect_same(y, sum);
      products.row(x.data(), n, &y);
      expect_same(y, product);
    }
    for (const size_t rows : {1, 7, 8, 9, 17, 300})
      for (const size_t columns : {1, 3, 8, 15, 65, 1030}) {
        SCOPED_TRACE(testing::Message() << name_of(dtype) << " " << rows << " x " << columns);
        const size_t stride = columns + 3;
        const std::vector<T> x = elements<T>(rows * stride);
        std::vector<Result> sum(columns + 1, 5), product(columns + 1, 5);
        sums.columns(x.data(), rows, stride, columns, sum.data());
        products.columns(x.data(), rows, stride, columns, product.data());
        for (size_t i = 0; i < columns; ++i) {
          Whole want_sum = 5, want_product = 5;
          for (size_t row = 0; row < rows; ++row) want_sum += widened(x[row * stride + i]), want_product *= widened(x[row * stride + i]);
          expect_same(sum[i], want_sum);
          expect_same(product[i], want_product);
        }
        EXPECT_EQ(sum.back(), Result{5});  // nothing is written beyond
        EXPECT_EQ(product.back(), Result{5});
      }
  }
  template <class T>
  void expect_plain_squares(const SquareLoops& loops) {
    for (const size_t n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 129, 1000}) {
      SCOPED_TRACE(n);
      const std::vector<T> x = elements<T>(n);
      std::vector<double> centers(n), squares(n + 1, 1);
      long double square = 0;
      const double center = 0.25;
      for (size_t i = 0; i < n; ++i) {
        centers[i] = static_cast<double>(i) / 8;
        square += (static_cast<long double>(x[i]) - center) * (static_cast<long double>(x[i]) - center);
      }
      EXPECT_NEAR(loops.row(x.data(), n, center), static_cast<double>(square), 1e-11);
      loops.add(x.data(), centers.data(), n, squares.data());
      for (size_t i = 0; i < n; ++i) {
        const double away = static_cast<double>(x[i]) - centers[i];
        EXPECT_DOUBLE_EQ(squares[i], 1 + away * away);
      }
      EXPECT_EQ(squares.back(), 1);  // nothing is written beyond
    }
  }
  std::mt19937_64 generator_{1};
  const SumProductKernels& kernels_ = *kernels_for(GetParam()).sum_product;
};

TEST_P(SumProductTest, sums_and_products_are_those_of_plain_loops) {
  expect_plain_folds<int8_t>(DType::i8);
  expect_plain_folds<uint8_t>(DType::u8);
  expect_plain_folds<int16_t>(DType::i16);
  expect_plain_folds<uint16_t>(DType::u16);
  expect_plain_folds<int32_t>(DType::i32);
  expect_plain_folds<uint32_t>(DType::u32);
  expect_plain_folds<int64_t>(DType::i64);
  expect_plain_folds<float>(DType::f32);
  expect_plain_folds<double>(DType::f64);
}
TEST_P(SumProductTest, sums_of_the_largest_small_integers_do_not_overflow) {
  const std::vector<uint16_t> x(200000, 65535);
  int64_t sum;
  kernels_.sums[sum_row(DType::u16)].row(x.data(), x.size(), &sum);
  EXPECT_EQ(sum, 65535 * int64_t{200000});
  int64_t columns[2] = {0, 0};
  kernels_.sums[sum_row(DType::u16)].columns(x.data(), x.size() / 2, 2, 2, columns);
  EXPECT_EQ(columns[0], 65535 * int64_t{100000});
  EXPECT_EQ(columns[1], 65535 * int64_t{100000});
}
TEST_P(SumProductTest, squares_are_those_of_plain_loops) {
  expect_plain_squares<float>(kernels_.squares_f32);
  expect_plain_squares<double>(kernels_.squares_f64);
}

MINNOW_EVERY_ISA(SumProductTest);

}  // namespace
}  // namespace minnow::cpu
