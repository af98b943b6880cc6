// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/products.h"

#include "backends/cpu/kernel_support.h"
#include "numpy/kernels/kernels.h"

namespace minnow::numpy {
namespace {

class ProductsTest : public cpu::EveryIsa {
 protected:
  template <class T>
  static std::vector<T> normal(size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> distribution;
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(distribution(generator));
    return values;
  }

  template <class T>
  void expect_strips_of_plain_loops(const ProductLoops<T>& loops, double tolerance) {
    const size_t columns = loops.columns;
    for (const size_t rows : {1, 2, 3, 5, 6, 7, 8, 11, 13, 16, 31})
      for (const size_t wide : {size_t{1}, columns / 2, columns / 2 + 1, columns - 1, columns})
        for (const size_t depth : {0, 1, 5, 64}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, " << wide << " columns, depth " << depth);
          const size_t a_stride = depth + 3, b_stride = columns + 1, c_stride = wide + 2;
          const std::vector<T> a = normal<T>(rows * a_stride, 1), b = normal<T>(depth * b_stride + columns, 2);
          std::vector<T> c(rows * c_stride, T(0.5));
          loops.strip(a.data(), a_stride, b.data(), b_stride, depth, c.data(), c_stride, rows, wide);
          for (size_t i = 0; i < rows; ++i) {
            for (size_t j = 0; j < wide; ++j) {
              long double sum = 0;
              for (size_t k = 0; k < depth; ++k) sum += static_cast<long double>(a[i * a_stride + k]) * b[k * b_stride + j];
              ASSERT_NEAR(c[i * c_stride + j], static_cast<double>(sum), tolerance) << i << ", " << j;
            }
            for (size_t j = wide; j < c_stride; ++j) ASSERT_EQ(c[i * c_stride + j], T(0.5));  // nothing is written beyond
          }
        }
  }

  template <class T>
  void expect_dots_of_plain_loops(const ProductLoops<T>& loops, double tolerance) {
    for (const size_t count : {0, 1, 3, 4, 15, 16, 17, 63, 64, 65, 200}) {
      const std::vector<T> a = normal<T>(count, 3), b = normal<T>(count, 4);
      long double sum = 0;
      for (size_t i = 0; i < count; ++i) sum += static_cast<long double>(a[i]) * b[i];
      EXPECT_NEAR(loops.dot(a.data(), b.data(), count), static_cast<double>(sum), tolerance) << count;
    }
  }

  const ProductKernels& kernels_ = *numpy_kernels(GetParam()).products;
};

TEST_P(ProductsTest, strips_are_those_of_plain_loops) {
  expect_strips_of_plain_loops<float>(kernels_.floats, 2e-5);
  expect_strips_of_plain_loops<double>(kernels_.doubles, 1e-13);
}

TEST_P(ProductsTest, dots_are_those_of_plain_loops) {
  expect_dots_of_plain_loops<float>(kernels_.floats, 2e-5);
  expect_dots_of_plain_loops<double>(kernels_.doubles, 1e-13);
}

MINNOW_EVERY_ISA(ProductsTest);

}  // namespace
}  // namespace minnow::numpy
