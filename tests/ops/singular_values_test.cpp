// SPDX-License-Identifier: Apache-2.0
// Singular values from NumPy; vectors are checked by their properties.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

double at(const Tensor& matrix, int64_t i, int64_t j) { return matrix.data<double>()[i * matrix.shape()[1] + j]; }

/// Whether U diag(S) Vt is x and the vectors are orthonormal, within `bound` times the largest of S.
void expect_factors(const Tensor& x, double bound = 1e-14) {
  const std::vector<Tensor> made = run_operator("minnow.Svd", {x}, {}, 3);
  const Tensor &s = made[0], &u = made[1], &vt = made[2];
  const int64_t m = x.shape()[0], n = x.shape()[1], k = std::min(m, n);
  ASSERT_EQ(s.shape(), Shape({k}));
  ASSERT_EQ(u.shape(), Shape({m, k}));
  ASSERT_EQ(vt.shape(), Shape({k, n}));
  const double largest = k > 0 ? std::max(s.data<double>()[0], 1e-300) : 0;
  for (int64_t i = 1; i < k; ++i) EXPECT_GE(s.data<double>()[i - 1], s.data<double>()[i]);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t t = 0; t < k; ++t) sum += at(u, i, t) * s.data<double>()[t] * at(vt, t, j);
      EXPECT_NEAR(sum / largest, at(x, i, j) / largest, bound * static_cast<double>(m + n)) << i << ", " << j;
    }
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < k; ++j) {
      double left = 0, right = 0;
      for (int64_t t = 0; t < m; ++t) left += at(u, t, i) * at(u, t, j);
      for (int64_t t = 0; t < n; ++t) right += at(vt, i, t) * at(vt, j, t);
      EXPECT_NEAR(left, i == j, 1e-12) << i << ", " << j;
      EXPECT_NEAR(right, i == j, 1e-12) << i << ", " << j;
    }
}

TEST(Svd, values) {
  // numpy.linalg.svd([[3, 0], [4, 5]]): sqrt(45), sqrt(5)
  EXPECT_TRUE(
      near(run_operator("minnow.Svd", {tensor(DType::f32, {2, 2}, {3, 0, 4, 5})}, {}, 3)[0], {2}, {std::sqrt(45.0), std::sqrt(5.0)}));
  EXPECT_TRUE(near(run_operator("minnow.Svd", {tensor(DType::f16, {2, 1, 1}, {-3, 0.5})}, {}, 3)[0], {2, 1}, {3, 0.5}));
}

TEST(Svd, factors_of_tall_wide_and_singular_matrices) {
  for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{7, 3}, Shape{3, 7}, Shape{13, 1}, Shape{1, 5}, Shape{17, 17}}) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < shape.elements(); ++i) numbers.push_back(std::sin(static_cast<double>(i * i + 1)));
    expect_factors(tensor(DType::f64, shape, numbers));
    for (double& x : numbers) x *= 1e-200;
    expect_factors(tensor(DType::f64, shape, numbers));
  }
  expect_factors(tensor(DType::f64, {3, 3}, std::vector<double>(9, 0.0)));
  expect_factors(tensor(DType::f64, {4, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12}));
  expect_factors(tensor(DType::f64, {3, 3}, {0, 0, 5, 0, 1, 0, 0, 0, 0}));
}

TEST(Svd, empty) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0, 0}}) expect_factors(Tensor(DType::f64, shape));
  EXPECT_EQ(run_operator("minnow.Svd", {Tensor(DType::f32, {0, 2, 3})}, {}, 3)[1].shape(), Shape({0, 2, 2}));
}

TEST(Svd, errors) {
  EXPECT_THAT(error_of("minnow.Svd", {pattern({3})}, {}, 3), HasSubstr("takes matrices, the input has shape [3]"));
  EXPECT_THAT(error_of("minnow.Svd", {tensor(DType::f32, {1, 2}, {1, std::numeric_limits<double>::infinity()})}, {}, 3),
              HasSubstr("matrix 0 has an element that is not finite"));
}

}  // namespace
}  // namespace minnow::test
