// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <minnow/vision/calibration.h>
#include <minnow/vision/structure.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <queue>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

Tensor mask_of(int64_t height, int64_t width, double density, unsigned seed) {
  Tensor mask(DType::u8, {height, width});
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  auto* const pixels = static_cast<uint8_t*>(mask.writable().data());
  for (int64_t i = 0; i < height * width; ++i) pixels[i] = uniform(random) < density ? 255 : 0;
  return mask;
}

TEST(Structure, the_smallest_triangle_holds_all_points_and_its_sides_touch_the_hull_in_their_middle) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const int64_t count : {3, 4, 5, 8, 40, 300}) {
    Tensor points(DType::f32, {count, 2});
    auto* const p = static_cast<float*>(points.writable().data());
    for (int64_t i = 0; i < 2 * count; ++i) p[i] = 50 * normal(random) + 7;
    const auto [area, corners] = min_enclosing_triangle(points);
    ASSERT_EQ(corners.shape(), (Shape{3, 1, 2}));
    const auto* const c = static_cast<const float*>(corners.data());
    const double turn = (c[2] - c[0]) * (c[5] - c[1]) - (c[3] - c[1]) * (c[4] - c[0]);
    EXPECT_NEAR(std::fabs(turn) / 2, area, 1e-4 * area) << count;
    EXPECT_GE(area * 1.0001, contour_area(convex_hull(points)));
    for (int k = 0; k < 3; ++k) {
      const float *a = c + 2 * k, *b = c + 2 * ((k + 1) % 3);
      const double dx = b[0] - a[0], dy = b[1] - a[1], length = std::sqrt(dx * dx + dy * dy);
      double nearest = 1e9;
      for (int64_t i = 0; i < count; ++i) {
        const double apart = std::copysign(1.0, turn) * (dx * (p[2 * i + 1] - a[1]) - dy * (p[2 * i] - a[0])) / length;
        EXPECT_GE(apart, -1e-3 * length) << "point " << i << " of " << count << " lies outside";
        nearest = std::min(nearest, apart);
      }
      EXPECT_LE(nearest, 1e-3 * length) << "side " << k << " of " << count;
      const Point2d middle{(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0};
      EXPECT_GE(point_polygon_test(convex_hull(points), middle, true), -1e-2 * length) << "side " << k << " of " << count;
    }
  }
}

TEST(Structure, an_ellipse_is_found_from_its_points) {
  Tensor points(DType::f32, {40, 2});
  auto* const p = static_cast<float*>(points.writable().data());
  for (int i = 0; i < 40; ++i) {
    const double t = i * 0.157, a = 0.5, x = 30 * std::cos(t), y = 12 * std::sin(t);
    p[2 * i] = static_cast<float>(100 + x * std::cos(a) - y * std::sin(a));
    p[2 * i + 1] = static_cast<float>(50 + x * std::sin(a) + y * std::cos(a));
  }
  for (const auto& box : {fit_ellipse(points), fit_ellipse_direct(points), fit_ellipse_mean_square(points)}) {
    EXPECT_NEAR(box.center.x, 100, 1e-2);
    EXPECT_NEAR(box.center.y, 50, 1e-2);
    EXPECT_NEAR(box.width, 24, 1e-2);
    EXPECT_NEAR(box.height, 60, 1e-2);
    EXPECT_NEAR(box.angle, 90 + 0.5 * 180 / std::numbers::pi, 0.1);
  }
  EXPECT_THROW(fit_ellipse_mean_square(Tensor(DType::f32, {4, 2})), Error);
}

// Components against a flood of each, contours against the components: as many outer borders.
TEST(Structure, components_are_floods_and_have_one_outer_border_each) {
  for (const double density : {0.1, 0.4, 0.7}) {
    const Tensor mask = mask_of(37, 53, density, 7);
    const auto* const pixels = static_cast<const uint8_t*>(mask.data());
    std::vector<int> seen(37 * 53);
    int count = 0;
    for (int start = 0; start < 37 * 53; ++start) {
      if (!pixels[start] || seen[static_cast<size_t>(start)]) continue;
      ++count;
      std::queue<int> next({start});
      seen[static_cast<size_t>(start)] = count;
      for (; !next.empty(); next.pop()) {
        const int y = next.front() / 53, x = next.front() % 53;
        for (int v = std::max(0, y - 1); v <= std::min(36, y + 1); ++v) {
          for (int u = std::max(0, x - 1); u <= std::min(52, x + 1); ++u) {
            if (!pixels[v * 53 + u] || seen[static_cast<size_t>(v * 53 + u)]) continue;
            seen[static_cast<size_t>(v * 53 + u)] = count;
            next.push(v * 53 + u);
          }
        }
      }
    }
    const Components found = connected_components(mask, 8, DType::i32, ComponentOrder::pixels, true);
    ASSERT_EQ(found.count, count + 1);
    for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(static_cast<const int32_t*>(found.labels.data())[i], seen[i]);
    const Contours tree = find_contours(mask, Retrieval::tree, ChainApproximation::none);
    int outer = 0;
    for (size_t i = 0; i + 1 < tree.starts.size(); ++i) {
      int depth = 0;
      for (int32_t parent = tree.hierarchy[4 * i + 3]; parent >= 0; parent = tree.hierarchy[4 * static_cast<size_t>(parent) + 3]) ++depth;
      outer += depth % 2 == 0;
    }
    EXPECT_EQ(outer, count);
  }
}

TEST(Structure, areas_of_labels_have_borders_of_their_own) {
  // A rectangle within another. The ground and the hole of the larger one have borders too, as OpenCV finds them: this is all that it
  // gives.
  Tensor labels(DType::i32, {8, 10});
  auto* const pixels = static_cast<int32_t*>(labels.writable().data());
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 10; ++x)
      pixels[10 * y + x] = y >= 3 && y < 5 && x >= 3 && x < 6 ? 100000 : y >= 1 && y < 7 && x >= 1 && x < 8 ? 7 : 0;
  const std::vector<Point> expected = {{3, 3}, {3, 4}, {5, 4}, {5, 3},                                  // the smaller one
                                       {8, 1}, {8, 6}, {7, 7}, {1, 7}, {0, 6}, {0, 1}, {1, 0}, {7, 0},  // the ground's hole
                                       {1, 1}, {1, 6}, {7, 6}, {7, 1},                                  // the larger one
                                       {2, 3}, {3, 2}, {5, 2}, {6, 3}, {6, 4}, {5, 5}, {3, 5}, {2, 4}};
  for (const Retrieval mode : {Retrieval::two_levels, Retrieval::flood_fill}) {
    const Contours found = find_contours(labels, mode, ChainApproximation::simple);
    EXPECT_EQ(found.starts, (std::vector<int32_t>{0, 4, 12, 16, 24}));
    ASSERT_EQ(found.points.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found.points[i].x, expected[i].x) << i;
      EXPECT_EQ(found.points[i].y, expected[i].y) << i;
    }
    EXPECT_EQ(found.hierarchy, (std::vector<int32_t>{1, -1, -1, -1, 2, 0, -1, -1, -1, 1, 3, -1, -1, -1, -1, 2}));
  }
  EXPECT_THROW(find_contours(labels, Retrieval::tree, ChainApproximation::simple), Error);
}

TEST(Structure, dft_is_the_sum_of_its_definition) {
  for (const auto& [height, width] : {std::pair<int, int>{1, 7}, {5, 6}, {9, 8}, {3, 67}}) {
    Tensor picture(DType::f64, {height, width});
    auto* const x = static_cast<double*>(picture.writable().data());
    for (int i = 0; i < height * width; ++i) x[i] = std::sin(3.0 * i * i);
    const Tensor spectrum = dft(picture, 16);
    const auto* const found = static_cast<const std::complex<double>*>(spectrum.data());
    for (int v = 0; v < height; ++v) {
      for (int u = 0; u < width; ++u) {
        std::complex<double> sum;
        for (int j = 0; j < height; ++j)
          for (int i = 0; i < width; ++i)
            sum += x[j * width + i] *
                   std::polar(1.0, -2 * std::numbers::pi * (static_cast<double>(u * i) / width + static_cast<double>(v * j) / height));
        ASSERT_NEAR(std::abs(found[v * width + u] - sum), 0, 1e-9);
      }
    }
  }
}

TEST(Structure, a_template_matches_where_it_was_cut) {
  const Tensor picture = mask_of(90, 120, 0.5, 3);
  const ImageView view(picture);
  const Tensor result = match_template(view, view.part({31, 22, 17, 13}), TemplateMatch::ccoeff_normed);
  const ImageView found(result);
  ASSERT_EQ(found.size(), (Size{104, 78}));
  for (int64_t y = 0; y < found.height(); ++y)
    for (int64_t x = 0; x < found.width(); ++x) ASSERT_EQ(found.row<float>(y)[x] > 0.99f, x == 31 && y == 22) << x << " " << y;
}

TEST(Structure, a_pose_projects_its_points_onto_their_pixels) {
  Tensor points(DType::f64, {8, 3}), pixels(DType::f64, {8, 2}), camera(DType::f64, {3, 3});
  auto* const p = static_cast<double*>(points.writable().data());
  auto* const q = static_cast<double*>(pixels.writable().data());
  const double matrix[9] = {700, 0, 300, 0, 710, 250, 0, 0, 1};
  std::copy(matrix, matrix + 9, static_cast<double*>(camera.writable().data()));
  for (int i = 0; i < 8; ++i) {
    p[3 * i] = i & 1 ? 1 : -1, p[3 * i + 1] = i & 2 ? 0.8 : -0.9, p[3 * i + 2] = i & 4 ? 0.5 : -0.7;
    const double z = p[3 * i + 2] + 5;  // not turned, 5 before the camera
    q[2 * i] = 700 * (p[3 * i] + 0.2) / z + 300, q[2 * i + 1] = 710 * (p[3 * i + 1] - 0.1) / z + 250;
  }
  const Pose pose = solve_pnp(points, pixels, camera, {}, {}, PoseMethod::iterative);
  ASSERT_TRUE(pose.found);
  const auto* const t = static_cast<const double*>(pose.translation.data());
  EXPECT_NEAR(t[0], 0.2, 1e-7);
  EXPECT_NEAR(t[1], -0.1, 1e-7);
  EXPECT_NEAR(t[2], 5, 1e-7);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(static_cast<const double*>(pose.rotation.data())[k], 0, 1e-7);
}

TEST(Structure, hostile_inputs_are_errors) {
  const Tensor none(DType::u8, {0, 5}), floats(DType::f32, {4, 4}), single(DType::u8, {1, 1});
  EXPECT_THROW(find_contours(none, Retrieval::list, ChainApproximation::none), Error);
  EXPECT_THROW(find_contours(floats, Retrieval::list, ChainApproximation::none), Error);
  EXPECT_THROW(connected_components(single, 5, DType::i32, ComponentOrder::pixels, false), Error);
  EXPECT_THROW(hough_lines(single, 1e-300, 1e-9, 1, 0, 3, false, false), Error);
  EXPECT_THROW(hough_lines_p(single, 1, 1e-12, 1, 0, 0), Error);
  Tensor points(DType::f32, {3, 2});
  auto* const p = static_cast<float*>(points.writable().data());
  std::fill(p, p + 6, std::nanf(""));
  EXPECT_THROW(min_enclosing_circle(points), Error);
  EXPECT_THROW(convex_hull(points), Error);
  EXPECT_NO_THROW(approx_poly_dp(points, 0, false));  // and ends
  EXPECT_THROW(bounding_rect(points), Error);
  EXPECT_THROW(match_template(single, floats, TemplateMatch::ccorr), Error);
}

}  // namespace
}  // namespace minnow::vision
