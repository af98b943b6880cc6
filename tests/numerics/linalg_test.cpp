// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <minnow/numerics.h>

#include <cstring>
#include <limits>
#include <numbers>

#include "numerics/matrices.h"

namespace minnow::numerics {
namespace {

constexpr double kNear = 1e-12;

template <class T>
class Linalg : public testing::Test {};
using Types = testing::Types<double, Complex>;
TYPED_TEST_SUITE(Linalg, Types);

// Sizes below and above a block, a vector and the limit for tiny matrices; stacks; empty matrices.
const std::vector<Shape> kSquare = {{0, 0},   {1, 1},   {2, 2},    {3, 3},    {7, 7},         {8, 8},      {9, 9},   {17, 17},
                                    {33, 33}, {70, 70}, {0, 4, 4}, {5, 3, 3}, {2, 3, 12, 12}, {300, 4, 4}, {3, 0, 0}};
const std::vector<Shape> kAnyMatrix = {{0, 0},   {0, 3},   {3, 0},    {1, 1},    {1, 5},         {5, 1},    {3, 2},     {2, 3},
                                       {7, 9},   {9, 7},   {8, 8},    {20, 33},  {33, 20},       {70, 40},  {40, 70},   {100, 9},
                                       {9, 100}, {65, 64}, {4, 5, 3}, {4, 3, 5}, {2, 2, 13, 11}, {0, 3, 2}, {200, 3, 3}};

template <class T>
void expect_orthonormal(const Tensor& q) {
  EXPECT_LT(difference<T>(product<T>(adjoint<T>(q), q), identities<T>(q, columns_of(q))), kNear);
}

TYPED_TEST(Linalg, solve_and_inverse_undo_products) {
  for (const Shape& shape : kSquare) {
    SCOPED_TRACE(to_string(shape));
    const Tensor a = random_matrices<TypeParam>(shape, 1);
    EXPECT_LT(difference<TypeParam>(product<TypeParam>(a, inverse(a)), identities<TypeParam>(a, rows_of(a))), 1e-9);
    for (const size_t columns : {0, 1, 3, 9}) {
      const Tensor b = random_matrices<TypeParam>(with_matrices(a, rows_of(a), columns), 2);
      EXPECT_LT(difference<TypeParam>(product<TypeParam>(a, solve(a, b)), b), 1e-9);
    }
  }
}

TYPED_TEST(Linalg, equations_with_known_answers) {
  const Tensor a = matrices_of<TypeParam>({2, 2}, {3, 1, 1, 2}), b = matrices_of<TypeParam>({2, 1}, {9, 8});
  EXPECT_LT(difference<TypeParam>(solve(a, b), matrices_of<TypeParam>({2, 1}, {2, 3})), 1e-15);
  // A zero pivot: rows are swapped.
  const Tensor swapped = matrices_of<TypeParam>({2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(values_of<TypeParam>(inverse(swapped)), values_of<TypeParam>(swapped));
}

TYPED_TEST(Linalg, singular_matrices_are_errors) {
  for (const size_t n : {1, 2, 8, 9, 20, 40}) {
    SCOPED_TRACE(n);
    Tensor a = random_matrices<TypeParam>({3, static_cast<int64_t>(n), static_cast<int64_t>(n)}, 3);
    TypeParam* second = a.writable().template data<TypeParam>() + n * n;
    for (size_t i = 0; i < n; ++i) second[i * n + n / 2] = 0;
    EXPECT_THROW(inverse(a), NoSolution);
    EXPECT_THROW(solve(a, a), NoSolution);
    const std::vector<TypeParam> found = values_of<TypeParam>(determinant(a));
    EXPECT_NE(found[0], TypeParam(0));
    EXPECT_EQ(found[1], TypeParam(0));
    const LogDeterminant logs = log_determinant(a);
    EXPECT_EQ(values_of<TypeParam>(logs.sign)[1], TypeParam(0));
    EXPECT_EQ(logs.log.template data<double>()[1], -std::numeric_limits<double>::infinity());
  }
}

TYPED_TEST(Linalg, determinants) {
  EXPECT_EQ(values_of<TypeParam>(determinant(matrices_of<TypeParam>({2, 2}, {1, 2, 3, 4}))).size(), 1u);
  EXPECT_LT(difference<TypeParam>(determinant(matrices_of<TypeParam>({2, 2}, {1, 2, 3, 4})), matrices_of<TypeParam>({}, {-2})), 1e-15);
  EXPECT_EQ(values_of<TypeParam>(determinant(matrices_of<TypeParam>({0, 0}, {}))), std::vector<TypeParam>{1});
  EXPECT_EQ(determinant(matrices_of<TypeParam>({0, 5, 5}, {})).shape(), Shape{0});
  // Beyond the range of f64: 1000 on a diagonal of 200.
  Tensor a(dtype_of<TypeParam>(), {200, 200});
  for (size_t i = 0; i < 200; ++i) a.writable().template data<TypeParam>()[i * 201] = i == 7 ? -1000 : 1000;
  const LogDeterminant found = log_determinant(a);
  EXPECT_EQ(values_of<TypeParam>(found.sign)[0], TypeParam(-1));
  EXPECT_NEAR(found.log.template data<double>()[0], 200 * std::log(1000.0), 1e-9);
  // The determinant of a product is the product of the determinants.
  const Tensor p = random_matrices<TypeParam>({12, 12}, 4), q = random_matrices<TypeParam>({12, 12}, 5);
  const TypeParam expected = values_of<TypeParam>(determinant(p))[0] * values_of<TypeParam>(determinant(q))[0];
  EXPECT_LT(std::abs(values_of<TypeParam>(determinant(product<TypeParam>(p, q)))[0] - expected), 1e-10 * std::abs(expected));
}

TYPED_TEST(Linalg, cholesky_rebuilds_positive_definite_matrices) {
  for (const Shape& shape : kSquare) {
    SCOPED_TRACE(to_string(shape));
    const Tensor x = random_matrices<TypeParam>(shape, 6);
    Tensor a = product<TypeParam>(x, adjoint<TypeParam>(x));
    const size_t n = rows_of(a);
    for (size_t i = 0; i < count_of(a) * n; ++i) a.writable().template data<TypeParam>()[i * n + i % n] += 1;
    const Tensor l = cholesky(a);
    EXPECT_LT(difference<TypeParam>(product<TypeParam>(l, adjoint<TypeParam>(l)), a), kNear);
    for (size_t i = 0; i < count_of(a) * n; ++i)
      for (size_t j = i % n + 1; j < n; ++j) EXPECT_EQ(l.data<TypeParam>()[i * n + j], TypeParam(0));
    if (a.elements() == 0) continue;
    a.writable().template data<TypeParam>()[a.elements() - 1] = -1;
    EXPECT_THROW(cholesky(a), NoSolution);
  }
}

TYPED_TEST(Linalg, qr_rebuilds_matrices_of_any_shape) {
  for (const Shape& shape : kAnyMatrix)
    for (const bool complete : {false, true}) {
      SCOPED_TRACE(to_string(shape) + (complete ? " complete" : ""));
      const Tensor a = random_matrices<TypeParam>(shape, 7);
      const QR found = qr(a, complete);
      const size_t columns = complete ? rows_of(a) : std::min(rows_of(a), columns_of(a));
      ASSERT_EQ(found.q.shape(), with_matrices(a, rows_of(a), columns));
      ASSERT_EQ(found.r.shape(), with_matrices(a, columns, columns_of(a)));
      expect_orthonormal<TypeParam>(found.q);
      EXPECT_LT(difference<TypeParam>(product<TypeParam>(found.q, found.r), a), kNear);
      for (size_t i = 0; i < count_of(a) * columns; ++i)
        for (size_t j = 0; j < std::min(i % columns, columns_of(a)); ++j)
          EXPECT_EQ(found.r.data<TypeParam>()[i * columns_of(a) + j], TypeParam(0));
    }
}

TYPED_TEST(Linalg, qr_of_dependent_columns) {
  const Tensor thin = random_matrices<TypeParam>({40, 3}, 8), wide = random_matrices<TypeParam>({3, 30}, 9);
  for (const Tensor& a : {product<TypeParam>(thin, wide), Tensor(dtype_of<TypeParam>(), {6, 4}), Tensor(dtype_of<TypeParam>(), {20, 20})}) {
    const QR found = qr(a);
    expect_orthonormal<TypeParam>(found.q);
    EXPECT_LT(difference<TypeParam>(product<TypeParam>(found.q, found.r), a), kNear);
  }
}

TYPED_TEST(Linalg, reflections_hold_r_and_the_vectors_of_q) {
  const Tensor a = random_matrices<TypeParam>({12, 7}, 10);
  const Reflections found = qr_reflections(a);
  const QR expected = qr(a);
  ASSERT_EQ(found.factors.shape(), (Shape{7, 12}));
  ASSERT_EQ(found.tau.shape(), Shape{7});
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = i; j < 7; ++j) EXPECT_EQ(found.factors.data<TypeParam>()[j * 12 + i], expected.r.data<TypeParam>()[i * 7 + j]);
  // H0 H1 .. H6, with H = 1 - tau v v^H, applied to the first columns of the identity, makes Q.
  Tensor q(dtype_of<TypeParam>(), {12, 7});
  TypeParam* to = q.writable().template data<TypeParam>();
  for (size_t i = 0; i < 7; ++i) to[i * 7 + i] = 1;
  for (size_t k = 7; k-- > 0;)
    for (size_t c = 0; c < 7; ++c) {
      const auto v = [&](size_t i) { return i < k ? TypeParam(0) : i == k ? TypeParam(1) : found.factors.data<TypeParam>()[k * 12 + i]; };
      TypeParam along = 0;
      for (size_t i = 0; i < 12; ++i) along += conjugate(v(i)) * to[i * 7 + c];
      for (size_t i = 0; i < 12; ++i) to[i * 7 + c] -= found.tau.data<TypeParam>()[k] * along * v(i);
    }
  EXPECT_LT(difference<TypeParam>(q, expected.q), kNear);
}

TYPED_TEST(Linalg, svd_rebuilds_matrices_of_any_shape) {
  for (const Shape& shape : kAnyMatrix) {
    SCOPED_TRACE(to_string(shape));
    const Tensor a = random_matrices<TypeParam>(shape, 11);
    const SVD found = svd(a);
    const size_t few = std::min(rows_of(a), columns_of(a));
    ASSERT_EQ(found.u.shape(), with_matrices(a, rows_of(a), few));
    ASSERT_EQ(found.v.shape(), with_matrices(a, columns_of(a), few));
    expect_orthonormal<TypeParam>(found.u);
    expect_orthonormal<TypeParam>(found.v);
    EXPECT_LT(
        difference<TypeParam>(product<TypeParam>(scaled_columns<TypeParam, double>(found.u, found.s), adjoint<TypeParam>(found.v)), a),
        kNear);
    const std::vector<double> s = values_of<double>(found.s);
    for (size_t i = 0; i < s.size(); ++i) {
      EXPECT_GE(s[i], 0);
      if (i % few) {
        EXPECT_LE(s[i], s[i - 1]);
      }
    }
    EXPECT_LT(difference<double>(singular_values(a), found.s), kNear);
  }
}

TYPED_TEST(Linalg, svd_of_special_matrices) {
  // Matrices of lower rank, of zeros, and with elements whose squares overflow or underflow.
  Tensor low = product<TypeParam>(random_matrices<TypeParam>({30, 4}, 12), random_matrices<TypeParam>({4, 25}, 13));
  for (const double scale : {1.0, 0.0, 1e-200, 1e200}) {
    SCOPED_TRACE(scale);
    Tensor a = low.clone();
    for (int64_t i = 0; i < a.elements(); ++i) a.writable().template data<TypeParam>()[i] *= scale;
    const SVD found = svd(a);
    expect_orthonormal<TypeParam>(found.u);
    expect_orthonormal<TypeParam>(found.v);
    const double* s = found.s.template data<double>();
    for (size_t i = 4; i < 25; ++i) EXPECT_LE(s[i], 1e-13 * s[0]);
    if (scale > 0) {
      EXPECT_GT(s[3], 0.01 * s[0]);
      EXPECT_LT(
          difference<TypeParam>(product<TypeParam>(scaled_columns<TypeParam, double>(found.u, found.s), adjoint<TypeParam>(found.v)), a),
          kNear);
    }
  }
  // Known values, which a permutation with signs does not change.
  const Tensor known = matrices_of<TypeParam>({3, 3}, {0, -2, 0, 0, 0, 5, 3, 0, 0});
  EXPECT_THAT(values_of<double>(singular_values(known)),
              testing::ElementsAre(testing::DoubleNear(5, 1e-14), testing::DoubleNear(3, 1e-14), testing::DoubleNear(2, 1e-14)));
}

TYPED_TEST(Linalg, eigh_rebuilds_hermitian_matrices) {
  for (const Shape& shape : kSquare) {
    SCOPED_TRACE(to_string(shape));
    Tensor a = random_matrices<TypeParam>(shape, 14);
    const size_t n = rows_of(a);
    TypeParam* to = a.writable().template data<TypeParam>();
    for (size_t k = 0; k < count_of(a); ++k, to += n * n)
      for (size_t i = 0; i < n; ++i) {
        to[i * n + i] = std::real(to[i * n + i]);
        for (size_t j = i + 1; j < n; ++j) to[i * n + j] = conjugate(to[j * n + i]);
      }
    const Eigen found = eigh(a);
    expect_orthonormal<TypeParam>(found.vectors);
    EXPECT_LT(difference<TypeParam>(product<TypeParam>(a, found.vectors), scaled_columns<TypeParam, double>(found.vectors, found.values)),
              kNear);
    EXPECT_LT(difference<double>(eigh_values(a), found.values), kNear);
    const std::vector<double> w = values_of<double>(found.values);
    for (size_t i = 0; i < w.size(); ++i)
      if (i % n) {
        EXPECT_GE(w[i], w[i - 1]);
      }
    // Only the lower triangle is read.
    if (n > 1) {
      for (size_t k = 0; k < count_of(a); ++k) a.writable().template data<TypeParam>()[k * n * n + 1] = 99;
      EXPECT_LT(difference<double>(eigh_values(a), found.values), kNear);
    }
  }
}

TYPED_TEST(Linalg, eigenvalues_of_a_second_difference) {
  constexpr size_t kSize = 30;
  Tensor a(dtype_of<TypeParam>(), {kSize, kSize});
  TypeParam* to = a.writable().template data<TypeParam>();
  for (size_t i = 0; i < kSize; ++i) {
    to[i * kSize + i] = 2;
    if (i + 1 < kSize) to[i * kSize + i + 1] = to[(i + 1) * kSize + i] = -1;
  }
  const std::vector<double> found = values_of<double>(eigh_values(a));
  for (size_t k = 0; k < kSize; ++k)
    EXPECT_NEAR(found[k], 2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k + 1) / (kSize + 1)), 1e-13);
}

TYPED_TEST(Linalg, eig_finds_values_and_vectors_of_any_square_matrix) {
  for (const Shape& shape : kSquare) {
    SCOPED_TRACE(to_string(shape));
    const Tensor a = random_matrices<TypeParam>(shape, 15);
    Tensor wide(DType::complex128, shape);
    for (int64_t i = 0; i < a.elements(); ++i) wide.writable().template data<Complex>()[i] = a.data<TypeParam>()[i];
    const Eigen found = eig(a);
    EXPECT_LT(difference<Complex>(product<Complex>(wide, found.vectors), scaled_columns<Complex, Complex>(found.vectors, found.values)),
              1e-10);
    const size_t n = rows_of(a);
    for (size_t k = 0; k < count_of(a); ++k)
      for (size_t j = 0; j < n; ++j) {
        double square = 0;
        for (size_t i = 0; i < n; ++i) square += std::norm(found.vectors.data<Complex>()[(k * n + i) * n + j]);
        EXPECT_NEAR(square, 1, 1e-12);
      }
    const auto sorted = [](std::vector<Complex> v) {
      std::sort(v.begin(), v.end(), [](Complex p, Complex q) { return std::abs(p - Complex(0.3, 0.1)) < std::abs(q - Complex(0.3, 0.1)); });
      return v;
    };
    if (count_of(a) != 1) continue;
    const std::vector<Complex> all = sorted(values_of<Complex>(found.values)), only = sorted(values_of<Complex>(eig_values(a)));
    for (size_t i = 0; i < n; ++i) EXPECT_LT(std::abs(all[i] - only[i]), 1e-9);
  }
}

TYPED_TEST(Linalg, eigenvalues_of_very_large_and_very_small_elements) {
  const Tensor x = random_matrices<TypeParam>({20, 20}, 18);
  const Tensor symmetric = product<TypeParam>(x, adjoint<TypeParam>(x));
  const auto scaled = [](const Tensor& a, double scale) {
    Tensor y = a.clone();
    for (int64_t i = 0; i < a.elements(); ++i) y.writable().template data<TypeParam>()[i] *= scale;
    return y;
  };
  for (const double scale : {0x1p-660, 0x1p660}) {
    SCOPED_TRACE(scale);
    Tensor expected = eigh_values(symmetric);
    for (int64_t i = 0; i < 20; ++i) expected.writable().template data<double>()[i] *= scale;
    EXPECT_LT(difference<double>(eigh_values(scaled(symmetric, scale)), expected), kNear);
    Tensor wide(DType::complex128, {20, 20});
    for (int64_t i = 0; i < 400; ++i) wide.writable().template data<Complex>()[i] = x.data<TypeParam>()[i];
    const Eigen found = eig(scaled(x, scale));
    std::vector<Complex> near_one = values_of<Complex>(found.values);
    for (Complex& value : near_one) value /= scale;
    EXPECT_LT(difference<Complex>(product<Complex>(wide, found.vectors),
                                  scaled_columns<Complex, Complex>(found.vectors, matrices_of<Complex>({20}, near_one))),
              1e-10);
  }
}

TEST(Eig, roots_of_a_polynomial_are_those_of_its_companion) {
  // (x - 1)(x - 2)(x + 3)(x^2 + 1) = x^5 - 6 x^3 + 6 x^2 - 7 x + 6
  const Tensor a = matrices_of<double>({5, 5}, {0, 6, -6, 7, -6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0});
  std::vector<Complex> found = values_of<Complex>(eig_values(a));
  for (const Complex root : {Complex(1), Complex(2), Complex(-3), Complex(0, 1), Complex(0, -1)})
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](Complex x) { return std::abs(x - root) < 1e-12; })) << root;
}

TYPED_TEST(Linalg, stacks_give_what_each_matrix_gives_alone) {
  const Tensor a = random_matrices<TypeParam>({64, 9, 9}, 16);
  const auto alone = [&](size_t i) { return Tensor(TensorView(a.dtype(), {9, 9}, a.data<TypeParam>() + i * 81)); };
  const auto expect_same = [&](const Tensor& all, const auto& one) {
    for (const size_t i : {0, 17, 63}) {
      const Tensor expected = one(alone(i));
      EXPECT_EQ(0, std::memcmp(all.data<char>() + i * expected.bytes(), expected.data(), expected.bytes())) << i;
    }
  };
  expect_same(inverse(a), [](const Tensor& x) { return inverse(x); });
  expect_same(determinant(a), [](const Tensor& x) { return determinant(x); });
  expect_same(qr(a).q, [](const Tensor& x) { return qr(x).q; });
  expect_same(svd(a).v, [](const Tensor& x) { return svd(x).v; });
  expect_same(eigh(a).vectors, [](const Tensor& x) { return eigh(x).vectors; });
  expect_same(eig(a).vectors, [](const Tensor& x) { return eig(x).vectors; });
}

TYPED_TEST(Linalg, elements_that_are_not_finite_are_errors) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (const int64_t n : {3, 20}) {
      Tensor a = random_matrices<TypeParam>({n, n}, 17);
      a.writable().template data<TypeParam>()[n] = bad;
      EXPECT_THROW(svd(a), NoSolution);
      EXPECT_THROW(eigh(a), NoSolution);
      EXPECT_THROW(eig(a), NoSolution);
    }
}

TEST(LinalgErrors, name_the_shapes_and_dtypes) {
  const auto error = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "no error";
  };
  const Tensor square(DType::f64, {3, 3}), tall(DType::f64, {3, 2});
  EXPECT_EQ(error([&] { inverse(Tensor(DType::f32, {3, 3})); }), "matrices are f64 or complex128, not f32");
  EXPECT_EQ(error([&] { qr(Tensor(DType::f64, {3})); }), "1-dimensional array given. Array must be at least two-dimensional");
  for (const auto& call :
       {+[](const Tensor& a) { inverse(a); }, +[](const Tensor& a) { determinant(a); }, +[](const Tensor& a) { cholesky(a); },
        +[](const Tensor& a) { eigh(a); }, +[](const Tensor& a) { eig(a); }, +[](const Tensor& a) { solve(a, a); }})
    EXPECT_EQ(error([&] { call(tall); }), "Last 2 dimensions of the array must be square");
  EXPECT_EQ(error([&] { solve(square, Tensor(DType::f64, {2, 1})); }), "solve: matrices f64[3, 3] and right sides f64[2, 1] do not fit");
  EXPECT_EQ(error([&] {
              solve(square, Tensor(DType::complex128, {3, 1}));
            }),
            "solve: matrices f64[3, 3] and right sides complex128[3, 1] do not fit");
  EXPECT_EQ(error([&] { inverse(square); }), "Singular matrix");
  EXPECT_EQ(error([&] { cholesky(square); }), "Matrix is not positive definite");
}

}  // namespace
}  // namespace minnow::numerics
