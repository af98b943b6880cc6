// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backends/cpu/kernel_support.h"
#include "numerics/matrix_kernels.h"

namespace minnow::numerics {
namespace {

using Values = std::vector<double>;
constexpr size_t kStride = 56;  // of every matrix here

class MatrixKernelsTest : public cpu::EveryIsa {
 protected:
  static Values normal(size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> distribution;
    Values values(count);
    for (double& value : values) value = distribution(generator);
    return values;
  }
  static void expect_near(const Values& found, const Values& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-12) << i / kStride << ", " << i % kStride;
  }
  template <class F>
  static void each_size(F f) {
    for (const size_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 22})
      for (const size_t columns : {8, 16, 24, 40}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns");
        f(rows, columns);
      }
  }
  const MatrixKernels& kernels_ = matrix_kernels(GetParam());
};

TEST_P(MatrixKernelsTest, products_are_subtracted_as_by_plain_loops) {
  each_size([&](size_t rows, size_t columns) {
    for (const size_t depth : {0, 1, 5, 32}) {
      const Values a = normal(rows * kStride, 1), b = normal(depth * kStride + columns, 2);
      Values c = normal(rows * kStride, 3), expected = c;
      kernels_.subtract(a.data(), kStride, b.data(), kStride, depth, c.data(), kStride, rows, columns);
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j)
          for (size_t k = 0; k < depth; ++k) expected[i * kStride + j] -= a[i * kStride + k] * b[k * kStride + j];
      expect_near(c, expected);
    }
  });
}

TEST_P(MatrixKernelsTest, elimination_scales_a_column_and_finds_the_next_pivot) {
  for (size_t at = 0; at < kMatrixStep; ++at) {
    constexpr size_t kCount = 11;
    Values rows = normal(kCount * kStride, 4), pivots = normal(kMatrixStep, 5), expected = rows;
    std::fill_n(pivots.begin(), at + 1, 0.0);
    const size_t best = kernels_.eliminate(rows.data(), kStride, kCount, at, 0.25, pivots.data());
    size_t largest = 0;
    for (size_t i = 0; i < kCount; ++i) {
      double* row = expected.data() + i * kStride;
      row[at] *= 0.25;
      for (size_t j = at + 1; j < kMatrixStep; ++j) row[j] -= row[at] * pivots[j];
      if (at + 1 < kMatrixStep && std::fabs(row[at + 1]) > std::fabs(expected[largest * kStride + at + 1])) largest = i;
    }
    expect_near(rows, expected);
    if (at + 1 < kMatrixStep) {
      EXPECT_EQ(best, largest);
    }
  }
}

TEST_P(MatrixKernelsTest, outer_products_and_products_with_vectors_are_those_of_plain_loops) {
  each_size([&](size_t rows, size_t columns) {
    const Values a = normal(rows * kStride, 6), left1 = normal(rows * 3, 7), left2 = normal(rows, 8), right1 = normal(columns, 9),
                 right2 = normal(columns, 10), x = normal(columns, 11), factors = normal(rows, 12);
    const auto along = [&](const Values& m) {
      Values products(rows);
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) products[i] += m[i * kStride + j] * x[j];
      return products;
    };
    const auto across = [&](const Values& m) {
      Values sums(columns);
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) sums[j] += factors[i] * m[i * kStride + j];
      return sums;
    };
    Values once = a, twice = a;
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        once[i * kStride + j] -= left1[3 * i] * right1[j];
        twice[i * kStride + j] -= left1[i] * right1[j] + left2[i] * right2[j];
      }
    Values found = a, sums(columns, 5.0), products(rows);
    kernels_.subtract_outer(left1.data(), 3, right1.data(), found.data(), kStride, rows, columns);
    expect_near(found, once);
    found = a;
    kernels_.update_times(left1.data(), right1.data(), left2.data(), right2.data(), found.data(), kStride, rows, columns, x.data(),
                          products.data());
    expect_near(found, twice);
    expect_near(products, along(twice));
    found = a;
    kernels_.update_combine(left1.data(), right1.data(), left2.data(), right2.data(), found.data(), kStride, rows, columns, factors.data(),
                            sums.data());
    expect_near(found, twice);
    expect_near(sums, across(twice));
  });
}

TEST_P(MatrixKernelsTest, rotations_are_those_of_one_pair_after_the_other) {
  each_size([&](size_t rows, size_t columns) {
    const size_t count = rows - 1;
    const Values angles = normal(rows, 13);
    Values c(rows), s(rows);
    for (size_t i = 0; i < rows; ++i) c[i] = std::cos(angles[i]), s[i] = std::sin(angles[i]);
    for (const bool upwards : {false, true}) {
      Values a = normal(rows * kStride, 14), expected = a;
      kernels_.rotate(a.data(), kStride, count, columns, c.data(), s.data(), upwards);
      for (size_t n = 0; n < count; ++n) {
        const size_t i = upwards ? count - 1 - n : n;
        for (size_t j = 0; j < columns; ++j) {
          double &x = expected[i * kStride + j], &y = expected[(i + 1) * kStride + j];
          const double old = x;
          x = c[i] * x + s[i] * y;
          y = c[i] * y - s[i] * old;
        }
      }
      expect_near(a, expected);
    }
  });
}

TEST_P(MatrixKernelsTest, dots_sums_of_rows_and_transposes_are_those_of_plain_loops) {
  for (const size_t rows : {0, 1, 2, 3, 4, 5, 9, 22})
    for (const size_t columns : {0, 1, 3, 7, 8, 13, 16, 37, 53}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns");
      const Values a = normal(rows * kStride, 15), x = normal(columns, 16);
      Values found(rows), expected(rows);
      kernels_.dots(a.data(), kStride, rows, x.data(), columns, found.data());
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) expected[i] += a[i * kStride + j] * x[j];
      expect_near(found, expected);
      Values turned(columns * kStride, 7.0), plain = turned;
      kernels_.transpose(a.data(), kStride, rows, columns, turned.data(), kStride);
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) plain[j * kStride + i] = a[i * kStride + j];
      EXPECT_EQ(turned, plain);
    }
  each_size([&](size_t rows, size_t columns) {
    const Values a = normal(rows * kStride, 17), x = normal(rows, 18);
    Values found(columns, 5.0), expected(columns);
    kernels_.combine(x.data(), a.data(), kStride, rows, found.data(), columns);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) expected[j] += x[i] * a[i * kStride + j];
    expect_near(found, expected);
  });
}

MINNOW_EVERY_ISA(MatrixKernelsTest);

}  // namespace
}  // namespace minnow::numerics
