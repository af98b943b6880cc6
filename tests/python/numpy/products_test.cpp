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
  void expect_tiles_of_plain_loops(const ProductLoops<T>& loops, double tolerance) {
    const size_t lanes = loops.lanes;
    for (const size_t vectors : {1, 2, 4})
      for (size_t rows = 1; rows <= loops.rows[vectors]; ++rows)
        for (const bool transposed : {false, true})
          for (const size_t depth : {1, 5, 64, 150})
            for (const size_t columns : {vectors * lanes, vectors * lanes - lanes / 2}) {
              const bool is_ragged = columns < vectors * lanes;
              if (is_ragged && (vectors == 4 || (vectors == 1 && !loops.masks))) continue;
              SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns, depth " << depth << ", transposed "
                                              << transposed);
              const size_t a_stride = (transposed ? rows : depth) + 3, b_stride = columns + 1, c_stride = columns + 2;
              const std::vector<T> a = normal<T>((transposed ? depth : rows) * a_stride, 1), b = normal<T>(depth * b_stride, 2);
              const std::vector<T> before = normal<T>(rows * c_stride, 5);
              std::vector<T> c = before;
              const ProductTile<T> tile{a.data(),
                                        transposed ? 1 : a_stride,
                                        transposed ? a_stride : 1,
                                        b.data(),
                                        b_stride,
                                        vectors == 2 ? columns - lanes : lanes,
                                        std::min(columns, lanes),
                                        depth,
                                        c.data(),
                                        c_stride,
                                        rows % 2 == 0,
                                        rows % 3 == 0 ? 4 * b_stride : 0};
              loops.tiles[vectors][rows](tile);
              for (size_t i = 0; i < rows; ++i) {
                for (size_t j = 0; j < columns; ++j) {
                  long double sum = tile.add ? before[i * c_stride + j] : 0;
                  for (size_t k = 0; k < depth; ++k)
                    sum += static_cast<long double>(a[transposed ? k * a_stride + i : i * a_stride + k]) * b[k * b_stride + j];
                  ASSERT_NEAR(c[i * c_stride + j], static_cast<double>(sum), tolerance) << i << ", " << j;
                }
                for (size_t j = columns; j < c_stride; ++j) ASSERT_EQ(c[i * c_stride + j], before[i * c_stride + j]);  // nothing beyond
              }
            }
  }

  template <class T>
  void expect_vectors_of_plain_loops(const ProductLoops<T>& loops, double tolerance) {
    for (const size_t rows : {1, 3, 4, 7, 8, 9, 17, 64})
      for (const size_t columns : {1, 3, 4, 15, 16, 17, 63, 64, 65, 200, 2100}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns");
        const size_t stride = columns + 3;
        const std::vector<T> a = normal<T>(rows * stride, 3), x = normal<T>(columns, 4), z = normal<T>(2 * rows, 6);
        std::vector<T> y(rows + 1, T(0.5)), w(columns + 1, T(0.5));
        loops.dots(a.data(), stride, rows, x.data(), columns, y.data());
        loops.combine(z.data(), 2, a.data(), stride, rows, w.data(), columns);
        std::vector<long double> combined(columns);
        for (size_t i = 0; i < rows; ++i) {
          long double sum = 0;
          for (size_t j = 0; j < columns; ++j) {
            sum += static_cast<long double>(a[i * stride + j]) * x[j];
            combined[j] += static_cast<long double>(a[i * stride + j]) * z[2 * i];
          }
          ASSERT_NEAR(y[i], static_cast<double>(sum), 2 * tolerance) << i;
        }
        for (size_t j = 0; j < columns; ++j) ASSERT_NEAR(w[j], static_cast<double>(combined[j]), tolerance) << j;
        ASSERT_EQ(y[rows], T(0.5));
        ASSERT_EQ(w[columns], T(0.5));
      }
  }

  template <class T>
  void expect_transposed(const ProductLoops<T>& loops) {
    for (const size_t rows : {1, 2, 4, 7, 16, 19})
      for (const size_t columns : {1, 3, 4, 8, 21}) {
        const std::vector<T> from = normal<T>(rows * (columns + 1), 7);
        std::vector<T> to(columns * (rows + 2), T(0.5));
        loops.transpose(from.data(), columns + 1, rows, columns, to.data(), rows + 2);
        for (size_t j = 0; j < columns; ++j)
          for (size_t i = 0; i < rows + 2; ++i) ASSERT_EQ(to[j * (rows + 2) + i], i < rows ? from[i * (columns + 1) + j] : T(0.5));
      }
  }

  const ProductKernels& kernels_ = *numpy_kernels(GetParam()).products;
};

TEST_P(ProductsTest, tiles_are_those_of_plain_loops) {
  expect_tiles_of_plain_loops<float>(*kernels_.floats, 4e-5);
  expect_tiles_of_plain_loops<double>(*kernels_.doubles, 1e-13);
}

TEST_P(ProductsTest, products_with_vectors_are_those_of_plain_loops) {
  expect_vectors_of_plain_loops<float>(*kernels_.floats, 6e-5);
  expect_vectors_of_plain_loops<double>(*kernels_.doubles, 2e-13);
}

TEST_P(ProductsTest, transposes) {
  expect_transposed<float>(*kernels_.floats);
  expect_transposed<double>(*kernels_.doubles);
}

MINNOW_EVERY_ISA(ProductsTest);

}  // namespace
}  // namespace minnow::numpy
