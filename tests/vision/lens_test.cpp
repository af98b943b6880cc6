// SPDX-License-Identifier: Apache-2.0
// Lenses: what one function does another undoes, and derivatives against differences.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace minnow::vision {
namespace {

const std::vector<double> kLens = {0.1, -0.05, 0.001, 0.002, 0.01, 0.05, 0.01, 0.002, 0.001, 0.002, -0.001, 0.0005, 0.02, -0.03};

Tensor f64_tensor(const Shape& shape, const std::vector<double>& values) {
  Tensor made(DType::f64, shape);
  std::copy(values.begin(), values.end(), made.writable().data<double>());
  return made;
}
Tensor camera(double fx = 310, double fy = 305, double cx = 158, double cy = 122) {
  return f64_tensor({3, 3}, {fx, 0, cx, 0, fy, cy, 0, 0, 1});
}

TEST(Lens, undistorted_pixels_are_directions_of_the_points) {
  const std::vector<double> points = {0.3, -0.2, 2, -0.5, 0.4, 3, 0, 0, 1};
  const Tensor pixels = project_points(f64_tensor({3, 3}, points), {0, 0, 0}, {0, 0, 0}, camera(), kLens).first;
  const Tensor directions = undistort_points(pixels, camera(), kLens, {}, {}, 3, 100, 1e-9);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(directions.data<double>()[2 * i], points[3 * i] / points[3 * i + 2], 1e-7);
    EXPECT_NEAR(directions.data<double>()[2 * i + 1], points[3 * i + 1] / points[3 * i + 2], 1e-7);
  }
}

TEST(Lens, derivatives_of_projected_points_are_differences) {
  const Tensor points = f64_tensor({2, 3}, {0.3, -0.2, 2, -0.5, 0.4, 3});
  // Rotation, translation, fx, fy, cx, cy, distortion.
  std::vector<double> parameters = {0.2, -0.1, 0.3, 0.1, 0.2, 0.5, 310, 305, 158, 122};
  parameters.insert(parameters.end(), kLens.begin(), kLens.end());
  const auto project = [&](const std::vector<double>& p) {
    return project_points(points, {p[0], p[1], p[2]}, {p[3], p[4], p[5]}, camera(p[6], p[7], p[8], p[9]), {p.begin() + 10, p.end()});
  };
  const Tensor jacobian = project(parameters).second;
  ASSERT_EQ(jacobian.shape(), (Shape{4, 24}));
  for (size_t n = 0; n < parameters.size(); ++n) {
    constexpr double kStep = 1e-6;
    std::vector<double> more = parameters, less = parameters;
    more[n] += kStep, less[n] -= kStep;
    const Tensor a = project(more).first, b = project(less).first;
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(jacobian.data<double>()[24 * i + n], (a.data<double>()[i] - b.data<double>()[i]) / (2 * kStep), 1e-4) << n << " " << i;
  }
}

TEST(Lens, a_rotation_comes_back_as_its_vector) {
  const std::vector<double> vector = {0.7, -1.1, 0.4};
  const auto [matrix, slopes] = rodrigues(f64_tensor({3}, vector));
  const auto [back, inverse] = rodrigues(matrix);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(back.data<double>()[i], vector[i], 1e-12);
    for (size_t k = 0; k < 3; ++k) {  // the derivatives there and back make the identity
      double sum = 0;
      for (size_t e = 0; e < 9; ++e) sum += slopes.data<double>()[9 * i + e] * inverse.data<double>()[3 * e + k];
      EXPECT_NEAR(sum, i == k, 1e-9);
    }
  }
}

TEST(Lens, a_camera_without_distortion_changes_nothing) {
  Tensor image(DType::u8, {40, 60, 3});
  for (int64_t i = 0; i < image.elements(); ++i) image.writable().data<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
  const Tensor made = undistort(image, camera(), {});
  for (int64_t i = 0; i < image.elements(); ++i) ASSERT_EQ(made.data<uint8_t>()[i], image.data<uint8_t>()[i]);
  const auto [matrix, valid] = optimal_new_camera_matrix(camera(), {}, {60, 40}, 1);
  EXPECT_EQ(valid, (Rect{0, 0, 59, 39}));
  EXPECT_NEAR(matrix.data<double>()[0], 310, 1e-9);
}

TEST(Lens, refuses_what_is_no_camera) {
  const Tensor points = f64_tensor({1, 3}, {0, 0, 1});
  EXPECT_THROW(project_points(points, {0, 0, 0}, {0, 0, 0}, Tensor(DType::f64, {2, 2}), {}), Error);
  EXPECT_THROW(project_points(points, {0, 0}, {0, 0, 0}, camera(), {}), Error);
  EXPECT_THROW(project_points(points, {0, 0, 0}, {0, 0, 0}, camera(), {1, 2, 3}), Error);
  EXPECT_THROW(undistort_points(points, camera(), {}), Error);
  EXPECT_THROW(undistort_rectify_map(camera(), {}, {}, {1, 2}, {5, 5}, DType::f32, 1), Error);
  EXPECT_THROW(rodrigues(f64_tensor({4}, {1, 2, 3, 4})), Error);
}

}  // namespace
}  // namespace minnow::vision
