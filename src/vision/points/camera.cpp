// SPDX-License-Identifier: Apache-2.0
#include "vision/points/camera.h"

#include <numbers>

#include "vision/matrix.h"

namespace minnow::vision {

Matrix3 rotation_of(const Vector3& v) {
  const double angle = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  if (angle < 1e-300) return {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double x = v[0] / angle, y = v[1] / angle, z = v[2] / angle, c = std::cos(angle), s = std::sin(angle), d = 1 - c;
  return {c + d * x * x,     d * x * y - s * z, d * x * z + s * y, d * x * y + s * z, c + d * y * y,
          d * y * z - s * x, d * x * z - s * y, d * y * z + s * x, c + d * z * z};
}

Vector3 vector_of(const Matrix3& given) {
  // The rotation next to the matrix.
  double at[9], w[3], vt[9];
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j) at[3 * j + i] = given[3 * i + j];
  jacobi_svd(at, 3, 3, w, vt, 3);
  Matrix3 r{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 3; ++k) r[3 * i + j] += at[3 * k + i] * vt[3 * k + j];
  const double x = r[7] - r[5], y = r[2] - r[6], z = r[3] - r[1];
  const double s = std::sqrt((x * x + y * y + z * z) * 0.25), c = std::clamp((r[0] + r[4] + r[8] - 1) * 0.5, -1., 1.);
  const double angle = std::acos(c);
  if (s >= 1e-5) {
    const double scale = angle / (2 * s);
    return {x * scale, y * scale, z * scale};
  }
  if (c > 0) return {0, 0, 0};
  Vector3 v{std::sqrt(std::max((r[0] + 1) * 0.5, 0.)), std::sqrt(std::max((r[4] + 1) * 0.5, 0.)) * (r[1] < 0 ? -1 : 1),
            std::sqrt(std::max((r[8] + 1) * 0.5, 0.)) * (r[2] < 0 ? -1 : 1)};
  if (std::fabs(v[0]) < std::fabs(v[1]) && std::fabs(v[0]) < std::fabs(v[2]) && (r[5] > 0) != (v[1] * v[2] > 0)) v[2] = -v[2];
  const double scale = angle / std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  for (double& value : v) value *= scale;
  return v;
}

Camera Camera::from(const char* function, const TensorView& matrix, const std::vector<double>& distortion) {
  int64_t rows = 0;
  if (matrix.shape().rank() != 2 || !vectors_in(matrix, 3, rows) || rows != 3)
    throw InvalidArgument("{}: the camera's matrix is [3, 3], not {}{}", function, matrix.dtype(), matrix.shape());
  const std::vector<double> m = coordinates_of(function, "the rows of the camera's matrix", matrix, 3);
  Camera camera;
  camera.fx = m[0], camera.fy = m[4], camera.cx = m[2], camera.cy = m[5];
  const size_t count = distortion.size();
  if (count != 0 && count != 4 && count != 5 && count != 8 && count != 12 && count != 14)
    throw InvalidArgument("{}: the distortion has 4, 5, 8, 12 or 14 numbers, not {}", function, count);
  std::copy(distortion.begin(), distortion.end(), camera.k.begin());
  if (camera.k[12] != 0 || camera.k[13] != 0) {
    camera.tilted = true;
    const double cx = std::cos(camera.k[12]), sx = std::sin(camera.k[12]), cy = std::cos(camera.k[13]), sy = std::sin(camera.k[13]);
    const double about_x[9] = {1, 0, 0, 0, cx, sx, 0, -sx, cx}, about_y[9] = {cy, 0, -sy, 0, 1, 0, sy, 0, cy};
    double both[9];
    multiply3(about_y, about_x, both);
    const double onto[9] = {both[8], 0, -both[2], 0, both[8], -both[5], 0, 0, 1};
    multiply3(onto, both, camera.tilt.data());
  }
  return camera;
}

void Camera::distort(double x, double y, double& u, double& v) const {
  const double r2 = x * x + y * y, r4 = r2 * r2, r6 = r4 * r2;
  const double radial = (1 + k[0] * r2 + k[1] * r4 + k[4] * r6) / (1 + k[5] * r2 + k[6] * r4 + k[7] * r6), xy = 2 * x * y;
  u = x * radial + k[2] * xy + k[3] * (r2 + 2 * x * x) + k[8] * r2 + k[9] * r4;
  v = y * radial + k[2] * (r2 + 2 * y * y) + k[3] * xy + k[10] * r2 + k[11] * r4;
  if (!tilted) return;
  const double a = tilt[0] * u + tilt[1] * v + tilt[2], b = tilt[3] * u + tilt[4] * v + tilt[5], c = tilt[6] * u + tilt[7] * v + tilt[8];
  u = c ? a / c : a;
  v = c ? b / c : b;
}

void Camera::undistort(double u, double v, double& x, double& y) const {
  x = u, y = v;
  if (std::all_of(k.begin(), k.end(), [](double value) { return value == 0; })) return;
  constexpr double h = 1e-6;
  for (int step = 0; step < 20; ++step) {  // Newton's
    double a, b, ax, bx, ay, by;
    distort(x, y, a, b);
    distort(x + h, y, ax, bx);
    distort(x, y + h, ay, by);
    const double j00 = (ax - a) / h, j10 = (bx - b) / h, j01 = (ay - a) / h, j11 = (by - b) / h, det = j00 * j11 - j01 * j10;
    if (!(std::fabs(det) > 1e-12)) return;
    const double dx = (j11 * (u - a) - j01 * (v - b)) / det, dy = (j00 * (v - b) - j10 * (u - a)) / det;
    x += dx, y += dy;
    if (std::fabs(dx) + std::fabs(dy) < 1e-14) return;
  }
}

}  // namespace minnow::vision
