// SPDX-License-Identifier: Apache-2.0
// A camera with a lens: how points before it become pixels.
#pragma once
#include <array>

#include "vision/points/points.h"

namespace minnow::vision {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<double, 9>;

/// The rotation around a vector by its length, and back (O. Rodrigues, 1840). The vector's length is at most pi.
Matrix3 rotation_of(const Vector3& vector);
Vector3 vector_of(const Matrix3& rotation);

struct Camera {
  double fx = 1, fy = 1, cx = 0, cy = 0;
  /// k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 and two tilts: radial, tangential, thin-prism and tilted-sensor distortion (D. Brown, Decentering
  /// distortion of lenses, 1966).
  std::array<double, 14> k{};
  std::array<double, 9> tilt{1, 0, 0, 0, 1, 0, 0, 0, 1};
  bool tilted = false;

  /// Throws InvalidArgument where the matrix is not [3, 3], or there are not 0, 4, 5, 8, 12 or 14 numbers of distortion.
  static Camera from(const char* function, const TensorView& matrix, const std::vector<double>& distortion);
  /// Distorts a direction (x, y, 1); not yet pixels.
  void distort(double x, double y, double& u, double& v) const;
  /// Where a direction lies that distort() takes to (u, v), after some steps.
  void undistort(double u, double v, double& x, double& y) const;
};

}  // namespace minnow::vision
