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
