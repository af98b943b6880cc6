// SPDX-License-Identifier: Apache-2.0
// Matrices of affine and perspective transforms.
#include <minnow/vision/geometry.h>

#include <array>

#include "vision/image.h"
#include "vision/loops/warp.h"

namespace minnow::vision {
namespace {

Tensor matrix(int64_t rows, const double* values) {
  Tensor made(DType::f64, {rows, 3});
  std::copy(values, values + 3 * rows, made.writable().data<double>());
  return made;
}

/// f32 points, in any arrangement of OpenCV's: [n, 2], [n, 1, 2] or [1, n, 2].
std::vector<Point2d> points_of(std::string_view function, const TensorView& points, int64_t count) {
  const Shape& shape = points.shape();
  const bool fits = points.dtype() == DType::f32 && points.elements() == 2 * count && shape.rank() > 0 && shape[shape.rank() - 1] == 2 &&
                    (shape.rank() == 2 || shape.rank() == 3);
  if (!fits) throw InvalidArgument("{}: points are f32 [{}, 2], not {}{}", function, count, points.dtype(), shape);
  std::vector<Point2d> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back({static_cast<double>(points.data<float>()[2 * i]), static_cast<double>(points.data<float>()[2 * i + 1])});
  return result;
}

/// Gaussian elimination with pivots; false where the matrix is singular.
template <size_t kSize>
bool solve(std::array<std::array<double, kSize + 1>, kSize>& rows, double* x) {
  for (size_t i = 0; i < kSize; ++i) {
    size_t pivot = i;
    for (size_t k = i + 1; k < kSize; ++k)
      if (std::abs(rows[k][i]) > std::abs(rows[pivot][i])) pivot = k;
    if (!(std::abs(rows[pivot][i]) >= std::numeric_limits<double>::epsilon() * 100)) return false;
    std::swap(rows[i], rows[pivot]);
    for (size_t k = i + 1; k < kSize; ++k) {
      const double factor = rows[k][i] / rows[i][i];
      for (size_t c = i; c <= kSize; ++c) rows[k][c] -= factor * rows[i][c];
    }
  }
  for (size_t i = kSize; i-- > 0;) {
    double sum = rows[i][kSize];
    for (size_t k = i + 1; k < kSize; ++k) sum -= rows[i][k] * x[k];
    x[i] = sum / rows[i][i];
  }
  return true;
}

/// The eigenvector of the smallest eigenvalue of a symmetric matrix, by Jacobi's rotations.
std::array<double, 9> smallest_eigenvector(std::array<std::array<double, 9>, 9> a) {
  std::array<std::array<double, 9>, 9> vectors{};
  for (size_t i = 0; i < 9; ++i) vectors[i][i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (size_t p = 0; p < 9; ++p)
      for (size_t q = p + 1; q < 9; ++q) {
        off += std::abs(a[p][q]);
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < 9; ++k) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
        }
        for (size_t k = 0; k < 9; ++k) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
          const double u = vectors[p][k], v = vectors[q][k];
          vectors[p][k] = c * u - s * v, vectors[q][k] = s * u + c * v;
        }
      }
    if (!(off > 1e-300)) break;
  }
  size_t least = 0;
  for (size_t i = 1; i < 9; ++i)
    if (a[i][i] < a[least][least]) least = i;
  return vectors[least];
}

}  // namespace

Tensor rotation_matrix_2d(Point2d center, double angle, double scale) try {
  angle *= 3.14159265358979323846 / 180;
  const double a = std::cos(angle) * scale, b = std::sin(angle) * scale;
  const double x = static_cast<double>(static_cast<float>(center.x)), y = static_cast<double>(static_cast<float>(center.y));
  const double values[] = {a, b, (1 - a) * x - b * y, -b, a, b * x + (1 - a) * y};
  return matrix(2, values);
} catch (...) {
  throw_as_error();
}

Tensor affine_transform(const TensorView& from, const TensorView& to) try {
  const std::vector<Point2d> a = points_of("getAffineTransform", from, 3), b = points_of("getAffineTransform", to, 3);
  double values[6] = {};
  for (int axis = 0; axis < 2; ++axis) {
    std::array<std::array<double, 4>, 3> rows;
    for (size_t i = 0; i < 3; ++i) rows[i] = {a[i].x, a[i].y, 1, axis == 0 ? b[i].x : b[i].y};
    if (!solve<3>(rows, values + 3 * axis)) {
      const double none[6] = {};
      return matrix(2, none);  // points on a line have no transform
    }
  }
  return matrix(2, values);
} catch (...) {
  throw_as_error();
}

Tensor perspective_transform_of(const TensorView& from, const TensorView& to, int method) try {
  static_cast<void>(method);  // there is one solution
  const std::vector<Point2d> a = points_of("getPerspectiveTransform", from, 4), b = points_of("getPerspectiveTransform", to, 4);
  std::array<std::array<double, 9>, 8> rows{};
  for (size_t i = 0; i < 4; ++i) {
    rows[i] = {a[i].x, a[i].y, 1, 0, 0, 0, -a[i].x * b[i].x, -a[i].y * b[i].x, b[i].x};
    rows[i + 4] = {0, 0, 0, a[i].x, a[i].y, 1, -a[i].x * b[i].y, -a[i].y * b[i].y, b[i].y};
  }
  const std::array<std::array<double, 9>, 8> equations = rows;
  double values[9];
  values[8] = 1;
  if (solve<8>(rows, values)) {
    double error = 0;
    for (const auto& row : equations) {
      double sum = -row[8];
      for (size_t k = 0; k < 8; ++k) sum += row[k] * values[k];
      error += sum * sum;
    }
    if (std::sqrt(error) < 1e-8) return matrix(3, values);
  }
  // The last coefficient may be 0: the coefficients of length 1 that fit best.
  std::array<std::array<double, 9>, 9> square{};
  for (auto row : equations) {
    row[8] = -row[8];
    for (size_t i = 0; i < 9; ++i)
      for (size_t k = 0; k < 9; ++k) square[i][k] += row[i] * row[k];
  }
  return matrix(3, smallest_eigenvector(square).data());
} catch (...) {
  throw_as_error();
}

Tensor invert_affine_transform(const TensorView& transform) try {
  if ((transform.dtype() != DType::f32 && transform.dtype() != DType::f64) || transform.shape() != Shape{2, 3})
    throw InvalidArgument("invertAffineTransform: the matrix is f32 or f64 [2, 3], not {}{}", transform.dtype(), transform.shape());
  double m[6];
  for (int i = 0; i < 6; ++i)
    m[i] = transform.dtype() == DType::f32 ? static_cast<double>(transform.data<float>()[i]) : transform.data<double>()[i];
  const double determinant = m[0] * m[4] - m[1] * m[3], d = determinant != 0 ? 1 / determinant : 0;
  const double a = m[4] * d, b = -m[1] * d, c = -m[3] * d, e = m[0] * d;
  const double inverse[6] = {a, b, -a * m[2] - b * m[5], c, e, -c * m[2] - e * m[5]};
  Tensor made(transform.dtype(), {2, 3});
  for (int i = 0; i < 6; ++i) {
    if (transform.dtype() == DType::f32)
      made.writable().data<float>()[i] = static_cast<float>(inverse[i]);
    else
      made.writable().data<double>()[i] = inverse[i];
  }
  return made;
} catch (...) {
  throw_as_error();
}

Tensor perspective_transform(const ImageView& points, const TensorView& transform, Output output) try {
  constexpr std::string_view kName = "perspectiveTransform";
  check_dtype(kName, points, {DType::f32, DType::f64});
  check_not_empty(kName, points);
  const int64_t from = points.channels(), rows = transform.shape().rank() == 2 ? transform.shape()[0] : 0;
  const bool known = transform.dtype() == DType::i32 || transform.dtype() == DType::f32 || transform.dtype() == DType::f64;
  if (!known || (rows != 3 && rows != 4) || transform.shape()[1] != from + 1)
    throw InvalidArgument("{}: the matrix for points of {} coordinates is i32, f32 or f64 with {} columns and 3 or 4 rows, not {}{}", kName,
                          from, from + 1, transform.dtype(), transform.shape());
  std::vector<double> m;
  with_element(kName, transform.dtype(), [&](auto element) {
    const auto* const from_matrix = transform.data<decltype(element)>();
    for (int64_t i = 0; i < transform.elements(); ++i) m.push_back(static_cast<double>(from_matrix[i]));
  });
  const int64_t to = rows - 1;
  Result result(kName, output, points.dtype(), points.height(), points.width(), to, {&points});
  const bool whole =
      points.stride() == points.row_bytes() && result.view().stride() == result.view().row_bytes();  // rows follow each other
  with_element(kName, points.dtype(), [&](auto element) {
    using T = decltype(element);
    for_rows(points.height(), points.width() * from * 4, [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) {
        const T* in = points.row<T>(y);
        if constexpr (std::is_same_v<T, float>)
          if (from == 2 && to == 2 && (points.width() > 1 || whole)) {
            const int64_t n = whole ? points.width() * (last - first) : points.width();
            warp_loops().project(in, n, m.data(), result.view().row<float>(y));
            if (whole) return;
            continue;
          }
        T* out = result.view().template row<T>(y);
        for (int64_t x = 0; x < points.width(); ++x, in += from, out += to) {
          double values[4];
          for (int64_t r = 0; r < rows; ++r) {
            const double* const row = m.data() + r * (from + 1);
            values[r] = row[from];
            for (int64_t k = 0; k < from; ++k) values[r] += row[k] * static_cast<double>(in[k]);
          }
          const double w = values[to], scale = std::abs(w) > static_cast<double>(std::numeric_limits<float>::epsilon()) ? 1 / w : 0;
          for (int64_t k = 0; k < to; ++k) out[k] = static_cast<T>(values[k] * scale);
        }
      }
    });
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
